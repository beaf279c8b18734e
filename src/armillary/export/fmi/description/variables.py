"""The variables of an FMU: what each is called, what it means, and its reference number.

Value references run through time, parameters, memory, states, rates of the states, outputs, event functions
and clocks of events, in the order in which the program holds them; sources/fmu.c counts in the same way.
Outputs that merely repeat a state or a memory have a number but are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from armillary.algebra.arguments import checked_names
from armillary.algebra.expression import Expr
from armillary.errors import ParameterError
from armillary.export.fmi.configurations import every, motion_of, motion_rates
from armillary.export.fmi.description.dependencies import dependencies
from armillary.export.text.description import EventDescription, StateDescription
from armillary.export.text.selftest.reference import start_values
from armillary.export.text.source import Source
from armillary.program.equations import DerivedEquations
from armillary.runtime.models.compilation import compile_equations
from armillary.untyped import Given


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
    depends: tuple[int, ...] = ()  # value references of time, states and memory


@dataclass(frozen=True)
class FmiClock:
    """The event of a periodic update: where its clock stands in the memory, and the period."""

    place: int
    period: float


@dataclass(frozen=True, eq=False)
class Interface:
    """Variables and start values of one model; start values inside are in the model's own units."""

    source: Source
    parameters: tuple[FmiVariable, ...]
    memory: tuple[FmiVariable, ...]  # clocks are not listed
    states: tuple[FmiVariable, ...]
    rates: tuple[FmiVariable, ...]
    outputs: tuple[FmiVariable, ...]
    indicators: tuple[FmiVariable, ...]
    ticks: tuple[FmiVariable, ...]  # clocks of events: of FMI 3.0
    time: FmiVariable
    start_state: tuple[float, ...]
    start_given: tuple[float, ...]  # the values from which it follows
    first_guess: tuple[float, ...]  # coordinates from which loops are closed
    start_memory: tuple[float, ...]
    state_factors: tuple[float, ...]
    memory_factors: tuple[float, ...]
    clocks: Mapping[int, FmiClock]  # by the number of the event
    events: tuple[EventDescription, ...]  # of the configuration that has the most of them
    described: tuple[StateDescription, ...]  # the states
    places: tuple[tuple[int, ...], ...]  # of the states of each configuration among them
    tunable: bool

    @property
    def listed(self) -> tuple[FmiVariable, ...]:
        """All variables, in the order of modelDescription.xml."""
        groups = (self.parameters, self.memory, self.states, self.rates, self.outputs, self.indicators)
        return (self.time, *(v for group in groups for v in group))

    @property
    def results(self) -> tuple[FmiVariable, ...]:
        """Variables that an importer reads as outputs."""
        return tuple(v for v in self.listed if v.causality == "output")


def interface(source: Source, parameters: Mapping[str, float] | None, initial: Given) -> Interface:
    """The variables of a model, with start values of the user where there are any."""
    equations, description = source.equations, source.description
    values = _values(source, parameters)
    state, memory = [s.initial for s in description.states], [m.initial for m in description.memory]
    given = [s.initial for s in description.starts]
    if parameters or initial is not None:
        begin = start_values(compile_equations(equations, tier="quick"), values, initial)
        state, given = list(begin.state), list(begin.given)
    sources = every(source)
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
        """The dependencies of some results, in any configuration."""
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
    tunable = not equations.reduction.rows  # closed loops of other lengths would have to be assembled again
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
            zip(described, depends_of(lambda one: motion_rates(one)[1], n_states), strict=True)
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
    """Names of variables, each once: the kind is added to a name that an earlier one has."""

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


def _values(source: Source, given: Mapping[str, float] | None) -> dict[str, float]:
    """Start values of all parameters in the user's units."""
    known = [p.name for p in source.description.parameters]
    given = checked_names(given or {}, known, "there is no parameter", ParameterError)
    missing = [p.name for p in source.description.parameters if p.default is None and p.name not in given]
    if missing:
        raise ParameterError(
            f"an FMU needs start values of all parameters, and {', '.join(missing)} has none: give defaults "
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
    """The units of a rate."""
    if not units or units == "1":
        return "1/s"
    return f"{units.removesuffix('/s')}/s^2" if units.endswith("/s") else f"{units}/s"


def unit_texts(variables: Sequence[FmiVariable]) -> list[str]:
    """Units that occur, each once, in the order of first meeting."""
    return list(dict.fromkeys(v.units for v in variables if v.units))
