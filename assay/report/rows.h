// What most sinks share: the columns of a profile over the rows it keeps, and the facts about a run beside
// its rows.
#pragma once

#include "assay/report/report.h"

#include <array>
#include <string>
#include <vector>

namespace assay {

// How many rows were compared by what: in every summary under the same titles.
struct EvidenceColumn {
  std::string_view title;
  Evidence evidence;
};
inline constexpr std::array<EvidenceColumn, kEvidenceCount - 1> kEvidenceColumns = {{
    {"by_elements", Evidence::elements},
    {"by_some_elements", Evidence::some_elements},
    {"by_one_rank", Evidence::one_rank},
    {"by_finite_elements", Evidence::finite_elements},
    {"by_checksum", Evidence::checksum},
    {"by_xor", Evidence::parity},
    {"by_statistics", Evidence::statistics},
    {"by_extremes", Evidence::extremes},
    {"by_value", Evidence::value},
    {"no_elements", Evidence::empty},
}};

// Stays where it is made: row views point into it.
class RowTable {
 public:
  explicit RowTable(const Profile& profile) : profile_(profile) {}
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;

  void begin(const Head& head) {
    head_ = head;
    columns_ = profile_.columns(head_);
  }
  const Head& head() const { return head_; }
  const Profile& profile() const { return profile_; }
  const std::vector<Column>& columns() const { return columns_; }

  template <class Use>
  void each(std::string_view section, std::span<const NodeResult> nodes, Use&& use) const {
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows) {
        const RowView view{head_, section, node, row};
        if (profile_.keeps(view)) use(view);
      }
  }

 private:
  const Profile& profile_;
  Head head_;
  std::vector<Column> columns_;
};

// The first divergence as a row again. The names in a RowPlace are its own; those in its Comparison died with
// their frame.
class PlacedRow {
 public:
  explicit PlacedRow(const RowPlace& place);
  PlacedRow(const PlacedRow&) = delete;
  PlacedRow& operator=(const PlacedRow&) = delete;
  RowView view(const Head& head) const { return {head, section_, node_, node_.rows.front()}; }

 private:
  std::string section_, name_, mine_, golden_;
  NodeResult node_;
};

std::vector<Fact> run_facts(const Head& head);  // assay, generated, command, mine, golden …
std::vector<Fact> summary_facts(
    const Summary& summary);  // rows, compared … first_error, without the first divergence

// Why a row did not pass, in the best words there are: the reason, else the note, else the status.
std::string_view explanation(const Comparison& row);
// What is wrong with mine, where a closer look told: "mine = 2 x golden"; else empty.
std::string diagnosis(const Comparison& row);
// One of the above, with the diagnosis behind it.
std::string with_diagnosis(std::string_view words, const Comparison& row);

}  // namespace assay
