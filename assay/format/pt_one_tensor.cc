#include "assay/base/crc32.h"
#include "assay/base/zip_records.h"
#include "assay/format/pt_write.h"

#include <utility>

namespace assay {
namespace {

// An archive of which some of the data are somebody else's. `Form` says what stands around an entry.
template <class Form>
class ArchiveText {
 public:
  void add(std::string name, std::string_view data) {
    begin(std::move(name), std::ssize(data), crc32_of(0, as_bytes(data)));
    text_ += data;
    end();
  }
  void begin(std::string name, int64_t size, uint32_t crc) {
    entries_.push_back({std::move(name), size, end_ + std::ssize(text_), crc});
    text_ += Form::header(entries_.back());
  }
  void end() { text_ += Form::behind(entries_.back()); }
  // What was written so far; `skipped` bytes of somebody else's follow.
  std::string take(int64_t skipped) {
    end_ += std::ssize(text_) + skipped;
    return std::exchange(text_, {});
  }
  std::string finish() { return text_ + Form::directory(entries_, end_ + std::ssize(text_)); }

 private:
  std::string text_;
  int64_t end_ = 0;  // of what was taken
  std::vector<ZipRecord> entries_;
};

struct PlainForm {
  static std::string header(const ZipRecord& entry) { return zip_entry_header(entry); }
  static std::string behind(const ZipRecord&) { return {}; }
  static std::string directory(std::span<const ZipRecord> entries, int64_t offset) {
    return zip_directory(entries, offset);
  }
};

struct TorchForm {
  static std::string header(const ZipRecord& entry) { return streamed_entry_header(entry); }
  static std::string behind(const ZipRecord& entry) { return streamed_entry_end(entry); }
  static std::string directory(std::span<const ZipRecord> entries, int64_t offset) {
    return streamed_directory(entries, offset);
  }
};

// As Python's pickler writes a tensor: it remembers whatever could be met again.
class RememberingPickle {
 public:
  std::string of_tensor(const PickledTensor& tensor, const TorchType& type) {
    const std::string_view wants_gradient = tensor.requires_grad ? "\x88" : "\x89";
    if (tensor.is_parameter) global("torch._utils", "_rebuild_parameter");
    global("torch._utils", "_rebuild_tensor_v2");
    out_.op("((");
    string("storage");
    global("torch", type.storage_class);
    string(std::to_string(tensor.key));
    string("cpu");
    out_.integer(tensor.stored.shape.count()).op("t");
    remember();
    out_.op("Q").integer(tensor.offset);
    tuple(tensor.shape.dims);
    tuple(tensor.strides);
    out_.op(tensor.is_parameter ? "\x89" : wants_gradient);
    const uint8_t dict = global("collections", "OrderedDict");
    call(")R");
    call("t");
    call("R");
    if (tensor.is_parameter) {
      out_.op(wants_gradient).recall_shortly(dict);
      call(")R");
      call("\x87");
      call("R");
    }
    return out_.op(".").text();
  }

 private:
  uint8_t remember() {
    out_.remember_shortly(count_);
    return count_++;
  }
  uint8_t global(std::string_view module, std::string_view name) {
    out_.global(module, name);
    return remember();
  }
  void string(std::string_view text) {
    out_.string(text);
    remember();
  }
  void call(std::string_view codes) {
    out_.op(codes);
    remember();
  }
  void tuple(std::span<const int64_t> values) {
    if (values.empty()) {
      out_.op(")");
      return;
    }
    constexpr std::string_view kShort[] = {"\x85", "\x86", "\x87"};
    const bool is_short = values.size() <= std::size(kShort);
    if (!is_short) out_.op("(");
    for (const int64_t value : values) out_.integer(value);
    call(is_short ? kShort[values.size() - 1] : "t");
  }

  PickleWriter out_;
  uint8_t count_ = 0;  // sixteen at most
};

template <class Form>
PtAround around(const TensorMeta& meta, const std::string& folder, const std::string& pickle,
                bool says_byte_order, uint32_t crc) {
  ArchiveText<Form> archive;
  archive.add(folder + "/data.pkl", pickle);
  if (says_byte_order) archive.add(folder + "/byteorder", "little");
  archive.begin(folder + "/data/0", meta.byte_size(), crc);
  PtAround out{archive.take(meta.byte_size()), {}};
  archive.end();
  archive.add(folder + "/version", "3\n");
  out.behind = archive.finish();
  return out;
}

}  // namespace

PtAround around_one_tensor(const TensorMeta& meta, const PtObject& object, uint32_t crc) {
  const TorchType type = *torch_type(meta.dtype);
  PickledTensor tensor = with_own_storage(meta, 0);
  tensor.requires_grad = object.requires_grad;
  tensor.is_parameter = object.is_parameter;
  constexpr int64_t kRoomForTheRest = 64 << 10;
  const bool has_class = !type.storage_class.empty();  // PyTorch 1.13 has no type without one
  if (has_class && meta.byte_size() < kLargestStreamed - kRoomForTheRest)
    return around<TorchForm>(meta, object.folder, RememberingPickle().of_tensor(tensor, type), false, crc);
  PickleWriter pickle;
  add_tensor(pickle, tensor, type);
  return around<PlainForm>(meta, object.folder, pickle.op(".").text(), true, crc);
}

}  // namespace assay
