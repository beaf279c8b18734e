"""The formalisms by name; a new formalism is added to the list here."""

from __future__ import annotations

from armillary.algebra.arguments import one_of
from armillary.errors import ModelError
from armillary.program.formalisms.formalism import Formalism
from armillary.program.formalisms.jpl import MBDYFL, MBDYFN, MBDYFR
from armillary.program.formalisms.momentum import MOMENTUM
from armillary.program.formalisms.redundant import REDUNDANT
from armillary.program.formalisms.tree_formalisms import AUTO, BACK_SUBSTITUTION, KANE, RECURSIVE

_ALL = (KANE, RECURSIVE, BACK_SUBSTITUTION, MOMENTUM, REDUNDANT, MBDYFR, MBDYFN, MBDYFL)
FORMALISMS: dict[str, Formalism] = {f.name: f for f in _ALL}


def find_formalism(name: str) -> Formalism:
    """Return the formalism of this name, or "auto"."""
    known = {AUTO.name: AUTO, **FORMALISMS}
    one_of(name, known, "unknown formalism ", ModelError)
    return known[name]
