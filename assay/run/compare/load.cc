#include "assay/run/compare/load.h"

namespace assay {
namespace {

std::vector<std::vector<int32_t>> count_uses(const std::vector<Frame>& frames) {
  std::vector<std::vector<int32_t>> uses;
  for (const Frame& frame : frames) {
    std::vector<int32_t>& of_frame = uses.emplace_back(frame.files.size());
    for (const Node& node : frame.nodes)
      for (const Item& item : node.items)
        if (item.data) ++of_frame[static_cast<size_t>(item.data->file)];
  }
  return uses;
}

}  // namespace

Loader::Loader(const Indexed& frames, const FormatOptions& options, OpenFiles* open_files,
               OpenedBefore what_is_open)
    : frames_(frames),
      options_(options),
      open_files_(open_files),
      what_is_open_(what_is_open),
      uses_mine_(count_uses(frames.mine)),
      uses_golden_(count_uses(frames.golden)) {}

void Loader::expect(const Pairing& pairing) {
  for (const Side side : {Side::mine, Side::golden}) {
    auto& wanted = wanted_[static_cast<size_t>(side)];
    for (const Frame& frame : frames_.frames(side)) wanted.emplace_back(frame.files.size());
  }
  const auto want = [&](Side side, const ItemId& id) {
    const auto& data = frames_.item(side, id).data;
    if (!data) return;
    uint8_t& count =
        wanted_[static_cast<size_t>(side)][static_cast<size_t>(id.frame)][static_cast<size_t>(data->file)];
    if (count < 2) ++count;
  };
  for (const PairedNode& node : pairing.nodes)
    for (const Pair& pair : node.pairs)
      for (const Side side : {Side::mine, Side::golden}) {
        const auto& item = side == Side::mine ? pair.mine : pair.golden;
        if (const Plan* const plan = pair.plan(side))
          for (const PlanSource& source : plan->from) want(source.side, source.item);
        else if (item)
          want(side, *item);
      }
}

bool Loader::is_wanted_again(Side side, const ItemId& id) const {
  const auto& wanted = wanted_[static_cast<size_t>(side)];
  return !wanted.empty() &&
         wanted[static_cast<size_t>(id.frame)][static_cast<size_t>(frames_.item(side, id).data->file)] > 1;
}

const fs::path* Loader::file_of(Side side, const ItemId& id) const {
  const Item& item = frames_.item(side, id);
  if (!item.data) return nullptr;
  return &frames_.frame(side, id).files[static_cast<size_t>(item.data->file)].path;
}

int64_t Loader::size_of_item(Side side, const ItemId& id) const {
  const Item& item = frames_.item(side, id);
  if (!item.data) return 0;
  const Frame& of_item = frames_.frame(side, id);
  if (of_item.at.rank < 0 && !item.shards().empty()) {  // those of the other ranks are read, too
    int64_t size = 0;
    for (const TensorRef& shard : item.shards()) size += of_item.files[static_cast<size_t>(shard.file)].size;
    return size;
  }
  if (item.meta) return item.meta->byte_size();
  const auto file = static_cast<size_t>(item.data->file);
  const auto frame = static_cast<size_t>(id.frame);
  return frames_.frames(side)[frame].files[file].size / std::max(1, uses(side)[frame][file]);
}

int64_t Loader::size_of_pair(const Pair& pair) const {
  int64_t bytes = 0;
  if (pair.mine) bytes += size_of_item(Side::mine, *pair.mine);
  if (pair.golden) bytes += size_of_item(pair.golden_side(), *pair.golden);
  if (const RankShares* const ranks = pair.ranks())
    for (size_t i = 1; i < ranks->items.size(); ++i) bytes += size_of_item(ranks->side, ranks->items[i]);
  return bytes;
}

Result<Loader::Set> Loader::open(const fs::path& path) {
  if (open_files_ != nullptr)
    if (Set left_open =
            what_is_open_ == OpenedBefore::taken ? open_files_->take(path) : open_files_->find(path))
      return left_open;
  ASSAY_TRY(TensorSet opened, open_tensors(path, options_));
  return std::make_shared<const TensorSet>(std::move(opened));
}

Result<Loader::Set> Loader::open_shared(const fs::path& path) {
  const std::lock_guard lock(guard_);
  if (const auto found = by_path_.find(path.native()); found != by_path_.end()) {
    kept_.splice(kept_.begin(), kept_, found->second);
    return kept_.front().set;
  }
  // Opened under the lock: many threads want the same checkpoint at once, and its index should be read once.
  ASSAY_TRY(Set opened, open(path));
  kept_.push_front({path.native(), std::move(opened)});
  by_path_[path.native()] = kept_.begin();
  if (kept_.size() > most_kept_) {
    by_path_.erase(kept_.back().path);
    kept_.pop_back();
  }
  return kept_.front().set;
}

Result<Loaded> Loader::load(Side side, const ItemId& id) {
  const Item& item = frames_.item(side, id);
  ASSAY_CHECK(item.data.has_value());
  const fs::path& path = *file_of(side, id);
  const bool shared = uses(side)[static_cast<size_t>(id.frame)][static_cast<size_t>(item.data->file)] > 1;
  Set set;
  if (shared || is_wanted_again(side, id)) {
    ASSAY_TRY(set, open_shared(path));
  } else {
    ASSAY_TRY(set, open(path));
  }
  const auto slot = static_cast<size_t>(item.data->slot);
  if (slot >= set->tensors.size())
    return fail(ErrorKind::bad_format, "{}: holds {} tensors now, tensor {} is wanted; did it change?",
                display(path), set->tensors.size(), slot + 1);
  const StoredTensor& tensor = set->tensors[slot];
  if (!tensor.data) return tl::unexpected<Error>(tensor.data.error());
  return Loaded{*tensor.data, shared ? Remarks{} : set->warnings, set->tensors.size()};
}

std::optional<StoredTensor> Loader::find_statistics(Side side, const ItemId& id) const {
  auto set = open_tensors(*file_of(side, id), options_);
  const auto slot = static_cast<size_t>(frames_.item(side, id).data->slot);
  if (!set || slot >= set->tensors.size()) return std::nullopt;
  StoredTensor& tensor = set->tensors[slot];
  if (tensor.data || tensor.data.error().kind != ErrorKind::not_found || !tensor.meta || !tensor.stats)
    return std::nullopt;
  return std::move(tensor);
}

Result<std::optional<ShardStatistics>> Loader::find_shard_statistics(Side side, const ItemId& id,
                                                                     size_t number) const {
  const Frame& frame = frames_.frame(side, id);
  const TensorRef& shard = frames_.item(side, id).shards()[number];
  const FileEntry& file = frame.files[static_cast<size_t>(shard.file)];
  if (file.is_table) {
    const RankRow& row = frame.rank_rows[static_cast<size_t>(shard.slot)];
    if (!row.trouble.empty()) return fail(ErrorKind::bad_format, "{}", row.trouble);
    return ShardStatistics{row.stats, row.meta};
  }
  ASSAY_TRY(TensorSet set, open_tensors(file.path, options_));
  if (set.tensors.size() != 1 || !set.tensors[0].stats || !set.tensors[0].meta) return std::nullopt;
  return ShardStatistics{std::move(*set.tensors[0].stats), std::move(set.tensors[0].meta)};
}

Result<OperandPtr> Loader::load_shard(Side side, const ItemId& id, size_t number) {
  const TensorRef& shard = frames_.item(side, id).shards()[number];
  const fs::path& path = frames_.frame(side, id).files[static_cast<size_t>(shard.file)].path;
  ASSAY_TRY(const Set set, open(path));
  if (static_cast<size_t>(shard.slot) >= set->tensors.size())
    return fail(ErrorKind::bad_format, "{}: holds no tensor any more", display(path));
  return set->tensors[static_cast<size_t>(shard.slot)].data;
}

Result<OperandPtr> Loader::load_alone(const fs::path& path) {
  ASSAY_TRY(const Set set, open(path));
  if (set->tensors.size() != 1)
    return fail(ErrorKind::bad_format, "{}: holds {} tensors where one is wanted", display(path),
                set->tensors.size());
  return set->tensors[0].data;
}

}  // namespace assay
