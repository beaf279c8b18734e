"""Results of analyses as files: JSON that is read back, and reports as text or as a page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from armillary.algebra.arguments import file_path
from armillary.errors import ArmillaryError, alternatives, shown
from armillary.limited_files import UnreadableFileError, read_limited, write_file
from armillary.untyped import DataTable

_LARGEST = 2**30  # bytes


def write_result(path: str | os.PathLike[str], what: str, texts: Mapping[str, Callable[[], str]]) -> None:
    """Write the text that belongs to the suffix of a path, completely or not at all."""
    target = file_path(path, "path")
    text = texts.get(target.suffix.lower())
    if text is None:
        option = "" if target.suffix else "; outputs of the model are named by outputs=, or --outputs"
        raise ArmillaryError(f"{what} cannot be saved as '{target.name}': use {alternatives(texts)}{option}")
    content = text()
    write_file(target, content)


def json_text(content: Mapping[str, object], indent: int | None = 1) -> str:
    return json.dumps(content, ensure_ascii=False, indent=indent)


@contextmanager
def refuse_damage(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn exceptions raised by the content of a file into an error that names the file.

    A file may lack parts, or have wrong ones, in more ways than checks could list. Callers therefore make the
    object and show it once in this context: an object that can be printed has all its parts.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, ArmillaryError) and f"'{path}'" in str(error):
            raise
        raise ArmillaryError(
            f"'{path}' is not {what} that this Armillary wrote, or is damaged ({shown(error)})"
        ) from error


def read_result(path: str | os.PathLike[str], what: str, key: str) -> DataTable:
    """Return the content of a JSON file; ``key`` marks files of its kind."""
    target = file_path(path, "path")
    try:
        content = json.loads(read_limited(target, _LARGEST))
    except UnreadableFileError as error:
        raise ArmillaryError(f"cannot load '{path}': {error}") from None
    except (ValueError, RecursionError) as error:  # lists nested too deeply
        raise ArmillaryError(
            f"'{path}' is not {what}, nor any other JSON file ({error}); only what was saved as .json is read"
        ) from error
    if not isinstance(content, dict) or key not in content:
        raise ArmillaryError(f"'{path}' is not {what} that Armillary wrote")
    return content
