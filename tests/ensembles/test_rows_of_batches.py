"""The rows of a batch: as many as were counted before, where histories and metrics need them."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.ensembles.plan import ROWS, _rows, _samples


@pytest.mark.parametrize(
    ("sample", "step", "count"),
    [(None, 0.01, 101), (None, None, ROWS + 1), (0.25, None, 5), ([0.0, 0.3, 0.9], 0.01, 3)],
)
def test_histories_have_the_rows_that_were_counted(sample: object, step: float | None, count: int) -> None:
    """Every step, a thousand intervals of an adaptive run, multiples, or the times themselves."""
    assert round(_samples(0.0, 1.0, sample, step)) == count
    times, kept, seen = _rows(0.0, 1.0, sample, None, step, history=True, metrics=False)
    assert len(times) == count and kept.all() and not seen.any()
    assert times[0] == 0.0 and times[-1] <= 1.0 and np.all(np.diff(times) > 0)


def test_metrics_see_the_rows_between_kept_ones() -> None:
    times, kept, seen = _rows(0.0, 1.0, 0.5, 0.1, 0.01, history=True, metrics=True)
    np.testing.assert_allclose(times[kept], [0.0, 0.5, 1.0], atol=1e-12)
    np.testing.assert_allclose(times[seen], np.linspace(0.0, 1.0, 11), atol=1e-12)
