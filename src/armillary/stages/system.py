"""The description that users hold, and how it is loaded, saved and derived."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from armillary.files.fmu.element import Fmus
from armillary.model import system as description

if TYPE_CHECKING:
    from armillary.files.robots.import_notes import Imported
    from armillary.program.compare import Costs
    from armillary.stages.equations import Equations


class System(description.System, Fmus):
    """A mechanical system under description. SI units unless ``units`` names another system."""

    imported: Imported | None

    # ------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """This description as a text model (TOML), from which ``arm.load`` makes the same system again."""
        from armillary.files.model.save import save

        save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """A system is pickled, and copied, as its text model."""
        from armillary.files.model.pickles import from_files, to_files

        return from_files, (to_files(self), type(self))

    # ------------------------------------------------------------ from here to the equations

    def derive(
        self,
        formalism: str = "auto",
        *,
        regroup: bool = True,
        small: bool = True,
        keep: int = 1,
        axes: str = "ground",
        check: bool = False,
    ) -> Equations:
        """The equations of motion by the cheapest formalism ("auto"), or by the one named. small=False
        ignores what is declared small or large; else sums keep their leading order and ``keep`` above it.
        With "momentum", ``axes`` ("ground" or "body") are those of a free body's angular momentum.
        check=True tests the program after every pass, for work on Armillary itself."""
        from armillary.program.derive import derive
        from armillary.stages.equations import with_verbs

        return with_verbs(
            derive(self, formalism, regroup=regroup, small=small, keep=keep, axes=axes, check=check)
        )

    def compare_formalisms(self) -> Costs:
        """Operations of one evaluation by every formalism, side by side; where one refuses, why."""
        from armillary.program.compare import compare

        return compare(self)


def load(path: str | os.PathLike[str], **options: Any) -> System:
    """The system in a file: a text model (.toml), a robot (.urdf) or a MuJoCo model (.xml, MJCF).

    A file is data; nothing in it is executed. ``options`` are those of the importers, such as
    ``floating=True`` for a robot whose base is free; ``trust=True`` lets a text model load the FMUs that it
    names, which are machine code.
    """
    from armillary.files.model.load import read

    return read(path, System, **options)
