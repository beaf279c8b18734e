"""Links whose run exchanges dependent speeds."""

from __future__ import annotations

from functools import cache

from armillary.stages.model import Model
from tests.systems.changing_configurations import five_bar


@cache
def changing() -> Model:
    """A linkage whose runs change their mode, with a memory that is renewed every step."""
    s = five_bar()
    s.memory("worst", update="max(worst, A.u1)", units="rad/s")
    return s.derive().compile()
