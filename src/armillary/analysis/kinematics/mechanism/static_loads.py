"""Loads on a mechanism at rest: generalised forces along all speeds, and the efforts that hold it.

f_r = −τ_r(q, u = 0, u̇ = 0)        τ: the inverse dynamics of the tree without its constraints
"""

from __future__ import annotations

from dataclasses import replace

from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.units import FORCE, LENGTH, MOMENT, ONE
from armillary.algebra.walk import transform
from armillary.analysis.kinematics.mechanism.kinematics import KinematicQuantity, Kinematics
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.inverse_dynamics import efforts
from armillary.mechanics.tree.loads import applied_loads
from armillary.mechanics.tree.regroup import regroup


def generalised_forces(kinematics: Kinematics) -> list[Expr]:
    """f along the free speeds, of all loads with the system at rest."""
    k, system = kinematics, kinematics.system
    tree = build_tree(system, k.plain, given=k.given, split_free_bodies=True)
    tree = regroup(tree.with_degrees(lambda d: replace(d, rate=0, dependent=False)))
    tau = efforts(tree, applied_loads(system, tree, k.plain))
    at_rest = dict.fromkeys([*k.u, *k.a], ZERO)
    found = [as_expr(tau[i]) for i, u in enumerate(system.speeds) if u not in k.given]
    return [-f for f in transform(found, at_rest.get)]


def effort_quantity(kinematics: Kinematics, driven: KinematicQuantity, force: Expr) -> KinematicQuantity:
    """The force or moment with which a driven quantity is held, positive along it.

    ``force`` works along the quantity in its stated units; the effort, along that in the model's.
    """
    kind = {LENGTH: FORCE, ONE: MOMENT}.get(driven.dimension) if driven.dimension is not None else None
    units = kinematics.system.units.unit_text(kind) if kind is not None else ""
    about = f"effort that holds {driven.name} under static loads"
    return KinematicQuantity(f"effort of {driven.name}", units, about, force * driven.scale)
