"""What several tests of batches need."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.ensembles.engines.lanes.with_events import LanesWithEvents, _tried
from armillary.ensembles.engines.scalar.engine import ScalarVisits


@pytest.fixture
def on_lanes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps lanes have taken in each call of theirs."""
    taken: list[int] = []
    advance = LanesWithEvents._advance

    def counted(engine: LanesWithEvents, visits: ScalarVisits, ready: np.ndarray) -> None:
        before = _tried(visits, ready).sum()
        advance(engine, visits, ready)
        taken.append(int(_tried(visits, ready).sum() - before))

    monkeypatch.setattr(LanesWithEvents, "_advance", counted)
    return taken
