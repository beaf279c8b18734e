"""The benchmark of linear models: what its verdict counts."""

from __future__ import annotations

from benchmarks.linearization import linearization_table


def test_only_robots_that_agree_with_the_peer_count() -> None:
    def record(name: str, nanoseconds: float, **more: float) -> dict:
        return {
            "name": name, "speeds": 6, "operations": 1000, "rates_operations": 400, "compile_seconds": 0.1,
            "nanoseconds": nanoseconds, "rates_nanoseconds": 100.0, "peer_nanoseconds": 1500.0, **more,
        }  # fmt: skip

    text = linearization_table(
        [
            record("quick", 240.0, error=1e-14),
            record("middling", 290.0),
            record("slow", 400.0, error=1e-14),
            record("wrong", 100.0, error=1e-3),
            {"name": "a", "missing": "no file"},
        ]
    )
    assert "of 5 robots 1 within 2.5 times the derivatives, 2 at least 5 times as fast as the peer" in text
    assert "wrong: WRONG by 1.0e-03" in text and "a: no file" in text
