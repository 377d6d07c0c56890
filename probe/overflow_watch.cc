#include "probe/overflow_watch.h"

#include "assay/base/text.h"
#include "capture/statistics.h"

namespace assay::probe {

std::string overflow_name(std::string_view folder) {
  const auto parts = split(folder, '/');
  if (parts.size() < 3) return std::string(folder);
  const auto type = [](std::string_view part) {
    return std::string(part.substr(std::min(part.find('_'), part.size() - 1) + 1));
  };
  const bool is_kernel = parts.size() > 3 && parts.back().ends_with("Kernel");
  const size_t end = parts.size() - (is_kernel ? 1 : 0);
  std::string name = type(parts[end - 1]);
  for (size_t i = 2; i < end; ++i) name.append("_").append(parts[i].substr(0, parts[i].find('_')));
  return is_kernel ? name + ":" + type(parts.back()) : name;
}

std::optional<std::string> OverflowWatch::see(std::string_view path, bool is_input, DType dtype,
                                              Bytes bytes) {
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f64)
    return std::nullopt;
  const size_t file = path.rfind('/');
  if (file == std::string_view::npos) return std::nullopt;
  const std::string_view moment = path.substr(0, file);
  const std::string folder(moment.substr(0, moment.rfind('/')));
  const size_t device_end = folder.find('/');
  const std::string round =
      folder.substr(0, folder.find('/', device_end == std::string::npos ? 0 : device_end + 1));
  if (round != round_) {
    round_ = round;
    spoilt_.clear();
    reported_.clear();
  }
  const auto count = static_cast<int64_t>(bytes.size()) / size_of(dtype);
  const capture::Statistics statistics = capture::measure(dtype, bytes, count, {});
  if (statistics.nans + statistics.infs == 0) return std::nullopt;
  if (is_input) {
    if (!moment.ends_with("/before")) return std::nullopt;
    spoilt_.insert(folder);
    if (!has_reported_ && outside_.count++ == 0) outside_.first = path;
    return std::nullopt;
  }
  if (!moment.ends_with("/after") || spoilt_.contains(folder) || reported_.contains(folder))
    return std::nullopt;
  const auto inside = reported_.lower_bound(folder + "/");
  if (inside != reported_.end() && inside->starts_with(folder + "/")) return std::nullopt;
  reported_.insert(folder);
  has_reported_ = true;
  return overflow_name(folder);
}

}  // namespace assay::probe
