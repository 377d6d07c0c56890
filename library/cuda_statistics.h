// Tensors in the memory of an NVIDIA device, measured there: one kernel for all tensors of a call, one pass
// over each, on the stream that made them, and nobody waits. The driver and the compiler of kernels are found
// in the process or at a given path; nothing is linked.
#pragma once

#include "assay/base/result.h"
#include "assay/tensor/dtype.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace assay::library {

struct DeviceTensor {
  uint64_t data;  // dense
  DType dtype;
  int64_t count;
};

// As the kernel writes it.
struct DeviceResult {
  double max, min;  // NaN is neither
  int64_t max_integer, min_integer;
  double sum, sum_squares;
  uint64_t xor64;
  uint32_t crc32;
  uint32_t nans;  // whether there are any
};

struct DeviceWanted {
  bool values = true, crc32 = false, xor64 = false;
};

bool is_measured_on_devices(DType dtype);

class CudaStatistics {
 public:
  // `compiler`: the path of libnvrtc.
  static Result<std::unique_ptr<CudaStatistics>> open(const std::string& compiler);
  ~CudaStatistics();
  CudaStatistics(const CudaStatistics&) = delete;
  CudaStatistics& operator=(const CudaStatistics&) = delete;

  // Compiles what it needs for this device, so that the first call does not wait for it.
  Result<void> prepare(int device);

  // Numbers of the results go to `numbers`. Refuses while a CUDA graph is captured from the stream.
  Result<void> measure(int device, uint64_t stream, std::span<const DeviceTensor> tensors,
                       const DeviceWanted& wanted, std::span<uint32_t> numbers);

  bool is_there(uint32_t number);
  // Blocks; false where the device failed.
  bool wait_for(uint32_t number);
  DeviceResult result(uint32_t number) const;
  void give_back(uint32_t number);

 private:
  CudaStatistics();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The source of the kernel.
extern const char* const kMeasureKernel;

}  // namespace assay::library
