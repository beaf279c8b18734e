"""A program as LLVM code: one function per section, straight-line, without calls where possible.

The text is written directly, a line per operation, which is readable and ten times faster than building
objects. Products are fused with sums as ``instructions.py`` chooses for the whole section; nothing else is
reordered, so pieces and lanes give the same digits. A long section is cut into pieces that exchange values
through a work array, because LLVM's time grows faster than the length of a function.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from armillary.algebra.block_functions import is_block
from armillary.algebra.expression import UNIT, Expr
from armillary.algebra.node import PRODUCT_OF_TWO
from armillary.llvm.arrangement.arranged_writer import ArrangedPackWriter, ArrangedWriter, number_values
from armillary.llvm.instructions import Place, Places, ValueTypes, constant_array
from armillary.llvm.jit import encodes, quick, registers, vector_doubles
from armillary.llvm.module import Module, Sines, compiled_sines, share_sections
from armillary.llvm.node_writer import Driven, NumberPlaces, Writer
from armillary.llvm.pack_writer import PackWriter, Signs
from armillary.llvm.pieces import cut, first_operations, is_grouped_call, plain_angles
from armillary.mechanics.constraints.closing_thresholds import CORRECTIONS, LARGE_CORRECTION, SMALL_CORRECTION
from armillary.program.branch_packs import Pack, strip_lets
from armillary.program.packs import NearSines, calls_side_by_side, in_lanes, pack_as, pack_calls, pack_section
from armillary.program.program import Program, ProgramSection

PIECE = 800  # operations in one piece; compile time per operation is flat up to here
SHARING_PIECE = 400  # if values come from shared arrays: LLVM's scheduler compares all loads with all stores
# If LLVM writes functions of several points, whose values are vectors: in longer pieces it keeps more values
# than there are registers, and its register allocator takes half of its time. With 100, not 800, the
# derivatives of a car take 0.74 of the time, of a quadruped 0.83, of an arm 0.86; 50 and 25 are slower.
POINTS_PIECE = 100
ENCODED_PIECE = 1600  # with Armillary's machine code; ANYmal then runs 3 % quicker, a chain of 64 links 1 %
# Most operations of arm64 code in one piece, if LLVM writes none of them. One piece has fewer stores: on a
# Neoverse N1 it takes 0.93 of the time of several for that chain, 0.96 to 1.01 for ten humanoids.
WHOLE = 20000

# LLVM writes sections with fewer nodes than SHORT that have choices, tables or inputs over time, but fewer
# vectors of elementary functions than FEW_CALLS: two pieces take 20 % more time for a car with an input, 200
# operations.
SHORT, FEW_CALLS = 500, 4

_ATTRIBUTES = "noalias nocapture"
_ARRAY = re.compile(r"ptr [^%]*%(\w+)")  # an argument of a function


def llvm_text(
    program: Program,
    registers: int = 0,
    sines: Sines | None = None,
    *,
    encodes: str = "",
    call_lanes: int = 1,
) -> str:
    """Return the program: precompute, derivatives, outputs and, if any, events, update, fire, normalise.

    With ``registers``, the number of the machine's registers for doubles, code is arranged
    (``arrangement.py``). ``sines`` returns sine functions that this process has compiled. ``encodes`` is the
    instruction set of machine code, if it is supported (``arrangement/machine_code.py``). ``call_lanes`` is
    the number of elementary functions in one vector.
    """
    module = Module(registers=registers, encodes=encodes, call_lanes=call_lanes, compiled_sines=sines)
    places, inputs = _places(program), _inputs(module)
    _write_precompute(module, program)
    derivatives = pack_section(program.derivatives, program.alike, places, width=call_lanes)
    packs = bool(derivatives.packs) and call_lanes > 2
    named = {
        "derivatives": derivatives,
        "outputs": pack_as(program.outputs, derivatives, places) if packs else program.outputs,
        "events": pack_section(program.events, program.alike, places) if packs else program.events,
        "update": program.update,
        "geometry": program.geometry,
        **_fire_sections(program),
        **({"renew": program.normalise} if _renews_states(program) else {}),
    }
    named = {
        name: section
        for name, section in named.items()
        if section.results or name in ("derivatives", "outputs")
    }
    module.shared = share_sections({name: section for name, section in named.items() if not section.packs})
    _write_shared_values(module, places)
    for name in ("derivatives", "outputs", "events", "update", "geometry"):
        if name in named:
            _write_ordinary(module, name, named[name], places)
    if program.fire:
        _write_fire(module, program, inputs, places)
    stepping = places | {s: ("state", len(program.state) + i) for i, s in enumerate(program.inputs)}
    for section in program.stepping:
        _write_ordinary(module, section.name, pack_section(section, program.alike, stepping), stepping)
    for section in program.partial_rates:
        _write_ordinary(module, section.name, section, places)
    if program.normalises:
        _write_normalise(module, program, places, packs)
    _write_changes(module, program)
    return module.text()


def process_text(program: Program) -> str:
    """Return the whole program for the processor of this process."""
    program = for_this_machine(program)
    sines = compiled_sines if quick() else None
    return llvm_text(
        program,
        registers(packs=bool(program.alike)),
        sines,
        encodes=encodes(),
        call_lanes=vector_doubles(),
    )


def for_this_machine(program: Program) -> Program:
    """Return the program with packs no wider than this machine's vectors, or without packs if the machine has
    no vectors.
    """
    return for_lanes(program, vector_doubles())


def for_lanes(program: Program, width: int) -> Program:
    """Return the program with packs of at most ``width`` lanes."""
    alike = in_lanes(program.alike, width)
    return program if alike == program.alike else replace(program, alike=alike)


def change_text(program: Program) -> str:
    """Return a separate module of the sections of changes and the constants of all sections."""
    module = Module()
    _write_precompute(module, program)
    _write_changes(module, program)
    return module.text()


def _write_changes(module: Module, program: Program) -> None:
    """Write the sections of changes of configuration: ``leave`` reads a state, the others read a motion."""
    places = _places(program)
    moving = places | {s: ("state", i) for i, s in enumerate(program.motion)}
    for section in program.changes:
        _write_ordinary(module, section.name, section, places if section.name == "leave" else moving)


def lanes_module(program: Program, lanes: int, near: NearSines | None = None) -> Module:
    """Return the module of sections for steps between events, for ``lanes`` runs: values are vectors.

    The functions are for a loop in the same module; ``t`` is a vector too, and arrays hold the lanes of each
    quantity side by side. ``outputs`` reads the program's ``row_rates`` after the state. If a vector fits a
    register of arm64, code is arranged as for single runs.

    With ``near``, ``derivatives`` also stores sines and cosines, in an array that precedes its results.
    derivatives_near(t, state, constants, memory, sines, base, out, turned) computes the sines at ``state``
    from these, whose angles are in the state ``base``. In ``turned`` it stores the largest d², where d is the
    difference of an angle between both states.
    """
    arranged = lanes == 2 and encodes() == "arm64"
    module = Module(lanes, registers=registers(), encodes=encodes()) if arranged else Module(lanes)
    places = _places(program)
    _write_precompute(module, program)
    if near is None:
        rates = program.derivatives if arranged else calls_side_by_side(program.derivatives)
        _write_ordinary(module, "derivatives", rates, places)  # even if it is empty
    else:
        _near_derivatives(module, near, places)
    with_rates = places | {
        rate: ("state", len(program.state) + k) for k, (_, rate) in enumerate(program.row_rates)
    }
    for section in (program.outputs, program.events, program.update):
        if section.results:
            _write_ordinary(
                module, section.name, section, with_rates if section is program.outputs else places
            )
    for section in program.partial_rates:
        _write_ordinary(module, section.name, section, places)
    if program.normalises:
        _write_normalise(module, program, places)
    return module


def lane_functions_text(program: Program, lanes: int) -> str:
    """Return the LLVM text of a program's ``stepping`` sections, for ``lanes`` runs at once."""
    arranged = lanes == 2 and encodes() == "arm64"
    module = Module(lanes, registers=registers(), encodes=encodes()) if arranged else Module(lanes)
    places = _places(program)
    places |= {s: ("state", len(program.state) + i) for i, s in enumerate(program.inputs)}
    for section in program.stepping:
        _write_ordinary(module, section.name, section, places, PIECE if arranged else POINTS_PIECE)
    return module.text()


def _near_derivatives(module: Module, near: NearSines, places: Places) -> None:
    """Write derivatives of the first stage of a step, and derivatives of later stages from its sines."""
    count = len(near.sines)
    outs: list[Place] = [("out", i) for i in range(len(near.first.results) - count)]
    kept: list[Place] = [("sines", i) for i in range(count)]
    inputs, out = _inputs(module), f"ptr {_ATTRIBUTES} %out"
    arguments = f"{inputs}, ptr {_ATTRIBUTES} %sines, {out}"
    _write_function(module, "derivatives", near.first, arguments, places, [*outs, *kept])
    given = [f"ptr {_ATTRIBUTES} readonly %{name}" for name in ("sines", "base")]
    arguments = ", ".join([inputs, *given, out, f"ptr {_ATTRIBUTES} %turned"])
    nearby = places | dict(zip(near.sines, kept, strict=True))
    nearby |= {q: ("base", i) for q, i in near.angles.items()}
    _write_function(module, "derivatives_near", near.further, arguments, nearby, [*outs, ("turned", 0)])


def start_text(section: ProgramSection, places: Mapping[Expr, Place], time: Expr) -> str:
    """Return a separate module for a section that a start computes.

    It has one function of (t, state, parameters, memory, out), with the section's name.
    """
    module = Module()
    arrays = [f"ptr {_ATTRIBUTES} readonly %{name}" for name in ("state", "parameters", "memory")]
    arguments = ", ".join([f"{module.real} %t", *arrays, f"ptr {_ATTRIBUTES} %out"])
    outs = [("out", i) for i in range(len(section.results))]
    _write_function(module, section.name, section, arguments, {**places, time: "%t"}, outs)
    return module.text()


def section_text(program: Program, section: ProgramSection) -> str:
    """Return a separate module for a further section of a program: one function with the section's name."""
    module = Module()
    _write_ordinary(module, section.name, section, _places(program))
    return module.text()


def _places(program: Program) -> Places:
    """Return the place of each input of a section."""
    places: Places = {program.time: "%t"}
    places |= {s: ("state", i) for i, s in enumerate(program.state)}
    places |= {s: ("constants", i) for i, s in enumerate(program.constants)}
    places |= {s: ("memory", i) for i, s in enumerate(program.memory)}
    places |= {s: Driven(program.memory.index(s)) for s in program.driven}
    return places


def _inputs(module: Module) -> str:
    arrays = [f"ptr {_ATTRIBUTES} readonly %{name}" for name in ("state", "constants", "memory")]
    return ", ".join([f"{module.real} %t", *arrays])


def _write_precompute(module: Module, program: Program) -> None:
    arguments = f"ptr {_ATTRIBUTES} readonly %parameters, ptr {_ATTRIBUTES} %out"
    given = {s: ("parameters", i) for i, s in enumerate(program.parameters)}
    outs = [("out", i) for i in range(len(program.constants))]
    _write_function(module, "precompute", program.precompute, arguments, given, outs)


def _write_ordinary(
    module: Module, name: str, section: ProgramSection, places: Places, piece: int | None = None
) -> None:
    """Write a section as a function of time, state, constants and memory."""
    outs = [("out", i) for i in range(len(section.results))]
    _write_function(
        module, name, section, f"{_inputs(module)}, ptr {_ATTRIBUTES} %out", places, outs, piece=piece
    )


def _fire_sections(program: Program) -> dict[str, ProgramSection]:
    """Return the sections of events by the names of their functions; equal effects share one."""
    found: dict[tuple[Expr, ...], tuple[str, ProgramSection]] = {}
    for k, section in enumerate(program.fire):
        found.setdefault(section.results, (f"fire_{k}", section))
    return dict(found.values())


def _write_shared_values(module: Module, places: Places) -> None:
    """Write the functions of values that several sections need."""
    for group in module.shared.groups:
        outs = [(group.array, i) for i in range(len(group.section.results))]
        needed = [f"ptr {_ATTRIBUTES} readonly %{array}" for array in group.needs]
        arguments = ", ".join([_inputs(module), *needed, f"ptr {_ATTRIBUTES} %{group.array}"])
        # A group does not read its own array: its pieces may exchange negatives of values, while the array
        # has the values themselves.
        others = {x: place for x, place in module.shared.places.items() if place[0] in group.needs}
        _write_function(module, group.array, group.section, arguments, {**places, **others}, outs)


def _with_shared_values(
    module: Module, name: str, arguments: str, places: Places, outs: Sequence[Place]
) -> None:
    """Write the rest of a section, and the section that calls it after the functions of shared values."""
    groups = [group for group in module.shared.groups if name in group.users]
    arrays = {group.array: max(1, len(group.section.results)) for group in groups}
    given = ", ".join([arguments, *(f"ptr {_ATTRIBUTES} readonly %{array}" for array in arrays)])
    rest = f"{name}_rest"
    _write_function(module, rest, module.shared.rest[name], given, {**places, **module.shared.places}, outs)
    lines = [f"  %{array} = alloca [{n} x {module.real}], align 64" for array, n in arrays.items()]
    inputs = _call_arguments(_inputs(module))
    for group in groups:
        passed = ", ".join([inputs, *(f"ptr %{array}" for array in (*group.needs, group.array))])
        lines.append(f"  call void @{group.array}({passed})")
    lines.append(f"  call void @{rest}({_call_arguments(given)})")
    module.define(f"void @{name}({arguments})", "\n".join(lines))


def _rare_attributes(name: str) -> str:
    """Return the attributes of the code of events in models with contacts, which is long and rarely runs."""
    return " optnone" if name.startswith("fire") and name.endswith("_rest") else ""


def _call_arguments(arguments: str) -> str:
    """Return the text of a function's arguments as its caller passes them."""
    return arguments.replace(f" {_ATTRIBUTES}", "").replace(" readonly", "")


def _renews_states(program: Program) -> bool:
    """Return whether states that depend on all others are renewed after each step."""
    units = 4 * len(program.quaternions)
    return program.normalises and not program.corrected and len(program.renewed) != units


def _write_fire(module: Module, program: Program, inputs: str, places: Places) -> None:
    """Write a function per event, and the function ``fire`` that chooses among them."""
    n_memory = len(program.memory)
    arguments = f"{inputs}, ptr {_ATTRIBUTES} %new_memory, ptr {_ATTRIBUTES} %new_state"
    outs = [("new_memory", i) for i in range(n_memory)] + [
        ("new_state", i) for i in range(len(program.state))
    ]
    passed = "double %t, ptr %state, ptr %constants, ptr %memory, ptr %new_memory, ptr %new_state"
    cases, blocks = [], []
    written = {}
    for name, section in _fire_sections(program).items():
        written[section.results] = name
        _write_function(module, name, section, arguments, places, outs)
    for k, section in enumerate(program.fire):
        cases.append(f"i64 {k}, label %event{k}")
        blocks.append(f"event{k}:\n  call void @{written[section.results]}({passed})\n  ret void")
    body = f"  switch i64 %k, label %none [ {' '.join(cases)} ]\n" + "\n".join(blocks) + "\nnone:\n  ret void"
    module.functions.append(f"define void @fire(i64 %k, {arguments}) nounwind {{\n{body}\n}}")


def _write_normalise(module: Module, program: Program, places: Places, packs: bool = False) -> None:
    """Write corrections of the coordinates by Newton's method, until they are small.

    Euler parameters are normalised after each correction. With several runs at once each run is corrected
    until its own corrections are small, independently of the other runs.
    """
    units = list(program.renewed)
    arguments = _inputs(module).replace(" readonly %state", " %state")
    if _renews_states(program):
        _renew_states(module, program, arguments, places)
        return
    if not program.corrected:
        _write_function(
            module, "normalise", program.normalise, arguments, places, [("state", i) for i in units]
        )
        return
    types = ValueTypes(module.lanes, module.lanes == 1)
    v, mask, suffix = types.real, types.of("i1"), types.suffix
    sections = {"correct": (program.correct, program.corrected), "unit_length": (program.normalise, units)}
    given = f"{v} %t, ptr %state, ptr %constants, ptr %memory"
    everywhere = "true" if types.single else "splat (i1 true)"
    lines = [
        "entry:", f"  %work = alloca [{max(len(program.corrected), len(units))} x {v}], align 64",
        "  br label %again", "again:", "  %try = phi i64 [ 0, %entry ], [ %next, %store ]",
        f"  %active = phi {mask} [ {everywhere}, %entry ], [ %more, %store ]",
    ]  # fmt: skip
    worst = types.number(0.0)
    for name, (section, corrected) in sections.items():
        if not corrected:
            continue
        outs: list[Place] = [("out", i) for i in range(len(corrected))]
        if packs:
            section = pack_section(section, program.alike, places)
        _write_function(module, name, section, f"{_inputs(module)}, ptr {_ATTRIBUTES} %out", places, outs)
        lines.append(f"  call void @{name}({given}, ptr %work)")
        for i, place in enumerate(corrected):
            n = f"{name[0]}{i}"
            lines += [
                f"  %w{n} = getelementptr inbounds {v}, ptr %work, i64 {i}",
                f"  %n{n} = load {v}, ptr %w{n}, align 8",
                f"  %s{n} = getelementptr inbounds {v}, ptr %state, i64 {place}",
                f"  %o{n} = load {v}, ptr %s{n}, align 8",
            ]
        if name == "correct":
            for i in range(len(corrected)):
                lines += [
                    f"  %dc{i} = fsub {v} %nc{i}, %oc{i}",
                    *_relative_correction_lines(program, i, types),
                    f"  %ac{i} = call {v} @llvm.fabs.{suffix}({v} %rc{i})",
                    f"  %mc{i} = call {v} @llvm.maximum.{suffix}({v} {worst}, {v} %ac{i})",
                ]
                worst = f"%mc{i}"
            # With absolute coordinates, joints may move by any distance in a step.
            farthest = types.number(sys.float_info.max if program.stepping else LARGE_CORRECTION)
            lines += [f"  %near = fcmp ole {v} {worst}, {farthest}", f"  %moves = and {mask} %near, %active"]
            # A single run branches: with a select, all later operations would wait for the comparison.
            lines += [
                f"  br {'i1 %near, label %store, label %done' if types.single else 'label %store'}",
                "store:",
            ]
        for i in range(len(corrected)):
            n = f"{name[0]}{i}"
            if not types.single:
                lines.append(f"  %t{n} = select {mask} %moves, {v} %n{n}, {v} %o{n}")
            lines.append(f"  store {v} %{'n' if types.single else 't'}{n}, ptr %s{n}, align 8")
    lines += [
        "  %next = add i64 %try, 1", f"  %far = fcmp ogt {v} {worst}, {types.number(SMALL_CORRECTION)}",
        f"  %more = and {mask} %moves, %far", *_any_lane_lines(module, "%some", "%more"),
        f"  %left = icmp slt i64 %next, {CORRECTIONS}", "  %goes_on = and i1 %some, %left",
        "  br i1 %goes_on, label %again, label %done", "done:",
    ]  # fmt: skip
    module.define(f"void @normalise({arguments})", "\n".join(lines))


def _renew_states(module: Module, program: Program, arguments: str, places: Places) -> None:
    """Write the renewal of states that depend on each other: all are computed before any is stored."""
    v, renewed = module.real, program.renewed
    outs: list[Place] = [("out", i) for i in range(len(renewed))]
    _write_function(
        module, "renew", program.normalise, f"{_inputs(module)}, ptr {_ATTRIBUTES} %out", places, outs
    )
    given = f"{v} %t, ptr %state, ptr %constants, ptr %memory"
    lines = [f"  %work = alloca [{len(renewed)} x {v}], align 64", f"  call void @renew({given}, ptr %work)"]
    for i, place in enumerate(renewed):
        lines += [
            f"  %w{i} = getelementptr inbounds {v}, ptr %work, i64 {i}",
            f"  %n{i} = load {v}, ptr %w{i}, align 8",
            f"  %s{i} = getelementptr inbounds {v}, ptr %state, i64 {place}",
            f"  store {v} %n{i}, ptr %s{i}, align 8",
        ]
    module.define(f"void @normalise({arguments})", "\n".join(lines))


def _any_lane_lines(module: Module, name: str, mask: str) -> list[str]:
    """Return lines that find whether a mask is set in some lane."""
    if module.lanes == 1:
        return [f"  {name} = or i1 {mask}, false"]
    function, flags = f"@llvm.vector.reduce.or.v{module.lanes}i1", f"<{module.lanes} x i1>"
    module.helpers[function] = f"declare i1 {function}({flags}) nounwind"
    return [f"  {name} = call i1 {function}({flags} {mask})"]


def _relative_correction_lines(program: Program, i: int, types: ValueTypes) -> list[str]:
    """Return lines for a correction %dc over the size of its coordinate, %rc."""
    v, size = types.real, program.correction_sizes[i] if program.correction_sizes else UNIT
    if size.kind == "number":
        return [f"  %rc{i} = fdiv {v} %dc{i}, {types.number(float(size.data))}"]
    return [
        f"  %cc{i} = getelementptr inbounds {v}, ptr %constants, i64 {program.constants.index(size)}",
        f"  %zc{i} = load {v}, ptr %cc{i}, align 8",
        f"  %rc{i} = fdiv {v} %dc{i}, %zc{i}",
    ]


def _write_function(
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

    With ``cut_once`` try two pieces, if Armillary can encode all of the second. LLVM's pieces have about
    ``piece`` operations, by default PIECE.

    Code in a process loads the address of a number before the number itself: one instruction on x86-64, four
    on arm64. With one address for all numbers, arm64 code of the fruitfly (108 speeds) is 0.4 times as long
    and takes 0.9 times the time.
    """
    if name in module.shared.rest:
        _with_shared_values(module, name, arguments, places, outs)
        return
    branches = len(section.packs)
    # Packed calls take LLVM 1.2 s more for a 14-freedom car, half of it for sections that run once a row.
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
    if cut_once and arranging and module.encodes == "arm64" and not arithmetic and not short:
        first, computed = first_operations(section, places), _computed_inputs(section, places)
        if first is not None and not first and not computed:
            first, arithmetic = None, True
    arranging &= loading or arithmetic or first is not None
    encoding = module.encodes if arranging else ""
    found = cut(
        section,
        ENCODED_PIECE if encoding else SHARING_PIECE if module.shared.groups else piece or PIECE,
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
            _write_function(module, name, section, arguments, places, outs, cut_once=False, piece=piece)
            return
        if given and "%numbers" in body:
            # An opaque address makes LLVM load the numbers from the array instead of inlining them.
            body = f'  %numbers = call ptr asm "", "=r,0"(ptr @{array})\n{body}'
            module.functions.append(constant_array(array, number_values(given)))
        module.define(f"void @{name}({arguments})", body)
        return
    passed = _call_arguments(arguments)
    calls = []
    numbers: NumberPlaces | None = {} if loading or arranging else None
    own, handed = f"ptr {_ATTRIBUTES} %work", "ptr %work"
    if numbers is not None:
        own, handed = f"{own}, ptr {_ATTRIBUTES} readonly %numbers", f"{handed}, ptr @{array}"
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
            _write_function(module, name, section, arguments, places, outs, cut_once=False, piece=piece)
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

    It can if all functions are grouped calls of states, min, max or abs, all inputs are in arrays, and all
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
