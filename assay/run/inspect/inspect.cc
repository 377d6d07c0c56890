#include "assay/run/inspect/inspect.h"

#include "assay/base/cancel.h"
#include "assay/run/inspect/print_values.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "assay/support/parallel.h"
#include "assay/support/progress.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace assay {
namespace {

constexpr size_t kBatch = 128;  // tensors measured side by side; their files are open at the same time

using Histogram = std::array<int64_t, kHistogramBins>;

struct Bins {
  int64_t first = 0;  // element of the band
  Histogram counts{};
  std::optional<Error> error;
};

// Adds elements [first, last) of the operand.
Result<void> count_run(const Operand& operand, double min, double max, int64_t first, int64_t last,
                       Histogram& counts) {
  const DType part = component(operand.meta.dtype);
  const int64_t per_element = components(operand.meta.dtype);
  // Halved where the range itself would overflow.
  const double unit = std::isfinite(max - min) ? 1 : 0.5;
  const double scale = static_cast<double>(kHistogramBins) / (max * unit - min * unit);
  const bool scale_is_good = std::isfinite(scale);  // not for a range of subnormal numbers
  Scratch scratch;
  std::vector<double> values(static_cast<size_t>(kBlockElements * per_element));
  for (int64_t at = first; at < last; at += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Block block, operand.block(at, std::min(kBlockElements, last - at), scratch));
    const int64_t count = block.count * per_element;
    to_f64(part, block.data, count, values.data());
    for (int64_t i = 0; i < count; ++i) {
      const double value = values[static_cast<size_t>(i)];
      if (!std::isfinite(value)) continue;
      const double place = scale_is_good ? (value * unit - min * unit) * scale
                                         : (value - min) / (max - min) * static_cast<double>(kHistogramBins);
      ++counts[std::min(static_cast<size_t>(std::max(place, 0.0)), kHistogramBins - 1)];
    }
  }
  return {};
}

Result<Histogram> count_bins(const Operand& operand, double min, double max) {
  const int64_t count = operand.meta.shape.count();
  Bins all;
  int64_t next = 0;
  const auto next_band = [&]() -> std::unique_ptr<Bins> {
    if (next >= count || all.error) return nullptr;
    auto band = std::make_unique<Bins>();
    band->first = std::exchange(next, next + kBandElements);
    return band;
  };
  const auto count_band = [&](Bins& band) {
    const int64_t last = std::min(count, band.first + kBandElements);
    if (auto done = count_run(operand, min, max, band.first, last, band.counts); !done)
      band.error = std::move(done.error());
  };
  const auto add = [&](Bins& band) {
    for (size_t i = 0; i < kHistogramBins; ++i) all.counts[i] += band.counts[i];
    if (!all.error) all.error = std::move(band.error);
  };
  Pipeline<Bins>(next_band).then(StageOrder::any, count_band).then(StageOrder::kept, add).run();
  if (all.error) return tl::unexpected(std::move(*all.error));
  return all.counts;
}

using OpenSet = std::shared_ptr<const Result<TensorSet>>;

InspectedTensor inspect_item(const Item& item, const FileEntry& file, const OpenSet& set,
                             const InspectRequest& request) {
  InspectedTensor out;
  out.item = &item;
  out.file = file.path;
  if (item.meta != nullptr) out.meta = *item.meta;
  out.trouble = item.trouble;
  out.is_listed = request.names;
  if (!item.data) return out;
  const auto slot = static_cast<size_t>(item.data->slot);
  if (!*set) {
    out.trouble = set->error().message;
  } else if (slot >= (*set)->tensors.size()) {
    out.trouble = fmt::format("{}: changed while it was read", display(file.path));
  } else if (const StoredTensor& found = (*set)->tensors[slot]; !found.data) {
    if (found.meta && found.stats && found.data.error().kind == ErrorKind::not_found)
      out.meta = *found.meta;  // compacted: nothing is wrong with the file
    else
      out.trouble = found.data.error().message;
  } else {
    out.meta = (*found.data)->meta;
    if (request.names) return out;
    Result<OperandPtr> part = request.slice ? sliced(*found.data, *request.slice) : found.data;
    if (request.slice && part) {
      out.meta = (*part)->meta;
      out.slice = request.slice->text;
    }
    if (!part)
      out.trouble = std::move(part.error().message);
    else if (auto measured = measure_into(out, **part, request.values || request.slice); !measured)
      out.trouble = std::move(measured.error().message);
  }
  return out;
}

// Measures the items of a frame in batches: side by side within one, in order towards the sink.
class FrameInspector {
 public:
  FrameInspector(const Frame& frame, std::string section, const InspectRequest& request)
      : frame_(frame), section_(std::move(section)), request_(request) {
    for (const Node& node : frame.nodes)
      for (const Item& item : node.items) items_.push_back(&item);
  }

  Result<void> run(InspectSink& sink, InspectSummary& summary, Progress& progress) {
    for (size_t first = 0; first < items_.size(); first += kBatch) {
      const size_t last = std::min(items_.size(), first + kBatch);
      open_files(first, last);
      std::vector<InspectedTensor> found(last - first);
      parallel_for(found.size(), [&](size_t i) {
        if (cancelled()) return;
        const Item& item = *items_[first + i];
        const auto file = item.data ? static_cast<size_t>(item.data->file) : 0;
        found[i] = inspect_item(item, item.data ? frame_.files[file] : FileEntry{}, sets_[i], request_);
        found[i].section = section_;
      });
      ASSAY_TRY_DO(check_cancelled());
      for (const InspectedTensor& tensor : found) {
        if (!is_beside_tensors(*tensor.item)) ++summary.tensors;
        summary.troubles += tensor.trouble.empty() ? 0 : 1;
        ASSAY_TRY_DO(sink.add(tensor));
        progress.done(1);
      }
    }
    return {};
  }

 private:
  // One set per item of the batch; consecutive items of a file share it, also across batches.
  void open_files(size_t first, size_t last) {
    std::vector<OpenSet> sets(last - first);
    std::vector<size_t> openers;  // items that are the first of their file
    std::vector<int32_t> files(last - first, -1);
    for (size_t i = first; i < last; ++i) {
      if (!items_[i]->data) continue;
      const int32_t file = files[i - first] = items_[i]->data->file;
      if (i > first && files[i - first - 1] == file) continue;
      if (file == last_file_)
        sets[i - first] = last_set_;
      else
        openers.push_back(i - first);
    }
    parallel_for(openers.size(), [&](size_t k) {
      const size_t i = openers[k];
      sets[i] = std::make_shared<const Result<TensorSet>>(
          open_tensors(frame_.files[static_cast<size_t>(files[i])].path, request_.open.format));
    });
    for (size_t i = 1; i < sets.size(); ++i)
      if (!sets[i] && files[i] >= 0) sets[i] = sets[i - 1];
    last_file_ = files.back();
    last_set_ = sets.back();
    sets_ = std::move(sets);
  }

  const Frame& frame_;
  const std::string section_;
  const InspectRequest& request_;
  std::vector<const Item*> items_;
  std::vector<OpenSet> sets_;  // of the present batch
  int32_t last_file_ = -1;
  OpenSet last_set_;
};

Result<void> inspect_path(const fs::path& path, const InspectRequest& request, InspectSink& sink,
                          InspectSummary& summary) {
  InspectedPath found;
  found.path = path;
  const auto give_up = [&](const Error& error) -> Result<void> {
    if (error.kind == ErrorKind::cancelled) return tl::unexpected(error);
    ++summary.troubles;
    found.trouble = error.message;
    return sink.open(found);
  };
  const auto dump = open_dump(path, request.open);
  if (!dump) return give_up(dump.error());
  for (const Remark& remark : dump->warnings) log::warn("{}", remark.text);
  found.kind = kind_of(*dump, request.open);
  std::vector<Frame> frames;
  std::unordered_set<std::string> files;
  for (const FrameInfo& info : dump->frames) {
    auto frame = dump->layout->index(info, request.open);
    if (!frame) return give_up(frame.error());
    for (const Remark& remark : frame->warnings) log::warn("{}", remark.text);
    // The frame that stands for several ranks lists files of the others, which have frames of their own.
    for (const FileEntry& file : frame->files)
      if (files.insert(file.path.native()).second) found.bytes += file.size;
    for (const Node& node : frame->nodes) {
      for (const Item& item : node.items) ++(is_beside_tensors(item) ? found.values : found.tensors);
      for (const Item& item : node.items)  // files that were not looked at yet have no size
        if (item.data && item.meta != nullptr && frame->files[static_cast<size_t>(item.data->file)].size == 0)
          found.bytes += item.meta->byte_size();
    }
    frames.push_back(std::move(*frame));
  }
  found.files = std::ssize(files);
  ASSAY_TRY_DO(sink.open(found));
  Progress progress("inspecting", found.tensors + found.values, request.progress);
  for (const Frame& frame : frames) {
    std::string section = frames.size() > 1 ? frame.at.text() : std::string();
    ASSAY_TRY_DO(FrameInspector(frame, std::move(section), request).run(sink, summary, progress));
  }
  return {};
}

}  // namespace

std::string kind_of(const Dump& dump, const OpenOptions& options) {
  if (dump.layout->name != "single") return std::string(dump.layout->name);
  if (options.format.raw_dtype) return "raw";
  const auto file = File::open(dump.root);
  if (!file) return "single";
  const auto format = recognise_file(**file);
  return format && *format != nullptr ? std::string((*format)->name) : "single";
}

Result<void> measure_into(InspectedTensor& out, const Operand& operand, bool values) {
  ASSAY_TRY(const OneSide measured, gather_one(operand));
  if (measured.finite > 0 && measured.min < measured.max) {
    ASSAY_TRY(out.histogram, count_bins(operand, measured.min, measured.max));
  }
  if (values) {
    ASSAY_TRY(out.values, print_values(operand));
  }
  out.measured = measured;
  return {};
}

Result<InspectSummary> inspect(const InspectRequest& request, InspectSink& sink) {
  const ThreadLimit threads(thread_count(request.threads));
  InspectSummary summary;
  for (const fs::path& path : request.paths) ASSAY_TRY_DO(inspect_path(path, request, sink, summary));
  ASSAY_TRY_DO(sink.end());
  return summary;
}

}  // namespace assay
