"""Run attribution methods on many examples in lockstep, so that the model predicts in full batches.

A method asks for predictions on masked inputs in rounds; the rounds of all examples are evaluated together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heedful.metrics.attributions.methods import METHODS
from heedful.metrics.attributions.methods.method import Rounds
from heedful.records import generator


@dataclass(frozen=True)
class Game:
    """An example as a cooperative game: the players are features, and a subset has a value.

    Features are the words and separators of the example. The value of a subset is the probability of a label if all
    other features are masked.

    Attributes:
        uid: uid of the example.
        variant: The change of the example, "" for none.
        segments: Number of features (words and separator) of each part.
        full: Value of all features.
        nothing: Value of no features.
    """

    uid: str
    variant: str
    segments: tuple[int, ...]
    full: float
    nothing: float


class Solution(NamedTuple):
    """Attribution of an example by one method.

    Attributes:
        phi: Contribution per feature: float64 [features].
        error: Standard error per phi due to random masks, nan if unknown: float64 [features].
        masks: Number of masks that the method asked for.
    """

    phi: np.ndarray
    error: np.ndarray
    masks: int


Value = Callable[[np.ndarray, np.ndarray], np.ndarray]  # games and masked features to values; see solve


class _Running(NamedTuple):
    """The state of an attribution method on one example, which waits for the values of its current masks.

    Attributes:
        method: Name of the method.
        game: Index of the example.
        rounds: Generator of masks, which is sent their values.
        masks: The current masks, True for a feature that is kept: bool [masks, features].
        keys: The current masks as bytes.
        number: Number of masks that the method has asked for.
    """

    method: str
    game: int
    rounds: Rounds
    masks: np.ndarray
    keys: list[bytes]
    number: int


def solve(
    methods: Sequence[str], games: Sequence[Game], samples: int, seed: int, value: Value
) -> dict[str, list[Solution]]:
    """Attribute each example (a game) by each method; equal masks of an example are evaluated once.

    Args:
        methods: Names of methods in :data:`METHODS`.
        games: The examples.
        samples: Largest number of masks per game and method.
        seed: Seed of the run.
        value: Function that computes a value for each of several masked inputs, such as the probability of the label
            that is explained: float64 [inputs]. It has two arguments: for each input, the index of its example in
            ``games``, int64 [inputs]; and which features are masked, bool [inputs, features].

    Returns:
        Maps each method to its solutions, in the order of ``games``.
    """
    values_by_game: list[dict[bytes, float]] = []
    for game in games:
        # the values of no features and of all features are known
        ends = np.packbits(np.repeat([[False], [True]], sum(game.segments), axis=1), axis=1)
        values_by_game.append({ends[0].tobytes(): game.nothing, ends[1].tobytes(): game.full})
    solutions: dict[str, dict[int, Solution]] = {method: {} for method in methods}
    waiting: list[_Running] = []

    def advance(method: str, game: int, rounds: Rounds, values: np.ndarray | None, masks_before: int) -> None:
        """Run an attribution method on one example until the method asks for the next masks, or is done.

        The masks are added to ``waiting``; the solution of a method that is done is added to ``solutions``. ``game`` is
        the index of the example in ``games``. ``rounds`` is the generator of the method, which yields masks and is sent
        their values. ``values`` has the values of the last masks, None at the start. ``masks_before`` is the number of
        masks so far.
        """
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
    """Compute the missing results of the current masks of all ``runs``, in one call of the function ``value``.

    ``values_by_game`` maps, per game, masks as bytes to known results, and gets the new results. ``width`` is
    the largest number of features of a game. ``value`` is as in :func:`solve`.
    """
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
