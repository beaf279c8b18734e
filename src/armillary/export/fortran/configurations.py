"""Further configurations of a system in Fortran: a module for each, and one with the tables that changes read
and a subroutine for each section that calls that of a configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from armillary.export.text.configurations import TRUTHS, change_tables, has_function
from armillary.export.text.printing.layout import listed
from armillary.export.text.printing.solver_printer import CONSTRAINT_GEOMETRY
from armillary.export.text.source import Source

_WIDTH = 130
_STATE, _MOTION = "state(most_states)", "state(n_motion)"
# Sections: what they take for a state, the results that they have, and what these are beyond those of a
# configuration.
_SECTIONS = {
    "derivatives": (_STATE, "most_states", "0.0_dp"),
    "outputs": (_STATE, "n_outputs", "0.0_dp"),
    "events": (_STATE, "most_events", "1.0_dp"),
    "update": (_STATE, "n_memory", "0.0_dp"),
    "leave": (_STATE, "n_motion", "0.0_dp"),
    "enter": (_MOTION, "most_states", "0.0_dp"),
    "impulse": (_MOTION, "n_speeds", "0.0_dp"),
    "adjust": (_MOTION, "n_speeds", "0.0_dp"),
    "ratings": (_MOTION, "n_members", "0.0_dp"),
    CONSTRAINT_GEOMETRY: (_STATE, "n_elements", "0.0_dp"),
}
_TABLES = {
    "STOPS": "stops_at", "DIRECTION": "direction_of", "LANDS": "lands_at", "NEAR_PLACE": "near_place_of",
    "LOOK": "look_at", "ELEMENTS": "elements_of", "AT_END": "is_at_end",
}  # fmt: skip
_SIZES = {"N_STATES": "most_states", "N_EVENTS": "most_events", "N_CONSTANTS": "most_constants"}


def fortran_name(name: str) -> str:
    """A size or a table of runtime/solver/language/language.py."""
    return _TABLES.get(name) or _SIZES.get(name) or name.lower()


def sections_of(made: Source) -> list[str]:
    """The subroutines of a configuration, by name."""
    had = has_function(made.program, made.passing)
    names = ["precompute", *_SECTIONS, "fire", "normalise"]
    return [name for name in names if had.get(name, True)]


def changes_module(made: Source, array: Callable[[str, str, Sequence[str], str], list[str]]) -> str:
    """The module of all configurations."""
    stem, every = made.stem, [made, *made.others]
    found = change_tables(made)
    lines = [
        "! Configurations: other joints locked, other dependent speeds. Sizes of the largest, and of what",
        "! all have in common; the numbers of each, one after the other; sections by the number of one.",
        f"module {stem}_changes",
        "  use, intrinsic :: iso_fortran_env, only: dp => real64",
        f"  use {stem}_model, only: parameters_t, n_outputs, n_memory",
    ]
    for c, one in enumerate(every):
        module = f"{stem}_model" + (f"_{c}" if c else "")
        renamed = listed([f"{s}_{c} => {s}" for s in sections_of(one)], _WIDTH, "    ", " &")
        lines += [f"  use {module}, only: &", *renamed]
    called_here = [name for name in _SECTIONS if made.passing or name != CONSTRAINT_GEOMETRY]
    called = [f"{name}_of" for name in (*called_here, "precompute", "fire", "normalise")]
    lines += ["  implicit none", "  private", "  public :: &", *listed(called, _WIDTH, "    ", " &"), ""]
    sizes = {name: size for name, size in found.sizes.items() if name != "N_OUTPUTS"}
    for name, size in sizes.items():
        lines.append(f"  integer, parameter, public :: {fortran_name(name)} = {size}")
    for name, values in found.counted_from(1).items():
        truths = name in TRUTHS
        kind = "logical" if truths else "integer"
        texts = [".true." if v else ".false." for v in values] if truths else [str(v) for v in values]
        declared = f"{fortran_name(name)}({len(values)})"
        _, *others = array(f"{kind}, public", declared, texts or [f"{kind} ::"], "")
        lines += others
    for name, reals in found.reals.items():
        _, *others = array(
            "real(dp), public", f"{fortran_name(name)}({len(reals)})", [f"{x!r}_dp" for x in reals], ""
        )
        lines += others
    lines += ["", "contains", ""]
    lines += [line for name in called_here for line in _dispatcher(name, every)]
    lines += _others(every)
    return "\n".join([*lines, f"end module {stem}_changes"]) + "\n"


def _cases(name: str, every: Sequence[Source], given: str, unused: Iterable[str]) -> list[str]:
    """A call by the number of a configuration; where none has the section, what is not used is named."""
    calls = [
        f"    case ({c + 1})\n      call {name}_{c}({given})"
        for c, one in enumerate(every)
        if name in sections_of(one)
    ]
    if not calls:
        return [f"    associate (unused => {a})\n    end associate" for a in ("c", *unused)]
    return ["    select case (c)", *calls, "    end select"]


def _dispatcher(name: str, every: Sequence[Source]) -> list[str]:
    """A section of a configuration."""
    state, size, beyond = _SECTIONS[name]
    return [
        f"  pure subroutine {name}_of(c, t, state, constants, memory, out)",
        "    integer, intent(in) :: c",
        f"    real(dp), intent(in) :: t, {state}, constants(most_constants), memory(n_memory)",
        f"    real(dp), intent(out) :: out({size})",
        f"    out = {beyond}",
        *_cases(name, every, "t, state, constants, memory, out", ("t", "state", "constants", "memory")),
        f"  end subroutine {name}_of",
        "",
    ]


def _others(every: Sequence[Source]) -> list[str]:
    fire = "t, state, constants, memory, new_memory, new_state"
    return [
        "  pure subroutine precompute_of(c, p, constants)",
        "    integer, intent(in) :: c",
        "    type(parameters_t), intent(in) :: p",
        "    real(dp), intent(out) :: constants(most_constants)",
        "    constants = 0.0_dp",
        *_cases("precompute", every, "p, constants", ("p",)),
        "  end subroutine precompute_of",
        "",
        f"  pure subroutine fire_of(c, k, {fire})",
        "    integer, intent(in) :: c, k",
        f"    real(dp), intent(in) :: t, {_STATE}, constants(most_constants), memory(n_memory)",
        "    real(dp), intent(out) :: new_memory(n_memory), new_state(most_states)",
        "    new_memory = memory",
        "    new_state = state",
        *_cases("fire", every, f"k, {fire}", ("k", "t", "constants")),
        "  end subroutine fire_of",
        "",
        "  pure subroutine normalise_of(c, t, state, constants, memory)",
        "    integer, intent(in) :: c",
        "    real(dp), intent(in) :: t, constants(most_constants), memory(n_memory)",
        "    real(dp), intent(inout) :: state(most_states)",
        *_cases("normalise", every, "t, state, constants, memory", ("t", "state", "constants", "memory")),
        "  end subroutine normalise_of",
        "",
    ]
