"""Messages, in the form of the originals: on standard error, with the name of their logger."""
import logging


def _make() -> logging.Logger:
    made = logging.getLogger("msit_llm_logger")
    if not made.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s - %(process)d - %(name)s - %(levelname)s - %(message)s"))
        made.addHandler(handler)
        made.setLevel(logging.INFO)
        made.propagate = False
    return made


logger = _make()
