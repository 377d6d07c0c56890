"""The import name of msit's package for large models, served by assay: docs/scenarios/torch_capture.md of assay."""
from assay.msit import served

served.offer(globals(), __name__, "")
