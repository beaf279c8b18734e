"""Frozen copies of descriptions: what equations and models keep, so that no later verb reaches them.

Expressions, vectors and frames never change and are shared. Everything that may grow or be replaced (tables
and lists of the system, its bodies with their points, its flexible parts) is copied, and the records that
name bodies and points name the copies.
"""

from __future__ import annotations

import copy
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING

from armillary.algebra.arguments import NamedTable
from armillary.algebra.expression import Expr
from armillary.algebra.vectors import Frame, Vector
from armillary.model.bodies.body import Body, Point
from armillary.model.recording.recorder import Recorder
from armillary.model.recording.records import Flexible
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.model.description import Description

_SHARED = (Expr, Vector, Frame, str, float, int, bool, type(None))
_COPIED = (Body, Point, Flexible)  # held by others and changed in place


def snapshot(system: Description) -> Description:
    """The description as it is now, which refuses changes; a snapshot itself where it is one already."""
    return system if system.recorder.frozen else _copy(system, frozen=True)


def changeable(system: Description) -> Description:
    """A copy of a description that verbs can change; equations that were derived from it keep their own."""
    return _copy(system, frozen=False)


def _copy(system: Description, *, frozen: bool) -> Description:
    taken = object.__new__(type(system))
    copier = _Copier(system, taken)
    for name, value in vars(system).items():
        if isinstance(value, Recorder):
            taken.recorder = Recorder(copier.fresh(value.records), frozen=frozen)
        else:
            setattr(taken, name, copier.fresh(value))
    taken.declared_only = True  # a text that is read with it makes no parameter
    taken.identity.add_snapshot(taken)
    return taken


class _Copier:
    """Copies that refer to each other as their originals do."""

    def __init__(self, system: Description, taken: Description) -> None:
        self._made: dict[int, Given] = {id(system): taken}

    def fresh(self, value: object) -> Given:
        """A table or list of its own, even where nothing in it had to be copied; else as ``copy``."""
        if isinstance(value, dict):
            items = {self.copy(key): self.copy(item) for key, item in value.items()}
            return NamedTable(value.kind, items) if isinstance(value, NamedTable) else items
        if type(value) is list:
            return [self.copy(item) for item in value]
        return self.copy(value)

    def copy(self, value: Given) -> Given:
        """The value with copies in place of what is copied; itself where it holds nothing of the kind."""
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
