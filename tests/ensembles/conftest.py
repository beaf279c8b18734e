"""What several tests of batches need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from armillary.ensembles.engines.lanes import with_events
from armillary.ensembles.engines.scalar.engine import ScalarVisits


@pytest.fixture
def on_lanes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps lanes have taken in each call of theirs."""
    taken: list[int] = []
    advance = with_events._advance

    def counted(visits: ScalarVisits, loops: list[Callable[..., None]], runs: np.ndarray) -> None:
        before = with_events._tried(visits, runs).sum()
        advance(visits, loops, runs)
        taken.append(int(with_events._tried(visits, runs).sum() - before))

    monkeypatch.setattr(with_events, "_advance", counted)
    return taken
