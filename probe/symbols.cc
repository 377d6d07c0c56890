// The functions that ATB calls, under the names that its own libatb.so and libatb_speed.so give them.
// Compiled twice, for the two shapes of std::string that ATB is built with; the same library serves both.
// Only what a function is given is looked at here: an inline function of a type with strings inside would
// exist twice under one name.
#include "probe/probe.h"

#include <string>
#include <vector>

namespace assay::probe {
namespace {

std::string_view view(const std::string& text) { return {text.data(), text.size()}; }

// The memory of a std::vector: where it begins, and where it ends.
template <class T>
std::span<const T> elements(const std::vector<T>& all) {
  const T* const* const ends = reinterpret_cast<const T* const*>(&all);
  return {ends[0], static_cast<size_t>(ends[1] - ends[0])};
}

}  // namespace
}  // namespace assay::probe

#define ASSAY_ATB __attribute__((visibility("default")))
#define ASSAY_TEXT const std::string&

namespace atb {

class Probe {
 public:
  struct Tensor {
    std::string dtype, format, shape, path;
  };
  using Tensors = const std::vector<Tensor>&;

  ASSAY_ATB static bool IsSaveTensorInSpecificDir(ASSAY_TEXT folder);
  ASSAY_ATB static bool IsTensorNeedSave(const std::vector<int64_t>& ids, ASSAY_TEXT op_type);
  ASSAY_ATB static void SaveTensor(ASSAY_TEXT format, ASSAY_TEXT dtype, ASSAY_TEXT dims, const void* data,
                                   uint64_t size, ASSAY_TEXT path);
  ASSAY_ATB static void SaveTiling(const uint8_t* data, uint64_t size, ASSAY_TEXT path);
  ASSAY_ATB static void ReportOperationGraph(ASSAY_TEXT name, ASSAY_TEXT graph);
  ASSAY_ATB static void ReportOperationSetupStatistic(uint64_t round, ASSAY_TEXT name, ASSAY_TEXT text);
  ASSAY_ATB static void ReportOperationExecuteStatistic(uint64_t round, ASSAY_TEXT name, ASSAY_TEXT text);
  ASSAY_ATB static void ReportOperationIOTensor(size_t round, ASSAY_TEXT name, ASSAY_TEXT param, Tensors in,
                                                Tensors out);
  ASSAY_ATB static void ReportKernelIOTensor(size_t round, ASSAY_TEXT name, ASSAY_TEXT param, Tensors in,
                                             Tensors out);
  ASSAY_ATB static void SaveParam(ASSAY_TEXT param, ASSAY_TEXT path);
  ASSAY_ATB static void ReportOverflowKernel(ASSAY_TEXT kernel);
  // Without strings: the same for both.
  ASSAY_ATB static void UpdateConfig();
  ASSAY_ATB static bool IsSaveTensorData();
  ASSAY_ATB static bool IsSaveTensorDesc();
  ASSAY_ATB static bool IsSaveChild();
  ASSAY_ATB static bool IsExecuteCountInRange(uint64_t round);
  ASSAY_ATB static bool IsSaveTensorBefore();
  ASSAY_ATB static bool IsSaveTensorAfter();
  ASSAY_ATB static bool IsSaveTiling();
  ASSAY_ATB static bool IsSaveOuttensor();
  ASSAY_ATB static bool IsSaveIntensor();
  ASSAY_ATB static bool ReportOperationGraphEnable();
  ASSAY_ATB static bool ReportOperationStatisticEnable();
  ASSAY_ATB static bool ReportOperationIOTensorEnable();
  ASSAY_ATB static bool ReportKernelIOTensorEnable();
  ASSAY_ATB static bool IsSaveParam();
  ASSAY_ATB static bool IsOverflowCheck();
  ASSAY_ATB static bool IsOverflowStop();

 private:
  static void report(assay::probe::Level level, size_t round, ASSAY_TEXT name, ASSAY_TEXT param, Tensors in,
                     Tensors out);
};

namespace {

using namespace assay::probe;

}  // namespace

bool Probe::IsSaveTensorInSpecificDir(ASSAY_TEXT folder) { return saves_in(view(folder)); }
bool Probe::IsTensorNeedSave(const std::vector<int64_t>& ids, ASSAY_TEXT op_type) {
  return needs_tensors(elements(ids), view(op_type));
}
void Probe::SaveTensor(ASSAY_TEXT format, ASSAY_TEXT dtype, ASSAY_TEXT dims, const void* data, uint64_t size,
                       ASSAY_TEXT path) {
  save_tensor({view(format), view(dtype), view(dims)}, data, size, view(path));
}
void Probe::SaveTiling(const uint8_t* data, uint64_t size, ASSAY_TEXT path) {
  save_tiling(data, size, view(path));
}
void Probe::ReportOperationGraph(ASSAY_TEXT name, ASSAY_TEXT graph) {
  report_operation(view(name), view(graph));
}
void Probe::ReportOperationSetupStatistic(uint64_t round, ASSAY_TEXT name, ASSAY_TEXT text) {
  report_times(round, view(name), view(text));
}
void Probe::ReportOperationExecuteStatistic(uint64_t round, ASSAY_TEXT name, ASSAY_TEXT text) {
  report_times(round, view(name), view(text));
}
void Probe::report(Level level, size_t round, ASSAY_TEXT name, ASSAY_TEXT param, Tensors in,
                   Tensors out) try {
  const auto ins = elements(in), outs = elements(out);
  std::vector<IoTensor> all(ins.size() + outs.size());
  size_t at = 0;
  for (const auto tensors : {ins, outs})
    for (const Tensor& tensor : tensors)
      all[at++] = {view(tensor.dtype), view(tensor.format), view(tensor.shape), view(tensor.path)};
  const std::span<const IoTensor> views(all);
  report_io(level, round, view(name), view(param), views.first(ins.size()), views.subspan(ins.size()));
} catch (...) {  // no memory: ATB must not hear of it
}
void Probe::ReportOperationIOTensor(size_t round, ASSAY_TEXT name, ASSAY_TEXT param, Tensors in,
                                    Tensors out) {
  report(Level::operation, round, name, param, in, out);
}
void Probe::ReportKernelIOTensor(size_t round, ASSAY_TEXT name, ASSAY_TEXT param, Tensors in, Tensors out) {
  report(Level::kernel, round, name, param, in, out);
}
void Probe::SaveParam(ASSAY_TEXT param, ASSAY_TEXT path) { save_param(view(param), view(path)); }
void Probe::ReportOverflowKernel(ASSAY_TEXT kernel) { report_overflow(view(kernel)); }

#if _GLIBCXX_USE_CXX11_ABI
void Probe::UpdateConfig() { update_config(); }
bool Probe::IsSaveTensorData() { return asks(Question::tensor_data); }
bool Probe::IsSaveTensorDesc() { return true; }
bool Probe::IsSaveChild() { return asks(Question::children); }
bool Probe::IsExecuteCountInRange(uint64_t round) { return is_in_range(round); }
bool Probe::IsSaveTensorBefore() { return asks(Question::before); }
bool Probe::IsSaveTensorAfter() { return asks(Question::after); }
bool Probe::IsSaveTiling() { return asks(Question::tiling); }
bool Probe::IsSaveOuttensor() { return asks(Question::outputs); }
bool Probe::IsSaveIntensor() { return asks(Question::inputs); }
bool Probe::ReportOperationGraphEnable() { return asks(Question::operation_graphs); }
bool Probe::ReportOperationStatisticEnable() { return asks(Question::times); }
bool Probe::ReportOperationIOTensorEnable() { return asks(Question::operation_tables); }
bool Probe::ReportKernelIOTensorEnable() { return asks(Question::kernel_tables); }
bool Probe::IsSaveParam() { return true; }
bool Probe::IsOverflowCheck() { return asks(Question::overflow); }
bool Probe::IsOverflowStop() { return asks(Question::overflow_stop); }
#endif

}  // namespace atb

namespace atb_speed {

class SpeedProbe {
 public:
  ASSAY_ATB static bool IsReportModelTopoInfo(ASSAY_TEXT model);
  ASSAY_ATB static void ReportModelTopoInfo(ASSAY_TEXT model, ASSAY_TEXT graph);
};

bool SpeedProbe::IsReportModelTopoInfo(ASSAY_TEXT model) {
  return assay::probe::wants_model(assay::probe::view(model));
}
void SpeedProbe::ReportModelTopoInfo(ASSAY_TEXT model, ASSAY_TEXT graph) {
  assay::probe::report_model(assay::probe::view(model), assay::probe::view(graph));
}

}  // namespace atb_speed
