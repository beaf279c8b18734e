"""Initial values that satisfy the constraints of a model, from rough or incomplete ones.

Values that a user names are kept; the compiled functions of solver/assembly.py compute the others. This file
fills the records of these functions and raises errors if loops stay open.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.expression import Expr
from armillary.errors import ArmillaryError, ParameterError, outside
from armillary.mechanics.constraints.loop_motion import gap_text, movable_speeds, redundant_text
from armillary.program.equations import DerivedEquations
from armillary.runtime.addresses import address
from armillary.runtime.start.initial import Place
from armillary.solver.language.language import CLOSED, CONTRADICTED, NOT_REDUNDANT
from armillary.solver.llvm.closing_code import loop_code
from armillary.solver.llvm.closing_layout import FIELDS, TABLES, VECTORS

if TYPE_CHECKING:
    from armillary.runtime.models.instance import Instance

_NOTHING = np.zeros(1)
_MOVED = 1e-6  # larger changes of a named coordinate are noted in the run
_TIME, _STATUS, _PATIENCE, _AGREEING = (FIELDS[k] for k in ("t", "status", "patience", "agreeing"))
# Largest numbers of evaluations of the geometry: _FEW take 1 to 2 ms, after which the work continues in a
# thread so that Ctrl-C takes effect; _ALL is never reached.
_FEW, _ALL = 1000, 1 << 60
_GEOMETRY, _CONSTANTS, _MEMORY, _SCALES = (FIELDS[k] for k in ("geometry", "constants", "memory", "scales"))


_WARNED_OF: ContextVar[set[str] | None] = ContextVar("warned of", default=None)


@contextmanager
def warned_once() -> Iterator[None]:
    """Give each warning about starts only once for all runs inside."""
    token = _WARNED_OF.set(set())
    try:
        yield
    finally:
        _WARNED_OF.reset(token)


class ConstraintSizes:
    """Sizes of speeds and of rows of constraints, for one set of constants or for many."""

    def __init__(self, equations: DerivedEquations) -> None:
        program, layout = equations.program, equations.reduction.layout
        assert layout is not None
        self._place = {s: i for i, s in enumerate(program.constants)}
        self._speeds, self._rows = (
            self._split_sizes(program.speed_sizes),
            self._split_sizes(program.row_sizes),
        )
        self._layout = layout

    def _split_sizes(self, sizes: Sequence[Expr]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the sizes (0 for constants of the program), the indices of those constants among the sizes,
        and their indices among the constants.
        """
        numbers = np.array([0.0 if s in self._place else float(s.data) for s in sizes])
        own = [i for i, s in enumerate(sizes) if s in self._place]
        return numbers, np.array(own, dtype=int), np.array([self._place[sizes[i]] for i in own], dtype=int)

    def __call__(self, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes of speeds and of rows; for several rows of constants, a row of sizes for each."""
        speeds, rows = (self._with(constants, *sizes) for sizes in (self._speeds, self._rows))
        return speeds, rows

    @staticmethod
    def _with(constants: np.ndarray, numbers: np.ndarray, own: np.ndarray, places: np.ndarray) -> np.ndarray:
        found = np.empty((*constants.shape[:-1], len(numbers)))
        found[...] = numbers
        if own.size:
            found[..., own] = constants[..., places]
        return found

    def scales(self, constants: np.ndarray) -> np.ndarray:
        """Return the factors of all numbers of the geometry, then the sizes of speeds, rows and gaps."""
        speeds, rows = self(constants)
        parts = (self._layout.sized(speeds, rows), speeds, rows[..., list(self._layout.gaps)])
        return np.concatenate(parts, axis=-1)


class LoopStart:
    """The loops of one system, to be closed at the start of its runs."""

    def __init__(self, equations: DerivedEquations) -> None:
        reduction, program = equations.reduction, equations.program
        layout = reduction.layout
        if layout is None:
            raise ArmillaryError(f"'{equations.system.name}' has no loops to close: it has no constraints")
        self.equations, self.sizes = equations, ConstraintSizes(equations)
        self._coordinates = list(equations.coordinates)
        self._speeds = [u.data.name for u in equations.system.speeds]
        independent, started = {*equations.speeds}, {*equations.system.started}
        self._dependent = [name for name in self._speeds if name not in independent]
        self._started = [i for i, u in enumerate(equations.system.speeds) if u in started]
        self.gaps = layout.gaps
        n, m, gaps = layout.coordinates, layout.speeds, len(layout.gaps)
        self.rows = [*layout.gaps, *(i for i in range(layout.rows) if i not in set(layout.gaps))]
        sides = max(gaps + n, layout.rows)
        tables, begin = self._tables()
        scaled = len(program.geometry.results)
        sizes = {
            "N_COORDINATES": n, "N_SPEEDS": m, "N_GAPS": gaps, "N_ROWS": layout.rows,
            "N_ELEMENTS": len(layout.jacobian), "N_RATES": len(layout.rates),
            "N_UNITS": len(layout.quaternions),
            "N_JACOBIAN": layout.rows * m, "N_RATE_PLACES": n * m,
            "AT_JACOBIAN": gaps + layout.rows, "AT_RATES": gaps + layout.rows + len(layout.jacobian),
            "AT_SIZES": scaled, "scaled": scaled, "figures": scaled + gaps, "sides": sides,
            "redundant": int(bool(reduction.elimination.redundant)), "patience": _ALL,
            "agreeing": 1,
        }  # fmt: skip
        rooms = {
            "Places": len(program.state), "PlaceFlags": n, "Speeds": m, "SpeedFlags": m,
            "Figures": scaled + gaps, "Jacobian": layout.rows * m, "Rates": n * m, "RowReals": layout.rows,
            "Steps": m, "StepNumbers": m, "Sides": sides, "Equations": sides * (m + 1), "Square": m * m,
        }  # fmt: skip
        record = np.zeros(len(FIELDS), dtype=np.int64)
        for name, value in (sizes | begin).items():
            record[FIELDS[name]] = value
        end = 0
        for name, kind in VECTORS.items():
            record[FIELDS[name]] = end
            end += rooms[kind]
        record[FIELDS["tables"]] = tables.ctypes.data
        self.record, self.room, self._kept = record, end, tables
        self._last: tuple[np.ndarray | None, tuple[np.ndarray, int, int]] = None, (_NOTHING, 0, 0)
        self._free: list[Bench] = []
        # names and flags of the last start
        self._flags: tuple[Collection[str], np.ndarray] = (), np.zeros(n + m)

    def _tables(self) -> tuple[np.ndarray, dict[str, int]]:
        """Return all tables in one array, and the index at which each begins."""
        reduction, layout = self.equations.reduction, self.equations.reduction.layout
        assert layout is not None
        place = {row: i for i, row in enumerate(self.rows)}
        still = np.zeros(layout.speeds, dtype=bool)
        first, others = movable_speeds(layout, reduction, still, positions=True)
        first_speeds, other_speeds = movable_speeds(layout, reduction, still)
        values: dict[str, Sequence[float] | np.ndarray] = {
            "ELEMENT_ROW": [place[i] for i, _ in layout.jacobian],
            "ELEMENT_SPEED": [j for _, j in layout.jacobian],
            "RATE_PLACE": [i for i, _ in layout.rates],
            "RATE_SPEED": [j for _, j in layout.rates],
            "UNIT_FROM": layout.quaternions,
            "KNOWN_OF": [len(layout.gaps) + i for i in self.rows],
            "DEPENDENT": first,
            "HOLDING": others,
            "DEPENDENT_SPEED": first_speeds,
            "HOLDING_SPEED": other_speeds,
            "IS_KEPT": [reduction.rows[i] in reduction.elimination.kept for i in self.rows],
        }
        begin, end = {}, 0
        for name in TABLES:
            begin[name], end = end, end + len(values[name])
        parts = [np.asarray(values[name], dtype=float) for name in TABLES]
        return np.concatenate([*parts, _NOTHING]), begin

    # ------------------------------------------------------------ starts

    def flags(self, named: Collection[str]) -> np.ndarray:
        """Return 1 for coordinates and speeds that are named, 0 for others."""
        known, found = self._flags
        if known is not named and known != named:
            found = np.array([name in named for name in (*self._coordinates, *self._speeds)], dtype=float)
            self._flags = frozenset(named), found
        return found

    def numbers(self, constants: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Return `ConstraintSizes.scales` of constants, and the addresses of both arrays; keep the last
        result for the next call.
        """
        known, found = self._last
        if known is not constants:
            scales = self.sizes.scales(constants)
            found = scales, constants.ctypes.data, scales.ctypes.data
            self._last = constants, found
        return found

    def close_many(
        self,
        geometry: int,
        constants: np.ndarray,
        t: float,
        q: np.ndarray,
        u: np.ndarray,
        memory: np.ndarray,
        flags: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Close loops and correct speeds so that constraints hold, in place and row by row.

        Return the status of each start, and its remaining gaps or violated constraints on speeds if it
        failed. ``geometry`` is the address of the section; constants, coordinates, speeds and memory have a
        row per start.
        """
        count = len(q)
        records = np.empty((count, len(self.record)), dtype=np.int64)
        records[:] = self.record
        records.view(float)[:, FIELDS["t"]] = t
        records[:, FIELDS["geometry"]] = geometry
        records[:, FIELDS["flags"]] = flags.ctypes.data
        left = np.zeros((count, len(self.rows)))
        places = {"constants": constants, "scales": self.sizes.scales(constants), "q": q, "u": u}
        places |= {"left_over": left, "memory": memory if memory.size else np.zeros((count, 1))}
        for name, array in places.items():
            records[:, FIELDS[name]] = array.ctypes.data + array.strides[0] * np.arange(count)
        workspace = np.zeros(self.room)
        loop_code().close(records.ctypes.data, workspace.ctypes.data, count, len(self.record))
        return records[:, FIELDS["status"]], left

    def problem(
        self, status: int, left: np.ndarray, named: Collection[str], rows: np.ndarray, at_event: bool = False
    ) -> str:
        """Return why closing the loops failed, at a start or after an event that set values.

        ``left`` are the remaining gaps or residuals, and ``rows`` the sizes of rows.
        """
        reduction = self.equations.reduction
        if status == NOT_REDUNDANT:
            return redundant_text(reduction)
        if status == CONTRADICTED:
            residual = np.empty(len(self.rows))
            residual[self.rows] = left
            residual *= rows
            worst = int(np.argmax(np.abs(residual)))
            constraint = reduction.rows[worst].constraint
            given = [name for name in self._speeds if name in named]
            which, verb = ("new", "set") if at_event else ("initial", "name")
            return (
                f"the {which} speeds {', '.join(given)} contradict constraint "
                f"'{constraint.name}' ({constraint.about}), whose residual is {residual[worst]:.6g}; "
                f"{verb} fewer of them"
            )
        lines = []
        for i, value in zip(self.gaps, left, strict=False):
            if value != 0.0:
                before, after = gap_text(reduction, i)
                lines.append(f"\n  {before}{value:.6g}{after}")
        given = [name for name in self._coordinates if name in named]
        held = f" with {', '.join(given)} as given" if given else ""
        remedy = "set other values" if at_event else "give other initial coordinates to start from"
        return (
            f"the loops cannot be closed{held}; the smallest gaps found are{''.join(lines)}\n"
            f"change the parameters that set them, or {remedy}"
        )

    def close_loops(
        self, instance: Instance, place: Place, named: Collection[str], at_event: bool = False
    ) -> Place:
        """Return a place with closed loops and speeds that satisfy constraints.

        Values that are ``named`` stay; they are values set by events if ``at_event``.
        """
        bench = self.bench(instance, place.t, place.memory)
        note = self.close(bench, instance, place.q, place.u, named, at_event=at_event)
        q, u = bench.q.copy(), bench.u.copy()
        self._free.append(bench)
        return Place(place.t, q, u, place.memory, place.states, note, place.along, holds=True)

    def leave_independent(self, named: Collection[str]) -> bool:
        """Return whether all independent speeds keep their values, without a note, when loops are closed from
        a start with ``named`` values. The independent speeds must determine the others.
        """
        redundant, dependent = self.equations.reduction.elimination.redundant, self._dependent
        return not (redundant or (self._started and not named) or any(name in named for name in dependent))

    def close(
        self,
        bench: Bench,
        instance: Instance,
        q: np.ndarray,
        u: np.ndarray,
        named: Collection[str],
        agreeing: bool = True,
        at_event: bool = False,
    ) -> str:
        """Close the loops in the workspace ``bench`` from the values of a start.

        Return a note on named values that were changed. If ``agreeing``, speeds are changed to satisfy the
        constraints, too.
        """
        status = bench.close(q, u, self.flags(named), agreeing)
        if status != CLOSED:
            _, rows = self.sizes(instance.constants)
            raise ParameterError(self.problem(status, bench.left, named, rows, at_event))
        if self._started and not named:
            return self._changed_starts(u, bench.u)
        if not named or bench.q.tobytes() == q.tobytes():
            return ""
        guessed = [
            f"{name} from {before:.6g} to {after:.6g}"
            for name, before, after in zip(self._coordinates, q.tolist(), bench.q.tolist(), strict=True)
            if abs(after - before) > _MOVED and name in named
        ]
        return f"loops closed by moving {', '.join(guessed)}" if guessed else ""

    def _changed_starts(self, described: np.ndarray, found: np.ndarray) -> str:
        """Return a note on values of `s.start` for dependent speeds that other speeds contradict; warn of
        these values. A run that names such a speed in initial= keeps its value and computes the others.
        """
        least = _MOVED * max(1.0, float(np.max(np.abs(described))))
        changed = [
            f"{self._speeds[i]} from {described[i]:.6g} to {found[i]:.6g}"
            for i in self._started
            if abs(found[i] - described[i]) > least
        ]
        if not changed:
            return ""
        note = f"speeds made to agree with the constraints by changing {', '.join(changed)}"
        remedy = "they depend on other speeds: start the others, or give these alone in initial= of the run"
        given = _WARNED_OF.get()
        if given is None or note not in given:
            text = f"s.start of '{self.equations.system.name}': {note}; {remedy}"
            warnings.warn(text, stacklevel=outside())
        if given is not None:
            given.add(note)
        return note

    def hold(self, instance: Instance, place: Place) -> bool:
        """Return whether all constraints hold at a place."""
        bench = self.bench(instance, place.t, place.memory)
        found = bench.check(place.t, place.q, place.u)
        self._free.append(bench)
        return found

    def bench(self, instance: Instance, t: float, memory: np.ndarray) -> Bench:
        """Return a record and workspace that no other thread uses, set for an instance, time and memory."""
        try:
            bench = self._free.pop()
        except IndexError:  # all are in use by other threads
            bench = Bench(self)
        bench.set(instance.model.address("geometry"), self.numbers(instance.constants), t, memory)
        return bench


class Bench:
    """A record and workspace in which loops are closed, for one start at a time."""

    def __init__(self, loops: LoopStart) -> None:
        n, m = int(loops.record[FIELDS["N_COORDINATES"]]), int(loops.record[FIELDS["N_SPEEDS"]])
        self.q, self.u, self.flags = np.zeros(max(n, 1))[:n], np.zeros(max(m, 1))[:m], np.zeros(n + m)
        self.left, self._workspace = np.zeros(len(loops.rows)), np.zeros(loops.room)
        self._given: np.ndarray | None = None  # the array of which ``flags`` is a copy
        self._record = loops.record.copy()
        self._reals, self._length = self._record.view(float), len(self._record)
        for name, array in (("q", self.q), ("u", self.u), ("flags", self.flags), ("left_over", self.left)):
            self._record[FIELDS[name]] = array.ctypes.data
        self._places = self._record.ctypes.data, self._workspace.ctypes.data
        self._code = loop_code()

    def set(self, geometry: int, numbers: tuple[np.ndarray, int, int], t: float, memory: np.ndarray) -> None:
        """Set all data of the loops except coordinates and speeds."""
        record = self._record
        self._kept = numbers, memory  # kept while their addresses are in use
        self._t = t
        _, record[_CONSTANTS], record[_SCALES] = numbers
        record[_GEOMETRY], record[_MEMORY] = geometry, address(memory)

    def close(self, q: np.ndarray, u: np.ndarray, flags: np.ndarray, agreeing: bool) -> int:
        """Close the loops; return CLOSED or the reason of failure."""
        record = self._record
        self.q[:], self.u[:] = q, u
        if flags is not self._given:
            self.flags[:], self._given = flags, flags
        self._reals[_TIME], record[_PATIENCE], record[_AGREEING] = self._t, _FEW, agreeing
        self._code.close(*self._places, 1, self._length)
        if record[_PATIENCE] < 0:
            self.q[:], self.u[:], record[_PATIENCE] = q, u, _ALL
            self._close_patiently()
        return int(record[_STATUS])

    def _close_patiently(self) -> None:
        """Close the loops from the beginning in a thread, so that Ctrl-C takes effect meanwhile."""
        work = threading.Thread(target=self._code.close, args=(*self._places, 1, self._length))
        work.start()
        try:
            while work.is_alive():
                work.join(0.05)
        except BaseException:
            self._record[_PATIENCE] = 0
            work.join()
            raise

    def check(self, t: float, q: np.ndarray, u: np.ndarray) -> bool:
        """Return whether all constraints hold at a place."""
        record = self._record
        self.q[:], self.u[:] = q, u
        self._reals[_TIME], record[_PATIENCE] = t, _FEW
        self._code.check(*self._places)
        return bool(record[_STATUS] == CLOSED)
