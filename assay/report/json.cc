#include "assay/report/destination.h"
#include "assay/report/json_rows.h"
#include "assay/report/outputs.h"

namespace assay {
namespace {

class JsonSink : public Sink {
 public:
  explicit JsonSink(const SinkOptions& options) : options_(options), table_(*options.profile) {}

  Result<void> begin(const Head& head) override {
    table_.begin(head);
    ASSAY_TRY(Destination out, Destination::open(options_, head, json_output.suffix));
    out_.emplace(std::move(out));
    std::string text = "{";
    append_json_run(text, table_);
    return out_->append(text + ",\n\"rows\": [");
  }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    std::string out;
    table_.each(section, nodes, [&](const RowView& row) {
      out += ",\n";
      append_json_row(out, table_.columns(), row);
    });
    return out;
  }

  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&& rendered) override {
    if (rendered.empty()) return {};
    const size_t comma = any_row_ ? 0 : 1;  // the very first row has nothing to be separated from
    any_row_ = true;
    return out_->append(std::string_view(rendered).substr(comma));
  }

  Result<void> end(const Summary& summary) override {
    std::string text = "\n],\n\"summary\": ";
    append_json_summary(text, table_, summary);
    ASSAY_TRY_DO(out_->append(text + "}\n"));
    return out_->end();
  }

  Result<std::vector<fs::path>> publish() override { return out_->publish(); }

 private:
  SinkOptions options_;
  RowTable table_;
  std::optional<Destination> out_;
  bool any_row_ = false;
};

}  // namespace

const Output json_output = {
    .name = "json",
    .suffix = ".json",
    .to_stdout = true,
    .open = [](const SinkOptions& options) -> std::unique_ptr<Sink> {
      return std::make_unique<JsonSink>(options);
    },
};

}  // namespace assay
