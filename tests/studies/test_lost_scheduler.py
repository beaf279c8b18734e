"""A study on a cluster whose scheduler does not come back."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from armillary.errors import ArmillaryError
from armillary.studies.cluster import _WaitingBlocks


def test_a_scheduler_that_is_gone_ends_the_study_with_a_sentence() -> None:
    """While the client looks for one that was restarted, nothing is sent."""
    waiting = object.__new__(_WaitingBlocks)
    waiting._job = SimpleNamespace(folder="runs")  # type: ignore[assignment]
    for status, there in (("running", True), ("connecting", False)):
        waiting._client = SimpleNamespace(status=status)
        assert waiting._connected() is there
    for status in ("closing", "closed"):
        waiting._client = SimpleNamespace(status=status)
        with pytest.raises(ArmillaryError, match="study 'runs': the scheduler is gone"):
            waiting._connected()
