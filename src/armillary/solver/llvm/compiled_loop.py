"""Integration loops as machine code, compiled at their first use or taken from the cache."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path

from armillary.cache import digest
from armillary.llvm.jit import (
    GENERAL,
    PLAIN,
    Passes,
    engine,
    machine_settings,
    vectorise_functions,
)
from armillary.solver.llvm.layout import Control, LoopShape, Reason

_REASONS = tuple(Reason)
# Files of other packages with constants of the loop's functions.
CONSTANTS_FROM = (
    "numerics/roots_thresholds.py",
    "mechanics/constraints/dependent_speeds.py",
    "mechanics/constraints/closing_thresholds.py",
    "mechanics/contact/blocks.py",
    "mechanics/contact/contact_thresholds.py",
    "program/sparse_rates.py",
    "program/targets/targets.py",
)
# Functions with loops over events or states, called after every step: if LLVM vectorises them, they take 0.4
# of the time (21 events, 60 states).
_OVER_EVENTS = ("signs_hold", "moves_far")
# Functions of dense equations: if LLVM vectorises them, they take 0.7 of the time (40 unknowns). If it
# vectorised all functions, compilation would take 1.9 s instead of 0.5; sparse equations gain nothing.
_OVER_MATRICES = ("set_system", "eliminate_columns", "solve_columns", "solve_unknowns")


class Loop:
    """A compiled loop; its code is freed with it."""

    def __init__(self, shape: LoopShape) -> None:
        def texts() -> list[str]:
            from armillary.llvm.building.builder import (
                power_text,  # neither import is needed if the code is in the cache
            )
            from armillary.solver.llvm.loop import emit_loop

            made = [str(emit_loop(shape).module)]
            if passes == GENERAL:
                vectorised = [*(_OVER_EVENTS if shape.events else ())]
                vectorised += _OVER_MATRICES if shape.implicit and not shape.sparse else ()
                made = vectorise_functions(made[0], vectorised) if vectorised else made
            if shape.adaptive:
                made.append(power_text(1)[1])
            return made

        vectors = shape.states > 12
        own_size = Passes(3, loops=vectors, straight=vectors)
        passes = (PLAIN if shape.plain else GENERAL) if shape.general else own_size
        self._engine = engine(f"loop {loop_sources()} {shape!r}", texts, 3, passes)
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(Control), ctypes.c_void_p)
        address = self._engine.get_function_address
        self.drive_address: int = address("armillary_drive")
        self._drive: Callable[..., int] = kind(self.drive_address)
        # 0 if the loop has no choice of the first configuration
        self.choice_address: int = address("armillary_choose_for_motion") if shape.partitioned else 0
        choosing = ctypes.CFUNCTYPE(None, ctypes.POINTER(Control), ctypes.c_void_p)
        self._choose = choosing(self.choice_address) if self.choice_address else None
        search = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(Control), *[ctypes.c_void_p] * 2)
        self._may_jump: Callable[..., int] = search(address("armillary_may_jump"))

    def __call__(self, control: Control, workspace: int) -> Reason:
        return _REASONS[self._drive(ctypes.byref(control), workspace)]

    def choose_for_motion(self, control: Control, workspace: int) -> None:
        """Choose the first configuration of a run, from the motion at its start; see solver/changes.py.

        Only loops of runs that may meet further configurations have such a choice.
        """
        assert self._choose is not None
        self._choose(ctypes.byref(control), workspace)

    def may_jump(self, control: Control, workspace: int, kinds: int) -> bool:
        """Return whether the speeds of any kind may have jumped in the rows of a run.

        ``kinds`` is the address of a table; see loop.py.
        """
        return bool(self._may_jump(ctypes.byref(control), workspace, kinds))


@cache
def loop_sources() -> str:
    """Return a digest of the files from which loops are made, including files with their constants."""
    package = Path(__file__).parents[2]
    files = [
        file for folder in ("llvm", "numerics", "solver") for file in sorted((package / folder).rglob("*.py"))
    ]
    files += [package / name for name in CONSTANTS_FROM]
    return digest(*(file.read_text(encoding="utf-8") for file in files))


def compiled_loop(shape: LoopShape) -> Loop:
    """Return the loop for a shape, compiled at its first use in this process; the 64 last used are kept.

    General loops, for any number of states, give the same results to the last bit as loops made for one
    number, and take at most 15 % longer (ns per step on an arm64 core, runs of both kinds in turn; pendulum,
    four-bar, Stanford arm, quadruped):

        states               2      4     12     37
        rk4, own size      249    834    738   2145
        rk4, general       284    960    775   2185
        dopri5, own size   501   1187   1298   3445
        dopri5, general    550   1270   1272   3480
    """
    return _load_loop(shape.any_size(), machine_settings())


@lru_cache(maxsize=64)
def _load_loop(shape: LoopShape, chosen: tuple[object, ...]) -> Loop:
    return Loop(shape)
