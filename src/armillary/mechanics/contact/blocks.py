"""The solver of contacts (``problem.py``) as functions in expressions, for any number of contacts.

`contact_rates`    rates of speeds if the rows that hold are known; forces of redundant rows are not unique
`contact_forces`   forces if the rows that hold are known, shared by redundant rows, and sizes of their terms
`contact_problem`  statuses and forces by complementarity
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.block_functions import BlockFunction, parts
from armillary.algebra.expression import Expr, as_expr, call
from armillary.algebra.triples import Scalar, plus, times, total
from armillary.mechanics.contact import held_rows, independent_rows, problem, status_search, statuses
from armillary.untyped import Given

# Lengths of the solver's vectors, by type (``language.py``), for m contacts, r rows and s speeds.
LENGTHS: dict[str, Callable[[int, int, int], int]] = {
    "ContactReals": lambda m, r, s: m,
    "ContactRows": lambda m, r, s: r,
    "ContactTerms": lambda m, r, s: r * s,
    "ContactSquare": lambda m, r, s: r * r,
    "ContactSpeeds": lambda m, r, s: s,
    "Wholes": lambda m, r, s: r,
}
FIELDS: dict[str, str] = dict(problem.Contacts.__annotations__)  # kinds of the solver's vectors, by name
Vectors = dict[str, list[Given]]  # of expressions, by name
_ROWS = ("jacobian", "columns", "free", "unloaded")
_KNOWN = ("held", "weight", "offset", "static", "static_capacity")
NOT_FOUND, DOUBTFUL, WITHOUT_REBOUND = 1, 2, 3  # values of the first element of `failed`
# For each block: the function of the solver, its argument vectors and its result vectors.
ENTRIES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "contact_rates": ("solve_rates", (*_ROWS, "asked", *_KNOWN), ("force", "loaded")),
    "contact_forces": (
        "solve_forces",
        (*_ROWS, "asked", *_KNOWN, "least", "natural"),
        ("force", "loaded", "force_size", "most"),
    ),
    "contact_problem": (
        "solve_contacts",
        (
            *_ROWS,
            "rebound",
            "active",
            "rests",
            "friction",
            "static",
            "capacity",
            "static_capacity",
            "before",
            "least",
            "direction",
        ),
        ("force", "loaded", "held", "direction", "status", "doubt", "failed"),
    ),
}


class ContactShape:
    """Rows of contacts: for each, the row of its normal (None for a brake) and the rows of its slip."""

    def __init__(self, rows: Sequence[tuple[int | None, Sequence[int]]], speeds: int) -> None:
        self.rows = [(normal, tuple(slip)) for normal, slip in rows]
        self.count = sum((normal is not None) + len(slip) for normal, slip in self.rows)
        self.speeds = speeds


class ContactBlock(BlockFunction):
    """A function of the solver for one shape of contacts, on vectors by name."""

    def __init__(self, name: str, shape: ContactShape) -> None:
        self.entry, takes, gives = ENTRIES[name]
        self.shape, rows = shape, shape.rows
        m, r, s = len(rows), shape.count, shape.speeds
        vectors = {field: LENGTHS[kind](m, r, s) for field, kind in FIELDS.items()}
        tables = {
            "NORMAL_ROW": tuple(-1 if normal is None else normal for normal, _ in rows),
            "SLIP_ROW": tuple(slip[0] if slip else -1 for _, slip in rows),
            "SLIP_END": tuple(slip[-1] + 1 if slip else 0 for _, slip in rows),
        }
        sizes = {"N_CONTACTS": m, "N_CONTACT_ROWS": r, "N_CONTACT_SPEEDS": s}
        super().__init__(name, vectors, takes, gives, r + s, sizes, tables)
        self.condition = "asked" if "asked" in takes else None
        self.extends = "contact_rates" if name == "contact_forces" else None

    def solve(self, **given: Sequence[Scalar]) -> dict[str, list[Expr]]:
        """Return the vectors that the entry gives, as expressions."""
        return self.split(self.gives, self.results([x for field in self.takes for x in given[field]]))

    def value(self, *arguments: float) -> np.ndarray:
        """Return all results for numbers, by running the solver's functions as Python code."""
        run = _Vectors(self.vectors)
        for field, numbers in self.split(self.takes, arguments).items():
            getattr(run, field)[:] = numbers
        _running({**self.sizes, **self.tables})[self.entry](run)
        return np.concatenate([getattr(run, field) for field in self.gives])

    def tangent(self, node: Expr, rates: Sequence[Expr]) -> Expr:
        """Return a block with the derivatives of ``node``, for unchanged statuses.

        B λ + r = 0 are the equations of the forces λ at these statuses, v the speeds or rates with forces:

        B λ + r = 0   ⇒   B λ̇ + (ṙ + Ḃ λ) = 0
        v = v₀ + D λ  ⇒   v̇ = (v̇₀ + Ḋ λ) + D λ̇
        """
        arguments, argument_rates = (self.split(self.takes, numbers) for numbers in (node.args, rates))
        results = self.split(self.gives, parts(node))
        force, s = results["force"], self.shape.speeds
        speeds = _products(arguments["columns"], force, s)
        moved_speeds = _products(argument_rates["columns"], force, s)
        of_rows = argument_rates["free"]
        if "rebound" in argument_rates:
            left_out = fn.equal(results["failed"][0], WITHOUT_REBOUND)
            added = [fn.select(left_out, 0, x) for x in argument_rates["rebound"]]
            of_rows = [plus(x, y) for x, y in zip(of_rows, added, strict=True)]
        free = [
            as_expr(
                plus(
                    of_rows[i],
                    total(
                        [
                            plus(
                                times(argument_rates["jacobian"][i * s + k], speeds[k]),
                                times(arguments["jacobian"][i * s + k], moved_speeds[k]),
                            )
                            for k in range(s)
                        ]
                    ),
                )
            )
            for i in range(self.shape.count)
        ]
        held, weight, offset = self._held_rows(arguments, argument_rates, results)
        rates_alone = self.name == "contact_rates"
        block = ContactBlock("contact_rates" if rates_alone else "contact_forces", self.shape)
        # Derivatives of friction forces have no limits.
        limits = [0] * ((2 if rates_alone else 4) * len(self.shape.rows))
        unloaded = [plus(x, y) for x, y in zip(argument_rates["unloaded"], moved_speeds, strict=True)]
        asked = arguments.get("asked", [1, *[0] * (len(self.shape.rows) - 1)])
        matrices = [*arguments["jacobian"], *arguments["columns"]]
        flat = [*matrices, *free, *unloaded, *asked, *held, *weight, *offset, *limits]
        return call(block, tuple(as_expr(x) for x in flat), None)

    def _held_rows(
        self, given: Vectors, moved: Vectors, found: Vectors
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return the vectors held, weight and offset of the block for the derivatives."""
        if self.name != "contact_problem":
            offset: list[Scalar] = [0] * self.shape.count
            for normal, slip in self.shape.rows:
                push = 0 if normal is None else found["force"][normal]
                for k in slip:
                    offset[k] = plus(moved["offset"][k], times(-1, times(moved["weight"][k], push)))
                if normal is not None:
                    offset[normal] = moved["offset"][normal]
            return given["held"], given["weight"], offset
        weight: list[Scalar] = [0] * self.shape.count
        offset = [0] * self.shape.count
        for c, (normal, slip) in enumerate(self.shape.rows):
            push = 0 if normal is None else found["force"][normal]
            for k in slip:
                along = times(plus(1, times(-1, found["held"][k])), found["direction"][k])
                weight[k] = times(given["friction"][c], along)
                more = plus(times(moved["friction"][c], push), moved["capacity"][c])
                offset[k] = times(-1, times(along, more))
        return found["held"], weight, offset


class _Vectors:
    """The vectors of the solver; assigning to one copies numbers into it."""

    def __init__(self, lengths: Mapping[str, int]) -> None:
        self.__dict__.update(
            {f: np.zeros(n, int if FIELDS[f] == "Wholes" else float) for f, n in lengths.items()}
        )

    def __setattr__(self, field: str, values: np.ndarray) -> None:
        self.__dict__[field][:] = values


def _products(columns: Sequence[Expr], force: Sequence[Expr], speeds: int) -> list[Scalar]:
    """Return D λ, the changes of speeds by forces."""
    return [total([times(columns[i * speeds + k], x) for i, x in enumerate(force)]) for k in range(speeds)]


def _running(constants: Mapping[str, object]) -> dict[str, Given]:
    """Return the solver's functions, with the sizes and tables of one shape as their globals."""
    modules = (problem, held_rows, independent_rows, statuses, status_search)
    scope: dict[str, Given] = {name: x for module in modules for name, x in vars(module).items()}
    scope |= constants
    for module in modules:
        for name, f in vars(module).items():
            if isinstance(f, FunctionType) and f.__module__ == module.__name__:
                scope[name] = FunctionType(f.__code__, scope, name)
    return scope
