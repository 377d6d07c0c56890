// A format is how one file holds tensors. One file per format in this folder; table.cc lists them.
#pragma once

#include "assay/base/file.h"
#include "assay/base/remark.h"
#include "assay/model/value.h"
#include "assay/tensor/operand.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace assay {

class InflatedRoom;  // assay/support/inflated_entry.h
struct HeldFiles;    // assay/format/held_files.h

// Of a tensor in a file: as NumPy 2 and PyTorch.
inline constexpr size_t kMaxDims = 64;

// Where something stands in the containers of its file: the way there, from the outermost one. Without steps
// it is the whole file.
struct NestStep {
  enum class In : uint8_t { dict, ordered_dict, list, tuple };
  In in = In::dict;
  bool is_attribute = false;                         // of the container, and none of its items
  Value key;                                         // absent: None; of a list or tuple the index
  std::optional<std::vector<Value>> tuple_key = {};  // in the place of `key`
  int64_t container = 0;                             // which of the containers of the file it is
  friend bool operator==(const NestStep&, const NestStep&) = default;
};
struct Nest {
  int64_t order = 0;  // among all that the file holds
  std::vector<NestStep> steps = {};
};

// How a tensor lies in a storage that it shares with others of its file, all of one type.
struct SharedStorage {
  int64_t which = 0;  // of the storages of the file
  OperandPtr data;    // one dimension: everything between the first and the last element that one of them has
  int64_t offset = 0;
  std::vector<int64_t> strides = {};
};

// One tensor of a file. A tensor that cannot be read (a quantised one, a broken entry) keeps its place with
// the reason.
struct StoredTensor {
  std::string name;         // "" where the file holds a single unnamed tensor; "layers.0.weight", "output.1"
  Result<OperandPtr> data;  // reads headers only; data is touched by Operand::block
  std::optional<TensorMeta> meta;  // known also for a description without data
  std::optional<Stats> stats;      // as stated by the file itself
  std::vector<Fact> facts;         // storage format, op name…
  Nest nest = {};                  // where TensorSet::is_nested
  // With FormatOptions::nests, what a .pt says of it beside that.
  std::optional<SharedStorage> shared = {};
  bool requires_grad = false;
  bool is_parameter = false;
};

// What stands among the tensors of a file and is none: a number, a text, True, None; a list, tuple or set of
// such; an empty container; or something else.
struct StoredValue {
  enum class Form : uint8_t {
    plain,
    integer,    // beyond 64 bits
    dtype,      // of torch
    reference,  // to a container that stands elsewhere too, or around it
    other,
  };
  std::string name = {};           // as tensors have them
  std::vector<Value> values = {};  // absent: None; one, but for a container
  std::optional<NestStep::In> container = {};
  std::string maker = {};         // of a container that is no dict, list or tuple: "set", "torch.Size"
  std::optional<Nest> nest = {};  // nothing where no container that we write can hold it
  Form form = Form::plain;        // in the place of others a writer has None
  std::string text = {};  // of what is not plain, another one for each: digits, "torch.float32", "b'ab'"
  int64_t refers_to = 0;  // NestStep::container
};

// Something that a file holds and that none of its tensors shows. Whoever removes a file asks for it.
struct Beside {
  std::string what;  // "entry \"notes.txt\"", "12 values that are no tensors"
  // Where it is, if zeros there mean that it is nothing: buffers of a device are padded.
  int64_t offset = 0, bytes = 0;
  // The tensor that lies within these bytes, and of which the rest is the padding; -1 if none does.
  int64_t slot = -1;
  // The facts of its tensors say it: lost only where these are.
  bool in_facts = false;
  // TensorSet::values and the nests say it.
  bool in_nests = false;
};

struct TensorSet {
  std::vector<StoredTensor> tensors;
  int64_t extent = 0;  // where the format says the file ends
  Remarks warnings;    // trailing bytes, a second record…; each names the file
  // Parts that are no tensors and are never compared, as bytes: buffers and logs of a device.
  std::vector<StoredTensor> others = {};
  std::vector<Beside> beside = {};  // what a removal of the file would lose, statistics or not
  // Other files that it leads to and that were looked at for it. Whoever reads the tensors writes over none.
  std::vector<fs::path> files = {};
  // With FormatOptions::values: those that are no tensors. With nests: whether all of the file have one.
  std::vector<StoredValue> values = {};
  bool is_nested = false;
};

// What a user may say about a file that does not describe itself.
struct FormatOptions {
  std::optional<DType> raw_dtype;
  std::optional<Shape> raw_shape;
  int64_t raw_offset = 0;
  int64_t memory = int64_t{256} << 20;  // the most that one header, index or pickle may take
  // Where deflated entries are kept that are not read in order, for all files of a run; null: for each alone.
  std::shared_ptr<InflatedRoom> inflated = {};
  // Paths that stand for tensors in memory; null: none.
  std::shared_ptr<const HeldFiles> held = {};
  // The user vouches for the files: they may ask for more work than files of their size hold honestly.
  bool trusted = false;
  bool every_byte =
      false;            // look also for bytes that belong to nothing, which takes longer: TensorSet::beside
  bool values = false;  // give also what is no tensor: TensorSet::values
  bool nests = false;   // … and where everything stands, and how tensors lie: Nest, SharedStorage
};

// The order in which the elements of a tensor will be asked for, as far as its maker knows.
enum class ReadOrder { forwards, any };

// Where the bytes of a header come from: fills the span from that offset.
using ReadBytes = std::function<Result<void>(int64_t offset, std::span<std::byte> out)>;

struct Format {
  std::string_view name;
  std::vector<std::string_view> suffixes;  // lower case, with the dot; the first one is used for writing
  bool one_tensor;                         // every file holds exactly one unnamed tensor
  // Is this one of ours, judged by its first bytes (up to kSniffBytes) and its size?
  bool (*sniff)(Bytes head, int64_t file_size);
  Result<TensorSet> (*open)(const std::shared_ptr<const File>& file, const FormatOptions& options);
  // Null: read only. Appends the whole file; the caller publishes. Tensors with an error inside are refused.
  Result<void> (*write)(FileWriter& out, std::span<const StoredTensor> tensors);
  // The same in the containers that the nests tell of, and with values. Null: it knows no containers.
  Result<void> (*write_nested)(FileWriter& out, std::span<const StoredTensor> tensors,
                               std::span<const StoredValue> values) = nullptr;
};
inline constexpr int64_t kSniffBytes = 512;

// ----- the table
std::span<const Format* const> formats();
const Format* find_format(std::string_view name);           // null if there is none
const Format* find_format_by_suffix(const fs::path& path);  // null if no format claims it
// By content alone; null if no format claims it.
Result<const Format*> recognise_content(const File& file);
// By content, or else by suffix (so that a truncated .npy is a broken .npy and not "unknown"); null if
// neither fits.
Result<const Format*> recognise_file(const File& file);

// Opens a tensor file of any format.
Result<TensorSet> open_tensors(const fs::path& path, const FormatOptions& options = {});

}  // namespace assay
