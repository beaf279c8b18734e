"""The sequence of passes, with what each achieved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from armillary.algebra.expression import Expr
from armillary.program.cost import Operations, count
from armillary.program.passes import Constants, Roots, factor, hoist, inline, reciprocals, share


@dataclass(frozen=True)
class Gain:
    """Operations before and after a pass."""

    name: str
    before: Operations
    after: Operations


def improve(roots: Sequence[Expr], constants: Constants) -> tuple[Roots, list[Gain]]:
    """The roots after all passes, and the record of what each gained.

    ``inline`` and ``hoist`` always stay, as the later ones build on them; a search for factors or pairs that finds nothing
    is undone.
    """
    gains: list[Gain] = []
    current = list(roots)
    passes: list[tuple[str, Callable[[Roots], Roots], bool]] = [
        ("inline", inline, True),
        ("hoist", lambda r: hoist(r, constants), True),
        ("reciprocals", reciprocals, False),
        ("factor", factor, False),
        ("share", share, False),
        ("inline", inline, False),
        ("hoist", lambda r: hoist(r, constants), True),
        ("factor", factor, False),
        ("share", share, False),
    ]
    before = count(current)
    for name, apply, always in passes:
        changed = apply(current)
        after = count(changed)
        if always or after.weight < before.weight:
            gains.append(Gain(name, before, after))
            current, before = changed, after
    return current, gains
