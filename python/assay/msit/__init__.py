"""The calls of msit_llm and ait_llm: hooks on modules and functions, TorchAir's dumps, seeds, manual goldens.

The packages `msit_llm` and `ait_llm` (wheel assay-compat) give them under the names that scripts import.
"""
