"""A camera: its axes, its place so that a whole scene is in the picture, and where points appear."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

FIELD = np.radians(38.0)  # from the lower edge of the picture to the upper one
_MARGIN = 0.9  # of the picture that is filled


@dataclass(frozen=True, eq=False)
class Camera:
    """Axes of a camera that looks along ``forward``, its place, and the size of its picture in pixels."""

    eye: np.ndarray
    right: np.ndarray
    upward: np.ndarray
    forward: np.ndarray
    width: int
    height: int

    @property
    def focus(self) -> float:
        """Pixels for a length seen at the same distance."""
        return float(0.5 * self.height / np.tan(0.5 * FIELD))

    def projected(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places on the screen (pixels, from its upper left corner), and 1/z; z is the distance before the
        camera, negative behind it.
        """
        relative = points - self.eye
        z = relative @ self.forward
        near = 1.0 / np.where(np.abs(z) < 1e-12, 1e-12, z)
        x = 0.5 * self.width + self.focus * near * (relative @ self.right)
        y = 0.5 * self.height - self.focus * near * (relative @ self.upward)
        return np.stack([x, y], axis=-1), near

    def moved(self, shift: np.ndarray) -> Camera:
        """The camera, moved along with something."""
        return replace(self, eye=self.eye + shift)

    def rays(self) -> np.ndarray:
        """Directions through the middles of all pixels (height × width × 3), of length 1 along the view."""
        x = (np.arange(self.width) + 0.5 - 0.5 * self.width) / self.focus
        y = (0.5 * self.height - np.arange(self.height) - 0.5) / self.focus
        rays: np.ndarray = self.forward + x[None, :, None] * self.right + y[:, None, None] * self.upward
        return rays


def scene_axes(up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions to the right and to the front of a scene, as in the page."""
    side = np.eye(3)[1] if abs(up[1]) < 0.9 else np.eye(3)[2]
    front = side - up * (side @ up)
    front = front / np.linalg.norm(front)
    return np.cross(front, up), front


def direction_of(view: str, up: np.ndarray) -> np.ndarray:
    """The direction from a scene to the eye, for the name of a view."""
    right, front = scene_axes(up)
    ways = {
        "oblique": 0.75 * right - front + 0.5 * up,
        "front": -front,
        "side": right,
        "top": up - 1e-3 * front,
    }
    ways |= dict(zip("xyz", np.eye(3), strict=True))
    found: np.ndarray = ways[view] / np.linalg.norm(ways[view])
    return found


def fitted(points: np.ndarray, view: str, up: np.ndarray, width: int, height: int) -> Camera:
    """A camera that has all points in its picture."""
    towards = direction_of(view, up)
    upward = up - towards * (up @ towards)
    if np.linalg.norm(upward) < 1e-6:  # seen along the vertical
        upward = np.eye(3)[1] - towards * towards[1]
    upward = upward / np.linalg.norm(upward)
    right = np.cross(upward, towards)
    tall = _MARGIN * np.tan(0.5 * FIELD)
    wide = tall * width / height
    target = 0.5 * (points.min(axis=0) + points.max(axis=0))
    for _ in range(4):  # the middle of what is seen moves with the distance
        relative = points - target
        x, y, depth = relative @ right, relative @ upward, relative @ towards
        distance = float(np.max(np.maximum(np.abs(x) / wide, np.abs(y) / tall) + depth))
        z = distance - depth
        seen = [x / z / wide, y / z / tall]
        shift = [0.5 * (s.min() + s.max()) for s in seen]
        target = target + distance * (shift[0] * wide * right + shift[1] * tall * upward)
    relative = points - target
    x, y, depth = relative @ right, relative @ upward, relative @ towards
    distance = float(np.max(np.maximum(np.abs(x) / wide, np.abs(y) / tall) + depth))
    return Camera(target + max(distance, 1e-9) * towards, right, upward, -towards, width, height)
