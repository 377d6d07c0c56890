#include "assay/run/compare/row_details.h"

#include "assay/run/compare/contents.h"
#include "assay/run/compare/quantised_rows.h"

namespace assay {

RowDetails::RowDetails(const Matched& matched, Loader& loader)
    : matched_(matched),
      sides_(matched, loader, SideStatistics::none, nothing_, GoldenOptions{}, false),
      aligner_(matched) {}

Result<std::optional<Detail>> RowDetails::read(const Pair& pair, const DetailOptions& options,
                                               PairScratch& scratch, Progress& progress,
                                               const PairSums* known) {
  std::optional<Detail> nothing;
  // A row of all ranks passes; where one fails, each rank has its own.
  if (!pair.mine || !pair.golden || pair.is_computed() || pair.ranks() != nullptr) return nothing;
  Comparison row;
  row.pair = pair;
  std::optional<Made> mine = sides_.take(Side::mine, row, SideTaker::Remarking::left);
  std::optional<Made> golden = sides_.take(Side::golden, row, SideTaker::Remarking::left);
  if (!mine || !golden) return nothing;
  leave_whole_numbers(*mine, *golden);
  leave_whole_numbers(*golden, *mine);
  if (is_left_quantised(matched_.pairing, mine->own()->meta, golden->own()->meta)) return nothing;
  ASSAY_TRY(std::optional<Aligned> aligned, aligner_.align(*mine, *golden, pair));
  if (!aligned && aligner_.may_be_rearranged(pair, *mine, *golden))
    if (const auto how = find_arrangement(mine->own(), golden->own())) {
      ASSAY_TRY(aligned, rearrange(mine->own(), golden->own(), *how));
    }
  if (!aligned) return nothing;
  const bool has_copies =
      has_copies_of(Side::mine, *mine, *aligned) || has_copies_of(Side::golden, *golden, *aligned);
  if (has_copies && aligner_.stands_for_ranks(pair)) return nothing;
  OperandPtr of_mine = aligned->mine, of_golden = aligned->golden;
  if (options.slice) {
    known = nullptr;
    ASSAY_TRY(of_mine, options.slice(of_mine));
    ASSAY_TRY(of_golden, options.slice(of_golden));
  }
  if (is_complex(of_mine->meta.dtype) != is_complex(of_golden->meta.dtype)) return nothing;
  ASSAY_TRY(Detail detail, look_closely(*of_mine, *of_golden, options, scratch, progress, known));
  return std::optional(std::move(detail));
}

}  // namespace assay
