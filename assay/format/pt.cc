#include "assay/format/pt.h"

#include "assay/base/text.h"
#include "assay/format/pt_objects.h"
#include "assay/format/pt_writer.h"
#include "assay/format/zip_rest.h"
#include "assay/format/zip_tensor.h"
#include "assay/tensor/dense.h"

#include <algorithm>
#include <unordered_map>

namespace assay {
namespace {

constexpr std::string_view kPickle = "data.pkl";
// What torch says of the archive itself; a few bytes each.
constexpr std::string_view kNotes[] = {"version", ".format_version", ".storage_alignment", "byteorder",
                                       ".data/serialization_id"};
constexpr int64_t kLongestNote = 128;

bool is_note(std::string_view name) {
  return std::find(std::begin(kNotes), std::end(kNotes), name) != std::end(kNotes);
}

// The first entry is data.pkl, but newer torches may write small ones before it.
bool sniff_pt(Bytes head, int64_t /*file_size*/) {
  const std::string_view name = first_entry_name(head);
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash == 0) return false;
  const std::string_view inside = name.substr(slash + 1);
  if (inside == kPickle || inside == "constants.pkl" || is_note(inside)) return true;
  const bool storage = inside.starts_with("data/") && parse_int(inside.substr(5));
  return storage || inside.starts_with(".data/") || inside.starts_with("code/");
}

class ZipStorages final : public PtStorages {
 public:
  ZipStorages(std::shared_ptr<const File> file, const ZipDirectory& directory, const std::string& folder,
              bool big_endian, const FormatOptions& options)
      : file_(std::move(file)),
        big_endian_(big_endian),
        most_elements_(assay::most_elements(*file_, options)) {
    const std::string prefix = folder + "data/";
    for (const ZipEntry& entry : directory.entries)
      if (entry.name.starts_with(prefix)) {
        const std::string_view key = std::string_view(entry.name).substr(prefix.size());
        entries_.emplace(key, std::make_unique<ZipSource>(file_, entry, options));
        sizes_.emplace_back(key, entry.size);
      }
  }

  Result<int64_t> byte_size(std::string_view key) const override {
    ASSAY_TRY(const ZipSource* const source, find(key));
    return source->entry().size;
  }
  Result<OperandPtr> dense(std::string_view key, int64_t offset, TensorMeta meta,
                           ReadOrder order) const override {
    ASSAY_TRY(ZipSource* const source, find(key));
    ASSAY_TRY(OperandPtr tensor, source->dense(offset, std::move(meta), order));
    return big_endian_ ? byte_swapped(std::move(tensor)) : tensor;
  }
  int64_t most_elements() const override { return most_elements_; }
  std::vector<std::pair<std::string_view, int64_t>> sizes() const override { return sizes_; }

 private:
  Result<ZipSource*> find(std::string_view key) const {
    const auto found = entries_.find(key);
    if (found == entries_.end())
      return fail(ErrorKind::bad_format, "{}: the archive has no storage \"{}\", which the pickle wants",
                  file_->name(), printable(key));
    if (const auto& trouble = found->second->entry().trouble) return tl::unexpected<Error>(*trouble);
    return found->second.get();
  }

  std::shared_ptr<const File> file_;
  std::unordered_map<std::string_view, std::unique_ptr<ZipSource>> entries_;
  std::vector<std::pair<std::string_view, int64_t>> sizes_;
  bool big_endian_;
  int64_t most_elements_;
};

// "archive/", the one folder of the archive; an error for what is no tensor file.
Result<std::string> archive_folder(const File& file, const ZipDirectory& directory) {
  const ZipEntry* pickle = nullptr;
  for (const ZipEntry& entry : directory.entries)
    if (entry.name == kPickle ||
        (entry.name.ends_with("/data.pkl") && std::count(entry.name.begin(), entry.name.end(), '/') == 1)) {
      pickle = &entry;
      break;
    }
  if (pickle == nullptr)
    return fail(ErrorKind::bad_format, "{}: a zip without data.pkl is not a file of torch.save ({} entries)",
                file.name(), directory.entries.size());
  const std::string folder = pickle->name.substr(0, pickle->name.size() - kPickle.size());
  for (const ZipEntry& entry : directory.entries)
    if (entry.name == folder + "constants.pkl" || entry.name.starts_with(folder + "code/"))
      return fail(ErrorKind::unsupported,
                  "{}: is a TorchScript program (torch.jit.save); save its state_dict() with torch.save",
                  file.name());
  return folder;
}

Result<bool> is_big_endian(const std::shared_ptr<const File>& file, const ZipDirectory& directory,
                           const std::string& folder) {
  const ZipEntry* const entry = find_entry(directory, folder + "byteorder");
  if (entry == nullptr) return false;
  constexpr int64_t kMaxWord = 16;
  ASSAY_TRY(const auto bytes, read_entry(file, *entry, kMaxWord));
  const std::string_view word = trim(as_text(bytes));
  if (word != "little" && word != "big")
    return fail(ErrorKind::bad_format, "{}: byte order is \"{}\", little or big expected", file->name(),
                printable(word));
  return word == "big";
}

Result<PickleGraph> read_objects(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                                 int64_t memory) {
  ASSAY_TRY(const ReadBytes read, reader_of(file, entry));
  PickleInput input(read, 0, entry.size, memory, file->name());
  return read_pickle(input, memory);
}

// Does a note say what torch says there, a small number or a word?
bool is_torch_note(const std::shared_ptr<const File>& file, const ZipEntry& entry, std::string_view name) {
  const auto bytes = read_entry(file, entry, kLongestNote);
  if (!bytes) return false;
  std::string_view text = as_text(*bytes);
  if (name == "byteorder") return text == "little" || text == "big";
  if (text.ends_with('\n')) text.remove_suffix(1);
  constexpr size_t kMostDigits = 4, kDigitsOfHash = 40;
  return !text.empty() && text.size() <= (name == ".data/serialization_id" ? kDigitsOfHash : kMostDigits) &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Entries that are neither the pickle, nor storages, nor what torch writes of the archive itself.
void add_other_entries(const std::shared_ptr<const File>& file, const ZipDirectory& directory,
                       const std::string& folder, int64_t pickle_size, bool every_byte, TensorSet& set) {
  for (const ZipEntry& entry : directory.entries) {
    const std::string_view name = entry.name;
    const bool is_inside = name.starts_with(folder);
    const std::string_view inside = is_inside ? name.substr(folder.size()) : name;
    if (is_inside && inside == kPickle && entry.size > pickle_size)
      set.beside.push_back({fmt::format("{} bytes behind the pickle", entry.size - pickle_size)});
    const bool is_known = is_inside && (inside == kPickle || inside.starts_with("data/") ||
                                        (is_note(inside) && entry.size <= kLongestNote &&
                                         (!every_byte || is_torch_note(file, entry, inside))));
    if (!is_known || entry.trouble) set.beside.push_back({fmt::format("entry \"{}\"", printable(name))});
  }
}

Result<TensorSet> open_pt(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  // A .pt that is no zip at all: the older container, or nothing of ours; its reader knows the words for
  // both.
  std::byte magic[4];
  if (file->size() >= 4) ASSAY_TRY_DO(file->read(0, magic));
  if (file->size() < 4 || !as_text(magic).starts_with("PK")) return pt_legacy_format.open(file, options);

  ASSAY_TRY(const ZipDirectory directory, read_zip_directory(*file, options.memory));
  ASSAY_TRY(const std::string folder, archive_folder(*file, directory));
  ASSAY_TRY(const bool big_endian, is_big_endian(file, directory, folder));
  ASSAY_TRY(const PickleGraph graph,
            read_objects(file, *find_entry(directory, folder + std::string(kPickle)), options.memory));
  TensorSet set;
  set.extent = directory.extent;
  if (set.extent < file->size())
    set.warnings.push_back(left_out(fmt::format("{}: {} bytes follow the archive and are ignored",
                                                file->name(), file->size() - set.extent)));
  const ZipStorages storages(file, directory, folder, big_endian, options);
  ASSAY_TRY_DO(add_tensors(graph, storages, file->name(), options, set));
  add_other_entries(file, directory, folder, graph.size, options.every_byte, set);
  if (options.every_byte) note_zip_rest(*file, directory, set);
  return set;
}

}  // namespace

const Format pt_format{.name = "pt",
                       .suffixes = {".pt", ".pth"},
                       .one_tensor = false,
                       .sniff = sniff_pt,
                       .open = open_pt,
                       .write = write_pt,
                       .write_nested = write_nested_pt};

}  // namespace assay
