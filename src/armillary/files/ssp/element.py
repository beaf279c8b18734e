"""The verb that makes the FMUs of a package parts of a system; what it does is imported with its first
use (joining.py).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated

from armillary.algebra.expression import Expr
from armillary.model.description import Description
from armillary.model.reading.kinds import EXPRESSION, NUMBER, PATH, QUANTITY, Flag, TableOf
from armillary.model.recording.verbs import EntryForm, verb


@verb(EntryForm("fmus", key="package", argument="source"))
def ssp(
    system: Description,
    name: str,
    source: Annotated[str | os.PathLike[str], PATH],
    *,
    every: Annotated[float | str, QUANTITY],
    inputs: Annotated[Mapping[str, object] | None, TableOf(EXPRESSION, keys=False)] = None,
    parameters: Annotated[Mapping[str, object] | None, TableOf(NUMBER, keys=False)] = None,
    extrapolate: Flag = False,
) -> dict[str, Expr]:
    """Outputs of an SSP package, whose FMUs are stepped along with this system ``every`` so many seconds.

    ``inputs`` drive connectors of the package, or inputs of its FMUs that nothing else drives
    (``component.input``); ``parameters`` are those of FMUs (``component.parameter``), in their units, in
    place of the package's. The result has the outputs of all FMUs as ``component.output`` and those that the
    package shows by their names; texts call them ``name_component_output`` and ``name_output``. FMUs are
    machine code from outside, which is loaded here: import only packages that you trust.
    """
    from armillary.files.ssp.joining import add_package

    return add_package(system, name, source, every, inputs, parameters, extrapolate)
