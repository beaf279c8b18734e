"""Equations of motion: the derived program, its cost, its listing with readable names, and a report."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

from armillary.algebra.arguments import NamedTable, core_of, instance, one_of
from armillary.algebra.expression import Expr, as_expr, symbol
from armillary.algebra.node import text
from armillary.algebra.truncation import NeglectedTerms
from armillary.algebra.walk import operands_first, rebuild, symbols
from armillary.errors import ArmillaryError, ModelError
from armillary.mechanics.constraints.loop_closing import speed_kind
from armillary.mechanics.constraints.reduction import Configuration, Reduction
from armillary.model.description import Description
from armillary.model.space.orbit import MassCentreStart, mass_centre_starts
from armillary.model.units import state_factor
from armillary.program.packs import in_lanes, pack_section
from armillary.program.passes import Gain, Graph
from armillary.program.passes.graph import Operations, node_operations, sum_operations
from armillary.program.program import Program, ProgramSection
from armillary.program.targets.targets import Judged, Targets
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.program.formalisms.hubs import Contribution


class Text(str):
    """Text whose ``repr`` is the text itself, so that interpreters and notebooks show its lines."""

    def __repr__(self) -> str:
        return str(self)


def listing(equations: DerivedEquations, section: str) -> Text:
    """Return one section as text: a heading with its cost, then an assignment per line."""
    sections = {s.name: s for s in equations.program.sections()}
    one_of(section, sections, "no section ", ModelError)
    chosen = sections[section]
    names = assigned_names(chosen)
    lines = [*(f"# {line}" for line in equations.judged.lines()), f"{chosen.name}: {chosen.operations}"]
    known: dict[Expr, str] = {}  # operands come first, so their names are known
    for node in chosen.nodes:
        if node in names:
            lines.append(f"  {names[node]} = {text(node.args[0] if node.kind == 'let' else node, known)}")
            known[node] = names[node]
    for label, result in zip(chosen.labels, chosen.results, strict=True):
        lines.append(f"  {label} = {text(result, names)}")
    return Text("\n".join(lines))


def assigned_names(section: ProgramSection) -> dict[Expr, str]:
    """Return names for the nodes of a section that get an assignment.

    These are intermediate values, and operations that are used more than once.
    """
    graph = Graph(section.results)
    counted = graph.uses
    taken = {*section.labels, *(n.data.name for n in graph.order if n.kind == "symbol")}
    names: dict[Expr, str] = {}
    numbers: dict[str, int] = {}
    for node in section.nodes:
        shared = counted[node] > 1 and node_operations(node).total > 0
        if node.kind != "let" and not shared:
            continue
        names[node] = _fresh(_stem(node), taken, numbers)
    return names


def in_steps(
    results: Sequence[Expr], names: Mapping[Expr, str]
) -> tuple[list[tuple[Expr, Expr]], list[Expr]]:
    """Return (symbol, definition) of the named nodes in order, and the results with these symbols."""
    shown: dict[Expr, Expr] = {}
    steps: list[tuple[Expr, Expr]] = []
    for node in operands_first(results):
        inner = node.args[0] if node.kind == "let" and node in names else None
        args = [shown[a] for a in node.args]
        same = all([x is y for x, y in zip(args, node.args, strict=True)])
        value = shown[inner] if inner is not None else node if same else rebuild(node, args)
        shown[node] = value
        if node in names:
            shown[node] = symbol(names[node], "variable")
            steps.append((shown[node], value))
    return steps, [shown[result] for result in results]


def _stem(node: Expr) -> str:
    if node.kind == "let":
        return re.sub(r"\W", "_", node.data)
    if (
        node.kind == "call"
        and isinstance(node.data, str)
        and len(node.args) == 1
        and node.args[0].kind == "symbol"
    ):
        return re.sub(r"\W", "_", f"{node.data}_{node.args[0].data.name}")
    return "z"


def _fresh(stem: str, taken: set[str], numbers: dict[str, int]) -> str:
    name = stem
    while name in taken or keyword.iskeyword(name) or name == "z":
        numbers[stem] = numbers.get(stem, 0) + 1
        name = f"{stem}{numbers[stem]}" if stem == "z" else f"{stem}_{numbers[stem]}"
        if name not in taken:
            break
    taken.add(name)
    return name


def _constraint_lines(equations: DerivedEquations) -> list[str]:
    """Return a line for each constraint, with the speed that it eliminates, and for each given speed."""
    by_constraint = {name: speed for speed, name in equations.dependents.items()}
    lines = []
    wide = max([28, *(len(name) + 1 for name in equations.system.constraints)])
    column = max([14, *(len(speed) + 1 for speed in equations.dependents)])
    if equations.system.constraints:
        lines += ["", f"  {'constraint':<{wide}}{'eliminates':<{column}}meaning"]
    for name, constraint in equations.system.constraints.items():
        otherwise = "redundant" if name in equations.redundant_constraints else "multiplier"
        lines.append(f"  {name:<{wide}}{by_constraint.get(name, otherwise):<{column}}{constraint.about}")
    for given in equations.reduction.given.values():
        how = (
            "locked"
            if given.speed.data.name in equations.configuration.locked
            else f"prescribed: {given.value}"
        )
        lines.append(f"  {given.speed.data.name} is {how}")
    return lines


def report(equations: DerivedEquations) -> Text:
    """Return a page about a derivation: bodies, cost by section, gains by pass, seconds by stage."""
    system = equations.system
    lines = [f"{system.name}: {len(system.bodies)} bodies, {equations.freedom}", ""]
    joints = [body.joint.describe() for body in system.bodies.values()]
    wide = max(34, *map(len, joints)) + 2
    named = max([14, *(len(name) + 1 for name in system.bodies)])
    lines.append(f"  {'body':<{named}}{'parent':<{named}}{'joint':<{wide}}coordinates")
    for body in system.bodies.values():
        parent = body.parent.name if body.parent else ""
        q = ", ".join(s.data.name for s in body.coordinates)
        lines.append(f"  {body.name:<{named}}{parent:<{named}}{body.joint.describe():<{wide}}{q}")
    chosen = " (the cheapest of those tried)" if equations.considered else ""
    lines += ["", f"  formalism: {equations.formalism}{chosen}"]
    lines += [f"    {tried}" for tried in equations.considered]
    lines.append(f"  derivatives(): {equations.operations}")
    if equations.paired.total:
        lines.append(f"  of which in pairs: {equations.paired}")
    lines += [f"  search, {found.name}: {found.before} became {found.after}" for found in equations.searched]
    lines.append(f"  precomputed: {len(equations.program.constants)} constants")
    lines += [f"  {line}" for line in equations.judged.lines()]
    lines += _constraint_lines(equations)
    lines += ["", f"  {'pass':<16}{'+':>8}{'×':>8}{'÷':>6}{'functions':>12}"]
    for gain in equations.gains:
        o = gain.after
        lines.append(
            f"  {gain.name:<16}{o.additions:>8}{o.multiplications:>8}{o.divisions:>6}{o.functions:>12}"
        )
    lines += ["", f"  {'stage':<16}{'seconds':>10}   operations"]
    for stage in equations.stages:
        lines.append(f"  {stage.name:<16}{stage.seconds:>10.4f}   {stage.operations or ''}")
    return Text("\n".join(lines))


NOT_PICKLED = (
    "the {what} of '{name}' cannot be pickled: they belong to this process. Send the System instead, or its "
    "file, system.save('model.toml'), and make them again in the other process with "
    "arm.load('model.toml').derive().compile(); the cache has the machine code"
)

Use = Literal["export", "FMU with locks", "linear model", "sensitivities"]


@dataclass(frozen=True)
class Stage:
    """One stage of the derivation: its seconds and, if it produced equations, their operations."""

    name: str
    seconds: float
    operations: Operations | None = None


@dataclass(frozen=True)
class Considered:
    """A formalism that "auto" tried: its operations before the last passes, and the expected cycles."""

    formalism: str
    operations: Operations
    cycles: float

    def __str__(self) -> str:
        return f"{self.formalism}: {self.operations}, about {self.cycles:.0f} cycles"


@dataclass(frozen=True, eq=False, repr=False)
class DerivedEquations:
    """The derived equations of a system, as a program."""

    system: Description
    formalism: str
    program: Program
    targets: Targets
    parameter_units: dict[str, str]  # stated or deduced
    stages: tuple[Stage, ...]
    gains: tuple[Gain, ...]
    reduction: Reduction
    configuration: Configuration
    options: DataTable  # of the derivation, to derive another configuration of the same system
    judged: Judged = field(default_factory=Judged)
    considered: tuple[Considered, ...] = ()  # formalisms that "auto" tried, in order
    searched: tuple[Gain, ...] = ()  # gains of the search by effort="high"

    # Consequences of the kind of states; the class of a formalism with other states has other values.
    described_states: ClassVar[bool] = True  # states are coordinates and independent speeds as described
    hidden_states: ClassVar[bool] = False  # True: linear models and exports have the described speeds instead
    joints_move_bodies: ClassVar[bool] = True  # False: bodies have coordinates, and joints constrain them
    method_family: ClassVar[str] = ""  # the family of integration methods; see integrators.Method
    export_remarks: ClassVar[tuple[str, ...]] = ()  # lines at the head of exported programs
    refusals: ClassVar[Mapping[Use, str]] = {}  # refused uses; the error is the system's name and this text

    def check_use(self, use: Use) -> None:
        """Raise an error if these states do not allow a use."""
        if use in self.refusals:
            raise ArmillaryError(f"'{self.system.name}' {self.refusals[use]}")

    @property
    def conversion(self) -> tuple[Expr, ...] | None:
        """The states after the coordinates, as functions of coordinates and the speeds ``targets.inputs``.

        `None` if these states are the speeds.
        """
        return None

    @property
    def start_names(self) -> tuple[str, ...]:
        """Names of the values of a complete initial state."""
        return (*self.coordinates, *self.speeds, *self.states)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation of all derivatives, without precomputed constants."""
        return self.program.derivatives.operations

    @cached_property
    def paired(self) -> Operations:
        """Operations of the derivatives that machine code computes two at a time, in the lanes of vectors."""
        packs = pack_section(self.program.derivatives, in_lanes(self.program.alike, 2), {}).packs
        return sum_operations([node for pack in packs for node in pack.lanes])

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of the state."""
        return tuple(q.data.name for q in self.targets.coordinates)

    @cached_property
    def speeds(self) -> tuple[str, ...]:
        """Names of the speeds that are states (prescribed ones are not), in the order of the state."""
        return tuple(u.data.name for u in self.targets.speeds)

    @cached_property
    def all_speeds(self) -> tuple[str, ...]:
        """Names of all speeds of the system."""
        return tuple(u.data.name for u in self.system.speeds)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Names of the user's own states, which follow the speeds in the state."""
        return tuple(s.data.name for s in self.targets.states)

    @cached_property
    def motion_names(self) -> tuple[str, ...]:
        """Names of [coordinates, all speeds, states], the order of the values of a motion."""
        return (*self.coordinates, *self.all_speeds, *self.states)

    @cached_property
    def size_constants(self) -> dict[int, int]:
        """Indices of those sizes of states that are constants of the program, by index of the state.

        For sizes see mechanics/constraints/loop_closing.py.
        """
        known = dict(zip(map(speed_kind, self.system.speeds), self.program.speed_sizes, strict=False))
        index_of = {s: i for i, s in enumerate(self.program.constants)}
        kinds = enumerate(self.reduction.state_kinds(self.system))
        return {i: index_of[known[kind]] for i, kind in kinds if known.get(kind) in index_of}

    @cached_property
    def turns_rows(self) -> list[float]:
        """For each coordinate and speed of the state, 1 if its motion changes the matrix of the constraints.

        The value is 1 if the matrix depends on it, or on a coordinate whose rate depends on it, else 0. The
        rolling of wheels, for instance, changes no row of the suspensions.
        """
        elements = [as_expr(a) for row in self.reduction.rows for a in row.coefficients.values()]
        held = {s.data.name for s in symbols(*elements)}
        moved = [r for q, r in zip(self.coordinates, self.targets.rates, strict=False) if q in held]
        held |= {s.data.name for s in symbols(*moved)}
        return [float(name in held) for name in (*self.coordinates, *self.speeds)]

    @cached_property
    def startable(self) -> dict[str, Expr]:
        """Coordinates, speeds and the user's own states that may have initial values, by name."""
        known = set(self.motion_names) - {p.speed.data.name for p in self.reduction.given.values()}
        return {s.data.name: s for s in self.system.initial if s.data.name in known}

    @cached_property
    def mass_centre_starts(self) -> list[MassCentreStart]:
        """The expressions that set the positions of mass centres at the start of a run.

        They are kept, since they take milliseconds.
        """
        return mass_centre_starts(self.system)

    @cached_property
    def described_start(self) -> dict[str, float]:
        """Initial values of all coordinates, speeds and states by name, from the description."""
        return {s.data.name: value for s, value in self.system.initial.items()}

    @cached_property
    def start_factors(self) -> dict[str, float]:
        """Factors from the stated units of initial values to the model's units, by name."""
        return {name: state_factor(s) for name, s in self.startable.items()}

    @cached_property
    def start_indices(self) -> tuple[dict[str, tuple[int, float]], list[float]]:
        """(index in a motion, factor) of each initial value by name, and the motion of the description."""
        number = {name: i for i, name in enumerate(self.motion_names)}
        indices = {name: (number[name], factor) for name, factor in self.start_factors.items()}
        return indices, [self.described_start[name] for name in self.motion_names]

    @property
    def freedom(self) -> str:
        """The degrees of freedom, in words."""
        count, more = len(self.speeds), len(self.states)
        words = f"{count} degree{'' if count == 1 else 's'} of freedom"
        return f"{words}, {more} state{'' if more == 1 else 's'} of the user's own" if more else words

    @property
    def parameters(self) -> dict[str, float | None]:
        """Parameters with their defaults, in their stated units; `None` if a parameter has no default."""
        found = {name: p.data.default for name, p in self.system.parameters.items()}
        return NamedTable("parameter", found)

    @cached_property
    def dependents(self) -> dict[str, str]:
        """Dependent speeds, with the names of the constraints that eliminate them."""
        found = self.reduction.elimination
        names = [u.data.name for u in self.system.speeds]
        return {names[step.speed]: found.kept[step.row].constraint.name for step in found.steps}

    @property
    def redundant_constraints(self) -> tuple[str, ...]:
        """Names of the redundant constraints, which follow from the other constraints."""
        return tuple(row.constraint.name for row in self.reduction.elimination.redundant)

    @property
    def neglected(self) -> NeglectedTerms:
        """Terms left out because quantities were declared small or large: printable and iterable."""
        return self.judged.neglected

    @property
    def contributions(self) -> dict[str, Contribution]:
        """The contribution of each branch to the equations of its hub, by name; for back substitution."""
        from armillary.program.formalisms.back_substitution import contributions

        return contributions(self)

    def show(self, section: str = "derivatives") -> str:
        """Return a section of the program as text, one assignment per line."""
        return listing(self, section)

    def report(self) -> str:
        """Return a page on bodies, coordinates, operations, and the seconds of each stage."""
        return report(self)

    def __reduce__(self) -> tuple[object, ...]:
        raise ArmillaryError(NOT_PICKLED.format(what="equations", name=self.system.name))

    def __repr__(self) -> str:
        small = ", small" if self.judged else ""
        return f"Equations({self.system.name!r}, {self.formalism}: {self.operations}{small})"


def derived_equations(given: object) -> DerivedEquations:
    """Return the ``DerivedEquations`` inside a user's ``Equations``."""
    return instance(core_of(given), DerivedEquations, "equations")
