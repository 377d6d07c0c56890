// Mapping files of msprobe, and the matchers that turn names by them.
#include "tests/fuzz/target.h"

#include "assay/match/keyed/api.h"
#include "assay/match/keyed/cell.h"
#include "assay/match/keyed/layer.h"
#include "assay/match/keyed/mapping_file.h"
#include "assay/model/trace.h"

namespace assay {
namespace {

Frame make_frame(std::initializer_list<std::string_view> entries, std::string_view parent) {
  Frame frame;
  for (const std::string_view name : entries) {
    Node& node = frame.nodes.emplace_back();
    node.name = name;
    node.order = std::ssize(frame.nodes);
    for (const std::string_view rest : {".input.0", ".input.1", ".parameters.weight", ".output.0"}) {
      Item& item = node.items.emplace_back();
      item.name = frame.strings.keep(std::string(name) + std::string(rest));
      item.stated = &frame.stated.emplace_back();
    }
  }
  TraceBuilder trace(frame, [](const Node& node) { return kind_of_entry(node.name); });
  for (const std::string_view name : entries)
    if (name != parent) trace.set_parent(name, parent);
  trace.finish();
  return frame;
}

Indexed make_section() {
  Indexed section;
  section.mine.push_back(make_frame({"Cell.layers.0.Block.forward.0", "Cell.fc.Dense.forward.0",
                                     "Functional.abs.0.forward", "Mint.add.0.forward"},
                                    "Cell.layers.0.Block.forward.0"));
  section.golden.push_back(make_frame({"Module.layers.0.Block.forward.0", "Module.fc.Linear.forward.0",
                                       "Torch.abs.0.forward", "Torch.add.0.forward"},
                                      "Module.layers.0.Block.forward.0"));
  section.mine[0].framework = "mindspore";
  section.golden[0].framework = "pytorch";
  return section;
}

void match(const Matcher& matcher, const Mappings& mappings) {
  static const Indexed section = make_section();
  MatchOptions options;
  options.mappings = std::make_shared<const Mappings>(mappings);
  for (const bool every : {false, true}) {
    options.join.every = options.mapped_join.every = every;
    check_error(matcher.match(section, options));
  }
}

void match_apis(const std::vector<ApiMapping>& apis) {
  Mappings mappings;
  mappings.use_api_table = true;
  mappings.apis = apis;
  match(api_matcher, mappings);
}

void match_names(const NameMapping& names) {
  Mappings of_cells, of_data;
  of_cells.rename_cells = of_cells.cells_by_part = true;
  of_cells.cells = names;
  match(cell_matcher, of_cells);
  of_data.data = names;
  match(data_matcher, of_data);
}

void match_layers(const LayerMapping& layers) {
  Mappings mappings;
  mappings.by_layer = true;
  mappings.layers = layers;
  match(layer_matcher, mappings);
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile input("mapping.yaml");
  input.fill(data, size);
  const auto apis = read_api_mapping(input.path());
  check_error(apis);
  if (apis) match_apis(*apis);
  const auto names = read_name_mapping(input.path());
  check_error(names);
  if (names) match_names(*names);
  const auto layers = read_layer_mapping(input.path());
  check_error(layers);
  if (layers) match_layers(*layers);
  return 0;
}
