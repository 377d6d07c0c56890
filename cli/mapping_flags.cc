#include "cli/mapping_flags.h"

namespace assay::cli {

Result<Mappings> read_mappings(const MappingFlags& flags) {
  Mappings mappings;
  mappings.use_api_table = flags.api.on;
  if (flags.api.file) {
    ASSAY_TRY(mappings.apis, read_api_mapping(*flags.api.file));
  }
  mappings.rename_cells = flags.cell.on;
  if (flags.cell.file) {
    ASSAY_TRY(mappings.cells, read_name_mapping(*flags.cell.file));
  }
  if (flags.data) {
    ASSAY_TRY(NameMapping data, read_name_mapping(*flags.data));
    mappings.data.emplace(std::move(data));
  }
  mappings.by_layer = flags.layer.on;
  if (flags.layer.file) {
    ASSAY_TRY(mappings.layers, read_layer_mapping(*flags.layer.file));
  }
  return mappings;
}

}  // namespace assay::cli
