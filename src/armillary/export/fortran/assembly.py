"""Loops closed before a run, in Fortran: the data of assembly.txt and what the program does with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.export.fortran.printer import literal
from armillary.export.text.assembly import Assembly
from armillary.export.text.template import fill, template

Array = Callable[[str, str, Sequence[str], str], list[str]]
Names = Callable[[str, str, Sequence[str]], list[str]]


def assembly_text(loops: Assembly, quoted: Callable[[str], str]) -> str:
    """The procedures."""
    has = {"redundant"} if loops.redundant else set()
    has |= {"quaternions"} if loops.quaternions else set()
    procedures = fill(template(__package__, "assembly.txt"), {"redundant": quoted(loops.redundant)}, has)
    return "\n".join([procedures, template(__package__, "six_digits.txt")])


def assembly_data(loops: Assembly, array: Array, names: Names) -> list[str]:
    """Sizes and tables, for the top of the module."""
    sizes = {
        "n_gaps": len(loops.gaps),
        "n_rows": loops.rows,
        "n_places": len(loops.coordinates),
        "n_speeds": loops.speeds,
        "n_jacobian": len(loops.jacobian),
        "n_rates": len(loops.rates),
        "n_numbers": len(loops.section.results),
    }
    lines = [
        "  ! Loops: see below.",
        f"  integer, parameter :: {', '.join(f'{k} = {n}' for k, n in sizes.items())}",
    ]
    whole = [
        ("jacobian_row(n_jacobian)", [i + 1 for i, _ in loops.jacobian], "row of each element of J"),
        ("jacobian_speed(n_jacobian)", [j + 1 for _, j in loops.jacobian], "and its speed"),
        ("rate_place(n_rates)", [i + 1 for i, _ in loops.rates], "coordinate of each element of N"),
        ("rate_speed(n_rates)", [j + 1 for _, j in loops.rates], "and its speed"),
    ]
    if starts := [q + 1 for q in loops.quaternions]:
        whole.append((f"unit_from({len(starts)})", starts, "first Euler parameters"))
    for name, values, about in whole:
        lines += array("integer", name, [str(v) for v in values] or ["integer ::"], about)
    flagged = [
        ("dependent(n_speeds)", loops.dependent, "speeds that move first"),
        ("holding(n_speeds)", loops.holding, "all that the gaps depend on"),
        ("whole_state(n_places)", loops.whole, "coordinates that are given where a whole state is"),
    ]
    if loops.redundant:
        flagged.append(("is_kept(n_rows)", loops.kept, "rows that are not redundant"))
    for name, flags, about in flagged:
        lines += array("logical", name, [".true." if f else ".false." for f in flags], about)
    lines += array(
        "real(dp)", "first_guess(n_places)", [literal(x) for x in loops.first], "where a search starts"
    )
    lines += names("gap_before", "n_gaps", [before.rstrip() for before, _ in loops.gaps])
    return lines + names("gap_after", "n_gaps", [after.lstrip() for _, after in loops.gaps])
