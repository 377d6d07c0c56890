"""The import name of msprobe, served by assay."""
