"""How many examples a study needs: studies of the size that is named reach their aim as often as it is said."""

from typing import NamedTuple

import numpy as np
import pytest

from heedful.metrics.statistics import study_size
from heedful.metrics.statistics.shares import difference, share
from heedful.metrics.statistics.study_size import OFTEN, Pilot, Told, Width, at_worst, examples_needed

pytestmark = pytest.mark.slow  # hundreds of data sets

EXAMPLES = 200  # of a pilot


class Truth(NamedTuple):
    """What examples are like.

    Attributes:
        value: The share of hits.
        draws: Of an example.
        of_draws: How often a draw is as the others of its example.
        size: Examples of a cluster.
        of_cluster: How often an example is as the others of its cluster.
        eligible: The share of examples that count.
    """

    value: float
    draws: int = 1
    of_draws: float = 0.0
    size: int = 1
    of_cluster: float = 0.0
    eligible: float = 0.7

    def sample(self, rng: np.random.Generator, examples: int, draws: int) -> np.ndarray:
        """Hits and of how many: float64 [clusters, draws, 1, 2]."""
        clusters = -(-examples // self.size)

        def drawn(*shape: int) -> np.ndarray:
            return rng.random(shape) < self.value

        def kept(often: float, *shape: int) -> np.ndarray:
            return rng.random(shape) < often

        shape = clusters, self.size
        of_example = np.where(kept(self.of_cluster, *shape), drawn(clusters, 1), drawn(*shape))
        hits = np.where(kept(self.of_draws, *shape, draws), of_example[..., None], drawn(*shape, draws))
        counts = kept(self.eligible, *shape)[..., None] & np.ones(draws, dtype=bool)
        return np.stack([(hits & counts).sum(axis=1), counts.sum(axis=1)], axis=-1)[:, :, None].astype(float)


def width_of(sums: np.ndarray) -> float:
    """Of the interval that results.json has: from one entry for each draw of each example."""
    hits, of = sums.sum(axis=1)[:, 0].T.astype(int)
    cluster = np.repeat(np.arange(len(of)), of)
    hit = np.concatenate([np.arange(n) < k for k, n in zip(hits, of, strict=True)])
    low, high = share(hit, cluster).ci95
    return high - low


def often(truth: Truth, width: float, pilots: int, studies: int, draws: int | None = None) -> tuple[float, float]:
    """How often studies have the width, over pilots and studies; and the mean size."""
    rng = np.random.default_rng(7)
    draws = draws or truth.draws
    reached, sizes = [], []
    for _ in range(pilots):
        pilot = Pilot(truth.sample(rng, EXAMPLES, truth.draws), EXAMPLES)
        sizes.append(examples_needed(pilot, Width(width), draws))
        reached += [width_of(truth.sample(rng, sizes[-1], draws)) <= width for _ in range(studies)]
    return float(np.mean(reached)), float(np.mean(sizes))


def pairs(rng: np.random.Generator, examples: int, one: float, other: float, alike: float) -> np.ndarray:
    """Hits of two models on the same examples, on which they often agree: float64 [examples, 1, 2, 2]."""
    first = rng.random(examples)
    second = np.where(rng.random(examples) < alike, first, rng.random(examples))
    hits = np.stack([first < one, second < other], axis=1)
    return np.stack([hits, np.ones_like(hits)], axis=-1)[:, None].astype(float)


def often_told(one: float, other: float, alike: float, pilots: int, studies: int) -> float:
    """How often studies tell two models apart whose difference is known."""
    rng = np.random.default_rng(8)
    told = []
    for _ in range(pilots):
        pilot = Pilot(pairs(rng, EXAMPLES, one, other, alike), EXAMPLES)
        n = examples_needed(pilot, Told(other - one), 1)
        for _ in range(studies):
            first, second = pairs(rng, n, one, other, alike)[:, 0, :, 0].T
            low, high = difference(second, first, np.arange(n)).ci95
            told.append(low > 0 if other > one else high < 0)
    return float(np.mean(told))


CLUSTERED = {"draws": 5, "of_draws": 0.7, "size": 4, "of_cluster": 0.3}


@pytest.mark.parametrize(
    "truth",
    [Truth(0.02), Truth(0.5), Truth(0.9, **CLUSTERED)],
    ids=["rare", "half", "clusters"],
)
def test_four_of_five_studies_have_the_width(truth: Truth, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 studies after 40 pilots: 80 % less two standard errors of 40, 13 points, since those of a pilot agree."""
    monkeypatch.setattr(study_size, "STUDIES", 40)
    found, _ = often(truth, 0.1, pilots=40, studies=5)
    assert found >= OFTEN - 2 * np.sqrt(OFTEN * (1 - OFTEN) / 40), found


def test_four_of_five_studies_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 studies after 25 pilots, as above; and not many more than four of five, since more cost more."""
    monkeypatch.setattr(study_size, "STUDIES", 40)
    found = often_told(0.95, 0.85, 0.7, pilots=25, studies=8)
    assert abs(found - OFTEN) <= 2 * np.sqrt(OFTEN * (1 - OFTEN) / 25), found


def singles(hits: int, of: int, draws: int = 1) -> Pilot:
    """Examples that each count, and are the same in all draws."""
    hit = np.repeat((np.arange(of) < hits)[:, None], draws, axis=1)
    return Pilot(np.stack([hit, np.ones_like(hit)], axis=-1)[:, :, None].astype(float), of)


def test_nothing_seen_does_not_say_that_there_is_nothing() -> None:
    few = examples_needed(singles(0, 200), Width(0.02), 1)
    assert few > 200
    assert examples_needed(singles(0, 50), Width(0.02), 1) > few
    assert examples_needed(singles(200, 200), Width(0.02), 1) == pytest.approx(few, rel=0.1)


def test_draws_that_agree_say_what_one_does() -> None:
    one, five = (examples_needed(singles(60, 200, 5), Width(0.05), draws) for draws in (1, 5))
    assert five == pytest.approx(one, rel=0.15)
    rng = np.random.default_rng(0)
    pilot = Pilot(Truth(0.5, 5, eligible=1.0).sample(rng, 200, 5), 200)
    one, five = (examples_needed(pilot, Width(0.1), draws) for draws in (1, 5))
    assert five < one / 3


def test_who_does_not_count_is_counted_in() -> None:
    all_count = examples_needed(singles(60, 200), Width(0.1), 1)
    half = Pilot(np.concatenate([singles(60, 200).sums, np.zeros((200, 1, 1, 2))]), 400)
    assert examples_needed(half, Width(0.1), 1) == pytest.approx(2 * all_count, rel=0.15)


def test_nothing_is_known() -> None:
    assert examples_needed(Pilot(np.zeros((9, 1, 1, 2)), 9), Width(0.1), 1) is None
    same = Pilot(np.ones((200, 1, 2, 2)), 200)
    assert same.value() == 0
    assert examples_needed(same, Told(0.05), 1) > 50  # none differs of 200, and still some may
    assert examples_needed(same, Told(-0.05), 1) > 50


def test_the_same_pilot_gives_the_same_size() -> None:
    sizes = {examples_needed(singles(60, 200), Width(0.1), 1) for _ in range(2)}
    assert len(sizes) == 1
    assert sizes.pop() <= at_worst(0.1) * 1.1
