"""Pictures of motions: their options, the interface of objects that draw, and functions that write the motion
of a run to a file (page, picture or film) or show it in the browser or a notebook.
"""

from __future__ import annotations

import html
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from armillary.algebra.arguments import file_path, one_of, real, several, text
from armillary.errors import ArmillaryError
from armillary.limited_files import write_file
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.results.run import Run


class MotionPicture(Protocol):
    """An object that shows the motion of a run: the equations behind it, or a compiled model of them."""

    def page(self, run: Run, title: str, options: PictureOptions) -> str:
        """Return the motion as the text of one HTML page."""
        ...

    def film(self, run: Run, path: Path, options: PictureOptions) -> None:
        """Write the motion as a picture or a film."""
        ...

    def choice(self, runs: Sequence[Run], labels: Sequence[str], title: str, options: PictureOptions) -> str:
        """Return several motions, shown one at a time, as the text of one HTML page."""
        ...

    # The class of batches is in a later package, so it cannot be imported here.
    def cloud(self, batch: Any, colour: str | None, title: str, options: PictureOptions) -> str:
        """Return all runs of a batch at once as the text of one HTML page."""
        ...

    def scene(self, run: Run, path: Path) -> None:
        """Write the motion as a binary glTF file."""
        ...


@runtime_checkable
class Drawable(Protocol):
    """The equations or the model that a user holds, which can draw motions."""

    @property
    def picture(self) -> MotionPicture | None:
        """The object that draws."""
        ...


VIEWS = ("oblique", "front", "side", "top", "x", "y", "z")
THEMES = ("light", "dark")
ARROWS = ("forces", "moments", "velocities", "weights")
_LEAST, _MOST = 16, 4096  # pixels


@dataclass(frozen=True)
class PictureOptions:
    """The view of a motion, and the things drawn beside the bodies; for films also size, rate and speed.

    ``view`` is one of ``VIEWS``. ``follow`` is a body that stays in the picture. ``paths`` are bodies, or
    points as "body.point", whose paths are drawn. ``theme`` is "light" or "dark"; in a page `None` is the
    browser's theme. Films have ``size`` pixels and ``rate`` pictures per second. ``speed`` is the number of
    seconds of motion per second of the film; `None` chooses 1, or another speed for very short or long
    motions. ``time`` is the time of a single picture, `None` the start. In pages, ``arrows`` are the kinds of
    arrows that are shown at first, and ``reactions`` the bodies whose joints have arrows too.
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
    """Return width and height, made even, as films need them."""
    whole = isinstance(size, Iterable) and not isinstance(size, str)
    pair = tuple(size) if whole else (size,)
    if len(pair) != 2 or not all(isinstance(x, int | np.integer) and _LEAST <= x <= _MOST for x in pair):
        raise ArmillaryError(f"size={size!r}: give width and height in pixels, from {_LEAST} to {_MOST}")
    return int(pair[0]) // 2 * 2, int(pair[1]) // 2 * 2


PAGES = (".html", ".htm")
FILMS = (".png", ".gif", ".webp", ".mp4")
SCENE = ".glb"
_HEIGHT = 560  # pixels in a notebook
# Shown in place of the page if a notebook is not trusted, since its HTML is dropped then.
_IN_NOTEBOOK = (
    "MotionView(in this notebook; trust the notebook to see it, or write it to a file with animate)"
)


@dataclass(frozen=True)
class MotionView:
    """A page that is shown from its file, or in the cell of a notebook; exports of the notebook keep it."""

    path: Path | None
    page: str = ""

    def _repr_html_(self) -> str:
        source = html.escape(self.page, quote=True)
        return (
            f'<iframe srcdoc="{source}" sandbox="allow-scripts allow-downloads" width="100%" '
            f'height="{_HEIGHT}" style="border:1px solid #ccc;border-radius:8px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"MotionView({str(self.path)!r})" if self.path else _IN_NOTEBOOK


def write_motion(
    run: Run,
    path: str | os.PathLike[str],
    model: Drawable | None,
    title: str,
    options: PictureOptions,
) -> Path:
    """Write the page, film or picture of a run, whole or not at all."""
    place = motion_path(path)
    picture = _picture(run, model)
    if place.suffix.lower() == SCENE:
        picture.scene(run, place)
        return place
    if place.suffix.lower() in FILMS:
        picture.film(run, place, options)
        return place
    return write_page(picture.page(run, text(title, "title"), options), place)


def motion_path(path: str | os.PathLike[str]) -> Path:
    """Return the file of a motion, of a kind that can be written."""
    place = file_path(path, "the page")
    if place.suffix.lower() not in (*PAGES, *FILMS, SCENE):
        raise ArmillaryError(
            f"a motion is written as {PAGES[0]}, one page with all in it, as a picture or film "
            f"({', '.join(FILMS)}), or as a scene for other programs ({SCENE}), not as '{place.name}'"
        )
    return place


def write_page(page: str, place: Path) -> Path:
    """Write a page as a file, whole or not at all."""
    write_file(place, page)
    return place


def write_html(page: str, path: str | os.PathLike[str]) -> Path:
    """Write a page as a file; refuse suffixes other than a page's."""
    place = file_path(path, "the page")
    if place.suffix.lower() not in PAGES:
        raise ArmillaryError(f"this is written as {PAGES[0]}, one page with all in it, not as '{place.name}'")
    return write_page(page, place)


def show_motion(run: Run, model: Drawable | None, title: str, options: PictureOptions) -> MotionView:
    """Show the page of a run in a notebook's cell, else in the browser."""
    return show_page(_picture(run, model).page(run, text(title, "title"), options))


def show_page(page: str) -> MotionView:
    """Show a page in a notebook's cell, else in the browser, from a file in the folder for temporary
    files.
    """
    if _in_notebook():
        return MotionView(None, page)
    import webbrowser

    folder = Path(tempfile.mkdtemp(prefix="armillary-"))
    place = folder / "motion.html"
    place.write_text(page, encoding="utf-8")
    if not webbrowser.open(place.as_uri()):
        print(f"no browser could be opened; the page is {place}", file=sys.stderr)
    return MotionView(place, page)


def _picture(run: Run, model: Drawable | None) -> MotionPicture:
    return picture_of(run.picture, model, f"this run of '{run.system}'")


def picture_of(known: MotionPicture | None, model: Drawable | None, what: str) -> MotionPicture:
    """Return the object that draws a motion: the given model's, else the one of the run."""
    if model is not None and not isinstance(model, Drawable):
        raise ArmillaryError(
            f"model={type(model).__name__} is not a compiled model; give what eom.compile() returns"
        )
    shown = known if model is None else model.picture
    if shown is None:
        raise ArmillaryError(
            f"{what} was read from a file and does not have its model, from which the picture is made; give "
            "it: model=arm.load('model.toml').derive().compile()"
        )
    return shown


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and type(found).__name__ == "ZMQInteractiveShell"
