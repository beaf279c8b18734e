"""Whether every motion moves some mass with the parameters of a run, which may differ from their defaults.

A sum of masses or inertias may vanish at any values (1 − k at k = 1), so that each set of values that the
derivation did not use is checked numerically. The tree is built once. Many sets are checked together, at
one place: a set with which M is regular there needs no more. Only the others are judged one by one, as the
derivation does it, at several places and with the constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from armillary.algebra.derivatives.calculus import NumericValue
from armillary.algebra.expression import Expr
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.constraints.reduction import initial_configuration
from armillary.mechanics.constraints.rows import ConstraintRow, rows
from armillary.mechanics.masses.mass_sweep import SINGULAR, active, sweep
from armillary.mechanics.masses.massless import (
    CLEAR,
    Masses,
    at_place,
    inertial_parameters,
    own_share,
    places,
    singular_mass_text,
    tree_masses,
)
from armillary.model.description import Description
from armillary.model.units import default_value

_AT_ONCE = 4096  # sets of values in one sweep
_MOST = 2**17  # sets of a batch, seconds of work: of more, only those with a zero are checked
_SINGLE = 100  # sets of a batch that are judged one by one
_KEPT = 256  # results of single sets


class RunMasses:
    """Mass checks of one system with many sets of parameters, which are in the model's units, by name."""

    def __init__(self, system: Description) -> None:
        self.system = system
        self._known: dict[tuple[tuple[str, float], ...], str] = {}

    @cached_property
    def defaults(self) -> dict[str, float | None]:
        """Defaults of the parameters on which masses, inertias and places of bodies depend, by name."""
        own = inertial_parameters(self.system)
        return {name: default_value(node) for name, node in self.system.parameters.items() if name in own}

    @cached_property
    def _tree(self) -> tuple[Masses, Undimensioned]:
        return tree_masses(self.system, initial_configuration(self.system))

    @cached_property
    def _places(self) -> dict[Expr, NumericValue]:
        return places(self.system, self._tree[1])

    @cached_property
    def _rows(self) -> list[ConstraintRow]:
        return rows(self.system, self._tree[1])

    def why_singular(self, values: Mapping[str, float]) -> str:
        """The joints that can move without moving any mass, in words; "" where there are none.

        Loops are not closed for this: near by, constraints have the same rank or a higher one.
        """
        if all(values[name] == default for name, default in self.defaults.items() if name in values):
            return ""  # seen by the derivation
        key = tuple(values.items())
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = self._judged(values)
        return self._known[key]

    def _judged(self, values: Mapping[str, float]) -> str:
        masses = self._tree[0]
        numbers = self._places | self._named(values)
        if masses.own_inertia_suffices(numbers) or not (left := masses.massless_motions(numbers, self._rows)):
            return ""
        return singular_mass_text(self.system, left)

    def _named(self, values: Mapping[str, NumericValue]) -> dict[Expr, NumericValue]:
        return {self._tree[1](self.system.parameters[name]): value for name, value in values.items()}

    def all_singular(self, values: Mapping[str, NumericValue], runs: int) -> dict[int, str]:
        """The results of ``why_singular`` by run number; values that differ between them are arrays.

        With very many suspects the later ones share the words of the first; where constraints hold motions
        without mass in all of them, later ones are checked only where a parameter is zero.
        """
        varied = [name for name in self.defaults if np.ndim(values.get(name, 0.0))]
        fixed = {name: value for name, value in values.items() if not np.ndim(value)}
        if not varied:
            why = self.why_singular({name: float(np.ravel(value)[0]) for name, value in values.items()})
            return dict.fromkeys(range(runs), why) if why else {}
        table = np.stack([values[name] for name in varied], axis=1)
        sets, chosen, where = np.unique(table, axis=0, return_index=True, return_inverse=True)
        found: dict[int, str] = {}
        first = ""
        looked = np.flatnonzero(np.any(sets == 0.0, axis=1)) if len(sets) > _MOST else np.arange(len(sets))
        suspects = self._suspects(fixed, dict(zip(varied, sets.T, strict=True)), looked)
        for count, i in enumerate(suspects.tolist()):
            if count < _SINGLE or (self.system.constraints and np.any(sets[i] == 0.0)):
                k = chosen[i]  # a run with these values
                why = self.why_singular(
                    {name: float(x[k] if np.ndim(x) else x) for name, x in values.items()}
                )
            else:
                why = "" if self.system.constraints else first
            first = first or why
            if why:
                found[i] = why
        where = where.reshape(-1)
        return {int(k): found[int(where[k])] for k in np.flatnonzero(np.isin(where, list(found)))}

    def _suspects(
        self, fixed: Mapping[str, NumericValue], own: Mapping[str, np.ndarray], looked: np.ndarray
    ) -> np.ndarray:
        """Those of the sets, by number, with which M is singular at one place, or not known."""
        found = [np.empty(0, dtype=int)]
        here = at_place(self._places, 0) | self._named(fixed)
        masses = self._tree[0]
        flexible = any(link.modes is not None for link in masses.tree.links)
        for i0 in range(0, len(looked), _AT_ONCE):
            left = looked[i0 : i0 + _AT_ONCE]
            part = here | self._named({name: x[left] for name, x in own.items()})
            if not flexible:
                inertias = zip(masses.tree.links, masses.links.own_inertias(part), strict=True)
                found_shares = [own_share(active(link)[1], _once(E)) for link, E in inertias]
                shares = [np.broadcast_to(share, len(left)) for share in found_shares]
                left = left[~(np.min(shares, axis=0) > CLEAR)]
            if left.size:
                part = here | self._named({name: x[left] for name, x in own.items()})
                weakest = np.min([p.share for p in sweep(masses.links, part)], axis=0)
                found.append(left[~(weakest >= SINGULAR)])
        return np.concatenate(found)


def _once(E: np.ndarray) -> np.ndarray:
    """Equal matrices as one."""
    return E[:1] if (E[:1] == E).all() else E
