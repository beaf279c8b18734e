"""Links that gears tie together, eliminated as one group in the recursion.

With x the independent unknowns of a group, k the constant factors of its joints' accelerations in them, and
(α, a) the acceleration of the hub on which the group hangs, beyond the remainders,

    M x + Wᵀ (α, a) = f      W = Σ_d k_d U_d      M_rs = Σ_d k_dr s_d·(own_s + below_s) + k_ds s_d·below_r

U_d is the column of the articulated inertia beyond joint d for a unit acceleration along it, carried to the
hub; own_s that of a link's own joints for unknown s, and below_s what arrives there from links beyond it. The
inertia beyond the group is articulated already. Eliminating x leaves I − W M⁻¹ Wᵀ and p + W M⁻¹ f on the hub,
as one degree of freedom does in recursive.py.

Source: Jain (2012), constraint embedding, with Kane's remainders taken out beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, minus, plus, times
from armillary.algebra.vectors.triples import ZEROS, Triple, named, scaled
from armillary.mechanics.constraints.rows import Cluster, Gears
from armillary.mechanics.formalisms.contribution import HUB, left_at_hub
from armillary.mechanics.tree.articulated_inertia import Articulated
from armillary.mechanics.tree.loads import Wrench, component_along, wrench_at_parent, wrench_sum
from armillary.mechanics.tree.mass_matrix import unknown_freedoms
from armillary.mechanics.tree.tree import Freedom, Tree
from armillary.mechanics.tree.uncouple import Eliminated, ImplicitEquations, eliminate

_NOTHING: Wrench = (ZEROS, ZEROS)


class GearGroup:
    """A group under elimination: link by link from the leaves, then as a whole."""

    def __init__(
        self, tree: Tree, cluster: Cluster, gears: Gears, forces: Mapping[int, Scalar], at_rest: bool
    ) -> None:
        self.tree, self.cluster, self.gears, self.forces, self.at_rest = tree, cluster, gears, forces, at_rest
        self.matrix: dict[tuple[int, int], Scalar] = {}
        self.force: dict[int, Scalar] = dict.fromkeys(cluster.unknowns, 0)
        self.arrived: dict[int, dict[int, Wrench]] = {}  # by link and unknown
        self.eliminated: Eliminated | None = None

    def gather(self, index: int, body: Articulated) -> None:
        """The equations of a link's joints, with the articulated inertia at the link."""
        joints = unknown_freedoms(self.tree.links[index])
        below = self.arrived.pop(index, {})
        own: dict[int, Wrench] = {}
        for d in joints:
            column = body.column(d)
            value = minus(self.forces.get(d.index, 0), component_along(d, body.n, body.f))
            value = value if self.at_rest else minus(value, d.armature_effort)
            for s, k in self.shares(d).items():
                own[s] = wrench_sum(own.get(s, _NOTHING), _times(column, k))
                self.force[s] = plus(self.force[s], times(k, value))
        for d in joints:
            self._add_rows(d, own, below)
        self._carry(index, own, below)

    def shares(self, d: Freedom) -> Mapping[int, Scalar]:
        """Factors of a joint's acceleration in the unknowns."""
        return self.gears.factors.get(d.index, {d.index: 1})

    def _add_rows(self, d: Freedom, own: Mapping[int, Wrench], below: Mapping[int, Wrench]) -> None:
        for r, k in self.shares(d).items():
            for s, wrench in own.items():
                if s >= r:
                    self._add(r, s, times(k, component_along(d, *wrench)))
            for s, wrench in below.items():
                self._add(r, s, times(times(k, component_along(d, *wrench)), 2 if r == s else 1))
            for s, other in self.shares(d).items():
                if s >= r:
                    self._add(r, s, times(d.armature, times(k, other)))

    def _add(self, r: int, s: int, value: Scalar) -> None:
        key = min(r, s), max(r, s)
        self.matrix[key] = plus(self.matrix.get(key, 0), value)

    def _carry(self, index: int, own: Mapping[int, Wrench], below: Mapping[int, Wrench]) -> None:
        parent = self.tree.links[index].parent
        if parent < 0:
            return
        for s in sorted({*own, *below}):
            label = f"W_{self.tree.links[index].name}_{s + 1}"
            n, f = wrench_sum(own.get(s, _NOTHING), below.get(s, _NOTHING))
            there = wrench_at_parent(self.tree, index, named(n, f"{label}_n"), named(f, f"{label}_f"))
            known = self.arrived.setdefault(parent, {})
            known[s] = wrench_sum(known.get(s, _NOTHING), there)

    def eliminate(self) -> Articulated | None:
        """Elimination of the unknowns: the articulated inertia left on the hub, None on the ground."""
        hub = self.cluster.hub
        matrix = {key: fn.named(x, f"M_{key[0] + 1}_{key[1] + 1}") for key, x in self.matrix.items()}
        force = {s: fn.named(x, f"e_{s + 1}") for s, x in self.force.items()}
        names = {d.index: d.name for i in self.cluster.links for d in self.tree.links[i].freedoms}
        if hub < 0:
            self.eliminated = eliminate(ImplicitEquations(matrix, force, names), "fewest neighbours")
            return None
        for s, (n, f) in self.arrived.get(hub, {}).items():
            arrived = (*named(f, f"W_{s + 1}_f"), *named(n, f"W_{s + 1}_n"))
            matrix |= {(key, s): x for key, x in zip(HUB, arrived, strict=True)}
        force |= dict.fromkeys(HUB, 0)
        self.eliminated = eliminate(ImplicitEquations(matrix, force, names), "fewest neighbours", keep=HUB)
        return left_at_hub(self.eliminated)

    def solve(self, alpha: Triple, a: Triple) -> dict[int, Scalar]:
        """x of all joints of the group by index, without known parts, from the acceleration of the hub."""
        assert self.eliminated is not None
        hub = dict(zip(HUB, (*a, *alpha), strict=True)) if self.cluster.hub >= 0 else {}
        x = self.eliminated.solution(hub)
        for i in self.cluster.links:
            for d in unknown_freedoms(self.tree.links[i]):
                if d.index in self.gears.factors:
                    value: Scalar = 0
                    for s, k in self.shares(d).items():
                        value = plus(value, times(k, x[s]))
                    x[d.index] = fn.named(value, f"x_{d.index + 1}")
        return x


def _times(a: Wrench, k: Scalar) -> Wrench:
    return scaled(a[0], k), scaled(a[1], k)
