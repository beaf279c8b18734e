"""Documentation that runs: Python and shell blocks are executed, shown output is compared; links within the
project lead somewhere; equations are numbered in order; the reference is that of the code; the site builds
without a warning.
"""

from __future__ import annotations

import importlib
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary.errors import MissingExtraError
from armillary.model.verbs import VERBS
from tests.export.fmi import host
from tests.pages import run_page

ROOT = Path(__file__).resolve().parents[1]
SITE = sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
PAGES = [*SITE, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.fixture
def known_verbs() -> Iterator[None]:
    """Verbs that a page adds are forgotten after it."""
    before = dict(VERBS)
    yield
    VERBS.clear()
    VERBS.update(before)


@pytest.mark.usefixtures("known_verbs")
@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    if "from fmpy import" in text and not host.FMPY_SIMULATES:
        monkeypatch.setattr("fmpy.simulate_fmu", host.simulate_fmu)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # where a reader's script and its modules are
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(ROOT))])  # not a checkout
    before = set(sys.modules)
    try:
        run_page(text, str(page))
    except MissingExtraError as error:
        pytest.skip(str(error))
    finally:
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
                del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    assert not [target for target in local if not (page.parent / target).exists()]


def test_chapters_of_the_theory_are_numbered_as_the_site_numbers_them() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^(\d+)\. \[[^\]]*\]\(theory/([\w-]+)\.md\)", index, re.M)
    assert [int(number) for number, _ in listed] == list(range(1, len(listed) + 1))
    assert [page for _, page in listed] == re.findall(r"^theory/([\w-]+)$", index, re.M)


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
    assert set(SITE) <= seen


def extension(name: str) -> dict[str, Any]:
    """What a module of the site's own extensions defines."""
    folder = str(ROOT / "docs" / "_ext")
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(f"{folder}/{name}.py")
    finally:
        sys.path.remove(folder)


def test_equations_are_numbered_in_order_and_mentioned_where_they_exist() -> None:
    """Chapter and number, (4.7); chapters in the order of the index."""
    pytest.importorskip("sphinx", reason="the site needs armillary[docs]")
    module = extension("equations")
    found: dict[str, str] = module["equations"](ROOT / "docs")
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    chapters = list(dict.fromkeys(re.findall(r"^(theory/[\w-]+)$", index, flags=re.MULTILINE)))
    assert len(chapters) == len(list((ROOT / "docs" / "theory").glob("*.md")))
    for chapter, page in enumerate(chapters, 1):
        own = [number for number, where in found.items() if where == page]
        assert own == [f"{chapter}.{i}" for i in range(1, len(own) + 1)], page
    for page in (ROOT / "docs").glob("theory/*.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        assert not [n for n in module["MENTIONED"].findall(text) if n not in found], page.name


@pytest.mark.parametrize(
    ("typed", "mathml"),
    [
        ("u̇_r", '<msub><mover accent="true"><mi>u</mi><mo>˙</mo></mover><mrow><mi>r</mi></mrow></msub>'),
        ("e0²", "<msubsup><mi>e</mi><mrow><mn>0</mn></mrow><mrow><mn>2</mn></mrow></msubsup>"),
        ("f* = g", "<msup><mi>f</mi><mrow><mo>*</mo></mrow></msup><mo>=</mo><mi>g</mi>"),
        ("Σ_{r ≠ k} x", "<munder><mo>∑</mo><mrow><mi>r</mi><mo>≠</mo><mi>k</mi></mrow></munder><mi>x</mi>"),
        ("v_rel", "<msub><mi>v</mi><mrow><mtext>rel</mtext></mrow></msub>"),
        ("√(1 + d)", "<msqrt><mn>1</mn><mo>+</mo><mi>d</mi></msqrt>"),
        ("p = force of all", "<mi>p</mi><mo>=</mo><mtext>force of all</mtext>"),
    ],
)
def test_typed_mathematics_is_set(typed: str, mathml: str) -> None:
    found = extension("mathematics")["expression"](typed)
    assert re.sub(r' (mathvariant|class|stretchy)="\w+"', "", found) == mathml


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Nothing on the pages runs while the site is built: all pages are read and their links resolved, three
    of different kinds are written; one process does both, another than that of the tests, whose warnings
    Sphinx would change.
    """
    pytest.importorskip("furo", reason="the site needs armillary[docs]")
    docs, doctrees = str(ROOT / "docs"), str(tmp_path / "doctrees")
    common = ["--keep-going", "-q", "-d", doctrees, docs]
    read = ["-W", "-b", "dummy", *common, str(tmp_path / "none")]
    pages = [f"{docs}/{page}.md" for page in ("theory/kane", "how-to/command-line", "reference/docstrings")]
    write = ["-t", "still", "-b", "html", *common, str(tmp_path / "html"), *pages]
    both = "import gc\ngc.disable()\nfrom sphinx.cmd.build import main\n"  # garbage: a quarter of the time
    # Of three pages there is no index for searches.
    both += "from sphinx.builders.html import StandaloneHTMLBuilder as html\nhtml.search = False\n"
    both += f"assert main({read!r}) == 0\nassert main({write!r}) == 0"
    built = subprocess.run([sys.executable, "-c", both], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    kane = (tmp_path / "html" / "theory" / "kane.html").read_text(encoding="utf-8")
    assert 'id="eq-4-7"' in kane and "<math" in kane and "mathjax" not in kane.lower()


def test_reference_is_that_of_the_code() -> None:
    """Otherwise: python docs/make_reference.py."""
    make = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))["reference"]
    assert (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8") == make()


# Packages below `armillary` that users import names from; those of the others are in `armillary` itself.
PACKAGES = ("control", "results", "run_files", "studies", "vehicles", "verification")


def test_every_public_name_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    known = set(re.findall(r"(?:`|^## )(\w+)", page, re.M))
    for name in ("armillary", *(f"armillary.{package}" for package in PACKAGES)):
        assert not set(importlib.import_module(name).__all__) - known, name


def test_blocks_share_a_namespace_and_fragments_only_parse() -> None:
    first = "```python\nx = 1\n```\n"
    indented = "- item\n\n  ```python\n  x += 1\n  assert x == 2\n  ```\n"
    fragment = "```python no-run\nundefined()\n```\n"
    assert run_page(first + indented + fragment, "page.md") == 2


def test_a_page_may_write_files_and_run_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = "```toml a.toml\nx = 1\n```\n```shell\n# a comment\ncat a.toml\n```\n```output\nx = 1\n```\n"
    assert run_page(page, "page.md") == 1
    assert run_page("```shell fails\ntrue\nfalse\n```\n", "page.md") == 1
    with pytest.raises(AssertionError, match="status 1"):
        run_page("```shell\nfalse\n```\n", "page.md")


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
        ("```bash\ntrue\n```\n", ValueError),
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
