"""The commands of the wheels: the program, by the name that it was called by."""
import os
import sys

from assay._places import find_program


def run() -> None:
    program = find_program()
    os.environ.setdefault("ASSAY_PYTHON", sys.executable)  # for functions of the user (-alg) and `assay recover`
    os.execv(program, [os.path.basename(sys.argv[0]), *sys.argv[1:]])
