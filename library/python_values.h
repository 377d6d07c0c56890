// What dump.json says of the values that a call of a Python program is given and gives back, as the Python
// package lays it out (python/assay/msprobe/values.py, which knows the rare kinds too): in one walk, with all
// tensors measured at once.
#pragma once

#include "library/cuda_statistics.h"
#include "library/python_api.h"

#include "assay/tensor/dtype.h"
#include "include/assay/assay.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace assay::library {

struct ValuesOptions {
  int summary = ASSAY_SUMMARY_STATISTICS;
  bool has_sums = true;
  // Of Python's: torch.Tensor and torch.nn.Parameter, torch.strided, the element types with our numbers, and
  // functions of torch.
  PyObject *tensor = nullptr, *parameter = nullptr, *strided = nullptr;
  PyObject *mean = nullptr, *norm = nullptr;  // of small tensors of the CPU, whose digits are to be torch's
  PyObject* stream = nullptr;                 // torch._C._cuda_getCurrentRawStream
  PyObject* keep_for_stream =
      nullptr;  // told of a tensor that is measured on another stream than the default
  std::vector<std::pair<PyObject*, DType>> dtypes;
};

class PythonValues {
 public:
  PythonValues(const PyApi& api, ValuesOptions options);
  ~PythonValues();
  PythonValues(const PythonValues&) = delete;
  PythonValues& operator=(const PythonValues&) = delete;

  // A new reference to a text; None where the value holds something that is not known here. `save`: None, or
  // called with a tensor and its place, answers the name of the file that its data go to, or None. Null with
  // an error of Python's where that raised one.
  PyObject* text_of(PyObject* value, int depth, PyObject* save);

  // Writes a line of a journal to `file`: `head`, what was told of the call when it began (a text, or None),
  // the parts of `value` (a dict that is not empty), and its end. A number: 0, or the errno of a write that
  // failed. None where nothing was written, because something is not known here or lies on a device.
  PyObject* write_line(PyObject* head, PyObject* begun, PyObject* value, int depth, int file);

  // The text with what was measured on a device in the place of its marks; None where that is not there yet.
  // Waits for it if told to.
  PyObject* settled(PyObject* text, bool waits);

  void use(CudaStatistics* devices) { cuda_ = devices; }

 private:
  struct Tensor;
  struct Walk;
  bool walk(Walk& walk, PyObject* value, int depth, int left) const;
  bool walk_list(Walk& walk, PyObject* value, bool is_tuple, int depth, int left) const;
  bool walk_dict(Walk& walk, PyObject* value, int depth, int left) const;
  bool walk_tensor(Walk& walk, PyObject* value, int depth) const;
  bool take_layout(Tensor& tensor) const;
  bool measure_small(Tensor& tensor) const;
  static bool has_both_zeros(const Tensor& tensor);
  bool measure_all(Walk& walk);
  bool measure_on_device(Walk& walk);
  bool gather_on_device(Walk& walk, Tensor& tensor) const;
  PyObject* unknown() const;
  void append_filled(std::string& out, const Walk& walk, size_t from, size_t to) const;
  void append_field(std::string& out, const Tensor& tensor, int field) const;
  std::optional<int64_t> whole_of(PyObject* value, PyObject* attribute, bool is_call) const;
  int truth_of(PyObject* value, PyObject* attribute, bool is_call) const;  // -1: not to be had

  const PyApi& api_;
  const ValuesOptions options_;
  struct Names;
  std::unique_ptr<Names> names_;
  std::unordered_map<PyObject*, DType> dtypes_;
  CudaStatistics* cuda_ = nullptr;
};

}  // namespace assay::library
