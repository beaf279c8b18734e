"""Values of an FMU's variables in compiled code: a model has doubles, an FMU numbers of many types.

An array is set and read whole; elements that nothing drives keep their start values. Whole numbers are
rounded to the nearest, truths are zero or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.files.fmu.description import FmuVariable
from armillary.files.fmu.library import Library
from armillary.llvm.instructions import real


@dataclass(frozen=True)
class ValueKind:
    """A type of FMI: that of LLVM, and the end of the names of its functions."""

    llvm: str
    function: str
    sign: str = ""  # "s" and "u" of whole numbers


def kind_of(variable: FmuVariable, version: str) -> ValueKind:
    """The kind of a variable in a version of FMI."""
    second = version == "2.0"
    match variable.type:
        case "Float64":
            return ValueKind("double", "Real" if second else "Float64")
        case "Float32":
            return ValueKind("float", "Float32")
        case "Boolean":
            return ValueKind("i32" if second else "i8", "Boolean")
        case "Enumeration":
            return ValueKind("i32", "Integer", "s") if second else ValueKind("i64", "Int64", "s")
        case "Int32" if second:
            return ValueKind("i32", "Integer", "s")
    whole = variable.type.removeprefix("U").removeprefix("Int")
    return ValueKind(f"i{whole}", variable.type, "u" if variable.type[0] == "U" else "s")


def call_text(library: Library, verb: str, name: str, variables: Sequence[FmuVariable]) -> str:
    """``i32 @name(ptr instance, ptr values)``: variables set to doubles ("Set"), or read as such ("Get")."""
    version = library.fmu.version
    groups: dict[ValueKind, list[tuple[int, FmuVariable]]] = {}
    for i, v in enumerate(variables):
        groups.setdefault(kind_of(v, version), []).append((i, v))
    lines: list[str] = []
    tables: list[str] = []
    previous = ""
    for g, (kind, members) in enumerate(groups.items()):
        wholes = list({v.reference: v for _, v in members}.values())
        starts, total = {}, 0
        for v in wholes:
            starts[v.reference] = total
            total += v.size
        items = ", ".join(f"i32 {v.reference}" for v in wholes)
        tables.append(f"@{name}_references{g} = private constant [{len(wholes)} x i32] [{items}]")
        places = {i: starts[v.reference] + v.place for i, v in members}
        lines.append(f"  %buffer{g} = alloca [{total} x {kind.llvm}]")
        if verb == "Set":
            driven = set(places.values())
            resting = [
                (starts[v.reference] + k, x)
                for v in wholes
                for k, x in enumerate(v.starts)
                if starts[v.reference] + k not in driven
            ]
            for place, x in resting:
                lines += _store(kind, g, place, real(x), f"{g}_{place}r")
            for i, place in places.items():
                lines += [
                    f"  %from{i} = getelementptr double, ptr %values, i64 {i}",
                    f"  %given{i} = load double, ptr %from{i}",
                    *_store(kind, g, place, f"%given{i}", f"{i}"),
                ]
        pointer = f"inttoptr (i64 {library.address(f'{verb}{kind.function}')} to ptr)"
        count = f", i64 {total}" if version == "3.0" else ""
        arguments = f"ptr %instance, ptr @{name}_references{g}, i64 {len(wholes)}, ptr %buffer{g}{count}"
        lines.append(f"  %answer{g} = call i32 {pointer}({arguments})")
        status = f"%answer{g}"
        if previous:
            lines += [
                f"  %worse{g} = icmp ugt i32 %answer{g}, {previous}",
                f"  %status{g} = select i1 %worse{g}, i32 %answer{g}, i32 {previous}",
            ]
            status = f"%status{g}"
        previous = status
        if verb == "Get":
            for i, place in places.items():
                lines += _load(kind, g, place, i)
    head = f"define internal i32 @{name}(ptr %instance, ptr %values) {{"
    return "\n".join([*tables, head, *lines, f"  ret i32 {previous or '0'}", "}"])


def _store(kind: ValueKind, group: int, place: int, value: str, mark: str) -> list[str]:
    """A double put into a buffer of another type."""
    lines = [f"  %to{mark} = getelementptr {kind.llvm}, ptr %buffer{group}, i64 {place}"]
    if kind.llvm == "double":
        return [*lines, f"  store double {value}, ptr %to{mark}"]
    if kind.llvm == "float":
        change = [f"  %as{mark} = fptrunc double {value} to float"]
    elif kind.function == "Boolean":
        change = [
            f"  %truth{mark} = fcmp une double {value}, 0.0",
            f"  %as{mark} = zext i1 %truth{mark} to {kind.llvm}",
        ]
    else:
        change = [
            f"  %below{mark} = fcmp olt double {value}, 0.0",
            f"  %half{mark} = select i1 %below{mark}, double -0.5, double 0.5",
            f"  %near{mark} = fadd double {value}, %half{mark}",
            f"  %as{mark} = fpto{kind.sign}i double %near{mark} to {kind.llvm}",
        ]
    return [*lines, *change, f"  store {kind.llvm} %as{mark}, ptr %to{mark}"]


def _load(kind: ValueKind, group: int, place: int, i: int) -> list[str]:
    """An element of a buffer as a double among the values."""
    lines = [
        f"  %at{i} = getelementptr {kind.llvm}, ptr %buffer{group}, i64 {place}",
        f"  %raw{i} = load {kind.llvm}, ptr %at{i}",
    ]
    found = f"%raw{i}"
    if kind.llvm == "float":
        lines.append(f"  %found{i} = fpext float %raw{i} to double")
        found = f"%found{i}"
    elif kind.function == "Boolean":
        lines += [f"  %is{i} = icmp ne {kind.llvm} %raw{i}, 0", f"  %found{i} = uitofp i1 %is{i} to double"]
        found = f"%found{i}"
    elif kind.sign:
        lines.append(f"  %found{i} = {kind.sign}itofp {kind.llvm} %raw{i} to double")
        found = f"%found{i}"
    into = f"  %into{i} = getelementptr double, ptr %values, i64 {i}"
    return [*lines, into, f"  store double {found}, ptr %into{i}"]
