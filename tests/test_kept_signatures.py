"""Defaults of public functions, methods and records are those that were read and kept."""

from __future__ import annotations

from tests.kept_signatures import KEPT, signatures


def test_signatures_are_those_that_were_read() -> None:
    """After a change: ``python -m tests.kept_signatures``, and read the difference."""
    assert signatures() == KEPT.read_text(encoding="utf-8").splitlines()
