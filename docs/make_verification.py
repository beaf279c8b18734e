"""The tables "published next to ours" of the verification manual, from the cases of `armillary verify`.

    python docs/make_verification.py

A table stands between the lines <!-- verify: NAME --> and <!-- end -->, where NAME is a case, or `summary`,
or `counts`. All cases are computed, which takes a minute. A test compares what is expected with the code, and
holds what was found against the tolerances.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from armillary import verification
from armillary.verification.rows import Row, expected_text, found_text

FOLDER = Path(__file__).parent / "verification"
BLOCK = re.compile(r"(<!-- verify: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, rows: Mapping[str, list[Row]]) -> str:
    """A page with its tables made anew."""
    return BLOCK.sub(lambda block: f"{block[1]}{table(block[2], rows)}\n{block[3]}", text)


def table(name: str, rows: Mapping[str, list[Row]]) -> str:
    """The table of a case, of all cases, or of operation counts."""
    if name == "summary":
        return summary(rows)
    if name == "counts":
        return counts(rows)
    remarks = any(row.remark for row in rows[name])
    head = ["quantity", "expected", "found", *(["remark"] if remarks else [])]
    body = []
    for row in rows[name]:
        source = "" if row.source == verification.CASES[name].source else row.source
        source = f", {source}" if "(" in source else f" ({source})" if source else ""
        remark = [("differs: " if row.kind == "differs" else "") + row.remark] if remarks else []
        body.append([row.quantity + source, expected_text(row), found_text(row), *remark])
    return markdown(head, body)


def summary(rows: Mapping[str, list[Row]]) -> str:
    """A line per case: its source, and how many numbers are compared."""
    body = []
    for name, own in rows.items():
        case = verification.CASES[name]
        off = sum(row.kind == "differs" for row in own)
        link = f"[{case.title}]({case.page}.md)"
        told = f"{len(own)}, {off} of them unlike the source" if off else str(len(own))
        body.append([link, f"`{name}`", case.source, told])
    return markdown(["case", "armillary verify", "source", "numbers"], body)


def counts(rows: Mapping[str, list[Row]]) -> str:
    """Additions and multiplications: published, and ours."""
    body = []
    for name, own in rows.items():
        for one, other in pairwise(own):
            if one.kind == "count" and one.quantity.startswith("additions"):
                system = verification.CASES[name].title + one.quantity.removeprefix("additions")
                what = re.sub(" with(out)? controller", "", other.quantity)
                published = f"{one.expected:.0f} and {other.expected:.0f}"
                body.append([system, published, f"{one.found:.0f} and {other.found:.0f}", what, one.source])
    return markdown(["system", "AUTOSIM", "Armillary", "the second number", "source"], body)


def markdown(head: list[str], body: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def main() -> None:
    rows: dict[str, list[Row]] = {name: [] for name in verification.CASES}
    for row in verification.run(progress=print):
        rows[row.case].append(row)
        if not row.passed:
            raise SystemExit(f"{row.case}: {row.quantity}: {found_text(row)}, expected {expected_text(row)}")
    for page in sorted(FOLDER.glob("*.md")):
        page.write_text(filled(page.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
