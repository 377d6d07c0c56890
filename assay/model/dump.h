// What a dump is once it is opened: frames of nodes of items. Plain structs; strings live in the pool of
// their frame.
#pragma once

#include "assay/base/file.h"
#include "assay/model/value.h"
#include "assay/tensor/operand.h"

#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

// Strings with stable addresses. Moving the pool does not move them.
class StringPool {
 public:
  std::string_view keep(std::string text) { return strings_.emplace_back(std::move(text)); }

 private:
  std::deque<std::string> strings_;
};

enum class Direction : uint8_t { none, input, output, parameter };

struct Port {
  Direction direction = Direction::none;
  int index = 0;
  std::string_view name;  // parameter "weight"
};

struct TensorRef {
  int32_t file = 0;  // index into Frame::files
  int32_t slot = 0;  // the slot-th tensor of that file
};

// Whatever the dump has a line for: bytes, statistics, a scalar, None.
struct Item {
  std::string_view name;
  Port port;
  std::optional<TensorMeta> meta;  // empty where it is not known before the file is opened
  std::optional<TensorRef> data;
  const Stats* stats = nullptr;  // as stated by the dump
  std::span<const Fact> facts;
  std::string_view trouble;  // why there is no data, when indexing already found out
};

// One operator, module or file: the unit that is judged together.
struct Node {
  std::string_view name, type, parent, stack;
  int64_t order = 0;  // execution order
  std::vector<Item> items;
};

// Where in a run a frame was taken; -1 where the dump does not say.
struct At {
  int rank = -1, step = -1, graph = -1, token = -1;
  std::string part;          // a sub-dump: pynative, debug, layer, module, api
  std::string text() const;  // "rank 0 step 3"; empty for a dump of one frame
  friend bool operator==(const At&, const At&) = default;
};

struct FileEntry {
  fs::path path;
  int64_t size = 0;
};

struct Frame {
  At at;
  bool is_file = false;  // a single file, whose tensors may have any names
  std::vector<Node> nodes;
  std::vector<FileEntry> files;
  StringPool strings;
  std::deque<Stats> stats;
  std::deque<std::vector<Fact>> facts;
  std::vector<std::string> warnings;
};

// Enough to index the frame later.
struct FrameInfo {
  At at;
  std::vector<fs::path> paths;
};

struct Layout;  // assay/dump/layout.h

struct Dump {
  const Layout* layout = nullptr;
  fs::path root;
  std::vector<FrameInfo> frames;
};

}  // namespace assay
