"""C for microcontrollers: strict compilers, the numbers of the process, no heap, bounded loops and stack."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.embedded.step_cost import TARGETS, counts_on, event_operations, parse_counts
from armillary.export.text.description import reference
from armillary.export.text.selftest import self_test
from armillary.export.text.source import make_source
from armillary.solver.methods.registry import METHODS
from tests.export.conformance import CASES, equations, expected

CC, CXX = shutil.which("cc"), shutil.which("c++")
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler (cc)")
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-pedantic", "-Werror"]
# Everything a program can have: events with clocks and inputs; loops; tables; states and units; functions.
BOTH = [("controller", "double"), ("four bar", "single")]
EXPORTS = [
    *(("four bar", precision) for precision in ("single", "double")),
    *(("tables", "single"), ("functions", "single"), ("door", "double")),
]
Exported = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """The folder of a case, written when it is first requested."""
    base = tmp_path_factory.mktemp("embedded")

    @cache
    def written(name: str, precision: str) -> Path:
        folder = base / f"{name}_{precision}".replace(" ", "_")
        return equations(name).export("c", folder, profile="embedded", precision=precision, measure=False)

    return written


def stem_of(folder: Path) -> str:
    return next(p.name.removesuffix("_solver.c") for p in folder.glob("src/*_solver.c"))


def sources(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.glob("src/*.c"))


def called(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def self_tested(folder: Path, *flags: str) -> list[str]:
    """The self-test of a folder compiled as C and run; the flags beside the names of files."""
    strict = ["-std=c99", "-ffp-contract=off", *WARNINGS, "-Isrc", *flags]
    called(folder, str(CC), *strict, "-o", "self_test", "test/test.c", *sources(folder), "-lm")
    assert "all numbers agree" in called(folder, "./self_test")
    return strict


@pytest.mark.parametrize(("name", "precision"), EXPORTS)
def test_code_without_warnings_gives_the_stored_numbers(
    name: str, precision: str, exported: Exported
) -> None:
    """The self-test, whose rooms are of the precision; its sources are C++ too."""
    folder = exported(name, precision)
    strict = self_tested(folder)
    if clang := shutil.which("clang"):
        called(folder, clang, *strict, "-fsyntax-only", "test/test.c", *sources(folder))
    if CXX:
        called(folder, CXX, "-std=c++11", *WARNINGS, "-Isrc", "-fsyntax-only", "-x", "c++", *sources(folder))


DRIVER = """\
#include "{stem}_solver.h"
#include <stdio.h>
static const {real} parameters[] = {{{parameters}}};
static const {real} state[] = {{{state}}};
static const {real} memory[] = {{{memory}, 0}};
int main(void)
{{
    static {stem}_run run;
    {real} out[{upper}_OUTPUTS_ROOM];
    {stem}_setup(&run, parameters, 0, ({real}){duration}, ({real}){step});
    for (int i = 0; i < {upper}_STATES; i++) run.state[i] = state[i];
    for (int i = 0; i < {upper}_MEMORY; i++) run.memory[i] = memory[i];
    for ({stem}_begin(&run); ; {stem}_step(&run)) {{
        {stem}_outputs(run.t, run.state, run.constants, run.memory, out);
        printf("%.17g", (double)run.t);
        for (int i = 0; i < {upper}_OUTPUTS; i++) printf(" %.17g", (double)out[i]);
        printf("\\n");
        if (run.status != {upper}_RUNNING) return 0;
    }}
}}
"""


def rows_of(name: str, precision: str, folder: Path) -> np.ndarray:
    """The rows of a case's run at its grid points, except for the last."""
    case, wanted, stem = CASES[name], expected(name), stem_of(folder)
    lists = {
        "parameters": wanted.parameters.values(),
        "state": wanted.start.values(),
        "memory": wanted.memory,
    }
    text = DRIVER.format(
        stem=stem, upper=stem.upper(), real="float" if precision == "single" else "double",
        duration=case.duration, step=case.step,
        **{key: ", ".join(repr(float(v)) for v in values) or "0" for key, values in lists.items()},
    )  # fmt: skip
    (folder / "driver.c").write_text(text)
    flags = ["-std=c99", "-O0", "-Isrc"]
    called(folder, str(CC), *flags, "-o", "driver", "driver.c", *sources(folder), "-lm")
    found = np.array([line.split() for line in called(folder, "./driver").splitlines()], dtype=float)
    last = [np.flatnonzero(np.abs(found[:, 0] - t) <= 0.01 * case.step)[-1] for t in wanted.run.time[:-1]]
    return found[last]


@pytest.mark.parametrize("name", ["controller", "four bar", "momenta"])
def test_runs_in_double_precision_are_those_of_the_process(name: str, exported: Exported) -> None:
    wanted = expected(name).run
    found = rows_of(name, "double", exported(name, "double"))
    room = wanted.rows.room[:-1]
    assert np.all(np.abs(found[:, 1:] - wanted.rows.values[:-1]) <= room)


def test_runs_in_single_precision_differ_by_its_roundings(exported: Exported) -> None:
    """Rooms of double precision, 2^29 times as wide: all of them are in proportion to the last place."""
    name = "four bar"
    wanted = expected(name).run
    found = rows_of(name, "single", exported(name, "single"))
    off = np.abs(found[:, 1:] - wanted.rows.values[:-1])
    assert np.all(off <= 2.0**29 * wanted.rows.room[:-1] + 1e-6)
    assert off.max() > 1e-9  # it is not double precision


def test_data_over_time_are_tables_in_flash_that_a_run_without_end_reads(tmp_path: Path) -> None:
    """A cart under a force that jumps: its speed is exact in both parts, and steps end at the jump."""
    s = arm.System("cart")
    force = s.input("force", 0.0, units="N")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=2.0, inertia=0)
    s.force("push", force, cart.x, at=cart.com)
    data = {"force": arm.Signal([0.0, 0.25, 1.0], [4.0, -2.0, -2.0], interpolation="hold")}
    options = {"profile": "embedded", "precision": "double", "measure": False, "inputs": data}
    folder = s.derive().export("c", tmp_path / "cart", **options)
    text = """
        #include "cart_solver.h"
        #include <math.h>
        #include <stdio.h>
        int main(void) {
            static cart_run run;
            cart_setup(&run, cart_parameter_values, 0.0, INFINITY, 0.1);
            for (cart_begin(&run); run.t < 0.75; cart_step(&run)) {}
            printf("%.17g %.17g\\n", run.t, run.state[1]);
            return 0;
        }
        """
    (folder / "driver.c").write_text(text)
    called(folder, str(CC), "-Isrc", "-o", "driver", "driver.c", *sources(folder), "-lm")
    t, speed = map(float, called(folder, "./driver").split())
    assert t == pytest.approx(0.8) and speed == pytest.approx(2.0 * 0.25 - 1.0 * 0.55, abs=1e-12)


@pytest.mark.parametrize(("name", "precision"), BOTH)
def test_no_heap_no_variables_and_a_stack_of_known_size(
    name: str, precision: str, exported: Exported
) -> None:
    """Symbols of the objects are constants, functions and those of math.h; every frame has a fixed size."""
    folder = exported(name, precision)
    called(
        folder,
        str(CC),
        "-std=c99",
        "-O1",
        "-fno-math-errno",
        "-fno-stack-protector",
        "-fno-pie",
        "-fstack-usage",
        "-Isrc",
        "-c",
        *sources(folder),
    )
    stem = stem_of(folder)
    symbols = [
        line.split()[-2:]
        for line in called(folder, "nm", f"{stem}.o", f"{stem}_solver.o").splitlines()
        if " " in line
    ]
    ending = "f" if precision == "single" else ""
    library = {f"{f}{ending}" for f in ("sin", "cos", "sincos", "sqrt")}
    other = [n for kind, n in symbols if kind == "U" and not n.startswith(stem) and n not in library]
    assert not other and not [n for kind, n in symbols if kind in "BbDdC" and not n.startswith("$")]
    frames = [line.split("\t") for p in folder.glob("*.su") for line in p.read_text().splitlines()]
    assert frames and all(kind == "static" and int(size) < 1024 for _, size, kind in frames)


@pytest.mark.parametrize("name", ["controller", "four bar"])
def test_every_loop_counts_and_no_function_calls_itself(name: str, exported: Exported) -> None:
    folder = exported(name, "single")
    stem = stem_of(folder)
    names = [
        f for f in (f"{stem}.c", f"{stem}_solver.c", f"{stem}_assembly.c") if (folder / "src" / f).exists()
    ]
    code = "".join((folder / "src" / f).read_text() for f in names)
    loops = re.findall(r"\b(?:for|while) \(.*", code)
    assert len(loops) > 10 and all(re.search(r"\w+ < [\w@]+ ?[;&-]", loop) for loop in loops), loops
    # A function is called only after it is written: there is no way back.
    heads = {m[1]: m.start() for m in re.finditer(r"^(?!#)[a-z][\w *]*?(\w+)\([^;{]*\)\n\{", code, re.M)}
    assert len(heads) > 10
    for head, start in heads.items():
        assert min(m.start() for m in re.finditer(rf"\b{head}\(", code)) <= start + 200, head


def test_sanitizers_find_nothing(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    """In code with events, clocks and inputs; without them where the compiler has none. Leaks are not looked
    for, which takes 4 s: the code has no heap.
    """
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    folder = exported("controller", "single")
    probe = subprocess.run(
        [str(CC), *flags, "-xc", "-", "-o", "probe"], cwd=folder, input=b"int main(void) { return 0; }"
    )
    self_tested(folder, *(flags if probe.returncode == 0 else []))


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not here")
@pytest.mark.parametrize(("name", "file"), [("controller", "solver"), ("four bar", "assembly")])
def test_rules_of_misra_are_kept_but_for_those_listed(name: str, file: str, exported: Exported) -> None:
    folder = exported(name, "single")
    command = ["cppcheck", "--std=c99", "--addon=misra", "-q", "-Isrc", f"src/{stem_of(folder)}_{file}.c"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    listed = set(re.findall(r"^misra-c2012-[\d.]+", (folder / "misra_deviations.txt").read_text(), re.M))
    found = set(re.findall(r"misra-c2012-[\d.]+", done.stderr))
    assert len(found) > 5 and found <= listed


@pytest.mark.parametrize("target", ["arm", "riscv"])
def test_microcontrollers_reach_the_same_state_to_the_last_bit(target: str, exported: Exported) -> None:
    """200 steps in QEMU and here: no operation is fused, and all functions are the program's own."""
    folder = exported("controller", "single")
    files = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*.[chl]*") if p.is_file()}
    files["Makefile"] = (folder / "Makefile").read_text()
    if missing := [tool for tool in ("make", *TARGETS[target][1:]) if shutil.which(tool) is None]:
        pytest.skip(f"not here: {', '.join(missing)}")
    found = counts_on(target, files)
    here = [line.split() for line in called(folder, "make", "-s", "measure-host").splitlines()]
    assert found["state"] == int(dict(here)["state"]) and found["status"] == 0
    assert 100 < found["step"] < found["longest"] < 20_000 and 50 < found["stack"] < 2000


def test_measurements_are_read_and_broken_ones_are_not() -> None:
    text = " 884 12 0 896 380 model.o\n 900 12 0 912 390 (TOTALS)\nram 456\nstack 88\nstep 10\nlongest 12\n"
    assert parse_counts(text)["flash"] == 912 and parse_counts(text)["longest"] == 12
    assert parse_counts(text.replace("stack", "")) == {}
    assert parse_counts(f"{text}status 3\n") == {}  # a run that diverged


def test_a_measurement_that_is_asked_for_needs_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    options = {"profile": "embedded", "measure": True}
    with pytest.raises(arm.ArmillaryError, match="needs make and arm-none-eabi-gcc with qemu-system-arm"):
        equations("controller").export("c", tmp_path / "never", **options)
    assert not (tmp_path / "never").exists()


STUB = """\
struct Port { void begin(long) {} template <class T> void print(T) {} void println() {} };
static Port Serial;
static unsigned long micros() { return 0; }
"""


def test_the_sketch_is_a_program_of_c_plus_plus(exported: Exported) -> None:
    if CXX is None:
        pytest.skip("no C++ compiler (c++)")
    folder = exported("controller", "single")
    [sketch] = folder.glob("examples/*/*.ino")
    assert sketch.parent.name == sketch.stem  # as the Arduino tools want it
    (folder / "sketch.cpp").write_text(STUB + sketch.read_text() + "int main() { setup(); loop(); }\n")
    called(folder, CXX, "-std=c++11", "-Wall", "-Wextra", "-Isrc", "-c", "sketch.cpp")


def test_readme_has_the_operations_and_the_way_to_measure(exported: Exported) -> None:
    text = (exported("four bar", "single") / "README.md").read_text()
    assert "make measure-arm" in text and "| a step, at most |" in text
    [least] = re.findall(r"\| a step \| (\d+) additions, (\d+) multiplications", text)
    program = equations("four bar").program
    four = 4 * program.derivatives.operations.additions
    assert four < int(least[0]) < 1.5 * four + 200  # four evaluations, the stages and one correction


@pytest.mark.parametrize(("precision", "each", "once"), [("single", 71, 48), ("double", 158, 106)])
def test_the_search_for_events_is_counted_to_the_last_digit_of_the_time(
    precision: str, each: int, once: int
) -> None:
    """Three turns for each of 23 or 52 bits, and both ends, for each event; and twice as many doublings as a
    number has bits. A look inside of the step takes 4 n + and 3 n × for n states, and the functions.
    """
    s = arm.System("ball")
    ball = s.body("ball", joint=arm.Prismatic("z"), mass=1, inertia=0)
    for k in range(3):
        s.event(f"mark{k}", ball.q1 * ball.u1 - k)
    program = s.derive().program
    own, count = program.events.operations, 3 * each + once
    found = event_operations(program, precision, attempts=1)
    assert own.multiplications and own.additions
    assert found.additions == count * (4 * 2 + own.additions)
    assert found.multiplications == count * (3 * 2 + own.multiplications)


def test_points_of_the_self_test_are_where_the_model_is_defined() -> None:
    """√q √(0.02 − q) from q = 0.01: most random steps of a tenth end outside, then smaller ones are tried."""
    s = arm.System("roots")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.output("root", arm.sqrt(a.q1) * arm.sqrt(0.02 - a.q1))
    s.start({"a.q1": 0.01})
    points = reference(core_of(s.derive()), several=False).points
    assert len({p.state for p in points}) == len(points) and all(p.state[0] != 0.01 for p in points)
    assert all(
        np.all(np.isfinite([*p.derivatives, *p.outputs])) and abs(p.state[0] - 0.01) < 0.01 for p in points
    )


def test_the_command_line_writes_the_profile(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from armillary.cli.app import app

    command = f"export c bouncing_ball --profile embedded --option measure=false -o {tmp_path / 'ball'}"
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    assert (tmp_path / "ball" / "src" / "bouncing_ball.c").is_file()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"profile": "embeded"}, "profile is 'embeded'; did you mean 'embedded'?"),
        ({"profile": "embedded", "precision": "half"}, "'single' (float) or 'double'"),
        ({"profile": "embedded", "method": "dopri5"}, "steps of fixed size"),
        ({"precision": "single"}, "only profile='embedded' takes this"),
    ],
)
def test_wrong_options_are_explained(options: dict[str, str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(arm.ArmillaryError, match=re.escape(sentence)):
        equations("controller").export("c", tmp_path / "never", **options)
    assert not (tmp_path / "never").exists()


def test_rooms_in_single_precision_hold_the_rounding_of_times() -> None:
    """A time of which little is left beside that of an event is rounded to half a unit in its last place."""
    s = arm.System("timed")
    s.body("A", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.event("late", "t - 0.1003")
    made = make_source(core_of(s.derive()))
    test = self_test(made, "single", METHODS["rk4"], {"events"})
    for [t, room] in zip(test.inputs["times"][0], test.compared["events"][1], strict=True):
        assert room[0] >= abs(float(np.float32(t)) - t)
    assert any(float(np.float32(t)) != t for t in test.inputs["times"][0])
