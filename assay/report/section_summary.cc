#include "assay/base/file.h"
#include "assay/report/cells.h"
#include "assay/report/report.h"
#include "assay/report/rows.h"

#include <fmt/format.h>

namespace assay {
namespace {

// Of a section, beside those of the evidence: from the rows to the answer, and from the first divergence on.
constexpr size_t kCellsBefore = 8, kCellsBehind = 4;

Value number_or_absent(int number) { return number < 0 ? Value() : Value(int64_t{number}); }

class SectionSummary : public Sink {
 public:
  SectionSummary(const fs::path& folder, const Profile& profile) : folder_(folder), profile_(profile) {}

  Result<void> begin(const Head& head) override {
    now_ = head.now;
    return {};
  }
  Result<void> open_section(const Head& head) override {
    at_ = head.at;
    return {};
  }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&&) override { return {}; }

  Result<void> close_section(const Summary& s) override {
    std::vector<Value> cells = {s.rows,      s.compared, s.passed, s.failed,
                                s.unmatched, s.ignored,  s.errors, std::string(text(answer_of(s)))};
    for (const EvidenceColumn& column : kEvidenceColumns) cells.push_back(s.rows_by(column.evidence));
    cells.push_back(name_of(s.first_divergence));
    cells.push_back(name_of(s.first_origin));
    cells.push_back(s.first_origin ? Value(s.first_origin->called_at) : Value());
    cells.push_back(s.first_error ? Value(*s.first_error) : Value());
    add(cells);
    return {};
  }

  Result<void> skip_section(const Head& head, const Error& why) override {
    at_ = head.at;
    const bool is_error = why.kind != ErrorKind::not_compared;
    std::vector<Value> cells(kCellsBefore + kEvidenceColumns.size() + kCellsBehind);
    cells[kCellsBefore - 2] = int64_t{is_error};  // errors
    cells[kCellsBefore - 1] = std::string(text(is_error ? Answer::error : Answer::not_compared));
    cells.back() = why.message;
    add(cells);
    return {};
  }

  Result<void> end(const Summary&) override {
    if (count_ < 2) return {};
    ASSAY_TRY_DO(make_folder(folder_, profile_.folder_mode));
    const std::string name = fmt::format("summary_{}.csv", local_stamp(now_));
    ASSAY_TRY(FileWriter file, FileWriter::create(folder_ / name, IfExists::number, profile_.file_mode));
    std::string titles =
        "rank,step,graph,token,part,rows,compared,passed,failed,unmatched,ignored,errors,answer";
    for (const EvidenceColumn& column : kEvidenceColumns) titles.append(1, ',').append(column.title);
    titles += ",first_divergence,first_origin,called_at,first_error\n";
    ASSAY_TRY_DO(file.append(titles));
    ASSAY_TRY_DO(file.append(lines_));
    file_.emplace(std::move(file));
    return {};
  }

  Result<std::vector<fs::path>> publish() override {
    if (!file_) return std::vector<fs::path>();
    ASSAY_TRY(fs::path path, file_->publish());
    return std::vector{std::move(path)};
  }

 private:
  static Value name_of(const std::optional<RowPlace>& place) {
    if (!place) return {};
    return place->mine.empty() ? place->golden : place->mine;
  }

  void add(std::span<const Value> rest) {
    const Value place[] = {number_or_absent(at_.rank), number_or_absent(at_.step),
                           number_or_absent(at_.graph), number_or_absent(at_.token),
                           at_.part.empty() ? Value() : Value(at_.part)};
    for (const Value& value : place) {
      append_csv(lines_, value);
      lines_ += ',';
    }
    for (const Value& value : rest) {
      append_csv(lines_, value);
      lines_ += &value == &rest.back() ? '\n' : ',';
    }
    ++count_;
  }

  const fs::path folder_;
  const Profile& profile_;
  Moment now_;
  At at_;
  std::string lines_;
  int64_t count_ = 0;
  std::optional<FileWriter> file_;
};

}  // namespace

std::unique_ptr<Sink> section_summary(const fs::path& folder, const Profile& profile) {
  return std::make_unique<SectionSummary>(folder, profile);
}

}  // namespace assay
