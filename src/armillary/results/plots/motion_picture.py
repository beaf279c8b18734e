"""The interface of objects that draw the motion of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from armillary.results.plots.picture_options import PictureOptions
    from armillary.results.run import Run


@runtime_checkable
class MotionPicture(Protocol):
    """An object that shows the motion of a run: the equations behind it, or a compiled model of them."""

    def page(self, run: Run, title: str, options: PictureOptions) -> str:
        """The motion as the text of one HTML page."""
        ...

    def film(self, run: Run, path: Path, options: PictureOptions) -> None:
        """The motion as a file of one picture or of many."""
        ...

    def choice(self, runs: Sequence[Run], labels: Sequence[str], title: str, options: PictureOptions) -> str:
        """Several motions, one at a time, as the text of one HTML page."""
        ...

    # Batches are made above this package, so that their class has no name here.
    def cloud(self, batch: Any, colour: str | None, title: str, options: PictureOptions) -> str:
        """All runs of a batch at once as the text of one HTML page."""
        ...

    def scene(self, run: Run, path: Path) -> None:
        """The motion as a binary glTF file."""
        ...
