"""Words of arm64 instructions, executed by QEMU on other machines, compute what this processor does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from armillary.llvm.arrangement.arm64 import Arm64
from armillary.llvm.arrangement.machine_code import encode_lines
from armillary.llvm.jit import encodes
from tests.llvm.arranged_lines import lines_of
from tests.llvm.random_sections import ENTRY, SIZE, called, plain_text, random_code

COMPILER, MACHINE = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64-static")
SEEDS = (11,)
# The registers d8 to d15 belong to the caller, so they must have the same bits after the call.
MAIN = """
#include <stdio.h>
typedef void code(const double *, double *);
extern code {names};
static code *const all[] = {{names}};
static double state[{size}], out[300];

int main(void)
{
    for (unsigned i = 0; i < sizeof all/sizeof *all; i++) {
        if (fread(state, sizeof state, 1, stdin) != 1)
            return 1;
        for (int j = 0; j < 300; j++)
            out[j] = 7.0;
        register double first asm("d8") = 8.5, last asm("d15") = 15.5;
        asm volatile("" : "+w"(first), "+w"(last));
        all[i](state, out);
        asm volatile("" : "+w"(first), "+w"(last));
        if (first != 8.5 || last != 15.5)
            return 2;
        fwrite(out, sizeof out, 1, stdout);
    }
    return 0;
}
"""


@pytest.mark.optimised
@pytest.mark.skipif(not (COMPILER and MACHINE), reason="no cross compiler for arm64, or no QEMU")
def test_random_code_computes_the_same_bits_under_qemu(tmp_path: Path) -> None:
    """Of all forms, with more values than registers, near and far places."""
    if not encodes():
        pytest.skip("this processor does not fuse products and sums")
    words, states, expected = "", [], np.full((len(SEEDS), 300), 7.0)
    for i, seed in enumerate(SEEDS):
        code = random_code(seed, 250, Arm64)
        found = encode_lines(lines_of(code[0]), *code[1:], ENTRY, Arm64, 32)
        assert found is not None and found.arrays == ["state", "out"]
        data = ", ".join(map(str, found.code))
        words += f".text\n.p2align 6\n.globl f{i}\nf{i}: .byte {data}\n"
        rng = np.random.default_rng(seed)
        states.append(rng.uniform(0.5, 1.5, SIZE) * rng.choice([-1, 1], SIZE))
        called(plain_text(code), "f", states[-1], expected[i])
    names = ", ".join([f"f{i}" for i in range(len(SEEDS))])
    (tmp_path / "code.s").write_text(words)
    (tmp_path / "main.c").write_text(MAIN.replace("{names}", names).replace("{size}", str(SIZE)))
    build = [str(COMPILER), "-O1", "-static", "-o", "run", "main.c", "code.s"]
    subprocess.run(build, cwd=tmp_path, check=True)
    run = subprocess.run(
        [str(MACHINE), "./run"],
        cwd=tmp_path,
        input=b"".join(map(np.ndarray.tobytes, states)),
        capture_output=True,
        check=True,
    )
    assert np.array_equal(np.frombuffer(run.stdout).reshape(expected.shape), expected)
