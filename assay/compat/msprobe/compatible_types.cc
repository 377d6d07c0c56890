#include "assay/compat/msprobe/compatible_types.h"

#include "assay/base/text.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

struct TypeName {
  std::string_view word;  // without the framework
  char kind;
};
constexpr std::array<TypeName, 15> kTypes = {{{"float16", 'f'},
                                              {"float32", 'f'},
                                              {"float64", 'f'},
                                              {"bfloat16", 'f'},
                                              {"int8", 'i'},
                                              {"int16", 'i'},
                                              {"int32", 'i'},
                                              {"int64", 'i'},
                                              {"uint8", 'i'},
                                              {"uint16", 'i'},
                                              {"uint32", 'i'},
                                              {"uint64", 'i'},
                                              {"bool", 'b'},
                                              {"complex64", 'c'},
                                              {"complex128", 'c'}}};

struct KnownType {
  const TypeName* type = nullptr;  // null: a name of neither framework, which fits only itself
  bool is_torch = false;
};

// "torch.float32" and "Float32"; numpy's "float32" is neither.
KnownType find_type(std::string_view name) {
  constexpr std::string_view kTorch = "torch.";
  const bool is_torch = name.starts_with(kTorch);
  if (is_torch)
    name.remove_prefix(kTorch.size());
  else if (name.empty() || name[0] < 'A' || name[0] > 'Z')
    return {};
  const std::string word = to_lower(name);
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& type) { return type.word == word; });
  return found == kTypes.end() ? KnownType{} : KnownType{&*found, is_torch};
}

bool is_one_of(std::string_view word, std::string_view a, std::string_view b) {
  return word == a || word == b;
}

// A frame of golden comes from PyTorch, and mine does not.
bool is_cross_framework(const Indexed& frames) {
  return !frames.mine.empty() && !frames.golden.empty() && frames.golden[0].framework == "pytorch" &&
         frames.mine[0].framework != "pytorch";
}

}  // namespace

TypeRule type_rule(Generation generation, const Mappings& mappings) {
  const bool maps_calls = mappings.use_api_table || !mappings.apis.empty() || mappings.rename_cells;
  return {generation, generation != Generation::g1 || maps_calls};
}

CompatibleTypes::CompatibleTypes(const Indexed& frames, const TypeRule& rule)
    : rule_(rule), cross_(rule.translates && is_cross_framework(frames)) {}

bool CompatibleTypes::operator()(std::string_view mine, std::string_view golden) const {
  if (mine == golden) return true;
  const KnownType m = find_type(mine), g = find_type(golden);
  if (m.type == nullptr || g.type == nullptr || (!cross_ && m.is_torch != g.is_torch)) return false;
  const std::string_view a = m.type->word, b = g.type->word;
  if (rule_.generation == Generation::g1)
    return a == b || (a == "float16" && is_one_of(b, "float32", "bfloat16")) ||
           (b == "float16" && is_one_of(a, "float32", "bfloat16"));
  if (cross_) return m.type->kind == g.type->kind;
  // float64 joined the others with msprobe 26.2.
  const auto is_float = [&](const TypeName& type) {
    return type.kind == 'f' && (type.word != "float64" || rule_.generation == Generation::g3);
  };
  return is_float(*m.type) && is_float(*g.type);
}

}  // namespace assay
