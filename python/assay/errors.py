"""What this package raises."""


class AssayError(RuntimeError):
    """Something that the library or the program refused; the message says what and why."""


class LibraryNotFound(AssayError, ImportError):
    """libassay.so, or the program, is not where it could be, or is of another version."""
