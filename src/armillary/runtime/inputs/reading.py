"""Reading of the argument ``inputs=`` as signals by name.

{"road": (t, y)}                 points; y in the input's stated units
{"road": arm.Signal(t, y, …)}    points with their own units and interpolation
{"road": lambda t: …}            a function; its samples before the run are joined by a cubic spline
{"road": 0.1}                    a constant, or a text with units
{"road": series}                 a pandas Series or xarray DataArray over time
frame, dataset, "road.csv"       columns named after inputs: DataFrame, Dataset, file of separated values

`DrivenInputs` has the data in the form that compiled code reads, and the times at which they jump. The
data of an input are a block of numbers, whose layout `llvm/called_functions.py` defines. The memory of
the input holds the address of its block as a real number, which is exact since addresses are below 2⁵³.
Inputs without data are constant.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.algebra.arguments import reals, table
from armillary.algebra.units import is_quantity, magnitude_in_si, parse_unit
from armillary.errors import ParameterError, UnitsError, shown, suggestion
from armillary.llvm.called_functions import HEAD
from armillary.model.description import Description, Memory
from armillary.model.units import text_number
from armillary.runtime.inputs.signal import Signal, SignalPieces, time_scale
from armillary.runtime.models.parameters import plain_number
from armillary.settings import RunSettings
from armillary.solver.thresholds import APART
from armillary.untyped import DataTable, Given

# relative deviation up to which breaks count as evenly spaced; used only for the first guess of a search
_EVEN = 1e-9


@dataclass(frozen=True, eq=False)
class InputBlock:
    """The data of an input: a row of numbers per run, or one row for all runs."""

    breaks: np.ndarray  # times at which one polynomial ends and the next begins
    numbers: np.ndarray  # (runs or 1, HEAD + coefficients): a head, then coefficients of the polynomials

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
        """Addresses of all rows, as numbers."""
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
        """Indices of inputs in the memory."""
        return {name: i for i, (name, m) in enumerate(self.system.memories.items()) if m.input}

    @cached_property
    def blocks(self) -> dict[str, InputBlock]:
        return {name: InputBlock.of(pieces) for name, pieces in self.pieces.items()}

    def values(self, t: float, run: int = 0) -> dict[str, float]:
        """Return the values at a time, in the model's own units."""
        found = {name: pieces(t) for name, pieces in self.pieces.items()}
        return {name: float(value[run] if value.ndim else value) for name, value in found.items()}

    def at(self, t: float, memory: np.ndarray, run: int = 0) -> np.ndarray:
        """Return a copy of the memory, with the values of inputs at a time."""
        memory = memory.copy()
        for name, value in self.values(t, run).items():
            memory[self.places[name]] = value
        return memory

    def at_runs(self, t: float, memory: np.ndarray, first: int) -> np.ndarray:
        """Return a copy of the memory of several runs, with the values of inputs at a time.

        ``memory`` is a matrix (numbers × runs); its first column belongs to run ``first``.
        """
        memory = memory.copy()
        for name, pieces in self.pieces.items():
            value = pieces(t)
            memory[self.places[name]] = value[first : first + memory.shape[1]] if value.ndim else value
        return memory

    def complete(self, memory: np.ndarray) -> DrivenInputs:
        """Return these inputs, with constant data for every input without data: its value in ``memory``.

        ``memory`` is a vector, or a matrix (numbers × runs).
        """
        held = {
            name: SignalPieces(np.zeros(1), np.repeat(memory[i, ..., None, None], 2, axis=-2))
            for name, i in self.places.items()
            if name not in self.pieces
        }
        return DrivenInputs(self.system, self.signals, {**self.pieces, **held})

    def address_data(self, memory: np.ndarray, first: int = 0) -> np.ndarray:
        """Return the memory with addresses of data instead of values of inputs.

        ``memory`` is a vector, or a matrix (numbers × runs) whose first column belongs to run ``first``.
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
        """Return the times at which some input jumps, and the times at which some input has a kink."""
        pieces = self.pieces.values()
        found = [[p.jumps() for p in pieces], [p.derivative().jumps() for p in pieces]]
        jumps, bends = (np.unique(np.concatenate([np.empty(0), *times])) for times in found)
        return jumps, bends

    def stops(self, t0: float, t_end: float, adaptive: bool) -> np.ndarray | None:
        """Return the times after ``t0``, up to ``t_end``, at which steps must end; None if there are none.

        Steps must end where an input jumps. Steps of adaptive methods must also end at kinks, since the order
        of a method holds only between kinks.
        """
        jumps, bends = self.breaks()
        near = APART * max(abs(t0), abs(t_end))
        times = np.union1d(jumps, bends[bends < t_end - near]) if adaptive else jumps
        times = times[(times > t0 + near) & (times <= t_end + near)]
        times = np.minimum(times[np.diff(times, prepend=-np.inf) > near], t_end)
        return times if len(times) else None


def driven_inputs(system: Description, signals: Mapping[str, Signal]) -> DrivenInputs:
    """Return signals in the model's own units; add the derivatives of inputs whose rates the model uses."""

    pieces: dict[str, SignalPieces] = {}
    for name, memory in system.memories.items():
        if name in signals:
            signal = signals[name]
            pieces[name] = signal.pieces(memory.interpolation).scaled(factor(system, memory, signal))
        elif memory.rate_of in pieces:
            pieces[name] = pieces[memory.rate_of].derivative()
    return DrivenInputs(system, signals, pieces)


_TIMES = ("t", "time")  # names of columns that hold the time
_INTERVALS = 10_000  # least number of intervals into which a run is divided to sample a function


def read_inputs(system: Description, inputs: object, settings: RunSettings) -> dict[str, Signal]:
    """Return the signals by the names of inputs; raise an error for an unknown input or an invalid signal."""
    known = [name for name, m in system.memories.items() if m.input]
    if not known:
        raise ParameterError(
            f"'{system.name}' has no inputs that inputs= could drive; declare one with s.input(name, …)"
        )
    found: dict[str, Signal] = {}
    for name, value in _by_name(inputs, known).items():
        if name not in known:
            raise ParameterError(f"inputs=: there is no input '{name}'{_hint(system, name, known)}")
        found[name] = _signal(system, name, value, settings)
    return found


def _hint(system: Description, name: str, known: list[str]) -> str:
    if name in system.parameters:
        return "; it is a parameter, which is constant in a run: declare an input with s.input instead"
    if name in system.memories:
        return "; it is a memory, which the model itself updates"
    return suggestion(name, known)


def factor(system: Description, memory: Memory, signal: Signal) -> float:
    """Return the factor from a signal's units to the model's units."""
    if signal.units is None:
        return memory.factor
    unit, wanted = parse_unit(signal.units), memory.symbol.dimension
    if wanted is not None and unit.dimension is not wanted:
        raise UnitsError(
            f"input '{memory.symbol}' has dimension [{wanted}], but its data are in {signal.units}, "
            f"[{unit.dimension}]"
        )
    return system.units.factor(unit)


# ------------------------------------------------------------------------------------------- all inputs


def _by_name(inputs: Given, known: list[str]) -> DataTable:
    """Return data by the names of inputs, from a file, a Dataset, a data frame or a mapping."""
    if isinstance(inputs, str | os.PathLike):
        return _file(inputs, known)
    if hasattr(inputs, "data_vars"):  # an xarray Dataset
        return {str(name): inputs[name] for name in inputs.data_vars}
    if hasattr(inputs, "columns") and hasattr(inputs, "index"):  # a pandas DataFrame
        return _frame(inputs)
    return table(inputs, "inputs=", ParameterError)


def _file(path: Given, known: list[str]) -> DataTable:
    """Return the columns of a file that are named after inputs.

    The time is the column called t or time, else the first column.
    """
    from armillary.algebra.tables import read_columns

    columns = read_columns(path)
    time = next((h for h in columns.headings if h in _TIMES), 1)
    named = [h for h in columns.headings if h in known]
    if not named:
        there = ", ".join(repr(h) for h in columns.headings if h) or "no headings"
        raise ParameterError(
            f"file '{columns.path}' has no column named after an input ({', '.join(known)}): it has {there}"
        )
    return {name: Signal.from_csv(path, time, name) for name in named}


def _frame(frame: Given) -> DataTable:
    """Return the columns of a data frame over its column "t" or "time", or over its index."""
    time = next((name for name in _TIMES if name in frame.columns), None)
    t = frame.index if time is None else frame[time]
    return {str(name): (np.asarray(t), frame[name].to_numpy()) for name in frame.columns if name != time}


# -------------------------------------------------------------------------------------------- one input


def _signal(system: Description, name: str, value: Given, settings: RunSettings) -> Signal:
    """Return the signal of one input from a value of any accepted kind."""
    memory = system.memories[name]
    if isinstance(value, Signal):
        return value
    if isinstance(value, tuple | list) and len(value) == 2 and np.ndim(value[0]) == 1:
        return _points(system, name, memory, *value)
    if callable(value) and not hasattr(value, "coords"):  # a DataArray of xarray is callable, too
        return _sample_function(name, value, settings)
    if hasattr(value, "coords") and hasattr(value, "dims"):  # an xarray DataArray
        return _data_array(name, value)
    if hasattr(value, "index") and hasattr(value, "to_numpy"):  # a pandas Series
        return Signal(np.asarray(value.index), value.to_numpy(), name=name)
    if isinstance(value, str | os.PathLike) and str(value).lower().endswith((".csv", ".txt", ".tsv")):
        return Signal.from_csv(value)
    where = f"input '{name}'"
    if isinstance(value, str):
        units = memory.symbol.data.units or ""
        return _constant(text_number(value, where, units, system.units, memory.symbol.dimension), name)
    if is_quantity(value) or (not isinstance(value, tuple | list) and np.ndim(value) == 0):
        try:
            number = plain_number(value, where, system.units, memory.symbol.dimension)
        except ParameterError:
            raise ParameterError(_advice(name, value)) from None
        return _constant(number / memory.factor if is_quantity(value) else number, name)
    raise ParameterError(_advice(name, value))


def _advice(name: str, value: object) -> str:
    return (
        f"input '{name}' needs data over time: points (t, y), an arm.Signal, a function of time, a pandas "
        f"Series, an xarray DataArray, a file or a number, not {shown(value)}"
    )


def _constant(number: float, name: str) -> Signal:
    return Signal([0.0], [number], name=name)


def _points(system: Description, name: str, memory: Memory, t: object, y: object) -> Signal:
    """Return the signal through points; quantities are converted to the units of the input."""
    if is_quantity(t):
        t = magnitude_in_si(t)[0]
    if is_quantity(y):
        y, dimension = magnitude_in_si(y)
        wanted = memory.symbol.dimension
        if wanted is not None and dimension is not wanted:
            raise UnitsError(f"input '{name}' has dimension [{wanted}], but its data have [{dimension}]")
        y = np.asarray(y) / system.units.scale(dimension) / memory.factor
    return Signal(t, y, name=name)


def _sample_function(name: str, function: Given, settings: RunSettings) -> Signal:
    """Return samples of a function of time over the whole run."""
    length = settings.t_end - settings.t0
    if length <= 0.0:
        return _constant(float(reals(function(settings.t0), f"input '{name}'", ParameterError)), name)
    every = length / _INTERVALS
    if settings.step is not None and length / settings.step < 1e6:
        # Runge–Kutta methods with fixed steps evaluate inputs at the ends and in the middle of steps.
        every = min(every, settings.step / 2)
    return Signal.sampled(function, settings.t_end, every=every, t0=settings.t0)


def _data_array(name: str, array: Given) -> Signal:
    """Return a signal over the dimension "t" or "time", else over the last dimension.

    A second dimension numbers the runs.
    """
    dims = [str(d) for d in array.dims]
    time = next((d for d in dims if d in _TIMES), dims[-1] if dims else "")
    if not dims or len(dims) > 2 or time not in array.coords:
        raise ParameterError(
            f"input '{name}': a DataArray needs a coordinate of time and at most one further dimension; "
            f"its dimensions are {dims}"
        )
    moved = array.transpose(..., time)
    scale = time_scale(str(array.coords[time].attrs.get("units", "")), f"the time of input '{name}'")
    return Signal(
        scale * np.asarray(array.coords[time].values, dtype=float),
        moved.values,
        units=array.attrs.get("units") or None,
        name=name,
    )
