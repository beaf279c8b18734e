"""The compiled machine that orders operations: the same order as by its rules, read from scratch."""

import random

import pytest

from armillary.llvm.arrangement.order_and_registers import LATE, NO_EXCESS, UNITS, ModelMachine


def _order_by_the_rules(operands, latency, held, late, most, window, patient, excess):
    """Everything computed again for every operation: of those that can start the one with the longest chain
    behind it, or with the least change of the number of live values where more than ``most`` are alive, which
    a ``patient`` machine may wait for; chains longer than what is left by ``excess`` go first.
    """
    size = len(operands)

    def wait(a, user):
        return max(latency[a] - LATE, 1) if (user, a) in late else latency[a]

    users = [[i for i in range(size) if a in operands[i]] for a in range(size)]
    behind = [0] * size
    for i in reversed(range(size)):
        behind[i] = max([latency[i], *(wait(i, user) + behind[user] for user in users[i])])
    begun: dict[int, int] = {}  # to the cycle at which each has started
    cycle = started = 0
    while len(begun) < size:
        left = [[user for user in users[a] if user not in begun] for a in range(size)]
        alive = sum(held[a] and (not users[a] or bool(left[a])) for a in begun)
        first = next(i for i in range(size) if i not in begun)
        able = [
            i
            for i in range(min(size, first + window))
            if i not in begun and all(a in begun for a in operands[i])
        ]
        begin = {i: max([begun[a] + wait(a, i) for a in operands[i]], default=0) for i in able}

        def rank(i, now=cycle, begin=begin, left=left, alive=alive):
            late = begin[i] > now
            change = held[i] - sum(held[a] and left[a] == [i] for a in operands[i])
            first = UNITS * behind[i] >= size - len(begun) + excess
            saved = change if alive > most and (patient or not late) and not first else 0
            return late and not patient, late or not first, saved, late, begin[i] if late else -behind[i], i

        chosen = min(able, key=rank)
        if begin[chosen] > cycle:
            cycle, started = begin[chosen], 0
            if alive <= most or not patient:
                continue
        begun[chosen] = cycle
        started += 1
        if started == UNITS:
            cycle, started = cycle + 1, 0
    ahead: list[int] = []
    for i in range(size):
        ahead.append(max([ahead[a] + wait(a, i) for a in operands[i]], default=0))
    longest = max(behind, default=0)
    return list(begun), longest, [longest - a - b for a, b in zip(ahead, behind, strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_the_order_is_that_of_the_rules(seed):
    chance = random.Random(seed)
    size = 120
    operands = [
        sorted(chance.sample(range(max(0, i - 40), i), min(i, chance.randint(0, 3)))) for i in range(size)
    ]
    latency = [chance.choice((0, 2, 3, 4, 9)) for _ in range(size)]
    held = [chance.random() < 0.9 for _ in range(size)]
    late = [(i, chance.choice(own)) for i, own in enumerate(operands) if own and chance.random() < 0.3]
    found = set()
    cases = ((size, size, True), (6, size, True), (6, 16, True), (size, 16, False), (6, size, False))
    for limits in [*[(*case, NO_EXCESS) for case in cases], (6, size, False, -30)]:
        order, longest, spare = _order_by_the_rules(operands, latency, held, late, *limits)
        given = [[-1, *own] for own in operands]  # one operand of each is no other's value
        flat, counts = [a for own in given for a in own], [len(own) for own in given]
        machine = ModelMachine(flat, counts, latency, held, late)
        assert machine.longest_chain == longest and machine.spare == spare
        assert machine.order(*limits) == order
        found.add(tuple(order))
    assert len(found) == 6  # all limits matter


def test_no_operations_have_no_order():
    machine = ModelMachine([], [], [], [])
    assert machine.longest_chain == 0 and machine.order(60, 0, True) == []
