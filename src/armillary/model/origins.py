"""Where expressions and vectors came from: the call that made them, as a text would say it.

``arm.dot(arm.position(C.com), N.y)`` is a sum of sines and cosines at once; a saved model should say the
call. Only what users call is remembered, for as long as its result lives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from armillary.algebra.expression import Expr
from armillary.algebra.vectors import Vector

Function = TypeVar("Function", bound=Callable[..., Any])


class Call(NamedTuple):
    """A function by its name in texts, and its arguments."""

    function: str
    arguments: tuple[Any, ...]


_calls: WeakKeyDictionary[Any, Call] = WeakKeyDictionary()


def origin(value: Any) -> Call | None:
    """The call that made an expression or vector; None where none is known."""
    return _calls.get(value) if isinstance(value, Expr | Vector) else None


def told(function: Function) -> Function:
    """A function of a user's that remembers what it made of what."""

    @wraps(function)
    def telling(*arguments: Any, **options: Any) -> Any:
        made = function(*arguments, **options)
        if not options:
            _remember(function.__name__, made, arguments)
        return made

    return telling  # type: ignore[return-value]


def told_verb(function: Function) -> Function:
    """The same for a function of a system: in its texts the system itself is not said."""

    @wraps(function)
    def telling(system: Any, *arguments: Any, **options: Any) -> Any:
        made = function(system, *arguments, **options)
        if not options:
            _remember(function.__name__, made, arguments)
        return made

    return telling  # type: ignore[return-value]


def _remember(name: str, made: Any, arguments: tuple[Any, ...]) -> None:
    atom = isinstance(made, Expr) and made.kind in ("number", "symbol")
    if isinstance(made, Expr | Vector) and not atom and not any(a is made for a in arguments):
        _calls[made] = Call(name, arguments)
