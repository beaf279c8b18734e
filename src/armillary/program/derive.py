"""From a description to equations: the pipeline, as a list of stages."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from armillary.algebra.expression import Expr
from armillary.algebra.walk import Undimensioned, symbols
from armillary.errors import ModelError, nearest
from armillary.mechanics.explicit import speed_rates
from armillary.mechanics.kane import implicit_equations
from armillary.mechanics.loads import Applied, applied_loads
from armillary.mechanics.recursive import accelerations
from armillary.mechanics.regroup import regroup as regroup_inertia
from armillary.mechanics.tree import Tree, plant
from armillary.mechanics.uncouple import uncouple
from armillary.model.deduced import parameter_units
from armillary.model.system import System
from armillary.program.equations import Equations, Stage
from armillary.program.improve import Gain, improve
from armillary.program.passes import Constants, Graph, hoist
from armillary.program.program import Program, section
from armillary.program.roots import Targets, targets
from armillary.program.schedule import critical_path

# A mass matrix costs about (number of speeds) × (mean depth of the tree); beyond this the recursion always
# wins.
_DEEP = 5.0

FORMALISMS: dict[str, Callable[[Tree, Applied], dict[int, Any]]] = {
    "kane": lambda tree, loads: uncouple(implicit_equations(tree, loads), "fewest neighbours"),
    "recursive": accelerations,
}


def derive(system: System, formalism: str = "auto", *, regroup: bool = True) -> Equations:
    """The equations of motion of a system, by the named formalism or the cheapest of those worth trying."""
    with _without_collector():
        clock = _Clock()
        _check(system, formalism)
        units = parameter_units(system)
        clock.stage("check units")
        plain = Undimensioned()
        tree = plant(system, plain)
        clock.stage("plant")
        if regroup:
            tree = regroup_inertia(tree)
        loads = applied_loads(system, tree, plain)
        clock.stage("regroup")
        names = _worth_trying(tree, formalism)
        candidates = [_candidate(name, tree, loads, system, plain, clock) for name in names]
        best = min(candidates, key=_estimated_time) if len(candidates) > 1 else candidates[0]
        program, gains = _program(system, best.targets, plain)
        clock.stage("improve", program.derivatives.operations)
    return Equations(system, best.formalism, program, best.targets, units, tuple(clock.stages), tuple(gains))


@dataclass(frozen=True)
class _Candidate:
    formalism: str
    targets: Targets


def _candidate(
    name: str, tree: Tree, loads: Applied, system: System, plain: Undimensioned, clock: _Clock
) -> _Candidate:
    wanted = targets(system, speed_rates(tree, FORMALISMS[name](tree, loads)), plain)
    clock.stage(name)
    return _Candidate(name, wanted)


def _estimated_time(candidate: _Candidate) -> float:
    """Cycles, roughly: operations at the rate of a current core, and the longest chain of dependent ones.

    Measured on the arm, Spacecraft 2 and a chain of eight; both terms matter there about equally.
    """
    graph = hoist(Graph(candidate.targets.rates), Constants())
    return graph.operations.weight / 2.5 + critical_path(graph.roots)


def _worth_trying(tree: Tree, formalism: str) -> list[str]:
    if formalism != "auto":
        return [formalism]
    depths: list[int] = []
    for link in tree.links:
        depths.append((depths[link.parent] if link.parent >= 0 else 0) + len(link.freedoms))
    mean = sum(depths) / max(len(depths), 1)
    return ["kane", "recursive"] if mean <= _DEEP else ["recursive"]


def _check(system: System, formalism: str) -> None:
    if formalism != "auto" and formalism not in FORMALISMS:
        known = ["auto", *FORMALISMS]
        raise ModelError(
            f"unknown formalism '{formalism}'{nearest(formalism, known)}; there are {', '.join(known)}"
        )
    if not system.speeds:
        raise ModelError(
            f"system '{system.name}' has no degree of freedom: give a body a joint such as Revolute('z')"
        )


def _program(system: System, wanted: Targets, plain: Undimensioned) -> tuple[Program, list[Gain]]:
    """All sections, improved one by one over shared constants."""
    constants = Constants(taken=system.parameters)
    rates, gains = improve(wanted.rates, constants)
    outputs = hoist(Graph([c.expression for c in wanted.columns]), constants).roots
    events = hoist(Graph(wanted.events), constants).roots
    updates = hoist(Graph(wanted.updates), constants).roots
    fires = [hoist(Graph(f), constants).roots for f in wanted.fires]
    state = (*wanted.coordinates, *wanted.speeds)
    state_labels = [s.data.name for s in state]
    memory_labels = [m.data.name for m in wanted.memory]
    everything = [*rates, *outputs, *events, *updates, *(e for f in fires for e in f)]
    used = _constants_used(everything)
    defined = [constants.definitions.get(c, c) for c in used]
    parameters = tuple(plain(p) for p in system.parameters.values())
    rest = [
        section("outputs", [c.name for c in wanted.columns], outputs),
        section("events", list(system.events), events),
        section("update", memory_labels if updates else [], updates),
    ]
    program = Program(
        name=system.name,
        parameters=parameters,
        constants=tuple(used),
        state=state,
        memory=wanted.memory,
        time=wanted.time,
        precompute=section("precompute", [c.data.name for c in used], defined, constant=True),
        derivatives=section("derivatives", [f"{s}'" for s in state_labels], rates),
        outputs=rest[0],
        events=rest[1],
        update=rest[2],
        fire=tuple(
            section(f"fire {name}", [*memory_labels, *state_labels], f)
            for name, f in zip(system.events, fires, strict=True)
        ),
        normalise=section(
            "normalise",
            [state_labels[q + i] for q in wanted.quaternions for i in range(4)],
            wanted.normalised,
        ),
        quaternions=wanted.quaternions,
    )
    return program, gains


def _constants_used(roots: list[Expr]) -> list[Expr]:
    """Parameters and named constants that sections read, in the order of first meeting."""
    return [s for s in symbols(*roots) if s.data.role == "parameter"]


class _Clock:
    """Seconds of each stage, with the operations that it left."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._last = time.perf_counter()

    def stage(self, name: str, operations: Any = None) -> None:
        now = time.perf_counter()
        self.stages.append(Stage(name, now - self._last, operations))
        self._last = now


@contextmanager
def _without_collector() -> Iterator[None]:
    """No cyclic garbage collection meanwhile: expressions hold no cycles, and scanning them took a third of
    the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
