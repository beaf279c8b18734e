"""The design of a study in its folder: ``design.json``, from which any worker finds the values of any run."""

from __future__ import annotations

import json
import warnings

from armillary.errors import ArmillaryError
from armillary.studies.files import Folder, write_json
from armillary.studies.sampling import Design


def write_design(folder: Folder, design: Design) -> None:
    """The design as data, where it can be: a function of the user's cannot."""
    if design.portable:
        write_json(folder.design, design.as_data())


def read_design(folder: Folder, runs: int) -> Design | None:
    """The design of so many runs in a study's folder; None where it holds code of its user's."""
    try:
        data = json.loads(folder.design.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ArmillaryError(f"cannot read the design '{folder.design}': {error}") from error
    with warnings.catch_warnings():  # who made the study was warned
        warnings.simplefilter("ignore")
        return Design.from_data({**data, "runs": runs})  # an extension may have been stopped half-way
