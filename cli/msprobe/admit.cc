#include "cli/msprobe/admit.h"

#include "assay/support/log.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace assay::cli {
namespace {

bool has_bf16(const Frame& frame) {
  for (const Node& node : frame.nodes)
    for (const Item& item : node.items)
      if (item.meta != nullptr && item.meta->dtype == DType::bf16) return true;
  return false;
}

tl::unexpected<Error> alone(const Matched& matched) {
  return fail(ErrorKind::not_compared, "has no counterpart in the {}; it is not compared",
              matched.frames.mine.empty() ? "run under test" : "bench");
}

}  // namespace

Result<bool> admit(const Matched& matched) {
  const std::vector<Frame>&mine = matched.frames.mine, &golden = matched.frames.golden;
  if (mine.empty() || golden.empty()) return alone(matched);
  if ((mine[0].content == Content::checksums) != (golden[0].content == Content::checksums))
    return refuse(
        "Please check the dump task is consistent, dump mode of npu and bench should both be statistics or "
        "md5.");
  if ((mine[0].content == Content::data) != (golden[0].content == Content::data))
    return refuse("Please check the dump task is consistent.");
  int64_t left_out = 0, rows = 0, unread = 0;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      ++(!pair.mine ? left_out : pair.why == Why::not_reached ? unread : rows);
  if (unread > 0)
    log::warn(
        "Please check whether the number and calls of APIs in NPU and Bench models are consistent. "
        "Generation "
        "1 stops where one side has no entry left to pair; {} rows behind that are not in its table, "
        "--report "
        "lists them.",
        unread);
  if (rows == 0)
    return fail(ErrorKind::not_compared, "Can`t match any op. No compare result file generated.");
  if (mine[0].content == Content::checksums && mine[0].framework != golden[0].framework && has_bf16(mine[0]))
    log::warn(
        "CRC-32 of bfloat16 tensors differ between frameworks by nature: PyTorch takes that of the 16 bits, "
        "MindSpore of the 32 it widens them to.");
  if (left_out > 0)
    log::info("{} items that only the bench has are not in this table; --report lists them.", left_out);
  return true;
}

Result<bool> admit_kernels(const Matched& matched) {
  const std::vector<Frame>&mine = matched.frames.mine, &golden = matched.frames.golden;
  if (mine.empty() || golden.empty()) return alone(matched);
  if (mine[0].content == golden[0].content) return !matched.pairing.nodes.empty();
  return refuse("one side has data files and the other statistics only");
}

RealColumns find_real_columns(const Matched& matched) {
  RealColumns has_real = {}, has_other = {};
  const auto look = [&](size_t column, const Scalar& scalar) {
    const bool is_nan = scalar.real() && std::isnan(*scalar.real());
    has_real[column] |= scalar.real() && !is_nan;
    has_other[column] |= is_nan || (!scalar.real() && !scalar.integer());
  };
  const auto look_at = [&](size_t first, const Item& item) {
    static const Stated kNothing;
    const Stated& stated = item.stated != nullptr ? *item.stated : kNothing;
    look(first, stated.max);
    look(first + 1, stated.min);
    look(first + 2, stated.mean);
    look(first + 3, stated.norm);
  };
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      if (!pair.mine) continue;
      look_at(0, matched.item(Side::mine, *pair.mine));
      if (pair.golden)
        look_at(4, matched.item(Side::golden, *pair.golden));
      else
        std::fill(has_other.begin() + 4, has_other.end(), true);  // N/A
    }
  for (size_t side = 0; side < 8; side += 4) {
    const auto first = has_real.begin() + static_cast<std::ptrdiff_t>(side);
    const auto others = has_other.begin() + static_cast<std::ptrdiff_t>(side);
    const bool none_other = std::none_of(others, others + 4, std::identity());
    const bool any_real = std::any_of(first, first + 4, std::identity());
    for (size_t i = side; i < side + 4; ++i)
      has_real[i] = none_other ? any_real : has_real[i] && !has_other[i];
  }
  return has_real;
}

}  // namespace assay::cli
