"""Equations of motion: the derived program, its cost, and the way to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

from armillary.algebra.arguments import NamedTable, core_of, instance
from armillary.algebra.expression import Expr
from armillary.algebra.truncation import NeglectedTerms
from armillary.errors import ArmillaryError
from armillary.mechanics.constraints.loop_closing import speed_kind
from armillary.mechanics.constraints.reduction import Configuration, Reduction
from armillary.model.description import Description
from armillary.model.space.orbit import MassCentreStart, mass_centre_starts
from armillary.model.units import state_factor
from armillary.program.cost import Operations, sum_operations
from armillary.program.pack_choice import in_lanes, pack_section
from armillary.program.passes.sequence import Gain
from armillary.program.print.listing import listing, report
from armillary.program.program import Program
from armillary.program.targets.targets import Judged, Targets
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.program.formalisms.hubs import Contribution


NOT_PICKLED = (
    "the {what} of '{name}' cannot be pickled: they belong to this process. Send the System, which can be, "
    "or its file, system.save('model.toml'), and make them again there with "
    "arm.load('model.toml').derive().compile(); the cache has the machine code"
)

Use = Literal["export", "FMU with locks", "linear model", "sensitivities"]


@dataclass(frozen=True)
class Stage:
    """One stage of the derivation: its seconds and, where it made equations, their operations."""

    name: str
    seconds: float
    operations: Operations | None = None


@dataclass(frozen=True)
class Considered:
    """A formalism that "auto" tried: its operations before the last improvements, and cycles expected."""

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
    parameter_units: dict[str, str]  # stated, or deduced where they were not
    stages: tuple[Stage, ...]
    gains: tuple[Gain, ...]
    reduction: Reduction
    configuration: Configuration
    options: DataTable  # of the derivation, for another configuration of the same system
    judged: Judged = field(default_factory=Judged)
    considered: tuple[Considered, ...] = ()  # what "auto" chose from, in the order of trying
    searched: tuple[Gain, ...] = ()  # what effort="high" has found

    # What follows from the kind of states. A formalism with states of its own has other values in its class.
    described_states: ClassVar[bool] = True  # the coordinates and independent speeds of the description
    hidden_states: ClassVar[bool] = False  # linear models and exports have the speeds of the description
    joints_move_bodies: ClassVar[bool] = True  # else bodies have coordinates, and joints constrain them
    method_family: ClassVar[str] = ""  # of integration methods that advance them; see integrators.Method
    export_remarks: ClassVar[tuple[str, ...]] = ()  # lines at the head of exported programs
    refusals: ClassVar[Mapping[Use, str]] = {}  # uses that they do not have, with what follows the name

    def check_use(self, use: Use) -> None:
        """An error for a use that these states do not have."""
        if use in self.refusals:
            raise ArmillaryError(f"'{self.system.name}' {self.refusals[use]}")

    @property
    def conversion(self) -> tuple[Expr, ...] | None:
        """The part of the state after the coordinates, over coordinates and speeds as ``targets.inputs``;
        `None` if the state holds the speeds.
        """
        return None

    @property
    def start_names(self) -> tuple[str, ...]:
        """Names of the values of a whole initial state."""
        return (*self.coordinates, *self.speeds, *self.states)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation of all derivatives; precomputed constants not counted."""
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
        """Names of the states of the user's own, which follow the speeds in the state."""
        return tuple(s.data.name for s in self.targets.states)

    @cached_property
    def motion_names(self) -> tuple[str, ...]:
        """Names of [coordinates, all speeds, states], the order in which starts and changes have them."""
        return (*self.coordinates, *self.all_speeds, *self.states)

    @cached_property
    def size_constants(self) -> dict[int, int]:
        """States whose sizes (mechanics/constraints/loop_closing.py) follow from parameters: the places of
        these sizes among the constants of the program.
        """
        known = dict(zip(map(speed_kind, self.system.speeds), self.program.speed_sizes, strict=False))
        place = {s: i for i, s in enumerate(self.program.constants)}
        kinds = enumerate(self.reduction.state_kinds(self.system))
        return {i: place[known[kind]] for i, kind in kinds if known.get(kind) in place}

    @cached_property
    def startable(self) -> dict[str, Expr]:
        """Coordinates, speeds and states of the user's own that may have initial values, by name."""
        known = set(self.motion_names) - {p.speed.data.name for p in self.reduction.given.values()}
        return {s.data.name: s for s in self.system.initial if s.data.name in known}

    @cached_property
    def mass_centre_starts(self) -> list[MassCentreStart]:
        """The expressions that place mass centres at the start of a run, which take milliseconds to make."""
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
    def start_places(self) -> tuple[dict[str, tuple[int, float]], list[float]]:
        """Where in a motion an initial value is, with its factor, by name; and the motion as described."""
        number = {name: i for i, name in enumerate(self.motion_names)}
        places = {name: (number[name], factor) for name, factor in self.start_factors.items()}
        return places, [self.described_start[name] for name in self.motion_names]

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
        """Names of the redundant constraints, which follow from others."""
        return tuple(row.constraint.name for row in self.reduction.elimination.redundant)

    @property
    def neglected(self) -> NeglectedTerms:
        """Terms left out because quantities were declared small or large: printable and iterable."""
        return self.judged.neglected

    @property
    def contributions(self) -> dict[str, Contribution]:
        """The contribution of each branch to the equations of its hub, by name; of back substitution."""
        from armillary.program.formalisms.back_substitution import contributions

        return contributions(self)

    def show(self, section: str = "derivatives") -> str:
        """A section of the program as text, one assignment per line."""
        return listing(self, section)

    def report(self) -> str:
        """Bodies, coordinates, operations and what each stage took."""
        return report(self)

    def __reduce__(self) -> tuple[object, ...]:
        raise ArmillaryError(NOT_PICKLED.format(what="equations", name=self.system.name))

    def __repr__(self) -> str:
        small = ", small" if self.judged else ""
        return f"Equations({self.system.name!r}, {self.formalism}: {self.operations}{small})"


def derived_equations(given: object) -> DerivedEquations:
    """Return the derived equations that a user's equations hold."""
    return instance(core_of(given), DerivedEquations, "equations")
