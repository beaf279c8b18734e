"""A derivation under way: the frozen description, the options, first findings, and the time of each stage."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from armillary.algebra.expression import Expr
from armillary.algebra.intermediate import own_intermediates
from armillary.mechanics.constraints.reduction import Configuration, Reduction
from armillary.mechanics.massless import MotionWithoutMass
from armillary.model.description import Description
from armillary.program.equations import DerivedEquations, Stage
from armillary.program.form.cost import Operations
from armillary.program.form.sections import program_of
from armillary.program.formalisms.formalism import Formalism
from armillary.program.lanes.alike_branches import corresponding
from armillary.program.targets.targets import Targets
from armillary.untyped import DataTable


class Clock:
    """Seconds of each stage, with the operations of what it made."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._last = time.perf_counter()

    def stage(self, name: str, operations: Operations | None = None) -> None:
        """The end of a stage."""
        now = time.perf_counter()
        self.stages.append(Stage(name, now - self._last, operations))
        self._last = now


@dataclass(frozen=True, eq=False)
class Derivation:
    """The common start of all formalisms."""

    formalism: Formalism
    system: Description  # frozen
    declared: dict[Expr, int]  # orders of what the user declared small or large
    configuration: Configuration
    units: dict[str, str]  # of the parameters
    massless: list[MotionWithoutMass]  # motions that move no mass except for the constraints
    again: Callable[..., DerivedEquations]  # derives the same system with other options
    regroup: bool
    small: bool
    keep: int
    axes: str
    named: bool
    effort: str
    check: bool
    clock: Clock

    def finish(
        self,
        wanted: Targets,
        reduction: Reduction,
        options: DataTable,
        *,
        name: str = "",
        kind: type[DerivedEquations] | None = None,
        **more: Any,  # fields that only this kind has
    ) -> DerivedEquations:
        """Equations of the formalism's name and kind, or of these: the wanted expressions improved and put
        into sections.
        """
        if self.effort == "high" and not corresponding(self.system, (*wanted.integrated, *wanted.carried)):
            # Where branches are alike, what one of them gains would make it differ from the others, with
            # which it is computed in vectors.
            from armillary.program.form.search import fewest_operations

            rates, gained = fewest_operations(wanted.rates, self.system.parameters)
            wanted = replace(wanted, rates=tuple(rates))
            more["searched"] = (*more.get("searched", ()), *gained)
            self.clock.stage("search")
        program, gains = program_of(self.system, wanted, reduction.plain, check=self.check)
        self.clock.stage("improve", program.derivatives.operations)
        return (kind or self.formalism.kind)(
            system=self.system,
            formalism=name or self.formalism.name,
            program=program,
            targets=wanted,
            parameter_units=self.units,
            stages=tuple(self.clock.stages),
            gains=tuple(gains),
            reduction=reduction,
            configuration=self.configuration,
            options=options,
            **more,
        )


_MANY = 500_000  # objects put among the old ones, after which these are collected
_put_aside = 0
_frozen_by_others = False  # once seen, remembered: counting them takes up to a tenth of a second


@contextmanager
def derivation() -> Iterator[None]:
    """Intermediate values of its own, and no cyclic garbage collection meanwhile."""
    with without_garbage_collection(), own_intermediates():
        yield


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """No cyclic garbage collection meanwhile: expressions hold no cycles, and scanning them took a third of
    the time of a derivation and a tenth of that of a large model's compilation.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            _put_among_old_objects()
            gc.enable()


def _put_among_old_objects() -> None:
    """Objects of a derivation, which all count as young ones, go among the old ones unscanned: the next
    collections would scan them twice, which takes a tenth of the time of derivation and compilation.
    """
    global _put_aside, _frozen_by_others
    _frozen_by_others = _frozen_by_others or gc.get_freeze_count() > 0
    if _frozen_by_others:
        return  # a program has frozen objects of its own, which would be thawed here
    _put_aside += gc.get_count()[0]
    if _put_aside > _MANY:
        _put_aside = 0
        gc.collect()
    else:
        gc.freeze()
        gc.unfreeze()
