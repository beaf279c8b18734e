"""A formalism as one object, and a derivation in progress."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from armillary.algebra.expression import Expr
from armillary.algebra.functions import own_intermediates
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Configuration, Reduction
from armillary.mechanics.massless import MotionWithoutMass
from armillary.model.description import Description
from armillary.program.branch_packs import corresponding
from armillary.program.equations import DerivedEquations, Stage, Use
from armillary.program.passes.graph import Operations
from armillary.program.sections import program_of
from armillary.program.targets.targets import Targets
from armillary.untyped import DataTable

# A formalism as one object: its name, its theory, the systems that it accepts, its derivation, its states.


@dataclass(frozen=True, eq=False)
class Formalism:
    """A way to derive equations of motion.

    ``kind``, the class of the derived equations, determines the uses that are refused, the family of
    integration methods and, by the runtime's table ``MODELS``, the class of the model.
    """

    name: str
    theory: str  # name of its page in docs/theory
    derive: Callable[[Derivation], DerivedEquations]
    kind: type[DerivedEquations] = DerivedEquations
    judgement: str = ""  # reason for refusing quantities declared small or large; "" if they are accepted
    axes: bool = False  # whether it has angular momenta to which derive(axes=) applies
    contacts: bool = False  # whether it accepts contacts without compliance and brakes that lock
    elimination: bool = False  # whether it computes u̇ from M u̇ = f by elimination of the mass matrix M
    partial_modes: bool = False  # whether it accepts complex modes with more real shapes than modes

    def check_system(self, system: Description) -> None:
        """Raise an error for a system that this formalism does not accept."""
        if not system.speeds:
            raise ModelError(
                f"system '{system.name}' has no degree of freedom: give a body a joint such as Revolute('z')"
            )
        if system.contacts and not self.contacts:
            raise ModelError(
                f"'{next(iter(system.contacts))}' is a contact or brake without compliance, which formalism "
                f"'{self.name}' does not accept; use 'kane' or 'recursive', or give it a stiffness="
            )
        for name, flex in system.flexibles.items():
            given = flex.part.complex_modes
            if given is not None and not given.whole and not self.partial_modes:
                raise ModelError(
                    f"body '{name}' has {flex.part.modes} complex modes that move in more real shapes than "
                    f"that, so formalism '{self.name}' cannot find a stiffness; use formalism='mbdyfr', or "
                    "give all modes or the stiffness= between the nodes"
                )

    def check_options(self, declared: Mapping[Expr, int], axes: str) -> None:
        """Raise an error for options that this formalism does not accept."""
        if axes != "ground" and not self.axes:
            raise ModelError(f"axes={axes!r} is for formalism='momentum', not for '{self.name}'")
        if declared and self.judgement:
            raise ModelError(f"'{next(iter(declared))}' is declared small or large, but {self.judgement}")


# A derivation in progress: the frozen description, the options, first results, and the time of each stage.


class Clock:
    """Seconds of each stage, with the operations of its result."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._last = time.perf_counter()

    def stage(self, name: str, operations: Operations | None = None) -> None:
        """Record the end of a stage."""
        now = time.perf_counter()
        self.stages.append(Stage(name, now - self._last, operations))
        self._last = now


@dataclass(frozen=True, eq=False)
class Derivation:
    """The common input of all formalisms."""

    formalism: Formalism
    system: Description  # frozen
    declared: dict[Expr, int]  # orders of quantities declared small or large
    configuration: Configuration
    units: dict[str, str]  # of the parameters
    massless: list[MotionWithoutMass]  # motions that move no mass, if constraints are ignored
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
        """Improve the wanted expressions and put them into sections; return the equations.

        ``name`` and ``kind`` replace the formalism's own.
        """
        if self.effort == "high" and not corresponding(self.system, (*wanted.integrated, *wanted.carried)):
            # Systems with similar branches are not searched: a gain in one branch would make it differ from
            # the other branches, with which it is computed as a vector.
            from armillary.program.sections import fewest_operations

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


_MANY = 500_000  # objects that are moved to the old generation before a full collection is made
_put_aside = 0
_frozen_by_others = False  # not checked again once True: counting frozen objects takes up to 0.1 s


@contextmanager
def derivation() -> Iterator[None]:
    """Derive with a fresh table of intermediate values and without cyclic garbage collection."""
    with without_garbage_collection(), own_intermediates():
        yield


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable cyclic garbage collection within this context.

    Expressions hold no cycles. Scanning them took a third of a derivation's time and a tenth of a large
    model's compilation time.
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
    """Move all objects to the old generation of the garbage collector without scanning them.

    The objects of a derivation are young; the next collections would scan them twice, which takes a tenth of
    the time of derivation and compilation.
    """
    global _put_aside, _frozen_by_others
    _frozen_by_others = _frozen_by_others or gc.get_freeze_count() > 0
    if _frozen_by_others:
        return  # the user's program has frozen objects, which would be unfrozen here
    _put_aside += gc.get_count()[0]
    if _put_aside > _MANY:
        _put_aside = 0
        gc.collect()
    else:
        gc.freeze()
        gc.unfreeze()


# Equations whose states are not the speeds: momenta, or velocities that a formalism chose.


@dataclass(frozen=True, eq=False, repr=False)
class DerivedConvertedEquations(DerivedEquations):
    """Equations of motion whose states are coordinates and functions of the speeds, such as momenta.

    ``converted_targets`` makes the targets.
    """

    solved: tuple[Expr, ...] = ()  # speeds that are functions of the state
    described_states: ClassVar[bool] = False
    refusals: ClassVar[Mapping[Use, str]] = {
        "FMU with locks": "has other states than speeds, and events that lock or unlock joints; for these "
        "FMUs need speeds: derive it with another formalism, such as 'kane'",
    }

    @property
    def conversion(self) -> tuple[Expr, ...]:
        """The states after the coordinates, as functions of coordinates and the speeds ``targets.inputs``."""
        return next(s.results for s in self.targets.stepping if s.name == "momenta")

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of the speeds that the states determine; a run starts from values of these speeds."""
        return tuple(u.data.name for u in self.solved)
