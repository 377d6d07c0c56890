// assay inspect MINE GOLDEN --detail: what the tensors of two dumps look like where they differ.
#pragma once

#include "assay/report/detail_text.h"
#include "assay/run/inspect/inspect.h"

namespace assay {

struct DetailRequest {
  fs::path mine, golden;
  OpenOptions open;
  std::optional<Slice> slice = {};      // of both sides, as they were laid alike
  int map_rows = -1, map_columns = -1;  // dimensions of the block map; -1: the last two
  int threads = 0;                      // 0: all cores
  bool progress = false;
  int width = 100;
  Shades shades = Shades::unicode;
};

struct DetailSummary {
  int64_t pairs = 0;     // looked at
  int64_t troubles = 0;  // that could not be
};

// Pairs are those of `assay compare`. One pair has all its pictures; of several, those that are equal have a
// line.
Result<DetailSummary> inspect_details(const DetailRequest& request, bool as_json, const WriteText& write);

}  // namespace assay
