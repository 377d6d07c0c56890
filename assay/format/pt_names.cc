#include "assay/format/pt_names.h"

#include <algorithm>
#include <iterator>

namespace assay {
namespace {

using enum PtMeaning;

constexpr std::string_view kQuantised = "a quantised tensor; save its dequantize() or int_repr()";
constexpr std::string_view kSparse = "a sparse tensor; save its to_dense()";

constexpr PtName kNames[] = {
    {"torch._utils._rebuild_tensor", tensor},
    {"torch._utils._rebuild_tensor_v2", tensor},
    // torch_npu before 2.1: the data are those of a CPU copy, whatever format the last argument names.
    {"torch_npu.utils.storage._rebuild_npu_tensor", tensor},
    {"torch._utils._rebuild_tensor_v3", typed_tensor},
    {"torch._utils._rebuild_parameter", wrapper},
    {"torch._utils._rebuild_parameter_with_state", wrapper},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", wrapper},
    {"torch._utils._rebuild_device_tensor_from_numpy", wrapper},
    {"torch._tensor._rebuild_from_type", from_type},
    {"torch._tensor._rebuild_from_type_v2", from_type},
    {"torch.tensor._rebuild_from_type", from_type},
    {"numpy.core.multiarray._reconstruct", array},
    {"numpy._core.multiarray._reconstruct", array},
    {"numpy.core.numeric._frombuffer", buffer_array},
    {"numpy._core.numeric._frombuffer", buffer_array},
    {"numpy.core.multiarray.scalar", scalar},
    {"numpy._core.multiarray.scalar", scalar},

    {"torch._utils._rebuild_qtensor", unreadable, kQuantised},
    {"torch._utils._rebuild_sparse_tensor", unreadable, kSparse},
    {"torch._utils._rebuild_sparse_csr_tensor", unreadable, kSparse},
    {"torch._utils._rebuild_nested_tensor", unreadable, "a nested tensor; save its parts"},
    {"torch._utils._rebuild_meta_tensor_no_storage", unreadable,
     "a meta tensor, which has a shape but no data"},
    {"torch._utils._rebuild_wrapper_subclass", unreadable, "a tensor subclass without data of its own"},
    {"torch.storage._load_from_bytes", unreadable,
     "a file of torch.save inside the pickle; save it by itself"},
    {"numpy.ma.core._mareconstruct", unreadable, "a masked array; save its data and its mask"},

    {"collections.OrderedDict", mapping},
    {"collections.defaultdict", mapping},
    {"collections.Counter", mapping},
    {"torch.Size", elements},
    {"builtins.set", elements},
    {"builtins.frozenset", elements},
    {"__builtin__.set", elements},
    {"__builtin__.frozenset", elements},

    {"torch.Tensor", plain},
    {"torch.device", plain},
    {"torch.nn.parameter.Parameter", plain},
    {"torch.serialization._get_layout", plain},
    {"torch_npu.npu._format.Format", plain},
    {"_codecs.encode", plain},
    {"numpy.dtype", plain},
    {"numpy.ndarray", plain},
    // What FSDP keeps with the share of a rank.
    {"torch.distributed._shard.sharded_tensor.api.ShardedTensor", plain},
    {"torch.distributed._shard.sharded_tensor.shard.Shard", plain},
    {"torch.distributed._shard.metadata.ShardMetadata", plain},
    {"torch.distributed._shard.sharded_tensor.metadata.ShardedTensorMetadata", plain},
    {"torch.distributed._shard.sharded_tensor.metadata.TensorProperties", plain},
    {"torch.distributed._shard.sharded_tensor.metadata.MEM_FORMAT_ENCODING", plain},
    {"torch.distributed._shard.sharding_spec.chunk_sharding_spec.ChunkShardingSpec", plain},
    {"torch.distributed.remote_device._remote_device", plain},
    {"torch.distributed.tensor.DTensor", plain},
    {"torch.distributed._tensor.api.DTensor", plain},
    {"torch.distributed.tensor._dtensor_spec.DTensorSpec", plain},
    {"torch.distributed.tensor._dtensor_spec.TensorMeta", plain},
    {"torch.distributed.tensor.placement_types.Shard", plain},
    {"torch.distributed.tensor.placement_types.Replicate", plain},
    {"torch.distributed.tensor._dtensor_spec.ShardOrderEntry", plain},
    {"torch.distributed.device_mesh.DeviceMesh", plain},
    {"torch.distributed._mesh_layout._MeshLayout", plain},
    {"torch.distributed._mesh_layout._FlatLayout", plain},
    // Objects of any class, as protocols 0 and 1 write them: the class is an argument.
    {"copyreg._reconstructor", plain},
    {"copy_reg._reconstructor", plain},
    {"collections.deque", plain},
    {"datetime.date", plain},
    {"datetime.datetime", plain},
    {"datetime.time", plain},
    {"datetime.timedelta", plain},
    {"datetime.timezone", plain},
    {"decimal.Decimal", plain},
    {"fractions.Fraction", plain},
    {"pathlib.Path", plain},
    {"pathlib.PosixPath", plain},
    {"pathlib.PurePosixPath", plain},
    {"pathlib.WindowsPath", plain},
    {"types.SimpleNamespace", plain},
    {"builtins.slice", plain},
    {"builtins.complex", plain},
    {"builtins.range", plain},
    {"builtins.bytearray", plain},
    {"builtins.bytes", plain},
    {"builtins.bool", plain},
    {"builtins.int", plain},
    {"builtins.float", plain},
    {"builtins.str", plain},
    {"builtins.list", plain},
    {"builtins.dict", plain},
    {"builtins.tuple", plain},
    {"__builtin__.slice", plain},
    {"__builtin__.complex", plain},
    {"__builtin__.xrange", plain},
    {"__builtin__.bytearray", plain},
    {"__builtin__.bytes", plain},
    {"__builtin__.list", plain},
    {"__builtin__.dict", plain},
    {"__builtin__.int", plain},
};

constexpr PtStorageClass kStorageClasses[] = {
    {"DoubleStorage", DType::f64, 8},       {"FloatStorage", DType::f32, 4},
    {"HalfStorage", DType::f16, 2},         {"BFloat16Storage", DType::bf16, 2},
    {"LongStorage", DType::i64, 8},         {"IntStorage", DType::i32, 4},
    {"ShortStorage", DType::i16, 2},        {"CharStorage", DType::i8, 1},
    {"ByteStorage", DType::u8, 1},          {"BoolStorage", DType::boolean, 1},
    {"ComplexFloatStorage", DType::c64, 8}, {"ComplexDoubleStorage", DType::c128, 16},
    {"UntypedStorage", std::nullopt, 1},    {"_UntypedStorage", std::nullopt, 1},
    {"QUInt8Storage", std::nullopt, 1},     {"QInt8Storage", std::nullopt, 1},
    {"QInt32Storage", std::nullopt, 4},     {"QUInt4x2Storage", std::nullopt, 1},
    {"QUInt2x4Storage", std::nullopt, 1},
};
constexpr std::string_view kStorageModules[] = {"torch",     "torch.cuda", "torch.storage",
                                                "torch.npu", "torch_npu",  "torch_npu.npu"};

struct DTypeName {
  std::string_view name;
  DType dtype;
};
// The first name of each type is the one we write.
constexpr DTypeName kTorchDTypes[] = {
    {"float64", DType::f64},
    {"double", DType::f64},
    {"float32", DType::f32},
    {"float", DType::f32},
    {"float16", DType::f16},
    {"half", DType::f16},
    {"bfloat16", DType::bf16},
    {"float8_e4m3fn", DType::f8e4m3fn},
    {"float8_e5m2", DType::f8e5m2},
    {"float8_e4m3fnuz", DType::f8e4m3fnuz},
    {"float8_e5m2fnuz", DType::f8e5m2fnuz},
    {"float8_e8m0fnu", DType::f8e8m0},
    {"int64", DType::i64},
    {"long", DType::i64},
    {"int32", DType::i32},
    {"int", DType::i32},
    {"int16", DType::i16},
    {"short", DType::i16},
    {"int8", DType::i8},
    {"uint64", DType::u64},
    {"uint32", DType::u32},
    {"uint16", DType::u16},
    {"uint8", DType::u8},
    {"bool", DType::boolean},
    {"complex32", DType::c32},
    {"chalf", DType::c32},
    {"complex64", DType::c64},
    {"cfloat", DType::c64},
    {"complex128", DType::c128},
    {"cdouble", DType::c128},
};
// Types that torch can name and we cannot compute with: harmless as names.
constexpr std::string_view kOtherTypes[] = {"quint8",
                                            "qint8",
                                            "qint32",
                                            "quint4x2",
                                            "quint2x4",
                                            "float4_e2m1fn_x2",
                                            "per_tensor_affine",
                                            "per_channel_affine",
                                            "strided",
                                            "sparse_coo",
                                            "sparse_csr"};
constexpr std::string_view kTorch = "torch.";

}  // namespace

PtName find_pt_name(std::string_view name) {
  const auto found = std::find_if(std::begin(kNames), std::end(kNames),
                                  [&](const PtName& known) { return known.name == name; });
  if (found != std::end(kNames)) return *found;
  const bool other = name.starts_with(kTorch) &&
                     std::find(std::begin(kOtherTypes), std::end(kOtherTypes), name.substr(kTorch.size())) !=
                         std::end(kOtherTypes);
  if (other || find_pt_storage_class(name) != nullptr || find_torch_dtype(name)) return {name, plain};
  return {name, refused};
}

const PtStorageClass* find_pt_storage_class(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return nullptr;
  if (std::find(std::begin(kStorageModules), std::end(kStorageModules), name.substr(0, dot)) ==
      std::end(kStorageModules))
    return nullptr;
  const auto found =
      std::find_if(std::begin(kStorageClasses), std::end(kStorageClasses),
                   [&](const PtStorageClass& known) { return known.name == name.substr(dot + 1); });
  return found == std::end(kStorageClasses) ? nullptr : found;
}

std::optional<DType> find_torch_dtype(std::string_view name) {
  if (!name.starts_with(kTorch)) return std::nullopt;
  const auto found =
      std::find_if(std::begin(kTorchDTypes), std::end(kTorchDTypes),
                   [&](const DTypeName& known) { return known.name == name.substr(kTorch.size()); });
  if (found == std::end(kTorchDTypes)) return std::nullopt;
  return found->dtype;
}

std::optional<TorchType> torch_type(DType dtype) {
  const auto named = std::find_if(std::begin(kTorchDTypes), std::end(kTorchDTypes),
                                  [&](const DTypeName& known) { return known.dtype == dtype; });
  if (named == std::end(kTorchDTypes)) return std::nullopt;
  const auto typed = std::find_if(std::begin(kStorageClasses), std::end(kStorageClasses),
                                  [&](const PtStorageClass& known) { return known.dtype == dtype; });
  return TorchType{typed == std::end(kStorageClasses) ? std::string_view{} : typed->name, named->name};
}

}  // namespace assay
