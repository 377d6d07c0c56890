#include "assay/report/json_rows.h"
#include "assay/report/one_file_sink.h"
#include "assay/report/outputs.h"

namespace assay {
namespace {

class JsonlSink : public OneFileSink {
 public:
  explicit JsonlSink(const SinkOptions& options) : OneFileSink(options) {}

  Result<void> begin(const Head& head) override { return open(head, jsonl_output.suffix); }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    return json_lines(table(), section, nodes);
  }

  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&& rendered) override {
    return out().append(rendered);
  }

  Result<void> end(const Summary& summary) override {
    ASSAY_TRY_DO(out().append(last_json_line(table(), summary)));
    return out().end();
  }
};

}  // namespace

const Output jsonl_output = {
    .name = "jsonl",
    .suffix = ".jsonl",
    .to_stdout = true,
    .open = open_sink<JsonlSink>,
};

}  // namespace assay
