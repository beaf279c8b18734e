"""Documentation that runs: Python blocks are executed and the output shown is compared; links within the
project lead somewhere; the reference is that of the code; the README's operation counts are measured.
"""

from __future__ import annotations

import ast
import io
import json
import re
import runpy
from collections.abc import Callable
from contextlib import redirect_stdout
from doctest import ELLIPSIS, OutputChecker
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest

import armillary as arm
from examples import car, cart, four_bar, spacecraft_1, spacecraft_2, stanford_arm
from tests.verification.test_car_small import small_car
from tests.verification.test_spacecraft_1_small import judged

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

RUN = "python"
PARSE_ONLY = "python no-run"  # a fragment: its syntax is checked, nothing more
OUTPUT = "output"  # what the block before it prints; "..." stands for anything
ROUGHLY = "output roughly"  # the same, numbers within a factor of two: rounding, adaptive steps

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
    """Number of blocks executed, in order, in one namespace, as a reader would type them."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    executed = 0
    printed = ""
    for block in blocks(text):
        if block.info in (OUTPUT, ROUGHLY):
            if not _same(block.text, _stripped(printed), rough=block.info == ROUGHLY):
                raise AssertionError(f"{filename}:{block.line}: the page shows other output than\n{printed}")
            continue
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


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(encoding="utf-8"), str(page))


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    assert not [target for target in local if not (page.parent / target).exists()]


def test_every_page_is_reached_from_the_index() -> None:
    seen: set[Path] = set()
    todo = [ROOT / "docs" / "index.md"]
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text(encoding="utf-8"))
        todo += [target for link in links if (target := (page.parent / link).resolve()).exists()]
    assert set((ROOT / "docs").rglob("*.md")) <= seen


def test_reference_is_that_of_the_code() -> None:
    """Otherwise: python docs/make_reference.py."""
    make = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))["reference"]
    assert (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8") == make()


@pytest.mark.parametrize(
    ("row", "system"),
    [
        ("Stanford arm", lambda: stanford_arm.system(controller=False)),
        ("Spacecraft 1", spacecraft_1.system),
        ("Spacecraft 2", spacecraft_2.system),
        ("car", car.system),
        ("four-wheeled cart", cart.system),
        ("four-bar linkage", four_bar.system),
        ("car, small variables", small_car),
        ("Spacecraft 1, small variables", lambda: judged(spacecraft_1.system())),
    ],
)
def test_operation_counts_in_the_readme_are_measured(row: str, system: Callable[[], arm.System]) -> None:
    found = re.search(rf"\| {row}\b[^|]*((?:\| *\d+ *)+)\|", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    shown = [int(number) for number in re.findall(r"\d+", found[1])]
    made = system().derive().operations
    assert shown[-3:] == [made.additions, made.multiplications + made.divisions, made.functions]


def test_blocks_share_a_namespace_and_fragments_only_parse() -> None:
    first = "```python\nx = 1\n```\n"
    indented = "- item\n\n  ```python\n  x += 1\n  assert x == 2\n  ```\n"
    fragment = "```python no-run\nundefined()\n```\n"
    assert run_page(first + indented + fragment, "page.md") == 2


def test_shown_output_may_leave_parts_out_or_be_rough() -> None:
    shown = "```output\na 1...\nb\n```\n```output roughly\na  0.8\nb\n```\n"
    assert run_page(f"```python\nprint('a 1.25 ')\nprint('b')\n```\n{shown}", "page.md") == 1


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ("```python\nassert False\n```\n", AssertionError),
        ("```python\nprint(1)\n```\n```output\n2\n```\n", AssertionError),
        ("```python\nprint('x 1e-9')\n```\n```output roughly\nx 3e-9\n```\n", AssertionError),
        ("```python\nprint('x 1')\n```\n```output roughly\ny 1\n```\n", AssertionError),
        ("```python no-run\nx = = 1\n```\n", SyntaxError),
        ("```py\nx = 1\n```\n", ValueError),
        ("```{code-block} python\nx = 1\n```\n", ValueError),
        ("```python\nx = 1\n", ValueError),
    ],
)
def test_a_bad_page_is_refused(page: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run_page(page, "page.md")


def test_a_failing_block_is_reported_at_its_line_in_the_page() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("title\n\n```python\nx = 1\nx / 0\n```\n", "page.md")
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == ("page.md", 5)


def test_speed_ratios_in_the_readme_are_those_of_the_benchmark() -> None:
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| ([^|]+?) \|((?: [\d.–]+ \|){4})$", readme, flags=re.MULTILINE)
    assert len(shown) == 5
    models = {model["title"]: model["candidates"] for model in results["models"]}
    for title, cells in shown:
        times = {c["name"]: c["nanoseconds"] for c in models[title]}
        ours = min(ns for name, ns in times.items() if name.startswith("Armillary"))
        for cell, peer in zip(cells.split("|"), ("Pinocchio", "MuJoCo", "SymPy", "CasADi"), strict=False):
            theirs = [ns for name, ns in times.items() if name.startswith(peer)]
            assert cell.strip() == (f"{min(theirs) / ours:.1f}" if theirs else "–")
