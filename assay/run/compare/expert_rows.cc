#include "assay/run/compare/expert_rows.h"

#include "assay/run/compare/align.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace assay {
namespace {

using Numbers = std::vector<int64_t>;

// One number for each row: rows of equal bits have the same.
Result<std::vector<size_t>> digests(const OperandPtr& data) {
  const Shape rows = as_rows(data->meta.shape);
  std::vector<size_t> found;
  Scratch scratch;
  for (int64_t row = 0; row < rows.dims[0]; ++row) {
    size_t digest = 0;
    for (int64_t first = 0; first < rows.dims[1]; first += kBlockElements) {
      const int64_t count = std::min(kBlockElements, rows.dims[1] - first);
      ASSAY_TRY(const Block block, data->block(row * rows.dims[1] + first, count, scratch));
      const Bytes bytes = block.bytes();
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      digest = digest * 1000003 + std::hash<std::string_view>()(text);
    }
    found.push_back(digest);
  }
  return found;
}

// The rows of an expert by the tokens they are of; nothing where one of them is of none.
Result<std::optional<Numbers>> by_token(const OperandPtr& input,
                                        const std::unordered_map<size_t, int64_t>& token_of) {
  ASSAY_TRY(const std::vector<size_t> rows, digests(input));
  Numbers tokens;
  for (const size_t digest : rows) {
    const auto token = token_of.find(digest);
    if (token == token_of.end()) return std::optional<Numbers>();
    tokens.push_back(token->second);
  }
  Numbers order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int64_t row) { return tokens[static_cast<size_t>(row)]; });
  return std::optional(std::move(order));
}

// Rows that follow each other are one piece.
Result<void> add_pieces(const OperandPtr& rows, const Numbers& order, std::vector<OperandPtr>& pieces) {
  for (size_t first = 0; first < order.size();) {
    size_t last = first + 1;
    while (last < order.size() && order[last] == order[last - 1] + 1) ++last;
    ASSAY_TRY(OperandPtr piece, sliced(rows, 0, order[first], static_cast<int64_t>(last - first)));
    pieces.push_back(std::move(piece));
    first = last;
  }
  return {};
}

}  // namespace

Result<OperandPtr> rows_of_experts(std::span<const OperandPtr> experts, std::span<const OperandPtr> inputs,
                                   const OperandPtr& all) {
  std::unordered_map<size_t, int64_t> token_of;
  if (all != nullptr) {
    ASSAY_TRY(const std::vector<size_t> tokens, digests(all));
    for (size_t i = 0; i < tokens.size(); ++i) token_of.try_emplace(tokens[i], static_cast<int64_t>(i));
  }
  std::vector<OperandPtr> pieces;
  for (size_t i = 0; i < experts.size(); ++i) {
    const Shape shape = as_rows(experts[i]->meta.shape);
    if (shape.dims[0] == 0) continue;
    const OperandPtr rows = reshaped(experts[i], shape);
    std::optional<Numbers> order;
    if (!token_of.empty() && as_rows(inputs[i]->meta.shape).dims[0] == shape.dims[0]) {
      ASSAY_TRY(order, by_token(inputs[i], token_of));
    }
    if (!order) {
      pieces.push_back(rows);
      continue;
    }
    ASSAY_TRY_DO(add_pieces(rows, *order, pieces));
  }
  if (pieces.empty()) return experts.front();
  return pieces.size() == 1 ? Result<OperandPtr>(pieces.front()) : concatenated(std::move(pieces), 0);
}

}  // namespace assay
