"""From a description to equations: the pipeline, as a list of stages."""

from __future__ import annotations

from functools import partial

from armillary.algebra.arguments import flag, text
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Configuration, initial_configuration
from armillary.mechanics.masses.massless import check_masses
from armillary.model.description import Description
from armillary.model.judgement import judgements
from armillary.model.parameter_meanings import parameter_units
from armillary.model.recording.snapshot import snapshot
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import Clock, Derivation, derivation
from armillary.program.formalisms.registry import formalism_named

EFFORTS = ("normal", "high")


def derive(
    system: Description,
    formalism: str = "auto",
    *,
    regroup: bool = True,
    small: bool = True,
    keep: int = 1,
    axes: str = "ground",
    effort: str = "normal",
    configuration: Configuration | None = None,
    named: bool = False,
    check: bool = False,
) -> DerivedEquations:
    """The equations of motion of a system, by the named formalism or the cheapest of those worth trying.

    Momenta and redundant coordinates have states of their own, so "auto" does not choose them.
    What is declared small or large is used, unless ``small`` is False: sums keep their leading order and
    ``keep`` orders above it. ``axes`` are those of angular momenta as states.
    With ``effort="high"`` fewer operations are searched for, up to a minute (search.py); other
    configurations than the first are derived without.
    With ``named`` the speeds of the description are states, whatever Free(velocity="auto") leaves open.
    With ``check`` the program is tested after every pass; see checker.py.
    """
    regroup, small = flag(regroup, "regroup=", ModelError), flag(small, "small=", ModelError)
    check = flag(check, "check=", ModelError)
    text(axes, "axes=", ModelError)
    if effort not in EFFORTS:
        raise ModelError(f"effort={effort!r} is none of {', '.join(EFFORTS)}")
    system = snapshot(system)
    with derivation():
        clock = Clock()
        chosen = formalism_named(formalism)
        chosen.check_system(system)
        units = parameter_units(system)
        clock.stage("check units")
        first = configuration or initial_configuration(system)
        massless = check_masses(system, first)
        clock.stage("check masses")
        declared = judgements(system) if small else {}
        chosen.check_options(declared, axes)
        return chosen.derive(
            Derivation(
                formalism=chosen,
                system=system,
                declared=declared,
                configuration=first,
                units=units,
                massless=massless,
                again=partial(derive, system, configuration=configuration),
                regroup=regroup,
                small=small,
                keep=keep,
                axes=axes,
                named=named,
                effort=effort if configuration is None else EFFORTS[0],
                check=check,
                clock=clock,
            )
        )
