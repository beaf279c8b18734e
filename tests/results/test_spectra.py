"""Spectra of runs against SciPy, and the weightings of ISO 2631-1 against its table 3."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from armillary.results.spectra import PowerSpectrum


def _run(t: np.ndarray, **columns: np.ndarray) -> arm.Run:
    return arm.Run(
        "noise", t, np.column_stack([*columns.values()]), tuple(columns), units=dict.fromkeys(columns, "m/s2")
    )


def test_the_density_of_a_run_is_that_of_scipy_and_its_integral_the_mean_square() -> None:
    from scipy.signal import welch

    rng = np.random.default_rng(0)
    t = np.arange(4096) * 0.01
    x, y = rng.normal(size=(2, 4096))
    found = _run(t, x=x, y=2 * y).psd(segment=2.56)
    f, density = welch(x, fs=100.0, nperseg=256)
    np.testing.assert_allclose(found.frequency, f)
    np.testing.assert_allclose(found["x"], density)
    assert found.rms("y") == pytest.approx(2.0, rel=0.05)  # 31 windows of noise
    assert found.rms("y", 10.0, 30.0) == pytest.approx(2.0 * np.sqrt(20 / 50), rel=0.1)
    assert "x (m/s²²/Hz)" in repr(found) or "x (m/s2²/Hz)" in repr(found)
    sine = _run(t, x=3 * np.sin(2 * np.pi * 8 * t)).psd("x")
    assert sine.rms("x") == pytest.approx(3 / np.sqrt(2), rel=1e-3)
    assert sine.rms("x", weighting="Wk") == pytest.approx(1.036 * 3 / np.sqrt(2), rel=2e-3)  # at 8 Hz


def test_runs_without_equal_steps_or_windows_are_refused() -> None:
    t = np.geomspace(1.0, 2.0, 100)
    with pytest.raises(ArmillaryError, match=r"equal steps of time; run with sample="):
        _run(t, x=t).psd()
    with pytest.raises(ArmillaryError, match=r"segments of 5\.0 s do not fit a run"):
        _run(np.linspace(0, 1, 101), x=np.ones(101)).psd(segment=5.0)


def test_a_root_mean_square_is_that_between_two_frequencies_ends_included() -> None:
    """A density of 2 over 1 to 3 Hz has the mean square 4; half of it lies on either side of 2 Hz."""
    f = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    found = PowerSpectrum("bench", f, np.array([[9.0, 2, 2, 2, 5]]).T, ("x",), {"x": "m"})
    assert found.rms("x", 1.0, 3.0) == pytest.approx(2.0)
    assert found.rms("x", 1.0, 2.0) == found.rms("x", 2.0, 3.0) == pytest.approx(np.sqrt(2.0))
    assert found.rms("x") == pytest.approx(np.sqrt(5.5 + 4.0 + 3.5))
    factors = arm.iso2631_weighting([1.0, 2.0], "Wd")
    assert found.rms("x", 1.0, 2.0, "Wd") == pytest.approx(np.sqrt(np.sum(factors**2)))
    assert repr(found) == "PowerSpectrum('bench': x (m²/Hz); 5 frequencies, 0 to 4 Hz)"
    none = PowerSpectrum("bench", np.zeros(0), np.zeros((0, 1)), ("x",))
    assert repr(none) == "PowerSpectrum('bench': x; 0 frequencies, empty)"


@pytest.mark.parametrize(("rows", "segment", "bins"), [(8, None, 5), (8, 8, 5), (20, 8, 5), (20, 20, 11)])
def test_a_segment_has_at_least_eight_rows_and_at_most_all(rows: int, segment: int | None, bins: int) -> None:
    t = 3.0 + 0.5 * np.arange(rows)
    found = _run(t, x=np.sin(t)).psd(segment=None if segment is None else 0.5 * segment)
    assert len(found.frequency) == bins and found.frequency[-1] == pytest.approx(1.0)  # half the rate of rows
    with pytest.raises(
        ArmillaryError, match=rf"do not fit a run of {0.5 * (rows - 1):g} s, rows every 0\.5 s"
    ):
        _run(t, x=t).psd(segment=0.5 * (rows + 1))
    with pytest.raises(ArmillaryError, match=r"segments of 3\.5 s do not fit"):
        _run(t, x=t).psd(segment=3.5)
    with pytest.raises(ArmillaryError, match="at least 8 rows at equal steps"):
        _run(t[:7], x=t[:7]).psd()


def test_weightings_have_no_sign_of_the_frequency_and_need_finite_ones() -> None:
    assert arm.iso2631_weighting([-8.0, 8.0]) == pytest.approx(1.036, abs=2e-3)
    assert arm.iso2631_weighting(0.0) == 0.0
    with pytest.raises(ArmillaryError, match="must be finite numbers in Hz"):
        arm.iso2631_weighting([1.0, np.inf])


# ISO 2631-1:1997, table 3: factors × 1000 at centre frequencies of third octaves, in three digits.
PUBLISHED = {
    "Wk": {0.1: 31.2, 0.2: 121, 0.25: 182, 0.5: 418, 1: 482, 2: 531, 4: 967, 5: 1039, 6.3: 1054, 8: 1036,
           16: 768, 31.5: 405, 63: 186, 80: 132},
    "Wd": {0.1: 62.4, 0.2: 243, 0.25: 365, 0.5: 853, 1: 1011, 2: 890, 4: 512, 5: 409, 6.3: 323, 8: 253,
           16: 125, 31.5: 63.2, 63: 29.5, 80: 21.1},
    "Wf": {0.1: 695, 0.16: 1006, 0.2: 992, 0.25: 854, 0.315: 619, 0.5: 224},
}  # fmt: skip


@pytest.mark.parametrize("kind", list(PUBLISHED))
def test_weightings_are_those_of_the_standard(kind: str) -> None:
    found = 1000 * arm.iso2631_weighting([*PUBLISHED[kind]], kind)
    np.testing.assert_allclose(found, [*PUBLISHED[kind].values()], rtol=3.5e-3)  # half of the third digit


# The same at the exact centre frequencies 10^(n/10) Hz of all third octaves from 0.1 to 80 Hz, as tables for
# instruments have them, in three digits.
EXACT = {
    "Wk": (31.2, 49.3, 77.6, 121, 183, 264, 350, 419, 459, 477, 482, 485, 493, 531, 633, 807, 965, 1039, 1054,
           1037, 988, 899, 774, 637, 510, 403, 316, 245, 186, 134),
    "Wd": (62.4, 98.7, 155, 242, 368, 533, 710, 854, 944, 991, 1011, 1007, 971, 891, 773, 640, 514, 408, 323,
           255, 202, 160, 127, 100, 79.6, 63.0, 49.6, 38.7, 29.5, 21.3),
}  # fmt: skip
# Factors at the reference frequency 100 rad/s of ISO 8041, in four digits.
REFERENCE = {"Wc": 0.5145, "Wd": 0.1261, "We": 0.06287, "Wj": 1.019}


def test_weightings_at_every_third_octave_and_at_the_reference_frequency() -> None:
    for kind, published in EXACT.items():
        found = 1000 * arm.iso2631_weighting(10.0 ** (np.arange(-10, 20) / 10), kind)
        digit = 10.0 ** (np.floor(np.log10(published)) - 2)
        assert np.all(np.abs(found - published) <= 0.51 * digit), kind
    for kind, factor in REFERENCE.items():
        found = float(arm.iso2631_weighting(100 / (2 * np.pi), kind))
        assert found == pytest.approx(factor, abs=0.51 * 10.0 ** (np.floor(np.log10(factor)) - 3))


def test_weightings_are_the_filters_of_the_standard() -> None:
    """The transfer function of Wk as polynomials, evaluated by SciPy."""
    from scipy.signal import freqs

    w1, w2, w3, w4, w5, w6 = 2 * np.pi * np.array([0.4, 100, 12.5, 12.5, 2.37, 3.35])
    high = [1, 0, 0], [1, np.sqrt(2) * w1, w1**2]
    low = [w2**2], [1, np.sqrt(2) * w2, w2**2]
    transition = [w4**2 / w3, w4**2], [1, w4 / 0.63, w4**2]
    step = [1, w5 / 0.91, w5**2], [1, w6 / 0.91, w6**2]
    f = np.geomspace(0.05, 300, 200)
    whole = np.prod(
        [np.abs(freqs(*part, worN=2 * np.pi * f)[1]) for part in (high, low, transition, step)], axis=0
    )
    np.testing.assert_allclose(arm.iso2631_weighting(f, "Wk"), whole, rtol=1e-10)
    with pytest.raises(ArmillaryError, match="there is no weighting 'Wx'"):
        arm.iso2631_weighting(1.0, "Wx")
