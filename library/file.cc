// Reading, for callers.
#include "assay/base/text.h"
#include "assay/run/inspect/reader.h"
#include "cli/open_flags.h"
#include "library/open_handles.h"
#include "library/told_caller.h"
#include "library/words.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace assay::library {

// What an assay_tensor_info points to.
struct Described {
  assay_tensor_info info{};
  std::vector<int64_t> shape;
  std::string name, section, file, data_file, trouble, remark;
};

}  // namespace assay::library

struct assay_file {
  explicit assay_file(std::unique_ptr<assay::Reader> opened) : reader(std::move(opened)) {}
  const std::unique_ptr<assay::Reader> reader;
  std::mutex guard;
  std::unordered_map<int64_t, std::unique_ptr<const assay::library::Described>> described;
};

namespace assay::library {
namespace {

bool is_tensor(const Item& item) { return item.stated == nullptr || item.stated->given == Given::tensor; }

std::unique_ptr<const Described> describe(Reader& reader, size_t number) {
  const Item& item = reader.item(number);
  const Reader::Found found = reader.find(number);
  auto out = std::make_unique<Described>();
  out->name = item.name;
  out->section = reader.frame(number).at.text();
  out->file = reader.file(number).native();
  out->trouble = found.trouble;
  for (const Remark& remark : found.warnings) out->remark += (out->remark.empty() ? "" : "\n") + remark.text;
  assay_tensor_info& info = out->info;
  info.state = !found.trouble.empty()  ? ASSAY_BROKEN
               : found.data != nullptr ? ASSAY_HAS_DATA
               : is_tensor(item)       ? ASSAY_STATED_ONLY
                                       : ASSAY_NO_TENSOR;
  info.dtype = info.data_offset = -1;
  if (found.meta) {
    out->shape = found.meta->shape.dims;
    info.dtype = static_cast<int32_t>(found.meta->dtype);
    info.ndim = static_cast<int32_t>(out->shape.size());
    info.count = found.meta->shape.count();
    info.bytes = found.meta->byte_size();
  }
  if (found.data != nullptr)
    if (const auto place = found.data->place()) {
      out->data_file = place->file.native();
      info.data_offset = place->offset;
    }
  info.shape = out->shape.data();
  info.name = out->name.c_str();
  info.section = out->section.c_str();
  info.file = out->file.c_str();
  info.data_file = out->data_file.c_str();
  info.trouble = out->trouble.c_str();
  info.remark = out->remark.c_str();
  return out;
}

const Described& described(assay_file& file, int64_t number) {
  {
    const std::lock_guard lock(file.guard);
    if (const auto known = file.described.find(number); known != file.described.end()) return *known->second;
  }
  auto made = describe(*file.reader, static_cast<size_t>(number));
  const std::lock_guard lock(file.guard);
  return *file.described.emplace(number, std::move(made)).first->second;
}

Result<std::optional<Slice>> slice_of(const char* text) {
  if (text == nullptr) return std::optional<Slice>();
  ASSAY_TRY(Slice slice, parse_slice(text));
  return std::optional(std::move(slice));
}

Result<void> read_into(assay_file& file, int64_t number, const char* slice, int dtype, void* out,
                       int64_t size) {
  if (dtype < -1 || dtype >= kDTypeCount)
    return fail(ErrorKind::bad_argument, "there is no element type {}", dtype);
  ASSAY_TRY(const auto part, slice_of(slice));
  ASSAY_TRY(const OperandPtr data,
            file.reader->find_data(static_cast<size_t>(number), part,
                                   dtype < 0 ? std::nullopt : std::optional(static_cast<DType>(dtype))));
  const int64_t wanted = data->meta.byte_size();
  if (size != wanted)
    return fail(ErrorKind::bad_argument, "{}: {} {} takes {} bytes, not {}",
                printable(file.reader->item(static_cast<size_t>(number)).name), name(data->meta.dtype),
                data->meta.shape.text(), wanted, size);
  if (out == nullptr && wanted > 0) return fail(ErrorKind::bad_argument, "a null pointer");
  return read_all(*data, {static_cast<std::byte*>(out), static_cast<size_t>(wanted)});
}

OpenHandles<assay_file>& open_files() {
  static auto* const kept = new OpenHandles<assay_file>;
  return *kept;
}

// Runs the body for nobody: what it would print is in what it answers.
template <class Body>
assay_status on_tensor(assay_file* handle, int64_t number, Body body) {
  return guarded([&] {
    const std::shared_ptr<assay_file> file = open_files().find(handle);
    if (file == nullptr) return refuse_handle(handle);
    const auto count = static_cast<int64_t>(file->reader->count());
    if (number < 0 || number >= count)
      return refuse(ASSAY_BAD_ARGUMENT, fmt::format("there is no tensor {}: there are {}", number, count));
    ToldCaller nobody(nullptr, nullptr);
    const CallerScope scope(&nobody);
    const Result<void> done = body(*file);
    return done ? ASSAY_OK : refuse(done.error());
  });
}

}  // namespace
}  // namespace assay::library

using namespace assay::library;

assay_status assay_file_open(const char* path, int count, const char* const* flags, assay_sink sink,
                             void* user, assay_file** out) {
  return guarded([&] {
    if (out == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    *out = nullptr;
    if (path == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    const auto words = words_of(count, flags);
    if (!words) return refuse(words.error());
    ToldCaller caller(sink, user);
    const assay::CallerScope scope(&caller);
    const auto request = assay::cli::read_open_flags(path, *words);
    if (!request) return refuse(request.error());
    auto reader = assay::Reader::open(*request);
    if (!reader) return refuse(reader.error());
    *out = open_files().add(std::make_shared<assay_file>(std::move(*reader)));
    return ASSAY_OK;
  });
}

int64_t assay_file_count(const assay_file* file) {
  int64_t count = 0;
  guarded([&] {
    const std::shared_ptr<assay_file> open = open_files().find(file);
    if (open == nullptr) return file == nullptr ? ASSAY_OK : refuse_handle(file);
    count = static_cast<int64_t>(open->reader->count());
    return ASSAY_OK;
  });
  return count;
}

assay_status assay_file_info(assay_file* file, int64_t number, assay_tensor_info* out) {
  return on_tensor(file, number, [&](assay_file& open) -> assay::Result<void> {
    if (out == nullptr || out->size < static_cast<int32_t>(sizeof out->size))
      return assay::fail(assay::ErrorKind::bad_argument, "set size to sizeof(assay_tensor_info) first");
    assay_tensor_info info = described(open, number).info;
    info.size = out->size;
    std::memcpy(out, &info, std::min<size_t>(static_cast<size_t>(out->size), sizeof info));
    return {};
  });
}

assay_status assay_file_read(assay_file* file, int64_t number, const char* slice, int dtype, void* buffer,
                             int64_t size) {
  return on_tensor(file, number,
                   [&](assay_file& open) { return read_into(open, number, slice, dtype, buffer, size); });
}

assay_status assay_file_describe(assay_file* file, int64_t number, const char* slice, int measures,
                                 const char** json) {
  thread_local std::string text;
  return on_tensor(file, number, [&](assay_file& open) -> assay::Result<void> {
    if (json == nullptr) return assay::fail(assay::ErrorKind::bad_argument, "a null pointer");
    *json = "";
    ASSAY_TRY(const auto part, slice_of(slice));
    ASSAY_TRY(text, open.reader->describe(static_cast<size_t>(number), part, measures != 0));
    *json = text.c_str();
    return {};
  });
}

void assay_file_close(assay_file* file) {
  guarded([&] {
    if (file == nullptr) return ASSAY_OK;
    return open_files().remove(file) == nullptr ? refuse_handle(file) : ASSAY_OK;
  });
}
