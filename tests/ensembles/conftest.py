"""What several tests of batches need."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from armillary.ensembles.engines import lane_engines
from armillary.ensembles.engines.scalar import ScalarVisits
from tests.ensembles.fake_cupy import Module


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """CuPy's stand-in, in its place."""
    module = Module(tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def on_lanes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps lanes have taken in each call of theirs."""
    taken: list[int] = []
    advance = lane_engines._advance

    def counted(visits: ScalarVisits, loops: list[Callable[..., None]], runs: np.ndarray) -> None:
        before = lane_engines._tried(visits, runs).sum()
        advance(visits, loops, runs)
        taken.append(int(lane_engines._tried(visits, runs).sum() - before))

    monkeypatch.setattr(lane_engines, "_advance", counted)
    return taken
