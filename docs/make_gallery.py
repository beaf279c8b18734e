"""Pages of the gallery: motions and sheets of the classics in docs/gallery and of all examples.

    python docs/make_gallery.py docs/_build/html/gallery

`make docs` runs it. Each system gets a folder with motion.html (the run), live.html (the model itself, where
it can run in a page), sheet.html, picture.png, and index.html with the system in motion beside its equations.
What is there and newer than its source is kept.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import re
import runpy
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import armillary as arm

ROOT = Path(__file__).resolve().parents[1]
CLASSICS = ROOT / "docs" / "gallery"
EXAMPLES = ROOT / "examples"
SECONDS, RATE = 5.0, 60.0  # of the runs of examples
PICTURE = (480, 300)
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
html, body {{ margin: 0; height: 100%; }}
body {{ display: flex; }}
iframe {{ border: 0; height: 100%; }}
#motion {{ flex: 3; }}
#sheet {{ flex: 2; }}
@media (max-width: 900px) {{ body {{ display: block; }} iframe {{ width: 100%; height: 75%; }} }}
</style></head>
<body><iframe id="motion" src="{motion}.html" title="motion"></iframe>
<iframe id="sheet" src="sheet.html" title="equations"></iframe></body></html>
"""


def make(folder: Path) -> dict[str, str]:
    """All pages under a folder; the titles of those that are there, by name."""
    made: dict[str, str] = {}
    for source, name, title, content in _entries():
        place = folder / name
        index = place / "index.html"
        if not index.exists() or index.stat().st_mtime < source.stat().st_mtime:
            try:
                with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                    warnings.simplefilter("ignore")
                    system, run, options = content()
                    _write(place, system, run, options, title)
            except arm.ArmillaryError as error:
                print(f"gallery: {name} is left out: {error}", file=sys.stderr)
                continue
        made[name] = title
    return made


def _write(place: Path, system: Any, run: arm.Run, options: dict[str, Any], title: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    run.animate(place / "motion.html", **options)
    shown = {key: value for key, value in options.items() if key in ("view", "follow", "paths")}
    run.animate(place / "picture.png", time=run.time[len(run) // 3], size=PICTURE, **shown)
    arm.sheet(system, place / "sheet.html")
    motion = "live" if _live(place / "live.html", system, run) else "motion"
    (place / "index.html").write_text(_PAGE.format(title=html.escape(title), motion=motion), encoding="utf-8")


def _live(path: Path, system: Any, run: arm.Run) -> bool:
    """The page in which the model runs, from where the run began; whether there is one."""
    model = system.derive().compile()
    names = [*model.coordinate_names, *model.speed_names, *model.state_names]
    # A whole state: where the system places its mass centre, single coordinates of it are not given.
    start = [float(run[name][0]) for name in names] if all(name in run for name in names) else None
    parameters = {name: run.parameters[name] for name in model.parameters}
    try:
        model.live(path, initial=start, parameters=parameters)
    except arm.ArmillaryError as error:
        print(f"gallery: '{system.name}' is not live: {error}", file=sys.stderr)
        return False
    return True


def _entries() -> Iterator[tuple[Path, str, str, Callable[[], tuple[Any, arm.Run, dict[str, Any]]]]]:
    """Source, name, title, and what gives a system, a run and options of its picture."""
    for page in sorted(CLASSICS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if "```python" in text:
            yield page, page.stem, text.partition("\n")[0].lstrip("# "), lambda text=text: _classic(text)
    for file in sorted(EXAMPLES.glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "def system(" in text:
            title = re.search(r'"""(.+?)[.:]', text)
            words = title[1] if title else file.stem
            yield file, f"examples/{file.stem}", words, lambda file=file: _example(file)


def _classic(text: str) -> tuple[Any, arm.Run, dict[str, Any]]:
    """The system and run of a page's blocks, with the options of its call of animate."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    call = re.search(r'run\.animate\("motion\.html"(?:, )?(.*)\)\n', code)
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(compile(code, "<page>", "exec"), names)
        options = eval(f"dict({call[1]})", names) if call else {}
    return names["s"], names["run"], options


def _example(file: Path) -> tuple[Any, arm.Run, dict[str, Any]]:
    """A run of an example from its initial values; parameters without a value are 1."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        names = runpy.run_path(str(file))
    finally:
        sys.path.remove(str(EXAMPLES))
    system = names["system"]()
    model = system.derive().compile()
    given = {name: 1.0 for name, value in model.parameters.items() if value is None}
    start = names.get("START")
    run = model.simulate(SECONDS, sample=1 / RATE, parameters=given, initial=start, progress=False)
    return system, run, {}


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for key, words in make(Path(sys.argv[1])).items():
        print(key, words, sep=": ")
