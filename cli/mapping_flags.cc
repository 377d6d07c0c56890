#include "cli/mapping_flags.h"

#include "assay/base/text.h"
#include "assay/support/json_tape.h"

#include <algorithm>

namespace assay::cli {

Result<Mappings> read_mappings(const MappingFlags& flags) {
  Mappings mappings;
  mappings.use_api_table = flags.api.on;
  mappings.apis_may_miss = flags.uneven != UnevenLists::refuse;
  if (flags.api.file) {
    ASSAY_TRY(mappings.apis, read_api_mapping(*flags.api.file, flags.uneven));
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

fs::path op_mapping_file(const fs::path& given) {
  std::error_code ignored;
  return fs::is_directory(given, ignored) ? given / "op_mapping_file.json" : given;
}

Result<std::shared_ptr<const OpMapping>> read_op_mapping(const fs::path& given, int64_t memory) {
  ASSAY_TRY(const auto file, File::open(op_mapping_file(given)));
  const auto is_name = [](std::string_view text) {
    return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
           std::string_view::npos;
  };
  auto mapping = std::make_shared<OpMapping>();
  ASSAY_TRY_DO(read_json_members(*file, {}, memory, [&](const JsonMember& member) -> Result<bool> {
    const JsonTape& value = member.value;
    std::vector<std::string> types;
    bool valid = is_name(member.key) && (value.is_text(0) || value.kind(0) == JsonKind::array);
    if (value.is_text(0)) types.emplace_back(value.text(0));
    if (value.kind(0) == JsonKind::array)
      for (size_t at = value.first(0); !value.is_end(at); at = value.next(at)) {
        valid &= value.is_text(at);
        if (value.is_text(at)) types.emplace_back(value.text(at));
      }
    if (!valid || !std::all_of(types.begin(), types.end(), is_name))
      return fail(ErrorKind::bad_format,
                  "{}: '{}' is not a type with a type or a list of types; letters, digits and _ are allowed",
                  file->name(), printable(member.key));
    mapping->types.emplace_back(std::string(member.key), std::move(types));
    return true;
  }));
  return std::shared_ptr<const OpMapping>(std::move(mapping));
}

}  // namespace assay::cli
