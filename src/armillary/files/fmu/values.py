"""Values of an FMU's variables in compiled code: a model has doubles, an FMU numbers of many types.

An array is set and read whole; elements that nothing drives keep their start values. Whole numbers are
rounded to the nearest, truths are zero or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.files.fmu.description import FmuVariable
from armillary.files.fmu.instance_code import InstanceCode, InstanceModule
from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import ADDRESS, REAL, WHOLE, Raw, constant


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


def transfer(module: InstanceModule, verb: str, name: str, variables: Sequence[FmuVariable]) -> InstanceCode:
    """A function of (instance, values): variables set to doubles ("Set"), or read as such ("Get"); it gives
    the worst status.
    """
    version = module.library.fmu.version
    f = module.function(name, WHOLE, (ADDRESS,))
    instance, values = f.function.args[0], Span(f, f.function.args[1])
    groups: dict[ValueKind, list[tuple[int, FmuVariable]]] = {}
    for i, v in enumerate(variables):
        groups.setdefault(kind_of(v, version), []).append((i, v))
    statuses = []
    for g, (kind, members) in enumerate(groups.items()):
        wholes = list({v.reference: v for _, v in members}.values())
        starts, total = {}, 0
        for v in wholes:
            starts[v.reference] = total
            total += v.size
        items = ", ".join(f"i32 {v.reference}" for v in wholes)
        references = Raw(ADDRESS, f"@{name}_references{g}")
        module.constants.append(f"{references.name} = private constant [{len(wholes)} x i32] [{items}]")
        places = {starts[v.reference] + v.place: i for i, v in members}
        buffer = f.room(total, kind.llvm).address
        if verb == "Set":
            resting = {starts[v.reference] + k: f.real(x) for v in wholes for k, x in enumerate(v.starts)}
            given = {place: values[i] for place, i in places.items()}
            for place, value in {**resting, **given}.items():
                at = f.builder.place(buffer, constant(WHOLE, place), kind.llvm)
                f.builder.store(_of_kind(f, kind, value), at)
        size = (constant(WHOLE, total),) if version == "3.0" else ()
        count = constant(WHOLE, len(wholes))
        statuses.append(f.answer(f"{verb}{kind.function}", instance, references, count, buffer, *size))
        if verb == "Get":
            for place, i in places.items():
                at = f.builder.place(buffer, constant(WHOLE, place), kind.llvm)
                values[i] = _as_real(f, kind, Value(f, f.builder.load(at, kind.llvm)))
    f.give(f.worst(statuses))
    return f


def _of_kind(f: InstanceCode, kind: ValueKind, value: Value) -> Raw:
    """A double as a number of another type."""
    if kind.function == "Boolean":
        return f.builder.convert("zext", value.differs(0.0).raw, kind.llvm)
    if kind.sign:
        near = value + f.choose(value < 0.0, -0.5, 0.5)
        return f.builder.convert(f"fpto{kind.sign}i", near.raw, kind.llvm)
    return f.builder.convert("fptrunc", value.raw, kind.llvm)


def _as_real(f: InstanceCode, kind: ValueKind, value: Value) -> Value:
    """A number of another type as a double."""
    if kind.function == "Boolean":
        return Value(f, f.builder.convert("uitofp", value.differs(0).raw, REAL))
    operation = f"{kind.sign}itofp" if kind.sign else "fpext"
    return Value(f, f.builder.convert(operation, value.raw, REAL))
