// What the reports are told before the first row of a comparison, and of each section.
#pragma once

#include "assay/run/compare/compare.h"

namespace assay {

Head head_of(const CompareRequest& request, const Dump& mine, const Dump& golden, const Matcher& matcher);

// The part of it that belongs to the section. `all`: the sections of the comparison, this one among them.
void describe_section(const Dump& mine, const Matched& matched, const std::vector<Section>& all, Head& head);

// Columns of dumps that hold more than data (statistics, logits) are added where the request says so. Known
// once the first section is indexed: a folder says only then that it holds statistics. `matched` is null
// where that failed.
Result<MetricPlan> plan_columns(const CompareRequest& request, const Layout& mine, const Layout& golden,
                                const Matched* matched, Head& head);

}  // namespace assay
