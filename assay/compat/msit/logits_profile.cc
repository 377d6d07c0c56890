#include "assay/compat/msit/logits_profile.h"

#include "assay/compat/msit/logits_row.h"
#include "assay/model/logits.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::string_view kMissing = "NA";

std::string_view file_name(const RowView& v) {
  return v.row.mine.name.empty() ? v.row.golden.name : v.row.mine.name;
}

// Of a file that both sides have; a name that could not be read has neither key nor token.
Value fact(const RowView& v, std::string_view key) {
  const Item* const item = v.row.mine.item;
  if (v.row.golden.item == nullptr || item == nullptr || item->facts == nullptr) return std::string(kMissing);
  const auto found = std::find_if(item->facts->begin(), item->facts->end(),
                                  [&](const Fact& each) { return each.key == key; });
  return found == item->facts->end() ? Value(std::string(kMissing)) : found->value;
}

bool has_numbers(const RowView& v) { return !v.row.verdict.word.empty(); }

Column number_column(std::string title, std::function<Value(const RowView&)> cell) {
  return {std::move(title),
          [cell = std::move(cell)](const RowView& v) {
            return has_numbers(v) ? cell(v) : Value(std::string(kMissing));
          },
          ColumnKind::written};
}

Column metric_column(std::string title, int column) {
  return number_column(std::move(title), [column](const RowView& v) {
    return column >= 0 && column < std::ssize(v.row.metrics) ? v.row.metrics[static_cast<size_t>(column)]
                                                             : Value();
  });
}

std::vector<Column> columns(const Head& head, DType dtype) {
  const LogitsColumns places(head);
  return {
      text_column("file_name", file_name),
      {"key", [](const RowView& v) { return fact(v, kLogitsKey); }},
      {"token_id", [](const RowView& v) { return fact(v, kLogitsToken); }},
      metric_column("cosine_similarity", places.cosine),
      metric_column("kl_divergence", places.kl),
      metric_column("l1_norm", places.l1),
      number_column("ulp_max_diff", [places](const RowView& v) { return distance_of_maxima(v.row, places); }),
      number_column("ulp",
                    [places, dtype](const RowView& v) { return ulp_of_maximum(v.row, places, dtype); }),
      text_column("passed", [](const RowView& v) { return has_numbers(v) ? v.row.verdict.word : kMissing; }),
      text_column("cmp_fail_reason", [](const RowView& v) {
        return has_numbers(v) ? std::string_view() : std::string_view(v.row.verdict.reason);
      })};
}

}  // namespace

Profile logitscmp_profile(DType dtype) {
  Profile profile;
  profile.name = "logitscmp";
  profile.columns = [dtype](const Head& head) { return columns(head, dtype); };
  profile.keeps = [](const RowView&) { return true; };
  profile.file_stem = [](const Head& head) { return "logits_cmp_res_" + beijing_stamp(head.now); };
  profile.print = Print::python;
  profile.line_end = "\r\n";
  profile.file_mode = 0640;
  profile.folder_mode = 0700;
  return profile;
}

}  // namespace assay
