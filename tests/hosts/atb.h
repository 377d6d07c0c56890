// What ATB and its models declare of their probes: the stand-in for libatb.so defines it, the host calls it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace atb {

class Probe {
 public:
  struct Tensor {
    std::string dtype, format, shape, path;
  };
  using Text = const std::string&;
  using Tensors = const std::vector<Tensor>&;

  static void UpdateConfig();
  static bool IsSaveTensorInSpecificDir(Text folder);
  static bool IsTensorNeedSave(const std::vector<int64_t>& ids, Text op_type);
  static bool IsSaveTensorData();
  static bool IsSaveTensorDesc();
  static bool IsSaveChild();
  static bool IsExecuteCountInRange(uint64_t round);
  static bool IsSaveTensorBefore();
  static bool IsSaveTensorAfter();
  static void SaveTensor(Text format, Text dtype, Text dims, const void* data, uint64_t size, Text path);
  static void SaveTiling(const uint8_t* data, uint64_t size, Text path);
  static bool IsSaveTiling();
  static bool IsSaveOuttensor();
  static bool IsSaveIntensor();
  static bool ReportOperationGraphEnable();
  static void ReportOperationGraph(Text name, Text graph);
  static bool ReportOperationStatisticEnable();
  static void ReportOperationSetupStatistic(uint64_t round, Text name, Text text);
  static void ReportOperationExecuteStatistic(uint64_t round, Text name, Text text);
  static bool ReportOperationIOTensorEnable();
  static void ReportOperationIOTensor(size_t round, Text name, Text param, Tensors in, Tensors out);
  static bool ReportKernelIOTensorEnable();
  static void ReportKernelIOTensor(size_t round, Text name, Text param, Tensors in, Tensors out);
  static void SaveParam(Text param, Text path);
  static bool IsSaveParam();
  static bool IsOverflowCheck();
  static bool IsOverflowStop();
  static void ReportOverflowKernel(Text kernel);
};

}  // namespace atb

namespace atb_speed {

class SpeedProbe {
 public:
  static bool IsReportModelTopoInfo(const std::string& model);
  static void ReportModelTopoInfo(const std::string& model, const std::string& graph);
};

}  // namespace atb_speed
