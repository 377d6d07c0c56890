#include "assay/format/safetensors_write.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <utility>

namespace assay {
namespace {

constexpr std::pair<std::string_view, DType> kSafetensorsDTypes[] = {
    {"BOOL", DType::boolean},
    {"U8", DType::u8},
    {"I8", DType::i8},
    {"F8_E5M2", DType::f8e5m2},
    {"F8_E4M3", DType::f8e4m3fn},
    {"F8_E8M0", DType::f8e8m0},
    {"F4", DType::f4e2m1},
    {"F6_E2M3", DType::f6e2m3},
    {"F6_E3M2", DType::f6e3m2},
    {"I16", DType::i16},
    {"U16", DType::u16},
    {"F16", DType::f16},
    {"BF16", DType::bf16},
    {"I32", DType::i32},
    {"U32", DType::u32},
    {"F32", DType::f32},
    {"F64", DType::f64},
    {"I64", DType::i64},
    {"U64", DType::u64},
    {"C64", DType::c64},
    {"F8_E5M2FNUZ", DType::f8e5m2fnuz},
    {"F8_E4M3FNUZ", DType::f8e4m3fnuz},
};

}  // namespace

std::optional<DType> find_safetensors_dtype(std::string_view name) {
  for (const auto& [known, dtype] : kSafetensorsDTypes)
    if (known == name) return dtype;
  return std::nullopt;
}

std::string_view safetensors_dtype(DType dtype) {
  for (const auto& [known, type] : kSafetensorsDTypes)
    if (type == dtype) return known;
  return {};
}

std::string safetensors_header(std::span<const SafetensorsPlace> tensors) {
  rapidjson::StringBuffer json;
  rapidjson::Writer<rapidjson::StringBuffer> writer(json);
  const auto text = [&](std::string_view t) {
    writer.String(t.data(), static_cast<rapidjson::SizeType>(t.size()));
  };
  int64_t offset = 0;
  writer.StartObject();
  for (const SafetensorsPlace& tensor : tensors) {
    text(tensor.name);
    writer.StartObject();
    text("dtype");
    text(safetensors_dtype(tensor.meta.dtype));
    text("shape");
    writer.StartArray();
    for (const int64_t dim : tensor.meta.shape.dims) writer.Int64(dim);
    writer.EndArray();
    text("data_offsets");
    writer.StartArray();
    writer.Int64(offset);
    writer.Int64(offset += tensor.size);
    writer.EndArray();
    writer.EndObject();
  }
  writer.EndObject();
  const size_t padding = (8 - json.GetSize() % 8) % 8;
  const uint64_t length = json.GetSize() + padding;
  std::string header(reinterpret_cast<const char*>(&length), sizeof length);
  return header.append(json.GetString(), json.GetSize()).append(padding, ' ');
}

}  // namespace assay
