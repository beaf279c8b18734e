"""Equations of motion in redundant coordinates, with multipliers for all joints and constraints.

    M v̇ + Bᵀλ = f              motion, part by part; f holds loads less inertia remainders
    B v̇ − σ λ = −γ − σ λ₀      constraints B v + b(t) = 0, differentiated: γ = Ḃ v + ḃ

(Park & Chiou 1987, eqs. 2.1 and 4.5, in bordered form; signs as corrected there.) One number σ makes this
every system that the integrators need:

    σ = 0      λ keeps the constraints exactly
    σ = ε/δ    the staggered equation (ε + δ B M⁻¹Bᵀ) λ = δ r + ε λ₀
    σ → ∞      λ = λ₀ is given, and v̇ follows from the motion equation

(for constraints of rotations alone it is divided by the square of a length of the system, since their
multipliers are moments),

and with another right side, (0, ρ), it projects positions and speeds. The matrix is factorised along the
tree, leaves first, each part followed by the constraints of its joint: the cost grows with the number of
parts, and only the user's own constraints, eliminated last, see each other.

A part without mass or inertia of its own leaves M singular although the motion is determined. There α BᵀB is
added to M, and α Bᵀ(−γ) to f, over the constraints that touch it: nothing changes, since B v̇ = −γ, and the
sum is positive definite wherever the constraints and other parts' inertia decide the motion.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.calculus import derivative, directional_derivatives, evaluate_all
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol, total
from armillary.algebra.vectors import Triple, cross_triples, matrix_vector, transposed
from armillary.algebra.walk import Undimensioned, substitute, symbols, transform
from armillary.errors import ModelError
from armillary.mechanics.absolute import GROUND, Part, Parts, inertia_remainder, mass_block, parts_of
from armillary.mechanics.absolute_joints import Row, aligned, joint_rows, joint_speeds
from armillary.mechanics.absolute_place import placed
from armillary.mechanics.kane import Implicit
from armillary.mechanics.triples import (
    ZEROS,
    add,
    is_zero,
    minus,
    named,
    plus,
    scaled,
    sum_of_products,
    times,
)
from armillary.mechanics.uncouple import uncouple
from armillary.model import motion
from armillary.model.body import Body
from armillary.model.records import Load
from armillary.model.system import System

SINGULAR = 1e-12  # of the largest eigenvalue: a part's mass matrix with a smaller one counts as singular


@dataclass(frozen=True, eq=False)
class Inputs:
    """Symbols that the solution takes besides the state."""

    multipliers: tuple[Expr, ...]  # λ₀
    targets: tuple[Expr, ...]  # ρ
    weight: Expr  # 1: motion with f and γ; 0: projection
    softness: tuple[Expr, Expr]  # σ of constraints with a position form, and of those without

    @property
    def all(self) -> tuple[Expr, ...]:
        return (*self.multipliers, *self.targets, self.weight, *self.softness)


@dataclass(frozen=True, eq=False)
class Redundant:
    """A system in redundant coordinates, as expressions.

    ``speeds`` v, ``rates`` and the rest are in terms of absolute coordinates and speeds and of the joints'
    coordinates; ``joint_speeds`` and ``joint_accelerations`` replace the description's u and u̇.
    """

    parts: Parts
    rows: tuple[Row, ...]
    forms: tuple[dict[Expr, Any], ...]  # B, row by row
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
    supported: tuple[str, ...]  # bodies whose own mass matrix is singular
    total_mass: Expr

    def exact(self, softness: Expr) -> list[Expr]:
        """v̇ and λ that keep the constraints, with a σ so small that it only decides between redundant
        ones.
        """
        given: dict[Expr, Expr] = dict(zip(self.inputs.multipliers, self.multipliers, strict=True))
        given |= dict.fromkeys(self.inputs.targets, ZERO)
        given |= {self.inputs.weight: UNIT} | dict.fromkeys(self.inputs.softness, softness)
        return transform(self.solution, given.get)

    def at(self, expression: Expr) -> Expr:
        """An expression of the description's variables in absolute ones."""
        return substitute(expression, {**self.joint_speeds, **self.joint_accelerations})


def redundant_equations(system: System, plain: Undimensioned) -> Redundant:
    """The bordered equations of a system and all that their integration needs."""
    parts = parts_of(system, plain)
    if not parts.parts:
        raise ModelError(f"system '{system.name}' has no moving body")
    u = {k: v for i in range(len(parts.parts)) for k, v in joint_speeds(parts, i).items()}
    speeds = tuple(s for part in parts.parts for s in part.speeds)
    accelerations = _symbols(system, [f"{s.data.name}'" for s in speeds])
    joints = tuple(plain(q) for q in system.coordinates)
    described = {plain(q): plain(system.rates[q]) for q in system.coordinates}
    rates: dict[Expr, Expr] = {plain(system.time): UNIT}
    for part in parts.parts:
        rates |= part.rates()
    rates |= zip(joints, transform(list(described.values()), u.get), strict=True)

    rows = _rows(system, parts, u, plain)
    forms = [_form(row.speed, speeds) for row in rows]
    gammas = directional_derivatives([row.speed for row in rows], rates)
    multipliers = _symbols(system, [f"multiplier of {row.name}" for row in rows])
    inputs = Inputs(
        _symbols(system, [f"given {m.data.name}" for m in multipliers]),
        _symbols(system, [f"target of {row.name}" for row in rows]),
        _symbols(system, ["weight of the motion"])[0],
        _symbols(system, ["softness of positions", "softness of speeds"]),  # type: ignore[arg-type]
    )
    solver = _Bordered(parts, rows, forms, gammas, inputs)
    forces = _forces(system, parts, u, plain)
    place = placed(system, parts, plain)
    supported = solver.support(_sample(system, parts, place, plain))
    moving = rates | dict(zip(speeds, accelerations, strict=True))
    dots = dict(zip(u, directional_derivatives(u.values(), moving), strict=True))
    accelerated = {plain(system.accelerations[s]): dots[plain(s)] for s in system.speeds}
    align: dict[Expr, Expr] = {}
    for i, part in enumerate(parts.parts):
        align |= aligned(parts, i, {plain(q): described[plain(q)] for q in part.body.coordinates})
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
        solution=tuple(solver.solution(forces)),
        aligned=tuple(align[q] for q in joints),
        placed=place,
        supported=tuple(supported),
        total_mass=as_expr(sum((as_expr(p.mass) for p in parts.parts), ZERO)),
    )


def _symbols(system: System, names: Iterable[str]) -> tuple[Expr, ...]:
    return tuple(symbol(name, "variable", owner=system) for name in names)


# ---------------------------------------------------------------- constraints


def _rows(system: System, parts: Parts, u: dict[Expr, Expr], plain: Undimensioned) -> list[Row]:
    """All constraints: of each joint, of given speeds, and the user's own."""
    rows = [row for i in range(len(parts.parts)) for row in joint_rows(parts, i)]
    owners = {plain(s): i for i, part in enumerate(parts.parts) for s in part.body.speeds}
    for given in system.prescriptions.values():
        speed = plain(given.speed)
        position = None
        if given.coordinate is not None and given.position is not None:
            position = plain(given.coordinate) - plain(given.position)
        rows.append(Row(f"given {speed.data.name}", u[speed] - plain(given.value), position, owners[speed]))
    for c in system.constraints.values():
        position = None if c.position is None else plain(c.position)
        rows.append(Row(c.name, substitute(plain(c.speed), u), position))
    return rows


def _form(speed: Expr, speeds: Iterable[Expr]) -> dict[Expr, Any]:
    """Coefficients of the absolute speeds in a constraint."""
    present = set(symbols(speed))
    found = {v: derivative(speed, v) for v in speeds if v in present}
    return {v: fn.named(c, "B") for v, c in found.items() if not is_zero(c)}


# ---------------------------------------------------------------- loads


def _forces(system: System, parts: Parts, u: dict[Expr, Expr], plain: Undimensioned) -> dict[Expr, Any]:
    """f by absolute speed: gravity and loads less inertia remainders."""
    gravity: Triple = ZEROS
    for g in system.gravities:
        own = g.direction.components(system.ground.frame)
        gravity = add(gravity, scaled([plain(x) for x in own], plain(g.magnitude)))
    force = [ZEROS] * len(parts.parts)  # ground axes
    moment = [ZEROS] * len(parts.parts)  # body axes, about the origin
    for i, part in enumerate(parts.parts):
        weight = matrix_vector(transposed(part.R), gravity)
        reversed_force, reversed_moment = inertia_remainder(part)
        force[i] = add(scaled(gravity, part.mass), scaled(reversed_force, -1))
        moment[i] = add(cross_triples(part.first, named(weight, "g")), scaled(reversed_moment, -1))
    for load in system.loads.values():
        for body, sign in ((load.body, 1), (load.reaction_body, -1)):
            home = GROUND if body is None else parts.placements[body.name].link
            if body is None or home == GROUND:
                continue
            n, f = _wrench(load, body, sign, parts, plain)
            moment[home], force[home] = add(moment[home], n), add(force[home], f)
    found: dict[Expr, Any] = {}
    for part, n, f in zip(parts.parts, moment, force, strict=True):
        found |= {
            v: sum_of_products(zip(axis, f, strict=True)) for v, axis in zip(part.v, part.basis, strict=True)
        }
        found |= dict(zip(part.w, n, strict=True))
    values = transform([as_expr(x) for x in found.values()], u.get)
    return {v: fn.named(x, f"f_{v.data.name}") for v, x in zip(found, values, strict=True)}


def _wrench(load: Load, body: Body, sign: int, parts: Parts, plain: Undimensioned) -> tuple[Triple, Triple]:
    """(moment about the origin in the part's axes, force in ground axes) of one end of a load."""
    placement = parts.placements[body.name]
    own = named(scaled(parts.components(load.vector, placement.link, plain), sign), load.name)
    if load.kind == "moment":
        return own, ZEROS
    point = load.at if sign > 0 else load.reaction_at
    if point is not None:
        arm = placement.point(tuple(plain(x) for x in point.coordinates))
    else:  # along the same line of action: at the place where the first body is touched
        assert load.at is not None
        line = motion.position(load.at, body.origin)
        arm = add(placement.origin, parts.components(line, placement.link, plain))
    ground = scaled(parts.components(load.vector, GROUND, plain), sign)
    return cross_triples(arm, own), named(ground, f"{load.name}_ground")


# ---------------------------------------------------------------- the bordered system


class _Bordered:
    """[ M Bᵀ ; B −σ ] and its right side, for a sparse factorisation along the tree."""

    def __init__(
        self,
        parts: Parts,
        rows: list[Row],
        forms: list[dict[Expr, Any]],
        gammas: list[Expr],
        inputs: Inputs,
    ) -> None:
        self.parts, self.rows, self.forms, self.inputs = parts, rows, forms, inputs
        self.matrix: dict[tuple[Expr, Expr], Any] = {}
        for part in parts.parts:
            self.matrix |= mass_block(part)
        # Each constraint is to bring B v̇ (or Bv, or the gap's rate) to this.
        self.goals = [
            fn.named(minus(rho, times(inputs.weight, gamma)), "goal")
            for rho, gamma in zip(inputs.targets, gammas, strict=True)
        ]
        self.added: dict[Expr, Any] = {}  # what the support of massless parts adds to f
        self.length2 = _size(parts.parts)
        self.turning = {w for part in parts.parts for w in part.w}

    def _turns(self, form: dict[Expr, Any]) -> bool:
        """Whether a constraint is one of rotations alone, whose multiplier is a moment."""
        return self.turning.issuperset(form)

    def support(self, values: dict[Expr, float]) -> list[str]:
        """Parts without mass or inertia of their own, after their constraints have been added to M."""
        weak = [p for p in self.parts.parts if _singular(p, values)]
        if not weak:
            return []
        touched = {v for p in weak for v in p.speeds}
        mass = as_expr(sum((as_expr(p.mass) for p in self.parts.parts), ZERO))
        order = {v: i for i, v in enumerate(v for p in self.parts.parts for v in p.speeds)}
        for row, form, goal in zip(self.rows, self.forms, self.goals, strict=True):
            if touched.isdisjoint(form):
                continue
            alpha = mass * self.length2 if self._turns(form) else mass
            for a, x in form.items():
                pushed = times(alpha, x)
                self.added[a] = plus(self.added.get(a, 0), times(pushed, goal))
                for b, y in form.items():
                    if order[a] <= order[b]:
                        self.matrix[a, b] = plus(self.matrix.get((a, b), 0), times(pushed, y))
        self.matrix = {key: fn.named(x, "M") for key, x in self.matrix.items()}
        self._check(weak, order, values)
        return [p.name for p in weak]

    def _check(self, weak: list[Part], order: dict[Expr, int], values: dict[Expr, float]) -> None:
        """An error where the constraints leave a massless part to itself."""
        keys, elements = list(self.matrix), [as_expr(x) for x in self.matrix.values()]
        missing = {s: 1.0 for s in symbols(*elements) if s not in values}
        M = np.zeros((len(order), len(order)))
        for (a, b), x in zip(keys, evaluate_all(elements, values | missing), strict=True):
            M[order[a], order[b]] = M[order[b], order[a]] = x
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
            f"body '{worst}' moves without moving any mass or inertia: give it (or one that hangs on it) "
            "some, or fix its joint"
        )

    def solution(self, forces: dict[Expr, Any]) -> list[Expr]:
        """v̇ in the order of the speeds, then λ in the order of the rows."""
        order: list[Expr | int] = []
        by_owner: dict[int | None, list[int]] = {}
        for k, row in enumerate(self.rows):
            by_owner.setdefault(row.owner, []).append(k)
        for i in reversed(range(len(self.parts.parts))):
            order += self.parts.parts[i].speeds
            order += by_owner.get(i, [])
        order += by_owner.get(None, [])
        place = {
            unknown: len(order) - 1 - i for i, unknown in enumerate(order)
        }  # eliminated from the last on

        matrix: dict[tuple[int, int], Any] = {}
        names: dict[int, str] = {}
        force: dict[int, Any] = {}
        for v, f in forces.items():
            names[place[v]] = v.data.name
            force[place[v]] = fn.named(plus(times(self.inputs.weight, f), self.added.get(v, 0)), "f")
        for (a, b), x in self.matrix.items():
            matrix[_pair(place[a], place[b])] = x
        for k, (row, form, goal) in enumerate(zip(self.rows, self.forms, self.goals, strict=True)):
            sigma = self.inputs.softness[0 if row.position is not None else 1]
            sigma = sigma / self.length2 if self._turns(form) else sigma
            names[place[k]] = row.name
            force[place[k]] = fn.named(minus(goal, times(sigma, self.inputs.multipliers[k])), "goal")
            matrix[place[k], place[k]] = -sigma
            for v, x in form.items():
                matrix[_pair(place[k], place[v])] = x
        x = uncouple(Implicit(matrix, force, names), "leaves first")
        speeds = [v for p in self.parts.parts for v in p.speeds]
        return [as_expr(x[place[unknown]]) for unknown in [*speeds, *range(len(self.rows))]]


def _pair(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i <= j else (j, i)


def _size(parts: Iterable[Part]) -> Expr:
    """A squared length of the system: that of joints and radii of gyration, or 1 where all are points."""
    lengths = [x * x for p in parts for x in map(as_expr, p.place) if not is_zero(x)]
    mass = as_expr(sum((as_expr(p.mass) for p in parts), ZERO))
    lengths += [
        as_expr(p.inertia[i][i]) / mass for p in parts for i in range(3) if not is_zero(p.inertia[i][i])
    ]
    return total([(1, x) for x in lengths]) if lengths else UNIT


def _singular(part: Part, values: dict[Expr, float]) -> bool:
    """Whether a part's mass matrix is singular with these values."""
    index = {s: i for i, s in enumerate(part.speeds)}
    block = mass_block(part)
    elements = [as_expr(x) for x in block.values()]
    missing = {s: 1.0 for s in symbols(*elements) if s not in values}
    M = np.zeros((len(index), len(index)))
    for (a, b), x in zip(block, evaluate_all(elements, values | missing), strict=True):
        M[index[a], index[b]] = M[index[b], index[a]] = x
    found = np.linalg.eigvalsh(M)
    return bool(found[0] <= SINGULAR * max(found[-1], 1e-300))


def _sample(system: System, parts: Parts, place: dict[Expr, Expr], plain: Undimensioned) -> dict[Expr, float]:
    """Defaults of parameters (one where there is none), and absolute coordinates for joints at any place."""
    rng = np.random.default_rng(0)
    values: dict[Expr, float] = {plain(s): float(rng.uniform(0.3, 0.9)) for s in system.coordinates}
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            e = [plain(q) for q in body.coordinates[start : start + 4]]
            size = np.sqrt(sum(values[q] ** 2 for q in e))
            values |= {q: float(values[q] / size) for q in e}
    for p in system.parameters.values():
        values[plain(p)] = 1.0 if p.data.default is None else float(p.data.default)
    coordinates = [c for part in parts.parts for c in part.coordinates]
    elements = [place[c] for c in coordinates]
    values |= {s: 1.0 for s in symbols(*elements) if s not in values}
    return values | dict(zip(coordinates, map(float, evaluate_all(elements, values)), strict=True))
