"""Inertia force and moment of a link for acceleration remainders, about its origin (D'Alembert, reversed).

    f = m a + U h            n = J α + ω × J ω + h × a

Sources: Sayers 1990, eqs. 6.2.7 and 6.2.8, about the joint's point in place of the mass centre.
"""

from __future__ import annotations

from armillary.algebra.vectors.scalars import Scalar, is_zero, minus, plus, times, total
from armillary.algebra.vectors.triples import Triple, add, cross_triples, joined, negative, scaled, vanishes
from armillary.mechanics.tree.inertia.link_modes import modal_remainder, modal_wrench
from armillary.mechanics.tree.kinematics import Motion, motions
from armillary.mechanics.tree.loads import AppliedLoads, Wrench, wrench_sum
from armillary.mechanics.tree.tree import Link, Tree, deformed


def net_wrenches(tree: Tree, applied: AppliedLoads) -> list[Wrench]:
    """(n, f) of every link for its acceleration remainders, less its applied wrench."""
    found: list[Wrench] = []
    for i, (link, motion) in enumerate(zip(tree.links, motions(tree), strict=True)):
        wrench = inertia_force(deformed(link), motion)
        if link.modes is not None:
            wrench = wrench_sum(wrench, modal_wrench(link.modes, motion, link.name))
        if i in applied.wrenches:
            n, f = applied.wrenches[i]
            wrench = wrench_sum(wrench, (negative(n), negative(f)))
        found.append(wrench)
    return found


def modal_remainders(tree: Tree) -> dict[int, Scalar]:
    """The rest of every mode's equation for acceleration remainders, by speed index."""
    if all(link.modes is None for link in tree.links):
        return {}
    return {
        d.index: modal_remainder(link.modes, motion, p)
        for link, motion in zip(tree.links, motions(tree), strict=True)
        if link.modes is not None
        for p, d in enumerate(link.modes.freedoms)
    }


def modal_forces(tree: Tree, applied: AppliedLoads, *, at_rest: bool = False) -> dict[int, Scalar]:
    """Right sides of the modes' equations, by speed index; ``still`` without remainders."""
    modes = [d.index for link in tree.links if link.modes is not None for d in link.modes.freedoms]
    rest = dict.fromkeys(modes, 0) if at_rest else modal_remainders(tree)
    return {k: minus(applied.forces.get(k, 0), rest[k]) for k in modes}


def inertia_force(link: Link, motion: Motion) -> Wrench:
    """(n, f) of a link."""
    h = link.first
    f = add(scaled(motion.a, link.mass), motion.times_U(h))
    n = add(_rotational(link, motion), cross_triples(h, motion.a))
    return n, f


def _rotational(link: Link, motion: Motion) -> Triple:
    """J α + ω × J ω, each element of J multiplied once.

    About x, with (y, z) following cyclically and U = α̃ + ω̃ω̃:

        J_xx α_x + (J_zz − J_yy) ω_y ω_z − J_xy U_zx + J_xz U_yx + J_yz (U_yy − U_zz)

    Where a second moment L_yy = (J_zz + J_xx − J_yy)/2 or L_zz vanishes, L_yy U_zy − L_zz U_yz is shorter.
    """
    J = link.inertia
    if all(vanishes(row) for row in J):
        return (0, 0, 0)
    out = []
    for x in range(3):
        y, z = (x + 1) % 3, (x + 2) % 3
        difference = minus(J[z][z], J[y][y])
        second_y = minus(plus(J[z][z], J[x][x]), J[y][y])
        second_z = minus(plus(J[y][y], J[x][x]), J[z][z])
        terms: list[Scalar]
        if not is_zero(difference) and not is_zero(J[x][x]) and (is_zero(second_y) or is_zero(second_z)):
            terms = [
                times(times(0.5, second_y), motion.element(z, y)) if not is_zero(second_y) else 0,
                times(times(-0.5, second_z), motion.element(y, z)) if not is_zero(second_z) else 0,
            ]
        else:
            terms = [times(J[x][x], motion.alpha[x])]
            if not is_zero(difference):
                terms.append(times(difference, motion.product(y, z)))
        if not is_zero(J[x][y]):
            terms.append(times(minus(0, J[x][y]), motion.element(z, x)))
        if not is_zero(J[x][z]):
            terms.append(times(J[x][z], motion.element(y, x)))
        if not is_zero(J[y][z]):
            terms.append(times(J[y][z], minus(motion.element(y, y), motion.element(z, z))))
        out.append(total(terms))
    return joined(out)
