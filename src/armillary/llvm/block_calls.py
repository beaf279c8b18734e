"""Calls of block functions in a section: their workspaces, and arguments copied into them."""

from __future__ import annotations

from functools import partial

from armillary.algebra.block_functions import BlockFunction
from armillary.algebra.expression import Expr
from armillary.llvm.instructions import Instructions, Place, Places
from armillary.llvm.module import IMPLEMENTATIONS, Module, record_text, vector_places, workspace_length
from armillary.program.branch_packs import strip_lets

COPIED = 240  # arguments of a block in one function that copies them

_MEMSET = "@llvm.memset.p0.i64"


def is_number_zero(node: Expr) -> bool:
    """Return whether a node is the number zero, as many elements of matrices are."""
    return node.kind == "number" and node.data == 0


class BlockCalls(Instructions):
    """What a writer of sections does with block functions."""

    module: Module
    places: Places

    def value(self, node: Expr) -> str:
        """Return the value of a node."""
        raise NotImplementedError

    def block(self, node: Expr) -> str:
        """Call a block function, of several runs one after the other; return the place of its workspace."""
        block: BlockFunction = node.data
        name = IMPLEMENTATIONS[block.name]()
        record = f"record_{block.digest:x}"
        self.module.need(record, lambda: record_text(block, record))
        self.module.need(name, lambda: f"declare void @{name}(ptr, ptr) nounwind")
        places, length, lanes = vector_places(block), workspace_length(block), self.module.lanes
        slots = [places[v] + i for v in block.takes for i in range(block.vectors[v])]
        given = [(slot, a) for slot, a in zip(slots, node.args, strict=True) if not is_number_zero(a)]
        condition = self.block_condition(block, node)
        copied = self.copied_arguments(given, 1 if condition else COPIED // 4)
        values = [(slot, self.value(a)) for slot, a in given if slot not in copied]
        first, last = min(slots), max(slots) + 1
        room = self.emit(f"alloca [{length * lanes} x double], align 64")
        self.lines.insert(0, self.lines.pop())  # where a function begins the frame is made once
        self.module.need("llvm.memset", lambda: f"declare void {_MEMSET}(ptr, i8, i64, i1)")
        for k in range(lanes):
            if condition:
                one = (
                    self.emit(f"extractelement {self.real} {condition}, i64 {k}") if lanes > 1 else condition
                )
                idle = self.emit(f"fcmp oeq double {one}, 0.0")
                label = idle.removeprefix("%")
                ways = f"label %after_{label}, label %call_{label}"
                self.lines += [f"  br i1 {idle}, {ways}, !prof !0", f"call_{label}:"]
            own = self.emit(f"getelementptr inbounds double, ptr {room}, i64 {k * length}")
            zeros = self.emit(f"getelementptr inbounds double, ptr {own}, i64 {first}")
            self.lines.append(f"  call void {_MEMSET}(ptr {zeros}, i8 0, i64 {8 * (last - first)}, i1 false)")
            self.lines += [
                f"  call void @{copy}(ptr {own}, {taken})" for copy, taken in copied.values() if copy
            ]
            for slot, value in values:
                if lanes > 1:
                    value = self.emit(f"extractelement {self.real} {value}, i64 {k}")
                at = self.emit(f"getelementptr inbounds double, ptr {own}, i64 {slot}")
                self.lines.append(f"  store double {value}, ptr {at}, align 8")
            self.lines.append(f"  call void @{name}(ptr @{record}, ptr {own})")
            if condition:
                self.lines += [f"  br label %after_{label}", f"after_{label}:"]
        return room

    def block_condition(self, block: BlockFunction, node: Expr) -> str:
        """Return the value under which a block is called, or "" if it is always."""
        if block.condition is None:
            return ""
        before = block.takes[: block.takes.index(block.condition)]
        given = node.args[sum(block.vectors[v] for v in before)]
        return "" if given.kind == "number" else self.value(given)

    def copied_arguments(self, given: list[tuple[int, Expr]], least: int) -> dict[int, tuple[str, str]]:
        """Write functions that copy shared values, at least so many, into a workspace; return them, with the
        arrays that they take, by the first slot of each, and "" by the others. Values that are copied where a
        block is called, and only there, take no registers before.

        All blocks of a model take the same rows, so most functions serve several calls. LLVM's time grows
        with the square of the stores in one function: 40 contacts have 1,440 in each of six calls.
        """
        found: dict[int, tuple[str, str]] = {}
        if self.module.lanes > 1:
            return found
        for start in range(0, len(given), COPIED):
            pairs = [(slot, self.places.get(strip_lets(a))) for slot, a in given[start : start + COPIED]]
            shared = [(s, p) for s, p in pairs if isinstance(p, tuple) and p[0] in self.module.shared_arrays]
            if len(shared) < least:
                continue
            arrays = sorted({array for _, (array, _) in shared})
            name = self.module.copies.setdefault(tuple(shared), f"copy_values_{len(self.module.copies)}")
            self.module.need(name, partial(_copy_function, name, shared, arrays))
            found |= {slot: ("", "") for slot, _ in shared}
            found[shared[0][0]] = name, ", ".join(f"ptr %{array}" for array in arrays)
        return found

    def block_part(self, block: BlockFunction, index: int, room: str) -> str:
        """Load a result of a block function."""
        places, length = vector_places(block), workspace_length(block)
        slots = [places[v] + i for v in block.gives for i in range(block.vectors[v])]
        value = "zeroinitializer"
        for k in range(self.module.lanes):
            at = self.emit(f"getelementptr inbounds double, ptr {room}, i64 {k * length + slots[index]}")
            one = self.emit(f"load double, ptr {at}, align 8")
            if self.module.lanes == 1:
                return one
            value = self.emit(f"insertelement {self.real} {value}, double {one}, i64 {k}")
        return value


def _copy_function(name: str, pairs: list[tuple[int, Place]], arrays: list[str]) -> str:
    """Return a function that copies elements of arrays into slots of a workspace.

    It reads from tables what to copy: a load and a store of each element would take LLVM ten times as long.
    """
    head = ", ".join(f"ptr noalias nocapture readonly %{array}" for array in arrays)
    lines = [f"define internal void @{name}(ptr noalias nocapture %out, {head}) noinline nounwind {{"]
    tables = []
    before = "entry"
    lines.append(f"{before}:")
    for a, array in enumerate(arrays):
        own = [(index, slot) for slot, (of, index) in pairs if of == array]
        numbers = ", ".join(f"i32 {x}" for pair in own for x in pair)
        tables.append(f"@{name}_{a} = internal constant [{2 * len(own)} x i32] [{numbers}]")
        lines += [
            f"  br label %next{a}",
            f"next{a}:",
            f"  %k{a} = phi i64 [ 0, %{before} ], [ %more{a}, %next{a} ]",
            f"  %p{a} = getelementptr inbounds i32, ptr @{name}_{a}, i64 %k{a}",
            f"  %q{a} = getelementptr inbounds i32, ptr %p{a}, i64 1",
            f"  %index{a} = load i32, ptr %p{a}, align 4",
            f"  %slot{a} = load i32, ptr %q{a}, align 4",
            f"  %from{a} = getelementptr inbounds double, ptr %{array}, i32 %index{a}",
            f"  %value{a} = load double, ptr %from{a}, align 8",
            f"  %to{a} = getelementptr inbounds double, ptr %out, i32 %slot{a}",
            f"  store double %value{a}, ptr %to{a}, align 8",
            f"  %more{a} = add nuw nsw i64 %k{a}, 2",
            f"  %left{a} = icmp ult i64 %more{a}, {2 * len(own)}",
            f"  br i1 %left{a}, label %next{a}, label %end{a}",
            f"end{a}:",
        ]
        before = f"end{a}"
    return "\n".join([*tables, *lines, "  ret void", "}"])
