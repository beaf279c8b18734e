"""The data of a run's inputs as compiled code reads them, and the times at which they jump.

`llvm/called_functions.py` defines the layout of a block. The memory of every input holds the address of its
block, as a number: addresses are below 2⁵³. Inputs without data are constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.llvm.called_functions import HEAD
from armillary.model.description import Description
from armillary.runtime.inputs.signal import Signal, SignalPieces

_EVEN = 1e-9  # by which breaks may differ from even spacing, relative to it: they are looked at anyway
APART = 64 * 2.0**-52  # stops closer than this, relative to the time, are one


@dataclass(frozen=True, eq=False)
class InputBlock:
    """Numbers at one address per run, or at one address for all."""

    breaks: np.ndarray
    numbers: np.ndarray  # (runs or 1, HEAD + coefficients)

    @classmethod
    def of(cls, pieces: SignalPieces) -> InputBlock:
        breaks = np.ascontiguousarray(pieces.breaks)
        c = pieces.coefficients
        rows = c.reshape(-1, c.shape[-2] * c.shape[-1])
        spacing = (breaks[-1] - breaks[0]) / max(len(breaks) - 1, 1)
        even = len(breaks) > 1 and np.allclose(np.diff(breaks), spacing, rtol=0.0, atol=_EVEN * spacing)
        head = [float(breaks.ctypes.data), len(breaks), 1.0 / spacing if even else 0.0, c.shape[-1]]
        numbers = np.empty((len(rows), HEAD + rows.shape[1]))
        numbers[:, :HEAD], numbers[:, HEAD:] = head, rows
        return cls(breaks, numbers)

    @cached_property
    def addresses(self) -> np.ndarray:
        """Of all runs, as numbers."""
        first, stride = self.numbers.ctypes.data, self.numbers.strides[0]
        return float(first) + stride * np.arange(len(self.numbers), dtype=float)


@dataclass(frozen=True, eq=False)
class DrivenInputs:
    """Inputs of a model over time, by name: the given signals, and their pieces in the model's own units."""

    system: Description
    signals: Mapping[str, Signal]
    pieces: Mapping[str, SignalPieces]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where inputs are in the memory."""
        return {name: i for i, (name, m) in enumerate(self.system.memories.items()) if m.input}

    @cached_property
    def blocks(self) -> dict[str, InputBlock]:
        return {name: InputBlock.of(pieces) for name, pieces in self.pieces.items()}

    def values(self, t: float, run: int = 0) -> dict[str, float]:
        """Values at a time, in the model's own units."""
        found = {name: pieces(t) for name, pieces in self.pieces.items()}
        return {name: float(value[run] if value.ndim else value) for name, value in found.items()}

    def at(self, t: float, memory: np.ndarray, run: int = 0) -> np.ndarray:
        """Memory with the values at a time."""
        memory = memory.copy()
        for name, value in self.values(t, run).items():
            memory[self.places[name]] = value
        return memory

    def at_runs(self, t: float, memory: np.ndarray, first: int) -> np.ndarray:
        """Memory (numbers × runs from the ``first`` on) with the values at a time."""
        memory = memory.copy()
        for name, pieces in self.pieces.items():
            value = pieces(t)
            memory[self.places[name]] = value[first : first + memory.shape[1]] if value.ndim else value
        return memory

    def complete(self, memory: np.ndarray) -> DrivenInputs:
        """Return these inputs, with each input without data held at its value in a memory (numbers, or
        numbers × runs).
        """
        held = {
            name: SignalPieces(np.zeros(1), np.repeat(memory[i, ..., None, None], 2, axis=-2))
            for name, i in self.places.items()
            if name not in self.pieces
        }
        return DrivenInputs(self.system, self.signals, {**self.pieces, **held})

    def address_data(self, memory: np.ndarray, first: int = 0) -> np.ndarray:
        """Memory (numbers, or numbers × runs from the ``first`` on) with the addresses of data in place of
        the values of inputs.
        """
        memory = memory.copy()
        for name, i in self.places.items():
            found = self.blocks[name].addresses
            if len(found) > 1:
                found = found[first : first + (memory.shape[1] if memory.ndim == 2 else 1)]
            memory[i] = found if memory.ndim == 2 else found[0]
        return memory

    def of_run(self, i: int) -> dict[str, Signal]:
        """Return the signals of one run."""
        return {name: signal.of_run(i) for name, signal in self.signals.items()}

    def breaks(self) -> tuple[np.ndarray, np.ndarray]:
        """Times at which some input jumps, and those at which one has a kink."""
        pieces = self.pieces.values()
        found = [[p.jumps() for p in pieces], [p.derivative().jumps() for p in pieces]]
        jumps, bends = (np.unique(np.concatenate([np.empty(0), *times])) for times in found)
        return jumps, bends

    def stops(self, t0: float, t_end: float, adaptive: bool) -> np.ndarray | None:
        """Return the times after ``t0``, up to ``t_end``, at which some input jumps; for adaptive methods
        also the times of kinks, since their orders hold only between such times. Return `None` if there are
        none.
        """
        jumps, bends = self.breaks()
        near = APART * max(abs(t0), abs(t_end))
        times = np.union1d(jumps, bends[bends < t_end - near]) if adaptive else jumps
        times = times[(times > t0 + near) & (times <= t_end + near)]
        times = np.minimum(times[np.diff(times, prepend=-np.inf) > near], t_end)
        return times if len(times) else None


def driven_inputs(system: Description, signals: Mapping[str, Signal]) -> DrivenInputs:
    """Signals in the model's own units, with the rates of inputs that the model uses."""
    from armillary.runtime.inputs.reading import factor

    pieces: dict[str, SignalPieces] = {}
    for name, memory in system.memories.items():
        if name in signals:
            signal = signals[name]
            pieces[name] = signal.pieces(memory.interpolation).scaled(factor(system, memory, signal))
        elif memory.rate_of in pieces:
            pieces[name] = pieces[memory.rate_of].derivative()
    return DrivenInputs(system, signals, pieces)
