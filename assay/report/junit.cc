#include "assay/report/cells.h"
#include "assay/report/one_file_sink.h"
#include "assay/report/outputs.h"
#include "assay/report/verdict_sentence.h"

#include <fmt/format.h>

namespace assay {
namespace {

void append_case(std::string& out, std::string_view group, std::string_view name) {
  out += "  <testcase classname=\"";
  append_xml_text(out, group);
  out += "\" name=\"";
  append_xml_text(out, name);
  out += '"';
}

void append_outcome(std::string& out, std::string_view element, std::string_view message,
                    std::string_view type) {
  out += fmt::format("<{} message=\"", element);
  append_xml_text(out, message);
  out += "\" type=\"";
  append_xml_text(out, type);
  out += '"';
}

// JUnit knows fewer words than we do; null for a row that passed.
const char* element_of(Level level) {
  switch (level) {
    case Level::pass:
      return nullptr;
    case Level::ignored:
      return "skipped";
    case Level::fail:
      return "failure";
    case Level::error:
      return "error";
  }
  return nullptr;
}

class JunitSink : public OneFileSink {
 public:
  explicit JunitSink(const SinkOptions& options) : OneFileSink(options) {}

  Result<void> begin(const Head& head) override {
    ASSAY_TRY_DO(open(head, junit_output.suffix, true));
    std::string text = "  <properties>\n";
    for (const Fact& fact : run_facts(head)) {
      text += fmt::format("    <property name=\"{}\" value=\"", fact.key);
      append_xml_text(text, plain(fact.value));
      text += "\"/>\n";
    }
    return out().append(text + "  </properties>\n");
  }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    std::string out;
    table().each(section, nodes, [&](const RowView& view) { append_row(out, view); });
    return out;
  }

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes,
                     std::string&& rendered) override {
    table().each(section, nodes, [&](const RowView& view) {
      ++tests_;
      failures_ += view.row.verdict.level == Level::fail ? 1 : 0;
      errors_ += view.row.verdict.level == Level::error ? 1 : 0;
      skipped_ += view.row.verdict.level == Level::ignored ? 1 : 0;
    });
    return out().append(rendered);
  }

  Result<void> end(const Summary& summary) override {
    std::string text;
    // A section that never came to have rows, or too little to be a pass: a report of passes alone would say
    // otherwise.
    const VerdictSentence verdict = verdict_sentence(summary);
    const bool is_broken = summary.errors > errors_ && summary.first_error;
    if (is_broken || verdict.answer == Answer::not_compared) {
      append_case(text, "assay", "run");
      text += ">";
      append_outcome(text, "error", is_broken ? *summary.first_error : verdict.text(),
                     assay::text(verdict.answer));
      text += "/></testcase>\n";
      ++tests_;
      ++errors_;
    }
    text += "  <system-out>";
    append_xml_text(text, verdict.text());
    ASSAY_TRY_DO(out().append(text + "</system-out>\n</testsuite>\n"));
    // The counts stand at the start, and are known now.
    const std::string time = iso_time(table().head().now);
    ASSAY_TRY_DO(out().start_with(fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"assay\" timestamp=\"{}\" tests=\"{}\" "
        "failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
        time.substr(0, time.find('Z')), tests_, failures_, errors_, skipped_)));  // readers expect no zone
    return out().end();
  }

 private:
  void append_row(std::string& out, const RowView& view) const {
    const Comparison& row = view.row;
    std::string group(view.section);
    if (!group.empty()) group += ": ";
    group += view.node.name;
    append_case(out, group, row.mine.name.empty() ? row.golden.name : row.mine.name);
    const char* element = element_of(row.verdict.level);
    if (element == nullptr) {
      out += "/>\n";
      return;
    }
    out += '>';
    append_outcome(out, element, with_diagnosis(explanation(row), row), text(row.status));
    if (row.verdict.level == Level::ignored) {
      out += "/></testcase>\n";
      return;
    }
    out += ">\n";
    for (const Column& column : table().columns()) {
      const std::string cell = plain(column.cell(view));
      if (!cell.empty()) append_xml_text(out, fmt::format("{}: {}", column.title, cell)), out += '\n';
    }
    out += fmt::format("  </{}></testcase>\n", element);
  }

  int64_t tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
};

}  // namespace

const Output junit_output = {
    .name = "junit",
    .suffix = ".xml",
    .to_stdout = true,
    .open = open_sink<JunitSink>,
};

}  // namespace assay
