"""Small and large quantities in a derivation: their reader, the last look at the results, and the error
where a declaration leaves nothing of an equation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from armillary.algebra.expression import ZERO, Expr
from armillary.algebra.nodes.node import truncated
from armillary.algebra.smallness.neglected_terms import NeglectedTerms
from armillary.algebra.smallness.truncation import Truncation
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.program.targets.targets import Targets


@dataclass(frozen=True, eq=False)
class Judged:
    """Quantities declared small (1) or large (−1), orders kept above the leading one, and dropped terms."""

    declared: dict[Expr, int] = field(default_factory=dict)
    keep: int = 1
    neglected: NeglectedTerms = field(default_factory=NeglectedTerms)

    def __bool__(self) -> bool:
        return bool(self.declared)

    def lines(self) -> list[str]:
        """Notes for readers of the equations; none for a full model."""
        if not self.declared:
            return []
        names = {order: [str(e) for e, o in self.declared.items() if o == order] for order in (1, -1)}
        lines = [f"{word}: {', '.join(names[order])}" for word, order in _WORDS if names[order]]
        lines.append(f"kept in each sum: its leading order and {self.keep} above")
        return [*lines, f"neglected: {self.neglected.summary()}"]


_WORDS = (("small", 1), ("large", -1))


def reader(declared: dict[Expr, int], keep: int) -> Undimensioned:
    """The reader of a description for the mechanics; nothing is truncated where nothing is declared."""
    if not isinstance(keep, int) or keep < 0:
        raise ModelError(f"keep={keep!r} is not a number of orders: 1, or more to keep higher ones")
    return Undimensioned(declared, Truncation(keep)) if declared else Undimensioned()


def truncated_targets(
    plain: Undimensioned, make: Callable[[], Targets]
) -> tuple[Targets, NeglectedTerms | None]:
    """Targets made under the reader's rule and freed of what no section's results need."""
    if plain.truncation is None:
        return make(), None
    truncation = Truncation(plain.truncation.keep)
    with truncated(truncation):
        made = make()
        columns = truncation.refined([c.expression for c in made.columns])
        made = replace(
            made,
            rates=tuple(truncation.refined(made.rates)),
            columns=tuple(replace(c, expression=e) for c, e in zip(made.columns, columns, strict=True)),
        )
    return made, truncation.neglected


def check_vanished(judged: Judged, wanted: Targets, full: Callable[[], Targets]) -> None:
    """An error where the rate of a speed or state is zero in the small model and not in the full one."""
    start = len(wanted.coordinates)
    lost = [i for i, rate in enumerate(wanted.rates[start:], start=start) if rate is ZERO]
    if not judged or not lost:
        return
    rates = full().rates
    for i in lost:
        if rates[i] is not ZERO:
            s = wanted.integrated[i]
            what = "state" if s in wanted.states else "speed"
            raise ModelError(_vanished(f"the equation of {what} '{s.data.name}' vanishes", judged))


def _vanished(what: str, judged: Judged) -> str:
    lines = "\n".join(f"  {line}" for line in judged.lines())
    return (
        f"{what}, once negligible terms are dropped\n{lines}\n"
        f"  remedy: keep more orders, derive(keep={judged.keep + 1}), or do not declare all of these"
    )


def explain_singular(error: ModelError, judged: Judged, full: Callable[[], object]) -> ModelError:
    """The error itself, or where the full model has none, the one that blames the declarations."""
    if not judged:
        return error
    try:
        full()
    except ModelError:
        return error
    return ModelError(_vanished(f"the full model has a solution, but {error}", judged))
