#include "assay/report/json_rows.h"
#include "assay/report/one_file_sink.h"
#include "assay/report/outputs.h"

namespace assay {
namespace {

class JsonSink : public OneFileSink {
 public:
  explicit JsonSink(const SinkOptions& options) : OneFileSink(options) {}

  Result<void> begin(const Head& head) override {
    ASSAY_TRY_DO(open(head, json_output.suffix));
    std::string text = "{";
    append_json_run(text, table());
    return out().append(text + ",\n\"rows\": [");
  }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    std::string out;
    table().each(section, nodes, [&](const RowView& row) {
      out += ",\n";
      append_json_row(out, table().columns(), row, true);
    });
    return out;
  }

  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&& rendered) override {
    if (rendered.empty()) return {};
    const size_t comma = any_row_ ? 0 : 1;  // the very first row has nothing to be separated from
    any_row_ = true;
    return out().append(std::string_view(rendered).substr(comma));
  }

  Result<void> end(const Summary& summary) override {
    std::string text = "\n],\n\"summary\": ";
    append_json_summary(text, table(), summary);
    ASSAY_TRY_DO(out().append(text + "}\n"));
    return out().end();
  }

 private:
  bool any_row_ = false;
};

}  // namespace

const Output json_output = {
    .name = "json",
    .suffix = ".json",
    .to_stdout = true,
    .open = open_sink<JsonSink>,
};

}  // namespace assay
