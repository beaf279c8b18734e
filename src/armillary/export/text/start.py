"""The start of a run in exported code, from the given values, and its inputs over time.

    momenta          computed from coordinates and speeds, whose values are given
    mass centres     coordinates and speeds of joints that ``start_mass_centre`` determines
    memory           elements whose first value is the value of an expression
    contacts         statuses of contacts without compliance, and an impact if bodies meet at the start

The start is a function of time, given values in the order of the state, parameters and memory. It takes
parameters, not constants: it is called once, and its constants are not needed afterwards.

Inputs over time become lookup tables of the time, whose data are in the code; every language has lookup
tables. The solvers of exported programs end a step where data jump, and adaptive methods also where data
bend, as in the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import table
from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.tables import Piecewise
from armillary.algebra.walk import symbols, transform
from armillary.errors import ParameterError
from armillary.export.text.body import Place
from armillary.export.text.printer import one_line
from armillary.mechanics.constraints.loop_closing import Geometry
from armillary.mechanics.constraints.loop_motion import gap_text, movable_speeds, redundant_text
from armillary.mechanics.massless import places, tree_masses
from armillary.mechanics.tree.mass_matrix import mass_matrix
from armillary.model.description import UNDECIDED
from armillary.model.space.orbit import mass_centre_starts
from armillary.program.equations import DerivedEquations
from armillary.program.program import ProgramSection, section
from armillary.program.targets.contact_targets import decision_event
from armillary.runtime.inputs.reading import DrivenInputs, driven_inputs, read_inputs
from armillary.runtime.inputs.signal import Signal, SignalPieces
from armillary.runtime.models.failures import REMEDY, SINGULAR_THERE
from armillary.runtime.models.parameters import name_parameters, physical_quantities
from armillary.settings import RunSettings
from armillary.solver.language.translator import Solver, read_assembly
from armillary.solver.thresholds import APART
from armillary.untyped import DataTable


@dataclass(frozen=True)
class StartSource:
    """Memory and state at the start, from given memory and state."""

    section: ProgramSection  # memory, then state
    places: Mapping[Expr, Place]  # of symbols that the section reads
    placed: Mapping[int, str]  # indices of states that the mass centre of a body determines, with the body


def start_source(equations: DerivedEquations) -> StartSource | None:
    """Return the start of a system; `None` if it begins with the given values."""
    system, program, targets = equations.system, equations.program, equations.targets
    conversion = equations.conversion
    plain = equations.reduction.given_converter() if conversion else equations.reduction.plain
    known: dict[Expr, Expr] = {}
    bodies: dict[Expr, str] = {}
    for start in mass_centre_starts(system):
        symbols = [plain(s) for s in (*start.coordinates, *start.speeds)]
        values = [plain(as_expr(x)) for x in (*start.places, *start.rates)]
        known |= dict(zip(symbols, values, strict=True))
        bodies |= dict.fromkeys(symbols, start.body.name)
    memories = list(system.memories.values())
    memory: list[Expr] = list(program.memory)
    for i, m in enumerate(memories):
        if m.start is not None:
            value = transform([plain(m.start)], known.get)[0]
            memory[i] = fn.select(fn.equal(memory[i], m.initial), value, memory[i])
    given: list[Expr] = list(program.state)
    count = len(targets.coordinates)
    state = [known.get(s, s) for s in given]
    if conversion:
        given[count : count + len(targets.speeds)] = targets.inputs
        state[count : count + len(conversion)] = transform(conversion, known.get)
    if system.contacts:
        memory, state = _decide_statuses(equations, memory, state)
    elif not (conversion or known or any(m.start is not None for m in memories)):
        return None
    places: dict[Expr, Place] = {program.time: ("", 0)}
    places |= {s: ("parameters", i) for i, s in enumerate(program.parameters)}
    places |= {s: ("state", i) for i, s in enumerate(given)}
    places |= {s: ("memory", i) for i, s in enumerate(program.memory)}
    labels = [s.data.name for s in (*program.memory, *program.state)]
    return StartSource(
        section("start", labels, [*memory, *state], constant=True),
        places,
        {i: bodies[s] for i, s in enumerate(given) if s in bodies},
    )


def _decide_statuses(
    equations: DerivedEquations, memory: list[Expr], state: list[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """Return memory and state with decided statuses of contacts; given statuses stay if all are given."""
    system, targets = equations.system, equations.targets
    statuses = [equations.reduction.plain(c.status) for c in system.contacts.values()]
    program = equations.program
    now = dict(zip((*program.memory, *program.state), (*memory, *state), strict=True))
    undecided = reduce(fn.or_, [fn.equal(now[status], UNDECIDED) for status in statuses])
    event = next(k for k, e in enumerate(targets.watched) if e.name == decision_event(system))
    after = transform(targets.fires[event], now.get)
    found = [fn.select(undecided, x, y) for x, y in zip(after, (*memory, *state), strict=True)]
    return found[: len(memory)], found[len(memory) :]


# The closing of loops before a run in exported code, as in the process.
#
# The printer of each language writes the algorithm of solver/assembly.py. Its data are here: a section with
# gaps Φ, elements of J and elements of N, for gaps and motions relative to their sizes
# (mechanics/constraints/sizes.py), and the sizes of gaps; the row and column of each element; the speeds that
# may move in each attempt; and the texts of errors.


def loop_name(name: str) -> str:
    """Return the name of a size of loop closing, distinct from the size for changes of configuration."""
    return name.replace("N_", "LOOP_", 1) if name.startswith("N_") else name


@dataclass(frozen=True)
class AssemblySource:
    """Loops to close; rows with a gap come first, then rows that only show redundancy."""

    section: ProgramSection  # gaps, elements of J, elements of N, sizes of gaps
    gaps: tuple[tuple[str, str], ...]  # words of the error before and after the remaining gap
    rows: int  # number of rows
    coordinates: tuple[str, ...]
    speeds: int  # number of speeds
    jacobian: tuple[tuple[int, int], ...]  # row and speed of each element
    rates: tuple[tuple[int, int], ...]  # coordinate and speed of each element
    quaternions: tuple[int, ...]  # first coordinate of each set of Euler parameters
    dependent: tuple[int, ...]  # 1 for speeds that move in the first attempt, by configuration
    holding: tuple[int, ...]  # 1 for speeds that move in the other attempts
    whole: tuple[int, ...]  # 1 for coordinates that are held if a whole state is given
    first: tuple[float, ...]  # coordinates from which the search starts
    kept: tuple[int, ...]  # 1 for rows that are not redundant
    redundant: str  # the error if rows taken as redundant are not so at the start; "" without such rows
    several: bool  # whether loops are closed again in each of several configurations

    @property
    def features(self) -> set[str]:
        """Features of the loops, which select parts of the templates of all languages."""
        found = {"redundant": self.redundant, "quaternions": self.quaternions, "several": self.several}
        return {name for name, there in found.items() if there}

    @property
    def solver(self) -> Solver:
        """The functions of the algorithm."""
        words = {"redundant": "REDUNDANT", "quaternions": "UNITS", "several": "CONFIGURATIONS"}
        features = {words[name] for name in self.features}
        return read_assembly(features, (*(["make_start_unit"] if self.quaternions else []), "close_loops"))

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by their names in the described functions."""
        n, m, gaps = len(self.coordinates), self.speeds, len(self.gaps)
        elements, rates = len(self.jacobian), len(self.rates)
        return {
            "N_COORDINATES": n, "N_SPEEDS": m, "N_GAPS": gaps, "N_ROWS": self.rows, "N_ELEMENTS": elements,
            "N_RATES": rates, "N_UNITS": len(self.quaternions), "N_JACOBIAN": self.rows * m,
            "N_RATE_PLACES": n * m, "AT_JACOBIAN": gaps, "AT_RATES": gaps + elements,
            "AT_SIZES": gaps + elements + rates,
        }  # fmt: skip

    @property
    def lengths(self) -> dict[str, int]:
        """Lengths of vectors by their kinds."""
        n, m, sides = (
            len(self.coordinates),
            self.speeds,
            max(len(self.gaps) + len(self.coordinates), self.rows),
        )
        return {
            "Places": n, "PlaceFlags": n, "SpeedFlags": m, "Speeds": m, "Figures": len(self.section.results),
            "Jacobian": self.rows * m, "Rates": n * m, "Equations": sides * (m + 1), "Sides": sides,
            "Square": m * m, "Steps": m, "StepNumbers": m,
        }  # fmt: skip

    def whole_tables(self, first: int) -> dict[str, list[int]]:
        """Return the tables of indices for a language whose indices begin with ``first``."""
        tables = {
            "ELEMENT_ROW": [i for i, _ in self.jacobian],
            "ELEMENT_SPEED": [j for _, j in self.jacobian],
            "RATE_PLACE": [i for i, _ in self.rates],
            "RATE_SPEED": [j for _, j in self.rates],
            **({"UNIT_FROM": list(self.quaternions)} if self.quaternions else {}),
        }
        return {name: [i + first for i in numbers] for name, numbers in tables.items()}

    @property
    def truth_tables(self) -> dict[str, tuple[int, ...]]:
        """Tables of truth values, as 1 and 0."""
        found = {"DEPENDENT": self.dependent, "HOLDING": self.holding}
        return found | ({"IS_KEPT": self.kept} if self.redundant else {})


def assembly(
    equations: DerivedEquations, table: Sequence[DerivedEquations] | None = None
) -> AssemblySource | None:
    """Return the data that close a system's loops; `None` if it has no loops.

    ``table``: the configurations in which loops are closed again, if the program has several.
    """
    reduction, program = equations.reduction, equations.program
    layout = reduction.layout
    if layout is None or not layout.gaps:
        return None
    rows = list(layout.gaps)
    if reduction.elimination.redundant:
        rows += [i for i in range(layout.rows) if i not in rows]
    place = {row: i for i, row in enumerate(rows)}
    results, first = program.geometry.results, len(layout.gaps) + layout.rows
    elements = list(zip(layout.jacobian, results[first:], strict=False))
    size = program.speed_sizes  # motions are relative to these
    size_of_row = program.row_sizes  # gaps are relative to these
    placed = [((place[i], j), e * (size[j] / size_of_row[i])) for (i, j), e in elements if i in place]
    rates = [
        ((i, j), e * size[j])
        for (i, j), e in zip(layout.rates, results[first + len(layout.jacobian) :], strict=True)
    ]
    labels = [f"gap {k + 1}" for k in range(len(layout.gaps))]
    labels += [f"J {i + 1}, {j + 1}" for (i, j), _ in placed] + [f"N {i + 1}, {j + 1}" for (i, j), _ in rates]
    labels += [f"size {k + 1}" for k in range(len(layout.gaps))]
    own = [size_of_row[i] for i in layout.gaps]
    gaps = [e / size for e, size in zip(results, own, strict=False)]
    wanted = [*gaps, *(e for _, e in placed), *(e for _, e in rates), *own]
    # Only the layout of this geometry is read, and its rule for Euler parameters.
    geometry = Geometry(layout, lambda t, q: np.empty(0))
    still = np.zeros(layout.speeds, dtype=bool)
    # Each configuration has its own layout, without columns of locked speeds.
    moving = [
        movable_speeds(own_layout, e.reduction, still, positions=True)
        for e in table or [equations]
        if (own_layout := e.reduction.layout) is not None
    ]
    dependent, holding = (tuple(int(m) for one in moving for m in one[turn]) for turn in range(2))
    start = {q.data.name: x for q, x in equations.system.initial.items()}
    first_place = geometry.normalised(np.array([start[name] for name in equations.coordinates], dtype=float))
    guessed = {q.data.name for q in reduction.corrections}
    return AssemblySource(
        section("geometry", labels, wanted, constant=True),  # sizes are products of constants, too
        tuple(
            (one_line(a) + " ", " " + one_line(b)) for a, b in (gap_text(reduction, i) for i in layout.gaps)
        ),
        len(rows),
        equations.coordinates,
        layout.speeds,
        tuple(p for p, _ in placed),
        tuple(p for p, _ in rates),
        layout.quaternions,
        dependent,
        holding,
        tuple(int(name not in guessed) for name in equations.coordinates),
        tuple(first_place.tolist()),
        tuple(int(reduction.rows[i] in reduction.elimination.kept) for i in rows),
        one_line(redundant_text(reduction)) if reduction.elimination.redundant else "",
        table is not None,
    )


# Pivots of the mass matrix, for exported runs that may reach a configuration with a motion without mass.
#
# A run can reach one only if some link's own inertia does not resist each freedom of the link; other systems
# have no pivots here. With M = L D Lᵀ, the outermost speeds first, the share of speed r is D_r/M_rr: the
# part of its inertia that is left if the speeds beyond it move freely. Each configuration has its own matrix,
# a function of the coordinates, which are the first states in every configuration.

_MOST = 24  # most speeds of a system for which pivots are written


@dataclass(frozen=True)
class WeakMasses:
    """The pivots as functions of time, state, parameters and memory, and the message for each."""

    section: ProgramSection  # shares
    texts: tuple[str, ...]  # the message after the words "near t = … s "
    kinds: tuple[int, ...]  # for each state of each configuration: the number of a speed's dimension, or -1
    owners: tuple[int, ...]  # the configuration of each pivot

    @property
    def kind_count(self) -> int:
        return max(self.kinds) + 1


def weak_masses(every: Sequence[DerivedEquations]) -> WeakMasses | None:
    """Return the pivots of a system, in all its configurations, that may vanish; `None` if none can."""
    found = [_pivots(equations) for equations in every]
    pivots = [(c, *pivot) for c, own in enumerate(found) for pivot in own]
    if not pivots:
        return None
    free = [{u.data.name: u.dimension for u in e.reduction.independent(e.system)} for e in every]
    known = list(dict.fromkeys(d for own in free for d in own.values()))
    most = max(len(e.program.state) for e in every)
    kinds: list[int] = []
    for equations, own in zip(every, free, strict=True):
        states = [s.data.name for s in equations.program.state]
        kinds += [known.index(own[name]) if name in own else -1 for name in states]
        kinds += [-1] * (most - len(states))
    owners, names, shares, texts = zip(*pivots, strict=True)
    labels = [f"share of {name}" for name in names]
    return WeakMasses(section("pivot_shares", labels, shares, constant=True), texts, tuple(kinds), owners)


def _pivots(equations: DerivedEquations) -> list[tuple[str, Expr, str]]:
    """Return the speeds of one configuration, the share of each, and the message."""
    system, reduction = equations.system, equations.reduction
    free = reduction.independent(system)
    unfit = not equations.described_states or system.constraints or system.flexibles
    if unfit or not 0 < len(free) <= _MOST:
        return []
    masses, plain = tree_masses(system, equations.configuration)
    if masses.own_inertia_suffices(places(system, plain)):
        return []
    matrix = mass_matrix(masses.tree)
    indices = sorted({i for pair in matrix for i in pair})
    M = {(i, j): as_expr(matrix.get((min(i, j), max(i, j)), ZERO)) for i in indices for j in indices}
    shares: list[Expr] = []
    left = dict(M)
    for r in reversed(indices):
        shares.append(left[r, r] / M[r, r])
        for i in (i for i in indices if i < r):
            for j in (j for j in indices if j < r):
                if left[i, r] is not ZERO and left[r, j] is not ZERO:
                    left[i, j] = left[i, j] - left[i, r] * left[r, j] / left[r, r]
    owners = {u: body.name for body in system.bodies.values() for u in body.speeds}
    found = []
    for r, share in zip(reversed(indices), shares, strict=True):
        u = system.speeds[r]
        text = f"speed '{u.data.name}' moves no mass (body '{owners[u]}'): {SINGULAR_THERE}; {REMEDY}"
        found.append((u.data.name, share, one_line(text)))
    return found


# Masses, moments of inertia, armatures and coefficients of contacts must not be negative; an exported run
# checks this before it begins.


@dataclass(frozen=True)
class Physical:
    """Quantities that depend on parameters, and for each the text of the error if it is negative."""

    section: ProgramSection
    texts: tuple[str, ...]


def physical(equations: DerivedEquations) -> Physical | None:
    """Return the quantities that parameters can make negative; `None` if there are none."""
    system, plain = equations.system, equations.reduction.plain
    known = [
        (f"{where}: its {what}", value)
        for where, quantities in physical_quantities(system)
        for what, value in quantities.items()
    ]
    known += [(f"the armature of '{speed}'", value) for speed, value in system.armatures.items()]
    found: dict[Expr, str] = {}  # equal expressions only once
    for words, value in known:
        node = plain(as_expr(value))
        if any(s.data.role == "parameter" for s in symbols(node)):
            found.setdefault(node, one_line(name_parameters(words, node)))
    if not found:
        return None
    texts = tuple(found.values())
    return Physical(section("physical", texts, list(found), constant=True), texts)


def with_inputs(equations: DerivedEquations, inputs: object, *, single: bool = False) -> DerivedEquations:
    """Return equations whose inputs with data are functions of the time; ``single``: in single precision."""
    system, program = equations.system, equations.program
    functions = [name for name, value in _input_tables(inputs).items() if _is_function(value)]
    if functions:
        raise ParameterError(
            f"input '{functions[0]}': an export needs points, not a function; sample it with "
            "arm.Signal.sampled(function, t_end, every=…)"
        )
    signals = read_inputs(system, inputs, RunSettings(0.0))
    for name, signal in signals.items():
        if signal.runs is not None:
            raise ParameterError(f"input '{name}' has data for {signal.runs} runs; an export takes one run")
    data = driven_inputs(system, signals)
    if single:
        data = DrivenInputs(system, signals, {name: _in_single(p) for name, p in data.pieces.items()})
    pieces = data.pieces
    places = {name: i for i, name in enumerate(system.memories)}
    known = [(program.memory[places[name]], _lookup(name, p, program.time)) for name, p in pieces.items()]
    return with_tables(equations, tuple(known), _stops(data))


def with_tables(
    equations: DerivedEquations, tabled: tuple[tuple[Expr, Expr], ...], stops: tuple[tuple[float, bool], ...]
) -> DerivedEquations:
    """Return the equations of a configuration with given inputs as functions of the time."""
    program, known = equations.program, dict(tabled)

    def drive_section(old: ProgramSection) -> ProgramSection:
        renews = old.name.startswith(("update", "fire"))  # these sections keep the memory of an input
        results = [
            r if renews and r in known else new
            for r, new in zip(old.results, transform(old.results, known.get), strict=True)
        ]
        return section(old.name, old.labels, results)

    names = ("derivatives", "outputs", "events", "update", "correct", "geometry")
    made: DataTable = {name: drive_section(getattr(program, name)) for name in names}
    several = ("fire", "stepping", "changes", "partial_rates")
    made |= {name: tuple(drive_section(s) for s in getattr(program, name)) for name in several}
    made |= {"stops": stops, "tabled": tabled}
    return replace(equations, program=replace(program, **made))


def _stops(data: DrivenInputs) -> tuple[tuple[float, bool], ...]:
    """Return times at which steps end, and whether a value jumps there; merge times equal up to rounding."""
    jumps, bends = data.breaks()
    times = np.union1d(jumps, bends)
    times = times[np.diff(times, prepend=-np.inf) > APART * np.max(np.abs(times), initial=0.0)]
    return tuple((float(t), bool(np.any(np.isclose(jumps, t, rtol=APART, atol=0.0)))) for t in times)


def _input_tables(inputs: object) -> DataTable:
    return table(inputs, "inputs=", ParameterError) if isinstance(inputs, dict) else {}


def _is_function(value: object) -> bool:
    # An object with coords is a DataArray of xarray, which need not be installed.
    return callable(value) and not isinstance(value, Signal) and not hasattr(value, "coords")


def _in_single(pieces: SignalPieces) -> SignalPieces:
    """Return pieces for times in single precision.

    In double precision the last piece begins one rounding after the last time. In single precision both would
    be the same number, so the last piece begins at the next larger single number.
    """
    breaks = pieces.breaks.copy()
    if pieces.after_last:
        breaks[-1] = np.nextafter(np.float32(breaks[-1]), np.float32(np.inf))
    return replace(pieces, breaks=breaks)


def _lookup(name: str, pieces: SignalPieces, time: Expr) -> Expr:
    """Return the lookup of an input at the time; one more piece holds its value after the last time."""
    breaks = np.append(pieces.breaks, pieces.breaks[-1] + 1.0)
    end = "clamp" if np.any(pieces.coefficients[0]) or np.any(pieces.coefficients[-1]) else "zero"
    found = Piecewise(name, [breaks], pieces.coefficients[1:], [end], [None], None)
    value: Expr = found(time)
    return value
