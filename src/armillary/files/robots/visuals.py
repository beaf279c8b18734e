"""Visuals of robot files: figures at places of a link, with their colours, and where their meshes are.

Meshes are named by paths relative to the robot's file, or by ``package://name/…``. Both lead to files inside
a root: the stated one, else the folder of the package above the file or, for relative paths, the folder above
the file's folder. Nothing is opened here; a picture reads the meshes, and leaves out missing ones.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from armillary.errors import ModelError
from armillary.files.meshes.surface import hex_colour
from armillary.model.bodies.solids import Figure

_PACKAGE = ("package://", "model://")


@dataclass(frozen=True)
class Visual:
    """A figure at ``place`` in the link's axes, turned by ``rotation``: v_link = R v_figure."""

    figure: Figure
    place: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    colour: str = ""
    opacity: float = 1.0

    def move_to(self, origin: np.ndarray, axes: np.ndarray) -> Visual:
        """The visual in another frame of the link, at ``origin`` with ``axes`` (columns)."""
        return replace(self, place=axes.T @ (self.place - origin), rotation=axes.T @ self.rotation)


def make_visual(
    figure: Figure, place: np.ndarray, rotation: np.ndarray, rgba: list[float] | None
) -> Visual | None:
    """Return a visual with this colour; `None` if it cannot be seen."""
    if rgba is None:
        return Visual(figure, place, rotation)
    if rgba[3] <= 0:
        return None
    return Visual(figure, place, rotation, hex_colour(rgba), min(rgba[3], 1.0))


def mesh_file(name: str, robot: Path, root: Path | None) -> Path:
    """The file of a mesh, which need not be there but must be inside the root."""
    if "\0" in name or len(name) > 1000 or not name.strip():
        raise ModelError("the name of a mesh is not that of a file")
    folder = _folder(robot)
    text = name.replace("\\", "/")
    for start in _PACKAGE:
        if text.startswith(start):
            package, _, rest = text.removeprefix(start).lstrip("/").partition("/")
            base = _package(package, folder, root)
            return _check_inside(base / rest, root.resolve() if root is not None else base, name)
    limit = root.resolve() if root is not None else folder.parent
    return _check_inside(folder / text.removeprefix("file://"), limit, name)


def textures_left_out(names: list[str]) -> str:
    """A remark on textures from files; empty without any."""
    if not names:
        return ""
    listed = ", ".join(f"'{name[:40]}'" for name in names[:3]) + (", …" if len(names) > 3 else "")
    return f"pictures show plain colours in place of the textures {listed}"


@lru_cache(maxsize=64)
def _package(package: str, folder: Path, root: Path | None) -> Path:
    """The folder of a package: in the stated root, or above the robot's file by its name."""
    if root is not None:
        whole = root.resolve()
        return whole if whole.name == package and not (whole / package).is_dir() else whole / package
    return next((above for above in (folder, *folder.parents) if above.name == package), folder / package)


@lru_cache(maxsize=8)
def _folder(robot: Path) -> Path:
    return robot.resolve().parent


def _check_inside(path: Path, root: Path, name: str) -> Path:
    target = Path(os.path.normpath(path))
    if not target.is_relative_to(root):
        raise ModelError(
            f"mesh '{name[:80]}' is outside of the folder '{root}'; state a wider one with root="
        )
    return target
