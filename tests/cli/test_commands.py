"""The command line: what each command says and writes, its exit codes, and its errors as sentences."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import armillary as arm
from armillary.cli import bench
from armillary.cli.app import COMMANDS, app
from armillary.cli.options import ModelType
from armillary.run_files.resolve import example_names
from armillary.run_files.run_file import ANALYSES, FIXED, TABLES
from examples import car
from tests.run_files.swing import write_swing

Command = Callable[..., Result]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line in a folder with a model and a run file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    write_swing(Path())

    def call(*args: str) -> Result:
        return CliRunner().invoke(app, list(args))

    return call


def test_every_command_has_help_with_an_example(command: Command) -> None:
    overview = command("--help").stdout
    for name, (_, line) in COMMANDS.items():
        assert re.search(rf"^  {name} ", overview, re.M), name
        page = command(name, "--help")
        assert page.exit_code == 0 and "Examples:\n  " in page.stdout, name
        assert "--json" in page.stdout and line[:20] in page.stdout, name


def test_version_and_no_command(command: Command) -> None:
    assert command("--version").stdout == f"armillary {arm.__version__}\n"
    assert command().exit_code == 0 and "Commands:" in command().stdout


def test_run_writes_results_and_echo(command: Command) -> None:
    done = command("run", "push.toml", "--set", "m=2", "--set", "run.duration=0.1", "-o", "out.csv")
    assert done.exit_code == 0 and "wrote out.csv" in done.stdout and "a push" in done.stdout
    run = arm.load_run("out.csv")
    assert run.time[-1] == 0.1 and run.parameters["m"] == 2.0
    echo = Path("out.echo.toml").read_text(encoding="utf-8")
    assert re.search(r"^m = 2\.0 +# kg; mass of the bob; command line$", echo, re.M)
    again = command("run", "out.echo.toml", "--quiet")
    assert again.exit_code == 0 and not again.stdout
    assert command("diff", "out.csv", "out.echo.csv", "--rtol", "0", "--atol", "0").exit_code == 0


def test_run_of_a_model_with_options(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_COMPILE", "full")  # tests are quick by themselves
    done = command("run", "swing.toml", "--duration", "100 ms", "--step", "0.01", "--method", "midpoint",
                   "--select", "height", "--json", "--tier", "quick")  # fmt: skip
    told = json.loads(done.stdout)
    assert told["ok"] and told["method"] == "midpoint" and told["samples"] == 11
    assert told["files"] == ["swing.csv", "swing.echo.toml"] and list(told["final"]) == ["height"]
    assert arm.load_run("swing.csv").info["tier"] == "quick"
    assert 'tier = "quick"' in Path("swing.echo.toml").read_text(encoding="utf-8")
    assert set(told["seconds"]) == {"load", "derive", "compile", "simulate", "save"}


def test_an_example_by_name(command: Command) -> None:
    """The published scenario of the car, as in Python; its numbers are compared in tests/verification."""
    done = command("run", "car", "--duration", "2", "--step", "0.025", "--method", "midpoint", "--json",
                   "--no-save")  # fmt: skip
    told = json.loads(done.stdout)
    run = car.system().derive().compile().simulate(2.0, step=0.025, method="midpoint")
    assert told["final"]["r"] == pytest.approx(run.final["r"], rel=1e-13) and told["units"]["r"] == "deg/s"
    assert not told["files"] and not list(Path().glob("car*"))


def test_a_run_that_fails_keeps_its_data(command: Command) -> None:
    done = command("run", "push.toml", "--set", "c=-300", "--set", "run.duration=100")
    assert done.exit_code == 1 and done.stderr.startswith("armillary: error: ")
    assert "the data so far are in 'push.csv'" in done.stderr
    assert 0 < arm.load_run("push.csv").time[-1] < 100


def test_diff_tells_differences(command: Command) -> None:
    for name, mass in (("a", "1"), ("b", "2")):
        command("run", "push.toml", "--set", f"m={mass}", "-o", f"{name}.csv", "--no-echo")
    done = command("diff", "a.csv", "b.csv", "--select", "height", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 1 and not told["ok"] and [d["name"] for d in told["differences"]] == ["height"]
    assert command("diff", "a.csv", "b.csv", "--rtol", "10").exit_code == 0


def test_diff_misses_an_output_that_is_gone(command: Command) -> None:
    command("run", "push.toml", "-o", "all.csv", "--no-echo")
    command("run", "push.toml", "-o", "one.csv", "--no-echo", "--select", "height")
    done = command("diff", "all.csv", "one.csv")
    assert done.exit_code == 1 and "only here: bob.q1, bob.u1, push, peak, damper" in done.stdout
    assert done.stdout.endswith("are equal in all 1 common outputs, and 5 are in one of them only\n")
    assert command("diff", "all.csv", "one.csv", "--common").exit_code == 0
    assert command("diff", "all.csv", "one.csv", "--select", "height").exit_code == 0


def test_diff_reads_what_an_exported_program_wrote(command: Command) -> None:
    command("run", "push.toml", "--no-echo")
    command("export", "python", "swing.toml")
    command("run", "push.toml", "--quiet")
    program = [sys.executable, "swing_python/swing.py", "push.echo.toml", "theirs.csv"]
    subprocess.run(program, check=True, capture_output=True)
    done = command("diff", "push.csv", "theirs.csv", "--rtol", "1e-12")
    assert done.exit_code == 0 and "note: one run has no units" in done.stdout, done.output
    assert command("plot", "theirs.csv", "push.csv", "height", "-o", "both.svg").exit_code == 0
    assert "height (mm)" in Path("both.svg").read_text(encoding="utf-8")


def test_plot_of_two_runs(command: Command) -> None:
    command("run", "push.toml", "-o", "a.csv", "--plot", "direct.svg")
    command("run", "push.toml", "--set", "m=3", "-o", "b.csv")
    done = command(
        "plot", "a.csv", "b.csv", "bob.q1", "--label", "light", "--label", "heavy", "-o", "both.svg"
    )
    assert done.exit_code == 0, done.stderr
    assert "<svg" in Path("direct.svg").read_text(encoding="utf-8") and Path("both.svg").stat().st_size > 1000
    assert command("plot", "bob.q1", "-o", "x.svg").exit_code == 2


def test_without_names_the_model_s_own_outputs_are_drawn(command: Command) -> None:
    command("run", "push.toml", "-o", "all.csv", "--plot", "direct.html")
    command("run", "push.toml", "-o", "two.nc", "--select", "bob.*")
    for run, drawn in (("all.csv", ["height"]), ("two.nc", ["bob.q1", "bob.u1"])):
        assert command("plot", run, "-o", "page.html").exit_code == 0
        assert re.findall(r'"label":"([^"]+)"', Path("page.html").read_text(encoding="utf-8")) == drawn
    assert re.findall(r'"label":"([^"]+)"', Path("direct.html").read_text(encoding="utf-8")) == ["height"]
    assert command("plot", "all.csv", "bob.u1", "--x", "bob.q1", "-o", "phase.html").exit_code == 0
    assert '"x":"bob.q1 (deg)"' in Path("phase.html").read_text(encoding="utf-8")


def test_a_plot_needs_a_display_or_a_file(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matplotlib.pyplot.get_backend", lambda: "Agg")
    command("run", "push.toml", "--quiet")
    done = command("plot", "push.csv", "height")
    assert done.exit_code == 2 and "no display to show a plot on; give a file, such as -o" in done.stderr
    assert command("plot", "push.csv", "-o", "push.svg").exit_code == 0
    assert "a push" in Path("push.svg").read_text(encoding="utf-8")  # the title of the run


def test_values_that_a_model_lacks_are_asked_for(command: Command) -> None:
    model = Path("swing.toml").read_text(encoding="utf-8")
    Path("swing.toml").write_text(model.replace("g = { value = 9.81, about", "g = { about"), encoding="utf-8")
    asked = "no value for parameter g: give [parameters] g = …, or --set g=…"
    assert asked in command("run", "push.toml").stderr and asked in command("check", "push.toml").stderr
    assert "'g' has no default: each run must give it" in command("check", "swing.toml").stdout
    assert command("run", "push.toml", "--set", "g=9.81", "--quiet").exit_code == 0


def test_derive_reports_and_prints_equations(command: Command) -> None:
    assert "1 degree of freedom" in command("derive", "swing.toml").stdout
    assert "bob.u1' = " in command("derive", "swing.toml", "--equations", "text").stdout
    told = json.loads(command("derive", "swing.toml", "--json").stdout)
    assert told["coordinates"] == ["bob.q1"] and told["operations"]["functions"] == 1
    assert "1 configuration of" in command("derive", "swing.toml", "--configurations").stdout
    told = json.loads(command("derive", "swing.toml", "--configurations", "--json").stdout)
    assert [entry["why"] for entry in told["configurations"]] == ["as derived"]
    latex = command("derive", "swing.toml", "--equations", "latex").stdout
    assert latex.count("{") == latex.count("}") and r"\sin" in latex and r"\end{document}" in latex
    pieces = command("derive", "swing.toml", "--pieces").stdout
    assert pieces.startswith("mass matrix\n  bob.u1, bob.u1  ") and "\ngravity\n  bob.u1  " in pieces
    handout = command("derive", "swing.toml", "--pieces", "--equations", "latex", "--speeds", "q'").stdout
    assert r"\ddot{q}_{1}" in handout and r"_{\text{gravity}}" in handout
    done = command("derive", "push.toml", "--equations", "html", "--section", "outputs", "-o", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert done.stdout == "wrote page.html\n" and "<math" in page and "length of the rod" in page
    assert "http" not in page  # nothing is fetched from anywhere


def test_check_finds_mistakes_and_doubts(command: Command) -> None:
    good = command("check", "push.toml")
    assert good.exit_code == 0 and "it seems to be: damping in moment damper" in good.stdout
    assert command("check", "push.toml", "--strict").exit_code == 1
    bad = command("check", "push.toml", "--set", "M=1", "--json")
    told = json.loads(bad.stdout)
    assert bad.exit_code == 2 and told["errors"] == [
        "command line: there is no parameter 'M'; did you mean 'm'?"
    ]


def test_examples_are_listed_shown_and_copied(command: Command) -> None:
    listed = json.loads(command("examples", "--json").stdout)["examples"]
    assert "car" in listed and not {"car_small", "car_study", "demo"} & listed.keys()  # those hold no model
    assert set(listed) == set(example_names())
    assert "def system" in command("examples", "show", "pendulum").stdout
    assert command("examples", "copy", "pendulum", "--to", "here").exit_code == 0
    assert Path("here/pendulum.py").is_file()
    twice = command("examples", "copy", "pendulum", "--to", "here")
    assert twice.exit_code == 2 and "exists already; --force overwrites it" in twice.stderr
    assert "did you mean 'pendulum'?" in command("examples", "show", "pendlum").stderr


def test_errors_are_written_to_stderr_and_name_the_file(command: Command) -> None:
    missing = command("plot", "missing.csv")
    assert missing.exit_code == 2 and "missing.csv" in missing.stderr and "display" not in missing.stderr
    checked = command("check", "push.toml", "--set", "M=1")
    assert checked.exit_code == 2 and "error: " in checked.stderr and "'M'" in checked.stderr
    assert "error:" not in checked.stdout and "1 error" in checked.stdout


def test_export_writes_a_program(command: Command) -> None:
    told = json.loads(command("export", "python", "swing.toml", "--json").stdout)
    assert told["path"] == "swing_python" and {"swing.py", "README.md"} <= set(told["files"])
    assert command("export", "python", "swing.toml", "-o", "none/x").exit_code == 2
    Path("swing_python/swing.py").write_text("mine")
    again = command("export", "python", "swing.toml")
    assert again.exit_code == 2 and "(swing.py); name another, or replace" in again.stderr
    assert command("export", "python", "swing.toml", "--force").exit_code == 0
    assert "Armillary" in Path("swing_python/swing.py").read_text()


def test_a_run_file_tells_formalism_and_values_of_what_is_made_of_it(command: Command) -> None:
    Path("other.toml").write_text(
        'model = "swing.toml"\n[parameters]\nm = 1.25\n[initial]\nbob.q1 = 7\n'
        '[run]\nformalism = "recursive"\nduration = 3\nstep = 0.02\n',
        encoding="utf-8",
    )
    assert json.loads(command("derive", "other.toml", "--json").stdout)["formalism"] == "recursive"
    given = command("derive", "other.toml", "--formalism", "kane", "--json")
    assert json.loads(given.stdout)["formalism"] == "kane"
    assert command("export", "fmu", "other.toml", "-o", "x.fmu", "--option", "binary=false").exit_code == 0
    with zipfile.ZipFile("x.fmu") as archive:
        text = archive.read("modelDescription.xml").decode()
    assert re.search(r'name="m".*?start="1\.25"', text, re.DOTALL)
    assert 'stopTime="3' in text and 'stepSize="0.02"' in text


ROBOT = """<robot name="arm">
  <link name="base"><inertial><mass value="5"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="forearm"><inertial><mass value="2"/><origin xyz="0 0 -0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="forearm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def test_robots_are_imported_as_the_command_says(command: Command) -> None:
    Path("arm.urdf").write_text(ROBOT, encoding="utf-8")
    told = command("run", "arm.urdf", "--duration", "0.1", "--no-save")
    assert "limits of joints are left out (stops= makes them): elbow" in told.stderr
    assert re.search(r"^  forearm.q1 +0 +rad", told.stdout, re.M)  # it has no outputs of its own
    both = command("run", "arm.urdf", "--duration", "0.1", "--no-save", "-o", "x.csv")
    assert both.exit_code == 2 and "so --output x.csv does not apply" in both.stderr
    quiet = command("run", "arm.urdf", "--duration", "0.1", "--no-save", "--quiet")
    assert quiet.exit_code == 0 and not quiet.output
    stopped = command(
        "derive", "arm.urdf", "--import", "stops.stiffness=1e4", "--import", "floating=true", "--json"
    )
    assert "limits of joints" not in stopped.stderr and len(json.loads(stopped.stdout)["speeds"]) == 7
    wrong = command("derive", "arm.urdf", "--import", "flaoting=true")
    assert wrong.exit_code == 2 and "did you mean 'floating'?" in wrong.stderr
    named = command("run", "arm.urdf", "--duration", "1", "--set", "initial.elbow.q1=1")
    assert (
        "there is no coordinate, speed or state 'elbow.q1'; the file's joint 'elbow' has forearm.q1 here"
        in named.stderr
    )


def test_machine_code_that_a_model_names_is_loaded_only_where_the_command_says_so(
    command: Command,
) -> None:
    model = Path("swing.toml").read_text(encoding="utf-8")
    Path("swing.toml").write_text(
        model + '\n[fmus.unit]\nfile = "unit.fmu"\nevery = 0.01\n', encoding="utf-8"
    )
    for name in ("run", "check", "derive", "bench"):
        assert "--trust on the command line" in command(name, "push.toml").output, name
        trusted = command(name, "push.toml", "--trust").output  # and then it is looked for
        assert "--trust on the command line" not in trusted and "unit.fmu" in trusted, name
    assert "--trust on the command line" in command("export", "c", "swing.toml").output
    assert "there is no" in command("export", "c", "swing.toml", "--trust").output
    with pytest.raises(arm.ArmillaryError, match="if you trust it"):
        arm.run("push.toml")
    with pytest.raises(arm.ArmillaryError, match="there is no"):
        arm.run("push.toml", trust=True)
    granted = "trust = true\n" + Path("push.toml").read_text(encoding="utf-8")
    Path("push.toml").write_text(granted, encoding="utf-8")
    assert "--trust on the command line" in command("run", "push.toml").stderr  # a file cannot grant it


def test_bench_measures(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_SLICE", 0.002)
    also = ["--with", "c"] if shutil.which("cc") else []
    told = json.loads(command("bench", "push.toml", *also, "--json").stdout)["seconds"]
    assert {"derive", "evaluation", "step"} <= set(told)
    assert all(value > 0 for key, value in told.items() if key != "step")  # a difference of two times
    assert ("evaluation in C" in told) == bool(also)


def test_verify_tells_expected_and_found(command: Command) -> None:
    done = command("verify", "pendulum", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["failed"] == 0 and all(row["passed"] for row in told["rows"])
    assert "expected" in command("verify", "pendulum").stdout
    assert "pendulum" in command("verify", "--list").stdout
    assert "did you mean 'pendulum'?" in command("verify", "pendulm").stderr


@pytest.mark.parametrize(("option", "shown"), [(None, True), ("--quiet", False), ("--json", False)])
def test_a_long_run_shows_a_bar_on_a_terminal_but_for_quiet_and_json(
    option: str | None, shown: bool, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armillary.runtime.progress.on_terminal", lambda: True)
    monkeypatch.setattr("armillary.cli.run._PATIENCE", -1.0)
    done = command("run", "push.toml", "--no-save", *([option] if option else []))
    assert done.exit_code == 0 and ("simulating" in done.stderr) == shown


def test_schema_completion_info(command: Command) -> None:
    assert json.loads(command("schema").stdout)["properties"]["bodies"]
    runs = json.loads(command("schema", "run").stdout)["properties"]
    assert set(runs) == {"model", "title", *TABLES, *ANALYSES}
    assert set(runs["run"]["properties"]) == set(FIXED["run"])
    assert set(runs["output"]["properties"]) == set(FIXED["output"])
    for shell in ("bash", "zsh", "fish"):
        assert "_ARMILLARY_COMPLETE" in command("completion", shell).stdout
    told = json.loads(command("info", "--json").stdout)
    assert told["versions"]["numpy"] and "cc" in told["compilers"]


def test_the_cache_is_shown_and_cleared(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_CACHE", "kept")
    command("run", "push.toml", "--quiet")
    told = json.loads(command("info", "--json").stdout)["cache"]
    assert told["folder"] == "kept" and told["files"] > 0 and told["bytes"] > 1000
    cleared = json.loads(command("info", "--clear-cache", "--json").stdout)
    assert cleared["removed"] == told["files"] and cleared["cache"]["files"] == 0
    monkeypatch.setenv("ARMILLARY_CACHE", "off")
    assert "cache of compiled models: off" in command("info").stdout


def test_the_command_and_the_examples_are_in_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"armillary": "armillary.cli:main"}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"]["examples"] == "armillary/_examples"
    assert {"car", "pendulum", "stanford_arm"} <= set(example_names())


@pytest.mark.parametrize(
    ("words", "cword", "offered"),
    [
        ("armillary ru", 1, ["run"]),
        ("armillary run pus", 2, ["push.toml"]),
        ("armillary run push.toml --set m", 4, ["m=", "m"]),
        ("armillary run push.toml --set initial.", 4, ["initial.bob.q1=", "initial.bob.u1="]),
        ("armillary derive stanf", 2, ["stanford_arm"]),
        ("armillary derive fourt", 2, ["fourteen_freedom_car"]),
        ("armillary run push.toml --method dop", 4, ["dopri5", "dop853"]),
        ("armillary derive push.toml --formalism re", 4, ["recursive", "redundant"]),
        ("armillary export for", 2, ["fortran"]),
    ],
)
def test_completion_offers_commands_files_and_names(
    words: str, cword: int, offered: list[str], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_ARMILLARY_COMPLETE", "bash_complete"), ("COMP_WORDS", words)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(cword))
    found = [line.split(",", 1)[1] for line in command().stdout.splitlines()]
    assert set(found) & set(offered) == set(found) and found


def test_completion_offers_models_and_folders_with_their_paths(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for name in ("pump.toml", "pump.txt", "valve.toml"):
        (tmp_path / name).write_text("")

    def offered(begun: str) -> list[str]:
        with contextlib.chdir(tmp_path):
            items = ModelType().shell_complete(None, None, begun)  # type: ignore[arg-type]
        return [item.value for item in items]

    assert offered("p")[:2] == ["parts/", "pump.toml"]
    assert {"parts/", "pump.toml", "valve.toml"} < set(offered(""))
    assert "pump.txt" not in offered("")
    assert offered(f"{tmp_path}/pu") == [f"{tmp_path}/pump.toml"]
    assert offered(f"{tmp_path}/") == [f"{tmp_path}/{name}" for name in ("parts/", "pump.toml", "valve.toml")]
    assert offered("nowhere/x") == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("rnu", 2, "there is no command 'rnu'; did you mean 'run'? see 'armillary --help'"),
        ("run", 2, "Missing argument 'RUN_FILE|MODEL'; see 'armillary run --help'"),
        ("run push.toml --stepp 1", 2, "No such option"),
        ("run nothing.toml", 2, "there is no model file 'nothing.toml'"),
        ("run ful_car", 2, "there is no model file 'ful_car', and no example or vehicle of that name"),
        ("run single_track_car", 2, "how long is the run? give [run] duration, or --duration"),
        ("run swing.toml", 2, "how long is the run? give [run] duration, or --duration"),
        ("run push.toml --set m", 2, "--set 'm': write NAME=VALUE"),
        (
            "run push.toml --set m=-1",
            2,
            "body 'bob': its mass (by m) is -1 with these parameters; it must be 0 or more",
        ),
        ("run push.toml -o nowhere/x.csv", 2, "there is no folder 'nowhere' for the results"),
        ("run push.toml -o .", 2, "command line: '.' is not the name of a file for the results"),
        (f"run push.toml -o {150 * 'é'}.csv", 2, "command line: 'éééé"),
        ("run push.toml -o x.xls", 2, "'x.xls' has no known format"),
        ("derive push.toml --formalism cane", 2, "command line: formalism: there is no formalism 'cane'"),
        (
            "export c push.toml",
            2,
            "push.toml: an export to c has the model's own values and would lose its par",
        ),
        ("export cobol swing.toml", 2, "cannot export to 'cobol'; there are c, "),
        ("derive swing.toml --equations html --section nope", 2, "no section 'nope'"),
        ("derive swing.toml --form rows", 2, "--form and --speeds are for --pieces; add it"),
        ("derive swing.toml --pieces --section outputs", 2, "--section is for the program"),
        ("derive binary.toml", 2, "binary.toml:1: this is"),
        ("run swing.toml --duration 1 --set g=", 2, "command line: parameter 'g' needs a number"),
        ("completion", 2, "Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish; see"),
        ("plot none.csv -o x.svg", 2, "cannot load 'none.csv': there is no such file"),
        ("diff push.toml push.toml", 2, "'push.toml' has no known format"),
    ],
)
def test_errors_are_sentences_with_exit_codes(
    words: str, code: int, message: str, command: Command, recwarn: pytest.WarningsRecorder
) -> None:
    Path("binary.toml").write_bytes(b"\x00\xff\x13")
    before = sorted(os.listdir())
    done = command(*words.split())
    assert done.stderr.startswith(f"armillary: error: {message}"), done.stderr
    assert done.exit_code == code and "Traceback" not in done.stderr
    assert sorted(os.listdir()) == before  # nothing is left behind


def test_errors_as_json_have_file_and_line(command: Command) -> None:
    Path("bad.toml").write_text('model = "swing.toml"\n[parameters]\nM = 1\nq = 2\n', encoding="utf-8")
    done = command("run", "bad.toml", "--json")
    told = json.loads(done.stdout)
    assert (told["ok"], told["exit_code"]) == (False, 2)
    first, second = told["errors"]
    assert first == {"message": "there is no parameter 'M'; did you mean 'm'?", "file": "bad.toml", "line": 3}
    assert second["line"] == 4


def test_faults_interrupts_and_full_disks_are_told(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from armillary.run_files.execute import Simulation

    cases: list[tuple[BaseException, int, str]] = [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "push.csv"), 1, "'push.csv': No space left on device"),
        (MemoryError(), 1, "there is not enough memory for this"),
        (
            TypeError("x"),
            1,
            "an internal error of Armillary: TypeError: x; --debug shows where, please report it",
        ),
    ]
    for error, code, message in cases:

        def fail(*_: object, error: BaseException = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(Simulation, "save", fail)
        done = command("run", "push.toml")
        assert (done.exit_code, done.stderr.strip()) == (code, f"armillary: error: {message}")
    assert "Traceback" in command("run", "push.toml", "--debug").stderr


def test_colours_only_where_wanted(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = CliRunner().invoke(app, ["check", "push.toml"], color=True)
    assert "\x1b[" in coloured.stdout
    assert "\x1b[" not in command("check", "push.toml").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in CliRunner().invoke(app, ["check", "push.toml"], color=True).stdout


def test_check_doubts_grams_that_may_be_gravities(command: Command) -> None:
    more = '\n[outputs.ay]\nvalue = "bob.u1*bob.u1/9.81"\nunits = "g"\n'
    Path("swing.toml").write_text(Path("swing.toml").read_text() + more)
    assert "output 'ay' is in grams" in command("check", "swing.toml", "--no-derive").stdout
