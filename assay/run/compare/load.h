// From an item to the operand that reads it.
#pragma once

#include "assay/format/open_files.h"
#include "assay/model/pairing.h"

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace assay {

struct Loaded {
  OperandPtr data;
  Remarks warnings;
  size_t tensors = 1;  // of the file
};

struct ShardStatistics {
  Stats stats;
  std::optional<TensorMeta> meta;
};

// Opens the tensors of one section. Files that hold several tensors stay open while they are in use, at most
// most_shared_files() of them; a file with one tensor is opened for it alone, unless it is wanted again. Any
// thread.
class Loader {
 public:
  // open_files: what indexing left open; null where it left nothing.
  // Who reads a tensor for the last time takes the file that was left open for it.
  enum class OpenedBefore : uint8_t { taken, left };
  Loader(const Indexed& frames, const FormatOptions& options, OpenFiles* open_files = nullptr,
         OpenedBefore what_is_open = OpenedBefore::taken);
  Result<Loaded> load(Side side, const ItemId& id);
  Result<OperandPtr> load_shard(Side side, const ItemId& id, size_t number);  // of Item::shards
  Result<OperandPtr> load_alone(const fs::path& path);  // of a file that holds one tensor, of no frame
  // Before anything is loaded: files that several pairs or plans want stay open as well.
  void expect(const Pairing& pairing);
  // What is left of a tensor whose file was compacted; nothing where that is not why it cannot be loaded.
  std::optional<StoredTensor> find_statistics(Side side, const ItemId& id) const;
  // What the file of one of Item::shards, or its row in a table, states; nothing where it holds data alone.
  Result<std::optional<ShardStatistics>> find_shard_statistics(Side side, const ItemId& id,
                                                               size_t number) const;
  const fs::path* file_of(Side side, const ItemId& id) const;  // null for an item without data
  int64_t size_of_item(Side side,
                       const ItemId& id) const;  // its share of the file's bytes: what reading it may cost
  int64_t size_of_pair(const Pair& pair) const;  // … of both sides, and on all ranks

 private:
  using Set = std::shared_ptr<const TensorSet>;
  struct Kept {
    std::string path;
    Set set;
  };
  Result<Set> open(const fs::path& path);
  Result<Set> open_shared(const fs::path& path);

  const Indexed& frames_;
  const FormatOptions options_;
  OpenFiles* const open_files_;
  const OpenedBefore what_is_open_;
  const size_t most_kept_ = most_shared_files();
  const std::vector<std::vector<int32_t>>& uses(Side side) const {
    return side == Side::mine ? uses_mine_ : uses_golden_;
  }
  bool is_wanted_again(Side side, const ItemId& id) const;

  std::vector<std::vector<int32_t>> uses_mine_, uses_golden_;  // by frame and file: how many items it serves
  std::vector<std::vector<uint8_t>> wanted_[2];  // … and how many pairs want it: none, one, or more
  std::mutex guard_;
  std::list<Kept> kept_;  // most recently used first
  std::unordered_map<std::string, std::list<Kept>::iterator> by_path_;
};

}  // namespace assay
