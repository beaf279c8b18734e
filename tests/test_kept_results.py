from __future__ import annotations

import gc
from weakref import ref

from armillary.cache import kept_per_object


class _Owner:
    pass


def test_a_result_is_made_once_for_each_owner_and_arguments_and_freed_with_its_owner() -> None:
    @kept_per_object
    def make(owner: _Owner, *numbers: int, square: bool = False) -> set[int]:
        return {n * n if square else n for n in numbers}

    first, second = _Owner(), _Owner()
    assert make(first, 2) is make(first, 2) is not make(second, 2)
    assert make(first, 2) == {2}
    assert make(first, 2, square=True) == {4}
    found = ref(make(first, 2))
    del first
    gc.collect()
    assert found() is None
