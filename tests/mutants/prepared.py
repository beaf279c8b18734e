"""A process that has imported the libraries of the tests and forks for each run of pytest: half of the time
of a run that fails at its first test would go into these imports. Started as a script, not as a module of
``tests``: those are of the tree of the run.

    in:  a line of JSON: tree, arguments of pytest, the file for its output
    out: the id of the process; then, when it has ended, its exit code, negative for a signal
"""

import json
import os
import resource
import sys
from importlib import import_module

MEMORY = 8 << 30  # bytes for one run of tests: a fault that takes all memory must not take that of others


LIBRARIES = (
    *("numpy", "pytest", "hypothesis.strategies", "llvmlite.binding"),
    *(f"scipy.{part}" for part in ("integrate", "linalg", "optimize", "sparse.linalg", "spatial.transform")),
)


def prepare() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    sys.dont_write_bytecode = False  # the next run in a tree reads that of all files but the faulty one
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for name in LIBRARIES:
        import_module(name)


def run(tree: str, arguments: list[str], output: str) -> None:
    """The forked process: it does not return."""
    os.setsid()  # what the tests have started ends with them
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.chdir(tree)
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(written, 1)
    os.dup2(written, 2)
    sys.path[:0] = [f"{tree}/src", tree]
    os.environ["PYTHONPATH"] = os.pathsep.join([*sys.path[:2], os.environ.get("PYTHONPATH", "")])
    import pytest

    code = int(pytest.main(arguments))
    sys.stdout.flush()
    os._exit(code)  # without waiting for threads of libraries


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file
    prepare()
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child == 0:
            run(**wanted)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
