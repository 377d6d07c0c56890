#!/usr/bin/python3
"""Checks that every #include follows the arrows that CMakeLists.txt draws between the folders of assay/, and that libraries
which belong behind an interface of ours are included there alone."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
links = {folder: set(names.split()) for folder, names in
         re.findall(r"^assay_folder\((\w+)(?: PLAIN)?(?: LINK ((?:[a-z_]+ ?)+?))?(?: (?:LIBS|FILES) [^)]*)?\)",
                    (root / "CMakeLists.txt").read_text(), re.MULTILINE)}


def folder_of(path: str) -> str:
    """"format" of assay/format/npy.h; what computes the numbers of other tools is a folder of its own."""
    parts = path.split("/")
    return "compat_metric" if parts[1] == "compat" and parts[3] == "metric" else parts[1]


def reachable(folder: str, above: tuple[str, ...] = ()) -> set[str]:
    if folder in above:
        sys.exit(f"CMakeLists.txt: folders depend on each other in a circle: {' -> '.join((*above, folder))}")
    return {folder}.union(*(reachable(name, (*above, folder)) for name in links[folder]))


# What is loaded into programs that never asked for it is made of these and of nothing else: each needs a place in cmake/capture.cmake.
LOADED = {"capture": ("assay/base", "assay/tensor", "assay/format", "capture"),
          "probe": ("assay/base", "assay/tensor", "assay/format", "capture", "probe")}
SHARED = set(re.findall(r"\bassay/(?:base|tensor|format)/\w+\.cc", (root / "cmake" / "capture.cmake").read_text()))

# What may include them.
HIDDEN = {"tbb/": "assay/support/parallel.cc", "CLI/": "cli/", "re2/": "assay/match/alike/rename.cc",
          "sqlite3.h": "assay/report/", "mpi.h": "assay/run/cluster/cluster_mpi.cc"}

bad = []
for path in sorted(root.glob("assay/**/*.[ch]*")):
    folder = folder_of(str(path.relative_to(root)))
    allowed = reachable(folder) if folder in links else {folder}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+"((assay|cli|bench|tests)/[^"]*)"', line)
        if found and (found[2] != "assay" or folder_of(found[1]) not in allowed):
            bad.append(f"{path.relative_to(root)}:{number}: {folder} must not include {found[1]}")
for folder, allowed in LOADED.items():
    for path in sorted((root / folder).rglob("*.[ch]*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+"([^"]*)"', line)
            name = found[1] if found else ""
            source = re.sub(r"\.h$", ".cc", name)
            if found and (name.rsplit("/", 1)[0] not in allowed or
                          (name.startswith("assay/format/") and not name.endswith("_write.h")) or
                          (name.startswith("assay/") and (root / source).exists() and source not in SHARED and
                           name != "assay/tensor/dense.h")):
                bad.append(f"{path.relative_to(root)}:{number}: {folder} must not include {name}")
for path in sorted(path for folder in ("assay", "bench", "capture", "cli", "include", "library", "probe", "tests")
                   for path in (root / folder).rglob("*")
                   if path.suffix in (".cc", ".h")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r"\s*#\s*include\s+<([^>]*)>", line)
        for library, home in HIDDEN.items():
            if found and found[1].startswith(library) and not str(path.relative_to(root)).startswith(home):
                bad.append(f"{path.relative_to(root)}:{number}: only {home} may include <{found[1]}>")
print("\n".join(bad) if bad else f"{len(links)} folders include only what they link to")
sys.exit(bool(bad))
