"""What knows PyTorch. Imported by those who use it, never by `import assay`."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from assay.torch.fx_backend import fx_dump

__all__ = ["fx_dump"]

_LAZY = {"fx_dump": "assay.torch.fx_backend"}


def __getattr__(name: str):
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'assay.torch' has no attribute {name!r}; there are: {', '.join(__all__)}")
