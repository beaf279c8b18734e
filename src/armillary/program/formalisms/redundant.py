"""The program of a system in redundant coordinates.

The state consists of absolute coordinates, the joints' coordinates, absolute speeds, the user's own states,
and values that each step passes to the next: accelerations, multipliers and rates of the user's own states.
In addition to the sections of every program there are three that integrators call:

    solve       v̇ and λ of the bordered equations, for given λ₀, targets, weight and softness; then the rates
                of the user's own states
    residuals   the positions of the constraints, then their speeds, which are zero if the constraints hold
    place       absolute coordinates and speeds from joint coordinates and speeds

The other inputs of these sections follow the state in one work vector: the joints' speeds, λ₀, the targets ρ,
the weight of the motion, and the softness σ of constraints with and without a position form
(redundant_equations.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from armillary.algebra.expression import ZERO, Expr, as_expr, symbol
from armillary.algebra.functions import absolute, sqrt
from armillary.algebra.walk import Undimensioned, symbols, transform
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Reduction
from armillary.mechanics.tree.tree import Tree
from armillary.model.description import Description
from armillary.model.signals import state_rates
from armillary.program.equations import DerivedEquations, Use
from armillary.program.formalisms.formalism import Derivation, Formalism
from armillary.program.targets.targets import (
    OutputColumn,
    StepSection,
    Targets,
    columns,
    normalise_quaternions,
)

if TYPE_CHECKING:
    from armillary.program.formalisms.redundant_equations import Redundant

# σ of the exact equations, in units of 1/(total mass): far above rounding errors, so that the forces of
# redundant constraints are determined, and too small to affect results.
EXACT = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class DerivedRedundantEquations(DerivedEquations):
    """Equations of motion in redundant coordinates."""

    redundant: Redundant | None = None
    described_states: ClassVar[bool] = False
    joints_move_bodies: ClassVar[bool] = False
    method_family: ClassVar[str] = "redundant coordinates"
    refusals: ClassVar[Mapping[Use, str]] = {
        "export": "was derived in redundant coordinates, whose steps are not exported; derive it with "
        "formalism='kane', 'recursive' or 'momentum'",
        "linear model": "was derived in redundant coordinates, in which it has no independent states; derive "
        "it with formalism='kane' or 'recursive' to linearise it",
        "sensitivities": "was derived in redundant coordinates, whose steps do not integrate derivatives; "
        "derive it with formalism='kane' or 'recursive'",
    }

    @property
    def start_names(self) -> tuple[str, ...]:
        """Names of the values in a complete initial state, of joints and of the user's own states."""
        return tuple(s.data.name for s in self.system.moving())

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints, joint by joint, in the order of the multipliers."""
        assert self.redundant is not None
        return tuple(row.name for row in self.redundant.rows)

    @property
    def freedom(self) -> str:
        """The degrees of freedom, in words."""
        return f"{len(self.speeds)} speeds under {len(self.constraints)} constraints"


def derive_redundant(d: Derivation) -> DerivedEquations:
    """Derive equations in absolute coordinates with multipliers."""
    plain = Undimensioned()
    wanted, redundant = redundant_targets(d.system, plain)
    d.clock.stage("redundant")
    reduction = Reduction(Tree((), (0, 0, 0), {}), plain, d.system.prescriptions)
    return d.finish(wanted, reduction, {}, redundant=redundant)


REDUNDANT = Formalism("redundant", "redundant", derive_redundant, DerivedRedundantEquations)


def redundant_targets(system: Description, plain: Undimensioned) -> tuple[Targets, Redundant]:
    """Return the root expressions of all sections, and the system in redundant coordinates."""
    from armillary.program.formalisms.redundant_equations import redundant_equations

    r = redundant_equations(system, plain)
    softness = as_expr(EXACT) / r.total_mass
    solved = (*r.accelerations, *r.multipliers)
    coordinates = (*r.coordinates, *r.joints)
    user_rates = {plain(s): rate for s, rate in state_rates(system).items()}
    exact = r.exact(softness)
    carried = (*solved, *(symbol(f"{s.data.name}'", "variable", owner=system.identity) for s in user_rates))
    state = (*coordinates, *r.speeds, *user_rates, *carried)
    memories = list(system.memories.values())
    memory = [plain(m.symbol) for m in memories]
    replaced = r.joint_speeds | r.joint_accelerations | _forces(system, r, plain)
    known = {*state, *memory}

    def resolve_expressions(expressions: list[Expr]) -> list[Expr]:
        found = transform([plain(e) for e in expressions], replaced.get)
        for s in symbols(*found):
            if s.data.role == "variable" and s not in known:
                raise ModelError(
                    f"'{s.data.name}' is not known in redundant coordinates, where forces of "
                    "joints are multipliers; leave that output out, or use formalism='kane'"
                )
        return found

    for event in system.events.values():
        if event.lock or event.unlock:
            raise ModelError(
                f"event '{event.name}' locks or unlocks joints, which redundant coordinates cannot do; use "
                "formalism='kane'"
            )
        moved = [s for s in event.changes if s.data.role == "coordinate"]
        if moved and any(c.position is not None for c in system.constraints.values()):
            raise ModelError(
                f"event '{event.name}' sets '{moved[0]}', after which loops have to be closed again, which "
                "redundant coordinates cannot do; use formalism='kane'"
            )
    own_rates = resolve_expressions(
        list(user_rates.values())
    )  # functions of the symbols v̇ and λ, for which each section has other expressions
    rates = [
        *(r.rates[c] for c in coordinates),
        *exact[: len(r.speeds)],
        *transform(own_rates, dict(zip(solved, exact, strict=True)).get),
        *[ZERO] * len(carried),
    ]
    described_columns = columns(system)
    shown = resolve_expressions([c.expression for c in described_columns])
    shown_columns = [
        OutputColumn(c.name, c.units, c.about, e) for c, e in zip(described_columns, shown, strict=True)
    ]
    taken = {c.name for c in described_columns}
    shown_columns += [c for c in _own_columns(r) if c.name not in taken]
    fires = []
    for event in system.events.values():
        changes = {
            plain(s): x
            for s, x in zip(event.changes, resolve_expressions(list(event.changes.values())), strict=True)
        }
        fires.append((*(changes.get(m, m) for m in memory), *_after(changes, r, state)))
    index_of = {s: i for i, s in enumerate(state)}
    quaternions = [index_of[p.e[0]] for p in r.parts.parts]
    for body in system.bodies.values():
        quaternions += [index_of[plain(body.coordinates[k])] for k in body.assembly.quaternions]
    wanted = Targets(
        time=r.time,
        coordinates=coordinates,
        speeds=r.speeds,
        memory=tuple(memory),
        rates=tuple(rates),
        columns=tuple(shown_columns),
        watched=tuple(system.events.values()),
        events=tuple(resolve_expressions([e.expression for e in system.events.values()])),
        updates=tuple(resolve_expressions([m.symbol if m.update is None else m.update for m in memories]))
        if any(m.update is not None for m in memories)
        else (),
        fires=tuple(fires),
        normalised=tuple(normalise_quaternions(list(state), quaternions)),
        renewed=tuple(start + i for start in quaternions for i in range(4)),
        quaternions=tuple(quaternions),
        corrected=tuple(range(len(r.coordinates), len(coordinates))),
        corrections=r.aligned,
        states=tuple(user_rates),
        carried=carried,
        inputs=(*(plain(u) for u in system.speeds), *r.inputs.all),
        stepping=_stepping(system, r, plain, dict(zip(user_rates, own_rates, strict=True))),
        search=False,  # a search would save 1 to 3 % of operations and take half of the derivation's time
    )
    return wanted, r


def _forces(system: Description, r: Redundant, plain: Undimensioned) -> dict[Expr, Expr]:
    """Return the multipliers λ of constraints and given speeds, by the symbols of forces in outputs."""
    by_name = {row.name: -m for row, m in zip(r.rows, r.multipliers, strict=True)}
    found = {plain(c.force): by_name[c.name] for c in system.constraints.values()}
    for speed, effort in system.efforts.items():
        if (name := f"given {speed.data.name}") in by_name:
            found[plain(effort)] = by_name[name]
    return found


def _stepping(
    system: Description, r: Redundant, plain: Undimensioned, own: dict[Expr, Expr]
) -> tuple[StepSection, ...]:
    found = dict(zip((*r.accelerations, *r.multipliers), r.solution, strict=True))
    given_motion: dict[Expr, Expr] = {}
    for p in system.prescriptions.values():
        given_motion[plain(p.speed)] = plain(p.value)
        if p.coordinate is not None and p.position is not None:
            given_motion[plain(p.coordinate)] = plain(p.position)
    given_motion |= {plain(u): ZERO for u in system.locked}
    names = [row.name for row in r.rows]
    absolute_ones = (*r.coordinates, *r.speeds)
    return (
        StepSection(
            "solve",
            (
                *(s.data.name for s in (*r.accelerations, *r.multipliers)),
                *(f"{s.data.name}'" for s in own),
            ),
            (*r.solution, *transform(own.values(), found.get)),
        ),
        StepSection(
            "residuals",
            (*(f"position of {n}" for n in names), *(f"speed of {n}" for n in names)),
            (
                *(ZERO if row.position is None else row.position for row in r.rows),
                *(row.speed for row in r.rows),
            ),
        ),
        StepSection(
            "place",
            tuple(s.data.name for s in absolute_ones),
            tuple(transform([r.placed[s] for s in absolute_ones], given_motion.get)),
        ),
    )


def _after(changes: dict[Expr, Expr], r: Redundant, state: tuple[Expr, ...]) -> list[Expr]:
    """Return the state after an event; if the event sets coordinates or speeds of joints, parts are moved."""
    moved = [s for s in changes if s in r.joint_speeds or s in r.joints]
    if not moved:
        return [changes.get(s, s) for s in state]
    joints = {q: changes.get(q, q) for q in r.joints}
    joints |= {u: changes.get(u, now) for u, now in r.joint_speeds.items()}
    new = dict(zip(r.placed, transform(r.placed.values(), joints.get), strict=True)) | joints
    new |= {s: x for s, x in changes.items() if s not in joints}  # the user's own states
    return [new.get(s, s) for s in state]


def _own_columns(r: Redundant) -> list[OutputColumn]:
    """Return columns of constraint errors, the error of Euler parameters' length, and the multipliers."""

    def norm(values: list[Expr]) -> Expr:
        found: Expr = sqrt(as_expr(sum((x * x for x in values), ZERO)))
        return found

    gaps = [row.position for row in r.rows if row.position is not None]
    lengths = [as_expr(sum((x * x for x in p.e), ZERO)) - 1 for p in r.parts.parts]
    own_columns = [
        OutputColumn(
            "constraint error", "", "root of the sum of squares of all constraints' positions", norm(gaps)
        ),
        OutputColumn(
            "constraint speed error",
            "",
            "root of the sum of squares of all constraints' speeds",
            norm([row.speed for row in r.rows]),
        ),
        OutputColumn(
            "unit-norm error",
            "",
            "sum over bodies of |e·e − 1| of their Euler parameters",
            as_expr(sum((absolute(x) for x in lengths), ZERO)),
        ),
    ]
    # The multipliers of the equations are −λ, where λ is the force of the constraint as in other formalisms.
    about = "λ, force or moment of the constraint along its rate"
    own_columns += [OutputColumn(m.data.name, "", f"{about}: {m.data.name}", -m) for m in r.multipliers]
    return own_columns
