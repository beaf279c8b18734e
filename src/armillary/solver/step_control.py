"""The control of steps by an error estimate, in the small language of language.py.

Runs in the process, lanes of many runs and exported programs all have these functions. The lanes of
ensembles/engines compute both sides of a branch, so the functions that they share have one return, at the
end, and assign no vector inside a branch. Lanes, and in the process all explicit methods, replace `squares`
by the function of solver/llvm/functions.py.

Source: Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential Equations I, II.4 and II.10; for the
next step see StepControl in solver/methods/tableau.py.

Values inside a step come from its polynomial,
 y + s(F0 + (1-s)(F1 + s(F2 + (1-s) F3))), s = 0..1, as in solver/methods/tableau.py.
"""

from __future__ import annotations

from armillary.solver.language.language import *
from armillary.solver.record import RunRecord
from armillary.solver.thresholds import AT_REST, LEAST_ERROR, LEAST_TOLERATED, MOST_FORCED


def prepare(run: RunRecord) -> None:
    """Compute the coefficients of the dense output of the step just taken, unless it is done."""
    if run.prepared:
        return
    run.prepared = True
    set_nests(run)


def set_nests(run: RunRecord) -> None:
    """Compute the coefficients of the dense output. If the error estimate needed the rate at the end, that
    rate belongs to the state before normalisation.
    """
    run.nest0 = run.finish - run.base
    run.nest1 = run.h_taken * run.k0 - run.nest0
    run.nest2 = run.nest0 - run.h_taken * run.k_end - run.nest1
    if FURTHER_TERMS:
        dense_terms(run)


def across_state(run: RunRecord, theta: real) -> None:
    """Compute the state at the fraction theta of a step across a singular configuration."""
    for m in range(N_STATES):
        nest: real = 0.0
        turned: truth = True  # the factors of coefficients alternate between 1 - s and s
        for n in range(N_NESTS):
            factor: real = 1.0 - theta if turned else theta
            nest = run.nests[at(n, N_STATES, m)] + factor * nest
            turned = not turned
        nest = run.nest2[m] + (1.0 - theta) * nest
        nest = run.nest1[m] + theta * nest
        nest = run.nest0[m] + (1.0 - theta) * nest
        run.point[m] = run.base[m] + theta * nest


def probe(run: RunRecord, x: real) -> None:
    """Compute the state at t_old + x, inside the step just taken."""
    prepare(run)
    if PASSING and run.passing:
        across_state(run, x / run.h_taken)
    else:
        dense_state(run, x / run.h_taken)
    run.point = normalise(run.t_old + x, run.point)


def tolerate(run: RunRecord) -> None:
    """Set the tolerated error of each state in a step: atol + rtol max(|y|, |y1|)."""
    # Rounding removes the last term unless a state and its absolute tolerance are zero.
    run.tolerated = run.atol + run.rtol * max(abs(run.state), abs(run.trial)) + LEAST_TOLERATED


def squares(run: RunRecord, values: States) -> real:
    """Return the sum of (value / tolerated error)^2 over the states."""
    total: real = 0.0
    for i in range(N_STATES):
        ratio: real = values[i] / run.tolerated[i]
        total = total + ratio * ratio
    return total


def root_mean(run: RunRecord, total: real) -> real:
    """Return the root of a sum divided by the number of states; NaN if the trial state is not finite."""
    states: real = float(N_STATES)
    if CONFIGURATIONS:
        states = float(run.used)
    found: real = sqrt(total / max(states, 1.0))
    if not is_finite(run.trial):
        found = NAN
    return found


def error_norm(run: RunRecord, h: real) -> real:
    """Return the root mean square of the error divided by the tolerated error. The two estimates of dop853
    are combined to e5^2 / sqrt(e5^2 + 0.01 e3^2).
    """
    error_ratios(run, h)
    tolerate(run)
    total: real = squares(run, run.ratio)
    if has_two_errors(run):
        both: real = total + 0.01 * squares(run, run.ratio_low)
        if not differs(both, 0.0):
            both = 1.0
        total = total * total / both
    return root_mean(run, total)


def first_step(run: RunRecord) -> None:
    """Choose the first step from the sizes of y, of f and of a difference of f."""
    run.trial = run.state
    tolerate(run)
    size_y: real = root_mean(run, squares(run, run.state))
    size_f: real = root_mean(run, squares(run, run.k0))
    guess: real = 1e-6
    if size_y >= 1e-5 and size_f >= 1e-5:
        guess = 0.01 * size_y / size_f
    # The step must not vanish beside t, even if the state is tiny, or rests late in a long run.
    least_step: real = 1024.0 * EPSILON * abs(run.t)
    guess = max(guess, least_step)
    guess = min(min(guess, run.max_step), run.t_end - run.t)
    run.stage = run.state + guess * run.k0
    run.k_end = derivatives(run.t + guess, run.stage)
    run.stage = run.k_end - run.k0
    largest: real = max(root_mean(run, squares(run, run.stage)) / guess, size_f)
    other: real = max(max(1e-6, 1e-3 * guess), least_step)
    if not (largest <= 1e-15):
        other = power(0.01 / largest, 1.0 / run.order)
    run.h = min(min(other, 100.0 * guess), run.max_step)
    run.error_old = LEAST_ERROR
    run.after_rejection = False


def is_at_rest(run: RunRecord) -> truth:
    """Return whether the trial state is the state at the start of the step, up to a share of the tolerated
    errors. If rates and events depend on states alone, nothing can have happened between the two.
    """
    still: truth = True
    for i in range(N_STATES):
        still = still and abs(run.trial[i] - run.state[i]) <= AT_REST * run.tolerated[i]
    return still


def is_too_short(run: RunRecord, h: real) -> truth:
    """Return whether a step is too short to change the time."""
    return not (h > 16.0 * EPSILON * abs(run.t))


def is_at_kink(run: RunRecord) -> truth:
    """Return whether only sensitivities need a step that is too short to change the time: their rates jump
    where the motion has a kink, such as a limit. A few of the shortest steps lead across; their error is as
    small as the rounding of the time.
    """
    found: truth = True
    if float(run.forced) >= MOST_FORCED:
        found = False
    for i in range(N_STATES):
        if below(i, run.own) and not (abs(run.ratio[i]) <= run.tolerated[i]):
            found = False
    return found and is_finite(run.trial)


def reaches(run: RunRecord, h: real, target: real) -> truth:
    """Return whether the step should end at the target. A step becomes up to 1 % longer to reach it, so that
    no sliver is left; the longest step may be exceeded by rounding only.
    """
    return target - run.t <= min(1.01 * h, (1.0 + 1e-9) * run.max_step)


def try_shorter(run: RunRecord, h: real, error: real, grown: real) -> None:
    """Choose a step shorter than h, whose error is too large; `grown` is a power of the error."""
    # An error that is infinite or not a number gives no length, so a tenth of the step is tried.
    run.h = 0.1 * h
    if error < INFINITY:
        run.h = h / min(grown / run.safety, 1.0 / run.least)
    run.after_rejection = True


def choose_next(run: RunRecord, h: real, error: real, grown: real) -> None:
    """Choose the step after an accepted one of length h."""
    factor: real = grown / run.safety / power(run.error_old, run.beta)
    proposal: real = h / max(1.0 / run.most, min(1.0 / run.least, factor))
    if run.after_rejection:
        proposal = min(proposal, h)
    run.h = min(proposal, run.max_step)
    run.error_old = max(error, LEAST_ERROR)
    run.after_rejection = False
