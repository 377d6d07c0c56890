// A libatb.so in which every function of the probe does nothing, as in the real one: what is preloaded takes
// their place.
#include "tests/hosts/atb.h"

namespace atb {

void Probe::UpdateConfig() {}
bool Probe::IsSaveTensorInSpecificDir(Text) { return true; }
bool Probe::IsTensorNeedSave(const std::vector<int64_t>&, Text) { return false; }
bool Probe::IsSaveTensorData() { return false; }
bool Probe::IsSaveTensorDesc() { return false; }
bool Probe::IsSaveChild() { return false; }
bool Probe::IsExecuteCountInRange(uint64_t) { return false; }
bool Probe::IsSaveTensorBefore() { return false; }
bool Probe::IsSaveTensorAfter() { return false; }
void Probe::SaveTensor(Text, Text, Text, const void*, uint64_t, Text) {}
void Probe::SaveTiling(const uint8_t*, uint64_t, Text) {}
bool Probe::IsSaveTiling() { return false; }
bool Probe::IsSaveOuttensor() { return false; }
bool Probe::IsSaveIntensor() { return false; }
bool Probe::ReportOperationGraphEnable() { return false; }
void Probe::ReportOperationGraph(Text, Text) {}
bool Probe::ReportOperationStatisticEnable() { return false; }
void Probe::ReportOperationSetupStatistic(uint64_t, Text, Text) {}
void Probe::ReportOperationExecuteStatistic(uint64_t, Text, Text) {}
bool Probe::ReportOperationIOTensorEnable() { return false; }
void Probe::ReportOperationIOTensor(size_t, Text, Text, Tensors, Tensors) {}
bool Probe::ReportKernelIOTensorEnable() { return false; }
void Probe::ReportKernelIOTensor(size_t, Text, Text, Tensors, Tensors) {}
void Probe::SaveParam(Text, Text) {}
bool Probe::IsSaveParam() { return false; }
bool Probe::IsOverflowCheck() { return false; }
bool Probe::IsOverflowStop() { return false; }
void Probe::ReportOverflowKernel(Text) {}

}  // namespace atb

namespace atb_speed {

bool SpeedProbe::IsReportModelTopoInfo(const std::string&) { return false; }
void SpeedProbe::ReportModelTopoInfo(const std::string&, const std::string&) {}

}  // namespace atb_speed
