"""Equations of motion in redundant coordinates with multipliers, as bordered equations along the tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.calculus import derivative, directional_derivatives, evaluate_all
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol, total
from armillary.algebra.triples import (
    ZEROS,
    Scalar,
    Triple,
    add,
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
    transposed,
)
from armillary.algebra.walk import Undimensioned, substitute, symbols, transform
from armillary.errors import ModelError
from armillary.mechanics.tree.build import GROUND
from armillary.mechanics.tree.kinematics import own_point
from armillary.mechanics.tree.mass_matrix import ImplicitEquations, uncouple
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body
from armillary.model.description import Description, Load
from armillary.model.space.attraction import all_gravities, all_loads
from armillary.model.units import default_value
from armillary.program.formalisms.absolute_bodies import (
    AbsoluteBodies,
    AbsoluteBody,
    absolute_bodies,
    inertia_remainder,
    mass_block,
    node_load,
)
from armillary.program.formalisms.absolute_joints import (
    AbsoluteConstraint,
    absolute_states,
    aligned_coordinates,
    joint_rows,
    joint_speeds,
)

# Forces on parts in absolute coordinates: gravity and loads less the inertia forces due to speeds.


def forces(
    system: Description, parts: AbsoluteBodies, u: dict[Expr, Expr], plain: Undimensioned
) -> dict[Expr, Scalar]:
    """Return f by absolute speed: gravity and loads less inertia remainders."""
    gravity: Triple = ZEROS
    for g in all_gravities(system):
        own = g.direction.components(system.ground.frame)
        gravity = add(gravity, scaled([plain(x) for x in own], plain(g.magnitude)))
    force = [ZEROS] * len(parts.parts)  # ground axes
    moment = [ZEROS] * len(parts.parts)  # body axes, about the origin
    modal: list[list[Scalar]] = []  # of each part's modes
    for i, part in enumerate(parts.parts):
        weight = matrix_vector(transposed(part.R), gravity)
        reversed_force, reversed_moment, remainders = inertia_remainder(part)
        force[i] = add(scaled(gravity, part.mass), scaled(reversed_force, -1))
        moment[i] = add(cross_triples(part.deformed_first, named(weight, "g")), scaled(reversed_moment, -1))
        columns = () if part.modes is None else part.modes.shape.P
        modal.append([minus(inner(P, weight), x) for P, x in zip(columns, remainders, strict=True)])
    for load in all_loads(system):
        for body, sign in ((load.body, 1), (load.reaction_body, -1)):
            home = GROUND if body is None else parts.placements[body.name].link
            if body is None or home == GROUND:
                continue
            n, f = _wrench(load, body, sign, parts, plain)
            if home < GROUND:
                node = parts.nodes[home]
                home = node.part
                n, bent = node_load(node, parts.parts[home], n, f)
                modal[home] = [plus(a, b) for a, b in zip(modal[home], bent, strict=True)]
            moment[home], force[home] = add(moment[home], n), add(force[home], f)
    found: dict[Expr, Scalar] = {}
    for part, n, f, bending in zip(parts.parts, moment, force, modal, strict=True):
        found |= {
            v: sum_of_products(zip(axis, f, strict=True)) for v, axis in zip(part.v, part.basis, strict=True)
        }
        found |= dict(zip(part.modes.xi if part.modes else (), bending, strict=True))
        found |= dict(zip(part.w, n, strict=True))
    values = transform([as_expr(x) for x in found.values()], u.get)
    return {v: fn.named(x, f"f_{v.data.name}") for v, x in zip(found, values, strict=True)}


def _wrench(
    load: Load, body: Body, sign: int, parts: AbsoluteBodies, plain: Undimensioned
) -> tuple[Triple, Triple]:
    """Return (moment about the origin in the part's axes, force in ground axes) of one end of a load."""
    placement = parts.placements[body.name]
    own = named(scaled(parts.components(load.vector, placement.link, plain), sign), load.name)
    if load.kind == "moment":
        return own, ZEROS
    point = own_point(load, body, sign)
    if point is not None:
        arm = placement.point(joined(plain(x) for x in point.coordinates))
    else:
        assert load.at is not None
        line = motion.position(load.at, body.origin)
        arm = add(placement.origin, parts.components(line, placement.link, plain))
    ground = scaled(parts.components(load.vector, GROUND, plain), sign)
    return cross_triples(arm, own), named(ground, f"{load.name}_ground")


# The bordered equations of redundant coordinates, factorised along the tree.
#
#     [ M  Bᵀ ] [ v̇ ]   [ φ f             ]
#     [ B  −σ ] [ λ ] = [ ρ − φ γ − σ λ₀  ]
#
# with the inputs λ₀, ρ, φ and σ of `Inputs`. Elimination goes from the leaves to the ground, each part
# followed by the constraints of its joint. So the cost is linear in the number of parts, and only the user's
# own constraints, eliminated last, are coupled to each other. No pivot vanishes: M is positive definite, and
# a joint's constraints are independent in the speeds of the part that the joint carries.
#
# A part without mass or inertia makes M singular although the motion is determined. Then, for the constraints
# on the part, α BᵀB is added to M and α Bᵀ(ρ − φ γ) to f, where α is the mass or inertia of the system. This
# changes nothing if B v̇ = ρ − φ γ, and M is then positive definite if the constraints and other parts'
# inertia determine the motion. The armature a of a joint's speed u = B v adds a BᵀB to M in the same way.

SINGULAR = 1e-12  # M is singular if an eigenvalue is below this share of the largest

Form = dict[Expr, Scalar]  # coefficients of a constraint by absolute speed


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of the solution in addition to the state."""

    multipliers: tuple[Expr, ...]  # λ₀
    targets: tuple[Expr, ...]  # ρ
    weight: Expr  # φ, 1 for motion with f and γ, 0 for projection
    softness: tuple[Expr, Expr]  # σ of constraints with a position form, and of those without

    @property
    def all(self) -> tuple[Expr, ...]:
        return (*self.multipliers, *self.targets, self.weight, *self.softness)


class Bordered:
    """[ M Bᵀ ; B −σ ] and its right side, for a sparse factorisation along the tree."""

    def __init__(
        self,
        parts: AbsoluteBodies,
        rows: Sequence[AbsoluteConstraint],
        forms: Sequence[Form],
        gammas: Sequence[Expr],
        inputs: Inputs,
    ) -> None:
        self.parts, self.rows, self.forms, self.inputs = parts, rows, forms, inputs
        self.matrix: dict[tuple[Expr, Expr], Scalar] = {}
        for part in parts.parts:
            self.matrix |= mass_block(part)
        # Right sides of the constraints, the values of B v̇; in projections, of B v or of the rate of a gap.
        self.goals = [
            fn.named(minus(rho, times(inputs.weight, gamma)), "goal")
            for rho, gamma in zip(inputs.targets, gammas, strict=True)
        ]
        self.added: dict[Expr, Scalar] = {}  # terms of armatures and massless parts in f
        self.order = {v: i for i, v in enumerate(v for p in parts.parts for v in p.speeds)}
        self.length2 = _squared_length(parts.parts)
        self.turning = {w for part in parts.parts for w in part.w}

    def add_armature(self, inertia: Scalar, form: Form, gamma: Scalar) -> None:
        """Add a u̇ to the equation of a joint's speed u = B v, u̇ = B v̇ + γ: a BᵀB to M, −a Bᵀ γ to f."""
        self._add_square(inertia, form, times(self.inputs.weight, times(gamma, -1)))
        self.matrix = {key: fn.named(x, "M") for key, x in self.matrix.items()}

    def _add_square(self, alpha: Scalar, form: Form, goal: Scalar) -> None:
        """Add α BᵀB to M and α Bᵀ goal to f."""
        for a, x in form.items():
            pushed = times(alpha, x)
            self.added[a] = plus(self.added.get(a, 0), times(pushed, goal))
            for b, y in form.items():
                if self.order[a] <= self.order[b]:
                    self.matrix[a, b] = plus(self.matrix.get((a, b), 0), times(pushed, y))

    def _turns(self, form: Form) -> bool:
        """Return whether a constraint concerns rotations alone, so that its multiplier is a moment."""
        return self.turning.issuperset(form)

    def support(self, values: dict[Expr, float]) -> None:
        """Add the constraints of parts without mass or inertia to M; ``values`` has a number per symbol."""
        weak = [p for p in self.parts.parts if _singular(p, values)]
        if not weak:
            return
        touched = {v for p in weak for v in p.speeds}
        mass = total_mass(self.parts.parts)
        for form, goal in zip(self.forms, self.goals, strict=True):
            if touched.isdisjoint(form):
                continue
            self._add_square(mass * self.length2 if self._turns(form) else mass, form, goal)
        self.matrix = {key: fn.named(x, "M") for key, x in self.matrix.items()}
        self._check(weak, values)

    def _check(self, weak: list[AbsoluteBody], values: dict[Expr, float]) -> None:
        """Raise an error if constraints do not determine the motion of a massless part."""
        order = self.order
        M = _matrix_numbers(self.matrix, order, values)
        size = np.sqrt(np.maximum(np.diag(M), 0.0))
        if np.all(size > 0.0):
            eigenvalues, directions = np.linalg.eigh(M / np.outer(size, size))
            if eigenvalues[0] > SINGULAR:
                return
            moving = np.abs(directions[:, 0])
        else:
            moving = (size == 0.0) * 1.0
        names = {p.name: max(moving[order[v]] for v in p.speeds) for p in weak}
        worst = max(names, key=lambda name: names[name])
        raise ModelError(
            f"body '{worst}' moves without moving any mass or inertia: give mass or "
            "inertia to it or to a body that it carries, or fix its joint"
        )

    def solution(self, forces: dict[Expr, Scalar]) -> list[Expr]:
        """Return v̇ in the order of the speeds, then λ in the order of the rows."""
        order: list[Expr | int] = []
        by_owner: dict[int | None, list[int]] = {}
        for k, row in enumerate(self.rows):
            by_owner.setdefault(row.owner, []).append(k)
        for i in reversed(range(len(self.parts.parts))):
            order += self.parts.parts[i].speeds
            order += by_owner.get(i, [])
        order += by_owner.get(None, [])
        # The order "leaves first" eliminates the highest index first.
        index = {unknown: len(order) - 1 - i for i, unknown in enumerate(order)}
        matrix: dict[tuple[int, int], Scalar] = {}
        names: dict[int, str] = {}
        force: dict[int, Scalar] = {}
        for v, f in forces.items():
            names[index[v]] = v.data.name
            force[index[v]] = fn.named(plus(times(self.inputs.weight, f), self.added.get(v, 0)), "f")
        for (a, b), x in self.matrix.items():
            matrix[_pair(index[a], index[b])] = x
        for k, (row, form, goal) in enumerate(zip(self.rows, self.forms, self.goals, strict=True)):
            sigma = self.inputs.softness[0 if row.position is not None else 1]
            sigma = sigma / self.length2 if self._turns(form) else sigma
            names[index[k]] = row.name
            force[index[k]] = fn.named(minus(goal, times(sigma, self.inputs.multipliers[k])), "goal")
            matrix[index[k], index[k]] = -sigma
            for v, x in form.items():
                matrix[_pair(index[k], index[v])] = x
        solved = uncouple(ImplicitEquations(matrix, force, names), "leaves first")
        speeds = [v for p in self.parts.parts for v in p.speeds]
        return [as_expr(solved[index[unknown]]) for unknown in [*speeds, *range(len(self.rows))]]


def _pair(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i <= j else (j, i)


def total_mass(parts: Iterable[AbsoluteBody]) -> Expr:
    """Return the mass of all parts; 1 if all are massless."""
    mass = as_expr(sum((as_expr(p.mass) for p in parts), ZERO))
    return UNIT if is_zero(mass) else mass


def _squared_length(parts: Iterable[AbsoluteBody]) -> Expr:
    """Return a squared length of the system: the sum of squared joint offsets and radii of gyration, or 1."""
    lengths = [x * x for p in parts for x in map(as_expr, p.place) if not is_zero(x)]
    mass = total_mass(parts)
    lengths += [
        as_expr(p.inertia[i][i]) / mass for p in parts for i in range(3) if not is_zero(p.inertia[i][i])
    ]
    return total([(1, x) for x in lengths]) if lengths else UNIT


def _singular(part: AbsoluteBody, values: dict[Expr, float]) -> bool:
    """Return whether a part's mass matrix is singular with these values."""
    found = np.linalg.eigvalsh(
        _matrix_numbers(mass_block(part), {s: i for i, s in enumerate(part.speeds)}, values)
    )
    return bool(found[0] <= SINGULAR * max(found[-1], 1e-300))


def _matrix_numbers(
    matrix: dict[tuple[Expr, Expr], Scalar], order: dict[Expr, int], at: dict[Expr, float]
) -> np.ndarray:
    """Return a symmetric matrix as numbers; symbols without a value are set to one."""
    elements = [as_expr(x) for x in matrix.values()]
    missing = {s: 1.0 for s in symbols(*elements) if s not in at}
    found = np.zeros((len(order), len(order)))
    for (a, b), x in zip(matrix, evaluate_all(elements, at | missing), strict=True):
        found[order[a], order[b]] = found[order[b], order[a]] = x
    return found


# Equations of motion in redundant coordinates, with multipliers for all joints and constraints.
#
#     M v̇ + Bᵀλ = f              motion, part by part; f holds loads less inertia remainders
#     B v̇ − σ λ = −γ − σ λ₀      constraints B v + b(t) = 0, differentiated: γ = Ḃ v + ḃ
#
# (Park & Chiou 1987, eqs. 2.1 and 4.5, in bordered form, with one sign of Bᵀλ throughout. Their λ is minus
# the force that the constraint exerts; outputs and the theory pages use the force.) The number σ selects the
# equations that an integrator needs:
#
#     σ = 0      λ keeps the constraints exactly
#     σ = ε/δ    the staggered equation (ε + δ B M⁻¹Bᵀ) λ = δ r + ε λ₀
#     σ → ∞      λ = λ₀ is given, and v̇ follows from the motion equation
#
# With the right side (0, ρ) the solution projects positions and speeds onto the constraints. For constraints
# of rotations alone σ is divided by the square of a length of the system: their multipliers are moments.


@dataclass(frozen=True, eq=False)
class Redundant:
    """A system in redundant coordinates.

    Expressions depend on absolute coordinates and speeds and on the joints' coordinates; ``joint_speeds`` and
    ``joint_accelerations`` replace the description's u and u̇.
    """

    parts: AbsoluteBodies
    rows: tuple[AbsoluteConstraint, ...]
    forms: tuple[Form, ...]  # B, row by row
    time: Expr
    coordinates: tuple[Expr, ...]
    joints: tuple[Expr, ...]
    speeds: tuple[Expr, ...]
    accelerations: tuple[Expr, ...]
    multipliers: tuple[Expr, ...]
    inputs: Inputs
    rates: dict[Expr, Expr]
    joint_speeds: dict[Expr, Expr]
    joint_accelerations: dict[Expr, Expr]
    solution: tuple[Expr, ...]  # v̇ and λ for the inputs
    aligned: tuple[Expr, ...]
    placed: dict[Expr, Expr]  # absolute coordinates and speeds from q and u
    total_mass: Expr

    def exact(self, softness: Expr) -> list[Expr]:
        """Return v̇ and λ that keep the constraints; a small σ makes redundant constraints' forces unique."""
        given: dict[Expr, Expr] = dict(zip(self.inputs.multipliers, self.multipliers, strict=True))
        given |= dict.fromkeys(self.inputs.targets, ZERO)
        given |= {self.inputs.weight: UNIT} | dict.fromkeys(self.inputs.softness, softness)
        return transform(self.solution, given.get)


def redundant_equations(system: Description, plain: Undimensioned) -> Redundant:
    """Return the bordered equations of a system and all expressions that their integration needs."""
    parts = absolute_bodies(system, plain)
    if not parts.parts:
        raise ModelError(f"system '{system.name}' has no moving body")
    u = {k: v for i in range(len(parts.parts)) for k, v in joint_speeds(parts, i).items()}
    speeds = tuple(s for part in parts.parts for s in part.speeds)
    accelerations = _symbols(system, [f"{s.data.name}'" for s in speeds])
    joints = tuple(plain(q) for q in system.coordinates)
    described = {plain(q): plain(system.rates[q]) for q in system.coordinates}
    rates: dict[Expr, Expr] = {plain(system.time): UNIT}
    for part in parts.parts:
        rates |= {state: as_expr(rate) for state, rate in part.rates().items()}
    rates |= zip(joints, transform(list(described.values()), u.get), strict=True)

    rows = _constraint_rows(system, parts, u, plain)
    forms = [_form(row.speed, speeds) for row in rows]
    gammas = directional_derivatives([row.speed for row in rows], rates)
    multipliers = _symbols(system, [f"multiplier of {row.name}" for row in rows])
    weight, *softness = _symbols(
        system, ["weight of the motion", "softness of positions", "softness of speeds"]
    )
    inputs = Inputs(
        _symbols(system, [f"given {m.data.name}" for m in multipliers]),
        _symbols(system, [f"target of {row.name}" for row in rows]),
        weight,
        (softness[0], softness[1]),
    )
    solver = Bordered(parts, rows, forms, gammas, inputs)
    driven = {plain(speed): plain(inertia) for speed, inertia in system.armatures.items()}
    gained = directional_derivatives([u[speed] for speed in driven], rates)
    for (speed, inertia), gamma in zip(driven.items(), gained, strict=True):
        solver.add_armature(inertia, _form(u[speed], speeds), gamma)
    absolute_expressions = absolute_states(system, parts, plain)
    solver.support(_sample(system, parts, absolute_expressions, plain))
    moving = rates | dict(zip(speeds, accelerations, strict=True))
    dots = dict(zip(u, directional_derivatives(u.values(), moving), strict=True))
    accelerated = {plain(system.accelerations[s]): dots[plain(s)] for s in system.speeds}
    align: dict[Expr, Expr] = {}
    for i, part in enumerate(parts.parts):
        align |= aligned_coordinates(
            parts, i, {plain(q): described[plain(q)] for q in part.body.joint_coordinates}
        )
    return Redundant(
        parts=parts,
        rows=tuple(rows),
        forms=tuple(forms),
        time=plain(system.time),
        coordinates=tuple(c for part in parts.parts for c in part.coordinates),
        joints=joints,
        speeds=speeds,
        accelerations=accelerations,
        multipliers=multipliers,
        inputs=inputs,
        rates=rates,
        joint_speeds=u,
        joint_accelerations=accelerated,
        solution=tuple(solver.solution(forces(system, parts, u, plain))),
        aligned=tuple(align[q] for q in joints),
        placed=absolute_expressions,
        total_mass=total_mass(parts.parts),
    )


def _symbols(system: Description, names: Iterable[str]) -> tuple[Expr, ...]:
    return tuple(symbol(name, "variable", owner=system.identity) for name in names)


# ---------------------------------------------------------------- constraints


def _constraint_rows(
    system: Description, parts: AbsoluteBodies, u: dict[Expr, Expr], plain: Undimensioned
) -> list[AbsoluteConstraint]:
    """Return all constraints: of joints, of given and locked speeds, and of the user."""
    rows = [row for i in range(len(parts.parts)) for row in joint_rows(parts, i)]
    owners = {plain(s): i for i, part in enumerate(parts.parts) for s in part.body.speeds}
    for given in system.prescriptions.values():
        speed = plain(given.speed)
        position = None
        if given.coordinate is not None and given.position is not None:
            position = plain(given.coordinate) - plain(given.position)
        rows.append(
            AbsoluteConstraint(
                f"given {speed.data.name}", u[speed] - plain(given.value), position, owners[speed]
            )
        )
    for locked in system.locked:
        speed = plain(locked)
        rows.append(AbsoluteConstraint(f"given {speed.data.name}", u[speed], None, owners[speed]))
    for c in system.constraints.values():
        position = None if c.position is None else plain(c.position)
        rows.append(AbsoluteConstraint(c.name, substitute(plain(c.speed), u), position))
    return rows


def _form(speed: Expr, speeds: Iterable[Expr]) -> Form:
    """Return the coefficients of the absolute speeds in a constraint."""
    present = set(symbols(speed))
    found = {v: derivative(speed, v) for v in speeds if v in present}
    return {v: fn.named(c, "B") for v, c in found.items() if not is_zero(c)}


def _sample(
    system: Description, parts: AbsoluteBodies, place: dict[Expr, Expr], plain: Undimensioned
) -> dict[Expr, float]:
    """Return defaults of parameters (1 without one), and absolute coordinates for random joint positions."""
    rng = np.random.default_rng(0)
    values: dict[Expr, float] = {plain(s): float(rng.uniform(0.3, 0.9)) for s in system.coordinates}
    values |= {plain(s): 0.0 for flex in system.flexibles.values() for s in flex.coordinates}
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            e = [plain(q) for q in body.coordinates[start : start + 4]]
            size = np.sqrt(sum(values[q] ** 2 for q in e))
            values |= {q: float(values[q] / size) for q in e}
    for p in system.parameters.values():
        default = default_value(p)
        values[plain(p)] = 1.0 if default is None else default
    coordinates = [c for part in parts.parts for c in part.coordinates]
    elements = [place[c] for c in coordinates]
    values |= {s: 1.0 for s in symbols(*elements) if s not in values}
    return values | dict(zip(coordinates, map(float, evaluate_all(elements, values)), strict=True))
