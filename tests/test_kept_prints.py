"""What a small system prints is what was read and kept, numbers to four digits."""

from __future__ import annotations

import pytest

from tests.kept_prints import KEPT, NUMBER, printed


def words_of(text: str) -> tuple[str, list[float]]:
    """A line without its numbers and with single blanks, and the numbers; very small ones are zero."""
    found = [float(x.replace("−", "-")) for x in NUMBER.findall(text)]
    return " ".join(NUMBER.sub("#", text).split()), [0.0 if abs(x) < 1e-9 else x for x in found]


def test_prints_are_those_that_were_read() -> None:
    """After a change: ``python -m tests.kept_prints``, and read the difference."""
    found, kept = list(printed()), KEPT.read_text(encoding="utf-8").splitlines()
    for i, (one, other) in enumerate(zip(found, kept, strict=False), 1):
        (words, numbers), (expected, values) = words_of(one), words_of(other)
        assert words == expected, f"line {i} of {KEPT.name}"
        assert numbers == pytest.approx(values, rel=2e-4, abs=1e-9), f"line {i} of {KEPT.name}"
    assert len(found) == len(kept)
