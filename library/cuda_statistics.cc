#include "library/cuda_statistics.h"

#include "assay/base/text.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace assay::library {
namespace cuda {

// What is used of the driver and of the compiler, as cuda.h and nvrtc.h declare it.
using Context = void*;
using Stream = void*;
using Function = void*;
using Module = void*;
using Event = void*;
struct Driver {
  int (*get_attribute)(int*, int, int);
  int (*retain_context)(Context*, int);
  int (*current_context)(Context*);
  int (*push_context)(Context);
  int (*pop_context)(Context*);
  int (*synchronize)();
  int (*load)(Module*, const void*);
  int (*function)(Function*, Module, const char*);
  int (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
                void**, void**);
  int (*allocate)(uint64_t*, size_t);
  int (*fill)(uint64_t, unsigned, size_t);
  int (*copy_in)(uint64_t, const void*, size_t);
  int (*allocate_on_host)(void**, size_t, unsigned);
  int (*copy_out)(void*, uint64_t, size_t, Stream);
  int (*is_capturing)(Stream, int*);
  int (*make_event)(Event*, unsigned);
  int (*record)(Event, Stream);
  int (*ask)(Event);
  int (*wait)(Event);
  int (*error_name)(int, const char**);
};
struct Compiler {
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(void*, int, const char* const*);
  int (*log_size)(void*, size_t*);
  int (*log)(void*, char*);
  int (*size)(void*, size_t*);
  int (*code)(void*, char*);
  int (*destroy)(void**);
};

struct Device {
  Context context = nullptr;
  Function function = nullptr;
  uint64_t tables = 0;
  uint32_t blocks = 0;                   // of a tensor, at most: as many as run at the same time
  std::map<uint64_t, uint64_t> scratch;  // of a stream: counters, then parts
  std::map<uint64_t, uint32_t> filling;  // of a stream: the batch that its next results go to
};

// Results that come over together.
struct Batch {
  int device = 0;
  uint64_t stream = 0;
  uint64_t there = 0;            // in memory of the device
  DeviceResult* here = nullptr;  // pinned
  Event event = nullptr;
  uint32_t used = 0, left = 0;  // slots, and those not given back
  bool is_sent = false, is_there = false;
};

}  // namespace cuda

namespace {

using namespace cuda;

constexpr int kProcessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76;  // of CUdevice_attribute
constexpr unsigned kPortable = 1;                                              // of cuMemHostAlloc
constexpr unsigned kNoTiming = 2;                                              // of cuEventCreate
constexpr unsigned kThreads = 256, kBlocksAtOnce = 3, kMostBlocks = 1024;      // of a tensor
constexpr size_t kMost = 12;                                                   // tensors of a launch
constexpr int64_t kPartBytes = int64_t{4} << 10, kBlockBytes = int64_t{32} << 10;
constexpr uint32_t kSlotsOfBatch = 64;
constexpr uint32_t kPolynomial = 0xedb88320;

template <class T>
bool find(void* library, const char* name, T& out) {
  out = reinterpret_cast<T>(dlsym(library, name));
  return out != nullptr;
}

bool find_all(void* library, Driver& d) {
  return find(library, "cuDeviceGetAttribute", d.get_attribute) &&
         find(library, "cuDevicePrimaryCtxRetain", d.retain_context) &&
         find(library, "cuCtxGetCurrent", d.current_context) &&
         find(library, "cuCtxPushCurrent_v2", d.push_context) &&
         find(library, "cuCtxPopCurrent_v2", d.pop_context) &&
         find(library, "cuCtxSynchronize", d.synchronize) && find(library, "cuModuleLoadData", d.load) &&
         find(library, "cuModuleGetFunction", d.function) && find(library, "cuLaunchKernel", d.launch) &&
         find(library, "cuMemAlloc_v2", d.allocate) && find(library, "cuMemsetD8_v2", d.fill) &&
         find(library, "cuMemcpyHtoD_v2", d.copy_in) && find(library, "cuMemHostAlloc", d.allocate_on_host) &&
         find(library, "cuStreamIsCapturing", d.is_capturing) &&
         find(library, "cuMemcpyDtoHAsync_v2", d.copy_out) && find(library, "cuEventCreate", d.make_event) &&
         find(library, "cuEventRecord", d.record) && find(library, "cuEventQuery", d.ask) &&
         find(library, "cuEventSynchronize", d.wait) && find(library, "cuGetErrorName", d.error_name);
}

bool find_all(void* library, Compiler& c) {
  return find(library, "nvrtcCreateProgram", c.create) && find(library, "nvrtcCompileProgram", c.compile) &&
         find(library, "nvrtcGetProgramLogSize", c.log_size) && find(library, "nvrtcGetProgramLog", c.log) &&
         find(library, "nvrtcGetCUBINSize", c.size) && find(library, "nvrtcGetCUBIN", c.code) &&
         find(library, "nvrtcDestroyProgram", c.destroy);
}

// As the kernel has them.
struct One {
  uint64_t data;
  int64_t count;
  uint64_t out;
  uint32_t first_block, blocks;
  uint16_t dtype, size;
};
struct Args {
  One one[kMost];
  uint64_t parts, finished, tables;
  int64_t part_bytes;
  uint32_t n, wants;
};

uint32_t times(uint32_t a, uint32_t b) {  // polynomials of GF(2), modulo that of CRC-32
  uint32_t out = 0;
  for (int i = 31; i >= 0; --i) {
    if ((a >> i & 1) != 0) out ^= b;
    b = (b & 1) != 0 ? b >> 1 ^ kPolynomial : b >> 1;
  }
  return out;
}

std::vector<uint32_t> crc_tables() {
  std::vector<uint32_t> out;
  uint32_t powers[40];
  powers[0] = 0x00800000;  // x^8
  for (int k = 1; k < 40; ++k) powers[k] = times(powers[k - 1], powers[k - 1]);
  const uint32_t step = powers[10];  // over 256 words: 2^10 bytes
  for (int byte = 0; byte < 4; ++byte)
    for (uint32_t i = 0; i < 256; ++i) out.push_back(times(i << 8 * byte, step));
  for (uint32_t i = 0; i < 256; ++i) out.push_back(times(i, powers[0]));
  out.insert(out.end(), std::begin(powers), std::end(powers));
  return out;
}

}  // namespace

struct CudaStatistics::Parts {
  Driver driver{};
  Compiler compiler{};
  std::mutex guard;
  std::map<int, Device> devices;
  std::vector<std::unique_ptr<Batch>> batches;
  std::vector<uint32_t> free_batches;

  std::string error(int code) const {
    const char* name = nullptr;
    driver.error_name(code, &name);
    return name == nullptr ? std::to_string(code) : name;
  }

  Result<void> compile(const std::string& architecture, std::string& code) const {
    void* program = nullptr;
    if (const int bad = compiler.create(&program, kMeasureKernel, "assay_measure.cu", 0, nullptr, nullptr);
        bad != 0)
      return fail(ErrorKind::unsupported, "the compiler of kernels fails with {}", bad);
    const char* const flags[] = {architecture.c_str(), "--std=c++17", "-default-device"};
    const int bad = compiler.compile(program, 3, flags);
    size_t size = 0;
    if (bad == 0 && compiler.size(program, &size) == 0 && size > 0) {
      code.resize(size);
      compiler.code(program, code.data());
      compiler.destroy(&program);
      return {};
    }
    compiler.log_size(program, &size);
    std::string log(size, '\0');
    compiler.log(program, log.data());
    compiler.destroy(&program);
    return fail(ErrorKind::unsupported, "the kernel does not compile for {}: {}", architecture,
                printable(log));
  }

  Result<void> make(int number, Device& device) {
    int major = 0, minor = 0;
    driver.get_attribute(&major, kCapabilityMajor, number);
    driver.get_attribute(&minor, kCapabilityMinor, number);
    int processors = 1;
    driver.get_attribute(&processors, kProcessors, number);
    device.blocks = std::clamp(static_cast<uint32_t>(processors) * kBlocksAtOnce, 1U, kMostBlocks);
    std::string code;
    ASSAY_TRY_DO(compile(fmt::format("--gpu-architecture=sm_{}{}", major, minor), code));
    Module loaded = nullptr;
    const std::vector<uint32_t> tables = crc_tables();
    int bad = driver.load(&loaded, code.data());
    if (bad == 0) bad = driver.function(&device.function, loaded, "assay_measure");
    if (bad == 0) bad = driver.allocate(&device.tables, tables.size() * sizeof(uint32_t));
    if (bad == 0) bad = driver.copy_in(device.tables, tables.data(), tables.size() * sizeof(uint32_t));
    if (bad != 0) return fail(ErrorKind::unsupported, "the kernel cannot be loaded: {}", error(bad));
    return {};
  }

  // With its context current, what `use` gives.
  template <class Use>
  Result<void> on(int number, Use use) {
    Device& device = devices[number];
    if (device.context == nullptr)
      if (const int bad = driver.retain_context(&device.context, number); bad != 0)
        return fail(ErrorKind::unsupported, "device {} has no context: {}", number, error(bad));
    Context current = nullptr;
    driver.current_context(&current);
    const bool is_other = current != device.context;
    if (is_other) driver.push_context(device.context);
    Result<void> out = device.function == nullptr ? make(number, device) : Result<void>{};
    if (out) out = use(device);
    if (is_other) driver.pop_context(&current);
    return out;
  }

  // The number of a slot in a batch of the stream.
  Result<uint32_t> take_slot(Device& device, int number, uint64_t stream) {
    const auto found = device.filling.find(stream);
    if (found != device.filling.end()) {
      Batch& batch = *batches[found->second];
      ++batch.left;
      return found->second * kSlotsOfBatch + batch.used++;
    }
    uint32_t which = 0;
    for (auto at = free_batches.begin(); at != free_batches.end(); ++at)
      if (batches[*at]->device == number) {
        which = *at + 1;
        free_batches.erase(at);
        break;
      }
    if (which == 0) {
      auto made = std::make_unique<Batch>();
      void* memory = nullptr;
      constexpr size_t kSize = kSlotsOfBatch * sizeof(DeviceResult);
      int bad = driver.allocate(&made->there, kSize);
      if (bad == 0) bad = driver.allocate_on_host(&memory, kSize, kPortable);
      if (bad == 0) bad = driver.make_event(&made->event, kNoTiming);
      if (bad != 0) return fail(ErrorKind::unsupported, "no memory for results: {}", error(bad));
      made->here = static_cast<DeviceResult*>(memory);
      made->device = number;
      batches.push_back(std::move(made));
      which = static_cast<uint32_t>(batches.size());
    }
    --which;
    Batch& batch = *batches[which];
    batch.stream = stream;
    batch.used = batch.left = 1;
    batch.is_sent = batch.is_there = false;
    device.filling[stream] = which;
    return which * kSlotsOfBatch;
  }

  // Behind what was launched so far, the results come over.
  void send(Device& device, Batch& batch) {
    auto* const stream = reinterpret_cast<Stream>(batch.stream);  // NOLINT: torch gives it as a number
    driver.copy_out(batch.here, batch.there, batch.used * sizeof(DeviceResult), stream);
    driver.record(batch.event, stream);
    batch.is_sent = true;
    const auto found = device.filling.find(batch.stream);
    if (found != device.filling.end() && batches[found->second].get() == &batch) device.filling.erase(found);
  }

  Result<uint64_t> scratch_of(Device& device, uint64_t stream) {
    uint64_t& memory = device.scratch[stream];
    if (memory != 0) return memory;
    constexpr size_t kSize = 256 + kMost * kMostBlocks * sizeof(DeviceResult);
    int bad = driver.allocate(&memory, kSize);
    if (bad == 0) bad = driver.fill(memory, 0, 256);
    if (bad == 0)
      bad = driver.synchronize();  // the counters are zero before a stream of its own looks at them
    if (bad != 0) return fail(ErrorKind::unsupported, "no memory on the device: {}", error(bad));
    return memory;
  }
};

CudaStatistics::CudaStatistics() : parts_(std::make_unique<Parts>()) {}
CudaStatistics::~CudaStatistics() = default;  // what it allocated belongs to contexts that may be gone by now

bool is_measured_on_devices(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::i64:
    case DType::i32:
    case DType::i16:
    case DType::i8:
    case DType::u64:
    case DType::u32:
    case DType::u16:
    case DType::u8:
    case DType::boolean:
      return true;
    default:
      return false;
  }
}

Result<std::unique_ptr<CudaStatistics>> CudaStatistics::open(const std::string& compiler) {
  auto out = std::unique_ptr<CudaStatistics>(new CudaStatistics);
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr || !find_all(driver, out->parts_->driver))
    return fail(ErrorKind::not_found, "libcuda.so.1: not there, or too old");
  void* const nvrtc = dlopen(compiler.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvrtc == nullptr || !find_all(nvrtc, out->parts_->compiler))
    return fail(ErrorKind::not_found, "{}: not there, or too old", printable(compiler));
  return out;
}

Result<void> CudaStatistics::prepare(int device) {
  const std::lock_guard lock(parts_->guard);
  return parts_->on(device, [](Device&) { return Result<void>{}; });
}

Result<void> CudaStatistics::measure(int device, uint64_t stream, std::span<const DeviceTensor> tensors,
                                     const DeviceWanted& wanted, std::span<uint32_t> numbers) {
  const std::lock_guard lock(parts_->guard);
  return parts_->on(device, [&](Device& on) -> Result<void> {
    auto* const handle = reinterpret_cast<Stream>(stream);  // NOLINT: torch gives it as a number
    int capturing = 0;
    if (parts_->driver.is_capturing(handle, &capturing) != 0 || capturing != 0)
      return fail(ErrorKind::unsupported, "a CUDA graph is being captured");
    ASSAY_TRY(const uint64_t scratch, parts_->scratch_of(on, stream));
    std::vector<uint32_t> full;
    for (size_t first = 0; first < tensors.size(); first += kMost) {
      Args args{};
      args.n = static_cast<uint32_t>(std::min(kMost, tensors.size() - first));
      uint32_t blocks = 0;
      for (uint32_t i = 0; i < args.n; ++i) {
        const DeviceTensor& tensor = tensors[first + i];
        ASSAY_TRY(numbers[first + i], parts_->take_slot(on, device, stream));
        const uint32_t place = numbers[first + i] % kSlotsOfBatch;
        const Batch& batch = *parts_->batches[numbers[first + i] / kSlotsOfBatch];
        if (place + 1 == kSlotsOfBatch) {
          full.push_back(numbers[first + i] / kSlotsOfBatch);
          on.filling.erase(stream);
        }
        const int64_t bytes = tensor.count * size_of(tensor.dtype);
        const auto own =
            static_cast<uint32_t>(std::clamp<int64_t>((bytes + kBlockBytes - 1) / kBlockBytes, 1, on.blocks));
        args.one[i] = {tensor.data,
                       tensor.count,
                       batch.there + place * sizeof(DeviceResult),
                       blocks,
                       own,
                       static_cast<uint16_t>(tensor.dtype),
                       static_cast<uint16_t>(size_of(tensor.dtype))};
        blocks += own;
      }
      args.finished = scratch;
      args.parts = scratch + 256;
      args.tables = on.tables;
      args.part_bytes = kPartBytes;
      args.wants = (wanted.values ? 1U : 0U) | (wanted.crc32 ? 2U : 0U) | (wanted.xor64 ? 4U : 0U);
      void* parameters[] = {&args};
      if (const int bad = parts_->driver.launch(on.function, blocks, 1, 1, kThreads, 1, 1, 0, handle,
                                                parameters, nullptr);
          bad != 0)
        return fail(ErrorKind::unsupported, "the kernel does not start: {}", parts_->error(bad));
      for (const uint32_t which : full) parts_->send(on, *parts_->batches[which]);
      full.clear();
    }
    return {};
  });
}

bool CudaStatistics::is_there(uint32_t number) {
  const std::lock_guard lock(parts_->guard);
  Batch& batch = *parts_->batches[number / kSlotsOfBatch];
  if (!batch.is_there && batch.is_sent) batch.is_there = parts_->driver.ask(batch.event) == 0;
  return batch.is_there;
}

bool CudaStatistics::wait_for(uint32_t number) {
  Event event = nullptr;
  {
    const std::lock_guard lock(parts_->guard);
    Batch& batch = *parts_->batches[number / kSlotsOfBatch];
    if (!batch.is_sent) {
      const Result<void> sent = parts_->on(batch.device, [&](Device& device) {
        parts_->send(device, batch);
        return Result<void>{};
      });
      if (!sent) return false;
    }
    event = batch.event;
  }
  return parts_->driver.wait(event) == 0 && is_there(number);
}

DeviceResult CudaStatistics::result(uint32_t number) const {
  const std::lock_guard lock(parts_->guard);
  return parts_->batches[number / kSlotsOfBatch]->here[number % kSlotsOfBatch];
}

void CudaStatistics::give_back(uint32_t number) {
  const std::lock_guard lock(parts_->guard);
  const uint32_t which = number / kSlotsOfBatch;
  if (--parts_->batches[which]->left == 0) parts_->free_batches.push_back(which);
}

}  // namespace assay::library
