"""Attribute examples by the methods that need only predictions of masked inputs: LIME, SHAP and Owen values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from heedful.metrics.attributions import lime, owen, shap
from heedful.records import generator

LIME, SHAP, OWEN = "lime", "shap", "owen"
VERSIONS = {LIME: 1, SHAP: 1, OWEN: 1}  # per method; a change of the masks or of phi increases the version


@dataclass(frozen=True)
class Game:
    """An example as a cooperative game, whose players are its features: words and separators.

    A mask keeps some features. Its value is the probability of a label if all other features are masked.

    Attributes:
        uid: uid of the example.
        variant: The change of the example, "" for none.
        segments: Number of features of every part.
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
        error: Standard error per phi due to random masks, 0 if phi is exact, nan if unknown: float64 [features].
        masks: Number of masks that the method asked for, without the masks of all and of no features.
    """

    phi: np.ndarray
    error: np.ndarray
    masks: int


Value = Callable[[np.ndarray, np.ndarray], np.ndarray]  # games and masked features to values; see solve


def solve(
    methods: Sequence[str], games: Sequence[Game], samples: int, seed: int, value: Value
) -> dict[str, list[Solution]]:
    """Attribute each example (a game) by each method; equal masks of an example are evaluated once.

    Args:
        methods: Names of methods in :data:`VERSIONS`.
        games: The examples.
        samples: Largest number of masks per game and method, at least 2.
        seed: Seed of the run.
        value: Computes the value of every of several masked inputs: float64 [inputs]. It has two arguments: for each
            input, the index of its example in ``games``, int64 [inputs]; and which features are masked, bool [inputs,
            features].

    Returns:
        Maps each method to its solutions, in the order of ``games``.
    """
    ask = _Values(games, value)
    designs = {}
    for method in (method for method in methods if method != OWEN):
        for i, game in enumerate(games):
            rng = generator(seed, method, VERSIONS[method], game.uid, game.variant)
            designs[method, i] = design(method, sum(game.segments), samples, rng)
    values = ask([(i, masks) for (_, i), (masks, _) in designs.items()])
    solutions: dict[str, list[Solution]] = {method: [] for method in methods}
    for ((method, _), (masks, fit)), of_masks in zip(designs.items(), values, strict=True):
        number = int((masks.any(axis=1) & ~masks.all(axis=1)).sum())
        solutions[method].append(Solution(*fit(of_masks), number))
    if OWEN in methods:
        solutions[OWEN] = _in_rounds(games, samples, ask)
    return solutions


class _Values:
    """Computes values of masks, each once; the arguments are those of :func:`solve`."""

    def __init__(self, games: Sequence[Game], value: Value) -> None:
        self._value = value
        self._width = max(sum(game.segments) for game in games)
        self._known = {
            (i, np.packbits(np.full(sum(game.segments), kept)).tobytes()): end
            for i, game in enumerate(games)
            for kept, end in ((True, game.full), (False, game.nothing))
        }

    def __call__(self, asked: Sequence[tuple[int, np.ndarray]]) -> list[np.ndarray]:
        """Return the value of every mask: float64 [masks] per pair of a game and its masks, bool [masks, features]."""
        keys = [[(game, row.tobytes()) for row in np.packbits(masks, axis=1)] for game, masks in asked]
        new = {
            key: mask
            for of_game, (_, masks) in zip(keys, asked, strict=True)
            for key, mask in zip(of_game, masks, strict=True)
            if key not in self._known
        }
        if new:
            hidden = np.zeros((len(new), self._width), dtype=bool)
            for row, mask in zip(hidden, new.values(), strict=True):
                row[: len(mask)] = ~mask
            values = self._value(np.array([game for game, _ in new], dtype=np.int64), hidden)
            self._known.update(zip(new, values.tolist(), strict=True))
        return [np.array([self._known[key] for key in of_game]) for of_game in keys]


Fit = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # values of masks to phi and errors


def design(method: str, n: int, budget: int, rng: np.random.Generator) -> tuple[np.ndarray, Fit]:
    """Choose the masks of LIME or SHAP for ``n`` features: bool [masks, n]. Also return a function from their values to
    phi and its standard errors.
    """
    if method == LIME:
        masks = lime.neighbours(n, budget, rng)
        return masks, partial(lime.coefficients, masks)
    chosen = shap.coalitions(n, budget, rng)
    return chosen.masks, partial(shap.shapley, chosen)


def _in_rounds(games: Sequence[Game], budget: int, ask: _Values) -> list[Solution]:
    """Compute Owen values; a round of all games is evaluated together, so that the model predicts in full batches."""
    running = {i: owen.explain(game.segments, game.full, game.nothing, budget) for i, game in enumerate(games)}
    values: dict[int, Any] = dict.fromkeys(running)  # of the last masks
    numbers = [0] * len(games)
    solved: dict[int, Solution] = {}
    while running:
        asked = {}
        for i, rounds in running.items():
            try:
                asked[i] = rounds.send(values[i])
                numbers[i] += len(asked[i])
            except StopIteration as stop:
                solved[i] = Solution(stop.value, np.full(len(stop.value), np.nan), numbers[i])
        running = {i: running[i] for i in asked}
        values = dict(zip(asked, ask([*asked.items()]), strict=True))
    return [solved[i] for i in range(len(games))]
