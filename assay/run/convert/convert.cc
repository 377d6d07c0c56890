#include "assay/run/convert/convert.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/base/user_attributes.h"
#include "assay/dump/walk.h"
#include "assay/format/npy.h"
#include "assay/format/npz.h"
#include "assay/format/safetensors.h"
#include "assay/run/compact/file.h"
#include "assay/run/convert/guard.h"
#include "assay/run/convert/lossless.h"
#include "assay/run/convert/narrowed.h"
#include "assay/run/convert/safe_names.h"
#include "assay/support/log.h"
#include "assay/support/progress.h"
#include "assay/tensor/cast.h"

#include <algorithm>
#include <set>

namespace assay {
namespace {

// The operand underneath, read on behalf of a writer: counts what was read and ends at Ctrl-C.
class Watched : public Operand {
 public:
  Watched(OperandPtr source, Progress& progress)
      : Operand(source->meta), source_(std::move(source)), progress_(progress) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    ASSAY_TRY_DO(check_cancelled());
    progress_.done(count * size_of(meta.dtype));
    return source_->block(first, count, scratch);
  }
  Result<void> read(int64_t first, int64_t count, std::span<std::byte> out, Scratch& scratch) const override {
    ASSAY_TRY_DO(check_cancelled());
    progress_.done(count * size_of(meta.dtype));
    return source_->read(first, count, out, scratch);
  }
  void will_need(int64_t first, int64_t count) const override { source_->will_need(first, count); }

 private:
  const OperandPtr source_;
  Progress& progress_;
};

std::string writable_suffixes() {
  std::string list;
  for (const Format* format : formats())
    if (format->write != nullptr && !format->suffixes.empty())
      list += (list.empty() ? "" : ", ") + std::string(format->suffixes[0]);
  return list;
}

Result<const Format*> target_of_file(const fs::path& out) {
  const Format* const format = find_format_by_suffix(out);
  if (format == nullptr)
    return fail(ErrorKind::bad_argument,
                "{}: the suffix names no format; use one of {}, or end the path with / for a folder",
                display(out), writable_suffixes());
  if (format->write == nullptr)
    return fail(ErrorKind::unsupported, "{}: {} can be read but not written; use one of {}", display(out),
                format->name, writable_suffixes());
  return format;
}

Result<const Format*> target_of_folder(std::string_view to) {
  const std::string suffix =
      to.empty() ? ".npy" : fmt::format("{}{}", to.starts_with('.') ? "" : ".", to_lower(to));
  for (const Format* format : formats())
    if (format->write != nullptr &&
        std::find(format->suffixes.begin(), format->suffixes.end(), suffix) != format->suffixes.end())
      return format;
  return fail(ErrorKind::bad_argument, "--to {}: cannot be written; use one of {}", printable(to),
              writable_suffixes());
}

class Converter {
 public:
  Converter(const ConvertRequest& request, const Format& target, Progress& progress)
      : request_(request),
        target_(target),
        progress_(progress),
        names_([this](const std::string& path) { return guard_.is_taken(request_.out / path); }) {}

  // A file that open() will be asked for: no output takes its name before.
  void will_open(const fs::path& path) { guard_.add_source(path); }

  // … nor that of a file that it leads to.
  void will_follow(const fs::path& path) {
    if (const auto set = open_tensors(path, request_.open.format))
      for (const fs::path& other : set->files) guard_.add_source(other);
  }

  // The tensors of a file that are wanted, each as the writer shall see it.
  // keeps_containers: they go into one file, whose format may know containers.
  Result<std::vector<StoredTensor>> open(const fs::path& path, std::string_view item_prefix,
                                         bool keeps_containers = true) {
    guard_.begin(path);
    source_ = path;
    state_ = states_of(path);
    casts_.clear();
    changed_from_.clear();
    narrowed_.clear();
    kept_integers_.clear();
    FormatOptions options = request_.open.format;
    options.every_byte = true;
    options.values = options.nests = keeps_containers && target_.write_nested != nullptr;
    ASSAY_TRY(TensorSet set, open_tensors(path, options));
    for (const fs::path& other : set.files) guard_.add_source(other);
    tensors_in_source_ = set.tensors.size();
    std::error_code ignored;
    const auto size = static_cast<int64_t>(fs::file_size(path, ignored));
    // Of raw bytes the user says what they are; the name of another format does not make them a file of it.
    has_more_in_source_ = !set.beside.empty() || !set.others.empty() || (!ignored && set.extent < size) ||
                          request_.open.format.raw_dtype.has_value();
    for (const Remark& remark : set.warnings) log::warn("{}", remark.text);
    is_nested_ = set.is_nested;
    for (const Beside& beside : set.beside)
      if (!is_nested_ || !beside.in_nests)
        outcome.dropped.push_back(fmt::format("{}: {}", display(path), beside.what));
    if (options.values && !is_nested_ && !set.values.empty())
      outcome.dropped.push_back(
          fmt::format("{}: its containers; names with dots tell of them", display(path)));
    const std::string file_name(item_prefix.empty() ? path.filename().string() : item_prefix);
    const auto item_of = [&](const std::string& inside) {
      return inside.empty() ? file_name : item_prefix.empty() ? inside : file_name + ":" + inside;
    };
    values_.clear();
    if (is_nested_)
      for (StoredValue& value : set.values)
        if (selected(printable(item_of(value.name)), request_.open)) values_.push_back(std::move(value));
    std::vector<StoredTensor> wanted;
    for (StoredTensor& tensor : set.tensors) {
      const std::string item = item_of(tensor.name);
      if (!selected(printable(item), request_.open)) continue;
      tensor.data = prepare(std::move(tensor.data), item, path);
      if (tensor.data) tensor.meta = (*tensor.data)->meta;
      wanted.push_back(std::move(tensor));
    }
    prepare_shared(wanted, path);
    return wanted;
  }

  // Writes them into one file.
  Result<void> write(const fs::path& out, std::span<StoredTensor> tensors, const std::string& unnamed) {
    for (const StoredTensor& tensor : tensors)
      if (!tensor.data) return tl::unexpected(tensor.data.error());
    if (request_.force) ASSAY_TRY_DO(check_replaceable(out));
    if (request_.force && guard_.is_taken(out))
      return fail(ErrorKind::bad_argument,
                  "{}: is one of the files that are converted, or that these lead to; write to another file",
                  display(out));
    const bool is_own = request_.force && guard_.is_own(out);
    if (is_own) ASSAY_TRY_DO(check_own(out, tensors));
    // A file for many tensors needs a name for each; torch files may hold a bare one.
    for (StoredTensor& tensor : tensors)
      if (tensor.name.empty() && !target_.one_tensor && target_.name != "pt") tensor.name = unnamed;
    if (out.has_parent_path()) ASSAY_TRY_DO(make_folder(out.parent_path()));
    ASSAY_TRY(FileWriter writer,
              FileWriter::create(out, request_.force ? IfExists::replace : IfExists::refuse));
    if (is_own)
      if (const auto copied = copy_user_attributes(source_, writer.descriptor()); !copied)
        return fail(ErrorKind::io, "{}: is the file that is converted, and {}; write to another folder",
                    display(out), copied.error().message);
    if (request_.force) ASSAY_TRY_DO(writer.take_rights_of(out));
    if (auto written =
            is_nested_ ? target_.write_nested(writer, tensors, values_) : target_.write(writer, tensors);
        !written)
      return tl::unexpected(with_hint(std::move(written.error())));
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY_DO(writer.sync());
    if (is_own && states_of(source_) != state_)
      return fail(ErrorKind::io, "{}: was changed while it was converted and is kept; run it again",
                  display(out));
    std::error_code ignored;
    const bool was_there = fs::exists(fs::symlink_status(out, ignored));
    ASSAY_TRY(const fs::path published, writer.publish());
    if (was_there) outcome.replaced.push_back(published);
    guard_.add_output(published);
    ++outcome.files;
    outcome.tensors += std::ssize(tensors);
    if (is_nested_) outcome.values += count_values();
    for (const StoredTensor& tensor : tensors) {
      const Operand* const written = tensor.data->get();
      outcome.kept_integers += kept_integers_.contains(written) ? 1 : 0;
      if (const auto before = changed_from_.find(written); before != changed_from_.end())
        ++outcome.changed[{before->second, written->meta.dtype}];
      if (const auto narrowed = narrowed_.find(written);
          narrowed != narrowed_.end() && narrowed->second->has_overflowed())
        outcome.overflowed.push_back(tensor.name.empty() ? out.filename().native() : tensor.name);
    }
    return {};
  }

  // One file per tensor: `stem`/name.npy, or stem.npy for an unnamed one.
  Result<void> write_each(const fs::path& folder, const std::string& stem, std::span<StoredTensor> tensors,
                          const std::string& unnamed) {
    for (StoredTensor& tensor : tensors) {
      std::string place = stem;
      if (!tensor.name.empty()) place += fmt::format("{}{}", stem.empty() ? "" : "/", safe_path(tensor.name));
      if (place.empty()) place = safe_path(unnamed);
      const fs::path out = folder / names_.claim(place, target_.suffixes[0]);
      ASSAY_TRY_DO(note(write(out, std::span(&tensor, 1), unnamed)));
    }
    return {};
  }

  // A failure is remembered and the next file has its turn; Ctrl-C ends everything.
  Result<void> note(Result<void> done) {
    if (done) return {};
    if (done.error().kind == ErrorKind::cancelled) return done;
    outcome.failures.push_back(std::move(done.error().message));
    return {};
  }

  const Format& target() const { return target_; }
  SafeNames& names() { return names_; }

  ConvertOutcome outcome;

 private:
  Result<OperandPtr> prepare(Result<OperandPtr> data, const std::string& item, const fs::path& path) {
    if (!data)
      return fail(data.error().kind, "{}; pass --skip '{}' to leave it out", data.error().message,
                  printable(item));
    if (*data == nullptr)
      return fail(ErrorKind::unsupported,
                  "{}: {} is a description without data; pass --skip '{}' to leave it out", display(path),
                  printable(item), printable(item));
    OperandPtr operand = std::make_shared<Watched>(std::move(*data), progress_);
    const bool is_whole = !is_real(operand->meta.dtype) && !is_complex(operand->meta.dtype);
    if (request_.dtype && !request_.all_dtypes && is_whole && *request_.dtype != operand->meta.dtype &&
        (is_real(*request_.dtype) || is_complex(*request_.dtype))) {
      kept_integers_.insert(operand.get());
      return operand;
    }
    const bool widens = request_.widen_bf16 && operand->meta.dtype == DType::bf16;
    const DType wanted = widens ? DType::f32 : request_.dtype.value_or(operand->meta.dtype);
    if (operand->meta.dtype == wanted) return operand;
    casts_.push_back({operand, wanted});
    const DType before = operand->meta.dtype;
    auto changed = cast(operand, wanted);
    if (changed && is_real(before) && is_real(wanted)) {
      auto narrowed = std::make_shared<Narrowed>(std::move(operand), std::move(*changed));
      narrowed_.emplace(narrowed.get(), narrowed.get());
      changed = std::move(narrowed);
    }
    if (changed) changed_from_.emplace(changed->get(), before);
    if (!changed)
      return fail(changed.error().kind, "{}: {}: {}", display(path), printable(item),
                  changed.error().message);
    return changed;
  }

  // A storage that tensors share is read as they are, once for all of them; one that is left alone with it
  // gets a storage of its own.
  void prepare_shared(std::vector<StoredTensor>& tensors, const fs::path& path) {
    std::map<int64_t, int64_t> users;
    for (const StoredTensor& tensor : tensors)
      if (tensor.shared) ++users[tensor.shared->which];
    std::map<int64_t, Result<OperandPtr>> storages;
    int64_t without_gradient = 0;
    for (StoredTensor& tensor : tensors) {
      if (!tensor.data) continue;
      const DType dtype = (*tensor.data)->meta.dtype;
      if (tensor.requires_grad && !is_real(dtype) && !is_complex(dtype)) {
        tensor.requires_grad = false;
        ++without_gradient;
      }
      if (!tensor.shared) continue;
      const auto [storage, is_new] = storages.try_emplace(tensor.shared->which, nullptr);
      if (is_new) storage->second = prepare(tensor.shared->data, tensor.name, path);
      if (users[tensor.shared->which] > 1 && storage->second)
        tensor.shared->data = *storage->second;
      else
        tensor.shared.reset();
    }
    if (without_gradient > 0)
      outcome.dropped.push_back(fmt::format("{}: requires_grad of {} tensor{}, which integers cannot have",
                                            display(path), without_gradient,
                                            without_gradient == 1 ? "" : "s"));
  }

  // None is nothing that anybody would miss.
  int64_t count_values() const {
    int64_t count = 0;
    for (const StoredValue& stored : values_) {
      if (!stored.nest || stored.form == StoredValue::Form::other) continue;
      count += stored.form == StoredValue::Form::plain
                   ? std::ranges::count_if(
                         stored.values,
                         [](const Value& each) { return !std::holds_alternative<std::monostate>(each); })
                   : 1;
    }
    return count;
  }

  // A source is written over only if what takes its place holds everything that it held.
  Result<void> check_own(const fs::path& out, std::span<const StoredTensor> tensors) const {
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorKind::bad_argument,
                  "{}: is the file that is converted, and {}; write to another folder", display(out), why);
    };
    ASSAY_TRY(const auto file, File::open(out));
    ASSAY_TRY(const Format* const format, recognise_file(*file));
    // These are names and elements, and nothing is left of them elsewhere. A .pt has containers, shared
    // storages, classes and devices; a .bin has lines of its own.
    const bool is_plain = format == &npy_format || format == &npz_format || format == &safetensors_format;
    if (!is_plain || format != &target_ || has_more_in_source_ || tensors.size() < tensors_in_source_)
      return refuse("holds more than would take its place");
    // What cannot be printed is shown as \x01 in a name, and would be written so; no name becomes one.
    const auto is_kept = [](const StoredTensor& tensor) {
      return !tensor.name.empty() && tensor.name.find('\\') == std::string::npos;
    };
    if (!target_.one_tensor && !std::all_of(tensors.begin(), tensors.end(), is_kept))
      return refuse("has names that cannot be written as they are");
    for (const Cast& cast : casts_) {
      ASSAY_TRY(const bool is_exact, is_lossless(cast.source, cast.to));
      if (!is_exact) return refuse(fmt::format("{} cannot hold all of its values", name(cast.to)));
    }
    return {};
  }

  Error with_hint(Error error) const {
    if (error.kind == ErrorKind::unsupported && !request_.dtype)
      error.message += "; pass --dtype f32 to convert the elements";
    return error;
  }

  struct Cast {
    OperandPtr source;
    DType to;
  };

  // Of the name itself and of what it leads to.
  static std::pair<std::optional<FileState>, std::optional<FileState>> states_of(const fs::path& path) {
    std::error_code ignored;
    return {read_state(path), read_state(fs::canonical(path, ignored))};
  }

  const ConvertRequest& request_;
  const Format& target_;
  Progress& progress_;
  ConvertGuard guard_;
  std::vector<Cast> casts_;  // of the file at hand
  std::map<const Operand*, DType> changed_from_;
  std::map<const Operand*, const Narrowed*> narrowed_;
  std::set<const Operand*> kept_integers_;
  SafeNames names_;
  fs::path source_;  // the file at hand, and how it was before it was opened
  std::pair<std::optional<FileState>, std::optional<FileState>> state_;
  size_t tensors_in_source_ = 0;
  bool has_more_in_source_ = false;  // than tensors
  bool is_nested_ = false;           // its containers are kept, with these values
  std::vector<StoredValue> values_;
};

std::string stem_of_file(const fs::path& path) {
  const std::string name = path.filename().string();
  if (const Format* format = find_format_by_suffix(path))
    for (const std::string_view suffix : format->suffixes)
      if (to_lower(name).ends_with(suffix) && name.size() > suffix.size())
        return name.substr(0, name.size() - suffix.size());
  return name;
}

Result<void> require_some(const ConvertRequest& request, size_t tensors) {
  if (tensors > 0) return {};
  const bool chosen = !request.open.only.empty() || !request.open.skip.empty();
  return fail(ErrorKind::not_found, "{}: {}", display(request.in),
              chosen ? "no tensor is left by --only and --skip" : "holds no tensors");
}

Result<ConvertOutcome> file_to_file(const ConvertRequest& request) {
  ASSAY_TRY(const Format* const target, target_of_file(request.out));
  std::error_code ignored;
  const auto size = fs::file_size(request.in, ignored);
  Progress progress("converting", ignored ? 0 : static_cast<int64_t>(size), request.progress);
  Converter converter(request, *target, progress);
  ASSAY_TRY(std::vector<StoredTensor> tensors, converter.open(request.in, ""));
  ASSAY_TRY_DO(require_some(request, tensors.size()));
  if (target->one_tensor && tensors.size() > 1)
    return fail(ErrorKind::bad_argument,
                "{}: holds {} tensors, and {} holds one; write .npz, .safetensors or .pt, or a folder: {}/",
                display(request.in), tensors.size(), target->suffixes[0],
                printable(stem_of_file(request.out)));
  ASSAY_TRY_DO(converter.write(request.out, tensors, stem_of_file(request.in)));
  return std::move(converter.outcome);
}

Result<ConvertOutcome> file_to_folder(const ConvertRequest& request) {
  ASSAY_TRY(const Format* const target, target_of_folder(request.to));
  Progress progress("converting", 0, request.progress);
  Converter converter(request, *target, progress);
  ASSAY_TRY(std::vector<StoredTensor> tensors, converter.open(request.in, "", false));
  ASSAY_TRY_DO(require_some(request, tensors.size()));
  ASSAY_TRY_DO(make_folder(request.out));
  ASSAY_TRY_DO(converter.write_each(request.out, "", tensors, stem_of_file(request.in)));
  return std::move(converter.outcome);
}

Result<void> convert_member(Converter& converter, const ConvertRequest& request, const fs::path& file) {
  ASSAY_TRY_DO(check_cancelled());
  const fs::path relative = file.lexically_relative(request.in);
  ASSAY_TRY(std::vector<StoredTensor> tensors, converter.open(file, relative.generic_string()));
  if (tensors.empty()) return {};
  const std::string unnamed = stem_of_file(file);
  const std::string stem = (relative.parent_path() / unnamed).generic_string();
  if (converter.target().one_tensor && (tensors.size() > 1 || !tensors[0].name.empty()))
    return converter.write_each(request.out, stem, tensors, unnamed);
  const fs::path out = request.out / converter.names().claim(stem, converter.target().suffixes[0]);
  return converter.write(out, tensors, unnamed);
}

Result<ConvertOutcome> folder_to_folder(const ConvertRequest& request) {
  ASSAY_TRY(const Format* const target, target_of_folder(request.to));
  OpenOptions options = request.open;
  options.layout = "folder";
  ASSAY_TRY(const Dump dump, open_dump(request.in, options));
  ASSAY_TRY(const Frame frame, dump.layout->index(dump.frames.at(0), options));
  for (const Remark& remark : frame.warnings) log::warn("{}", remark.text);
  ASSAY_TRY_DO(require_some(request, frame.nodes.size()));
  int64_t bytes = 0;
  for (const FileEntry& file : frame.files) bytes += file.size;
  std::error_code ignored;
  const bool out_was_there = fs::exists(request.out, ignored);
  Progress progress("converting", bytes, request.progress);
  Converter converter(request, *target, progress);
  for (const FileEntry& file : frame.files) converter.will_open(file.path);
  // What --only and --skip leave out is the user's as well.
  ASSAY_TRY(const Walk walk, walk_folder(request.in));
  if (request.force && out_was_there && !walk.unentered.empty())
    return fail(ErrorKind::io,
                "{}; so it is not known which files in {} --force must not replace: write to a new folder",
                walk.unentered[0], display(request.out));
  std::set<fs::path> folders;  // no output takes the name of one
  for (const FoundFile& file : walk.files) {
    const fs::path path = path_of(request.in, file);
    converter.will_open(path);
    for (fs::path folder = path.parent_path();
         folder != request.in && folder.has_relative_path() && folders.insert(folder).second;
         folder = folder.parent_path())
      converter.will_open(folder);
  }
  ASSAY_TRY_DO(make_folder(request.out));
  // Where nothing is replaced, nothing can be lost.
  if (request.force && out_was_there)
    for (const FileEntry& file : frame.files) converter.will_follow(file.path);
  for (const FileEntry& file : frame.files)
    ASSAY_TRY_DO(converter.note(convert_member(converter, request, file.path)));
  return std::move(converter.outcome);
}

}  // namespace

Result<ConvertOutcome> convert(const ConvertRequest& request) {
  std::error_code ignored;
  if (fs::is_directory(request.in, ignored)) {
    if (!request.out_is_folder && find_format_by_suffix(request.out) != nullptr)
      return fail(ErrorKind::bad_argument,
                  "{}: is a folder, and so its output is one: name a folder instead of {}",
                  display(request.in), display(request.out));
    return folder_to_folder(request);
  }
  if (request.out_is_folder || fs::is_directory(request.out, ignored)) return file_to_folder(request);
  if (!request.to.empty())
    return fail(ErrorKind::bad_argument, "--to is for folders; the suffix of {} says the format of a file",
                display(request.out));
  return file_to_file(request);
}

}  // namespace assay
