"""Closing of kinematic loops by machine code: solver/assembly.py, compiled for this process.

One code serves all systems: sizes are fields of a record, and the geometry of a system is called by its
address. Several starts are several records, one after the other.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import lru_cache

from armillary.llvm.jit import BRANCHED, engine, machine_settings
from armillary.mechanics.constraints import closing_thresholds
from armillary.solver.llvm.compiled_loop import loop_sources
from armillary.untyped import Given

_PLACE, _COUNT = ctypes.c_void_p, ctypes.c_int64
# Without this lock two threads might compile, and the code of one of them might be freed while it runs.
_MAKING = threading.Lock()


class LoopCode:
    """The compiled functions; their code is freed with this object.

    ``close`` takes the addresses of records and of the workspace, the number of records and their length;
    ``check`` takes the addresses of one record and of the workspace. The other functions are loops of
    llvm/building/routines.py.
    """

    def __init__(self) -> None:
        numbers = {name: value for name, value in vars(closing_thresholds).items() if name.isupper()}
        name = f"assembly {loop_sources()} {numbers}"
        self._engine = engine(name, _texts, 1, BRANCHED)
        self.close = self._function("armillary_close_many", *[_PLACE] * 2, *[_COUNT] * 2)
        self.check = self._function("armillary_check", *[_PLACE] * 2)
        self.precompute = self._function("armillary_precompute_rows", _PLACE, *[_COUNT] * 3, *[_PLACE] * 2)
        self.evaluate = self._function("armillary_function_rows", _PLACE, *[_COUNT] * 6, *[_PLACE] * 5)

    def _function(self, name: str, *arguments: Given) -> Callable[..., None]:
        return ctypes.CFUNCTYPE(None, *arguments)(self._engine.get_function_address(name))


def loop_code() -> LoopCode:
    """Return the code for this process, compiled at its first use or taken from the cache."""
    with _MAKING:
        return _load_code(machine_settings())


@lru_cache(maxsize=4)
def _load_code(chosen: tuple[object, ...]) -> LoopCode:
    return LoopCode()


def _texts() -> list[str]:
    from armillary.llvm.building.routines import rows_by_address
    from armillary.solver.llvm.closing_text import loop_module

    return [str(loop_module().module), rows_by_address()]
