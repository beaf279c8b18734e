"""The verbs of equations and models that draw: pages, films and scenes of motions, sketches, poses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from armillary.untyped import DataMapping

if TYPE_CHECKING:
    from armillary.ensembles.result import Batch
    from armillary.program.equations import DerivedEquations
    from armillary.results import Run
    from armillary.results.plots.motion import MotionView, PictureOptions
    from armillary.runtime.models.compiled import CompiledModel
    from armillary.viewer.sketch import Drawing


class MotionPictures:
    """Motions drawn by the equations, for ``run.animate`` and the views of results."""

    @property
    def _drawn(self) -> DerivedEquations:
        """The equations that draw: of a model, its own."""
        return cast("DerivedEquations", self)

    def page(self, run: Run, title: str = "", options: PictureOptions | None = None) -> str:
        """The motion of a run as the text of one HTML page; ``run.animate`` writes it to a file."""
        from armillary.viewer.page import page_of

        return page_of(run, self._drawn, title, options)

    def film(self, run: Run, path: Path, options: PictureOptions) -> None:
        """The motion of a run as a picture or film, for ``run.animate``."""
        from armillary.viewer.film import film_of

        film_of(run, self._drawn, path, options)

    def choice(self, runs: Sequence[Run], labels: Sequence[str], title: str, options: PictureOptions) -> str:
        """Several motions as the text of one HTML page, for ``modes.view``."""
        from armillary.viewer.figures import figure_of
        from armillary.viewer.views import page_of_figures

        figures = [figure_of(run, self._drawn, options, arrows=False) for run in runs]
        return page_of_figures(figures, runs, labels, "choose", title, options)

    def cloud(self, batch: Batch, colour: str | None, title: str, options: PictureOptions) -> str:
        """All runs of a batch as the text of one HTML page, for ``batch.view``."""
        from armillary.viewer.views import cloud_page

        return cloud_page(batch, self._drawn, colour, title, options)

    def scene(self, run: Run, path: Path) -> None:
        """The motion of a run as a binary glTF file, for ``run.animate``."""
        from armillary.viewer.gltf import write_glb

        write_glb(run, self._drawn, path)


class ModelPictures(MotionPictures):
    """Motions, and the system where runs start."""

    @property
    def _drawn(self) -> DerivedEquations:
        return cast("CompiledModel", self).equations

    def draw(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        view: str = "auto",
        initial: Mapping[str, object] | Sequence[float] | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> Drawing:
        """A sketch of the mechanism where runs start, as SVG text, which notebooks show as the picture;
        ``path`` is a file for it.

        ``view``: "x", "y" or "z" is along that axis of the ground; "auto" along hinges that are all
        parallel, else "oblique".
        """
        from armillary.viewer.sketch import draw

        return draw(cast("CompiledModel", self), path, view=view, initial=initial, parameters=parameters)

    def view(
        self,
        *,
        initial: DataMapping | Sequence[float] | None = None,
        parameters: DataMapping | None = None,
        title: str = "",
        view: str = "oblique",
        theme: str | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> MotionView | Path:
        """The system to be posed by hand: a page with a slider for each coordinate, in the browser or a
        notebook, or with ``path`` as an .html file. Loops are closed while a slider is moved.
        """
        from armillary.results.plots.motion import PictureOptions, show_page, write_html
        from armillary.viewer.pose_page import posing_page

        page = posing_page(
            cast("CompiledModel", self), initial, parameters, title, PictureOptions(view, theme=theme)
        )
        return show_page(page) if path is None else write_html(page, path)
