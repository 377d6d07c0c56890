#include "assay/base/text.h"
#include "assay/match/compiled/torchair.h"
#include "assay/match/keyed/api.h"
#include "assay/match/keyed/cell.h"
#include "assay/match/keyed/entry.h"
#include "assay/match/keyed/file_name.h"
#include "assay/match/keyed/fuzzy.h"
#include "assay/match/keyed/layer.h"
#include "assay/match/keyed/mapping_file.h"
#include "assay/match/keyed/name.h"
#include "assay/match/keyed/position.h"
#include "assay/match/matcher.h"
#include "assay/match/ops/inference.h"

namespace assay {
namespace {

// A mapping says how the names of two frameworks fit together; the layouts matter only without one.
const Matcher* chosen_by_mapping(const MatchOptions& options) {
  const Mappings& mappings = *options.mappings;
  if (mappings.use_api_table || !mappings.apis.empty()) return &api_matcher;
  if (mappings.rename_cells) return &cell_matcher;
  if (mappings.by_layer) return &layer_matcher;
  if (mappings.data) return &data_matcher;
  return options.fuzzy ? &fuzzy_matcher : nullptr;
}

const Matcher* chosen_by_layout(std::string_view mine, std::string_view golden) {
  for (const std::string_view layout : {"msprobe", "ms_kernel"})
    if (mine == layout && golden == layout) return &entry_matcher;
  if (mine == golden && (mine == "atb" || mine == "torch_hook")) return &atb_atb_matcher;
  if ((mine == "atb" && golden == "torch_hook") || (mine == "torch_hook" && golden == "atb"))
    return &atb_torch_matcher;
  if (mine == "torchair_ge" && golden == "torchair_ge") return &ge_fusion_matcher;
  if ((mine == "torchair_ge" && golden == "torchair_fx") ||
      (mine == "torchair_fx" && golden == "torchair_ge"))
    return &ge_fx_matcher;
  if (mine == "logits" && golden == "logits") return &file_name_matcher;
  return &name_matcher;
}

}  // namespace

std::span<const Matcher* const> matchers() {
  static const Matcher* const kTable[] = {
      &name_matcher,  &exact_matcher,     &content_matcher,   &position_matcher,
      &entry_matcher, &api_matcher,       &cell_matcher,      &data_matcher,
      &layer_matcher, &fuzzy_matcher,     &atb_torch_matcher, &atb_atb_matcher,
      &token_matcher, &file_name_matcher, &ge_fx_matcher,     &ge_fusion_matcher};
  return kTable;
}

namespace {

Result<const Matcher*> choose(std::string_view mine_layout, std::string_view golden_layout,
                              const MatchOptions& options) {
  if (options.given != nullptr) return options.given.get();
  if (options.matcher.empty()) {
    const Matcher* const by_mapping = chosen_by_mapping(options);
    return by_mapping != nullptr ? by_mapping : chosen_by_layout(mine_layout, golden_layout);
  }
  std::string known;
  for (const Matcher* matcher : matchers()) {
    if (matcher->name == options.matcher) return matcher;
    known += (known.empty() ? "" : ", ") + std::string(matcher->name);
  }
  return fail(ErrorKind::bad_argument, "--match {}: no such method; there are {}", printable(options.matcher),
              known);
}

}  // namespace

Result<const Matcher*> choose_matcher(std::string_view mine_layout, std::string_view golden_layout,
                                      const MatchOptions& options) {
  ASSAY_TRY(const Matcher* const chosen, choose(mine_layout, golden_layout, options));
  if (options.renames != nullptr && chosen != &name_matcher && chosen != &exact_matcher &&
      chosen != &content_matcher)
    return fail(
        ErrorKind::bad_argument,
        "--rename and --strip-prefix are for names alone: these dumps are paired by '{}', which reads more "
        "than names; --match name pairs them by names",
        chosen->name);
  return chosen;
}

}  // namespace assay
