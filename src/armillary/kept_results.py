"""Results that are kept as long as the object they were made for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Owner = TypeVar("Owner")
Others = ParamSpec("Others")
Made = TypeVar("Made")


def kept_per_object(
    make: Callable[Concatenate[Owner, Others], Made],
) -> Callable[Concatenate[Owner, Others], Made]:
    """A function that makes its result once for each first argument, the owner, and hashable others.

    A result must not hold its owner, which would then never be freed. Threads that make the same one at the
    same time all have the first.
    """
    known: WeakKeyDictionary[Owner, dict[tuple[object, ...], Made]] = WeakKeyDictionary()

    @wraps(make)
    def find(owner: Owner, /, *others: Others.args, **named: Others.kwargs) -> Made:
        made = known.setdefault(owner, {})
        key = (*others, *named.items())
        return made[key] if key in made else made.setdefault(key, make(owner, *others, **named))

    return find
