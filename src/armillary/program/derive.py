"""From a description to equations: the list of formalisms, the pipeline, and a comparison of costs."""

from __future__ import annotations

from functools import partial

from armillary.algebra.arguments import flag, one_of, text
from armillary.errors import ArmillaryError, ModelError
from armillary.mechanics.constraints.reduction import Configuration, initial_configuration
from armillary.mechanics.massless import check_masses
from armillary.model.description import Description
from armillary.model.parameter_meanings import parameter_units
from armillary.model.quantities import judgements
from armillary.model.snapshot import snapshot
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import Clock, Derivation, Formalism, derivation
from armillary.program.formalisms.jpl import MBDYFL, MBDYFN, MBDYFR
from armillary.program.formalisms.momentum import MOMENTUM
from armillary.program.formalisms.redundant import REDUNDANT
from armillary.program.formalisms.tree_formalisms import AUTO, BACK_SUBSTITUTION, KANE, RECURSIVE
from armillary.program.passes.graph import Operations
from armillary.text_tables import html_table

_ALL = (KANE, RECURSIVE, BACK_SUBSTITUTION, MOMENTUM, REDUNDANT, MBDYFR, MBDYFN, MBDYFL)
FORMALISMS: dict[str, Formalism] = {f.name: f for f in _ALL}


def find_formalism(name: str) -> Formalism:
    """Return the formalism with this name, which may be "auto"."""
    known = {AUTO.name: AUTO, **FORMALISMS}
    one_of(name, known, "unknown formalism ", ModelError)
    return known[name]


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
    """Derive the equations of motion by the named formalism; "auto" tries several and takes the cheapest.

    "auto" does not choose the formalisms of momenta and redundant coordinates, whose states are not speeds.
    Unless ``small`` is False, sums with quantities declared small or large are truncated to their leading
    order and ``keep`` orders above it. ``axes`` are the axes of angular momenta that are states.
    ``effort="high"`` searches for fewer operations, up to a minute (sections.py), for the first configuration
    only. If ``named``, the speeds of the description are states, even where Free(velocity="auto") allows
    others. If ``check``, the program is tested after every pass; see checker.py.
    """
    regroup, small = flag(regroup, "regroup=", ModelError), flag(small, "small=", ModelError)
    check = flag(check, "check=", ModelError)
    text(axes, "axes=", ModelError)
    if effort not in EFFORTS:
        raise ModelError(f"effort={effort!r} is none of {', '.join(EFFORTS)}")
    system = snapshot(system)
    with derivation():
        clock = Clock()
        chosen = find_formalism(formalism)
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


# The cost of a system by every formalism that can derive it, in one table.


class Costs(dict[str, Operations | str]):
    """Operations of one evaluation by formalism, or the reason why it cannot be used; prints as a table."""

    def __str__(self) -> str:
        lines = [f"{'formalism':<20}{'+':>8}{'×':>8}{'÷':>6}{'functions':>12}"]
        for name, *counts, refused in self._rows():
            a, m, d, f = counts
            lines.append(f"{name:<20}  {refused}" if refused else f"{name:<20}{a:>8}{m:>8}{d:>6}{f:>12}")
        return "\n".join(lines)

    __repr__ = __str__

    def _rows(self) -> list[list[str]]:
        rows = []
        for name, cost in self.items():
            if isinstance(cost, str):
                rows.append([name, *[""] * 4, f"refused: {cost.splitlines()[0]}"])
            else:
                counts = (cost.additions, cost.multiplications, cost.divisions, cost.functions)
                rows.append([name, *map(str, counts), ""])
        return rows

    def _repr_html_(self) -> str:
        return html_table(["formalism", "+", "×", "÷", "functions", ""], self._rows(), "<>>>>")


def compare(system: Description) -> Costs:
    """Return the costs of the system by all formalisms."""
    found = Costs()
    for name in FORMALISMS:
        try:
            found[name] = derive(system, name).operations
        except ArmillaryError as error:
            found[name] = str(error)
    return found
