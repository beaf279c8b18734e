"""Options for motions in pages, pictures and films."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import one_of, real, several, text
from armillary.errors import ArmillaryError
from armillary.untyped import Given

VIEWS = ("oblique", "front", "side", "top", "x", "y", "z")
THEMES = ("light", "dark")
ARROWS = ("forces", "moments", "velocities", "weights")
_LEAST, _MOST = 16, 4096  # pixels


@dataclass(frozen=True)
class PictureOptions:
    """From where a motion is seen and what is drawn beside the bodies; of films also size, rate and speed.

    ``view`` is one of ``VIEWS``; ``follow`` a body that stays in the picture; ``paths`` are bodies, or points
    as "body.point", whose paths are drawn; ``theme`` is "light" or "dark", in a page None for that of the
    browser. Films have ``size`` pixels and ``rate`` pictures per second; ``speed`` is seconds of the motion
    in a second of the film, None for 1 or what makes a very short or long motion watchable; ``time`` is that
    of a single picture, None for the start. In pages, ``arrows`` are the kinds that are shown at first, and
    ``reactions`` bodies whose joints have arrows too.
    """

    view: str = "oblique"
    follow: str | None = None
    paths: Sequence[str] = ()
    theme: str | None = None
    size: tuple[int, int] = (640, 400)
    rate: float = 20.0
    speed: float | None = None
    time: float | None = None
    arrows: Sequence[str] = ()
    reactions: Sequence[str] = ()

    def __post_init__(self) -> None:
        one_of(self.view, VIEWS, "view=")
        if self.theme is not None:
            one_of(self.theme, THEMES, "theme=")
        if self.follow is not None:
            text(self.follow, "follow")
        for field in ("paths", "arrows", "reactions"):
            given = getattr(self, field)
            named = [given] if isinstance(given, str) else several(given, field)
            object.__setattr__(self, field, tuple(text(name, f"a name in {field}") for name in named))
        for kind in self.arrows:
            one_of(kind, ARROWS, "arrows=")
        object.__setattr__(self, "size", _pixels(self.size))
        for name in ("rate", "speed", "time"):
            value = getattr(self, name)
            if value is not None:
                value = real(value, name)
                if not np.isfinite(value) or (name != "time" and value <= 0):
                    raise ArmillaryError(f"{name}={value:g} is not a positive number")
                object.__setattr__(self, name, value)


def _pixels(size: Given) -> tuple[int, int]:
    """Width and height, made even, as films need them."""
    whole = isinstance(size, Iterable) and not isinstance(size, str)
    pair = tuple(size) if whole else (size,)
    if len(pair) != 2 or not all(isinstance(x, int | np.integer) and _LEAST <= x <= _MOST for x in pair):
        raise ArmillaryError(f"size={size!r}: give width and height in pixels, from {_LEAST} to {_MOST}")
    return int(pair[0]) // 2 * 2, int(pair[1]) // 2 * 2
