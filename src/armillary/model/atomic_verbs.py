"""All or nothing: a description is as it was before a verb that fails, or before what was only tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache, wraps
from typing import Any, TypeVar

Verb = TypeVar("Verb", bound=Callable[..., Any])


@contextmanager
def all_of_it_or_nothing(system: Any, owner: Any = None) -> Iterator[None]:
    """What is described meanwhile stays, unless there is an error; ``owner`` is the body whose verb it is."""
    restore = _kept(system, owner)
    try:
        yield
    except BaseException:
        restore()
        raise


def all_or_nothing(function: Verb) -> Verb:
    """A function that describes a system, its first argument, by several verbs: all of them, or none."""

    @wraps(function)
    def careful(system: Any, *args: Any, **options: Any) -> Any:
        with all_of_it_or_nothing(system):
            return function(system, *args, **options)

    return careful  # type: ignore[return-value]


@contextmanager
def nothing_stays(system: Any) -> Iterator[list[str]]:
    """What is said meanwhile is taken back; the list then tells whether there was anything."""
    extent, restore = system.extent(), _kept(system)
    changed: list[str] = []
    try:
        yield changed
    finally:
        if system.extent() != extent:
            changed.append("described")
        restore()


def _kept(system: Any, owner: Any = None) -> Callable[[], None]:
    """All tables and lists of a description as they are, and the way back to them.

    All that a description records are tables and lists: of the system and its journal, of its bodies (points)
    and of their flexible parts (nodes that were asked for). None is named here, so that none can be
    forgotten. Those of bodies and parts only grow, so their lengths are enough. A verb of a body may replace
    what the body was made with.
    """
    tables = [x for x in vars(system).values() if isinstance(x, dict | list)]
    tables.append(system.telling.entries)
    kept = [table.copy() for table in tables]
    growing = []
    for part in (system.ground, *system.bodies.values(), *system.flexibles.values()):
        kind: Any = type(part)
        growing += [(table, len(table)) for table in [part.__dict__[name] for name in _growing(kind)]]
    made_with = None if owner is None or owner is system else dict(vars(owner))

    def restore() -> None:
        for table, before in zip(tables, kept, strict=True):
            table.clear()
            table.extend(before) if isinstance(table, list) else table.update(before)
        for table, size in growing:
            while len(table) > size:
                table.popitem()
        if made_with is not None:
            vars(owner).update(made_with)

    return restore


@cache
def _growing(record: Any) -> tuple[str, ...]:
    """Fields of a record that begin as empty tables."""
    return tuple(f.name for f in fields(record) if f.default_factory is dict)
