"""The formalisms, each one object: a new one is a function of a Derivation and a line of the list here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from armillary.algebra.arguments import one_of
from armillary.algebra.expression import Expr
from armillary.errors import ModelError
from armillary.model.description import Description
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import Derivation
from armillary.program.formalisms.tree import derive_tree


@dataclass(frozen=True, eq=False)
class Formalism:
    """A way to equations of motion: what it accepts and how it derives."""

    name: str
    equations: Callable[[Derivation], DerivedEquations]
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


# Formalisms that a derivation does not use are not imported: a tenth of a second when a program starts.


def _momentum(d: Derivation) -> DerivedEquations:
    from armillary.program.formalisms.momentum import derive_momentum

    return derive_momentum(d)


def _redundant(d: Derivation) -> DerivedEquations:
    from armillary.program.formalisms.redundant import derive_redundant

    return derive_redundant(d)


def _jpl(d: Derivation, formulation: str) -> DerivedEquations:
    from armillary.program.formalisms.jpl import derive_appendages

    return derive_appendages(d, formulation)


def _tree(name: str, elimination: bool = False) -> Formalism:
    return Formalism(name, partial(derive_tree, formalism=name), contacts=True, elimination=elimination)


def _formulation(name: str) -> Formalism:
    judgement = (
        f"formalism '{name}' drops what JPL's program drops, nothing else; use formalism='kane' or "
        "'recursive', or derive(small=False)"
    )
    return Formalism(name, partial(_jpl, formulation=name), judgement, partial_modes=name == "mbdyfr")


AUTO = _tree("auto")  # the cheapest of Kane's equations and the recursion
FORMALISMS: dict[str, Formalism] = {
    f.name: f
    for f in (
        _tree("kane", elimination=True),
        _tree("recursive"),
        _tree("back_substitution"),
        Formalism(
            "momentum",
            _momentum,
            "momenta as states keep all terms: a momentum is not as small as its speed; use formalism='kane' "
            "or 'recursive', or derive(small=False)",
            axes=True,
        ),
        Formalism("redundant", _redundant),
        _formulation("mbdyfr"),
        _formulation("mbdyfn"),
        _formulation("mbdyfl"),
    )
}


def formalism_named(name: str) -> Formalism:
    """The formalism of this name, or "auto"."""
    known = {"auto": AUTO, **FORMALISMS}
    one_of(name, known, "unknown formalism ", ModelError)
    return known[name]
