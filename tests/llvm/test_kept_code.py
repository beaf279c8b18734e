"""Machine code of both processors is the one that was executed, on whichever machine it is made."""

from __future__ import annotations

from tests.llvm.kept_code import KEPT, made_digests


def test_code_for_every_processor_is_the_code_that_was_executed() -> None:
    """After a change: ``python -m tests.llvm.kept_code``, and ``test_machine_code.py`` on both processors."""
    assert list(made_digests()) == KEPT.read_text(encoding="utf-8").splitlines()
