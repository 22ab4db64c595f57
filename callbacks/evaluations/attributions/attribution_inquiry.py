"""Compute attributions (contributions of words to a prediction) by querying the model in rounds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.batch_predictor import Pace
from heedful.callbacks.engine.blocks import slices_of
from heedful.callbacks.engine.inquiry import Ask, Subwords
from heedful.callbacks.engine.predictions import Predictions
from heedful.interventions import Swap, within_limit
from heedful.lightning_modules.outputs import Scale
from heedful.lightning_modules.processors.processor import Processor
from heedful.metrics.attributions.attribution import GRADIENTS, SCHEMA, SEPARATOR
from heedful.metrics.attributions.lockstep import Game, Solution, solve
from heedful.metrics.attributions.methods import METHODS, shap
from heedful.records import Composed, Examples, SettingError

if TYPE_CHECKING:
    from heedful.lightning_modules.processors.hiding import HiddenWords

TOGETHER = 64  # examples whose masked inputs are predicted together
VERSIONS = {name: method.VERSION for name, method in METHODS.items()} | {GRADIENTS: 1}
Solved = Mapping[str, Sequence[tuple[float, float, Solution]]]


@dataclass(frozen=True)
class Explained:
    """The inputs to explain: unchanged examples, and for some of these examples also a copy with a swapped part.

    Attributes:
        examples: The inputs, sorted by uid and variant.
        positions: int64 [inputs], positions of the unchanged examples in the pool.
        labels: int64 [inputs], index of the label whose probability is explained.
        variants: For each input "" if the example is unchanged, or the change, such as "swap premise".
    """

    examples: Composed
    positions: np.ndarray
    labels: np.ndarray
    variants: Sequence[str]

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks of inputs as int64 arrays of their indices; all variants of an example are in the same block."""
        ends = np.append(np.flatnonzero(np.diff(self.positions)) + 1, len(self.positions))
        begin = 0
        while begin < len(self.positions):
            end = int(ends[min(np.searchsorted(ends, begin + TOGETHER), len(ends) - 1)])
            yield np.arange(begin, end)
            begin = end


@dataclass(frozen=True)
class AttributionInquiry:
    """Computes the contribution of each word to the probability of a label by querying the model.

    Attributes:
        methods: Names of attribution methods, such as "shap", sorted.
        samples: Largest number of masks (choices of hidden words) per example and method.
        steps: Number of integration points for gradients.
        limit: Number of examples to explain; None for all.
        shown: Number of examples that are also explained with a part from another example.
        swaps: The swaps for these examples, one per swapped part.
        gold: Whether to explain the probability of the gold label instead of the prediction.
        scale: Whether to explain the probability or its log-odds.
        delete: Whether to delete hidden words instead of masking them.
        subwords: How the gradients of the tokens of a word are combined.
    """

    methods: tuple[str, ...]
    samples: int
    steps: int
    limit: int | None
    shown: int
    swaps: tuple[Swap, ...]
    gold: bool
    scale: Scale
    delete: bool
    subwords: Subwords
    name: ClassVar[str] = "explanations"
    version: ClassVar[int] = 1
    draws: ClassVar[int] = 0
    schema: ClassVar[pa.Schema] = SCHEMA

    @property
    def parts(self) -> tuple[str, ...]:
        """The swapped parts."""
        return tuple(swap.part for swap in self.swaps)

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        """All settings that the rows depend on, for the manifest (a hash of what is planned)."""
        versions = (VERSIONS[name] for name in self.methods)
        of_swaps = (setting for swap in self.swaps for setting in swap.settings)
        words = self.gold, self.scale, self.delete, self.subwords
        return *self.methods, *versions, self.samples, self.steps, self.shown, *words, *of_swaps

    def require(self, processor: Processor, pool: Examples) -> None:
        """Raise HeedfulError if the model's processor cannot hide words."""
        from heedful.lightning_modules.processors.hiding import HiddenWords  # imports transformers

        HiddenWords(processor, Composed(pool, np.arange(min(1, len(pool)))), pool.parts, self.delete)

    def rows(self, pool: Examples, base: Predictions, ask: Ask, seed: int) -> Iterator[pa.Table]:
        """Yield the rows in blocks; for the arguments, see :meth:`~heedful.callbacks.engine.inquiry.Inquiry.rows`."""
        explained = self._explained(pool, base, ask, seed)
        pace = Pace("Attributions", len(explained.positions))
        for block in explained.blocks():
            yield self._block(explained, block, ask, seed)
            pace.advance(len(block))

    def _explained(self, pool: Examples, base: Predictions, ask: Ask, seed: int) -> Explained:
        """Select the inputs to explain. The selection is the same for every model, and a smaller limit selects a
        subset.

        Selected examples without a label to explain are counted and omitted; no other examples replace them.
        """
        names = ask.labels
        answers = pool.texts("label", base.positions) if self.gold else base.texts
        is_label = pc.is_in(answers, value_set=pa.array(names)).to_numpy(zero_copy_only=False)
        of_pool = np.full(len(pool), -1, dtype=np.int64)
        of_pool[base.positions[is_label]] = pc.index_in(answers.filter(is_label), pa.array(names)).to_numpy()
        explained = within_limit(self, pool, base.positions, seed)
        has_label = of_pool[explained] >= 0
        ask.counts["without_label"] += int((~has_label).sum())
        explained = explained[has_label]
        entries = [("", explained, {})] + [
            ("swap " + swap.part, *self._swapped(pool, explained, swap, seed)) for swap in self.swaps
        ]
        positions = np.concatenate([places for _, places, _ in entries])
        variants = np.repeat([variant for variant, _, _ in entries], [len(places) for _, places, _ in entries])
        parts = dict.fromkeys(part for _, _, lenders in entries for part in lenders)
        lenders = {part: np.concatenate([lent.get(part, places) for _, places, lent in entries]) for part in parts}
        rank = np.empty(len(pool), dtype=np.int64)
        rank[pool.uid_order] = np.arange(len(pool))
        order = np.lexsort([variants, rank[positions]])
        examples = Composed(pool, positions, lenders).take(order)
        return Explained(examples, examples.positions, of_pool[examples.positions], variants[order].tolist())

    def _swapped(self, pool: Examples, explained: np.ndarray, swap: Swap, seed: int) -> tuple[np.ndarray, Mapping]:
        """Choose at most ``shown`` of the explained examples, and draw a partner for each chosen example.

        A partner is the example whose part replaces the chosen example's part. Examples without a partner are omitted.

        Returns:
            The positions of the chosen examples; and a mapping from each swapped part to the positions of the partners,
            one per chosen example. Both are int64 [chosen]. If ``shown`` is 0, both are empty.
        """
        if not self.shown:
            return np.zeros(0, dtype=np.int64), {}
        changes = swap.changes(pool, within_limit(replace(self, limit=self.shown), pool, explained, seed), seed)
        return changes.positions, changes.lenders

    def _block(self, explained: Explained, block: np.ndarray, ask: Ask, seed: int) -> pa.Table:
        examples = explained.examples.take(block)
        labels = explained.labels[block]
        words = ask.words(examples, self.delete)
        games_of_block = np.arange(len(block))
        is_own = [explained.variants[i] == "" for i in block]
        ask.counts["truncated"] += int(words.truncated[is_own].sum())
        if shap.NAME in self.methods:
            ask.counts["shap_scarce"] += int(shap.is_scarce(words.features[is_own], self.samples).sum())

        def value(positions: np.ndarray, hidden: np.ndarray) -> np.ndarray:
            return scaled(ask.hidden(words, positions, hidden), labels[positions], self.scale)

        ends = np.repeat([False, True], len(block))[:, None] & (np.arange(words.features.max()) >= 0)
        full, nothing = value(np.tile(games_of_block, 2), ends).reshape(2, -1)
        uids = examples.pool.uids.take(examples.positions).to_pylist()
        games = [
            Game(uid, variant, tuple(sizes), f, none)
            for uid, variant, sizes, f, none in zip(
                uids, (explained.variants[i] for i in block), words.segments.T.tolist(), full, nothing, strict=True
            )
        ]
        solved = solve([name for name in self.methods if name != GRADIENTS], games, self.samples, seed, value)
        if GRADIENTS in self.methods:
            phi = ask.gradients(words, games_of_block, labels, self.steps, self.scale, self.subwords)
            missing = np.full(phi.shape[1], np.nan)
            solved[GRADIENTS] = [
                Solution(column[:n], missing[:n], self.steps)
                for column, n in zip(phi, words.features.tolist(), strict=True)
            ]
        together = {
            method: [(game.full, game.nothing, solution) for game, solution in zip(games, solutions, strict=True)]
            for method, solutions in sorted(solved.items())
        }
        return _table(explained, block, words, together, self._input_columns(explained, block, ask))

    @staticmethod
    def _input_columns(explained: Explained, block: np.ndarray, ask: Ask) -> pa.Table:
        """Return a table with one row per input in the block, and the columns that do not depend on the word or the
        method: uid, group, content, gold, y and slices.
        """
        pool = explained.examples.pool
        positions = explained.positions[block]
        is_changed = pa.array([explained.variants[i] != "" for i in block])
        return pa.table(
            {
                "uid": pool.uids.take(positions),
                "group": pool.clusters(ask.parts).take(positions),
                "content": pool.contents(ask.parts).take(positions),
                "gold": pc.if_else(is_changed, pa.scalar(None, pa.string()), pool.texts("label", positions)),
                "y": pa.array([ask.labels[label] for label in explained.labels[block]], pa.string()),
                "slices": slices_of(pool, positions),
            }
        )


def scaled(probs: np.ndarray, labels: np.ndarray, scale: Scale) -> np.ndarray:
    """Return the probability of one label per input, or its log-odds: float64 [inputs].

    Args:
        probs: float64 [inputs, labels].
        labels: int64 [inputs], index of the label.
        scale: "probability" or "logit".

    Raises:
        SettingError: A probability is 0 or 1, so that its log-odds are infinite.
    """
    p = probs[np.arange(len(probs)), labels]
    if scale == "probability":
        return p
    remaining = probs.copy()  # the sum of the other labels: 1 - p would lose the digits of a p close to 1
    remaining[np.arange(len(probs)), labels] = 0
    with np.errstate(divide="ignore"):
        odds = np.log(p) - np.log(remaining.sum(axis=1))
    if broken := int((~np.isfinite(odds)).sum()):
        raise SettingError(
            f"attributions.scale logit: {broken:,} of {len(odds):,} inputs have a label with a probability of 0 or 1 "
            "in single precision, which has no log-odds. Take probability."
        )
    return odds


def _table(explained: Explained, block: np.ndarray, words: "HiddenWords", solved: Solved, about: pa.Table) -> pa.Table:
    """Convert the attributions of a block of inputs to rows, one per word, sorted by their key.

    Args:
        explained: All inputs.
        block: int64, indices of the inputs in the block.
        words: Words of the inputs in the block.
        solved: For each method and input: the model's value with all words, its value without words, and the solution,
            with the contribution of each word.
        about: The columns that are equal in all rows of an input, one row per input.
    """
    segments = sorted([(SEPARATOR, -1), *((part, p) for p, part in enumerate(words.parts))])
    starts = np.concatenate([np.zeros((1, len(block)), np.int64), np.cumsum(words.segments, axis=0)])
    rows: list[tuple] = []
    for together in np.split(np.arange(len(block)), np.flatnonzero(np.diff(explained.positions[block])) + 1):
        for method, solutions in solved.items():
            for part, p in segments:
                for i in together.tolist():
                    full, nothing, solution = solutions[i]
                    places = starts[1:, i] - 1 if p < 0 else np.arange(starts[p, i], starts[p + 1, i] - 1)
                    delta = full - nothing - float(solution.phi.sum())
                    same = method, part, explained.variants[block[i]], full, nothing, delta, solution.masks, i
                    texts = words.separators if p < 0 else words.words[i][p]
                    rows += [
                        (*same, number, text, phi, None if np.isnan(error) else error)
                        for number, (text, phi, error) in enumerate(
                            zip(texts, solution.phi[places].tolist(), solution.error[places].tolist(), strict=True)
                        )
                    ]
    names = "intervention", "part", "variant", "full", "nothing", "delta", "masks", "example", "draw", "word", "phi"
    columns = dict(zip((*names, "error"), zip(*rows, strict=True), strict=True))
    copied = about.take(pa.array(columns.pop("example"), pa.int64()))
    columns["version"] = [VERSIONS[method] for method in columns["intervention"]]
    columns |= {name: copied[name].combine_chunks() for name in copied.column_names}
    return pa.table([pa.array(columns[field.name], field.type) for field in SCHEMA], schema=SCHEMA)
