"""Keyframes of an MJCF file: a state to start from, on request."""

from __future__ import annotations

import math

from armillary.algebra.expression import Expr
from armillary.errors import ModelError, nearest
from armillary.files.robots.building import SINGLE, Builder
from armillary.files.robots.tree import BALL, FREE
from armillary.files.xml import Element
from armillary.model.constraints import start

_COUNTS = {BALL: (4, 3), FREE: (7, 6)}


def start_at(builder: Builder, section: list[Element], wanted: str | None) -> None:
    """Coordinates and speeds at the start of runs from the keyframe of this name."""
    keys: dict[str, Element] = {}
    for key in (child for part in section for child in part.all("key")):
        keys[key.text("name", str(len(keys)))] = key
    for part in section:
        part.take_whole()
    builder.record.keyframes = tuple(keys)
    if wanted is None:
        return
    if wanted not in keys:
        shown = ", ".join(keys) or "none"
        raise ModelError(
            f"there is no keyframe {wanted!r}{nearest(str(wanted), keys)}; the file has: {shown}"
        )
    with keys[wanted].located():
        _start(builder, keys[wanted])


def _start(builder: Builder, key: Element) -> None:
    sizes = [_COUNTS.get(joint.kind, (1, 1)) for joint in builder.freedoms.values()]
    values: dict[Expr, float] = {}
    if key.has("qpos"):
        given = iter(key.numbers("qpos", sum(q for q, _ in sizes)))
        for (name, joint), (count, _) in zip(builder.freedoms.items(), sizes, strict=True):
            own = [next(given) - joint.offset for _ in range(count)]
            if joint.kind not in SINGLE:
                length = math.hypot(*own[-4:])
                if length < 1e-12:
                    key.fail(f"the quaternion of joint '{name}' has length zero")
                own[-4:] = [x / length for x in own[-4:]]
            values |= dict(zip(builder.moved[name].coordinates, own, strict=True))
    if key.has("qvel"):
        given = iter(key.numbers("qvel", sum(u for _, u in sizes)))
        for name in builder.freedoms:
            values |= {speed: next(given) for speed in builder.moved[name].speeds}
    if values:
        start(builder.system, values)
