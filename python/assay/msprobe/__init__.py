"""The calls of msprobe.pytorch on the native writer. `msprobe.pytorch` of assay-compat serves them under the original's name."""
