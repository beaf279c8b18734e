"""Sines of code that is only translated: compiled once in a process, not again with every program.

They took half of the time of a pendulum's code and a third of that of four links.
"""

from __future__ import annotations

import threading
from functools import cache, partial

from armillary.cache import digest
from armillary.llvm.jit import Compiled, chosen, machine_code_key, prepared
from armillary.llvm.mathematics.trigonometry import sine_cosine_function
from armillary.llvm.module import Module

_MAKING = threading.Lock()  # of two codes of one name, that which LLVM finds might be the one that is freed


def compiled_sines(lanes: int) -> tuple[str, str]:
    """Name and declaration of the function of so many angles, which LLVM finds in this process."""
    with _MAKING:
        name, declaration, _ = _made(lanes, chosen())
    return name, declaration


@cache
def _made(lanes: int, settings: tuple[str, ...]) -> tuple[str, str, Compiled]:
    # The name holds all that decides the code: programs that call it are kept between processes.
    name = f"sincos{lanes}_{digest(machine_code_key(0))[:16]}"
    module = Module()
    module.need(name, partial(sine_cosine_function, name, lanes))
    vector = f"<{lanes} x double>"
    head = f"{{ {vector}, {vector} }} @{name}({vector}"
    code = Compiled(module.text().replace(f"define internal {head}", f"define {head}"))
    prepared().add_symbol(name, code.address(name))
    return name, f"declare {head}) nounwind", code
