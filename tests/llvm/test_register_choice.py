"""The compiled choice of values in registers: the same steps as by its rules, read from scratch."""

import random

import pytest

from armillary.llvm.arrangement.order_and_registers import (
    ANYWHERE,
    BESIDE,
    DROP,
    FAR_IN_MEMORY,
    IN_REGISTER,
    KEEP,
    LET_GO,
    LOAD,
    NEAR,
    OPERATE,
    REPEATED,
    RESULT,
    SPILL,
    STORE_WAITING,
    WAIT,
    chosen_steps,
    compiled_choice,
)

NEVER = 1 << 60


class _Rules:
    """Registers hold at most ``size`` values, in the order in which these came. The value with the farthest
    next use goes; one that is in memory, unless it is wanted soon and another one later.
    """

    def __init__(self, operands, ways, made, results, single, loads, size, pairs):
        self.operands, self.size, self.pairs, self.single = operands, size, pairs, single
        self.held, self.waiting, self.in_memory = [], [], set(range(loads))
        self.steps = []
        for i, own in enumerate(operands):
            missing = [
                a for a, way in zip(own, ways[i], strict=True) if a not in self.held and way != ANYWHERE
            ]
            far = [
                (self.next_use(a, i + 1), own.index(a), a)
                for a in missing
                if ways[i][own.index(a)] == FAR_IN_MEMORY and self.next_use(a, i + 1) >= i + REPEATED
            ]
            for a in missing:
                if far and a == max(far)[2]:
                    continue
                self.make_room(i, i, own)
                self.say(LOAD, a)
                self.held.append(a)
            self.say(OPERATE, i)
            for a in own:
                if a in self.held and a not in self.waiting and self.next_use(a, i + 1) == NEVER:
                    self.drop(a)
            for j, partner, remembered in results[i]:
                self.store(made[i], j, partner, remembered, i)
            if self.next_use(made[i], i + 1) < NEVER or made[i] in self.waiting:
                self.make_room(i + 1, i + 1, ())
                self.held.append(made[i])
                self.say(KEEP, made[i])
            else:
                self.say(LET_GO, i)
        for value in self.waiting:
            self.say(STORE_WAITING, value)

    def say(self, step, place):
        self.steps.append((step, place))

    def next_use(self, value, after):
        return next((i for i in range(after, len(self.operands)) if value in self.operands[i]), NEVER)

    def drop(self, value):
        self.held.remove(value)
        self.say(DROP, value)

    def make_room(self, now, after, kept):
        if len(self.held) < self.size:
            return
        ranked = sorted([a for a in self.held if a not in kept], key=lambda a: -self.next_use(a, after))
        there = [a for a in ranked if a in self.in_memory]
        costly = [a for a in ranked if a not in self.in_memory]
        ends = [self.next_use(some[0], after) if some else -1 for some in (there, costly)]
        if ends[0] >= ends[1] or ends[0] >= now + NEAR:
            self.drop(there[0])
            return
        value, other = [*costly, None][:2]
        self.in_memory.add(value)
        if value in self.waiting:
            self.waiting.remove(value)
            self.say(STORE_WAITING, value)
        else:
            alone = [other is not None and self.single[a] and a not in self.waiting for a in (value, other)]
            if self.pairs and all(alone):
                self.in_memory.add(other)
                self.say(BESIDE, other)
            self.say(SPILL, value)
        self.drop(value)

    def store(self, value, j, partner, remembered, i):
        if partner in self.waiting:
            self.waiting.remove(partner)
            self.in_memory |= {value, partner}
            self.say(BESIDE, partner)
            self.say(RESULT, j)
            if self.next_use(partner, i + 1) == NEVER:
                self.drop(partner)
        elif partner >= 0 and partner not in self.in_memory:
            self.waiting.append(value)
            self.say(WAIT, value)
        else:
            self.say(RESULT, j)
            self.in_memory |= {value} if remembered else set()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pairs", [False, True])
def test_the_steps_are_those_of_the_rules(seed, pairs):
    chance = random.Random(seed)
    size, loads = 150, 12
    made = list(range(loads, loads + size))
    operands, ways, results = [], [], [[] for _ in range(size)]
    for i in range(size):
        recent = [*range(loads), *range(max(loads, loads + i - 30), loads + i)]
        operands.append(chance.sample(recent, chance.randint(1, 3)))
        # What is in memory in any case may be taken from there.
        ways.append(
            [
                chance.choice((IN_REGISTER, ANYWHERE, FAR_IN_MEMORY)) if a < loads else IN_REGISTER
                for a in operands[i]
            ]
        )
    single = [chance.random() < 0.8 for _ in range(loads + size)]
    couples = {}
    if pairs:
        alone = [i for i in range(size - 2) if single[loads + i] and chance.random() < 0.3]
        chance.shuffle(alone)
        couples = {a: b for x, y in zip(alone[::2], alone[1::2], strict=False) for a, b in ((x, y), (y, x))}
        couples[size - 1] = size - 2  # waits for a neighbour in vain, and is stored at the end
    count = 0
    for i in range(size):
        for _ in range(1 if i in couples else 0 if i == size - 2 else chance.choice((0, 0, 0, 1, 2))):
            results[i].append((count, loads + couples[i] if i in couples else -1, chance.random() < 0.8))
            count += 1
    flat = [result for own in results for result in own]
    found = chosen_steps(
        [a for own in operands for a in [-1, *own]],  # one operand of each is in no register of this kind
        [len(own) + 1 for own in operands],
        [way for own in ways for way in [IN_REGISTER, *own]],
        made,
        [len(own) for own in results],
        [partner for _, partner, _ in flat],
        [remembered for _, _, remembered in flat],
        single,
        loads,
        9,
        pairs,
        compiled_choice(),
    )
    expected = _Rules(operands, ways, made, results, single, loads, 9, pairs).steps
    assert [*zip(found.kinds.tolist(), found.places.tolist(), strict=True)] == expected
    assert not pairs or expected[-1] == (STORE_WAITING, loads + size - 1)
    assert {step for step, _ in expected} == set(range(10)) - (
        set() if pairs else {BESIDE, WAIT, STORE_WAITING}
    )
    for value, user in enumerate(found.last_user.tolist()):
        assert user == max([i for i, own in enumerate(operands) if value in own], default=-1)


def test_no_operations_have_no_steps():
    found = chosen_steps([], [], [], [], [], [], [], [], 0, 9, True, compiled_choice())
    assert len(found.kinds) == len(found.places) == 0
