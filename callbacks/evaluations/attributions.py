"""The evaluation "attributions": contributions of words to a prediction (Singhal et al. 2023, §3)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.blocks import slices_of
from heedful.callbacks.engine.evaluation import NEEDS_GOLD, Evaluation, Nothing, Plan, Setting, require_number
from heedful.callbacks.engine.inquiry import Ask, Subwords
from heedful.callbacks.engine.predictions import Pace, Predictions
from heedful.interventions import Swap, within_limit
from heedful.lightning_modules.outputs import Scale
from heedful.lightning_modules.processors.processor import Processor
from heedful.metrics import METRICS
from heedful.metrics.attributions import masking, shap
from heedful.metrics.attributions.attribution import GRADIENTS, SCHEMA, SEPARATOR
from heedful.metrics.attributions.masking import Game, Solution
from heedful.metrics.attributions.metric import AttributionSettings
from heedful.records import Composed, Examples, SettingError
from heedful.records.errors import suggestion
from heedful.records.rows import SPLIT

if TYPE_CHECKING:
    from heedful.lightning_modules.processors.hiding import HiddenWords

TOGETHER = 64  # examples whose masked inputs are predicted together
VERSIONS = masking.VERSIONS | {GRADIENTS: 1}  # of all methods


class Attributions(Evaluation):
    """Contribution (phi) of every word to the probability of the prediction, computed by masking words or by gradients.

    The examples are the same for every model. The evaluation runs only if ``--evaluations`` names it. results.json
    counts three kinds of examples:

    - "without_label": there is no label to explain, and the example is omitted;
    - "truncated": phi of a truncated word is 0 up to the error of the method;
    - "shap_scarce": ``samples`` is less than twice the words and separators, and SHAP shrinks phi towards equal values.

    Args:
        methods: lime, shap, owen, gradients, or several.
        samples: Largest number of masks for each example and method.
        examples: Number of examples to explain; null for all.
        steps: Number of integration points for gradients, each a forward and backward pass.
        explain: Explain the probability of the prediction, or of the gold label.
        scale: Explain a probability, or its log-odds.
        hide: Replace every token of a hidden word by the mask token (mask), or delete the word (delete).
        subwords: How the gradients of the tokens of a word are combined.
        shown: Number of examples that are also explained with a swapped part; the page shows up to ten pairs.
    """

    metric = METRICS["attributions"]
    by_default = False

    def __init__(
        self,
        methods: list[str] | str = "shap",
        samples: int = 256,
        examples: int | None = 100,
        steps: int = 32,
        explain: Literal["prediction", "gold"] = "prediction",
        scale: Scale = "probability",
        hide: Literal["mask", "delete"] = "mask",
        subwords: Subwords = "sum",
        shown: int = 10,
    ) -> None:
        methods = re.findall(r"[^\s,]+", methods) if isinstance(methods, str) else methods
        if unknown := [name for name in methods if name not in VERSIONS]:
            raise SettingError(f"attributions.methods {unknown[0]} does not exist. {suggestion(unknown[0], VERSIONS)}")
        require_number("attributions.samples", samples, least=2)
        require_number("attributions.examples", examples)
        require_number("attributions.steps", steps)
        require_number("attributions.shown", shown, least=0)
        if hide == "delete" and GRADIENTS in methods:
            raise SettingError(
                "attributions.hide delete makes inputs shorter, and gradients go from masked words to the words. "
                "Leave gradients out, or take mask."
            )
        self.methods = tuple(sorted(set(methods)))
        self.samples = samples
        self.examples = examples
        self.steps = steps
        self.explain = explain
        self.scale = scale
        self.delete = hide == "delete"
        self.subwords = subwords
        self.shown = shown

    def plan(self, setting: Setting) -> Plan | Nothing:
        if not self.methods:
            return Nothing("needs attributions.methods")
        data = setting.data
        if not (data.task.kind.has_labels and data.task.kind.exclusive) or data.task.pictures:
            return Nothing("explains classifiers of texts")
        if self.explain == "gold" and data.pool.is_unlabelled:
            return Nothing(f"{NEEDS_GOLD}: attributions.explain gold")
        within = SPLIT if data.splits_evaluated else None
        swaps = tuple(Swap(part, None, draws=1, within=within) for part in data.swap)
        inquiry = AttributionInquiry(self, swaps, self.examples)
        return Plan(data.pool, settings=AttributionSettings(self.scale), inquiry=inquiry)


@dataclass(frozen=True)
class Explained:
    """The inputs to explain: unchanged examples, and for some of these examples also a copy with a swapped part.

    Attributes:
        examples: The inputs, sorted by uid and variant.
        labels: Index of the label whose probability is explained: int64 [inputs].
        variants: "" for an unchanged example, or the change, such as "swap premise": texts [inputs].
    """

    examples: Composed
    labels: np.ndarray
    variants: np.ndarray

    def blocks(self) -> Iterator["Explained"]:
        """Yield the inputs in blocks; all variants of an example are in the same block."""
        ends = np.append(np.flatnonzero(np.diff(self.examples.positions)) + 1, len(self.examples))
        begin = 0
        while begin < len(self.examples):
            end = int(ends[min(np.searchsorted(ends, begin + TOGETHER), len(ends) - 1)])
            yield Explained(self.examples[begin:end], self.labels[begin:end], self.variants[begin:end])
            begin = end


@dataclass(frozen=True, eq=False)
class AttributionInquiry:
    """Computes attributions by querying the model; see :class:`~heedful.callbacks.engine.inquiry.Inquiry`.

    Attributes:
        asked: The settings.
        swaps: The swaps of parts, one per part.
        limit: Number of examples to explain; None for all.
    """

    asked: Attributions
    swaps: tuple[Swap, ...]
    limit: int | None
    name: ClassVar[str] = "explanations"
    version: ClassVar[int] = 1
    draws: ClassVar[int] = 0
    schema: ClassVar[pa.Schema] = SCHEMA

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(swap.part for swap in self.swaps)

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        asked = self.asked
        versions = (VERSIONS[name] for name in asked.methods)
        of_swaps = (setting for swap in self.swaps for setting in swap.settings)
        words = asked.explain == "gold", asked.scale, asked.delete, asked.subwords
        shown = asked.shown if self.swaps else 0
        return *asked.methods, *versions, asked.samples, asked.steps, shown, *words, *of_swaps

    def require(self, processor: Processor, pool: Examples) -> None:
        from heedful.lightning_modules.processors.hiding import HiddenWords  # imports transformers

        HiddenWords(processor, Composed(pool, np.arange(min(1, len(pool)))), pool.parts, self.asked.delete)

    def rows(self, pool: Examples, base: Predictions, ask: Ask, seed: int) -> Iterator[pa.Table]:
        explained = self._explained(pool, base, ask, seed)
        pace = Pace("Attributions", len(explained.examples))
        for block in explained.blocks():
            yield self._block(block, ask, seed)
            pace.advance(len(block.examples))

    def _explained(self, pool: Examples, base: Predictions, ask: Ask, seed: int) -> Explained:
        """Select the inputs to explain. The selection is the same for every model, and a smaller limit selects a
        subset.

        Selected examples without a label to explain are counted and omitted; no other examples replace them.
        """
        answers = pool.texts("label", base.positions) if self.asked.explain == "gold" else base.texts
        labels = np.full(len(pool), -1, dtype=np.int64)
        labels[base.positions] = pc.index_in(answers, pa.array(ask.labels)).fill_null(-1).to_numpy()
        selected = within_limit(self, pool, base.positions, seed)
        unchanged = selected[labels[selected] >= 0]
        ask.counts["without_label"] += len(selected) - len(unchanged)
        variants: dict[str, tuple[np.ndarray, Mapping[str, np.ndarray]]] = {"": (unchanged, {})}
        if self.asked.shown:
            shown = within_limit(replace(self, limit=self.asked.shown), pool, unchanged, seed)
            for swap in self.swaps:
                changes = swap.changes(pool, shown, seed)
                variants[f"swap {swap.part}"] = changes.positions, changes.lenders
        changed = variants.values()
        names = np.repeat([*variants], [len(positions) for positions, _ in changed])
        positions = np.concatenate([positions for positions, _ in changed])
        lenders = {
            part: np.concatenate([lent.get(part, positions) for positions, lent in changed])
            for part in dict.fromkeys(part for _, lent in changed for part in lent)
        }
        order = np.lexsort([names, np.argsort(pool.uid_order)[positions]])
        examples = Composed(pool, positions, lenders).take(order)
        return Explained(examples, labels[examples.positions], names[order])

    def _block(self, block: Explained, ask: Ask, seed: int) -> pa.Table:
        asked, examples, labels = self.asked, block.examples, block.labels
        words = ask.words(examples, asked.delete)
        is_own = block.variants == ""
        ask.counts["truncated"] += int(words.truncated[is_own].sum())
        if masking.SHAP in asked.methods:
            ask.counts["shap_scarce"] += int(shap.is_scarce(words.features[is_own], asked.samples).sum())

        def value(inputs: np.ndarray, hidden: np.ndarray) -> np.ndarray:
            return scaled(ask.hidden(words, inputs, hidden), labels[inputs], asked.scale)

        every = np.arange(len(examples))
        ends = np.repeat([False, True], len(examples))[:, None] & (np.arange(words.features.max()) >= 0)
        full, nothing = value(np.tile(every, 2), ends).reshape(2, -1)
        uids = examples.pool.uids.take(examples.positions).to_pylist()
        games = [*map(Game, uids, block.variants.tolist(), words.segments.T.tolist(), full, nothing)]
        solved = masking.solve([m for m in asked.methods if m != GRADIENTS], games, asked.samples, seed, value)
        if GRADIENTS in asked.methods:
            phi = ask.gradients(words, every, labels, asked.steps, asked.scale, asked.subwords)
            solved[GRADIENTS] = [
                Solution(values[:n], np.full(n, np.nan), asked.steps)
                for values, n in zip(phi, words.features.tolist(), strict=True)
            ]
        return _table(games, words, solved, _columns(block, ask))


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


def _columns(block: Explained, ask: Ask) -> pa.Table:
    """Return the columns that do not depend on the word or the method, with one row per input."""
    pool, positions = block.examples.pool, block.examples.positions
    return pa.table(
        {
            "uid": pool.uids.take(positions),
            "group": pool.clusters(ask.parts).take(positions),
            "content": pool.contents(ask.parts).take(positions),
            "gold": pc.if_else(pa.array(block.variants == ""), pool.texts("label", positions), None),
            "y": pa.array([ask.labels[label] for label in block.labels], pa.string()),
            "slices": slices_of(pool, positions),
        }
    )


def _features(words: "HiddenWords", i: int) -> Iterator[tuple[str, int, str]]:
    """Yield the part, the position in this part and the text of every feature of input ``i``."""
    for p, (part, texts) in enumerate(zip(words.parts, words.words[i], strict=True)):
        yield from ((part, place, text) for place, text in enumerate(texts))
        yield SEPARATOR, p, words.separators[p]


def _table(
    games: Sequence[Game], words: "HiddenWords", solved: Mapping[str, Sequence[Solution]], of_input: pa.Table
) -> pa.Table:
    """Return the rows of a block of inputs, one per word and method, sorted by their key."""
    rows: list[tuple] = []
    rank = {uid: k for k, uid in enumerate(dict.fromkeys(game.uid for game in games))}
    for i, game in enumerate(games):
        features = [*_features(words, i)]
        for method, solutions in solved.items():
            phi, error, masks = solutions[i]
            delta = game.full - game.nothing - float(phi.sum())
            same = VERSIONS[method], masks, game.full, game.nothing, delta, i
            rows += [
                (rank[game.uid], method, part, game.variant, place, text, of_word, None if np.isnan(e) else e, *same)
                for (part, place, text), of_word, e in zip(features, phi.tolist(), error.tolist(), strict=True)
            ]
    rows.sort(key=lambda row: row[:5])
    names = "intervention", "part", "variant", "draw", "word", "phi", "error"
    _, *columns, inputs = zip(*rows, strict=True)
    table: dict[str, Any] = dict(zip((*names, "version", "masks", "full", "nothing", "delta"), columns, strict=True))
    copied = of_input.take(pa.array(inputs, pa.int64()))
    table |= {name: copied[name].combine_chunks() for name in copied.column_names}
    return pa.table([pa.array(table[field.name], field.type) for field in SCHEMA], schema=SCHEMA)
