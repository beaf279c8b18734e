"""The object that draws motions, for results of models and for those read from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armillary.ensembles.result import Batch
    from armillary.program.equations import DerivedEquations
    from armillary.results import Run
    from armillary.results.plots.motion import PictureOptions


@dataclass(frozen=True)
class MotionPictures:
    """Motions drawn by the equations, without machine code; a `MotionPicture` of results."""

    equations: DerivedEquations

    def page(self, run: Run, title: str = "", options: PictureOptions | None = None) -> str:
        """Return the motion of a run as the text of one HTML page; ``run.animate`` writes it to a file."""
        from armillary.viewer.page import page_of

        return page_of(run, self.equations, title, options)

    def film(self, run: Run, path: Path, options: PictureOptions) -> None:
        """Write the motion of a run as a picture or film, for ``run.animate``."""
        from armillary.viewer.film import film_of

        film_of(run, self.equations, path, options)

    def choice(self, runs: Sequence[Run], labels: Sequence[str], title: str, options: PictureOptions) -> str:
        """Several motions as the text of one HTML page, for ``modes.view``."""
        from armillary.viewer.figures import figure_of
        from armillary.viewer.views import page_of_figures

        figures = [figure_of(run, self.equations, options, arrows=False) for run in runs]
        return page_of_figures(figures, runs, labels, "choose", title, options)

    def cloud(self, batch: Batch, colour: str | None, title: str, options: PictureOptions) -> str:
        """Return all runs of a batch as the text of one HTML page, for ``batch.view``."""
        from armillary.viewer.views import cloud_page

        return cloud_page(batch, self.equations, colour, title, options)

    def scene(self, run: Run, path: Path) -> None:
        """Write the motion of a run as a binary glTF file, for ``run.animate``."""
        from armillary.viewer.gltf import write_glb

        write_glb(run, self.equations, path)
