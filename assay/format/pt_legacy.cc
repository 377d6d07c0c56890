#include "assay/format/pt.h"
#include "assay/format/pt_objects.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/format/pt_opaque.h"
#include "assay/tensor/dense.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace assay {
namespace {

using Kind = PickleValue::Kind;

// 0x1950a86a20f9469cfc6c as the pickle opcode LONG1 writes it, and as protocols 0 and 1 do.
constexpr std::string_view kLegacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::string_view kMagicDigits = "119547037146038801333356";
constexpr int64_t kProtocol = 1001;

bool is_old_tar(Bytes head) {
  // torch 0.1.10 and earlier: a tar whose members have these names.
  if (head.size() < 263 || as_text(head).substr(257, 5) != "ustar") return false;
  const std::string_view member = as_text(head).substr(0, 100);
  for (const std::string_view known : {"sys_info", "storages", "tensors", "pickle"})
    if (member.starts_with(known)) return true;
  return false;
}

bool sniff_pt_legacy(Bytes head, int64_t /*file_size*/) {
  const std::string_view text = as_text(head);
  if (text.starts_with('\x80')) return text.substr(0, 32).find(kLegacyMagic) != std::string_view::npos;
  return text.substr(0, 32).find(kMagicDigits) != std::string_view::npos || is_old_tar(head);
}

class FileStorages final : public PtStorages {
 public:
  FileStorages(std::shared_ptr<const File> file, const FormatOptions& options)
      : file_(std::move(file)), most_elements_(assay::most_elements(*file_, options)) {}

  void add(std::string_view key, int64_t offset, int64_t bytes) {
    if (extents_.emplace(key, StorageExtent{offset, bytes}).second) sizes_.emplace_back(key, bytes);
  }

  Result<int64_t> byte_size(std::string_view key) const override {
    const auto found = extents_.find(key);
    if (found == extents_.end())
      return fail(ErrorKind::bad_format,
                  "{}: has no storage \"{}\", which the pickle wants (truncated, or still being written)",
                  file_->name(), printable(key));
    return found->second.bytes;
  }
  Result<OperandPtr> dense(std::string_view key, int64_t offset, TensorMeta meta,
                           ReadOrder /*order*/) const override {
    return dense_in_file(file_, extents_.at(key).offset + offset, std::move(meta));
  }
  int64_t most_elements() const override { return most_elements_; }
  std::vector<std::pair<std::string_view, int64_t>> sizes() const override { return sizes_; }

 private:
  struct StorageExtent {
    int64_t offset = 0, bytes = 0;
  };
  std::shared_ptr<const File> file_;
  int64_t most_elements_;
  std::unordered_map<std::string_view, StorageExtent> extents_;  // keys live in the graph
  std::vector<std::pair<std::string_view, int64_t>> sizes_;
};

// Does it hold more than the numbers that torch writes, and their names?
bool holds_more_than_settings(const PickleGraph& graph) {
  constexpr std::string_view kNames[] = {
      "protocol_version", "little_endian", "type_sizes", "short", "int", "long"};
  constexpr size_t kMostValues = 32;
  return graph.values.size() > kMostValues || count_detached(graph) > 0 ||
         std::any_of(graph.values.begin(), graph.values.end(), [&](const PickleValue& value) {
           const bool is_name =
               std::find(std::begin(kNames), std::end(kNames), value.text) != std::end(kNames);
           return value.kind == Kind::call || value.kind == Kind::persistent || value.kind == Kind::global ||
                  ((value.kind == Kind::text || value.kind == Kind::bytes) && !is_name);
         });
}

// Answers whether the head holds more than a head should.
Result<bool> check_head(PickleInput& input, int64_t memory) {
  const auto not_ours = [&] {
    return fail(ErrorKind::bad_format,
                "{}: is neither a zip nor a pickle with the magic number of torch.save", input.name());
  };
  const auto magic = read_pickle(input, memory);
  if (!magic)
    return magic.error().kind == ErrorKind::bad_format ? not_ours() : tl::unexpected<Error>(magic.error());
  const PickleValue& number = (*magic)[magic->root];
  if (number.kind != Kind::big_integer || (number.text != kLegacyMagic && number.text != kMagicDigits))
    return not_ours();
  ASSAY_TRY(const PickleGraph version, read_pickle(input, memory));
  if (version[version.root].kind != Kind::integer || version[version.root].integer != kProtocol)
    return fail(ErrorKind::unsupported, "{}: is of another torch protocol than {}", input.name(), kProtocol);
  // Sizes of the C types and the byte order of the machine that wrote it; the data are little-endian in any
  // case.
  ASSAY_TRY(const PickleGraph machine, read_pickle(input, memory));
  return holds_more_than_settings(*magic) || holds_more_than_settings(version) ||
         holds_more_than_settings(machine);
}

// Each storage is a count (int64) and the elements, whose size stands in the persistent ids.
Result<int64_t> place_storages(const File& file, const PickleGraph& objects, const PickleGraph& keys,
                               int64_t position, FileStorages& out) {
  std::unordered_map<std::string_view, PtStorageId> ids;
  std::unordered_set<std::string_view> listed;
  for (const PickleValue& value : objects.values)
    if (const auto id = storage_id(objects, value)) ids.emplace(id->key, *id);
  for (const PickleRef ref : keys[keys.root].items) {
    const auto found = ids.find(keys[ref].text);
    if (found == ids.end())
      return fail(ErrorKind::bad_format, "{}: lists a storage \"{}\" that no tensor has", file.name(),
                  printable(keys[ref].text));
    if (!listed.insert(found->first).second)
      return fail(ErrorKind::bad_format, "{}: lists storage \"{}\" twice", file.name(),
                  printable(keys[ref].text));
    if (file.size() - position < 8) return position;  // truncated: the tensors without storage say so
    std::byte count_bytes[8];
    ASSAY_TRY_DO(file.read(position, count_bytes));
    const auto bytes = checked_multiply(load_le<int64_t>(count_bytes), found->second.element_size);
    if (!bytes || *bytes < 0 || *bytes > file.size() - position - 8) return position;
    out.add(found->first, position + 8, *bytes);
    position += 8 + *bytes;
  }
  return position;
}

Result<TensorSet> open_pt_legacy(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  std::byte head[kSniffBytes];
  ASSAY_TRY(const int64_t got, file->read_some(0, head));
  if (is_old_tar(Bytes(head, static_cast<size_t>(got))))
    return fail(ErrorKind::unsupported,
                "{}: is a tar of torch 0.1.10 or earlier; load it and save it with a newer torch",
                file->name());

  const auto read = [&](int64_t offset, std::span<std::byte> out) { return file->read(offset, out); };
  PickleInput input(read, 0, file->size(), options.memory, file->name());
  ASSAY_TRY(const bool has_more, check_head(input, options.memory));
  ASSAY_TRY(const PickleGraph objects, read_pickle(input, options.memory));
  ASSAY_TRY(const PickleGraph keys, read_pickle(input, options.memory));
  if (keys[keys.root].kind != Kind::list)
    return fail(ErrorKind::bad_format, "{}: has no list of storages", file->name());

  FileStorages storages(file, options);
  TensorSet set;
  ASSAY_TRY(set.extent, place_storages(*file, objects, keys, input.position(), storages));
  if (set.extent < file->size())
    set.warnings.push_back(left_out(fmt::format("{}: {} bytes follow the last storage and are ignored",
                                                file->name(), file->size() - set.extent)));
  ASSAY_TRY_DO(add_tensors(objects, storages, file->name(), options, set));
  if (has_more) set.beside.push_back({"values before its objects"});
  if (count_detached(keys) > 0) set.beside.push_back({"values behind its objects"});
  return set;
}

}  // namespace

const Format pt_legacy_format{.name = "pt_legacy",
                              .suffixes = {},
                              .one_tensor = false,
                              .sniff = sniff_pt_legacy,
                              .open = open_pt_legacy,
                              .write = nullptr};

}  // namespace assay
