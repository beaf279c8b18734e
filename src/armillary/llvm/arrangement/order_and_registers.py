"""The order of operations and the choice of values in registers (``arrangement.py``), by compiled routines.

The model machine visits each operation many times. Among the operations that can start, operation i with the
least key goes first. If its operands are ready, the key is i − size·behind, where ``behind`` is the length in
cycles of the longest chain that begins with i: so the longest chain goes first. If they are ready only at a
later cycle, ``begin``, the key is i + size·begin. While too many values are alive, the operation that leaves
the fewest live values goes first: among operations with ready operands, or among all if the machine is
``patient``. An operation is not delayed in this way if its chain would end later, by ``excess`` operations or
more, than all remaining operations at two per cycle: the end of the section would have to wait for it.

The choice of values that give up their registers visits all values. Its result is a list of steps: operations
by index, in their order, with loads, stores and drops of values between them. This file does not number
registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armillary.llvm.building.builder import Local, Value
from armillary.llvm.building.emitter import NOTHING, WHOLE, IRModule
from armillary.llvm.building.routines import (
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    routine,
    whole_array,
)
from armillary.llvm.jit import GENERAL, machine_settings

UNITS = 2  # operations that start in a cycle
LATE = 2  # cycles after its start at which a fused operation of Arm's cores needs its addend
NO_EXCESS = 1 << 30  # longer than all chains
_FAR = 1 << 40  # multiplied by the size, it exceeds all keys
_FARTHER = _FAR << 4  # multiplied by the size, it exceeds keys with added changes of live values, too

# Lists of operands and of users are concatenated; the list of operation i begins at first[i].
_FIELDS = RoutineLayout(
    ("size", "most", "window", "patient", "excess"),
    (
        "first_operand", "operands", "waits", "first_user", "users", "user_waits", "latency", "held",
        "ahead", "behind", "waiting", "left", "change", "begin", "started", "done", "able", "order",
    ),
)  # fmt: skip


class ModelMachine:
    """A model of a processor that orders operations, which have indices.

    ``operands`` lists the operands of all operations, −1 for given values, and ``counts`` their number by
    operation. ``latency`` is the number of cycles until a value can be used, ``held`` states whether a value
    takes a register, and ``late`` has pairs of an operation and the operand that it needs LATE cycles after
    its start.
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
        last = (uses[flat] == 1) & (takes[flat] == 1)  # the last use of the value
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
        """Set other latencies for the same operations."""
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
        """Length of the longest chain of dependent operations, in cycles."""
        return int(self._arrays["behind"].max(initial=0))

    @property
    def ahead(self) -> list[int]:
        """Length of the longest chain that ends before each operation, in cycles."""
        found: list[int] = self._arrays["ahead"].tolist()
        return found

    @property
    def spare(self) -> list[int]:
        """Cycles by which each operation may be late without lengthening the longest chain."""
        found: list[int] = (self.longest_chain - self._arrays["ahead"] - self._arrays["behind"]).tolist()
        return found

    def order(self, most: int, window: int, patient: bool, excess: int = NO_EXCESS) -> list[int]:
        """Return the operations' indices in the order in which they start.

        ``most`` is the limit of live values, ``window`` the number of operations to look ahead.
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
    """Return the compiled machine, one for all sections, kept for this process.

    It is compiled in 40 ms, and orders the 8,000 operations of a chain of 64 links in 3.5 ms. These times are
    15 and 12 ms without optimisation, and 150 and 3.5 ms with LLVM's pipeline of level 2.
    """
    return compiled_method("model machine", _text, [Path(__file__)], ["chains", "order"], 1, GENERAL)


def _text() -> str:
    module = IRModule()
    _chains(routine(module, _FIELDS, "chains", NOTHING, public=True))
    _order(routine(module, _FIELDS, "order", NOTHING, public=True))
    return str(module)


def _chains(r: Routine) -> None:
    """Emit the lengths of the longest chains that begin with each operation, and that end before it."""
    size = r["size"]
    with r.each(size) as k:
        i = size - 1 - k
        r.put_index("behind", i, _largest(r, "user", i, "behind", r.index("latency", i)))
    with r.each(size) as i:
        r.put_index("ahead", i, _largest(r, "operand", i, "ahead", r.whole(0)))
    r.give()


def _largest(r: Routine, others: str, i: Value, of: str, least: Value) -> Value:
    """Emit the maximum of ``least`` and of entry ``of`` plus wait over operation i's operands or users."""
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
        """Release operations that can start, up to ``window`` beyond the first that is not done."""
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
            with r.when((alive.get() <= most) | hasty):  # others may have become ready
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


NEAR = 8  # an input keeps its register if its next use is within this number of operations
REPEATED = 4  # a value in memory gets a register if it is used again within this number of operations
# Ways to read an operand: from a register; from anywhere; from memory if its next use is far, for one operand
# of an operation.
IN_REGISTER, ANYWHERE, FAR_IN_MEMORY = range(3)
# Steps; each has the index of a value, operation or result. After OPERATE the new value stays in its register
# (KEEP) or not (LET_GO). LOAD, DROP: a value gets or gives up a register. RESULT: a result is stored.
# SPILL: a value is stored on the stack. BESIDE: the next step also stores this value. WAIT: a result is
# stored later, with its neighbour or, by STORE_WAITING, alone.
DROP, OPERATE, KEEP, LET_GO, LOAD, RESULT, SPILL, BESIDE, WAIT, STORE_WAITING = range(10)
_NEVER = 1 << 60

# Lists of operands and of results are concatenated; the list of operation i begins at first[i].
_CHOICE_FIELDS = RoutineLayout(
    ("size", "values", "registers", "pairs"),
    (
        "first_operand", "operands", "ways", "following", "made", "first_result", "partner", "remembered",
        "single", "in_memory", "held", "waiting", "wanted", "user", "before", "after", "steps", "places",
        "count",
    ),
)  # fmt: skip


class Steps(NamedTuple):
    """Steps: their kinds, and the indices (``places``) of their values, operations or results.

    ``made``: the value of each operation; ``last_user`` and ``single`` (one double) by value.
    """

    kinds: np.ndarray
    places: np.ndarray
    made: np.ndarray
    last_user: np.ndarray
    single: np.ndarray


def compiled_choice() -> RoutineMethod:
    return _choice_method(machine_settings())


@cache
def _choice_method(chosen: tuple[object, ...]) -> RoutineMethod:
    """Return the compiled routine, one for all sections, kept for this process."""
    return compiled_method("register choice", _choice_text, [Path(__file__)], ["steps"], 1, GENERAL)


def _choice_text() -> str:
    module = IRModule()
    write_choice(module)
    return str(module)


def write_choice(module: IRModule) -> None:
    """Add the routine "steps" to a module."""
    free = routine(module, _CHOICE_FIELDS, "free", NOTHING, WHOLE, WHOLE)
    _free(free)
    _steps(routine(module, _CHOICE_FIELDS, "steps", NOTHING, public=True), free)


def chosen_steps(
    operands: Sequence[int],
    counts: Sequence[int],
    ways: Sequence[int],
    made: Sequence[int],
    results: Sequence[int],
    partners: Sequence[int],
    remembered: Sequence[bool],
    single: Sequence[bool],
    loads: int,
    registers: int,
    pairs: bool,
    compiled: RoutineMethod,
) -> Steps:
    """Return the steps in order.

    Values have numbers; the first ``loads`` of them are loaded. ``operands`` lists the operands of all
    operations (−1 for a value without a register of this kind), ``counts`` their number by operation, and
    ``ways`` how they are read. ``made`` has the value of each operation, or −1. ``results`` has the number of
    results that each operation stores. For each result, ``partners`` has the value that can be stored with
    it, or −1, and ``remembered`` states whether the value can be loaded again from there. ``single`` states
    whether a value is one double; if ``pairs``, one instruction stores two such values to neighbouring
    elements. ``compiled`` is a method with the routine of ``write_choice``.
    """
    size = len(counts)
    flat = whole_array(operands)[: len(operands)]
    known = flat >= 0
    owners = np.repeat(np.arange(size, dtype=np.int64), np.array(counts, dtype=np.int64))[known]
    alone, values = whole_array(single), len(single)
    most = 5 * (size + len(owners) + len(partners)) + 1  # operations, operands and results need at most five
    arrays = {
        "first_operand": starts(np.bincount(owners, minlength=size)), "operands": whole_array(flat[known]),
        "ways": whole_array(whole_array(ways)[: len(operands)][known]), "made": whole_array(made),
        "first_result": starts(np.array(results, dtype=np.int64)), "partner": whole_array(partners),
        "remembered": whole_array(remembered), "single": alone,
        "following": np.empty(len(owners) + 1, dtype=np.int64),
        "steps": np.empty(most, dtype=np.int64), "places": np.empty(most, dtype=np.int64),
        "count": np.zeros(1, dtype=np.int64), "wanted": np.full(values + 1, _NEVER, dtype=np.int64),
        "user": np.full(values + 1, -1, dtype=np.int64), "in_memory": np.zeros(values + 1, dtype=np.int64),
    }  # fmt: skip
    arrays["in_memory"][:loads] = 1
    for name in ("held", "waiting", "before", "after"):
        arrays[name] = np.zeros(values + 1, dtype=np.int64)
    arrays["before"][values] = arrays["after"][values] = values
    numbers = {"size": size, "values": values, "registers": registers, "pairs": int(pairs)}
    compiled("steps", _CHOICE_FIELDS.fields({**arrays, **numbers}))
    count = int(arrays["count"][0])
    last_user = np.full(values, -1, dtype=np.int64)
    last_user[flat[known]] = owners
    return Steps(arrays["steps"][:count], arrays["places"][:count], arrays["made"], last_user, alone)


def _step(r: Routine, what: int, place: Value) -> None:
    zero = r.whole(0)
    count = r.index("count", zero)
    r.put_index("steps", count, r.whole(what))
    r.put_index("places", count, place)
    r.put_index("count", zero, count + 1)


def _hold(r: Routine, value: Value) -> None:
    """Emit: enter a value at the end of the list of values in registers."""
    end = r["values"]
    last = r.index("before", end)
    for name, other, here in (("after", last, value), ("before", value, last), ("after", value, end)):
        r.put_index(name, other, here)
    r.put_index("before", end, value)
    r.put_index("held", value, r.whole(1))
    r.put_index("held", end, r.index("held", end) + 1)  # number of values in registers


def _drop(r: Routine, value: Value) -> None:
    before, after, end = r.index("before", value), r.index("after", value), r["values"]
    r.put_index("after", before, after)
    r.put_index("before", after, before)
    r.put_index("held", value, r.whole(0))
    r.put_index("held", end, r.index("held", end) - 1)
    _step(r, DROP, value)


def _free(r: Routine) -> None:
    """Emit: make room for one more value at operation ``now`` if all registers are taken.

    Operands of operation ``user`` keep their registers.
    """
    now, user = r.argument(1), r.argument(2)
    end = r["values"]
    with r.when(r.index("held", end) < r["registers"]):
        r.give()
    kept, costly, second, next_kept, next_costly, next_second = (Local(r, r.whole(-1)) for _ in range(6))
    value = Local(r, r.index("after", end))
    with r.repeat() as loop:
        here = value.get()
        with r.when(here.equals(end)):
            loop.leave()
        value.set(r.index("after", here))
        with r.when(r.index("user", here).equals(user)):
            loop.again()
        wanted = r.index("wanted", here)
        with r.when(r.index("in_memory", here).equals(1)):
            with r.when(wanted > next_kept.get()):
                kept.set(here)
                next_kept.set(wanted)
            loop.again()
        with r.when(wanted > next_costly.get()):
            second.set(costly.get())
            next_second.set(next_costly.get())
            costly.set(here)
            next_costly.set(wanted)
            loop.again()
        with r.when(wanted > next_second.get()):
            second.set(here)
            next_second.set(wanted)
    with r.when((next_kept.get() < next_costly.get()) & (next_kept.get() < now + NEAR)):
        stored, beside = costly.get(), second.get()
        kept.set(stored)
        r.put_index("in_memory", stored, r.whole(1))
        with r.when(r.index("waiting", stored).equals(1)):
            r.put_index("waiting", stored, r.whole(0))
            _step(r, STORE_WAITING, stored)
            _drop(r, stored)
            r.give()
        with (
            r.when(r["pairs"].equals(1) & (beside >= 0) & r.index("single", stored).equals(1)),
            r.when(r.index("single", beside).equals(1) & r.index("waiting", beside).equals(0)),
        ):
            r.put_index("in_memory", beside, r.whole(1))
            _step(r, BESIDE, beside)
        _step(r, SPILL, stored)
    _drop(r, kept.get())
    r.give()


def _steps(r: Routine, free: Routine) -> None:
    size = r["size"]
    never = r.whole(_NEVER)
    with r.each(size) as k:  # next users, from the end backwards
        i = size - 1 - k
        with r.span(r.index("first_operand", i), r.index("first_operand", i + 1)) as j:
            a = r.index("operands", j)
            r.put_index("following", j, r.index("wanted", a))
            r.put_index("wanted", a, i)
    with r.each(size) as i:
        _bring_operands(r, free, i)
        _step(r, OPERATE, i)
        with r.span(r.index("first_operand", i), r.index("first_operand", i + 1)) as j:
            a, following = r.index("operands", j), r.index("following", j)
            r.put_index("wanted", a, following)
            with r.when(
                following.equals(_NEVER) & r.index("held", a).equals(1) & r.index("waiting", a).equals(0)
            ):
                _drop(r, a)
        made = r.index("made", i)
        with r.span(r.index("first_result", i), r.index("first_result", i + 1)) as j:
            _store_result(r, made, j)
        used = Local(r, r.whole(0))
        with (
            r.when(made >= 0),
            r.when((r.index("wanted", made) < never) | r.index("waiting", made).equals(1)),
        ):
            used.set(1)
            r.run(free, i + 1, r.whole(-2))
            _hold(r, made)
            _step(r, KEEP, made)
        with r.when(used.get().equals(0)):
            _step(r, LET_GO, i)
    value = Local(r, r.index("after", r["values"]))
    with r.repeat() as loop:
        with r.when(value.get().equals(r["values"])):
            loop.leave()
        with r.when(r.index("waiting", value.get()).equals(1)):
            _step(r, STORE_WAITING, value.get())
        value.set(r.index("after", value.get()))
    r.give()


def _bring_operands(r: Routine, free: Routine, i: Value) -> None:
    """Emit: load missing operands into registers, except operands that are read from memory."""
    first, end = r.index("first_operand", i), r.index("first_operand", i + 1)
    far, farthest = Local(r, r.whole(-1)), Local(r, i + REPEATED)
    with r.span(first, end) as j:
        a = r.index("operands", j)
        r.put_index("user", a, i)
        following = r.index("following", j)
        with r.when(
            r.index("ways", j).equals(FAR_IN_MEMORY)
            & r.index("held", a).equals(0)
            & (following >= farthest.get())
        ):
            far.set(a)
            farthest.set(following)
    with r.span(first, end) as j:
        a = r.index("operands", j)
        with r.when(
            r.index("held", a).equals(0) & r.index("ways", j).differs(ANYWHERE) & a.differs(far.get())
        ):
            r.run(free, i, i)
            _step(r, LOAD, a)
            _hold(r, a)


def _store_result(r: Routine, made: Value, j: Value) -> None:
    """Emit: store result j, alone or with a partner that has waited; or let it wait for its partner."""
    partner = r.index("partner", j)
    plain = Local(r, r.whole(1))
    with r.when(partner >= 0):
        with r.when(r.index("waiting", partner).equals(1)):
            plain.set(0)
            for value in (made, partner):
                r.put_index("in_memory", value, r.whole(1))
            r.put_index("waiting", partner, r.whole(0))
            _step(r, BESIDE, partner)
            _step(r, RESULT, j)
            with r.when(r.index("wanted", partner).equals(_NEVER)):
                _drop(r, partner)
        with r.when(plain.get().equals(1) & r.index("in_memory", partner).equals(0)):
            plain.set(0)
            r.put_index("waiting", made, r.whole(1))
            _step(r, WAIT, made)
    with r.when(plain.get().equals(1)):
        _step(r, RESULT, j)
        with r.when(r.index("remembered", j).equals(1)):
            r.put_index("in_memory", made, r.whole(1))
