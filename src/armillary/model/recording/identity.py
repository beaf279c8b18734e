"""The system of a symbol, a vector or a body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet, ref

from armillary.algebra.expression import Expr
from armillary.algebra.vectors import Frame, Vector, ancestors
from armillary.algebra.walk import symbols
from armillary.model.units.unit_system import UnitSystem
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.model.description import Description


class Identity:
    """The identity of a system for its symbols: enough to read them once the system itself is gone.

    A system and its snapshots have one identity, so a symbol belongs to all of them alike. It holds none of
    them, and no expression: symbols hold it, and a circle of both would be freed late.
    """

    def __init__(self, system: Description) -> None:
        self.name: str = system.name
        self.units: UnitSystem = system.units
        self._system = ref(system)
        self._snapshots: WeakSet[Description] = WeakSet()

    @property
    def system(self) -> Description | None:
        """The system that its user describes; None once it is gone."""
        return self._system()

    def add_snapshot(self, snapshot: Description) -> None:
        """One more system with this identity."""
        self._snapshots.add(snapshot)

    def rate(self, symbol: Expr) -> Expr | None:
        """The time derivative of a symbol; None for a constant."""
        for holder in (self.system, *self._snapshots):
            if holder is not None and symbol in holder.rates:
                rate = holder.rates[symbol]
                if rate in holder.input_rates:
                    holder.memories.setdefault(rate.name, holder.input_rates[rate])
                return rate
        return None


_systems_of_grounds: WeakKeyDictionary[Frame, ref[Description]] = WeakKeyDictionary()


def register_ground(ground: Frame, system: Description) -> None:
    """From now on vectors in frames on this ground are about this system."""
    _systems_of_grounds[ground] = ref(system)


def system_of(arguments: Iterable[object]) -> Description | None:
    """The system that bodies, points, vectors or expressions are about; None where none is."""
    for argument in arguments:
        found: Given
        if isinstance(argument, Vector):
            frames = {root for frame, _ in argument.terms for root in ancestors(frame)}
            known = _systems_of_grounds
            found = next((known[frame]() for frame in frames if frame in known), None)
        elif isinstance(argument, Expr):
            owners = (s.data.owner for s in symbols(argument))
            found = next((owner.system for owner in owners if isinstance(owner, Identity)), None)
        else:
            found = getattr(getattr(argument, "body", argument), "system", None)
        if found is not None:
            system: Description = found
            return system
    return None
