"""Files that users bring: text models, robot files, meshes, FMUs and SSP packages.

Enters: the path of a file. Leaves: a `System`, or parts of one. `xml.py` reads XML for all formats, `model/`
text models, `robots/` URDF and MJCF, `fmu/` and `ssp.py` units of simulation, `mesh_formats.py` meshes. The
code behind the verbs here (``fmu/coupling.py``, ``ssp.py``) is imported with their first use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

from armillary.algebra.expression import Expr
from armillary.model.description import Description
from armillary.model.reading.kinds import EXPRESSION, NUMBER, PATH, QUANTITY, WORDS, Flag, ListOf, TableOf
from armillary.model.verbs import EntryForm, verb

if TYPE_CHECKING:
    from armillary.files.fmu.description import Fmu


@verb(EntryForm("fmus", key="file", argument="source"))
def fmu(
    system: Description,
    name: str,
    source: Annotated[Fmu | str | os.PathLike[str], PATH],
    *,
    every: Annotated[float | str | None, QUANTITY] = None,
    inputs: Annotated[Mapping[str, object] | None, TableOf(EXPRESSION, keys=False)] = None,
    parameters: Annotated[Mapping[str, object] | None, TableOf(NUMBER, keys=False)] = None,
    outputs: Annotated[Iterable[str] | None, ListOf(WORDS)] = None,
    extrapolate: Flag = False,
) -> dict[str, Expr]:
    """Make an FMU part of the system; return its outputs by name. It takes steps of ``every`` seconds
    (co-simulation); without ``every`` it is integrated with the system (model exchange), and its states are
    states of the system.

    ``inputs`` drive its input variables: expressions, converted to the FMU's units. ``parameters`` are
    numbers in the FMU's units, or texts. Elements of arrays are called ``x[2]``; an array as a whole takes a
    list. ``outputs`` names the outputs in use (left out: all); texts call them ``name_output``, and in
    co-simulation texts in ``inputs`` can use them, too. Outputs of co-simulation are held between
    communication points, or with ``extrapolate`` follow the line through the last two values, which is more
    accurate if they are smooth.

    The FMU's library is machine code from outside, which is loaded here: import only FMUs that you trust.
    """
    from armillary.files.fmu.coupling import add_fmu

    return add_fmu(system, name, source, every, inputs, parameters, outputs, extrapolate)


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
    """Make an SSP package part of the system, its FMUs stepped every ``every`` seconds; return its outputs.

    ``inputs`` drive connectors of the package, or inputs of its FMUs that nothing else drives
    (``component.input``); ``parameters`` are parameters of FMUs (``component.parameter``), in their units, in
    place of the package's. The result has the outputs of all FMUs as ``component.output`` and the outputs
    that the package shows by their names; texts call them ``name_component_output`` and ``name_output``. FMUs
    are machine code from outside, which is loaded here: import only packages that you trust.
    """
    from armillary.files.ssp import add_package

    return add_package(system, name, source, every, inputs, parameters, extrapolate)
