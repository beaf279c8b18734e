"""Pages that run: the blocks of a Markdown page, executed as a reader would type them, and the output shown
compared with what they print.
"""

from __future__ import annotations

import ast
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from doctest import ELLIPSIS, OutputChecker
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest

RUN = "python"
PARSE_ONLY = "python no-run"  # a fragment: its syntax is checked, nothing more
SHELL = (
    "shell"  # commands, one per line, in the page's own temporary folder; `armillary` runs in this process
)
SHELL_FAILS = "shell fails"  # the same, where the last command must end with another status than 0
FILE = re.compile(r"\w+ ([\w-]+\.\w+)")  # "toml car.toml": a file that the page asks its reader to write
OUTPUT = "output"  # what the block before it prints; "..." stands for anything
ROUGHLY = "output roughly"  # the same, numbers within a factor of two: rounding, adaptive steps

# `python` on a page is the one that runs the tests.
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
ENVIRONMENT = {**os.environ, "PATH": PATH}

NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")


class Block(NamedTuple):
    """A fenced block: the word behind the fence, the line of its first line, its text."""

    info: str
    line: int
    text: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order; an unclosed fence is an error."""
    found = []
    fence = indent = info = ""
    start = 0
    body: list[str] = []
    for number, line in enumerate(page.splitlines(), 1):
        mark = re.match(r"(\s*)(`{3,}|~{3,})\s*(.*?)\s*$", line)
        if not fence and mark:
            indent, fence, info = mark.groups()
            body = []
            start = number + 1
        elif fence and mark and mark[2].startswith(fence) and not mark[3]:
            found.append(Block(info, start, "\n".join(body) + "\n"))
            fence = ""
        elif fence:
            body.append(line.removeprefix(indent))
    if fence:
        raise ValueError(f"the fence opened before line {start} is never closed")
    return found


def run_page(text: str, filename: str) -> int:
    """Number of blocks executed, in order, in one namespace and folder, as a reader would type them."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    executed = 0
    printed = ""
    for block in blocks(text):
        if block.info in (OUTPUT, ROUGHLY):
            if not _same(block.text, _stripped(printed), rough=block.info == ROUGHLY):
                raise AssertionError(f"{filename}:{block.line}: the page shows other output than\n{printed}")
            continue
        if file := FILE.fullmatch(block.info):
            Path(file[1]).write_text(block.text, encoding="utf-8")
            continue
        if block.info in (SHELL, SHELL_FAILS):
            printed = run_commands(block.text, fails=block.info == SHELL_FAILS)
            executed += 1
            continue
        if re.match(r"(bash|console|shell-session)\b", block.info):
            raise ValueError(f"{filename}:{block.line - 1}: tag it '{SHELL}' or 'shell no-run'")
        if block.info not in (RUN, PARSE_ONLY):
            if re.search(r"\bpy(thon)?", block.info, re.I):
                where = f"{filename}:{block.line - 1}"
                raise ValueError(f"{where}: tag it '{RUN}' or '{PARSE_ONLY}', not '{block.info}'")
            continue
        lead = "\n" * (block.line - 1)  # so that tracebacks show the page's own lines
        tree = ast.parse(lead + block.text, filename)
        if block.info == RUN:
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(tree, filename, "exec"), namespace)
            printed = out.getvalue()
            executed += 1
    return executed


def run_commands(text: str, *, fails: bool = False) -> str:
    """What the commands print. A page that needs a tool which is not here is skipped from that line on."""
    printed = ""
    commands = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    for i, command in enumerate(commands):
        first, *arguments = shlex.split(command, comments=True)
        if first == "armillary":
            status, said = _armillary(arguments)
        elif shutil.which(first, path=PATH) is None and first != "cd":
            pytest.skip(f"there is no {first} here, which the page needs from here on")
        else:
            done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=ENVIRONMENT)
            status, said = done.returncode, done.stdout + done.stderr
        printed += said
        expected = fails and i == len(commands) - 1
        assert (status != 0) == expected, f"{command}\nended with status {status} and said\n{said}"
    return printed


def _armillary(arguments: list[str]) -> tuple[int, str]:
    """Status and output of the command line, run in this process: a fresh one costs half a second."""
    from click.testing import CliRunner

    from armillary.cli.app import app

    result = CliRunner().invoke(app, arguments, prog_name="armillary")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def _same(shown: str, printed: str, *, rough: bool) -> bool:
    if not rough:
        return OutputChecker().check_output(shown, printed, ELLIPSIS)
    pairs = list(zip_longest(NUMBER.split(shown), NUMBER.split(printed), fillvalue=""))
    words, numbers = pairs[::2], pairs[1::2]
    return all(a.split() == b.split() for a, b in words) and all(
        a and b and abs(float(a) - float(b)) <= 0.5 * max(abs(float(a)), abs(float(b))) for a, b in numbers
    )


def _stripped(text: str) -> str:
    """The text without spaces at the ends of lines, which editors remove from pages."""
    return "".join(line.rstrip() + "\n" for line in text.splitlines())
