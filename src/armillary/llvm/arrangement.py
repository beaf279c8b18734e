"""The order of straight-line code, and which of its values are in registers: LLVM's are not for such code.

A section is one block of hundreds of operations, with more values alive than a machine has registers. LLVM
orders it for few live values, keeps numbers and inputs in registers, and stores results to make room: on a
Neoverse N1, where a store takes the place of an addition, a fifth of the arm's time. Here

    1. operations start in the order of a model machine: of those that are ready the one with the longest
       chain behind it, among the next WINDOW of the given order. While more than ALIVE values wait for
       their users, that which leaves the fewest goes first.
    2. where a value needs a register, that with the farthest next use gives its own up (Belady 1966).
       Inputs and numbers are loaded again; others are stored once, on the first such occasion.

Loads and stores are volatile, and every few operations there is a label, over which LLVM's schedulers move
nothing; so its register allocation finds room for all values and has nothing to decide. Code for the
Stanford arm takes 0.86 of the time, for a chain of eight 0.88, and LLVM 0.75 of its own.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence

WINDOW = 128
ALIVE = 50
SPARE = 3  # registers left to LLVM, which needs some on the way
LABELS = 4  # operations from one label to the next
NEAR = 8  # operations until which an input is wanted again, so that another value gives up its register

LABEL = "  call void @llvm.codeview.annotation(metadata !1)"
LABEL_TEXT = '!1 = !{!"order"}\ndeclare void @llvm.codeview.annotation(metadata)'

# Cycles until a result can be used, on a Neoverse N1; the order is much the same for those of other cores.
_LATENCY = {"fmul": 3, "fadd": 2, "fsub": 2, "call": 4, "fdiv": 9}
_FUNCTION = 40
_OTHER = 3
_UNITS = 2  # operations that start in a cycle

PAIR = "<2 x double>"
_NAME = re.compile(r"%v\d+")
_NEVER = 1 << 60

Load = tuple[str, int]  # an array and a place in it
Store = tuple[str, str, int]  # a value, and where it goes


def arranged(
    lines: Sequence[str],
    loads: Mapping[str, Load],
    opposites: Mapping[str, str],
    stores: Sequence[Store],
    registers: int,
    wide: Mapping[str, str] | None = None,
) -> list[str]:
    """Operations on doubles and pairs of them, ``%v… = …`` line by line, in an order and with loads and
    stores for a machine of so many registers.

    ``loads``: names of values that are loaded where they are used; ``opposites``: names of values to those
    whose opposites they are, which cost nothing as operands. Values that are stored are loaded from there
    again, so the arrays of ``stores`` are no others'. ``wide``: types of loaded values that are vectors.
    """
    computed = {line[2 : line.index(" ", 2)] for line in lines}
    given = [store for store in stores if store[0] not in computed]
    own: dict[str, list[Load]] = {}
    for value, array, index in stores:
        if value in computed:
            own.setdefault(value, []).append((array, index))
    order = _order(_operations(lines, opposites, given))
    return _Registers(loads, opposites, own, registers - SPARE, wide or {}).text(order)


class _Operation:
    """A line: the name of its value ("" of a store), what it does, and the names of its operands."""

    __slots__ = ("kind", "latency", "name", "operands", "real", "text")

    def __init__(self, name: str, text: str, operands: list[str], latency: int) -> None:
        self.name, self.text, self.operands, self.latency = name, text, operands, latency
        self.kind = _kind(text) if name else ""
        self.real = bool(self.kind)


def _kind(text: str) -> str:
    """The type of what an instruction makes: a double or a vector that one register holds, else ""."""
    operation = text[: text.index(" ")]
    if operation == "fcmp":
        return ""
    if operation == "extractelement":
        return "double"
    if operation == "shufflevector":
        return PAIR if "<2 x i32>" in text else ""
    if operation == "select":
        return "double" if ", double " in text else PAIR if f", {PAIR} " in text else ""
    if " to " in text:
        kind = text[text.rindex(" to ") + 4 :]
        return kind if kind in ("double", PAIR) else ""
    if operation == "extractvalue":
        return PAIR if text.startswith(f"extractvalue {{ {PAIR}") else ""
    rest = text[len(operation) + 1 :].removeprefix("contract ").removeprefix("reassoc ")
    if rest.startswith("double") and operation != "insertelement":
        return "double"
    return PAIR if rest.startswith(PAIR) else ""


def _operations(
    lines: Sequence[str], opposites: Mapping[str, str], stores: Sequence[Store]
) -> list[_Operation]:
    found = []
    for line in lines:
        name, _, text = line.partition(" = ")
        operands = list(dict.fromkeys([opposites.get(a, a) for a in _NAME.findall(text)]))
        latency = _FUNCTION if " @sincos" in text else _LATENCY.get(text[: text.index(" ")], _OTHER)
        found.append(_Operation(name.lstrip(), text, operands, latency))
    for value, array, index in stores:
        operands = [opposites.get(a, a) for a in _NAME.findall(value)]
        found.append(_Operation("", f"{value} {array} {index}", operands, 0))
    return found


# -------------------------------------------------------------------- order


def _order(operations: Sequence[_Operation]) -> list[_Operation]:
    """Operations as the model machine starts them."""
    size = len(operations)
    producer = {operation.name: i for i, operation in enumerate(operations)}
    before = [[producer[a] for a in o.operands if a in producer] for o in operations]
    users: list[list[int]] = [[] for _ in operations]
    for i, made in enumerate(before):
        for a in made:
            users[a].append(i)
    behind = [o.latency for o in operations]
    for i in range(size - 1, -1, -1):
        if users[i]:
            behind[i] += max([behind[user] for user in users[i]])
    waiting = [len(made) for made in before]
    left = [len(used) for used in users]
    change = [int(o.real) for o in operations]  # of the number of live values, by this operation
    for i, made in enumerate(before):
        for a in made:
            change[i] -= left[a] == 1 and operations[a].real
    finished = [0] * size
    done = [False] * size
    ready: list[int] = []  # as numbers that hold a priority, and the place as their remainder
    later: list[int] = []
    order: list[_Operation] = []
    cycle = started = alive = first = 0
    end = min(WINDOW, size)

    def release(i: int) -> None:
        start = max([finished[a] for a in before[i]], default=0)
        if start <= cycle:
            heapq.heappush(ready, i - behind[i] * size)
        else:
            heapq.heappush(later, i + start * size)

    for i in range(end):
        if not waiting[i]:
            release(i)
    while len(order) < size:
        while later and (later[0] < (cycle + 1) * size or done[later[0] % size]):
            i = heapq.heappop(later) % size
            if not done[i]:
                heapq.heappush(ready, i - behind[i] * size)
        if alive > ALIVE and (ready or later):
            chosen = min([*ready, *later], key=lambda key: (done[key % size], change[key % size], key)) % size
        elif ready:
            chosen = heapq.heappop(ready) % size
            if done[chosen]:
                continue
        else:
            cycle, started = later[0] // size, 0
            continue
        done[chosen] = True
        order.append(operations[chosen])
        start = max([finished[a] for a in before[chosen]], default=0)
        if start > cycle:
            cycle, started = start, 0
        finished[chosen] = cycle + operations[chosen].latency
        started += 1
        if started == _UNITS:
            cycle, started = cycle + 1, 0
        alive += change[chosen]
        for a in before[chosen]:
            left[a] -= 1
            if left[a] == 1 and operations[a].real:
                for user in users[a]:
                    change[user] -= not done[user]
        for user in users[chosen]:
            waiting[user] -= 1
            if not waiting[user] and user < end:
                release(user)
        while first < size and done[first]:
            first += 1
        while end < min(size, first + WINDOW):
            if not waiting[end]:
                release(end)
            end += 1
    return order


# -------------------------------------------------------------------- registers


class _Registers:
    """Lines of operations in a given order, with the loads and stores that they need."""

    def __init__(
        self,
        loads: Mapping[str, Load],
        opposites: Mapping[str, str],
        results: Mapping[str, Sequence[Load]],
        size: int,
        wide: Mapping[str, str],
    ) -> None:
        self.loads, self.opposites, self.results, self.size = loads, opposites, results, size
        self.wide = dict(wide)  # types of values that are vectors
        self.lines: list[str] = []
        self.held: dict[str, str] = {}  # values in registers, to the names under which they are there
        self.stored: dict[str, Load] = {}  # values that were stored, and where
        self.slots = 0  # places for values that are no results
        self.uses: dict[str, list[int]] = {}  # places of the users of a value in the order, last one first
        self.count = 0

    def text(self, order: Sequence[_Operation]) -> list[str]:
        """The lines, with room for stored values before them."""
        others = {operation.name for operation in order if not operation.real}
        for i in range(len(order) - 1, -1, -1):
            order[i].operands = operands = [a for a in order[i].operands if a not in others]
            for a in operands:
                self.uses.setdefault(a, []).append(i)
        self.wide.update({o.name: o.kind for o in order if o.kind == PAIR})
        for i, operation in enumerate(order):
            self.step(i, operation)
            if i % LABELS == LABELS - 1:
                self.lines.append(LABEL)
        room = [f"  %slots = alloca [{self.slots} x double], align 16"] if self.slots else []
        return room + self.lines

    def step(self, i: int, operation: _Operation) -> None:
        held, uses = self.held, self.uses
        for a in operation.operands:
            if a not in held:
                self.bring(a, i, operation.operands)
        text = _NAME.sub(self.named, operation.text)
        for a in operation.operands:
            uses[a].pop()
            if not uses[a]:
                del held[a]
        name = operation.name
        if not name:
            value, array, index = text.split(" ")
            self.store(value, (array, int(index)), self.kind(operation.text.split(" ")[0]))
        else:
            self.lines.append(f"  {name} = {text}")
            for place in self.results.get(name, ()):
                self.store(name, place, self.kind(name))
                self.stored[name] = place
            if operation.real and name in uses:
                self.free(i + 1, ())
                held[name] = name

    def named(self, match: re.Match[str]) -> str:
        name = match[0]
        if name in self.opposites:
            value = self.opposites[name]
            return self.emit(f"fneg {self.kind(value)} {self.held[value]}")
        return self.held.get(name, name)

    def emit(self, operation: str) -> str:
        self.count += 1
        name = f"%r{self.count}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def element(self, array: str, index: int) -> str:
        if not index:
            return f"%{array}"
        return self.emit(f"getelementptr inbounds double, ptr %{array}, i64 {index}")

    def bring(self, value: str, now: int, operands: Sequence[str]) -> None:
        """A value into a register, from where it is loaded or was stored."""
        self.free(now, operands)
        place = self.loads.get(value) or self.stored[value]
        kind = self.kind(value)
        self.held[value] = self.emit(f"load volatile {kind}, ptr {self.element(*place)}, align 8")

    def kind(self, value: str) -> str:
        return self.wide.get(self.opposites.get(value, value), "double")

    def store(self, name: str, place: Load, kind: str) -> None:
        self.lines.append(f"  store volatile {kind} {name}, ptr {self.element(*place)}, align 8")

    def free(self, now: int, operands: Sequence[str]) -> None:
        """Room for one more value; operands stay."""
        held = self.held
        if len(held) < self.size:
            return
        kept, costly, next_kept, next_costly = "", "", -1, -1
        for value in held:
            if value in operands:
                continue
            wanted = self.uses[value][-1]
            if value in self.loads or value in self.stored:
                if wanted > next_kept:
                    kept, next_kept = value, wanted
            elif wanted > next_costly:
                costly, next_costly = value, wanted
        if next_kept < next_costly and next_kept < now + NEAR:
            kept, place, kind = costly, ("slots", self.slots), self.kind(costly)
            self.slots += 1 if kind == "double" else 2
            self.store(held[costly], place, kind)
            self.stored[costly] = place
        del held[kept]
