"""Published cases, computed anew: expected and found numbers, with sources and tolerances.

In: the numbers of the literature (`data/`) and the models of the examples. Out: rows of a table, which
`armillary verify` prints and the verification manual shows. A case is a function in `cases/` that measures
numbers, with the checks that they must meet. Read `rows.py` first, then any case. This file makes the rows
of cases and one table of text from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from armillary.errors import ArmillaryError, nearest
from armillary.text_tables import aligned
from armillary.verification.cases import CASES
from armillary.verification.rows import Case, Check, Row, expected_text, found_text

__all__ = ["CASES", "Case", "Check", "Row", "run", "table"]


def run(cases: Iterable[str] | None = None, progress: Callable[[str], None] | None = None) -> list[Row]:
    """Return the rows of the named cases, or of all; `progress` is called with the name of each first."""
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
    """Return the rows as text, a block per case; remarks stand below their rows."""
    cells = [["quantity", "expected", "found", ""]]
    for row in rows:
        mark = "" if row.verdict == "ok" else row.verdict
        cells.append([row.quantity, expected_text(row), found_text(row), mark])
    head, *body = (f"  {line}" for line in aligned(cells, "<>>"))
    lines = [head]
    for name, group in groupby(zip(rows, body, strict=True), key=lambda pair: pair[0].case):
        case, remark = CASES[name], ""
        lines += ["", f"{case.title}. {case.source}"]
        for row, line in group:
            lines.append(line)
            if row.remark and row.remark != remark:  # one remark for several rows is shown once
                lines.append(f"      {row.remark}")
            remark = row.remark
    return "\n".join(lines)
