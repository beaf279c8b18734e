"""The tables "published next to ours" of the verification manual, from the cases of `armillary verify`.

    python docs/make_verification.py [CASE ...]

A table stands between the lines <!-- verify: NAME --> and <!-- end -->, where NAME is a case, or `summary`,
or `counts`. The named cases are computed, or all, which takes a minute.

The last digits of a number differ between processors. A number is shown with the digits that its tolerance
makes meaningful, and a difference with one digit; a page keeps what it shows as long as that agrees with what
is found. A test compares what is expected with the code, and holds what was found against the tolerances.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from armillary import verification
from armillary.verification.rows import Case, Check, Row, agrees, expected_text, found_text

FOLDER = Path(__file__).parent / "verification"
BLOCK = re.compile(r"(<!-- verify: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Found = dict[str, list[str]]  # texts of what was found by case, one for each check


def tables(text: str) -> dict[str, list[list[str]]]:
    """Rows of cells of the tables of a page, without their heads."""
    return {
        block[2]: [
            [cell.strip() for cell in line.strip("|").split(" | ")] for line in block[0].split("\n")[3:-1]
        ]
        for block in BLOCK.finditer(text)
    }


def shown_now() -> Found:
    """What the pages show for the present checks; "" for a check that they do not show yet."""
    found: Found = {}
    for name, case in verification.CASES.items():
        shown = tables((FOLDER / f"{case.page}.md").read_text(encoding="utf-8")).get(name, [])
        by_quantity = dict(zip(numbered(row[0] for row in shown), (row[2] for row in shown), strict=True))
        found[name] = [by_quantity.get(key, "") for key in numbered(label(case, c) for c in case.checks)]
    return found


def numbered(labels: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Each label with how often it came before."""
    seen: Counter[str] = Counter()
    for text in labels:
        yield text, seen[text]
        seen[text] += 1


def label(case: Case, check: Check) -> str:
    """The quantity of a check, and its source where that is not the case's."""
    source = "" if check.source in ("", case.source) else check.source
    return check.quantity + (f", {source}" if "(" in source else f" ({source})" if source else "")


def filled(text: str, found: Found) -> str:
    """A page with its tables made again."""
    return BLOCK.sub(lambda block: f"{block[1]}{table(block[2], found)}\n{block[3]}", text)


def table(name: str, found: Found) -> str:
    """The table of a case, of all cases, or of operation counts."""
    if name == "summary":
        return summary()
    if name == "counts":
        return counts(found)
    case = verification.CASES[name]
    remarks = any(check.remark for check in case.checks)
    head = ["quantity", "expected", "found", *(["remark"] if remarks else [])]
    body = []
    for check, text in zip(case.checks, found[name], strict=True):
        remark = [("differs: " if check.kind == "differs" else "") + check.remark] if remarks else []
        body.append([label(case, check), expected_text(check), text, *remark])
    return markdown(head, body)


def summary() -> str:
    """A line per case: its source, and how many numbers are compared."""
    body = []
    for name, case in verification.CASES.items():
        off = sum(check.kind == "differs" for check in case.checks)
        link, number = f"[{case.title}]({case.page}.md)", len(case.checks)
        body.append(
            [
                link,
                f"`{name}`",
                case.source,
                f"{number}, {off} of them unlike the source" if off else str(number),
            ]
        )
    return markdown(["case", "armillary verify", "source", "numbers"], body)


def counts(found: Found) -> str:
    """Additions and multiplications: published, and ours."""
    body = []
    for name, case in verification.CASES.items():
        for (one, additions), (other, more) in pairwise(zip(case.checks, found[name], strict=True)):
            if one.kind == "count" and one.quantity.startswith("additions"):
                system = case.title + one.quantity.removeprefix("additions")
                what = re.sub(" with(out)? controller", "", other.quantity)
                published = f"{one.expected:.0f} and {other.expected:.0f}"
                body.append([system, published, f"{additions} and {more}", what, one.source or case.source])
    return markdown(["system", "AUTOSIM", "Armillary", "the second number", "source"], body)


def markdown(head: list[str], body: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def computed(name: str) -> list[Row]:
    rows = verification.run([name], progress=print)
    for row in rows:
        if not row.passed:
            raise SystemExit(f"{name}: {row.quantity}: {found_text(row)}, expected {expected_text(row)}")
    return rows


def main(names: list[str]) -> None:
    found = shown_now()
    for name in names or verification.CASES:
        pairs = zip(computed(name), found[name], strict=True)
        found[name] = [text if agrees(row, text) else found_text(row) for row, text in pairs]
    for page in sorted(FOLDER.glob("*.md")):
        page.write_text(filled(page.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
