#include "assay/report/destination.h"
#include "assay/report/json_rows.h"
#include "assay/report/outputs.h"

namespace assay {
namespace {

class JsonlSink : public Sink {
 public:
  explicit JsonlSink(const SinkOptions& options) : options_(options), table_(*options.profile) {}

  Result<void> begin(const Head& head) override {
    table_.begin(head);
    ASSAY_TRY(Destination out, Destination::open(options_, head, jsonl_output.suffix));
    out_.emplace(std::move(out));
    return {};
  }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    std::string out;
    table_.each(section, nodes, [&](const RowView& row) {
      append_json_row(out, table_.columns(), row);
      out += '\n';
    });
    return out;
  }

  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&& rendered) override {
    return out_->append(rendered);
  }

  Result<void> end(const Summary& summary) override {
    std::string text = "{\"summary\": ";
    append_json_summary(text, table_, summary);
    text += ", \"run\": {";
    append_json_run(text, table_);
    ASSAY_TRY_DO(out_->append(text + "}}\n"));
    return out_->end();
  }

  Result<std::vector<fs::path>> publish() override { return out_->publish(); }

 private:
  SinkOptions options_;
  RowTable table_;
  std::optional<Destination> out_;
};

}  // namespace

const Output jsonl_output = {
    .name = "jsonl",
    .suffix = ".jsonl",
    .to_stdout = true,
    .open = [](const SinkOptions& options) -> std::unique_ptr<Sink> {
      return std::make_unique<JsonlSink>(options);
    },
};

}  // namespace assay
