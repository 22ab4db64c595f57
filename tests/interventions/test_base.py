"""What interventions share: examples made one by one as columns, and limits."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from heedful.interventions import EachExample, Null, within_limit
from heedful.records import Changed, Example, Examples

from changed_examples import made

POOL = Examples.of([Example(f"d/{i}", {"a": f"x{i}", "b": "y"}, "yes") for i in range(60)])

EXPECTS = ("leaves", None, "transitions/delete/any")  # of the changes of an example; None for that of the intervention


@dataclass(frozen=True)
class Shout(EachExample):
    """As many changed examples as the uid's last digit says, up to three, and none of uids that begin with d/1."""

    name: str = "shout"
    draws: int = 2
    parts: tuple[str, ...] = ("a", "b")
    expects: str = "stays"

    def covers(self, uid: str) -> bool:
        return not uid.startswith("d/1")

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        many = min(3, int(uid[-1]))
        examples = [Example(uid, {"a": f"{pool[uid].parts['a']} {draw} {seed} {k}", "b": "y"}) for k in range(many)]
        return [Changed(e, f"p{k}", f"v{k}", (uid, f"c{k}")[: 1 + k % 2], EXPECTS[k]) for k, e in enumerate(examples)]


@pytest.mark.parametrize("draws", [0, 1, 3])
@given(positions=st.lists(st.integers(0, 59), max_size=10, unique=True))
def test_changes_come_by_position_then_draw_then_as_they_were_made(positions, draws):
    shout = Shout(draws=draws)
    expected = [
        (i, draw, c.example, c.partner, c.variant, c.clusters, c.expects or "stays")
        for i in positions
        for draw in (range(draws) if draws else [-1])
        for c in shout.apply(POOL, POOL.uid(i), draw, 7)
    ]
    assert made(shout, POOL, positions, seed=7) == expected


@given(st.permutations(range(60)), st.integers(0, 70), st.integers(0, 70), st.integers(0, 2**32))
def test_limits_are_nested_keep_the_order_and_depend_on_the_eligible_alone(order, limit, larger, seed):
    limit, larger = sorted((limit, larger))
    positions = np.array(order[:50])
    few, more = (within_limit(Null(limit=n), POOL, positions, seed).tolist() for n in (limit, larger))
    assert (len(few), len(more)) == (min(50, limit), min(50, larger))
    assert set(few) <= set(more) <= set(order[:50])
    assert few == [i for i in order if i in set(few)]
    assert sorted(within_limit(Null(limit=limit), POOL, np.sort(positions), seed).tolist()) == sorted(few)
    turned = POOL.take(range(59, -1, -1))
    assert sorted(59 - i for i in within_limit(Null(limit=limit), turned, 59 - positions, seed)) == sorted(few)
    assert within_limit(Null(), POOL, positions, seed) is positions


def test_every_example_is_chosen_equally_often_and_apart_from_other_interventions():
    positions, counts, both = np.arange(60), np.zeros(60), np.zeros(600)
    for seed in range(600):
        chosen, other = (within_limit(Null(limit=20, name=name), POOL, positions, seed) for name in ("null", "other"))
        counts[chosen] += 1
        both[seed] = len(np.intersect1d(chosen, other))
    # a fixed number is chosen each time, so that counts vary less than if each had its own chance
    assert chisquare(counts).statistic * 3 / 2 < 110  # of chi-square with 59 degrees of freedom, 1 in 20,000
    assert abs(both.mean() - 20 / 3) < 4 * both.std() / np.sqrt(600)
    versions = [within_limit(Null(limit=20, version=v), POOL, positions, 0).tolist() for v in (1, 2)]
    assert versions[0] != versions[1]
