"""Where expressions and vectors came from: the call that made them, as a text would say it.

``arm.dot(arm.position(C.com), N.y)`` is a sum of sines and cosines at once; a saved model should say the
call. Only what users call is remembered, by the system whose quantities it is about, for as long as that
lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakSet, ref

from armillary.algebra.expression import Expr
from armillary.algebra.vectors import Frame, Vector, ancestors
from armillary.algebra.walk import symbols
from armillary.model.unit_system import UnitSystem

Function = TypeVar("Function", bound=Callable[..., Any])


class Call(NamedTuple):
    """A function by its name in texts, and its arguments."""

    function: str
    arguments: tuple[Any, ...]


class Identity:
    """What the symbols of a system know of it: enough to read them once the system itself is gone.

    A system and its snapshots have one identity, so a symbol belongs to all of them alike. It holds none of
    them, and no expression: symbols hold it, and a circle of both would be freed late.
    """

    def __init__(self, system: Any) -> None:
        self.name: str = system.name
        self.units: UnitSystem = system.units
        self._system = ref(system)
        self._snapshots: WeakSet[Any] = WeakSet()

    @property
    def system(self) -> Any:
        """The system that its user describes; None once it is gone."""
        return self._system()

    def shared_by(self, snapshot: Any) -> None:
        """One more system with this identity."""
        self._snapshots.add(snapshot)

    def rate(self, symbol: Expr) -> Expr | None:
        """The time derivative of a symbol; None for a constant."""
        for holder in (self.system, *self._snapshots):
            if holder is not None and symbol in holder.rates:
                found: Expr = holder.rates[symbol]
                return found
        return None


# The system to whose ground a tree of frames belongs.
_systems: WeakKeyDictionary[Frame, ref[Any]] = WeakKeyDictionary()


def belongs(ground: Frame, system: Any) -> None:
    """Vectors in frames on this ground are about this system."""
    _systems[ground] = ref(system)


def told(function: Function) -> Function:
    """A function of a user's that remembers what it made of what."""

    @wraps(function)
    def telling(*arguments: Any, **options: Any) -> Any:
        made = function(*arguments, **options)
        if not options:
            _remember(_system_of(arguments), function.__name__, made, arguments)
        return made

    return telling  # type: ignore[return-value]


def told_verb(function: Function) -> Function:
    """The same for a function of a system: in its texts the system itself is not said."""

    @wraps(function)
    def telling(system: Any, *arguments: Any, **options: Any) -> Any:
        made = function(system, *arguments, **options)
        if not options:
            _remember(system, function.__name__, made, arguments)
        return made

    return telling  # type: ignore[return-value]


def _remember(system: Any, name: str, made: Any, arguments: tuple[Any, ...]) -> None:
    atom = isinstance(made, Expr) and made.kind in ("number", "symbol")
    known = isinstance(made, Expr | Vector) and not atom and not any(a is made for a in arguments)
    if known and system is not None:
        system.calls[made] = Call(name, arguments)


def _system_of(arguments: Iterable[Any]) -> Any:
    """The system that arguments are about: bodies, points, vectors or expressions; None where none is."""
    for argument in arguments:
        if isinstance(argument, Vector):
            frames = {root for frame, _ in argument.terms for root in ancestors(frame)}
            found = next((_systems[frame]() for frame in frames if frame in _systems), None)
        elif isinstance(argument, Expr):
            owners = (s.data.owner for s in symbols(argument))
            found = next((owner.system for owner in owners if isinstance(owner, Identity)), None)
        else:
            found = getattr(getattr(argument, "body", argument), "system", None)
        if found is not None:
            return found
    return None
