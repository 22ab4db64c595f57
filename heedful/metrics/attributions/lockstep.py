"""Methods that mask words, for many examples at once: their rounds run side by side, so that batches are full."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heedful.metrics.attributions.methods import METHODS
from heedful.metrics.attributions.methods.method import Rounds
from heedful.records import generator


@dataclass(frozen=True)
class Game:
    """An example as a cooperative game of its words: the value of a subset is the probability of a label.

    Attributes:
        uid: uid of the example, which keys its random numbers.
        variant: How it was changed, or "".
        segments: Number of features per part: its words and its separator.
        full: The value with all features.
        nothing: The value with none.
    """

    uid: str
    variant: str
    segments: tuple[int, ...]
    full: float
    nothing: float


class Solution(NamedTuple):
    """The attributions of an example by one method.

    Attributes:
        phi: Contribution per feature: float64 [features].
        error: Standard error of phi over random masks: float64 [features]; nan where none is drawn.
        masks: Number of masks that the method has asked for.
    """

    phi: np.ndarray
    error: np.ndarray
    masks: int


Value = Callable[[np.ndarray, np.ndarray], np.ndarray]  # game int64 [inputs], hidden bool [inputs, features]


class _Running:
    """A method at work on one game."""

    def __init__(self, game: int, rounds: Rounds) -> None:
        self.game = game
        self.rounds = rounds
        self.asked = 0
        self.solution: Solution | None = None
        self.masks = np.zeros((0, 0), dtype=bool)
        self.go_on(None)

    def go_on(self, values: np.ndarray | None) -> None:
        """Give the values of the masks of the last round, and take the masks of the next."""
        try:
            self.masks = next(self.rounds) if values is None else self.rounds.send(values)
            self.asked += len(self.masks)
        except StopIteration as stop:
            phi, error = stop.value
            self.solution = Solution(phi, error, self.asked)

    @property
    def solved(self) -> Solution:
        """The solution, once no round is left."""
        assert self.solution is not None
        return self.solution

    @property
    def keys(self) -> list[bytes]:
        """A name for each mask of this round."""
        return [row.tobytes() for row in np.packbits(self.masks, axis=1)]


def solve(
    methods: Sequence[str], games: Sequence[Game], samples: int, seed: int, value: Value
) -> dict[str, list[Solution]]:
    """The attributions of every game by every method; masks of one game that coincide are valued once.

    Args:
        methods: Names of methods that mask words.
        games: The examples.
        samples: Masks for each game and method, at most.
        seed: The run's seed.
        value: The values of inputs in which features are hidden: float64 [inputs].

    Returns:
        Method to a solution for each game.
    """
    worth_by_game: list[dict[bytes, float]] = []
    for game in games:
        # the values with nothing and with everything are given, and are not asked for
        ends = np.packbits(np.repeat([[False], [True]], sum(game.segments), axis=1), axis=1)
        worth_by_game.append({ends[0].tobytes(): game.nothing, ends[1].tobytes(): game.full})
    running: dict[str, list[_Running]] = {name: [] for name in methods}
    for name in methods:
        for number, game in enumerate(games):
            rng = generator(seed, name, METHODS[name].VERSION, game.uid, game.variant)
            n = sum(game.segments)
            rounds = METHODS[name].explain(n, game.full, game.nothing, samples, rng, game.segments)
            running[name].append(_Running(number, rounds))
    while waiting := [run for several in running.values() for run in several if run.solution is None]:
        requests = [(run, run.keys) for run in waiting]
        _learn(requests, worth_by_game, max(sum(game.segments) for game in games), value)
        for run, keys in requests:
            run.go_on(np.array([worth_by_game[run.game][key] for key in keys], dtype=np.float64))
    return {name: [run.solved for run in several] for name, several in running.items()}


def _learn(
    requests: Sequence[tuple[_Running, list[bytes]]],
    worth_by_game: Sequence[dict[bytes, float]],
    width: int,
    value: Value,
) -> None:
    """Have the masks valued that are not known yet."""
    new: dict[tuple[int, bytes], np.ndarray] = {}
    for run, keys in requests:
        for key, mask in zip(keys, run.masks, strict=True):
            if key not in worth_by_game[run.game]:
                new.setdefault((run.game, key), mask)
    if not new:
        return
    hidden = np.zeros((len(new), width), dtype=bool)
    for row, mask in enumerate(new.values()):
        hidden[row, : len(mask)] = ~mask
    values = value(np.array([game for game, _ in new], dtype=np.int64), hidden)
    for (game, key), worth in zip(new, values.tolist(), strict=True):
        worth_by_game[game][key] = worth
