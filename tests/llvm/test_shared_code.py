"""Code that all models of a process share is made once, whichever threads ask for it first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from armillary.llvm import module
from armillary.llvm.building.emitter import IRModule
from armillary.llvm.building.routines import routine_function
from armillary.runtime.addresses import kept_with_owner
from armillary.solver.llvm import closing_code as loop_code


def together(work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("module", "maker", "asked"),
    [
        (loop_code, "LoopCode", loop_code.loop_code),
        (module, "Compiled", lambda: module.compiled_sines(2)),
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

    together(ask)
    assert len(made) == 1


def test_threads_have_one_array_whose_address_they_use() -> None:
    """Python 3.12 and later keep what the last of several threads has computed."""
    start, found = threading.Barrier(4), []

    class Owner:
        @kept_with_owner
        def constants(self) -> list[int]:
            start.wait()  # all compute it
            return []

    owner = Owner()
    together(lambda: found.append(owner.constants))
    assert {id(one) for one in found} == {id(owner.constants)}


def test_only_public_routines_can_be_called_from_outside() -> None:
    """Others are internal: they are inlined, and no symbol of theirs is kept."""
    code = IRModule()
    own, public = (routine_function(code, name, public=name == "public") for name in ("own", "public"))
    assert (own.linkage, public.linkage) == ("internal", "")
    assert list(code.functions) == ["armillary_own", "armillary_public"]
