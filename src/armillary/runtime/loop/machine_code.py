"""Integration loops as machine code, compiled at their first use or taken from the cache."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path

from armillary.cache import digest
from armillary.llvm.jit import Passes, chosen, engine, holds_addresses, quick
from armillary.runtime.loop.layout import Control, LoopShape, Reason


class Loop:
    """A compiled loop; its code is freed with it."""

    def __init__(self, shape: LoopShape, model: str = "") -> None:
        def texts() -> list[str]:
            from armillary.llvm.builder import power_text  # neither is needed where the code is in the cache
            from armillary.runtime.loop.loop import emit_loop

            made = [str(emit_loop(shape, linked=bool(model)).module)]
            if shape.adaptive:
                made.append(power_text(1)[1])
            return [*made, model] if model else made

        self.offsets, self.length = shape.layout()  # of the workspace
        vectors = _vectorised(shape)
        name = "" if holds_addresses(model) else f"loop {loop_sources()} {shape!r} {model}"
        self._engine = engine(name, texts, 3, Passes(3, loops=vectors, straight=vectors))
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(Control), ctypes.c_void_p)
        self.address: int = self._engine.get_function_address("armillary_drive")
        self._drive: Callable[..., int] = kind(self.address)

    def __call__(self, control: Control, workspace: int) -> Reason:
        return Reason(self._drive(ctypes.byref(control), workspace))


@cache
def loop_sources() -> str:
    """A digest of this version of the loop's own code: the content of its files."""
    package = Path(__file__).parents[2]
    files = [file for folder in ("llvm", "runtime") for file in sorted((package / folder).rglob("*.py"))]
    return digest(*(file.read_text(encoding="utf-8") for file in files))


def _vectorised(shape: LoopShape) -> bool:
    """Whether vector instructions pay: for more than a dozen states.

    Measured on a shared x86-64 machine, the variants interleaved, smallest of 150 times in ns per step, with
    a derivative of 70 to 130 ns:

        states            6     12     16     24     48
        rk4, scalar     404    462    496    478    687
        rk4, vectors    424    493    501    472    635
        dopri5, scalar  682    820    862    905   1256
        dopri5, vectors 717    830    829    815   1073

    With 12 states four evaluations alone take 389 ns, and the bare rk4 loop in C 491 (with vectors 604).
    About half of what C adds is that each stage waits for the one before: without that dependence it takes
    438. Why vectors lose here was not established; generated code stores derivatives one by one, and a vector
    load that follows may have to wait for those stores.
    """
    return shape.states > 12


def compiled_loop(shape: LoopShape, model: str = "") -> Loop:
    """The loop for a shape, compiled at its first use in this process; the 64 last used are kept.

    `model` is LLVM text that defines the generated functions, to be linked with the loop instead of called by
    address; where nothing is optimised, calls cost less than compiling the functions once more.
    """
    return _kept(shape, "" if quick() else model, chosen())


@lru_cache(maxsize=64)
def _kept(shape: LoopShape, model: str, chosen: tuple[str, ...]) -> Loop:
    return Loop(shape, model)
