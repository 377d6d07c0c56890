#include "assay/report/page/live_rows.h"

#include "assay/report/cells.h"
#include "assay/report/page/page_columns.h"
#include "assay/report/page/page_rows.h"
#include "assay/report/page/run_json.h"

#include <rapidjson/document.h>

#include <utility>

namespace assay {
struct LiveRows::State {
  std::mutex guard;
  RowTable table{native_profile};
  std::vector<Column> columns;
  PageRows rows{kMostPageRows, kMostPageText};
  bool has_begun = false;
};

class LiveRows::LiveSink : public Sink {
 public:
  explicit LiveSink(State& state) : state_(state) {}

  Result<void> begin(const Head& head) override {
    const std::lock_guard lock(state_.guard);
    state_.table.begin(head);
    state_.columns = state_.table.columns();
    for (Column& column : page_only_columns()) state_.columns.push_back(std::move(column));
    state_.has_begun = true;
    return {};
  }

  Result<void> open_section(const Head&) override {
    const std::lock_guard lock(state_.guard);
    state_.rows.open_section();
    return {};
  }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    std::string out;
    state_.table.each(section, nodes, [&](const RowView& view) {
      append_page_row(out, state_.columns, view);
      out += '\n';
    });
    return out;
  }

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes,
                     std::string&& rendered) override {
    const std::lock_guard lock(state_.guard);
    size_t at = 0;
    state_.table.each(section, nodes, [&](const RowView& view) {
      const size_t end = rendered.find('\n', at);
      state_.rows.add({.number = state_.rows.offered() + 1,
                       .order = view.node.order,
                       .level = view.row.verdict.level,
                       .has_both = view.row.status == Status::compared,
                       .text = rendered.substr(at, end - at)});
      at = end + 1;
    });
    return {};
  }

  Result<void> end(const Summary&) override { return {}; }

 private:
  State& state_;
};

LiveRows::LiveRows() : state_(std::make_unique<State>()) {}
LiveRows::~LiveRows() = default;

std::unique_ptr<Sink> LiveRows::sink() { return std::make_unique<LiveSink>(*state_); }

int64_t LiveRows::count() const {
  const std::lock_guard lock(state_->guard);
  return state_->rows.offered();
}

std::string LiveRows::run_json() const {
  const std::lock_guard lock(state_->guard);
  if (!state_->has_begun) return {};
  const PageRows& rows = state_->rows;
  return page_run_json({.rows = rows.offered(),
                        .failed = rows.offered_failed(),
                        .held = rows.held(),
                        .held_failed = rows.held_failed()},
                       state_->columns, state_->table, {});
}

StoredRows LiveRows::chosen() const {
  const std::lock_guard lock(state_->guard);
  StoredRows out{.total = state_->rows.offered(), .json = "["};
  for (const PageRow* row : state_->rows.in_order()) {
    out.json += out.json.size() > 1 ? ",\n" : "";
    append_page_line(out.json, *row);
  }
  out.json += ']';
  return out;
}

Result<StoredPair> LiveRows::pair(int64_t id) const {
  const std::lock_guard lock(state_->guard);
  const PageRow* const row = state_->rows.find(id);
  if (row == nullptr) return fail(ErrorKind::not_found, "there is no row {} yet", id);
  rapidjson::Document cells;
  cells.Parse<rapidjson::kParseIterativeFlag>(row->text.c_str(), row->text.size());
  StoredPair pair;
  for (rapidjson::SizeType i = 0; cells.IsArray() && i < cells.Size() && i < state_->columns.size(); ++i)
    for (const auto& [title, text] : {std::pair{std::string_view("mine"), &pair.mine},
                                      {std::string_view("golden"), &pair.golden},
                                      {std::string_view("section"), &pair.section}})
      if (state_->columns[i].title == title && cells[i].IsString()) *text = cells[i].GetString();
  return pair;
}

}  // namespace assay
