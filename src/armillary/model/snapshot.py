"""Frozen copies of descriptions, and the comparison of two descriptions.

Equations and models keep a frozen copy, which no later verb can change. Expressions, vectors and frames
never change and are shared. Everything that may grow or be replaced (tables and lists of the system, its
bodies with their points, its flexible parts) is copied. Copied records refer to the copies of bodies and
points.

Two descriptions are compared record by record. Expressions are compared by their digests, which follow from
the structure alone; if these differ, by their values at a few arguments, since the same expression may have
been simplified in another order.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import takewhile
from zlib import crc32

import numpy as np

from armillary.algebra.arguments import NamedTable
from armillary.algebra.calculus import evaluate
from armillary.algebra.expression import Expr
from armillary.algebra.node import settle
from armillary.algebra.vectors import Frame, Vector, ancestors
from armillary.algebra.walk import symbols
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description, Flexible
from armillary.model.joints import JointType
from armillary.model.verbs import Recorder
from armillary.untyped import DataTable, Given

_SHARED = (Expr, Vector, Frame, str, float, int, bool, type(None))
_COPIED = (Body, Point, Flexible)  # several records hold them, and verbs change them in place


def snapshot(system: Description) -> Description:
    """Return a frozen copy of the present description; return a frozen description itself."""
    return system if system.recorder.frozen else _copy(system, frozen=True)


def changeable(system: Description) -> Description:
    """Return a copy of a description that verbs can change; the description itself stays unchanged."""
    return _copy(system, frozen=False)


def _copy(system: Description, *, frozen: bool) -> Description:
    taken = object.__new__(type(system))
    copier = _Copier(system, taken)
    for name, value in vars(system).items():
        if isinstance(value, Recorder):
            taken.recorder = Recorder(copier.fresh(value.records), frozen=frozen)
        else:
            setattr(taken, name, copier.fresh(value))
    taken.declared_only = True  # so that unknown names in texts add no parameters
    taken.identity.add_snapshot(taken)
    return taken


class _Copier:
    """Maker of copies that refer to each other as their originals do."""

    def __init__(self, system: Description, taken: Description) -> None:
        self._made: dict[int, Given] = {id(system): taken}

    def fresh(self, value: object) -> Given:
        """Return a new table or list, even if none of its items had to be copied; treat other values as
        ``copy`` does.
        """
        if isinstance(value, dict):
            items = {self.copy(key): self.copy(item) for key, item in value.items()}
            return NamedTable(value.kind, items) if isinstance(value, NamedTable) else items
        if type(value) is list:
            return [self.copy(item) for item in value]
        return self.copy(value)

    def copy(self, value: Given) -> Given:
        """Return the value with its mutable parts copied; the value itself if it has none."""
        kind: Given = type(value)
        if kind in _SHARED:
            return value
        made = self._made.get(id(value))
        if made is not None:
            return made
        if kind in _COPIED:
            return self._object(value, always=True)
        if kind is dict:
            table = self.fresh(value)
            same = all(
                [a is b for a, b in zip((*table, *table.values()), (*value, *value.values()), strict=True)]
            )
            return value if same else table
        if isinstance(value, list | tuple):
            items = [self.copy(item) for item in value]
            if all([a is b for a, b in zip(items, value, strict=True)]):
                return value
            return kind(items) if kind in (list, tuple) else kind(*items)  # else a named tuple
        return self._object(value) if _is_record(kind) else value

    def _object(self, value: object, always: bool = False) -> Given:
        made = copy.copy(value) if always else value
        if always:
            self._made[id(value)] = made
        changed = {}
        kind: Given = type(value)
        for name in _field_names(kind):
            before = getattr(value, name)
            after = self.fresh(before) if always else self.copy(before)
            if after is not before:
                changed[name] = after
        if changed and not always:
            made = copy.copy(value)
        for name, after in changed.items():
            object.__setattr__(made, name, after)
        self._made[id(value)] = made
        return made


@cache
def _is_record(kind: object) -> bool:
    return is_dataclass(kind) and kind.__module__.startswith("armillary.model.")


@cache
def _field_names(kind: Given) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


# Tables that are not compared: symbols that are made at their first use, and entries that only the text of a
# model needs.
_LEFT_OUT = ("reactions", "efforts", "accelerations", "functions", "definitions", "calls")
# The motion does not depend on the order of these tables. Bodies include nodes, which are made at first use.
_UNORDERED = (
    "parameters", "bodies", "smallness", "rates", "initial", "events", "memories", "loads", "prescriptions",
    "started", "flexibles", "armatures",
)  # fmt: skip

_ROUNDING = 1e-10  # relative, of values in which terms may cancel


def find_differences(one: Description, other: Description) -> list[str]:
    """List in words where two descriptions differ; empty if they agree."""
    found = []
    if (one.name, one.units) != (other.name, other.units):
        found.append("its name or units")
    tables = [name for name, table in vars(one).items() if isinstance(table, dict | list)]
    for table in [name for name in tables if name not in _LEFT_OUT]:
        mine, theirs = plain_entries(one, table), plain_entries(other, table)
        for key in mine.keys() | theirs.keys():
            if mine.get(key) != theirs.get(key):
                found.append(f"'{key}' among its {table}")
        if not found and table not in _UNORDERED and list(mine) != list(theirs):
            found.append(f"the order of its {table}")
    return sorted(found)


def plain_entries(system: Description, table: str) -> DataTable:
    """Return the records of one kind, by name, as plain data."""
    content = getattr(system, table)
    if isinstance(content, Mapping):
        return {_key_name(key): plain_record(item) for key, item in content.items()}
    return {
        _key_name(x) if isinstance(x, Expr) else f"number {i}": plain_record(x)
        for i, x in enumerate(content, 1)
    }


def _key_name(key: object) -> str:
    return key.data.name if isinstance(key, Expr) and key.kind == "symbol" else str(key)


def plain_record(value: object) -> Given:
    """Return a record as nested tuples of numbers and texts."""
    if isinstance(value, Expr):
        return _plain_symbol(value) if value.kind == "symbol" else Whole(value)
    if isinstance(value, Vector):
        return tuple(
            sorted((frame.name, axis, plain_record(size)) for (frame, axis), size in value.terms.items())
        )
    if isinstance(value, Frame):
        return value.name
    if isinstance(value, Body):
        return _plain_body(value)
    if isinstance(value, Point):
        return (value.body.name, value.name, plain_record(value.coordinates))
    if isinstance(value, JointType):
        return (value.describe(), value.small)
    if isinstance(value, np.ndarray):
        return (value.shape, value.astype(float).tobytes())
    if isinstance(value, Mapping):
        return tuple(sorted((str(_key_name(key)), plain_record(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return tuple(plain_record(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(_field_values(value))
    return value if isinstance(value, str | int | float | type(None)) else str(type(value))


class Whole:
    """An expression; equal to another with the same structure or the same values at all tried arguments."""

    def __init__(self, node: Expr) -> None:
        self.node = node

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Whole):
            return NotImplemented
        return settle(self.node).digest == settle(other.node).digest or _same_values(self.node, other.node)

    # mypy: as Python marks classes that cannot be hashed.
    __hash__ = None  # type: ignore[assignment]


def _same_values(one: Expr, other: Expr) -> bool:
    """Return whether two expressions have equal values, to rounding, at small and large arguments of both
    signs; at least one value must be finite.
    """
    places = {}
    for s in symbols(one, other):
        random = np.random.default_rng(crc32(s.data.name.encode()))
        size = abs(s.data.default or 1.0)
        near, around, far = random.uniform(0.2, 1.8, 8), random.uniform(-1.5, 1.5, 8), random.normal(0, 30, 8)
        places[s.data.name] = size * np.concatenate([near, around, far])
    with np.errstate(all="ignore"):
        a, b = (np.broadcast_to(evaluate(node, places), 24) for node in (one, other))
        same = np.abs(a - b) <= _ROUNDING * np.max(np.abs([a, b]), axis=0)
    finite = np.isfinite(a) & np.isfinite(b)
    return bool(finite.any() and np.all(same[finite]) and np.array_equal(np.isnan(a), np.isnan(b)))


def _plain_symbol(node: Expr) -> tuple[Given, ...]:
    data = node.data
    return (
        data.name,
        data.role,
        data.units or "",
        data.about,
        data.default,
        "" if data.role == "variable" else str(node.dimension),  # that of a force follows from other data
        data.smallness,
    )


def _plain_body(body: Body) -> tuple[Given, ...]:
    """Return a body without its system and its children."""
    parts = (
        body.at,
        body.orient,
        body.mass,
        body.inertia,
        body.com_coordinates,
        body.displacement,
        body.drift,
    )
    parent = body.parent.name if body.parent else ""
    above = body.parent.frame if body.parent else body.frame
    frames = takewhile(lambda frame: frame is not above, ancestors(body.frame))
    turns = [(frame.rotation, frame.rate) for frame in frames]
    points = {name: point.coordinates for name, point in body.points.items()}
    return (
        body.name,
        parent,
        plain_record(body.joint),
        plain_record(parts),
        plain_record(points),
        plain_record(turns),
    )


def _field_values(record: Given) -> Iterator[Given]:
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Body):
            yield value.name
        elif field.name not in ("anywhere", "nodes", "places"):  # nodes are bodies, and compared as such
            yield plain_record(value)
