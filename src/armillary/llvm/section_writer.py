"""One section as LLVM functions: straight-line code, cut into pieces if it is long.

Products are fused with sums as ``instructions.py`` chooses for the whole section; nothing else is reordered,
so pieces and lanes give the same digits. A long section is cut into pieces that exchange values through a
work array, because LLVM's time grows faster than the length of a function.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from armillary.algebra.block_functions import is_block
from armillary.algebra.expression import Expr
from armillary.algebra.node import PRODUCT_OF_TWO
from armillary.llvm.arrangement.arranged_writer import ArrangedPackWriter, ArrangedWriter, number_values
from armillary.llvm.instructions import Place, Places, constant_array
from armillary.llvm.module import Module
from armillary.llvm.node_writer import NumberPlaces, Writer
from armillary.llvm.pack_writer import PackWriter, Signs
from armillary.llvm.pieces import cut, first_operations, is_grouped_call, plain_angles
from armillary.program.branch_packs import Pack, strip_lets
from armillary.program.packs import pack_calls
from armillary.program.program import ProgramSection

PIECE = 800  # operations in one piece; compile time per operation is constant up to here
SHARING_PIECE = 400  # if values come from shared arrays: LLVM's scheduler compares all loads with all stores
# With Armillary's machine code; runs of the robot ANYmal then take 3 % less time, of a chain of 64 links 1 %.
ENCODED_PIECE = 1600
# Most operations of arm64 code in one piece, if LLVM writes none of them. One piece has fewer stores: on a
# Neoverse N1 it takes 0.93 of the time of several pieces for that chain, 0.96 to 1.01 for ten humanoids.
WHOLE = 20000

# LLVM writes sections with fewer nodes than SHORT that have choices, tables or inputs over time, but fewer
# vectors of elementary functions than FEW_CALLS: two pieces take 20 % more time for a car with an input (200
# operations).
SHORT, FEW_CALLS = 500, 4

ATTRIBUTES = "noalias nocapture"
_ARRAY = re.compile(r"ptr [^%]*%(\w+)")  # an argument of a function


def section_inputs(module: Module) -> str:
    arrays = [f"ptr {ATTRIBUTES} readonly %{name}" for name in ("state", "constants", "memory")]
    return ", ".join([f"{module.real} %t", *arrays])


def _with_shared_values(
    module: Module, name: str, arguments: str, places: Places, outs: Sequence[Place]
) -> None:
    """Write a section as a function that calls the functions of its shared values, then that of its rest."""
    groups = [group for group in module.shared.groups if name in group.users]
    arrays = {group.array: max(1, len(group.section.results)) for group in groups}
    given = ", ".join([arguments, *(f"ptr {ATTRIBUTES} readonly %{array}" for array in arrays)])
    rest = f"{name}_rest"
    write_function(module, rest, module.shared.rest[name], given, {**places, **module.shared.places}, outs)
    lines = [f"  %{array} = alloca [{n} x {module.real}], align 64" for array, n in arrays.items()]
    inputs = call_arguments(section_inputs(module))
    for group in groups:
        passed = ", ".join([inputs, *(f"ptr %{array}" for array in (*group.needs, group.array))])
        lines.append(f"  call void @{group.array}({passed})")
    lines.append(f"  call void @{rest}({call_arguments(given)})")
    module.define(f"void @{name}({arguments})", "\n".join(lines))


def _rare_attributes(name: str) -> str:
    """Return the attributes of code of models with contacts that is long and rarely runs."""
    rare = name.startswith("fire") or "_whole" in name
    return " optnone" if rare and name.endswith("_rest") else ""


def call_arguments(arguments: str) -> str:
    """Return the text of a function's arguments as its caller passes them."""
    return arguments.replace(f" {ATTRIBUTES}", "").replace(" readonly", "")


def write_function(
    module: Module,
    name: str,
    section: ProgramSection,
    arguments: str,
    places: Places,
    outs: Sequence[Place],
    *,
    cut_once: bool = True,
    piece: int | None = None,
) -> None:
    """Write a section as a function, or as several functions with a work array and one array of numbers.

    With ``cut_once``, try to cut the section into two pieces, of which Armillary encodes all of the second.
    Pieces that LLVM compiles have about ``piece`` operations, by default PIECE.

    Code in a process loads the address of a number before the number itself: one instruction on x86-64, four
    on arm64. With one address for all numbers, arm64 code of the fruitfly (108 speeds) is 0.4 times as long
    and takes 0.9 times the time.
    """
    if name in module.shared.rest:
        _with_shared_values(module, name, arguments, places, outs)
        return
    branches = len(section.packs)
    # With packed calls LLVM takes 1.2 s more for a car with 14 degrees of freedom, half of it for sections
    # that run once per row.
    if module.encodes == "arm64" or section.name == "derivatives":
        section = pack_calls(section, module.call_lanes)
    calls_together = len(section.packs) - branches
    angles = plain_angles(section)
    loading = module.lanes == 1
    read = {place[0] for place in places.values() if isinstance(place, tuple)}
    widest = 4 if module.encodes == "x86_64" else 2  # doubles of a register
    fits = all([len(pack.lanes) <= widest for pack in section.packs])
    arranging = module.registers > 0 and fits and read.isdisjoint([array for array, _ in outs])
    arranging &= not any([is_block(node) for node in section.nodes])
    arithmetic = arranging and module.encodes == "arm64" and is_arithmetic(section, places)
    first: set[Expr] | None = None
    computed: list[Expr] = []
    short = len(section.nodes) < SHORT and calls_together < FEW_CALLS
    if cut_once and arranging and module.encodes and not arithmetic and not short:
        first, computed = first_operations(section, places), _computed_inputs(section, places)
        if first is not None and not first and not computed:
            first, arithmetic = None, module.encodes == "arm64"
    arranging &= loading or arithmetic or first is not None
    encoding = module.encodes if arranging else ""
    longest = piece or PIECE if read.isdisjoint(module.shared_arrays) else SHARING_PIECE
    found = cut(
        section,
        ENCODED_PIECE if encoding else longest,
        WHOLE if arithmetic or first is not None else 0,
        loading=loading and not (arranging and (module.encodes or not section.packs)),
        first=first,
    )
    pieces, packs, crossing = found.pieces, found.packs, found.crossing
    # Inputs that are not in arrays: the first piece stores them for the second one.
    once = first is not None and len(pieces) > 1
    handed_on = {x: ("work", len(crossing) + i) for i, x in enumerate(computed if once else ())}
    before = len(module.functions)
    array = f"{name}_numbers"
    opposite: set[Expr] = set()
    signs: dict[Pack, Signs] = {}

    def writer_of(numbers: NumberPlaces | None, taken: str, further: Places | None = None) -> Writer:
        known = {**places, **further} if further else places
        # With several runs at once, code that LLVM writes is not arranged.
        here = arranging and (loading or arithmetic or further is not None)
        given = module, known, crossing, found.arrival, numbers if loading or here else None, found.fused
        writer: Writer
        if packs:
            kind = ArrangedPackWriter if here else PackWriter
            writer = kind(*given, opposite, packs, found.together, signs)
            writer.wide = found.wide
        else:
            writer = (ArrangedWriter if here else Writer)(*given, opposite)
        if isinstance(writer, ArrangedWriter):
            writer.arguments = _ARRAY.findall(taken)
            writer.encodes = arithmetic or not short or module.encodes != "arm64"
        return writer

    if len(pieces) == 1:
        given: NumberPlaces | None = {} if arranging else None
        writer = writer_of(given, arguments)
        writer.trigonometry(angles)
        for node in pieces[0]:
            writer.node(node)
        writer.results(section, outs)
        body = writer.body(name)
        if arithmetic and not writer.encoded and cut_once:
            del module.functions[before:]
            write_function(module, name, section, arguments, places, outs, cut_once=False, piece=piece)
            return
        if given and "%numbers" in body:
            # An opaque address makes LLVM load the numbers from the array instead of inlining them.
            body = f'  %numbers = call ptr asm "", "=r,0"(ptr @{array})\n{body}'
            module.functions.append(constant_array(array, number_values(given)))
        module.define(f"void @{name}({arguments})", body)
        return
    passed = call_arguments(arguments)
    calls = []
    numbers: NumberPlaces | None = {} if loading or arranging else None
    own, handed = f"ptr {ATTRIBUTES} %work", "ptr %work"
    if numbers is not None:
        own, handed = f"{own}, ptr {ATTRIBUTES} readonly %numbers", f"{handed}, ptr @{array}"
    for k, nodes in enumerate(pieces):
        writer = writer_of(numbers, f"{arguments}, {own}", handed_on if k else None)
        here = {n.args[0] for n in nodes if n.kind == "call" and is_grouped_call(n)}
        writer.trigonometry([a for a in angles if a in here])
        if k == 0:
            for symbol, place in handed_on.items():
                writer.store(writer.value(symbol), *place)
        for node in nodes:
            writer.node(node)
        writer.results(section, outs, found.results[k])
        piece_head = f"internal void @{name}_{k}({arguments}, {own}) noinline{_rare_attributes(name)}"
        module.define(piece_head, writer.body(f"{name}_{k}"))
        if once and k and not writer.encoded:
            del module.functions[before:]
            write_function(module, name, section, arguments, places, outs, cut_once=False, piece=piece)
            return
        calls.append(f"  call void @{name}_{k}({passed}, {handed})")
    if numbers is not None:
        module.functions.append(constant_array(array, number_values(numbers)))
    size = len(crossing) + len(handed_on)
    body = f"  %work = alloca [{size} x {module.real}], align 64\n" + "\n".join(calls)
    module.define(f"void @{name}({arguments})", body)


def _computed_inputs(section: ProgramSection, places: Places) -> list[Expr]:
    """Return the inputs of a section that are not in arrays: the time, and inputs over time."""
    used = {strip_lets(a): None for node in section.nodes for a in node.args}
    used |= {strip_lets(result): None for result in section.results}
    return [x for x in used if x.kind == "symbol" and not isinstance(places.get(x), tuple)]


def is_arithmetic(section: ProgramSection, places: Places) -> bool:
    """Return whether Armillary can encode all operations of a section for arm64.

    It can if all functions are sines or cosines of states, min, max or abs, all inputs are in arrays, and all
    exponents are multiples of ½.
    """
    given = {s for s, place in places.items() if isinstance(place, tuple)}
    states = {s for s in given if places[s][0] == "state"}

    def is_known_call(call: Expr) -> bool:
        return call.data in ("min", "max", "abs") or (is_grouped_call(call) and call.args[0] in states)

    nodes = section.nodes
    used = {*chain.from_iterable([node.args for node in nodes]), *map(strip_lets, section.results)}
    powers = {n.data[1] for n in nodes if n.kind == "product" and n.data is not PRODUCT_OF_TWO}
    return (
        given >= {a for a in used if a.kind == "symbol"}
        and all([is_known_call(node) for node in nodes if node.kind == "call"])
        and all([2 * n == int(2 * n) for exponents in powers for n in exponents])
    )
