#include "assay/compat/msprobe/module_key.h"

#include "assay/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::string_view kForward = "forward", kBackward = "backward", kGradients = "parameters_grad";

struct Renamed {
  std::string_view trained, inferred;
};
constexpr std::array<Renamed, 5> kFsdp = {{{"q_proj", "qkv_proj"},
                                           {"k_proj", "qkv_proj"},
                                           {"v_proj", "qkv_proj"},
                                           {"gate_proj", "gate_up_proj"},
                                           {"up_proj", "gate_up_proj"}}};
constexpr std::array<Renamed, 10> kMegatron = {{{"word_embeddings", "embed_tokens"},
                                                {"self_attention", "self_attn"},
                                                {"linear_qkv", "qkv_proj"},
                                                {"q_layernorm", "q_norm"},
                                                {"k_layernorm", "k_norm"},
                                                {"core_attention", "attn"},
                                                {"linear_proj", "o_proj"},
                                                {"router", "gate"},
                                                {"linear_fc1", "gate_up_proj"},
                                                {"linear_fc2", "down_proj"}}};

std::string_view inferred_name(std::string_view name, TrainingBackend backend) {
  const auto find = [&](const auto& names) {
    const auto found = std::ranges::find(names, name, &Renamed::trained);
    return found == names.end() ? name : found->inferred;
  };
  return backend == TrainingBackend::fsdp ? find(kFsdp) : find(kMegatron);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Behind "layers." and its digits: first and one behind the last; nothing where there are none.
std::optional<std::pair<size_t, size_t>> find_layer(std::string_view name, size_t from) {
  constexpr std::string_view kLayers = "layers.";
  for (size_t at = name.find(kLayers, from); at != std::string_view::npos; at = name.find(kLayers, at + 1)) {
    const size_t first = at + kLayers.size();
    const size_t end = std::min(name.find_first_not_of("0123456789", first), name.size());
    if (end > first) return std::pair{first, end};
  }
  return std::nullopt;
}

// Behind the last layer that is followed by more.
std::string_view inside_layer(std::string_view name) {
  std::string_view rest = name;
  for (auto layer = find_layer(name, 0); layer; layer = find_layer(name, layer->second))
    if (layer->second < name.size() && name[layer->second] == '.') rest = name.substr(layer->second + 1);
  return rest;
}

std::string_view behind_last(std::string_view name, std::string_view part) {
  const size_t at = name.rfind(part);
  return at == std::string_view::npos ? name : name.substr(at + part.size());
}

// Of a module, without its class: what it is for.
std::string_view purpose(std::string_view module, Side side, TrainingBackend backend) {
  std::string_view rest = module;
  if (side == Side::golden) {
    constexpr std::string_view kModel = "Module.model.";
    rest = inside_layer(rest);
    if (rest.starts_with(kModel)) rest.remove_prefix(kModel.size());
  } else {
    rest = backend == TrainingBackend::fsdp ? behind_last(rest, "_fsdp_wrapped_module.") : inside_layer(rest);
    rest = behind_last(rest, "module.module.");
  }
  const size_t dot = rest.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
  if (side == Side::golden && backend == TrainingBackend::fsdp) return behind_last(name, ".");
  const size_t first = name.find('.');
  return inferred_name(first == std::string_view::npos ? name : name.substr(first + 1), backend);
}

}  // namespace

bool ModuleKeys::is_read(std::string_view entry) {
  if (side_ == Side::golden) return true;
  const std::vector<std::string_view> parts = split(entry, '.');
  if (parts.size() < 3) return false;
  const std::string_view name = parts[parts.size() - 3], direction = parts[parts.size() - 2];
  const bool is_fsdp = backend_ == TrainingBackend::fsdp;
  const bool is_end =
      is_fsdp ? name == "Qwen2Model" || name == "Qwen3Model" || name == "Qwen3MoeModel" : name == "GPTModel";
  // The original looks for the name inside of this word.
  const std::string_view begin = is_fsdp ? "Embedding" : "VocabParallelEmbedding";
  if (is_end && direction == kBackward) return false;
  if (begin.find(name) != std::string_view::npos && direction == kForward) return true;
  return is_reading_;
}

std::optional<std::string> ModuleKeys::next(std::string_view entry) {
  is_reading_ = is_read(entry);
  if (!is_reading_) return std::nullopt;
  const std::vector<std::string_view> parts = split(entry, '.');
  const std::string_view last = parts.back(), before = parts.size() > 1 ? parts[parts.size() - 2] : "";
  const auto without = [&](size_t count) {
    return parts.size() > count
               ? fmt::format("{}", fmt::join(parts.begin(), parts.end() - static_cast<ptrdiff_t>(count), "."))
               : std::string();
  };
  std::string module, call;
  if (last == kGradients || before == kGradients) {
    module = without(1);
    call = kGradients;
  } else {
    const bool is_forward = last == kForward || before == kForward;
    if (!is_forward && last != kBackward && before != kBackward) return std::nullopt;
    module = without(2);
    const int64_t number = is_forward ? calls_[module]++ : 0;
    // Recomputed modules count anew.
    const auto counted = [&](std::string_view part) {
      return is_forward && side_ == Side::mine && is_number(part) ? std::to_string(number)
                                                                  : std::string(part);
    };
    call = fmt::format("{}.{}", counted(before), counted(last));
  }
  if (module.empty()) return std::nullopt;
  const auto layer = find_layer(module, 0);
  return fmt::format("{}\n{}\n{}", call,
                     layer ? module.substr(layer->first, layer->second - layer->first) : std::string("-1"),
                     purpose(module, side_, backend_));
}

}  // namespace assay
