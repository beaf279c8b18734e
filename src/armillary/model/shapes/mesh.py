"""A surface of triangles from a file. The file is read when a picture is made, not before."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from armillary.algebra.arguments import file_path, real
from armillary.errors import ModelError
from armillary.model.kinds import NUMBER, PATH, Either, ListOf, ObjectForm, choice
from armillary.model.shapes.figure import Figure

if TYPE_CHECKING:
    from armillary.model.description import Description

_UPWARDS = ("x", "y", "z")


@dataclass(frozen=True, repr=False, eq=False)
class Mesh(Figure):
    """Triangles of a file: .stl, .obj, .glb or .dae, in the file's own axes.

    ``scale`` multiplies lengths, by one number or one along each axis: 0.001 for a file in millimetres. Of a
    .dae file, which states its units, lengths are in metres. ``up="z"`` turns what a .glb or .dae file has
    upwards to that axis; without it, axes are as they are in the file.
    """

    kind: ClassVar[str] = "mesh"

    path: str | os.PathLike[str]
    scale: Any = 1.0
    up: str = ""

    def __post_init__(self) -> None:
        place = file_path(self.path, "a Mesh", ModelError)
        if not place.name:
            raise ModelError(f"Mesh: '{self.path}' is not the name of a file; give one such as 'part.stl'")
        if self.up not in ("", *_UPWARDS):
            raise ModelError(f"Mesh: up={self.up!r} is not one of {', '.join(_UPWARDS)}")
        given = self.scale if isinstance(self.scale, list | tuple) else (self.scale,) * 3
        if len(given) != 3:
            raise ModelError(f"Mesh: scale={self.scale!r} is neither a number nor three")
        factors = tuple(real(x, "scale of a Mesh", ModelError) for x in given)
        if not all(x and math.isfinite(x) for x in factors):
            raise ModelError(
                f"Mesh: scale={self.scale!r} leaves nothing to show; give finite numbers that are not zero"
            )
        object.__setattr__(self, "scale", factors[0] if len(set(factors)) == 1 else factors)
        # The whole path now, so that another working folder later does not change what is meant.
        object.__setattr__(self, "path", str(place.absolute()))

    def details(self, system: Description, where: str) -> dict[str, Any]:
        factors = self.scale if isinstance(self.scale, tuple) else (self.scale,) * 3
        return {"file": self.path, "scale": factors, "up": self.up}

    def __repr__(self) -> str:
        return f"Mesh({Path(self.path).name!r})"


MESHES = (
    ObjectForm(
        "mesh",
        Mesh,
        {"mesh": PATH, "scale": Either((NUMBER, ListOf(NUMBER, 3))), "up": choice(*_UPWARDS)},
        "path",
    ),
)
