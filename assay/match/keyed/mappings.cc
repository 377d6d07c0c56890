#include "assay/match/keyed/mappings.h"

#include "assay/base/text.h"
#include "assay/match/keyed/api_table.h"
#include "assay/support/log.h"
#include "assay/support/yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace assay {
namespace {

// A data mapping of a whole model has a line per tensor.
constexpr YamlLimits kLimits = {.bytes = int64_t{64} << 20, .depth = 8};

class Reader {
 public:
  explicit Reader(const fs::path& path, UnevenLists uneven = UnevenLists::refuse)
      : file_(display(path)), uneven_(uneven) {}

  int64_t line(const YAML::Node& node) const {
    return node.Mark().is_null() ? 1 : int64_t{node.Mark().line} + 1;
  }
  template <class... Args>
  tl::unexpected<Error> wrong(const YAML::Node& node, fmt::format_string<Args...> text,
                              Args&&... args) const {
    return fail(ErrorKind::bad_format, "{}:{}: {}", file_, line(node),
                fmt::format(text, std::forward<Args>(args)...));
  }
  // A name: not empty, no list, no map. `place` stands for the line: an absent value has that of what
  // follows.
  Result<std::string> name(const YAML::Node& node, const YAML::Node& place, std::string_view what) const {
    if (!node.IsScalar() || node.Scalar().empty()) return wrong(place, "expected {}", what);
    return node.Scalar();
  }

  // Nothing where the lists of the two sides do not go together and such an API is passed over.
  Result<std::optional<ApiMapping>> api(const YAML::Node& node) const;
  Result<NameMapping> names(const YAML::Node& root) const;
  Result<LayerMapping> layers(const YAML::Node& root) const;

 private:
  struct List {
    bool is_given = false;
    std::string key;  // as it is spelled
    YAML::Node node;
    std::vector<std::string> entries;
  };
  Result<std::vector<std::string>> list(const YAML::Node& node, const YAML::Node& place, std::string_view key,
                                        bool names_too) const;
  Result<void> go_together(const List& mine, const List& golden) const;
  Result<LayerRename> layer(const YAML::Node& path, const YAML::Node& target) const;

  std::string file_;
  UnevenLists uneven_;
};

// The lists of an entry in the order of ApiMapping; each with its key for mine and for golden.
constexpr size_t kListCount = 4;
constexpr std::array<std::array<std::string_view, 2>, kListCount> kListKeys = {
    {{"ms_args", "pt_args"},
     {"ms_outputs", "pt_outputs"},
     {"ms_parameters", "pt_parameters"},
     {"ms_parameters_grad", "pt_parameters_grad"}}};
constexpr size_t kFirstNamedList = 2;  // parameters have names

Result<std::vector<std::string>> Reader::list(const YAML::Node& node, const YAML::Node& place,
                                              std::string_view key, bool names_too) const {
  if (!node.IsSequence()) return wrong(place, "'{}' needs a list, such as [0, 1]", key);
  std::vector<std::string> entries;
  std::unordered_set<std::string> seen;
  for (const YAML::Node& entry : node) {
    if (!entry.IsScalar() || entry.Scalar().empty()) return wrong(entry, "'{}' holds no plain number", key);
    std::string text = entry.Scalar();
    const auto number = parse_int(text);
    if (number ? *number < 0 : !names_too)
      return wrong(entry, "'{}' holds {}; expected numbers of 0 and above", key, printable(text));
    if (number) text = std::to_string(*number);
    if (!seen.insert(text).second) return wrong(entry, "'{}' holds {} twice", key, printable(text));
    entries.push_back(std::move(text));
  }
  return entries;
}

Result<void> Reader::go_together(const List& mine, const List& golden) const {
  if (mine.entries.size() == golden.entries.size() && mine.is_given == golden.is_given) return {};
  if (!golden.is_given) return wrong(mine.node, "'{}' is given without '{}'", mine.key, golden.key);
  if (!mine.is_given) return wrong(golden.node, "'{}' is given without '{}'", golden.key, mine.key);
  return wrong(golden.node, "'{}' has {} entries and '{}' {}; expected as many", mine.key,
               mine.entries.size(), golden.key, golden.entries.size());
}

Result<std::optional<ApiMapping>> Reader::api(const YAML::Node& node) const {
  if (!node.IsMap()) return wrong(node, "expected an API with the keys 'ms_api' and 'pt_api'");
  ApiMapping api;
  api.file = file_;
  api.line = line(node);
  List lists[kListCount][2];
  for (size_t i = 0; i < kListCount; ++i)
    for (size_t side = 0; side < 2; ++side) lists[i][side].key = kListKeys[i][side];
  for (const auto& field : node) {
    const std::string spelled = field.first.Scalar();
    std::string key = spelled;
    if (key == "ms_api" || key == "pt_api") {
      ASSAY_TRY(std::string text,
                name(field.second, field.first, "the name of an API, such as Functional.abs"));
      if (std::count(text.begin(), text.end(), '.') != 1)
        return wrong(field.second, "'{}' is {}; expected a type and a name, such as Functional.abs", key,
                     printable(text));
      (key == "ms_api" ? api.mine : api.golden) = std::move(text);
      continue;
    }
    if (key == "ms_output" || key == "pt_output") key += 's';  // both spellings are in use
    List* found = nullptr;
    bool names_too = false;
    for (size_t i = 0; i < kListCount; ++i)
      for (size_t side = 0; side < 2; ++side)
        if (kListKeys[i][side] == key) {
          found = &lists[i][side];
          names_too = i >= kFirstNamedList;
        }
    if (found == nullptr)
      return wrong(field.first,
                   "unknown key '{}'; expected ms_api, pt_api, and lists ms_… and pt_… of args, outputs, "
                   "parameters or parameters_grad",
                   printable(key));
    ASSAY_TRY(std::vector<std::string> entries, list(field.second, field.first, spelled, names_too));
    if (found->is_given && found->entries != entries)
      return wrong(field.first, "'{}' is given in both spellings, with different lists", key);
    if (!found->is_given || spelled == key) found->key = spelled;
    found->is_given = true;
    found->node.reset(field.second);
    found->entries = std::move(entries);
  }
  if (api.mine.empty() || api.golden.empty())
    return wrong(node, "the API has no '{}'", api.mine.empty() ? "ms_api" : "pt_api");
  std::optional<ApiMapping::Indices>* const targets[kListCount] = {&api.inputs, &api.outputs, &api.parameters,
                                                                   &api.parameter_gradients};
  for (size_t i = 0; i < kListCount; ++i) {
    auto& [mine, golden] = lists[i];
    if (const auto fit = go_together(mine, golden); !fit) {
      if (uneven_ == UnevenLists::refuse) return tl::unexpected(fit.error());
      const size_t both = std::min(mine.entries.size(), golden.entries.size());
      // The original reads this spelling, but counts only the entries of the other one.
      if (uneven_ != UnevenLists::pair_outputs || mine.key != "ms_output" || golden.key != "pt_output") {
        log::warn("{}; the mapping of {} is passed over", fit.error().message, printable(api.mine));
        return std::nullopt;
      }
      log::warn("{}; of {} the first {} are paired", fit.error().message, printable(api.mine), both);
      mine.entries.resize(both);
      golden.entries.resize(both);
    }
    if (mine.is_given) *targets[i] = ApiMapping::Indices{mine.entries, golden.entries};
  }
  return api;
}

Result<NameMapping> Reader::names(const YAML::Node& root) const {
  NameMapping names;
  if (root.IsNull()) return names;
  if (!root.IsMap()) return wrong(root, "expected lines of the form 'name of mine: name of golden'");
  names.reserve(root.size());
  for (const auto& field : root) {
    ASSAY_TRY(std::string mine, name(field.first, field.first, "a name of mine before the colon"));
    if (!field.second.IsScalar() || field.second.Scalar().empty())
      return wrong(field.first, "'{}' needs one name of golden", printable(mine));
    names.emplace_back(std::move(mine), field.second.Scalar());
  }
  return names;
}

Result<LayerRename> Reader::layer(const YAML::Node& path, const YAML::Node& target) const {
  LayerRename rename;
  for (const std::string_view token : split(path.Scalar(), '.')) {
    if (token.empty()) return wrong(path, "'{}' has an empty part", printable(path.Scalar()));
    rename.path.emplace_back(token);
  }
  if (!target.IsScalar()) return wrong(path, "'{}' needs one name of golden", printable(path.Scalar()));
  // What follows a bracket is a remark, "fc(Linear)".
  rename.target = std::string(trim(target.Scalar().substr(0, target.Scalar().find('('))));
  for (const std::string_view token : split(rename.target, '.'))
    if (token.empty())
      return wrong(path, "'{}' is mapped to '{}'; expected a name without empty parts",
                   printable(path.Scalar()), printable(target.Scalar()));
  return rename;
}

Result<LayerMapping> Reader::layers(const YAML::Node& root) const {
  LayerMapping layers;
  if (root.IsNull()) return layers;
  if (!root.IsMap()) return wrong(root, "expected a map of type names, each with a map of its layers");
  for (const auto& type : root) {
    ASSAY_TRY(std::string type_name, name(type.first, type.first, "the name of a type"));
    if (!type.second.IsMap())
      return wrong(type.first, "'{}' needs lines of the form 'layer of mine: layer of golden'",
                   printable(type_name));
    if (type_name == "Cell") type_name = "TopLayer";  // its name in older files
    const auto [found, is_new] = layers.try_emplace(std::move(type_name));
    if (!is_new) return wrong(type.first, "'Cell' and 'TopLayer' are one and the same; expected one of them");
    for (const auto& field : type.second) {
      ASSAY_TRY(LayerRename rename, layer(field.first, field.second));
      found->second.push_back(std::move(rename));
    }
  }
  return layers;
}

// yaml-cpp throws where a tree is not what its reader takes it for.
template <class T, class Read>
Result<T> read_with(const fs::path& path, const Read& read, UnevenLists uneven = UnevenLists::refuse) try {
  ASSAY_TRY(const YAML::Node root, read_yaml(path, kLimits));
  return read(Reader(path, uneven), root);
} catch (const YAML::Exception& e) {
  return fail(ErrorKind::bad_format, "{}:{}: {}", display(path), e.mark.line + 1, printable(e.msg));
}

using Apis = std::vector<ApiMapping>;

}  // namespace

Result<Apis> read_api_mapping(const fs::path& path, UnevenLists uneven) {
  const auto read = [](const Reader& reader, const YAML::Node& root) -> Result<Apis> {
    Apis apis;
    if (root.IsNull()) return apis;
    if (root.IsMap()) {
      ASSAY_TRY(std::optional<ApiMapping> api, reader.api(root));
      if (api) apis.push_back(std::move(*api));
      return apis;
    }
    if (!root.IsSequence()) return reader.wrong(root, "expected an API, or a list of them");
    std::unordered_set<std::string> seen;
    for (const YAML::Node& entry : root) {
      ASSAY_TRY(std::optional<ApiMapping> api, reader.api(entry));
      if (!api) continue;
      if (!seen.insert(api->mine + " " + api->golden).second)
        return reader.wrong(entry, "{} is mapped to {} twice", printable(api->mine), printable(api->golden));
      apis.push_back(std::move(*api));
    }
    return apis;
  };
  return read_with<Apis>(path, read, uneven);
}

Result<NameMapping> read_name_mapping(const fs::path& path) {
  return read_with<NameMapping>(
      path, [](const Reader& reader, const YAML::Node& root) { return reader.names(root); });
}

Result<LayerMapping> read_layer_mapping(const fs::path& path) {
  return read_with<LayerMapping>(
      path, [](const Reader& reader, const YAML::Node& root) { return reader.layers(root); });
}

std::string_view find_pytorch_api(std::string_view mindspore_api) {
  const auto table = api_table();
  const auto found =
      std::lower_bound(table.begin(), table.end(), mindspore_api,
                       [](const ApiTwins& twins, std::string_view name) { return twins.mindspore < name; });
  return found != table.end() && found->mindspore == mindspore_api ? found->pytorch : std::string_view();
}

}  // namespace assay
