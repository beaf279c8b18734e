"""Loads, velocities, acceleration remainders and inertia forces of the links, each in its own axes.

Loads are wrenches on links, or direct contributions to generalised forces. Opposite moments on two bodies,
and opposite forces along one line, do no work on the motion that both bodies share. Such a balanced load
contributes only to the generalised forces of the joints on the path between the bodies: a torque motor costs
one addition at any depth of the tree. Loads from the ground, and forces whose reaction is not on the same
line of action, are added to the wrenches of links, which the recursions carry to the ground anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from armillary.algebra import functions as fn
from armillary.algebra.triples import (
    AXES,
    ZEROS,
    Matrix,
    Scalar,
    ScalarMap,
    Triple,
    add,
    combined,
    cross_triples,
    is_zero,
    joined,
    matrix_vector,
    minus,
    named,
    negative,
    plus,
    scaled,
    sum_of_products,
    times,
    total,
    unit,
    vanishes,
)
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.tree.tree import (
    LINEAR,
    Freedom,
    Link,
    Tree,
    deformed_link,
    modal_remainder,
    modal_wrench,
)
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description, Load
from armillary.model.space.attraction import all_loads
from armillary.model.space.attraction import modal_forces as field_forces

Wrench = tuple[Triple, Triple]  # moment about the link's origin, force, in the link's axes


@dataclass(frozen=True, eq=False)
class AppliedLoads:
    """External wrenches by link, and generalised forces by speed index."""

    wrenches: dict[int, Wrench]
    forces: dict[int, Scalar]

    def map(self, f: ScalarMap) -> AppliedLoads:
        """Return the loads with every scalar passed through a function."""
        wrenches = {i: (joined(map(f, n)), joined(map(f, force))) for i, (n, force) in self.wrenches.items()}
        return AppliedLoads(wrenches, {i: f(x) for i, x in self.forces.items()})


def applied_loads(
    system: Description,
    tree: Tree,
    plain: Undimensioned | None = None,
    *,
    whole: bool = False,
    loads: Iterable[Load] | None = None,
) -> AppliedLoads:
    """Return all loads of a system, or only ``loads``, on its tree; if ``whole``, all loads become wrenches
    on links.
    """
    plain = plain or Undimensioned()
    found = loads_on_tree(all_loads(system) if loads is None else loads, tree, plain, whole=whole)
    for speed, value in field_forces(system).items():
        index = system.speeds.index(speed)
        found.forces[index] = plus(found.forces.get(index, 0), plain(value))
    return found


def loads_on_tree(
    loads: Iterable[Load], tree: Tree, plain: Undimensioned, *, whole: bool = False
) -> AppliedLoads:
    """Return loads as wrenches on links and generalised forces; if ``whole``, as wrenches only."""
    wrenches: dict[int, Wrench] = {}
    forces: dict[int, Scalar] = {}
    for load in loads:
        first = _load_end(load, load.body, tree, 1, plain)
        if load.reaction_body is None or tree.placements[load.reaction_body.name].link < 0:
            _add_wrench(wrenches, *first)
            continue
        second = _load_end(load, load.reaction_body, tree, -1, plain)
        if load.balanced and first[0] >= 0 and not whole:
            _add_path_forces(tree, first, second, forces)
        else:
            _add_wrench(wrenches, *first)
            _add_wrench(wrenches, *second)
    return AppliedLoads(wrenches, forces)


def load_wrenches(load: Load, tree: Tree, plain: Undimensioned) -> list[tuple[int, Wrench]]:
    """Return (link, wrench) of both ends of a load."""
    ends = [_load_end(load, load.body, tree, 1, plain)]
    if load.reaction_body is not None:
        ends.append(_load_end(load, load.reaction_body, tree, -1, plain))
    return ends


def _load_end(load: Load, body: Body, tree: Tree, sign: int, plain: Undimensioned) -> tuple[int, Wrench]:
    """Return (link, wrench) of one end of a load."""
    placement = tree.placements[body.name]
    own = [plain(x) for x in load.vector.components(body.frame)]
    vector = matrix_vector(placement.rotation, scaled(own, sign))
    if load.kind == "moment":
        return placement.link, (named(vector, load.name), ZEROS)
    vector = named(vector, load.name)
    point = own_point(load, body, sign)
    if point is not None:
        coordinates = point.coordinates
    else:
        assert load.at is not None
        coordinates = motion.position(load.at, body.origin).components(body.frame)
    arm = placement.point(joined(plain(x) for x in coordinates))
    return placement.link, (named(cross_triples(arm, vector), f"{load.name}_m"), vector)


def own_point(load: Load, body: Body, sign: int) -> Point | None:
    """Return the point at which one end of a force acts if it is a point of this body, else None."""
    point = load.at if sign > 0 else load.reaction_at
    return point if point is not None and point.body is body else None


def _add_wrench(wrenches: dict[int, Wrench], link: int, wrench: Wrench) -> None:
    if link >= 0:
        wrenches[link] = wrench_sum(wrenches.get(link, (ZEROS, ZEROS)), wrench)


def wrench_sum(a: Wrench, b: Wrench) -> Wrench:
    """Return the sum of two wrenches on one link."""
    return add(a[0], b[0]), add(a[1], b[1])


def _add_path_forces(
    tree: Tree, first: tuple[int, Wrench], second: tuple[int, Wrench], forces: dict[int, Scalar]
) -> None:
    above = set(tree.path_to_ground(first[0])) & set(tree.path_to_ground(second[0]))
    for link, wrench in (first, second):
        here, (n, f) = link, wrench
        while here >= 0 and here not in above:
            part = tree.links[here]
            for freedom in part.freedoms:
                value = component_along(freedom, n, f)
                forces[freedom.index] = plus(forces.get(freedom.index, 0), value)
            for mode, value in components_along_modes(tree, here, (n, f)).items():
                forces[mode] = plus(forces.get(mode, 0), value)
            n, f = wrench_at_parent(tree, here, n, f)
            here = part.parent


def component_along(freedom: Freedom, n: Triple, f: Triple) -> Scalar:
    """Return the component of a wrench along a degree of freedom."""
    return times((f if freedom.direction >= LINEAR else n)[freedom.direction % 3], freedom.sign)


def twist_dot(column: tuple[Triple, Triple], wrench: Wrench) -> Scalar:
    """φ·w = θ·n + ψ·f for a twist φ = (θ, ψ) and a wrench w = (n, f)."""
    turning = sum_of_products(zip(column[0], wrench[0], strict=True))
    return plus(turning, sum_of_products(zip(column[1], wrench[1], strict=True)))


def components_along_modes(tree: Tree, index: int, wrench: Wrench) -> dict[int, Scalar]:
    """Return the components of a wrench on a flexed link along the modes that move it, by speed index."""
    link = tree.links[index]
    modes = tree.links[link.carrier].modes if link.carrier >= 0 else None
    if modes is None:
        return {}
    return {
        d.index: twist_dot(column, wrench) for d, column in zip(modes.freedoms, link.columns, strict=True)
    }


def wrench_at_parent(tree: Tree, index: int, n: Triple, f: Triple) -> Wrench:
    """Return a wrench on a link as a wrench on its parent: about the parent's origin, in its axes."""
    link = tree.links[index]
    f = named(link.rotation.to_parent(f), f"f_{link.name}")
    n = add(link.rotation.to_parent(n), cross_triples(link.offset, f))
    return named(n, f"n_{link.name}"), f


def accumulated_wrenches(
    tree: Tree, own: Sequence[Wrench], prefix: str = "", known: Mapping[int, Scalar] | None = None
) -> list[Wrench]:
    """Return each link's wrench plus the wrenches of all links beyond it, summed from the leaves.

    ``known`` has components along freedoms, by speed index; where a component is known, it replaces the sum.
    """
    found = list(own)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        six = [*found[i][0], *found[i][1]]
        for d in link.freedoms:
            if known and d.index in known:
                six[d.direction] = times(known[d.index], d.sign)
        n, f = (named(joined(v), f"{prefix}{x}_{link.name}") for v, x in ((six[:3], "n"), (six[3:], "f")))
        found[i] = (n, f)
        if link.parent >= 0:
            found[link.parent] = wrench_sum(found[link.parent], wrench_at_parent(tree, i, n, f))
    return found


# Velocities and acceleration remainders of the links, each in its own axes, parents first.
#
# The acceleration of any link is Σ (partial velocity)·u̇ plus a remainder that depends on coordinates and
# speeds (Sayers 1990, eq. 6.3.6). Gravity is treated as an upward acceleration of the ground, so weight needs
# no further terms. For a free body on the ground, the unknown accelerations are relative to free fall, and so
# are the remainders.


@dataclass(frozen=True, eq=False)
class Motion:
    """Angular velocity w of a link, and remainders of its angular acceleration (alpha) and of its origin's
    acceleration (a), in link axes.
    """

    name: str
    w: Triple
    alpha: Triple
    a: Triple

    _made: dict[tuple[str, int, int], Scalar] = field(default_factory=dict, init=False, repr=False)

    @property
    def products(self) -> Matrix:
        """ω_i ω_j."""
        return joined(joined(self.product(i, j) for j in range(3)) for i in range(3))

    @property
    def U(self) -> Matrix:
        """U = α̃ + ω̃ ω̃; U r is the acceleration remainder of a point at r from the origin, relative to it."""
        return joined(joined(self.element(i, j) for j in range(3)) for i in range(3))

    def times_U(self, r: Triple) -> Triple:
        """Return U r; elements of U that multiply known zeros of r are not computed."""
        there = [j for j in range(3) if not is_zero(r[j])]
        return joined(sum_of_products([(self.element(i, j), r[j]) for j in there]) for i in range(3))

    def product(self, i: int, j: int) -> Scalar:
        """Return ω_i ω_j, which is made at its first use."""
        i, j = min(i, j), max(i, j)
        return self._name_component("ww", i, j, lambda: times(self.w[i], self.w[j]))

    def element(self, i: int, j: int) -> Scalar:
        """Return U_ij, which is made at its first use."""
        return self._name_component("U", i, j, lambda: self._element(i, j))

    def _element(self, i: int, j: int) -> Scalar:
        k = 3 - i - j  # the third axis of an element off the diagonal
        if i == j:
            y, z = (n for n in range(3) if n != i)
            return minus(0, plus(self.product(y, y), self.product(z, z)))
        signed = plus if (i - j) % 3 == 1 else minus
        return signed(self.product(i, j), self.alpha[k])

    def _name_component(self, what: str, i: int, j: int, value: Callable[[], Scalar]) -> Scalar:
        found = self._made.get((what, i, j))
        if found is None:
            found = fn.named(value(), f"{what}_{self.name}_{AXES[i]}{AXES[j]}")
            self._made[what, i, j] = found
        return found


def motions(tree: Tree) -> list[Motion]:
    """Return the motion of every link."""
    ground = Motion("ground", ZEROS, ZEROS, scaled(tree.gravity, -1))
    found: list[Motion] = []
    for link in tree.links:
        found.append(_motion(link, ground if link.parent < 0 else found[link.parent], tree))
    return found


def _motion(link: Link, parent: Motion, tree: Tree) -> Motion:
    if link.step == "flexed":
        return _flexible_motion(link, parent, tree)
    relative = _speeds(link, range(3))
    carried = named(link.rotation.to_child(parent.w), f"wp_{link.name}")
    w = named(add(carried, relative), f"w_{link.name}")
    # ω × relative = ω_parent × relative. With one freedom w replaces ω_parent, whose components across the
    # axis are the same.
    gyric = cross_triples(carried if len(link.freedoms) > 1 else w, relative)
    known = _rates(link, range(3))
    alpha = named(add(link.rotation.to_child(parent.alpha), gyric, known), f"alpha_{link.name}")
    if link.step == "drift":
        return Motion(
            link.name,
            w,
            alpha,
            named(_drift(link, parent, relative, carried, tree), f"a_{link.name}"),
        )
    place = add(parent.a, parent.times_U(link.offset))
    a = link.rotation.to_child(named(place, f"aj_{link.name}"))
    if link.step == "slide":
        slide = _speeds(link, range(LINEAR, LINEAR + 3))
        a = add(a, scaled(cross_triples(w, slide), 2), _rates(link, range(LINEAR, LINEAR + 3)))
    return Motion(link.name, w, alpha, named(a, f"a_{link.name}"))


def _flexible_motion(link: Link, parent: Motion, tree: Tree) -> Motion:
    """Return the motion of a link that is moved by modes.

    α = Rᵀα_p + (Rᵀω_p) × ω_r + Θ̇ξ        a = Rᵀ(a_p + U_p r) + 2 (Rᵀω_p) × v_r + v̇_r

    ω_r = Θξ and v_r = Ψξ are the link's velocities relative to its parent. Their rates at constant ξ are
    ``bias``, part of Θ̇ξ and v̇_r.
    """
    modes = tree.links[link.carrier].modes
    assert modes is not None
    xi, rates = modes.speeds, modes.known_rates
    turning, moving = [c[0] for c in link.columns], [c[1] for c in link.columns]
    relative = named(combined(turning, xi), f"wr_{link.name}")
    carried = named(link.rotation.to_child(parent.w), f"wp_{link.name}")
    alpha = add(
        link.rotation.to_child(parent.alpha),
        cross_triples(carried, relative),
        link.bias[0],
        combined(turning, rates),
    )
    place = named(add(parent.a, parent.times_U(link.offset)), f"aj_{link.name}")
    a = add(
        link.rotation.to_child(place),
        scaled(cross_triples(carried, named(combined(moving, xi), f"vr_{link.name}")), 2),
        link.bias[1],
        combined(moving, rates),
    )
    w = named(add(carried, relative), f"w_{link.name}")
    return Motion(link.name, w, named(alpha, f"alpha_{link.name}"), named(a, f"a_{link.name}"))


def _speeds(link: Link, directions: range) -> Triple:
    """Return the components of the link's relative velocity, angular or linear, in its own axes."""
    out: list[Scalar] = [0, 0, 0]
    for d in link.freedoms:
        if d.direction in directions:
            out[d.direction % 3] = times(d.speed, d.sign)
    return joined(out)


def _rates(link: Link, directions: range) -> Triple:
    """Return the known rates of a link's speeds, or known parts of rates, as a vector in the link's axes."""
    out: list[Scalar] = [0, 0, 0]
    for d in link.freedoms:
        if d.direction in directions and d.rate is not None:
            out[d.direction % 3] = times(d.rate, d.sign)
    return joined(out)


def drift_correction(link: Link, relative: Triple, tree: Tree) -> Triple:
    """Return the known part of the rates of a drift's linear speeds, apart from prescribed rates.

    It is −ω × v for speeds in body axes, plus gravity for a body on the ground.
    """
    v = _speeds(link, range(LINEAR, LINEAR + 3))
    turning = cross_triples(relative, v) if link.velocity == "body" else ZEROS
    fall = link.rotation.to_child(tree.gravity) if link.parent < 0 else ZEROS
    return add(fall, scaled(turning, -1))


def _drift(link: Link, parent: Motion, relative: Triple, carried: Triple, tree: Tree) -> Triple:
    """Return the acceleration remainder of a drifting link's origin.

    For a body on the ground it is zero along directions with a free speed, since accelerations are relative
    to free fall. Along directions without a free speed the complete acceleration is known: it is the rate of
    the prescribed speed less ``drift_correction``. For a dependent speed, the known part of the rate already
    excludes this correction.
    """
    v = _speeds(link, range(LINEAR, LINEAR + 3))
    if link.parent >= 0:
        own = v if link.velocity == "body" else link.rotation.to_child(link.velocity_axes.to_parent(v))
        place = add(parent.a, parent.times_U(link.offset))
        base = add(link.rotation.to_child(place), scaled(cross_triples(carried, own), 2))
    else:
        base = ZEROS
    free = {d.direction % 3 for d in link.freedoms if d.direction >= LINEAR and d.rate is None}
    if len(free) == 3:
        return base
    correction = drift_correction(link, relative, tree)
    known = _rates(link, range(LINEAR, LINEAR + 3))
    dependent = {d.direction % 3 for d in link.freedoms if d.direction >= LINEAR and d.dependent}
    counted = tuple(known[i] if i in dependent else minus(known[i], correction[i]) for i in range(3))
    return add(base, *(scaled(unit(i), counted[i]) for i in range(3) if i not in free))


def relative_spin(link: Link) -> Triple:
    """Return the relative angular velocity of a link in its own axes."""
    return _speeds(link, range(3))


def corrections(tree: Tree) -> dict[int, Scalar]:
    """Return the part ``drift_correction`` of the rates of speeds that are not prescribed, by index.

    Only drifts with speeds in body axes have one.
    """
    found: dict[int, Scalar] = {}
    for link in tree.links:
        if link.step == "drift" and link.velocity == "body":
            gained = drift_correction(link, relative_spin(link), tree)
            found |= {
                d.index: gained[d.direction % 3]
                for d in link.freedoms
                if d.direction >= LINEAR and not d.prescribed
            }
    return found


# The force f and moment n, about a link's origin, that give the link its acceleration remainders:
# d'Alembert's inertia forces with reversed sign.
#
#     f = m a + U h            n = J α + ω × J ω + h × a
#
# Source: Sayers 1990, eqs. 6.2.7 and 6.2.8, here about the joint's point instead of the mass centre.


def net_wrenches(tree: Tree, applied: AppliedLoads) -> list[Wrench]:
    """Return for every link the wrench (n, f) of its acceleration remainders less its applied wrench."""
    found: list[Wrench] = []
    for i, (link, moving) in enumerate(zip(tree.links, motions(tree), strict=True)):
        wrench = inertia_force(deformed_link(link), moving)
        if link.modes is not None:
            wrench = wrench_sum(wrench, modal_wrench(link.modes, moving, link.name))
        if i in applied.wrenches:
            n, f = applied.wrenches[i]
            wrench = wrench_sum(wrench, (negative(n), negative(f)))
        found.append(wrench)
    return found


def modal_remainders(tree: Tree) -> dict[int, Scalar]:
    """Return ``modal_remainder`` for every mode, by speed index."""
    if all(link.modes is None for link in tree.links):
        return {}
    return {
        d.index: modal_remainder(link.modes, motion, p)
        for link, motion in zip(tree.links, motions(tree), strict=True)
        if link.modes is not None
        for p, d in enumerate(link.modes.freedoms)
    }


def modal_forces(tree: Tree, applied: AppliedLoads, *, at_rest: bool = False) -> dict[int, Scalar]:
    """Return the right sides of the modes' equations, by speed index; if ``at_rest``, without remainders."""
    modes = [d.index for link in tree.links if link.modes is not None for d in link.modes.freedoms]
    rest = dict.fromkeys(modes, 0) if at_rest else modal_remainders(tree)
    return {k: minus(applied.forces.get(k, 0), rest[k]) for k in modes}


def inertia_force(link: Link, motion: Motion) -> Wrench:
    """Return the wrench (n, f) that gives a link its acceleration remainders."""
    h = link.first
    f = add(scaled(motion.a, link.mass), motion.times_U(h))
    n = add(_rotational(link, motion), cross_triples(h, motion.a))
    return n, f


def _rotational(link: Link, motion: Motion) -> Triple:
    """Return J α + ω × J ω, in a form that multiplies each element of J once.

    With U = α̃ + ω̃ω̃ the component about x is as follows; the others follow by cyclic exchange of x, y, z:

        J_xx α_x + (J_zz − J_yy) ω_y ω_z − J_xy U_zx + J_xz U_yx + J_yz (U_yy − U_zz)

    The first two terms are equal to L_yy U_zy − L_zz U_yz with the second moments L_yy = (J_zz + J_xx −
    J_yy)/2 and L_zz. If one of these vanishes, this form is shorter and is used instead.
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
