"""The functions of the ATB probe, as a linker knows them, for both shapes of std::string."""
from __future__ import annotations

STRING1 = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
# Every symbol of ATB: with its strings as $, and back references of the first and the second shape of a string.
SYMBOLS = """_ZN3atb5Probe12UpdateConfigEv _ZN3atb5Probe16IsSaveTensorDataEv _ZN3atb5Probe16IsSaveTensorDescEv _ZN3atb5Probe11IsSaveChildEv
_ZN3atb5Probe21IsExecuteCountInRangeEm _ZN3atb5Probe18IsSaveTensorBeforeEv _ZN3atb5Probe17IsSaveTensorAfterEv
_ZN3atb5Probe12IsSaveTilingEv _ZN3atb5Probe15IsSaveOuttensorEv _ZN3atb5Probe14IsSaveIntensorEv
_ZN3atb5Probe26ReportOperationGraphEnableEv _ZN3atb5Probe30ReportOperationStatisticEnableEv
_ZN3atb5Probe29ReportOperationIOTensorEnableEv _ZN3atb5Probe26ReportKernelIOTensorEnableEv _ZN3atb5Probe11IsSaveParamEv
_ZN3atb5Probe15IsOverflowCheckEv _ZN3atb5Probe14IsOverflowStopEv""".split()
WITH_STRINGS = {
    "_ZN3atb5Probe25IsSaveTensorInSpecificDirERK{s}": ("", ""),
    "_ZN3atb5Probe16IsTensorNeedSaveERKSt6vectorIlSaIlEERK{s}": ("", ""),
    "_ZN3atb5Probe10SaveTensorERK{s}{r}{r}PKvm{r}": ("S8_", "S2_"),
    "_ZN3atb5Probe10SaveTilingEPKhmRK{s}": ("", ""),
    "_ZN3atb5Probe20ReportOperationGraphERK{s}{r}": ("S8_", "S2_"),
    "_ZN3atb5Probe29ReportOperationSetupStatisticEmRK{s}{r}": ("S8_", "S2_"),
    "_ZN3atb5Probe31ReportOperationExecuteStatisticEmRK{s}{r}": ("S8_", "S2_"),
    "_ZN3atb5Probe9SaveParamERK{s}{r}": ("S8_", "S2_"),
    "_ZN3atb5Probe20ReportOverflowKernelERK{s}": ("", ""),
    "_ZN9atb_speed10SpeedProbe21IsReportModelTopoInfoERK{s}": ("", ""),
    "_ZN9atb_speed10SpeedProbe19ReportModelTopoInfoERK{s}{r}": ("S8_", "S2_"),
}
IO_TENSOR = {
    "_ZN3atb5Probe23ReportOperationIOTensorEmRK{s}{r}RKSt6vectorINS0_6TensorESaI{t}EE{e}",
    "_ZN3atb5Probe20ReportKernelIOTensorEmRK{s}{r}RKSt6vectorINS0_6TensorESaI{t}EE{e}",
}


def wanted_symbols() -> set[str]:
    out = set(SYMBOLS)
    for name, references in WITH_STRINGS.items():
        out |= {name.format(s=STRING1, r=references[0]), name.format(s="Ss", r=references[1])}
    for name in IO_TENSOR:
        out |= {name.format(s=STRING1, r="S8_", t="SA_", e="SE_"), name.format(s="Ss", r="S2_", t="S4_", e="S8_")}
    return out
