"""The model machine that orders operations (``arrangement.py``), compiled: it visits each many times.

Among the operations that can start, the one with the least key goes first: i − size·behind if its operands
are ready, i + size·begin if they are ready only at a later cycle, ``begin``. While too many values are alive,
the operation that leaves the fewest goes first: among those with ready operands, or among all if the machine
is ``patient``. Even then an operation is not held back if its chain would end ``excess`` operations or more
after all remaining ones, two in a cycle: the last part of a section would wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from armillary.llvm.building.builder import Local, Value
from armillary.llvm.building.emitter import NOTHING, IRModule
from armillary.llvm.building.routines import (
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    routine,
)
from armillary.llvm.jit import GENERAL, machine_settings

UNITS = 2  # operations that start in a cycle
LATE = 2  # cycles after its start at which a fused operation takes the sum of another one, on Arm's cores
NO_EXCESS = 1 << 30  # longer than all chains
_FAR = 1 << 40  # times the size: beyond all keys
_FARTHER = _FAR << 4  # beyond those with the most operands

# Lists of operands and of users are one after the other, those of operation i from first[i] on.
_FIELDS = RoutineLayout(
    ("size", "most", "window", "patient", "excess"),
    (
        "first_operand", "operands", "waits", "first_user", "users", "user_waits", "latency", "held",
        "ahead", "behind", "waiting", "left", "change", "begin", "started", "done", "able", "order",
    ),
)  # fmt: skip


class ModelMachine:
    """Operations by their places.

    ``operands`` of all operations, ``counts`` for each, −1 for given values; ``latency``: cycles until its
    value can be used; ``held``: whether it takes a register; ``late``: pairs of an operation and the operand
    that it takes LATE cycles after its start.
    """

    def __init__(
        self,
        operands: list[int],
        counts: list[int],
        latency: list[int],
        held: list[bool],
        late: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.size = size = len(counts)
        flat = np.array(operands, dtype=np.int64)
        owners = np.repeat(np.arange(size, dtype=np.int64), np.array(counts, dtype=np.int64))[flat >= 0]
        flat = flat[flat >= 0]
        own = np.bincount(owners, minlength=size)
        uses = np.bincount(flat, minlength=size)
        takes = np.array(held, dtype=np.int64)
        self._by_operand = by_operand = np.argsort(flat, kind="stable")
        last = (uses[flat] == 1) & (takes[flat] == 1)  # the value is alive no more
        self._arrays = {
            "first_operand": starts(own), "operands": flat,
            "first_user": starts(uses), "users": owners[by_operand], "held": takes,
            "waiting": own.astype(np.int64), "left": uses.astype(np.int64),
            "change": takes - np.bincount(owners[last], minlength=size),
        }  # fmt: skip
        for name in ("ahead", "behind", "begin", "started", "done", "able", "order"):
            self._arrays[name] = np.zeros(size, dtype=np.int64)
        self.set_times(latency, late)

    def set_times(self, latency: list[int], late: Sequence[tuple[int, int]] = ()) -> None:
        """Other cycles for the same operations."""
        arrays = self._arrays
        cycles = arrays["latency"] = np.array(latency, dtype=np.int64)
        waits = arrays["waits"] = cycles[arrays["operands"]]
        if late:
            users, wanted = np.array(late, dtype=np.int64).T
            places = arrays["first_operand"][users]
            while (others := arrays["operands"][places] != wanted).any():
                places = places + others
            waits[places] = np.maximum(waits[places] - LATE, 1)
        arrays["user_waits"] = waits[self._by_operand]
        self._run("chains")

    @property
    def longest_chain(self) -> int:
        """Cycles of the longest chain of dependent operations."""
        return int(self._arrays["behind"].max(initial=0))

    @property
    def ahead(self) -> list[int]:
        """Cycles of the longest chain that ends before each operation."""
        found: list[int] = self._arrays["ahead"].tolist()
        return found

    @property
    def spare(self) -> list[int]:
        """Cycles by which each operation could be late without a longer chain."""
        found: list[int] = (self.longest_chain - self._arrays["ahead"] - self._arrays["behind"]).tolist()
        return found

    def order(self, most: int, window: int, patient: bool, excess: int = NO_EXCESS) -> list[int]:
        """Return places in the order in which operations start.

        ``most``: limit of live values; ``window``: operations to look ahead.
        """
        self._run("order", most, window, patient, excess)
        found: list[int] = self._arrays["order"].tolist()
        return found

    def _run(
        self, entry: str, most: int = 0, window: int = 0, patient: bool = False, excess: int = NO_EXCESS
    ) -> None:
        numbers = {
            "size": self.size, "most": most, "window": window, "patient": int(patient), "excess": excess,
        }  # fmt: skip
        _machine_method(machine_settings())(entry, _FIELDS.fields({**self._arrays, **numbers}))


def starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@cache
def _machine_method(chosen: tuple[object, ...]) -> RoutineMethod:
    """Return the machine, one for all sections, kept for this process.

    It is compiled in 40 ms, and orders the 8,000 operations of a chain of 64 links in 3.5; without
    optimisation in 15 and 12 ms, with LLVM's pipeline of level 2 in 150 and 3.5.
    """
    return compiled_method("model machine", _text, [Path(__file__)], ["chains", "order"], 1, GENERAL)


def _text() -> str:
    module = IRModule()
    _chains(routine(module, _FIELDS, "chains", NOTHING, public=True))
    _order(routine(module, _FIELDS, "order", NOTHING, public=True))
    return str(module)


def _chains(r: Routine) -> None:
    """Cycles of the longest chains that begin with each operation, and that end before it."""
    size = r["size"]
    with r.each(size) as k:
        i = size - 1 - k
        r.put_index("behind", i, _largest(r, "user", i, "behind", r.index("latency", i)))
    with r.each(size) as i:
        r.put_index("ahead", i, _largest(r, "operand", i, "ahead", r.whole(0)))
    r.give()


def _largest(r: Routine, others: str, i: Value, of: str, least: Value) -> Value:
    """Over the operands or users of operation i, the largest entry of a list and the wait between the two."""
    found = Local(r, least)
    first, waits = f"first_{others}", "waits" if others == "operand" else "user_waits"
    with r.span(r.index(first, i), r.index(first, i + 1)) as k:
        entry = r.index(of, r.index(f"{others}s", k)) + r.index(waits, k)
        with r.when(entry > found.get()):
            found.set(entry)
    return found.get()


def _order(r: Routine) -> None:
    size, most, window, hasty = r["size"], r["most"], r["window"], r["patient"].equals(0)
    alive, cycle, started, first, end, count, placed = (Local(r, r.whole(0)) for _ in range(7))

    def release(i: Value) -> None:
        r.put_index("begin", i, _largest(r, "operand", i, "started", r.whole(0)))
        r.put_index("able", count.get(), i)
        count.set(count.get() + 1)

    def look_ahead() -> None:
        """Operations up to ``window`` beyond the first that is not done, as far as they can start."""
        with r.repeat() as loop:
            with r.when((end.get() >= size) | (end.get() >= first.get() + window)):
                loop.leave()
            with r.when(r.index("waiting", end.get()).equals(0)):
                release(end.get())
            end.set(end.get() + 1)

    look_ahead()
    with r.repeat() as loop:
        with r.when(placed.get() >= size):
            loop.leave()
        best, least = Local(r, r.whole(0)), Local(r, r.whole((1 << 63) - 1))
        left = size - placed.get() + r["excess"]
        with r.each(count.get()) as k:
            i = r.index("able", k)
            key = Local(r, i - r.index("behind", i) * size)
            late = r.index("begin", i) > cycle.get()
            with r.when(late):
                key.set(i + r.index("begin", i) * size)
            with r.when(late & hasty):
                key.set(key.get() + size * _FARTHER)
            urgent = r.index("behind", i) * UNITS >= left
            with r.when((alive.get() > most) & ~(late & hasty) & ~urgent):
                key.set(key.get() + r.index("change", i) * (size * _FAR))
            with r.when(~late & urgent):
                key.set(key.get() - size * _FARTHER)
            with r.when(key.get() < least.get()):
                least.set(key.get())
                best.set(k)
        i = r.index("able", best.get())
        late = r.index("begin", i) > cycle.get()
        with r.when(late):
            cycle.set(r.index("begin", i))
            started.set(0)
            with r.when((alive.get() <= most) | hasty):  # others may be there by then
                loop.again()
        count.set(count.get() - 1)
        r.put_index("able", best.get(), r.index("able", count.get()))
        r.put_index("order", placed.get(), i)
        placed.set(placed.get() + 1)
        r.put_index("done", i, r.whole(1))
        r.put_index("started", i, cycle.get())
        started.set(started.get() + 1)
        with r.when(started.get().equals(UNITS)):
            cycle.set(cycle.get() + 1)
            started.set(0)
        alive.set(alive.get() + r.index("change", i))
        with r.span(r.index("first_operand", i), r.index("first_operand", i + 1)) as k:
            a = r.index("operands", k)
            r.put_index("left", a, r.index("left", a) - 1)
            with (
                r.when(r.index("left", a).equals(1) & r.index("held", a).equals(1)),
                r.span(r.index("first_user", a), r.index("first_user", a + 1)) as j,
            ):
                user = r.index("users", j)
                r.put_index("change", user, r.index("change", user) - 1 + r.index("done", user))
        with r.span(r.index("first_user", i), r.index("first_user", i + 1)) as k:
            user = r.index("users", k)
            r.put_index("waiting", user, r.index("waiting", user) - 1)
            with r.when(r.index("waiting", user).equals(0) & (user < end.get())):
                release(user)
        with r.when(end.get() < size):
            with r.repeat() as passing:
                with r.when(r.index("done", first.get()).equals(0)):
                    passing.leave()
                first.set(first.get() + 1)
            look_ahead()
    r.give()
