"""A formalism as one object: its name, its theory, what it accepts, how it derives, which states it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from armillary.algebra.expression import Expr
from armillary.errors import ModelError
from armillary.model.description import Description
from armillary.program.equations import DerivedEquations

if TYPE_CHECKING:
    from armillary.program.formalisms.derivation import Derivation


@dataclass(frozen=True, eq=False)
class Formalism:
    """A way to equations of motion.

    ``kind`` is the class of its equations. It has what follows from their states: uses that they refuse,
    the family of their integration methods and, by the table ``MODELS`` of the runtime, the class of their
    model.
    """

    name: str
    theory: str  # its page, docs/theory/….md
    derive: Callable[[Derivation], DerivedEquations]
    kind: type[DerivedEquations] = DerivedEquations
    judgement: str = ""  # why it takes nothing that is declared small or large; "" where it does
    axes: bool = False  # whether angular momenta have axes to choose
    contacts: bool = False  # whether it takes contacts without compliance and brakes that lock
    elimination: bool = False  # whether u̇ is found from M u̇ = f by an elimination of the mass matrix M
    partial_modes: bool = False  # whether it takes complex modes that move in more real shapes than there are

    def check_system(self, system: Description) -> None:
        """An error for a system that this formalism does not take."""
        if not system.speeds:
            raise ModelError(
                f"system '{system.name}' has no degree of freedom: give a body a joint such as Revolute('z')"
            )
        if system.contacts and not self.contacts:
            raise ModelError(
                f"'{next(iter(system.contacts))}' is a contact or brake without compliance, which formalism "
                f"'{self.name}' does not take; use 'kane' or 'recursive', or give it a stiffness="
            )
        for name, flex in system.flexibles.items():
            given = flex.part.complex_modes
            if given is not None and not given.whole and not self.partial_modes:
                raise ModelError(
                    f"body '{name}' has {flex.part.modes} complex modes that move in more real shapes than "
                    f"that, from which formalism '{self.name}' has no stiffness; use formalism='mbdyfr', or "
                    "give all modes or the stiffness= between the nodes"
                )

    def check_options(self, declared: Mapping[Expr, int], axes: str) -> None:
        """An error for options that this formalism does not take."""
        if axes != "ground" and not self.axes:
            raise ModelError(f"axes={axes!r} is for formalism='momentum', not for '{self.name}'")
        if declared and self.judgement:
            raise ModelError(f"'{next(iter(declared))}' is declared small or large, but {self.judgement}")
