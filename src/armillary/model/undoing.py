"""Verbs made of several others, such as a wheel of a body, a start and a moment: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache, wraps
from typing import Any, TypeVar

Verb = TypeVar("Verb", bound=Callable[..., Any])


def all_or_nothing(verb: Verb) -> Verb:
    """A verb whose first argument is a system, which is as it was when the verb fails.

    All that a description records are tables and lists: of the system, of its bodies (points) and of their
    flexible parts (nodes that were asked for). None is named here, so that none can be forgotten.
    """

    @wraps(verb)
    def careful(system: Any, *args: Any, **options: Any) -> Any:
        restore = _kept(system)
        try:
            return verb(system, *args, **options)
        except Exception:
            restore()
            raise

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


def _kept(system: Any) -> Callable[[], None]:
    """All tables and lists of a description as they are, and the way back to them."""
    tables = [x for x in vars(system).values() if isinstance(x, dict | list)]
    for part in (system.ground, *system.bodies.values(), *system.flexibles.values()):
        kind: Any = type(part)
        tables += [part.__dict__[name] for name in _growing(kind)]
    kept = [table.copy() for table in tables]

    def restore() -> None:
        for table, before in zip(tables, kept, strict=True):
            table.clear()
            table.extend(before) if isinstance(table, list) else table.update(before)

    return restore


@cache
def _growing(record: Any) -> tuple[str, ...]:
    """Fields of a record that begin as empty tables or lists."""
    return tuple(f.name for f in fields(record) if f.default_factory in (dict, list))
