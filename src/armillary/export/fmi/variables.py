"""The variables of an FMU: names, value references, start values, dependencies and units.

Value references number the time, parameters, memory, states, rates of the states, outputs, event functions
and clocks of events in this order, and each group in the order of the program, as in sources/fmu.c.
Outputs that only repeat a state or a memory have a value reference but are not listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.calculus import directional_derivatives
from armillary.algebra.expression import UNIT, Expr
from armillary.algebra.units import BASE_UNITS, parse_unit
from armillary.algebra.walk import held_indices
from armillary.errors import ParameterError
from armillary.export.text.description import (
    EventDescription,
    StateDescription,
    start_values,
    state_description,
)
from armillary.export.text.source import Source
from armillary.program.configurations import LEAVE
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.instance import ChangeCode, Changes
from armillary.untyped import Given

# The dependencies of each result of a section, from its expression graph.


def dependencies(results: Sequence[Expr], references: Mapping[Expr, int]) -> list[tuple[int, ...]]:
    """Return for each result the value references of the symbols in it, sorted."""
    order = sorted(references, key=references.__getitem__)
    return [tuple(references[order[i]] for i in places) for places in held_indices(results, order)]


# States of FMUs with several configurations, and the rates of these states.
#
# The states of such an FMU are the motion x: all coordinates, all speeds of the system and the user's own
# states, in every configuration. Each configuration integrates some of them, its states y; the dependent and
# locked speeds follow from y. The rates of the motion x = leave(t, y) with ẏ = f(t, y) are
#
#     ẋ = ∂leave/∂t + ∂leave/∂y · f


def configuration_sources(source: Source) -> list[Source]:
    """Return the sources of all configurations, the first one first."""
    return [source, *source.others]


def check_states(source: Source) -> None:
    """Raise an error if the states of configurations are not part of the motion."""
    if source.changing:
        source.equations.check_use("FMU with locks")


@dataclass(frozen=True)
class ExchangedMotion:
    """The states of an FMU, and for each configuration the indices of its states among them."""

    states: tuple[StateDescription, ...]
    places: tuple[tuple[int, ...], ...]


def motion_of(source: Source, values: Sequence[float], state: Sequence[float]) -> ExchangedMotion:
    """Return the states of an FMU with several configurations.

    Start values follow from parameter ``values``, in the user's units, and a ``state`` of the first
    configuration.
    """
    equations = source.equations
    targets, system = equations.targets, equations.system
    found = [*targets.coordinates, *system.speeds, *targets.states]
    kinds = [
        *["coordinate"] * len(targets.coordinates),
        *["speed"] * len(system.speeds),
        *["state"] * len(targets.states),
    ]
    names = [s.data.name for s in found]
    model = compile_equations(equations, tier="quick")
    given = dict(zip((p.name for p in source.description.parameters), values, strict=True))
    changes = Changes(ChangeCode(equations.program), lambda: model.parameters_inside(given))
    memory = np.array([m.initial for m in source.description.memory])
    start = changes.leave(0.0, np.array(state), memory)[: len(found)]
    return ExchangedMotion(
        tuple(state_description(s, k, x) for s, k, x in zip(found, kinds, start.tolist(), strict=True)),
        tuple(
            tuple(names.index(s.data.name) for s in one.program.state)
            for one in configuration_sources(source)
        ),
    )


def motion_rates(source: Source) -> tuple[list[str], list[Expr]]:
    """Return labels and rates of the states of an FMU.

    With several configurations these are the rates of the motion, without the entries at its end for speeds
    that events set on release.
    """
    program = source.program
    leave = next((s for s in program.changes if s.name == LEAVE), None)
    if leave is None:
        return list(program.derivatives.labels), list(program.derivatives.results)
    along = dict(zip(program.state, program.derivatives.results, strict=True))
    with derivation():
        count = len(source.equations.motion_names)
        rates = directional_derivatives(list(leave.results[:count]), {program.time: UNIT, **along})
    return [f"rate of {label}" for label in leave.labels[:count]], list(rates)


@dataclass(frozen=True)
class FmiVariable:
    """A variable of modelDescription.xml."""

    name: str
    reference: int
    causality: str
    variability: str
    initial: str = ""
    start: float | None = None
    units: str = ""
    about: str = ""
    derivative_of: int | None = None  # the value reference of a state
    depends: tuple[int, ...] = ()  # value references of the time, states and memory in its expression


@dataclass(frozen=True)
class FmiClock:
    """The clock of a periodic update: its index in the memory, and the period."""

    place: int
    period: float


@dataclass(frozen=True, eq=False)
class Interface:
    """Variables and start values of one model; the tuples of numbers are in the model's own units."""

    source: Source
    parameters: tuple[FmiVariable, ...]
    memory: tuple[FmiVariable, ...]  # clocks are not listed
    states: tuple[FmiVariable, ...]
    rates: tuple[FmiVariable, ...]
    outputs: tuple[FmiVariable, ...]
    indicators: tuple[FmiVariable, ...]
    ticks: tuple[FmiVariable, ...]  # clocks of events, in FMI 3.0
    time: FmiVariable
    start_state: tuple[float, ...]
    start_given: tuple[float, ...]  # the given values from which ``start_state`` follows
    first_guess: tuple[float, ...]  # coordinates from which loops are closed
    start_memory: tuple[float, ...]
    state_factors: tuple[float, ...]
    memory_factors: tuple[float, ...]
    clocks: Mapping[int, FmiClock]  # by event index
    events: tuple[EventDescription, ...]  # events of the configuration that has most
    described: tuple[StateDescription, ...]  # the states of the FMU
    places: tuple[tuple[int, ...], ...]  # indices in ``described`` of each configuration's states
    tunable: bool  # parameters may change during a run

    @property
    def listed(self) -> tuple[FmiVariable, ...]:
        """All variables except clocks of events, in the order of modelDescription.xml."""
        groups = (self.parameters, self.memory, self.states, self.rates, self.outputs, self.indicators)
        return (self.time, *(v for group in groups for v in group))

    @property
    def results(self) -> tuple[FmiVariable, ...]:
        """Variables that an importer reads as outputs."""
        return tuple(v for v in self.listed if v.causality == "output")


def interface(source: Source, parameters: Mapping[str, float] | None, initial: Given) -> Interface:
    """Return the variables of a model; start values given by the user replace the model's."""
    equations, description = source.equations, source.description
    values = _start_values(source, parameters)
    state, memory = [s.initial for s in description.states], [m.initial for m in description.memory]
    given = [s.initial for s in description.starts]
    if parameters or initial is not None:
        begin = start_values(compile_equations(equations, tier="quick"), values, initial)
        state, given = list(begin.state), list(begin.given)
    sources = configuration_sources(source)
    described: tuple[StateDescription, ...] = tuple(
        replace(s, initial=x) for s, x in zip(description.states, state, strict=True)
    )
    places: tuple[tuple[int, ...], ...] = (tuple(range(len(state))),)
    if source.changing:
        motion = motion_of(source, list(values.values()), state)
        described, places = motion.states, motion.places
        state = [s.initial for s in described]
    events = max((one.description.events for one in sources), key=len)
    first_guess = loops.first if (loops := source.assembly) and initial is None else tuple(state)
    n_parameters, n_memory, n_states = len(values), len(memory), len(state)
    first_memory = 1 + n_parameters
    first_state = first_memory + n_memory
    first_rate = first_state + n_states
    first_output = first_rate + n_states
    first_indicator = first_output + len(description.outputs)

    def depends_of(chosen: Callable[[Source], Sequence[Expr]], count: int) -> list[tuple[int, ...]]:
        """Return the dependencies of some results, in any configuration."""
        found: list[set[int]] = [set() for _ in range(count)]
        for one, own in zip(sources, places, strict=True):
            references: dict[Expr, int] = {one.program.time: 0}
            references |= {s: first_memory + i for i, s in enumerate(one.program.memory)}
            references |= {s: first_state + i for s, i in zip(one.program.state, own, strict=True)}
            for known, more in zip(found, dependencies(chosen(one), references), strict=False):
                known.update(more)
        return [tuple(sorted(known)) for known in found]

    state_factors = tuple(s.factor for s in described)
    memory_factors = [m.factor for m in equations.system.memories.values()]
    clocks = _clocks(equations)
    tunable = not equations.reduction.rows  # new lengths would open closed loops
    names = _UniqueNames({"time"})
    listed_parameters = tuple(
        FmiVariable(
            names.own(p.name), 1 + i, "parameter", "tunable" if tunable else "fixed", "exact", values[p.name],
            p.units, p.about,
        )
        for i, p in enumerate(description.parameters)
    )  # fmt: skip
    states = tuple(
        FmiVariable(
            names.own(s.name), first_state + i, "output", "continuous", "exact", state[i] / state_factors[i],
            s.units, s.about, depends=(first_state + i,),
        )
        for i, s in enumerate(described)
    )  # fmt: skip
    stored = tuple(
        FmiVariable(
            names.own(m.name), first_memory + i, "input" if m.input else "local",
            "continuous" if m.input else "discrete", "" if m.input else "exact",
            memory[i] / memory_factors[i], m.units, m.about,
        )
        for i, m in enumerate(description.memory)
        if m.plain
    )  # fmt: skip
    shown = {v.name for v in (*states, *stored)}
    rates = tuple(
        FmiVariable(
            names.own(f"der({s.name})"), first_rate + i, "local", "continuous", "calculated", None,
            _rate_units(s.units), f"rate of {s.name}", first_state + i, depends,
        )
        for i, (s, depends) in enumerate(
            zip(states, depends_of(lambda one: motion_rates(one)[1], n_states), strict=True)
        )
    )  # fmt: skip
    wanted, outs = set(equations.system.outputs), description.outputs
    outputs = tuple(
        FmiVariable(
            names.own(o.name, "output"), first_output + i, "output" if o.name in wanted else "local",
            "continuous", "calculated", None, o.units, o.about, depends=depends,
        )
        for i, (o, depends) in enumerate(
            zip(outs, depends_of(lambda one: one.program.outputs.results, len(outs)), strict=True)
        )
        if o.name not in shown
    )  # fmt: skip
    watched = [k for k in range(len(events)) if k not in clocks]
    on = depends_of(
        lambda one: [g for k, g in enumerate(one.program.events.results) if k in watched], len(watched)
    )
    indicators = tuple(
        FmiVariable(
            names.own(f"event({events[k].name})"), first_indicator + i, "local", "continuous",
            "calculated", None, "", events[k].about, depends=on[i],
        )
        for i, k in enumerate(watched)
    )  # fmt: skip
    first_tick = first_indicator + len(indicators)
    called = [e.name.removesuffix(" clock") if k in clocks else e.name for k, e in enumerate(events)]
    ticks = tuple(
        FmiVariable(
            names.own(f"clock({called[k]})"), first_tick + k, "output", "discrete", "", None, "",
            f"ticks every {clocks[k].period:g} s" if k in clocks else e.about or "ticks at this event",
        )
        for k, e in enumerate(events)
        if not e.guard
    )  # fmt: skip
    return Interface(
        source, listed_parameters, stored, states, rates, outputs, indicators, ticks,
        FmiVariable("time", 0, "independent", "continuous", units="s", about="time"),
        tuple(state), tuple(given), first_guess, tuple(memory), state_factors, tuple(memory_factors), clocks,
        events, described, places, tunable,
    )  # fmt: skip


class _UniqueNames:
    """Unique names of variables: if a name is taken, its kind or an apostrophe is added."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def own(self, wish: str, kind: str = "") -> str:
        name = " ".join(wish.split())
        if name in self.taken and kind:
            name = f"{name} ({kind})"
        while name in self.taken:
            name += "'"
        self.taken.add(name)
        return name


def _start_values(source: Source, given: Mapping[str, float] | None) -> dict[str, float]:
    """Return start values of all parameters in the user's units."""
    known = [p.name for p in source.description.parameters]
    given = checked_names(given or {}, known, "there is no parameter", ParameterError)
    missing = [p.name for p in source.description.parameters if p.default is None and p.name not in given]
    if missing:
        raise ParameterError(
            f"an FMU needs start values of all parameters, but {', '.join(missing)} has none: give defaults "
            "in the description, or parameters={…} to export"
        )
    if given:
        compile_equations(source.equations, tier="quick").inside(given)  # raises an error for a wrong value
    defaults = {p.name: p.default for p in source.description.parameters if p.default is not None}
    return {name: float((defaults | given)[name]) for name in known}


def _clocks(equations: DerivedEquations) -> dict[int, FmiClock]:
    memories = list(equations.system.memories.values())
    places = {m.symbol.data.name: i for i, m in enumerate(memories) if m.period is not None}
    return {
        k: FmiClock(places[e.name], float(memories[places[e.name]].period or 0.0))
        for k, e in enumerate(equations.targets.watched)
        if e.hidden and e.name in places
    }


def _rate_units(units: str) -> str:
    """Return the units of a rate."""
    if not units or units == "1":
        return "1/s"
    return f"{units.removesuffix('/s')}/s^2" if units.endswith("/s") else f"{units}/s"


def unit_texts(variables: Sequence[FmiVariable]) -> list[str]:
    """Return the units that occur, each once, in the order of their first variable."""
    return list(dict.fromkeys(v.units for v in variables if v.units))


# Units as FMI defines them: exponents of the SI base units and the radian, and a factor.

# Armillary's angles have no dimension; in FMI the radian is a base unit.
_ANGLES = re.compile(r"(?<![A-Za-z])([mu\u00b5\u03bc]?rad|deg|°|arcmin|arcsec|rev)(?![A-Za-z])")


def base_unit(text: str) -> dict[str, str]:
    """Return the attributes of a unit's BaseUnit element; no attributes if an exponent is not whole.

    To find the power of the radian, parse the text again with every unit of angle replaced by the kelvin,
    which mechanics does not use.
    """
    unit = parse_unit(text)
    exponents = dict(zip(BASE_UNITS, unit.dimension.exponents, strict=True))
    stand_in = parse_unit(_ANGLES.sub("K", text.replace("rpm", "(rev/min)"))).dimension
    exponents["rad"] = stand_in.exponents[BASE_UNITS.index("K")] - exponents["K"]
    if any(e.denominator != 1 for e in exponents.values()):
        return {}
    found = {name: str(int(e)) for name, e in exponents.items() if e}
    return found | ({"factor": repr(unit.scale)} if unit.scale != 1.0 else {})
