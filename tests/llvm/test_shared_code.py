"""Code that all models of a process share is made once, whichever threads ask for it first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from armillary.llvm import compiled_sines
from armillary.runtime.start import loop_code


@pytest.mark.parametrize(
    ("module", "maker", "asked"),
    [
        (loop_code, "LoopCode", loop_code.loop_code),
        (compiled_sines, "Compiled", lambda: compiled_sines.compiled_sines(2)),
    ],
    ids=["closing of loops", "sines"],
)
def test_threads_that_begin_together_make_shared_code_once(
    module: Any, maker: str, asked: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second one would be freed, as nothing holds it, while the thread that made it runs it."""
    monkeypatch.setenv("ARMILLARY_CPU", "-no-such-feature")  # for which nothing has been made yet
    made: list[Any] = []
    make, start = getattr(module, maker), threading.Barrier(4)

    def noted(*given: Any) -> Any:
        made.append(make(*given))
        return made[-1]

    monkeypatch.setattr(module, maker, noted)

    def ask() -> None:
        start.wait()
        asked()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
