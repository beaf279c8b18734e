"""Machine code for arm64 of a model's derivatives, written on any machine, as bytes that LLVM's tools read:

    python -m benchmarks.arm64_code arm | llvm-mc --disassemble -triple=aarch64 > arm.s
    llvm-mca -mtriple=aarch64 -mcpu=neoverse-n1 -noalias arm.s

Each function is printed up to its return: what an evaluation with usual angles runs through.
"""

from __future__ import annotations

import re
import sys

from armillary.llvm.sections import for_lanes, llvm_text
from benchmarks.models import MODELS
from benchmarks.ours import system

_LINE = re.compile(r'^module asm "(?:(derivatives\w*)_code:|\.ascii \\22(.*)\\22)"$', re.MULTILINE)
_BYTE = re.compile(r"\\5C(\d{3})|(.)", re.DOTALL)
_RETURN = bytes.fromhex("C0035FD6")


def functions(key: str) -> dict[str, bytes]:
    """The code of each function of a model's derivatives, from its entry to its return."""
    program = for_lanes(system(MODELS[key]).derive().program, 2)
    found: dict[str, bytes] = {}
    name = ""
    for label, text in _LINE.findall(llvm_text(program, 32, encodes="arm64")):
        if label:
            name = label
        elif name:
            code = bytes(int(octal, 8) if octal else ord(plain) for octal, plain in _BYTE.findall(text))
            words = [code[i : i + 4] for i in range(0, len(code), 4)]
            found[name], name = b"".join(words[: words.index(_RETURN) + 1]), ""
    return found


if __name__ == "__main__":
    for code in functions(sys.argv[1]).values():
        print(*(f"0x{byte:02x}" for byte in code))
