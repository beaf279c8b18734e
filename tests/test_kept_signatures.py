"""Defaults of public functions, methods and records are those that were read and kept."""

from __future__ import annotations

from pathlib import Path

from tests.kept_signatures import KEPT, signatures, unnamed_options


def test_signatures_are_those_that_were_read() -> None:
    """After a change: ``python -m tests.kept_signatures``, and read the difference."""
    assert signatures() == KEPT.read_text(encoding="utf-8").splitlines()


def test_every_option_is_given_in_a_test() -> None:
    """Of public functions; an option of the same name elsewhere counts, so this is the least."""
    files = Path(__file__).parent.rglob("*.py")
    assert unnamed_options("\n".join(file.read_text(encoding="utf-8") for file in files)) == []
