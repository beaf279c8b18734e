"""A program as LLVM code: one function per section, straight-line, without calls where possible.

The text is written directly, a line per operation, which is readable and ten times faster than building
objects. ``section_writer.py`` writes one section.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from armillary.algebra.expression import UNIT, Expr
from armillary.llvm.instructions import Place, Places, ValueTypes
from armillary.llvm.jit import encodes, quick, registers, vector_doubles
from armillary.llvm.module import Module, Sines, compiled_sines, share_sections
from armillary.llvm.node_writer import Driven
from armillary.llvm.section_writer import (
    ATTRIBUTES,
    PIECE,
    call_arguments,
    section_inputs,
    write_function,
)
from armillary.llvm.usual_sections import ArrivalSections, UsualSection, join_arrival, split_rare_conditions
from armillary.mechanics.constraints.closing_thresholds import CORRECTIONS, LARGE_CORRECTION, SMALL_CORRECTION
from armillary.program.packs import NearSines, calls_side_by_side, in_lanes, pack_as, pack_section
from armillary.program.program import Program, ProgramSection

# Operations in pieces of functions that LLVM writes for several points, whose values are vectors. In longer
# pieces LLVM keeps more values alive than there are registers, and its register allocator takes half of the
# compile time. With 100 instead of 800, the derivatives of a car take 0.74 of the time, of a quadruped 0.83,
# of an arm 0.86; 50 and 25 are slower.
POINTS_PIECE = 100
# Usual parts of sections share no values if together they have fewer nodes than this: a table on two feet
# (3,000 nodes) takes 0.8 of the time.
ALONE = 4000


def llvm_text(
    program: Program,
    registers: int = 0,
    sines: Sines | None = None,
    *,
    encodes: str = "",
    call_lanes: int = 1,
) -> str:
    """Return the LLVM text of a program: precompute, derivatives, outputs and, if any, events, update, fire,
    normalise.

    With ``registers``, the number of the machine's registers for doubles, code is arranged
    (``arrangement.py``). ``sines`` returns sine functions that this process has compiled. ``encodes`` is the
    instruction set of machine code, if it is supported (``arrangement/machine_code.py``). ``call_lanes`` is
    the number of elementary functions in one vector.
    """
    module = Module(registers=registers, encodes=encodes, call_lanes=call_lanes, compiled_sines=sines)
    places, inputs = _places(program), section_inputs(module)
    _write_precompute(module, program)
    split = _split_sections(program)
    usual = {name: split[name].usual if name in split else section for name, section in _frequent(program)}
    derivatives = pack_section(usual["derivatives"], program.alike, places, width=call_lanes)
    packs = bool(derivatives.packs) and call_lanes > 2
    named = {
        "derivatives": derivatives,
        "outputs": pack_as(usual["outputs"], derivatives, places) if packs else usual["outputs"],
        "events": pack_section(usual["events"], program.alike, places) if packs else usual["events"],
        "update": program.update,
        "geometry": program.geometry,
        **_fire_sections(program),
        **({"renew": usual["renew"]} if "renew" in usual else {}),
    }
    named = {f"{name}_usual" if name in split else name: section for name, section in named.items()}
    named |= {f"{name}_whole": sections.whole for name, sections in split.items()}
    joined = None if derivatives.packs else join_arrival(program, usual, split)
    if joined is not None:
        named |= {"units": joined.units, "arrival": joined.arrival}
    named = {
        name: section
        for name, section in named.items()
        if section.results or name in ("derivatives", "outputs")
    }
    frequent = {"arrival", *(f"{name}_usual" for name in split)}
    nodes = sum(len(named[name].nodes) for name in frequent & named.keys())
    alone = frequent if nodes < ALONE and not quick() else set()
    module.shared = share_sections(
        {name: x for name, x in named.items() if not x.packs and name not in alone}
    )
    _write_shared_values(module, places)
    for name in ("derivatives", "outputs", "events", "update", "geometry"):
        if name in split:
            _write_split(module, name, named, places)
        elif name in named:
            _write_ordinary(module, name, named[name], places)
    if program.fire:
        _write_fire(module, program, inputs, places)
    stepping = places | {s: ("state", len(program.state) + i) for i, s in enumerate(program.inputs)}
    for section in program.stepping:
        _write_ordinary(module, section.name, pack_section(section, program.alike, stepping), stepping)
    for section in program.partial_rates:
        _write_ordinary(module, section.name, section, places)
    if "renew" in split:
        _write_split(module, "renew", named, places)
    if joined is not None:
        _write_arrival(module, program, joined, places)
    if program.normalises:
        _write_normalise(module, program, places, packs, is_written="renew" in split)
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
    """Return a separate module for changes of configuration: their sections, and ``precompute``."""
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
    inputs, out = section_inputs(module), f"ptr {ATTRIBUTES} %out"
    arguments = f"{inputs}, ptr {ATTRIBUTES} %sines, {out}"
    write_function(module, "derivatives", near.first, arguments, places, [*outs, *kept])
    given = [f"ptr {ATTRIBUTES} readonly %{name}" for name in ("sines", "base")]
    arguments = ", ".join([inputs, *given, out, f"ptr {ATTRIBUTES} %turned"])
    nearby = places | dict(zip(near.sines, kept, strict=True))
    nearby |= {q: ("base", i) for q, i in near.angles.items()}
    write_function(module, "derivatives_near", near.further, arguments, nearby, [*outs, ("turned", 0)])


def start_text(section: ProgramSection, places: Mapping[Expr, Place], time: Expr) -> str:
    """Return a separate module for a section that a start computes.

    It has one function of (t, state, parameters, memory, out), with the section's name.
    """
    module = Module()
    arrays = [f"ptr {ATTRIBUTES} readonly %{name}" for name in ("state", "parameters", "memory")]
    arguments = ", ".join([f"{module.real} %t", *arrays, f"ptr {ATTRIBUTES} %out"])
    outs = [("out", i) for i in range(len(section.results))]
    write_function(module, section.name, section, arguments, {**places, time: "%t"}, outs)
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


def _write_precompute(module: Module, program: Program) -> None:
    arguments = f"ptr {ATTRIBUTES} readonly %parameters, ptr {ATTRIBUTES} %out"
    given = {s: ("parameters", i) for i, s in enumerate(program.parameters)}
    outs = [("out", i) for i in range(len(program.constants))]
    write_function(module, "precompute", program.precompute, arguments, given, outs)


def _write_ordinary(
    module: Module, name: str, section: ProgramSection, places: Places, piece: int | None = None
) -> None:
    """Write a section as a function of time, state, constants and memory."""
    outs = [("out", i) for i in range(len(section.results))]
    write_function(
        module, name, section, f"{section_inputs(module)}, ptr {ATTRIBUTES} %out", places, outs, piece=piece
    )


def _frequent(program: Program) -> list[tuple[str, ProgramSection]]:
    """Return the sections that every step evaluates, by the names of their functions."""
    renewed = [("renew", program.normalise)] if _renews_states(program) else []
    ordinary = ("derivatives", program.derivatives), ("outputs", program.outputs), ("events", program.events)
    return [*ordinary, *renewed]


def _split_sections(program: Program) -> dict[str, UsualSection]:
    """Return the sections with rare conditions, by the names of their functions.

    Outputs are not split, since only rows need them.
    """
    steps = [(name, section) for name, section in _frequent(program) if name != "outputs"]
    found = {name: split_rare_conditions(section) for name, section in steps}
    return {name: sections for name, sections in found.items() if sections is not None}


def _write_split(module: Module, name: str, named: Mapping[str, ProgramSection], places: Places) -> None:
    """Write a section with rare conditions: its usual part, and the whole section if some condition holds."""
    inputs, out = section_inputs(module), f"ptr {ATTRIBUTES} %out"
    usual, whole = named[f"{name}_usual"], named[f"{name}_whole"]
    outs: list[Place] = [("out", i) for i in range(len(whole.results))]
    arguments = f"{inputs}, {out}, ptr {ATTRIBUTES} %unusual"
    write_function(module, f"{name}_usual", usual, arguments, places, [*outs, ("unusual", 0)])
    write_function(module, f"{name}_whole", whole, f"{inputs}, {out}", places, outs)
    lines = [
        "  %unusual = alloca double, align 8",
        f"  call void @{name}_usual({call_arguments(arguments)})",
        "  %some = load double, ptr %unusual, align 8",
        "  %usual = fcmp oeq double %some, 0.0",
        "  br i1 %usual, label %done, label %again, !prof !0",
        f"again:\n  call void @{name}_whole({call_arguments(f'{inputs}, {out}')})",
        "  br label %done\ndone:",
    ]
    module.define(f"void @{name}({inputs}, {out})", "\n".join(lines))


def _write_arrival(module: Module, program: Program, joined: ArrivalSections, places: Places) -> None:
    """Write `evaluate_end`, which normalises a state and computes its rates and event functions."""
    inputs = section_inputs(module)
    rates, guards = len(program.derivatives.results), len(program.events.results)
    arrays = f"ptr {ATTRIBUTES} %k_end, ptr {ATTRIBUTES} %g"
    outs: list[Place] = [("k_end", i) for i in range(rates)] + [("g", i) for i in range(guards)]
    arguments = f"{inputs}, {arrays}, ptr {ATTRIBUTES} %unusual"
    write_function(
        module, "arrival", joined.arrival, arguments, places, [*outs, ("unusual", 0), ("unusual", 1)]
    )
    given = call_arguments(inputs)
    evaluation = f"  call void @arrival({call_arguments(arguments)})"
    lines = ["  %unusual = alloca [2 x double], align 8"]
    if joined.units.results:
        _write_ordinary(module, "units", joined.units, places)
        of_units = [place + i for place in program.quaternions for i in range(4)]
        lines.append(f"  %units = alloca [{len(of_units)} x double], align 64")
        lines.append(f"  call void @units({given}, ptr %units)")
        lines += _stores_of_states(module, "units", of_units)
    lines += [
        f"  %moved = alloca [{len(program.renewed)} x double], align 64",
        evaluation,
        "  %drift = load double, ptr %unusual, align 8",
        "  %stays = fcmp oeq double %drift, 0.0",
        "  br i1 %stays, label %judge, label %correct, !prof !0",
        f"correct:\n  call void @renew_whole({given}, ptr %moved)",
        *_stores_of_states(module, "moved", program.renewed),
        evaluation,
        "  br label %judge",
        "judge:\n  %place = getelementptr inbounds double, ptr %unusual, i64 1",
        "  %some = load double, ptr %place, align 8",
        "  %usual = fcmp oeq double %some, 0.0",
        "  br i1 %usual, label %done, label %again, !prof !0",
        f"again:\n  call void @derivatives({given}, ptr %k_end)",
        f"  call void @events({given}, ptr %g)",
        "  br label %done\ndone:",
    ]
    module.define(
        f"void @evaluate_end({inputs.replace(' readonly %state', ' %state')}, {arrays})", "\n".join(lines)
    )


def _stores_of_states(module: Module, array: str, places: Sequence[int]) -> list[str]:
    """Return lines that copy the numbers in an array to states."""
    v, lines = module.real, []
    for i, place in enumerate(places):
        lines += [
            f"  %{array}_w{i} = getelementptr inbounds {v}, ptr %{array}, i64 {i}",
            f"  %{array}_n{i} = load {v}, ptr %{array}_w{i}, align 8",
            f"  %{array}_s{i} = getelementptr inbounds {v}, ptr %state, i64 {place}",
            f"  store {v} %{array}_n{i}, ptr %{array}_s{i}, align 8",
        ]
    return lines


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
        needed = [f"ptr {ATTRIBUTES} readonly %{array}" for array in group.needs]
        arguments = ", ".join([section_inputs(module), *needed, f"ptr {ATTRIBUTES} %{group.array}"])
        # A group does not read its own array: its pieces may exchange negatives of values, while the array
        # has the values themselves.
        others = {x: place for x, place in module.shared.places.items() if place[0] in group.needs}
        write_function(module, group.array, group.section, arguments, {**places, **others}, outs)


def _renews_states(program: Program) -> bool:
    """Return whether states that depend on all others are renewed after each step."""
    units = 4 * len(program.quaternions)
    return program.normalises and not program.corrected and len(program.renewed) != units


def _write_fire(module: Module, program: Program, inputs: str, places: Places) -> None:
    """Write a function per event, and the function ``fire`` that chooses among them."""
    n_memory = len(program.memory)
    arguments = f"{inputs}, ptr {ATTRIBUTES} %new_memory, ptr {ATTRIBUTES} %new_state"
    outs = [("new_memory", i) for i in range(n_memory)] + [
        ("new_state", i) for i in range(len(program.state))
    ]
    passed = "double %t, ptr %state, ptr %constants, ptr %memory, ptr %new_memory, ptr %new_state"
    cases, blocks = [], []
    written = {}
    for name, section in _fire_sections(program).items():
        written[section.results] = name
        write_function(module, name, section, arguments, places, outs)
    for k, section in enumerate(program.fire):
        cases.append(f"i64 {k}, label %event{k}")
        blocks.append(f"event{k}:\n  call void @{written[section.results]}({passed})\n  ret void")
    body = f"  switch i64 %k, label %none [ {' '.join(cases)} ]\n" + "\n".join(blocks) + "\nnone:\n  ret void"
    module.functions.append(f"define void @fire(i64 %k, {arguments}) nounwind {{\n{body}\n}}")


def _write_normalise(
    module: Module, program: Program, places: Places, packs: bool = False, *, is_written: bool = False
) -> None:
    """Write corrections of the coordinates by Newton's method, until they are small.

    Euler parameters are normalised after each correction. With several runs at once each run is corrected
    until its own corrections are small, independently of the other runs.
    """
    units = list(program.renewed)
    arguments = section_inputs(module).replace(" readonly %state", " %state")
    if _renews_states(program):
        _renew_states(module, program, arguments, places, is_written)
        return
    if not program.corrected:
        write_function(
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
        write_function(
            module, name, section, f"{section_inputs(module)}, ptr {ATTRIBUTES} %out", places, outs
        )
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


def _renew_states(module: Module, program: Program, arguments: str, places: Places, is_written: bool) -> None:
    """Write the renewal of states that depend on each other: all are computed before any is stored.

    ``is_written`` states that the function ``renew``, which computes them, is written already.
    """
    v, renewed = module.real, program.renewed
    if not is_written:
        _write_ordinary(module, "renew", program.normalise, places)
    given = f"{v} %t, ptr %state, ptr %constants, ptr %memory"
    lines = [f"  %work = alloca [{len(renewed)} x {v}], align 64", f"  call void @renew({given}, ptr %work)"]
    lines += _stores_of_states(module, "work", renewed)
    module.define(f"void @normalise({arguments})", "\n".join(lines))


def _any_lane_lines(module: Module, name: str, mask: str) -> list[str]:
    """Return lines that find whether a mask is set in some lane."""
    if module.lanes == 1:
        return [f"  {name} = or i1 {mask}, false"]
    function, flags = f"@llvm.vector.reduce.or.v{module.lanes}i1", f"<{module.lanes} x i1>"
    module.helpers[function] = f"declare i1 {function}({flags}) nounwind"
    return [f"  {name} = call i1 {function}({flags} {mask})"]


def _relative_correction_lines(program: Program, i: int, types: ValueTypes) -> list[str]:
    """Return lines for %rc, a correction %dc divided by the size of its coordinate."""
    v, size = types.real, program.correction_sizes[i] if program.correction_sizes else UNIT
    if size.kind == "number":
        return [f"  %rc{i} = fdiv {v} %dc{i}, {types.number(float(size.data))}"]
    return [
        f"  %cc{i} = getelementptr inbounds {v}, ptr %constants, i64 {program.constants.index(size)}",
        f"  %zc{i} = load {v}, ptr %cc{i}, align 8",
        f"  %rc{i} = fdiv {v} %dc{i}, %zc{i}",
    ]
