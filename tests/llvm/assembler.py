"""LLVM's assembler, for this and other processors."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from armillary.llvm.jit import prepare_llvm


@cache
def _machine(triple: str, features: str) -> Any:
    llvm = prepare_llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip(f"LLVM without {triple}")
    return target.create_target_machine(features=features)


def assembled(lines: list[str], triple: str, features: str) -> bytes:
    """The bytes of instructions."""
    llvm = prepare_llvm()
    module = llvm.parse_assembly("\n".join([f'module asm "{line}"' for line in lines]))
    module.triple = triple
    found = llvm.ObjectFileRef.from_data(_machine(triple, features).emit_object(module))
    return next(bytes(section.data()) for section in found.sections() if section.is_text())
