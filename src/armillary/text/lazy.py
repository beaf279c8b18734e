"""``arm.load`` and ``arm.schema``, which cost nothing until they are called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armillary.model.system import System


def load(path: str | os.PathLike[str], **options: Any) -> System:
    """The system in a file: a text model (.toml), a robot (.urdf) or a MuJoCo model (.xml, MJCF).

    A file is data; nothing in it is executed. ``options`` are those of the importers, such as
    ``floating=True`` for a robot whose base is free; ``trust=True`` lets a text model load the FMUs that it
    names, which are machine code.
    """
    from armillary.text.loading import load as load_now

    return load_now(path, **options)


def schema() -> dict[str, Any]:
    """The JSON schema of text models, for editors that complete and check them."""
    from armillary.text.schema import model_schema

    return model_schema()
