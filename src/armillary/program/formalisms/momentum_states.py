"""Momenta as states: conjugate to the speeds of joints and modes, or of free bodies in ground axes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from armillary.algebra import functions as fn
from armillary.algebra.calculus import directional_derivatives
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import (
    ZEROS,
    Scalar,
    Triple,
    add,
    combination,
    combined,
    cross_triples,
    inner,
    is_zero,
    joined,
    matrix_vector,
    minus,
    named,
    plus,
    scaled,
    sum_of_products,
    times,
    unit,
)
from armillary.mechanics.tree.kinematics import (
    AppliedLoads,
    Wrench,
    accumulated_wrenches,
    component_along,
    components_along_modes,
    twist_dot,
    wrench_sum,
)
from armillary.mechanics.tree.mass_matrix import Composite, ImplicitEquations, mass_matrix, uncouple
from armillary.mechanics.tree.tree import ANGULAR, LINEAR, Link, Tree, deformed_link
from armillary.program.formalisms import recursive

# Momenta as states: one per degree of freedom, conjugate to its speed.
#
# With ω and v the angular velocity of a link and the velocity of its origin, and (n, f) the angular momentum
# about that origin and the momentum of all links from its joint outwards, all in the link's axes,
#
#     p_d = s_d·(n, f) + a_d u_d                s_d: the link's direction of freedom d, constant in its axes;
#                                               a_d: the armature of its joint
#     p_d' = s_d·( N − ω × n − v × f,  F − ω × f ) + τ_d
#
# N, F are the external loads on the links beyond the joint, about the same origin, and τ_d is the generalised
# force along the freedom. Constraint forces have no component along s_d. Momenta of modes are given below.
#
# The momenta are linear in the speeds, p = A u + b, with A the symmetric mass matrix and b from the
# prescribed speeds. These equations are solved for u, so A is never differentiated. Either A is written out
# and factorised; or u is found joint by joint, like accelerations at rest under the forces p − b, since A is
# also the matrix of the equations of motion.
#
# Source: Stoneking (2010), momentum state dynamics (slides). The rotation of the composite's axes and the
# rates of the axes, which the slides leave out, are added here. Joint reactions do not occur and A is
# symmetric because p is conjugate to u.

SOLUTIONS = ("matrix", "recursion")  # two methods of solving for the speeds


@dataclass(frozen=True, eq=False)
class Weight:
    """Mass and first moment of all links from a joint outwards, and the acceleration of free fall, in the
    link's axes.
    """

    mass: Scalar
    first: Triple
    fall: Triple


def with_speeds(tree: Tree, speeds: Mapping[int, Scalar]) -> Tree:
    """Return the tree with other values for some of its speeds, by index."""
    return tree.with_degrees(lambda d: replace(d, speed=speeds.get(d.index, d.speed)))


def velocities(tree: Tree) -> list[Velocity]:
    """Return the motion of every link, parents first."""
    found: list[Velocity] = []
    at_rest = Velocity(ZEROS, ZEROS)
    for link in tree.links:
        parent = found[link.parent] if link.parent >= 0 else at_rest
        place = named(add(parent.v, cross_triples(parent.w, link.offset)), f"vj_{link.name}")
        bent = flexed_velocity(tree, link)
        w = add(link.rotation.to_child(parent.w), _own_speeds(link, ANGULAR), bent.w)
        v = add(link.rotation.to_child(place), _own_speeds(link, LINEAR), bent.v)
        found.append(Velocity(named(w, f"w_{link.name}"), named(v, f"v_{link.name}")))
    return found


def _own_speeds(link: Link, first: int) -> Triple:
    out: list[Scalar] = [0, 0, 0]
    for d in link.freedoms:
        if first <= d.direction < first + 3:
            out[d.direction - first] = times(d.speed, d.sign)
    return joined(out)


def composite_momenta(tree: Tree, motions: Sequence[Velocity]) -> list[Wrench]:
    """Return (n, f) of all links from each joint outwards, about the link's origin and in its axes.

    A link's own part is n = Jω + h × v and f = m v + ω × h, plus the momentum of its modes.
    """
    own: list[Wrench] = []
    for link, motion in zip(tree.links, motions, strict=True):
        rigid, bent = Composite.of(link).momentum(motion.w, motion.v), added_momentum(link)
        own.append(wrench_sum(rigid, bent))
    return accumulated_wrenches(tree, own, "l")


def weights(tree: Tree, falls_of: Mapping[int, Triple] | None = None) -> list[Weight]:
    """Return the composite mass and first moment of every link, and its acceleration of free fall.

    Free fall is the tree's gravity, unless ``falls_of`` has another value for the link on the ground that
    carries the link. First moments are named as in the mass matrix.
    """
    given = falls_of or {}
    masses = [link.mass for link in tree.links]
    firsts = [deformed_link(link).first for link in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        firsts[i] = named(firsts[i], f"h_{link.name}")
        if link.parent >= 0:
            turned = named(link.rotation.to_parent(firsts[i]), f"hp_{link.name}")
            firsts[link.parent] = add(firsts[link.parent], turned, scaled(link.offset, masses[i]))
            masses[link.parent] = plus(masses[link.parent], masses[i])
    falls: list[Triple] = []
    for i, link in enumerate(tree.links):
        fall = falls[link.parent] if link.parent >= 0 else given.get(i, tree.gravity)
        falls.append(named(link.rotation.to_child(fall), f"g_{link.name}"))
    return [Weight(*each) for each in zip(masses, firsts, falls, strict=True)]


def external_loads(tree: Tree, applied: AppliedLoads) -> list[Wrench]:
    """Return (N, F) of the applied loads, without gravity, on all links from each joint outwards."""
    return accumulated_wrenches(
        tree, [applied.wrenches.get(i, (ZEROS, ZEROS)) for i in range(len(tree.links))], "e"
    )


def conjugate_momenta(
    tree: Tree, motions: Sequence[Velocity], momenta: Sequence[Wrench]
) -> dict[int, Scalar]:
    """Return p by speed index, also for prescribed speeds."""
    found = {
        d.index: plus(component_along(d, *momenta[i]), times(d.armature, d.speed))
        for i, link in enumerate(tree.links)
        for d in link.freedoms
    }
    return found | modal_momenta(tree, motions, momenta)


def conjugate_rates(
    tree: Tree,
    motions: Sequence[Velocity],
    momenta: Sequence[Wrench],
    masses: Sequence[Weight],
    external: Sequence[Wrench],
    applied: AppliedLoads,
    column_rates: Mapping[int, Columns],
) -> dict[int, Scalar]:
    """Return p' by speed index, as if no speed were prescribed."""
    balances = [_balance(*each) for each in zip(motions, momenta, masses, external, strict=True)]
    falls = [weight.fall for weight in masses]
    rates = modal_rates(tree, motions, momenta, balances, falls, applied, column_rates)
    for link, balance in zip(tree.links, balances, strict=True):
        for d in link.freedoms:
            value = plus(component_along(d, *balance), applied.forces.get(d.index, 0))
            rates[d.index] = fn.named(value, f"pdot_{d.index + 1}")
    return rates


def _balance(motion: Velocity, momentum: Wrench, weight: Weight, external: Wrench) -> Wrench:
    """( N − ω × n − v × f, F − ω × f ), with the weight included in N and F."""
    n, f = momentum
    turned = add(cross_triples(motion.w, n), cross_triples(motion.v, f))
    couple = add(external[0], cross_triples(weight.first, weight.fall), scaled(turned, -1))
    force = add(external[1], scaled(weight.fall, weight.mass), scaled(cross_triples(motion.w, f), -1))
    return couple, force


def solved_speeds(tree: Tree, momenta: Mapping[int, Scalar], method: str) -> dict[int, Scalar]:
    """Return u by speed index from conjugate momenta, A u = p − b; ``method`` is one of SOLUTIONS."""
    unknown = sorted(
        (d for link in tree.links for d in link.degrees if not d.prescribed), key=lambda d: d.index
    )
    known = with_speeds(tree, dict.fromkeys([d.index for d in unknown], 0))
    motions = velocities(known)
    b = conjugate_momenta(known, motions, composite_momenta(known, motions))
    right = {d.index: fn.named(minus(momenta[d.index], b[d.index]), f"p_{d.index + 1}") for d in unknown}
    if method == "recursion":
        return recursive.accelerations(tree, AppliedLoads({}, right), at_rest=True)
    names = {d.index: d.name for d in unknown}
    return uncouple(ImplicitEquations(mass_matrix(tree), right, names), "fewest neighbours")


# Conjugate momenta of modes, their rates, and the momentum of modal speeds.
#
# The modal integrals are those of model/flexible/part.py at the present deformation. φ_p = (Jl θ_p, ψ_p), in
# the axes of link k, is the motion that mode p gives a link k at one of the nodes (or the flexible link
# itself, if it is held at a node); Jl is defined in model/flexible/deformation.py. With these
#
#     π_p = P_p·v + H_p·ω + (Mξ)_p + Σ_k φ_p·(n, f)_k
#     π_p' = ½ ω·(∂J/∂η_p) ω + v·(ω × P_p) + ω·(∂H/∂η_p) ξ + v·(∂P/∂η_p) ξ + P_p·g − (Kη + Cξ)_p + applied
#            + Σ_k [ φ̇_p·(n, f)_k + φ_p·(N − ω × n − v × f, F − ω × f)_k ]
#
# (n, f)_k is the composite momentum from link k outwards. The slides leave the sum over k out of π_p; then
# the rate would contain the reactions at all joints of the body.
#
# Source: Stoneking (2010), momentum state dynamics; second-order terms, rotations by modes and the conjugate
# momenta are added here.

Columns = tuple[tuple[Triple, Triple], ...]


@dataclass(frozen=True, eq=False)
class Velocity:
    """Angular velocity of a link and velocity of its origin, in its axes."""

    w: Triple
    v: Triple


def flexed_velocity(tree: Tree, link: Link) -> Velocity:
    """Return a link's velocity relative to its parent due to modes; zero if no modes move the link."""
    modes = tree.links[link.carrier].modes if link.columns else None
    if modes is None:
        return Velocity(ZEROS, ZEROS)
    w = combined([c[0] for c in link.columns], modes.speeds)
    v = combined([c[1] for c in link.columns], modes.speeds)
    return Velocity(named(w, f"wr_{link.name}"), named(v, f"vr_{link.name}"))


def added_momentum(link: Link) -> Wrench:
    """Return (Hξ, Pξ): the part of a link's momentum from its modal speeds."""
    modes = link.modes
    if modes is None:
        return ZEROS, ZEROS
    spin, drift = combined(modes.H, modes.speeds), combined(modes.P, modes.speeds)
    return named(spin, f"Hxi_{link.name}"), named(drift, f"Pxi_{link.name}")


def modal_momenta(tree: Tree, motions: Sequence[Velocity], momenta: Sequence[Wrench]) -> dict[int, Scalar]:
    """Return π by speed index."""
    found: dict[int, Scalar] = {}
    for link, motion in zip(tree.links, motions, strict=True):
        modes = link.modes
        for p, d in enumerate(modes.freedoms if modes is not None else ()):
            assert modes is not None
            own = twist_dot((modes.H[p], modes.P[p]), (motion.w, motion.v))
            found[d.index] = plus(own, combination(modes.M[p], modes.speeds))
    for i, wrench in enumerate(momenta):
        _join(found, components_along_modes(tree, i, wrench))
    return found


def modal_rates(
    tree: Tree,
    motions: Sequence[Velocity],
    momenta: Sequence[Wrench],
    balances: Sequence[Wrench],
    falls: Sequence[Triple],
    applied: AppliedLoads,
    column_rates: Mapping[int, Columns],
) -> dict[int, Scalar]:
    """Return π' by speed index; ``balances`` are the results of ``_balance`` for all links."""
    by_speed: dict[int, Scalar] = {}
    for link, motion, fall in zip(tree.links, motions, falls, strict=True):
        modes = link.modes
        for p, d in enumerate(modes.freedoms if modes is not None else ()):
            assert modes is not None
            w, v = motion.w, motion.v
            turned = times(0.5, inner(w, matrix_vector(modes.slopes[p], w)))
            moved = inner(v, add(cross_triples(w, modes.P[p]), modes.shift_slopes[p]))
            value = plus(plus(turned, moved), inner(w, modes.turn_slopes[p]))
            value = plus(value, plus(inner(modes.P[p], fall), applied.forces.get(d.index, 0)))
            by_speed[d.index] = minus(value, modes.restoring[p])
    for i, link in enumerate(tree.links):
        _join(by_speed, components_along_modes(tree, i, balances[i]))
        if i in column_rates:
            modes = tree.links[link.carrier].modes
            assert modes is not None
            turning = [twist_dot(column, momenta[i]) for column in column_rates[i]]
            _join(by_speed, {d.index: x for d, x in zip(modes.freedoms, turning, strict=True)})
    return {index: fn.named(value, f"pdot_{index + 1}") for index, value in by_speed.items()}


def column_rates(tree: Tree, rates: Mapping[Expr, Expr]) -> dict[int, Columns]:
    """Return φ̇ of every link that is moved by modes, from the rates of the tree's coordinates."""
    found: dict[int, Columns] = {}
    for i, link in enumerate(tree.links):
        if link.columns:
            flat = [as_expr(x) for column in link.columns for triple in column for x in triple]
            turned = [0 if x.kind == "number" else x for x in directional_derivatives(flat, rates)]
            found[i] = tuple(
                (joined(turned[k : k + 3]), joined(turned[k + 3 : k + 6])) for k in range(0, len(turned), 6)
            )
    return found


def _join(found: dict[int, Scalar], more: Mapping[int, Scalar]) -> None:
    for index, value in more.items():
        found[index] = plus(found[index], value)


# Bodies on the ground that are free, or held at one point: total momenta in ground axes.
#
# For a body that rotates freely on the ground the states are not the projections on its axes, but
#
#     P        the momentum of the body and all bodies on it, if it is free to move
#     H        their angular momentum about the common mass centre, or about the point that is held
#
# both in the ground's axes. Their rates are the external force and torque alone: without external loads, P
# and H are constant to the last bit, for every method and step. With R the body's rotation, n its composite
# angular momentum about its origin, in its axes, and c from its origin to the mass centre,
#
#     H = R n − c × P
#
# About the mass centre uniform gravity has no torque.
#
# All other momenta on a body that is free to move are relative to the mass centre: the velocity P/m of the
# mass centre is subtracted from all velocities, so the total momentum is zero, and A u = p has zeros for the
# body's three linear speeds and Rᵀ H for its three angular speeds. Otherwise, on an orbit, a hinge's momentum
# would be a small difference of terms that contain 7 km/s. Relative to the mass centre, whose acceleration is
# g + F/m with the applied force F, gravity is −F/m.

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class FreeRoot:
    """A body that rotates freely on the ground: its link, and the links of the slides that carry it.

    ``held`` is true if the origin of the body does not move.
    """

    name: str
    link: int
    slides: tuple[int, ...]
    held: bool

    def indices(self, tree: Tree) -> list[int]:
        """Return the indices of the speeds whose momenta are replaced by P and H, in this order."""
        return sorted(d.index for i in (*self.slides, self.link) for d in tree.links[i].freedoms)

    def by_index(self, tree: Tree, P: Sequence[Item], H: Sequence[Item]) -> dict[int, Item]:
        """Return the elements of P and H by ``indices``."""
        return dict(zip(self.indices(tree), H if self.held else (*P, *H), strict=True))

    def vectors(self, tree: Tree, values: Mapping[int, Scalar]) -> tuple[Triple, Triple]:
        """Return P and H from values by ``indices``."""
        found = [values[i] for i in self.indices(tree)]
        return (ZEROS if self.held else joined(found[:3])), joined(found[-3:])

    def states(
        self, tree: Tree, masses: Sequence[Weight], momenta: Sequence[Wrench]
    ) -> tuple[Triple, Triple]:
        """Return (P, H) from composite momenta."""
        P = to_ground(tree, self.base, momenta[self.base][1])
        n = to_ground(tree, self.link, momenta[self.link][0])
        return P, n if self.held else add(n, scaled(cross_triples(self._centre(tree, masses), P), -1))

    def conjugate(self, tree: Tree, H: Triple) -> dict[int, Scalar]:
        """Return the conjugate momenta of this body's speeds in the motion relative to the mass centre."""
        n = from_ground(tree, self.link, H)
        found = {d.index: component_along(d, n, ZEROS) for d in tree.links[self.link].freedoms}
        for i in self.slides:
            found |= {d.index: 0 for d in tree.links[i].freedoms}
        return found

    def drifting(self, tree: Tree, masses: Sequence[Weight], P: Triple) -> dict[int, Scalar]:
        """Return the velocity P/m of the mass centre as values of this body's linear speeds, by index."""
        if self.held:
            return {}
        v = named(scaled(P, 1 / masses[self.base].mass), f"vc_{self.name}")
        links = self.slides or (self.link,)
        return {
            d.index: component_along(d, ZEROS, from_ground(tree, i, v))
            for i in links
            for d in tree.links[i].freedoms
            if d.direction >= LINEAR
        }

    def fall(self, tree: Tree, masses: Sequence[Weight], force: Triple) -> dict[int, Triple]:
        """Return gravity relative to the mass centre, by the link on the ground; ``force`` is P'."""
        if self.held:
            return {}
        mass = masses[self.base].mass
        first = self.slides[0] if self.slides else self.link
        return {first: named(add(tree.gravity, scaled(force, -1 / mass)), f"fall_{self.name}")}

    def rates(
        self, tree: Tree, masses: Sequence[Weight], external: Sequence[Wrench], applied: AppliedLoads
    ) -> tuple[Triple, Triple]:
        """Return (P', H') from the loads."""
        N, F = external[self.link]
        own = _along_freedoms(tree, self.link, applied.forces)
        N, F = to_ground(tree, self.link, add(N, own[0])), to_ground(tree, self.link, add(F, own[1]))
        for i in self.slides:
            F = add(F, to_ground(tree, i, _along_freedoms(tree, i, applied.forces)[1]))
        if self.held:
            first = to_ground(tree, self.link, masses[self.link].first)
            return ZEROS, add(N, cross_triples(first, tree.gravity))
        torque = add(N, scaled(cross_triples(self._centre(tree, masses), F), -1))
        return add(F, scaled(tree.gravity, masses[self.base].mass)), torque

    @property
    def base(self) -> int:
        """The link with the total mass: regrouping moves mass to the last slide at most."""
        return self.slides[-1] if self.slides else self.link

    def _centre(self, tree: Tree, masses: Sequence[Weight]) -> Triple:
        """Return the vector from the body's origin to the common mass centre, in the ground's axes."""
        first = to_ground(tree, self.link, masses[self.link].first)
        return named(scaled(first, 1 / masses[self.base].mass), f"c_{self.name}")


def free_roots(tree: Tree, masses: Sequence[Weight], locked: Collection[str] = ()) -> list[FreeRoot]:
    """Return the bodies that rotate freely on the ground, or would if the ``locked`` speeds were free."""

    def unknown(i: int) -> bool:
        return all(
            is_zero(d.armature) and (not d.prescribed or d.name in locked) for d in tree.links[i].freedoms
        )

    found = []
    for i, link in enumerate(tree.links):
        slides = _slides_below(tree, i)
        if slides is None or not all(unknown(k) for k in (i, *slides)):
            continue
        spins = {d.direction for d in link.freedoms}
        held = link.step == "tumble" and not slides
        carried = link.step == "tumble" and len(slides) == 3 and _orthogonal(tree, slides)
        adrift = link.step == "drift" and link.velocity == "body" and len(spins) == 6 and not slides
        root = FreeRoot(link.name, i, slides, held)
        if held or ((carried or adrift) and not is_zero(masses[root.base].mass)):
            found.append(root)
    return found


def _slides_below(tree: Tree, index: int) -> tuple[int, ...] | None:
    """Return the slides between a link and the ground, outwards; `None` if other joints lie between them."""
    found = tree.path_to_ground(tree.links[index].parent)[::-1]
    return tuple(found) if all(tree.links[i].step == "slide" for i in found) else None


def _orthogonal(tree: Tree, slides: Sequence[int]) -> bool:
    """Return whether the axes of the slides are numbers and perpendicular to each other."""
    axes = [to_ground(tree, i, unit(tree.links[i].freedoms[0].direction % 3)) for i in slides]
    products = [sum_of_products(zip(axes[i], axes[j], strict=True)) for i, j in ((0, 1), (0, 2), (1, 2))]
    if any(isinstance(x, Expr) and x.kind != "number" for x in products):
        return False
    return all(abs(float(x)) < 1e-12 for x in products)


def _along_freedoms(tree: Tree, index: int, forces: Mapping[int, Scalar]) -> Wrench:
    """Return the generalised forces along a link's freedoms as a wrench in its axes."""
    n, f = ZEROS, ZEROS
    for d in tree.links[index].freedoms:
        part = scaled(scaled(unit(d.direction % 3), d.sign), forces.get(d.index, 0))
        n, f = (n, add(f, part)) if d.direction >= LINEAR else (add(n, part), f)
    return n, f


def to_ground(tree: Tree, index: int, v: Triple) -> Triple:
    """Convert a vector from a link's axes to the ground's axes."""
    for i in tree.path_to_ground(index):
        v = tree.links[i].rotation.to_parent(v)
    return v


def from_ground(tree: Tree, index: int, v: Triple) -> Triple:
    """Convert a vector from the ground's axes to a link's axes."""
    for i in reversed(tree.path_to_ground(index)):
        v = tree.links[i].rotation.to_child(v)
    return v
