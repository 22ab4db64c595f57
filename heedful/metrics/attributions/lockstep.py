"""Run masking methods on many examples in lockstep: the rounds of all examples are evaluated together, in full
batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heedful.metrics.attributions.methods import METHODS
from heedful.metrics.attributions.methods.method import Rounds
from heedful.records import generator


@dataclass(frozen=True)
class Game:
    """An example as a cooperative game in which words are players: the value of a subset is the probability of a label.

    Attributes:
        uid: uid of the example, which keys its random numbers.
        variant: The change of the example, or "".
        segments: Number of features per part: its words and its separator.
        full: The value with all features.
        nothing: The value without features.
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
        error: Standard error of phi over random masks: float64 [features]; nan without random masks.
        masks: Number of masks that the method requested.
    """

    phi: np.ndarray
    error: np.ndarray
    masks: int


Value = Callable[[np.ndarray, np.ndarray], np.ndarray]  # game int64 [inputs], hidden bool [inputs, features]


class _Running(NamedTuple):
    """A method that is waiting for the values of the masks of its current round."""

    method: str
    game: int
    rounds: Rounds
    masks: np.ndarray
    keys: list[bytes]
    number: int


def solve(
    methods: Sequence[str], games: Sequence[Game], samples: int, seed: int, value: Value
) -> dict[str, list[Solution]]:
    """The attributions of every game by every method; equal masks of a game are evaluated once.

    Args:
        methods: Names of methods that mask words.
        games: The examples.
        samples: Largest number of masks per game and method.
        seed: The run's seed.
        value: Function that returns the values of inputs with hidden features: float64 [inputs].

    Returns:
        Maps each method to a solution per game.
    """
    values_by_game: list[dict[bytes, float]] = []
    for game in games:
        # the values without and with all features are given
        ends = np.packbits(np.repeat([[False], [True]], sum(game.segments), axis=1), axis=1)
        values_by_game.append({ends[0].tobytes(): game.nothing, ends[1].tobytes(): game.full})
    solutions: dict[str, dict[int, Solution]] = {method: {} for method in methods}
    waiting: list[_Running] = []

    def advance(method: str, game: int, rounds: Rounds, values: np.ndarray | None, masks_before: int) -> None:
        """Send the values of a round, and receive the masks of the next round or the solution."""
        try:
            masks = next(rounds) if values is None else rounds.send(values)
            keys = [row.tobytes() for row in np.packbits(masks, axis=1)]
            waiting.append(_Running(method, game, rounds, masks, keys, masks_before + len(masks)))
        except StopIteration as stop:
            phi, error = stop.value
            solutions[method][game] = Solution(phi, error, masks_before)

    for method in methods:
        for number, game in enumerate(games):
            rng = generator(seed, method, METHODS[method].VERSION, game.uid, game.variant)
            n = sum(game.segments)
            rounds = METHODS[method].explain(n, game.full, game.nothing, samples, rng, game.segments)
            advance(method, number, rounds, None, 0)
    while waiting:
        runs = waiting.copy()
        waiting.clear()
        _evaluate(runs, values_by_game, max(sum(game.segments) for game in games), value)
        for run in runs:
            values = np.array([values_by_game[run.game][key] for key in run.keys], dtype=np.float64)
            advance(run.method, run.game, run.rounds, values, run.number)
    return {method: [of_games[game] for game in range(len(games))] for method, of_games in solutions.items()}


def _evaluate(runs: Sequence[_Running], values_by_game: Sequence[dict[bytes, float]], width: int, value: Value) -> None:
    """Evaluate all masks without a value in one call."""
    new: dict[tuple[int, bytes], np.ndarray] = {}
    for run in runs:
        for key, mask in zip(run.keys, run.masks, strict=True):
            if key not in values_by_game[run.game]:
                new.setdefault((run.game, key), mask)
    if not new:
        return
    hidden = np.zeros((len(new), width), dtype=bool)
    for row, mask in enumerate(new.values()):
        hidden[row, : len(mask)] = ~mask
    values = value(np.array([game for game, _ in new], dtype=np.int64), hidden)
    for (game, key), of_mask in zip(new, values.tolist(), strict=True):
        values_by_game[game][key] = of_mask
