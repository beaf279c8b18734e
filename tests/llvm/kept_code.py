"""Digests of machine code for both processors: ``python -m tests.llvm.kept_code`` writes them anew.

Code for one processor is executed on machines that have it (``test_machine_code.py``) and made on all: code
with the digest of one that gave LLVM's bits is right without its processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from armillary.llvm.arrangement.arranged_writer import INSTRUCTION_SETS
from tests.llvm.random_sections import machine_text, random_code

KEPT = Path(__file__).with_name("kept_code.txt")
REGISTERS = {"arm64": (32,), "x86_64": (16, 32)}


def made_digests() -> Iterator[str]:
    for name, sizes in REGISTERS.items():
        for size in sizes:
            for seed in range(6):
                text = machine_text(
                    random_code(seed, 200, INSTRUCTION_SETS[name]), INSTRUCTION_SETS[name], size
                )
                yield f"{name} {size} {seed} {sha256(text.encode()).hexdigest()[:16]}"


if __name__ == "__main__":
    KEPT.write_text("\n".join(made_digests()) + "\n", encoding="utf-8")
