"""Numbers that scatter starts."""

from __future__ import annotations

from armillary.numerics.scatter import ScatterNumbers, draw


def test_the_ten_thousandth_number_is_the_published_one() -> None:
    """Park and Miller (1988), page 1195: from 1 the generator arrives at 1043618065 after 10,000 numbers."""
    numbers = ScatterNumbers()
    numbers.seed = 1.0
    for _ in range(10_000):
        draw(numbers)
    assert numbers.seed == 1043618065.0


def test_numbers_are_within_their_reach_on_both_sides() -> None:
    found = ScatterNumbers().spread(0.3, 1000)
    assert -0.3 <= found.min() < -0.29 and 0.29 < found.max() <= 0.3
    assert abs(found.mean()) < 0.02  # five times the deviation of a mean of 1000
