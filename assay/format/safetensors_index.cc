#include "assay/base/text.h"
#include "assay/format/pt.h"
#include "assay/format/safetensors.h"
#include "assay/format/safetensors_header.h"

#include <map>

namespace assay {
namespace {

bool sniff_safetensors_index(Bytes head, int64_t /*file_size*/) {
  const std::string_view text = trim(as_text(head));
  return text.starts_with('{') && text.find("\"weight_map\"") != std::string_view::npos;
}

struct Shard {
  Result<TensorSet> set;
  std::map<std::string_view, size_t> places;
};

// Only files beside the index: a name with a folder in it could point anywhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Result<TensorSet> open_shard(const File& index, const std::string& name, const FormatOptions& options) {
  if (!is_plain_name(name))
    return fail(ErrorKind::bad_format, "{}: '{}' is not the name of a file beside the index", index.name(),
                printable(name));
  ASSAY_TRY(const auto file, File::open(index.path().parent_path() / name));
  // Older checkpoints have shards of torch, with the same index.
  ASSAY_TRY(const Format* const format, recognise_content(*file));
  const bool is_torch = format == &pt_format || format == &pt_legacy_format;
  return (is_torch ? *format : safetensors_format).open(file, options);
}

// Tensors of the shards that the index does not list belong to what was given to us all the same.
void add_unlisted(const std::string& index, const std::map<std::string, Shard>& shards,
                  const std::map<std::string_view, size_t>& listed, TensorSet& set) {
  int64_t unlisted = 0;
  for (const auto& [name, shard] : shards) {
    if (!shard.set) continue;
    for (const StoredTensor& tensor : shard.set->tensors) {
      if (listed.contains(tensor.name)) continue;
      set.tensors.push_back(tensor);
      ++unlisted;
    }
  }
  if (unlisted > 0)
    set.warnings.push_back(fmt::format(
        "{}: weight_map does not list {} of the tensors of its shards; they are read too", index, unlisted));
}

Result<TensorSet> open_safetensors_index(const std::shared_ptr<const File>& file,
                                         const FormatOptions& options) {
  if (file->size() > options.memory)
    return fail(ErrorKind::limit, "{}: the index of {} bytes is longer than {} bytes", file->name(),
                file->size(), options.memory);
  std::string json(static_cast<size_t>(file->size()), '\0');
  ASSAY_TRY_DO(file->read(0, std::as_writable_bytes(std::span(json))));
  ASSAY_TRY(const auto entries, parse_safetensors_index(json, file->name(), options.memory));

  TensorSet set;
  set.extent = file->size();
  std::map<std::string, Shard> shards;  // its nodes do not move: places refers into them
  std::map<std::string_view, size_t> names;
  for (const ShardEntry& entry : entries) {
    auto found = shards.find(entry.shard);
    if (found == shards.end()) {
      found = shards.emplace(entry.shard, Shard{open_shard(*file, entry.shard, options), {}}).first;
      Shard& shard = found->second;
      if (is_plain_name(entry.shard)) set.files.push_back(file->path().parent_path() / entry.shard);
      if (shard.set) {
        for (size_t i = 0; i < shard.set->tensors.size(); ++i)
          shard.places.emplace(shard.set->tensors[i].name, i);
        set.warnings.insert(set.warnings.end(), shard.set->warnings.begin(), shard.set->warnings.end());
      }
    }
    const Shard& shard = found->second;
    const std::string name = printable(entry.name);
    StoredTensor tensor{.name = name, .data = OperandPtr(), .meta = {}, .stats = {}, .facts = {}};
    if (!shard.set) {
      tensor.data = tl::unexpected<Error>(shard.set.error());
    } else if (const auto place = shard.places.find(name); place == shard.places.end()) {
      tensor.data = fail(ErrorKind::not_found, "{}: tensor '{}' should be in {}, but is not there",
                         file->name(), name, printable(entry.shard));
    } else {
      tensor = shard.set->tensors[place->second];
    }
    if (const auto [first, is_new] = names.emplace(entry.name, set.tensors.size()); !is_new) {
      tensor.data =
          fail(ErrorKind::bad_format, "{}: tensor '{}' appears twice in weight_map", file->name(), name);
      set.tensors[first->second].data = tensor.data;
    }
    set.tensors.push_back(std::move(tensor));
  }
  add_unlisted(file->name(), shards, names, set);
  return set;
}

}  // namespace

const Format safetensors_index_format{.name = "safetensors_index",
                                      .suffixes = {".safetensors.index.json"},
                                      .one_tensor = false,
                                      .sniff = sniff_safetensors_index,
                                      .open = open_safetensors_index,
                                      .write = nullptr};

}  // namespace assay
