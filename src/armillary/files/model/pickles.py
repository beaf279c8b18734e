"""Systems in pickles: the files of their text models, so that a pickle holds data and nothing that is run."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from armillary.errors import ModelError
from armillary.files.model.load import load_text
from armillary.files.model.save import save
from armillary.model.description import Description, SystemType

_MODEL = "model.toml"


def to_files(system: Description) -> dict[str, bytes]:
    """The text model of a system and the arrays beside it, by file name."""
    with TemporaryDirectory() as folder:
        try:
            save(system, Path(folder) / _MODEL)
        except ModelError as error:
            raise ModelError(f"{error}; a system is pickled, and copied, as its text model") from None
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def from_files(files: dict[str, bytes], make: type[SystemType]) -> SystemType:
    """The system again."""
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / Path(name).name).write_bytes(content)
        return load_text(Path(folder) / _MODEL, make)
