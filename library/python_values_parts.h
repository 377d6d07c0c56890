// What the walk over the values of a call hands to those who measure its tensors: python_values.cc walks and
// writes the text, python_values_measure.cc measures, device_marks.cc puts in what a device told later.
#pragma once

#include "library/python_values.h"
#include "library/stated_numbers.h"

#include <string>
#include <vector>

namespace assay::library {

// Around what a device will tell: slot, field, dtype, count, whether it is a scalar. No JSON text has one.
inline constexpr char kMark = '\1';

struct PythonValues::Names {
  PyObject *shape, *stride, *dtype, *layout, *is_cpu, *is_cuda, *requires_grad, *data_ptr, *is_neg, *item,
      *contiguous, *get_device;
};

struct PythonValues::Tensor {
  PyObject* object;  // the walk keeps it
  DType dtype = DType::f32;
  bool is_on_device = false;
  std::vector<int64_t> shape, strides;
  int64_t count = 0;
  uint64_t address = 0;
  bool is_dense = true;  // row-major
  bool is_measured = false;
  int64_t device = 0;
  uint32_t slot = 0;
  Numbers numbers{};
  uint32_t crc32 = 0;
  uint64_t xor64 = 0;
};

struct PythonValues::Walk {
  std::string text;
  PyObject* save;
  std::string place;
  std::vector<Tensor> tensors;
  struct Hole {  // where numbers go, and how far the lines are indented
    size_t at, tensor;
    int depth;
    bool is_checksum;
  };
  std::vector<Hole> holes;
  std::vector<Owned> kept;
  bool failed = false;  // Python raised
};

}  // namespace assay::library
