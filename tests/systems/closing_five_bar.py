"""A five-bar that events close again."""

from __future__ import annotations

from functools import cache

from armillary.stages.model import Model
from tests.systems.changing_configurations import five_bar


@cache
def closing_five_bar() -> Model:
    s = five_bar()
    for name in ("catch", "let go"):
        del s.events[name]
    return s.derive().compile()
