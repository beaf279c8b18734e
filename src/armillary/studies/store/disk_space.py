"""The disk space that a study will take, checked before it starts."""

from __future__ import annotations

import os
import shutil
import warnings

from armillary.errors import outside
from armillary.studies.store.folder import Folder
from armillary.studies.store.layout import StoreLayout

_MANY_FILES = 2_000_000
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def check_disk(folder: Folder, layout: StoreLayout, share: float) -> None:
    """A note of the bytes and files that a share of a study's blocks takes, and a warning where they are
    more than the disk has, or more files than most disks handle well.
    """
    size, files = share * layout.bytes, share * layout.files
    free, free_files = _free(folder)
    much = f"{in_bytes(size)} (before compression) in {files:,.0f} files"
    warning = f"study '{folder.root}' will write up to {much}"
    folder.note(f"up to {much} are to be written")
    if size > free:
        _warn(f"{warning}, and its disk has {in_bytes(free)} free: keep fewer outputs, or samples, or runs")
    if files > min(free_files, _MANY_FILES):
        _warn(f"{warning}: give a larger block=, now {layout.block} runs, or keep fewer outputs")


def _free(folder: Folder) -> tuple[float, float]:
    """Free bytes and files of a folder's disk; infinite where that is not known."""
    try:
        space = float(shutil.disk_usage(folder.root).free)
    except OSError:
        space = float("inf")
    try:
        files = float(os.statvfs(folder.root).f_favail) or float("inf")  # some disks have no such limit
    except (OSError, AttributeError):
        files = float("inf")
    return space, files


def in_bytes(number: float) -> str:
    """A number of bytes as people read it."""
    place = 0
    while number >= 999.5 and place < len(_UNITS) - 1:
        number, place = number / 1000, place + 1  # 999.5 and more would be rounded to 1e+03
    return f"{number:.3g} {_UNITS[place]}"


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=outside())
