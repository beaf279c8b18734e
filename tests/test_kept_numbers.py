"""Results of many small calculations are those that were read and kept."""

from __future__ import annotations

import pytest

from tests.kept_numbers import KEPT, MAKERS, lines_of


@pytest.mark.parametrize("name", MAKERS)
def test_numbers_are_those_that_were_read(name: str) -> None:
    """To six digits of each group's largest. After a change: ``python -m tests.kept_numbers``, and read the
    difference.
    """
    found = lines_of(name)
    kept = [one for one in KEPT.read_text(encoding="utf-8").splitlines() if one.startswith(f"{name}: ")]
    assert [one.rpartition(": ")[0] for one in found] == [one.rpartition(": ")[0] for one in kept]
    for one, other in zip(found, kept, strict=True):
        numbers, expected = ([float(x) for x in text.rpartition(": ")[2].split()] for text in (one, other))
        size = max(map(abs, expected), default=0.0)
        assert numbers == pytest.approx(expected, rel=1e-6, abs=1e-9 * size), one.rpartition(": ")[0]
