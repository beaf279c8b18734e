"""Tolerances of published cases as they were agreed: ``python -m tests.verification.tolerances`` writes the
list anew; a tolerance that became wider needs a reason in the message of its commit.
"""

from __future__ import annotations

from pathlib import Path

from armillary.verification import CASES

KEPT = Path(__file__).with_name("tolerances.txt")


def listed_tolerances() -> list[str]:
    """One line for each check: its tolerance or "count", its case, its quantity."""
    return [
        f"{'count' if check.kind == 'count' else repr(check.tolerance):<8} {name}: {check.quantity}"
        for name, case in CASES.items()
        for check in case.checks
    ]


if __name__ == "__main__":
    KEPT.write_text("\n".join(listed_tolerances()) + "\n", encoding="utf-8")
