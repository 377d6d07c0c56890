#include "assay/run/inspect/reader.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "assay/support/parallel.h"
#include "assay/tensor/cast.h"

#include <algorithm>

namespace assay {

Result<std::unique_ptr<Reader>> Reader::open(const InspectRequest& request) {
  const ThreadLimit threads(thread_count(request.threads));
  ASSAY_TRY(const Dump dump, open_dump(request.paths.front(), request.open));
  const auto tell = [](const Remarks& remarks) {
    for (const Remark& remark : remarks) log::warn("{}", remark.text);
  };
  tell(dump.warnings);
  InspectedPath path;
  path.path = dump.root;
  path.kind = kind_of(dump, request.open);
  Indexed frames;
  for (const FrameInfo& info : dump.frames) {
    auto frame = dump.layout->index(info, request.open);
    if (!frame && (dump.frames.size() == 1 || frame.error().kind == ErrorKind::cancelled))
      return tl::unexpected(std::move(frame.error()));
    if (!frame) {
      log::warn("{}: {}", info.at.text(), frame.error().message);
      continue;
    }
    tell(frame->warnings);
    frames.mine.push_back(std::move(*frame));
  }
  return std::unique_ptr<Reader>(new Reader(request, std::move(path), std::move(frames)));
}

Reader::Reader(const InspectRequest& request, InspectedPath path, Indexed frames)
    : request_(request),
      path_(std::move(path)),
      frames_(std::move(frames)),
      loader_(frames_, request.open.format) {
  ItemId id;
  for (const Frame& frame : frames_.mine) {
    id.node = 0;
    for (const Node& node : frame.nodes) {
      id.item = 0;
      for (size_t i = 0; i < node.items.size(); ++i, ++id.item) items_.push_back(id);
      ++id.node;
    }
    ++id.frame;
  }
}

fs::path Reader::file(size_t number) const {
  const Item& of_item = item(number);
  if (const fs::path* const path = loader_.file_of(Side::mine, items_[number]); path != nullptr) return *path;
  if (of_item.described_in < 0) return {};
  return frame(number).files[static_cast<size_t>(of_item.described_in)].path;
}

Reader::Found Reader::find(size_t number) {
  const Item& of_item = item(number);
  Found found{.trouble = std::string(of_item.trouble)};
  if (of_item.meta != nullptr) found.meta = *of_item.meta;
  if (!of_item.data) return found;
  auto loaded = loader_.load(Side::mine, items_[number]);
  if (loaded) {
    found.data = std::move(loaded->data);
    found.meta = found.data->meta;
    found.warnings = std::move(loaded->warnings);
  } else if (auto compacted = loader_.find_statistics(Side::mine, items_[number])) {
    found.meta = std::move(compacted->meta);  // nothing is wrong with the file
  } else {
    found.trouble = std::move(loaded.error().message);
  }
  return found;
}

Result<OperandPtr> Reader::find_data(size_t number, const std::optional<Slice>& slice,
                                     std::optional<DType> dtype) {
  Found found = find(number);
  if (!found.trouble.empty()) return fail(ErrorKind::bad_format, "{}", found.trouble);
  if (found.data == nullptr)
    return fail(ErrorKind::not_found, "{}: the dump has no data of it, only what it says of them",
                printable(item(number).name));
  OperandPtr data = std::move(found.data);
  if (slice) {
    ASSAY_TRY(data, sliced(std::move(data), *slice));
  }
  if (!dtype || *dtype == data->meta.dtype) return data;
  return cast(std::move(data), *dtype);
}

Result<std::string> Reader::describe(size_t number, const std::optional<Slice>& slice, bool measures) {
  const ThreadLimit threads(thread_count(request_.threads));
  Found found = find(number);
  InspectedTensor out;
  out.item = &item(number);
  if (frames_.mine.size() > 1) out.section = frame(number).at.text();
  out.file = file(number);
  out.meta = found.meta;
  out.trouble = found.trouble;
  out.is_listed = !measures;
  if (found.data == nullptr) return as_json(path_, out);
  if (slice) {
    ASSAY_TRY(found.data, sliced(std::move(found.data), *slice));
    out.meta = found.data->meta;
    out.slice = slice->text;
  }
  if (measures) {
    ASSAY_TRY_DO(measure_into(out, *found.data, false));
  }
  return as_json(path_, out);
}

Result<void> read_all(const Operand& operand, std::span<std::byte> out) {
  const int64_t count = operand.meta.shape.count(), size = size_of(operand.meta.dtype);
  Scratch scratch;
  for (int64_t first = 0; first < count; first += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    const int64_t some = std::min(kBlockElements, count - first);
    ASSAY_TRY_DO(operand.read(
        first, some, out.subspan(static_cast<size_t>(first * size), static_cast<size_t>(some * size)),
        scratch));
  }
  return {};
}

}  // namespace assay
