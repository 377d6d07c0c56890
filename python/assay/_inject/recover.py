"""`assay recover DUMP`: the dump.json of what a program recorded before it was killed. Needs Python alone."""
import os
import sys

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[0] = os.path.dirname(PACKAGE)

from assay.msprobe import journal  # noqa: E402


def main():
    dump = sys.argv[1]
    try:
        found = journal.recover(dump)
    except (OSError, ValueError, KeyError) as trouble:
        sys.stderr.write("assay: %s: cannot be recovered: %s\n" % (dump, trouble))
        return 2
    if not found:
        sys.stderr.write("assay: %s: there is nothing to recover: no %s lies in it; every dump.json is whole\n" % (dump, journal.NAME))
        return 2
    for each in found:
        cut = "; the last one was cut off, and is left out" if each.was_cut else ""
        if each.without_data:
            cut += "; of %d tensors there are statistics alone: their data were not written yet" % each.without_data
        sys.stdout.write("%s: %d complete entries%s\n" % (os.path.join(each.folder, "dump.json"), each.entries, cut))
    return 0


if __name__ == "__main__":
    sys.exit(main())
