"""An FMU that fails: which of its functions may still be called, and what it said last."""

from __future__ import annotations

import ctypes
import math
import zipfile
from pathlib import Path

import pytest

import armillary as arm
from armillary.export.fmi import compile_library
from armillary.files.fmu.functions import make_step_functions
from tests.export.fmi.fmu_models import need_compiler
from tests.export.fmi.host import place_of_binary

# Answers what `answer` says to one of its functions, and counts the calls that end an instance.
SOURCE = """
typedef void (*logger)(void *, const char *, int, const char *, const char *);
typedef struct { logger log; void *others[4]; } callbacks;
#define SHOWN __attribute__((visibility("default")))
SHOWN int answer[3] = {0, 0, 0}; /* to ExitInitializationMode, DoStep, GetReal */
SHOWN int terminated = 0, freed = 0;
static const callbacks *told;
SHOWN void *fmi2Instantiate(
    const char *n, int k, const char *g, const char *r, const callbacks *c, int v, int l)
{ (void)n; (void)k; (void)g; (void)r; (void)v; (void)l; told = c; return &freed; }
SHOWN int fmi2SetupExperiment(void *c, int d, double t, double s, int e, double f)
{ (void)c; (void)d; (void)t; (void)s; (void)e; (void)f; return 0; }
SHOWN int fmi2EnterInitializationMode(void *c) { (void)c; return 0; }
SHOWN int fmi2ExitInitializationMode(void *c) { (void)c; return answer[0]; }
SHOWN int fmi2SetReal(void *c, const unsigned *r, unsigned long n, const double *v)
{ (void)c; (void)r; (void)n; (void)v; return 0; }
SHOWN int fmi2GetReal(void *c, const unsigned *r, unsigned long n, double *v)
{ (void)c; (void)r; (void)n; v[0] = 3.0; return answer[2]; }
SHOWN int fmi2DoStep(void *c, double t, double h, int n)
{
    (void)c; (void)t; (void)h; (void)n;
    for (int i = 0; i < 2000; i++)
        told->log(0, "x", 1, "", i < 1999 ? "chatter" : "the last word");
    return answer[1];
}
SHOWN int fmi2Terminate(void *c) { (void)c; terminated++; return 0; }
SHOWN void fmi2FreeInstance(void *c) { (void)c; freed++; }
"""
DESCRIPTION = """<fmiModelDescription fmiVersion="2.0" modelName="moody" guid="g">
<CoSimulation modelIdentifier="moody"/>
<ModelVariables>
<ScalarVariable name="y" valueReference="1" causality="output"><Real/></ScalarVariable>
</ModelVariables>
</fmiModelDescription>"""


@pytest.fixture(scope="module")
def moody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_compiler()
    folder, suffix = place_of_binary("2.0")
    path = tmp_path_factory.mktemp("moody") / "moody.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION)
        archive.writestr(f"{folder}/moody{suffix}", compile_library({"moody.c": SOURCE}, suffix))
    return path


@pytest.mark.parametrize(
    ("place", "status", "terminated", "freed"),
    [
        (1, 0, 1, 1),  # nothing failed
        (1, 2, 1, 1),  # a step refused
        (1, 3, 0, 1),  # an error
        (1, 4, 0, 0),  # a fatal one
        (2, 3, 0, 1),  # an error of an output
        (0, 3, 0, 1),  # one before the run began
        (0, 4, 0, 0),
    ],
)
def test_after_a_failure_only_what_the_standard_allows_is_called(
    moody: Path, place: int, status: int, terminated: int, freed: int
) -> None:
    found = arm.fmu(moody)
    element = make_step_functions(found, "moody", 1e-3, {}, [], [found.outputs["y"]])
    code = element.library.code
    (ctypes.c_int * 3).in_dll(code, "answer")[place] = status
    if place == 0:
        with pytest.raises(arm.SimulationError, match=f"ExitInitializationMode failed, status {status}"):
            element.start.value(0.0)
    else:
        value = element.steps[0].value(element.start.value(0.0), 1e-3)
        assert value == 3.0 if status < 2 else math.isnan(value)
        said = element.start.complaint()
        assert said == ("" if status < 2 else "FMU 'moody' failed at t = 0.001 s: the last word")
    element.start.instances.release()
    assert [ctypes.c_int.in_dll(code, name).value for name in ("terminated", "freed")] == [terminated, freed]
    if status == 4:
        with pytest.raises(arm.SimulationError, match="failed for good in an earlier run"):
            element.start.value(0.0)
