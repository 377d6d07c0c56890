"""The import name of ait's package for large models, served by assay: docs/scenarios/torch_capture.md of assay."""
from assay.msit import dump_folder, served

dump_folder.follow_ait()
served.offer(globals(), __name__, "")
