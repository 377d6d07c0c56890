// The page: one file that a browser opens from the disk, without a network. What it holds: docs/page_data.md
#include "assay/report/detail_json.h"
#include "assay/report/one_file_sink.h"
#include "assay/report/outputs.h"
#include "assay/report/page/bundle.h"
#include "assay/report/page/document.h"
#include "assay/report/page/embedded.h"
#include "assay/report/page/page_columns.h"
#include "assay/report/page/page_rows.h"
#include "assay/report/page/run_json.h"
#include "assay/report/page/still.h"

#include "assay/report/cells.h"
#include "assay/report/verdict_sentence.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr int64_t kMostPage = int64_t{12} << 20;    // bytes of the file
constexpr int64_t kMostDetails = int64_t{5} << 20;  // … of these, pictures of tensors
constexpr int64_t kFewestRows = 1000;               // however long they are
constexpr char kBehindRow = '\x1f';                 // no text of a report holds it

class HtmlSink : public OneFileSink {
 public:
  explicit HtmlSink(const SinkOptions& options) : OneFileSink(options) {}

  Result<void> begin(const Head& head) override {
    ASSAY_TRY_DO(open(head, html_output.suffix));
    columns_ = table().columns();
    for (Column& column : page_only_columns()) columns_.push_back(std::move(column));
    return {};
  }

  Result<void> open_section(const Head&) override {
    rows_.open_section();
    return {};
  }

  // A line for each row.
  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    std::string out;
    table().each(section, nodes, [&](const RowView& view) {
      append_page_row(out, columns_, view);
      if (view.row.detail) {
        std::string detail;
        append_detail(detail, *view.row.detail);
        out += kBehindRow;
        out += base64(deflated(detail));
      }
      out += '\n';
    });
    return out;
  }

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes,
                     std::string&& rendered) override {
    size_t at = 0;
    table().each(section, nodes, [&](const RowView& view) {
      const size_t end = rendered.find('\n', at);
      still_.add(view);
      rows_.add({.number = ++number_,
                 .order = view.node.order,
                 .level = view.row.verdict.level,
                 .has_both = view.row.status == Status::compared || view.row.status == Status::shape_mismatch,
                 .text = take_detail(std::string_view(rendered).substr(at, end - at))});
      at = end + 1;
    });
    return {};
  }

  Result<void> end(const Summary& summary) override {
    const PageBundle& bundle = page_bundle();
    const std::string still = still_.html(summary);
    const std::string packed = pack(kMostPage - std::ssize(details_) - std::ssize(still) -
                                    std::ssize(bundle.script) - std::ssize(bundle.style) - (1 << 16));
    ASSAY_TRY_DO(out().append(page_document({.title = fmt::format("{} · {}", verdict_sentence(summary).head,
                                                                  display(table().head().mine.filename())),
                                             .still = still,
                                             .run = page_run_json({.rows = rows_.offered(),
                                                                   .failed = rows_.offered_failed(),
                                                                   .held = rows_.held(),
                                                                   .held_failed = rows_.held_failed()},
                                                                  columns_, table(), summary),
                                             .rows = packed,
                                             .details = details_})));
    return out().end();
  }

 private:
  std::string lines() const {
    std::string text;
    for (const PageRow* row : rows_.in_order()) {
      append_page_line(text, *row);
      text += '\n';
    }
    return text;
  }

  // Keeps the detail behind a row, as long as there is room, and answers the row.
  std::string take_detail(std::string_view line) {
    const size_t split = line.find(kBehindRow);
    if (split != std::string_view::npos) {
      const std::string_view detail = line.substr(split + 1);
      if (std::ssize(details_) + std::ssize(detail) <= kMostDetails)
        details_ += fmt::format("{} {}\n", number_, detail);
    }
    return std::string(line.substr(0, split));
  }

  // As many rows as `room` bytes of base64 hold.
  std::string pack(int64_t room) {
    for (;;) {
      std::string packed = base64(deflated(lines()));
      if (std::ssize(packed) <= room || rows_.held() <= kFewestRows) return packed;
      rows_.shrink_to(rows_.held() * 9 / 10 * room / std::ssize(packed), kMostPageText);
    }
  }

  std::vector<Column> columns_;
  PageRows rows_{kMostPageRows, kMostPageText};
  StillPage still_{table()};
  std::string details_;  // "NUMBER BASE64" a line
  int64_t number_ = 0;
};

}  // namespace

const Output html_output = {
    .name = "html",
    .suffix = ".html",
    .to_stdout = true,
    .open = open_sink<HtmlSink>,
};

}  // namespace assay
