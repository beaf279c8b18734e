"""Cases computed, and their rows as one table of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from armillary.errors import ArmillaryError, nearest
from armillary.verification.cases import CASES
from armillary.verification.rows import Row, expected_text, found_text


def run(cases: Iterable[str] | None = None, progress: Callable[[str], None] | None = None) -> list[Row]:
    """The rows of the named cases, or of all; `progress` is told the name of each before it is computed."""
    rows: list[Row] = []
    chosen = list(CASES) if cases is None else list(cases)
    for name in chosen:
        if name not in CASES:
            raise ArmillaryError(
                f"there is no case '{name}'{nearest(name, CASES) or ': ' + ', '.join(CASES)}"
            )
    for name in chosen:
        if progress is not None:
            progress(name)
        rows += CASES[name].rows()
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as text, a block per case; remarks stand below their rows."""
    cells = [expected_text(row) for row in rows], [found_text(row) for row in rows]
    quantity = max((len(row.quantity) for row in rows), default=0)
    widths = [max(map(len, column), default=0) for column in cells]
    lines: list[str] = []
    for name, group in groupby(rows, key=lambda row: row.case):
        case, told = CASES[name], ""
        lines += ["", f"{case.title}. {case.source}"]
        for row in group:
            one, other = expected_text(row), found_text(row)
            mark = "" if row.verdict == "ok" else row.verdict
            line = f"  {row.quantity:<{quantity}}  {one:>{widths[0]}}  {other:>{widths[1]}}  {mark}"
            lines.append(line.rstrip())
            if row.remark and row.remark != told:  # one reason for several rows is told once
                lines.append(f"      {row.remark}")
            told = row.remark
    head = f"  {'quantity':<{quantity}}  {'expected':>{widths[0]}}  {'found':>{widths[1]}}"
    return "\n".join([head, *lines])
