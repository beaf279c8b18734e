"""The conditions that hold a mechanism along a path, as compiled functions.

With small motions δ along all speeds,

    q += N δ        F(q, t) = [gaps Φ; driven quantities c − c*] = 0        A = (∂F/∂q) N
    A u + b = [0; ċ*]                   b = ∂F/∂t, and rows for constraints of speeds alone
    A u̇ + γ = [0; c̈*]                   γ = d(A u + b)/dt at constant u

Under static loads the forces z of gaps and driven quantities are unknown too, and all speeds have a row

    f(q) + Aᵀ z = e*                    f: generalised forces of all loads at rest

whose target e* is zero; it starts from what the starting position leaves. Limits are rows that are zero
inside them: s (max(x − high, 0) + min(x − low, 0)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.calculus import directional_derivatives, gradient, tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.functions import maximum, minimum
from armillary.algebra.walk import substitute, symbols
from armillary.analysis.kinematics.follower.follower import PathConditions
from armillary.analysis.kinematics.mechanism.kinematics import KinematicQuantity, Kinematics, slopes
from armillary.analysis.kinematics.mechanism.static_loads import effort_quantity, generalised_forces
from armillary.model.recording.records import Constraint
from armillary.program.formalisms.formalism import derivation
from armillary.runtime.models.programs.functions import ModelFunctions


@dataclass(frozen=True, eq=False)
class ConditionRow:
    """One condition of positions or speeds: its name, its words, and its constraint if it is one."""

    name: str
    about: str
    constraint: Constraint | None = None


class Mechanism:
    """A system whose loops are closed while some quantities are driven.

    ``rows`` are those of the motion: gaps, what is driven, balance of forces, constraints of speeds alone.
    ``targets`` are the symbols of c*, of e*, and of low, high and s of each limit.
    """

    def __init__(
        self,
        kinematics: Kinematics,
        driven: Sequence[KinematicQuantity],
        outputs: Sequence[KinematicQuantity] = (),
        *,
        limited: Sequence[KinematicQuantity] = (),
        static: bool = False,
    ) -> None:
        self.kinematics, self.driven, self.limited = kinematics, tuple(driven), tuple(limited)
        system = kinematics.system
        constraints = list(system.constraints.values())
        gaps = [c for c in constraints if c.position is not None]
        rolling = [c for c in constraints if c.position is None]
        self.gaps, self.static = len(gaps), static
        redundant = kinematics.equations.reduction.elimination.redundant
        self.redundant = sum(row.gap is not None for row in redundant)

        def fresh(words: str) -> Expr:
            return symbol(words, "variable", owner=system.identity)

        conditions = [ConditionRow(c.name, c.about, c) for c in gaps] + [
            ConditionRow(d.name, d.about) for d in self.driven
        ]
        held = conditions if static else []
        self.z = tuple(fresh(f"force of {row.name}") for row in held)
        self.u = (*kinematics.u, *(fresh(f"rate of force of {row.name}") for row in held))
        self.a = (*kinematics.a, *(fresh(f"second rate of force of {row.name}") for row in held))
        efforts = zip(self.driven, self.z[self.gaps :], strict=False)
        self.outputs = (*outputs, *(effort_quantity(kinematics, d, force) for d, force in efforts))
        balance = (
            [ConditionRow(u.data.name, f"balance along {u}") for u in kinematics.speeds] if static else []
        )
        self.rows = (*conditions, *balance, *(ConditionRow(c.name, c.about, c) for c in rolling))
        self.closing = len(conditions) + len(balance)  # rows of positions and of balance
        goals = [*(f"target {d.name}" for d in self.driven), *(f"balance {row.name}" for row in balance)]
        goals += [f"{word} of {x.name}" for x in self.limited for word in ("low", "high", "scale")]
        self.targets = tuple(map(fresh, goals))
        self.followed = len(self.driven) + len(balance)  # targets that are values of rows
        with derivation():
            self._build(gaps, rolling)

    def _build(self, gaps: Sequence[Constraint], rolling: Sequence[Constraint]) -> None:
        k, n = self.kinematics, len(self.kinematics.u)
        # Rates that are differentiated once more are without the cases of calculus.py: these compare rates
        # with zero, which they are where the derivatives by the speeds are taken.
        moving = k.moving | dict(zip(self.z, self.u[n:], strict=True))
        onward = moving | dict(zip(self.u, self.a, strict=True))
        values = [as_expr(k.plain(c.position)) for c in gaps]
        values += [d.value - s for d, s in zip(self.driven, self.targets, strict=False)]
        if self.static:
            power = sum(
                (z * v for z, v in zip(self.z, directional_derivatives(values, moving), strict=True)), ZERO
            )
            aims = self.targets[len(self.driven) : self.followed]
            balanced = zip(generalised_forces(k), gradient(power, k.u), aims, strict=True)
            values += [f + g - e for f, g, e in balanced]
        rates = [*directional_derivatives(values, moving), *(as_expr(k.plain(c.speed)) for c in rolling)]
        limits = [_limit(x.value, *self.targets[i : i + 3]) for x, i in self._limits()]
        still = dict.fromkeys(self.u, ZERO)
        entries = [(i, j, a) for i, v in enumerate(rates) for j, a in slopes(v, self.u).items()]
        closing = [e for e in entries if e[0] < self.closing]
        for i, v in enumerate(directional_derivatives(limits, moving)):
            closing += [(self.closing + i, j, a) for j, a in slopes(v, self.u).items()]
        shown = [o.value for o in self.outputs]
        first = directional_derivatives(shown, onward)
        speeds = {*self.u, *self.a}
        self.twice = tuple(i for i, v in enumerate(shown) if not speeds & set(symbols(v)))
        inputs = (*self.targets, *self.z, k.clock, *self.u, *self.a)
        forces = [(i, n + i, UNIT) for i in range(len(self.z))]
        functions = {
            "closing": [*values, *limits, *(a for *_, a in (*closing, *k.motions, *forces))],
            "motion": [*(substitute(v, still) for v in rates), *(a for *_, a in entries)],
            "bias": tangents(rates, moving),
            "shown": shown,
            "rates": [*tangents(shown, onward), *tangents([first[i] for i in self.twice], onward)],
            "sizes": k.sizes(),
            "limited": [x.value for x in self.limited],
        }  # fmt: skip
        self.functions = ModelFunctions(k.equations, functions, inputs, search=False)
        self.state = len(self.functions.equations.program.state)
        self.unknown = self.state + len(self.targets)  # place of z in a position
        self.clock = self.unknown + len(self.z)
        self.places = tuple((i, j) for i, j, _ in entries)
        units = list(dict.fromkeys(d.units for d in self.driven))
        groups = tuple(-units.index(d.units) for d in self.driven)
        rest = len(values) + len(limits) - self.gaps - len(self.driven)
        self.conditions = PathConditions(
            function=self.functions.address("closing"),
            width=self.state + len(inputs),
            first_target=self.state,
            targets=len(self.targets),
            stiff=(1,) * self.gaps + groups + (2,) * rest,
            directions=len(self.u),
            places=tuple((i, j) for i, j, _ in closing),
            moved=(*(i for i, *_ in k.motions), *(self.unknown + i for i, *_ in forces)),
            along=(*(j for _, j, _ in k.motions), *(j for _, j, _ in forces)),
            quaternions=k.quaternions,
        )  # fmt: skip

    def _limits(self) -> list[tuple[KinematicQuantity, int]]:
        """Quantities with limits, and the places of their targets."""
        return [(x, self.followed + 3 * i) for i, x in enumerate(self.limited)]


def _limit(x: Expr, low: Expr, high: Expr, scale: Expr) -> Expr:
    found: Expr = scale * (maximum(x - high, ZERO) + minimum(x - low, ZERO))
    return found
