"""softcheck's own CPU kernels."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from typing import Any

from . import _library
from ._abi import Call


def _load() -> ctypes.CDLL:
    """Those that came with the library: of a checkout's build, of Debian's packages or of the wheel."""
    name = "libsoftcheck_cpu_kernels.so"
    library = _library.library_path()
    folders = [library.parent / "kernels", library.resolve().parent / "softcheck"]
    if named := os.environ.get("SOFTCHECK_KERNELS"):
        folders.insert(0, pathlib.Path(named))
    found = [folder / name for folder in folders if (folder / name).exists()]
    found += sorted(pathlib.Path(__file__).parent.glob(f"lib*/**/{name}"))
    if not found:
        raise ImportError(f"softcheck: need {name}, got none beside {library}: install the wheel, or set SOFTCHECK_KERNELS")
    return ctypes.CDLL(str(found[0]))


@functools.lru_cache(None)
def kernel(name: str) -> Any:
    """"attention": softcheck_attention."""
    found = getattr(_load(), f"softcheck_{name}")
    found.argtypes, found.restype = [ctypes.POINTER(Call)], ctypes.c_int
    return found
