#include "capture/tables.h"

#include <algorithm>

namespace assay::capture {
namespace {

constexpr size_t kMostAtOnce = size_t{64} << 10;

}  // namespace

std::shared_ptr<Tables::Slot> Tables::reserve(const std::string& path, const std::string& header) {
  Table& table = all_[path];
  if (table.header.empty()) table.header = header;
  return table.slots.emplace_back(std::make_shared<Slot>());
}

std::optional<Tables::Batch> Tables::take() {
  const auto at = std::find_if(all_.begin(), all_.end(), [](const auto& each) {
    const Table& table = each.second;
    return !table.is_in_hand && !table.slots.empty() && table.slots.front()->is_ready;
  });
  if (at == all_.end()) return std::nullopt;
  Table& table = at->second;
  table.is_in_hand = true;
  Batch out{at->first, table.header, {}, 0, 0};
  for (const auto& slot : table.slots) {
    if (!slot->is_ready || out.lines.size() >= kMostAtOnce) break;
    out.lines += slot->text;
    out.count += slot->text.empty() ? 0 : 1;
    ++out.slots;
  }
  return out;
}

void Tables::end(const Batch& batch) {
  const auto at = all_.find(batch.path);
  if (at == all_.end()) return;
  Table& table = at->second;
  table.is_in_hand = false;
  table.slots.erase(table.slots.begin(), table.slots.begin() + static_cast<std::ptrdiff_t>(batch.slots));
  if (table.slots.empty()) all_.erase(at);
}

Tables::Waiting Tables::waiting() const {
  Waiting out;
  for (const auto& [path, table] : all_)
    for (const auto& slot : table.slots) {
      if (slot->is_ready && slot->text.empty()) continue;
      out.path = path;
      ++out.count;
      out.bytes += static_cast<int64_t>(slot->text.size());
    }
  return out;
}

}  // namespace assay::capture
