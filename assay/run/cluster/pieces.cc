#include "assay/run/cluster/pieces.h"

#include <algorithm>

namespace assay {
namespace {

// Enough pieces that hosts of different speed end at about the same time; each so long that asking for it
// costs nothing.
constexpr int64_t kPieces = 512;
constexpr int64_t kLeastBytes = int64_t{4} << 20, kMostBytes = int64_t{256} << 20;
constexpr size_t kMostNodes = 256;
// Of a section: less than such a share of it keeps nobody waiting at its end.
constexpr int64_t kLargeShare = 32;
constexpr int64_t kLeastLarge = int64_t{96} << 20;

}  // namespace

std::vector<WorkPiece> cut_in_pieces(const Pairing& pairing, bool may_be_large,
                                     const std::function<int64_t(const PairedNode&)>& bytes_of) {
  std::vector<int64_t> bytes;
  int64_t total = 0;
  for (const PairedNode& node : pairing.nodes) total += bytes.emplace_back(bytes_of(node));
  const int64_t most_bytes = std::clamp(total / kPieces, kLeastBytes, kMostBytes);
  const int64_t large = std::max(kLeastLarge, total / kLargeShare);
  const size_t most_nodes = std::clamp<size_t>(bytes.size() / kPieces, 1, kMostNodes);
  std::vector<WorkPiece> pieces;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool is_large = may_be_large && bytes[i] >= large;
    const WorkPiece* const open = pieces.empty() ? nullptr : &pieces.back();
    const bool goes_on = open != nullptr && !is_large && !open->is_large && open->bytes < most_bytes &&
                         open->last - open->first < most_nodes;
    if (!goes_on) pieces.push_back({i, i, 0, is_large});
    pieces.back().last = i + 1;
    pieces.back().bytes += bytes[i];
  }
  return pieces;
}

}  // namespace assay
