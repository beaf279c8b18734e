"""Words at random: names, numbers, texts, and expressions as texts or as Python makes them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import armillary as arm

# Names that a careless writer of texts would take for something else.
NAMES = [
    "k",
    "k1",
    "k_1",
    "K",
    "x",
    "v",
    "z1",
    "z2",
    "e5",
    "_",
    "_0",
    "inf",
    "nan",
    "true",
    "q1",
    "com",
    "origin",
    "angular",
    "total",
    "tip",
    "world",
    "A",
    "A_tip",
    "value",
    "name",
]
TEXTS = [
    "",
    "plain",
    'say "so" \\ or \\n',
    "tab\tline\nend",
    "größe µ ≤ 2",
    "漢字 🛰",
    "\x7f\x01",
    "# no comment",
    "'''",
    "[a]",
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    0.1,
    1 / 3,
    -2.5,
    1e-300,
    1e300,
    5e-324,
    1.7976931348623157e308,
    2**53 + 1,
    1e15,
    1e16,
    -1e22,
]
UNITS = [None, "", "m", "mm", "N/m", "kg", "rad/s", "deg", "N*m/rad", "s", "in", "lb/in", "m/s^2"]
ONE = ["sin", "cos", "tan", "atan", "exp", "abs", "sign", "sqrt", "log", "asin", "acos"]
TWO = ["atan2", "min", "max"]
RELATIONS = ["<", "<=", ">", ">=", "==", "!="]


class Words:
    """What a user may say of a system, said at random."""

    def __init__(self, rng: random.Random, system: arm.System) -> None:
        self.rng, self.s = rng, system
        self.count = 0

    # ------------------------------------------------------------ words

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def name(self) -> str:
        base = self.rng.choice(NAMES)
        return base if self.chance(0.6) else f"{base}_{self.rng.randint(1, 99)}"

    def label(self) -> str:
        return self.name() if self.chance(0.7) else self.rng.choice(TEXTS[1:])

    def size(self) -> Any:
        """A number of any kind."""
        if self.chance(0.4):
            return self.rng.choice(NUMBERS)
        made = self.rng.gauss(0, 1) * 10.0 ** self.rng.randint(-20, 20)
        return self.rng.choice([float, np.float64, round])(made)

    def plain(self) -> float:
        """A number as engineers use them."""
        return self.rng.choice([1.0, 2, 0.5, round(self.rng.uniform(0.1, 3), 3), self.rng.uniform(0.1, 3)])

    def fit(self) -> arm.Expr:
        """A new parameter without units: of the dimension that makes things fit."""
        self.count += 1
        return self.s.parameter(f"c{self.count}", self.plain())

    def fitting(self) -> str:
        """The same in a text, where an unknown name makes one."""
        self.count += 1
        return f"c{self.count}"

    def constant(self) -> Any:
        """A constant: number, text or expression."""
        ways = [
            self.plain,
            lambda: f"{self.plain()}*{self.fitting()}",
            lambda: self.fit() * self.plain(),
            self.fitting,
            self.fit,
        ]
        return self.rng.choice(ways)()

    def triple(self) -> tuple[Any, ...]:
        return tuple(self.rng.choice([0, 0, self.constant()]) for _ in range(3))

    def axis(self) -> Any:
        return self.rng.choice(
            ["x", "y", "z", (0, 0.6, 0.8), (1, 1, 0), (0, f"cos({(c := self.fitting())})", f"sin({c})")]
        )

    def body(self) -> arm.Body:
        return self.rng.choice([self.s.ground, *self.s.bodies.values(), *self.s.bodies.values()])

    def moving(self) -> arm.Body:
        return self.rng.choice(list(self.s.bodies.values()) or [self.s.ground])

    def point(self) -> Any:
        body = self.body()
        made = self.rng.choice([*body.points.values(), body])
        return made if self.chance(0.5) else self.text_of(("point", made))

    def either(self, tree: Any) -> Any:
        """A tree as text or as a Python expression."""
        return self.text_of(tree) if self.chance(0.5) else self.made(tree)

    def scalar(self, depth: int = 3, *, late: bool = False) -> Any:
        return self.either(self.tree(depth, late))

    def direction(self) -> Any:
        return self.either(self.arrow(1, False))

    # ------------------------------------------------------------ trees of expressions

    def tree(self, depth: int, late: bool) -> Any:
        """A scalar; ``late`` allows what only outputs may hold."""
        rng, s = self.rng, self.s
        if depth <= 0 or self.chance(0.2):
            symbols = [
                *s.coordinates,
                *s.speeds,
                s.time,
                *(m.symbol for n, m in s.memories.items() if n.isidentifier()),
            ]
            symbols += [*s.parameters.values(), *([*s.accelerations.values()] if late else [])]
            fit = ("symbol", self.fit())
            kinds = [("number", self.plain()), ("number", self.size()), fit]
            return rng.choice([*kinds, *[("times", [fit, ("symbol", n)]) for n in symbols]])
        down = depth - 1
        kind = rng.choice(
            [
                "plus",
                "minus",
                "times",
                "over",
                "power",
                "one",
                "two",
                "select",
                "negative",
                "dot",
                "magnitude",
                "angle",
                "function",
                "named",
                "plus",
            ]
        )
        if kind in ("plus", "times"):
            return (kind, [self.tree(down, late) for _ in range(rng.randint(2, 3))])
        if kind in ("minus", "over"):
            return (kind, [self.tree(down, late), self.tree(down, late)])
        if kind == "power":
            return (kind, [self.tree(down, late)], rng.choice([2, -1, 0.5, 3, -2, 1.5, 0.1]))
        if kind == "one":
            return ("call", rng.choice(ONE), [self.tree(down, late)])
        if kind == "two":
            return ("call", rng.choice(TWO), [self.tree(down, late), self.tree(down, late)])
        if kind == "select":
            condition = (
                "relation",
                rng.choice(RELATIONS),
                [self.tree(down - 1, late), self.tree(down - 1, late)],
            )
            return ("call", "select", [condition, self.tree(down, late), self.tree(down, late)])
        if kind == "negative":
            return (kind, [self.tree(down, late)])
        if kind == "dot":
            return ("call", "dot", [self.arrow(down - 1, late), self.arrow(down - 1, late)])
        if kind == "magnitude":
            return ("call", "magnitude", [self.arrow(down - 1, late)])
        if kind == "angle":
            return ("call", "angle", [self.arrow(down - 1, late), self.arrow(down - 1, late)])
        if kind == "function" and s.functions:
            return ("call", rng.choice(list(s.functions)), [self.tree(down, late)])
        if s.loads and self.chance(0.5):
            return ("symbol", s.loads[rng.choice(list(s.loads))].magnitude)
        return self.tree(0, late)

    def arrow(self, depth: int, late: bool) -> Any:
        """A vector."""
        rng = self.rng
        if depth <= 0 or self.chance(0.3):
            return ("axis", self.body(), rng.choice("xyz"))
        down = depth - 1
        kind = rng.choice(
            [
                "scaled",
                "plus",
                "cross",
                "position",
                "velocity",
                "angular_velocity",
                "project",
                "direction",
                *(["acceleration", "angular_acceleration"] if late else []),
            ]
        )
        if kind == "scaled":
            return ("times", [self.tree(down, late), self.arrow(down, late)])
        if kind == "plus":
            return ("plus", [self.arrow(down, late), self.arrow(down, late)])
        if kind in ("cross", "project"):
            return ("call", kind, [self.arrow(down, late), self.arrow(down, late)])
        if kind == "direction":
            return ("call", kind, [self.arrow(down, late)])
        point = ("point", rng.choice(list(self.body().points.values())))
        if kind in ("angular_velocity", "angular_acceleration"):
            return ("call", kind, [("point", self.body())])
        return ("call", kind, [point])

    def text_of(self, tree: Any) -> str:
        kind = tree[0]
        if kind == "number":
            shown = repr(float(tree[1])) if not isinstance(tree[1], int) else str(tree[1])
            return f"({shown})" if shown.startswith("-") else shown
        if kind == "symbol":
            if tree[1].kind != "symbol":
                return next(name for name, load in self.s.loads.items() if load.magnitude is tree[1])
            plain = tree[1].data.name.replace(".", "").isidentifier()
            return tree[1].data.name if plain else f"`{tree[1].data.name}`"
        if kind == "axis":
            return f"{tree[1].name}.{tree[2]}"
        if kind == "point":
            return tree[1].name if isinstance(tree[1], arm.Body) else f"{tree[1].body.name}.{tree[1].name}"
        parts = [self.text_of(part) for part in (tree[2] if kind in ("call", "relation") else tree[1])]
        if kind == "call":
            return f"{tree[1]}({', '.join(parts)})"
        if kind == "relation":
            return f"({parts[0]} {tree[1]} {parts[1]})"
        if kind == "power":
            return f"({parts[0]})^({tree[2]})"
        if kind == "negative":
            return f"(-{parts[0]})"
        sign = {"plus": " + ", "minus": " - ", "times": "*", "over": "/"}[kind]
        return f"({sign.join(parts)})"

    def made(self, tree: Any) -> Any:
        kind = tree[0]
        if kind in ("number", "symbol", "point"):
            return tree[1]
        if kind == "axis":
            return getattr(tree[1], tree[2])
        parts = [self.made(part) for part in (tree[2] if kind in ("call", "relation") else tree[1])]
        if kind == "call":
            return (
                getattr(arm, tree[1])(*parts)
                if hasattr(arm, tree[1])
                else self.s.functions[tree[1]][0](*parts)
            )
        try:
            return _combined(kind, tree, parts)
        except (ZeroDivisionError, OverflowError, TypeError) as error:  # numbers of Python alone
            raise arm.ArmillaryError(str(error)) from None


def _combined(kind: str, tree: Any, parts: list[Any]) -> Any:
    """Parts put together by Python's own operators."""
    if kind == "relation":
        compare = {
            "==": arm.equal,
            "!=": arm.not_equal,
            "<": lambda a, b: a < b,
            "<=": lambda a, b: a <= b,
            ">": lambda a, b: a > b,
            ">=": lambda a, b: a >= b,
        }
        return compare[tree[1]](*parts)
    if kind == "negative":
        return -parts[0]
    if kind == "power":
        return parts[0] ** tree[2]
    whole = parts[0]
    for part in parts[1:]:
        whole = {
            "plus": lambda a, b: a + b,
            "minus": lambda a, b: a - b,
            "times": lambda a, b: a * b,
            "over": lambda a, b: a / b,
        }[kind](whole, part)
    return whole
