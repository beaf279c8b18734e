"""The recorder of a description: verbs as the user called them, calls that made expressions, and undo.

Verbs are recorded so that a system can be written as a text model. ``arm.dot(arm.position(C.com), N.y)`` is a
sum of sines and cosines at once, but a saved model should show the call: so the calls of users that made
expressions and vectors are recorded too. A verb that fails leaves the description as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache, wraps
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from armillary.algebra.expression import Expr
from armillary.algebra.vectors import Vector
from armillary.model.recording.identity import system_of
from armillary.untyped import AnyFunction, DataTable, Given

if TYPE_CHECKING:
    from armillary.model.description import Description

Function = TypeVar("Function", bound=AnyFunction)


@dataclass(frozen=True, eq=False)
class Record:
    """One verb as the user called it; verbs that it calls itself are not recorded."""

    verb: str
    arguments: DataTable
    owner: str = ""  # the body whose verb it is, "" for one of the system itself
    result: Given = None


class Recorder:
    """The records of one system, whether a verb is running, and whether the system refuses all verbs."""

    def __init__(self, records: list[Record] | None = None, *, frozen: bool = False) -> None:
        self.records: list[Record] = [] if records is None else records
        self.busy = False
        self.frozen = frozen


# ---------------------------------------------------------------- calls that made expressions and vectors


class Call(NamedTuple):
    """A function by its name in texts, and its arguments."""

    function: str
    arguments: tuple[Given, ...]


def records_calls(function: Function) -> Function:
    """A function that users call, whose calls are recorded by the system that its arguments are about."""

    @wraps(function)
    def recording(*arguments: object, **options: object) -> Given:
        result = function(*arguments, **options)
        if not options:
            record_call(system_of(arguments), function.__name__, result, arguments)
        return result

    # mypy: of the type of the wrapped function.
    return recording  # type: ignore[return-value]


def record_call(system: Description | None, name: str, result: object, arguments: tuple[object, ...]) -> None:
    """The call that gave this expression or vector; plain numbers and symbols need no call."""
    atom = isinstance(result, Expr) and result.kind in ("number", "symbol")
    made = isinstance(result, Expr | Vector) and not atom and not any(a is result for a in arguments)
    if made and system is not None:
        system.calls[result] = Call(name, arguments)


# ---------------------------------------------------------------- undo


@contextmanager
def undo_on_error(system: Description, owner: object = None) -> Iterator[None]:
    """Entries described in the block stay, unless there is an error; ``owner`` is the body whose verb it
    is.
    """
    restore = _way_back(system, owner)
    try:
        yield
    except BaseException:
        restore()
        raise


def all_or_nothing(function: Function) -> Function:
    """A function that calls several verbs of its first argument, a system: all of them, or none."""

    @wraps(function)
    def whole(system: Description, *args: object, **options: object) -> Given:
        with undo_on_error(system):
            return function(system, *args, **options)

    # mypy: of the type of the wrapped function.
    return whole  # type: ignore[return-value]


@contextmanager
def undo_always(system: Description) -> Iterator[list[str]]:
    """Entries described in the block are undone; the list is not empty then if there was anything."""
    extent, restore = system.extent(), _way_back(system)
    changed: list[str] = []
    try:
        yield changed
    finally:
        if system.extent() != extent:
            changed.append("described")
        restore()


def _way_back(system: Description, owner: object = None) -> Callable[[], None]:
    """The function that restores all tables and lists of a description as they are now.

    All that a description records are tables and lists: of the system and its recorder, of its bodies
    (points) and of their flexible parts (nodes). None is named here, so that none can be forgotten. Those of
    bodies and parts only grow, so their lengths are enough. A verb of a body may replace what the body was
    made with.
    """
    tables = [x for x in vars(system).values() if isinstance(x, dict | list)]
    tables.append(system.recorder.records)
    copies = [table.copy() for table in tables]
    growing = []
    for part in (system.ground, *system.bodies.values(), *system.flexibles.values()):
        kind: Given = type(part)
        growing += [(table, len(table)) for table in [part.__dict__[name] for name in _growing(kind)]]
    made_with = None if owner is None or owner is system else dict(vars(owner))

    def restore() -> None:
        for table, before in zip(tables, copies, strict=True):
            table.clear()
            table.extend(before) if isinstance(table, list) else table.update(before)
        for table, size in growing:
            while len(table) > size:
                table.popitem()
        if made_with is not None:
            vars(owner).update(made_with)

    return restore


@cache
def _growing(record: Given) -> tuple[str, ...]:
    """Fields of a record that begin as empty tables."""
    return tuple(f.name for f in fields(record) if f.default_factory is dict)
