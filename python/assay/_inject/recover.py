"""`assay recover DUMP`: the dump.json of what a program recorded before it was killed. Needs Python alone."""
import os
import sys

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[0] = os.path.dirname(PACKAGE)

from assay.errors import AssayError  # noqa: E402
from assay.msprobe import journal, recovery  # noqa: E402


def _reason(path, trouble):
    """The path stands before it already."""
    text = recovery.shown(str(trouble)) or type(trouble).__name__
    beginning = recovery.shown(path) + ": "
    return text[len(beginning):] if text.startswith(beginning) else text


def main():
    dump = sys.argv[1]
    found, status = [], 0
    for path in journal.journals_below(dump):
        try:
            found += journal.recover(path)
        except (AssayError, OSError, ValueError, LookupError, RecursionError, MemoryError) as trouble:
            sys.stderr.write("assay: %s: cannot be recovered, and stays: %s\n" % (recovery.shown(path), _reason(path, trouble)))
            status = 2
    if not found and status == 0:
        sys.stderr.write("assay: %s: there is nothing to recover: no %s lies in it; every dump.json is whole\n"
                         % (recovery.shown(dump), journal.NAME))
        return 2
    for each in found:
        cut = "; the last one was cut off, and is left out" if each.was_cut else ""
        if each.without_data:
            cut += "; of %d tensors there are statistics alone: their data were not written yet" % each.without_data
        sys.stdout.write("%s: %d complete entries%s\n" % (recovery.shown(os.path.join(each.folder, "dump.json")), each.entries, cut))
    return status


if __name__ == "__main__":
    sys.exit(main())
