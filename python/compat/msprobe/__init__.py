"""The import name of msprobe, served by assay: docs/scenarios/msprobe.md of assay."""
from assay import msprobe_served

msprobe_served.offer(globals(), "")
