"""Query the model in rounds, for an evaluation whose later inputs depend on earlier answers (an inquiry)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.experiment import Experiment
from heedful.callbacks.engine.predictions import Predictions, require_finite
from heedful.datamodules.base.batches import EXAMPLES
from heedful.datamodules.base.processes import gather_patiently, is_first
from heedful.lightning_modules.outputs import Scale
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Composed, Examples, Spool

if TYPE_CHECKING:
    from heedful.lightning_modules.processors.hiding import HiddenWords

AT_ONCE = 32  # inputs of a forward and backward pass on a CPU, whose caches hold no more
Subwords = Literal["sum", "mean", "first"]


class Ask:
    """Queries the model. All ranks make the same calls; each rank predicts its share and gets all answers.

    Attributes:
        labels: The labels, in the order of the probabilities.
        parts: Names of all parts of the data; the model may read fewer.
        counts: "inputs" is the number of inputs predicted with hidden words, "gradients" the number of inputs times
            integration points; an inquiry adds other counts.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self.labels = experiment.task.distribution
        self.parts = experiment.parts
        self.counts: Counter[str] = Counter()

    def words(self, examples: Composed, delete: bool) -> "HiddenWords":
        """Return the words of examples, to hide them from the model by the mask token, or by deletion."""
        from heedful.lightning_modules.processors.hiding import HiddenWords  # imports transformers

        return HiddenWords(self._experiment.predictor.processor, examples, examples.pool.parts, delete)

    def hidden(self, words: "HiddenWords", examples: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Return the probabilities of the labels for inputs with hidden words: float64 [inputs, labels].

        Args:
            words: The words of the examples.
            examples: Index of the example in ``words``: int64 [inputs].
            hidden: Whether a feature (a word or a separator) is hidden: bool [inputs, features].
        """
        self.counts["inputs"] += len(examples)
        make = partial(words.inputs, examples, hidden)
        lengths = words.lengths(examples, hidden)
        return self._experiment.batches.probabilities(make, lengths, "inputs without words").astype(np.float64)

    def gradients(
        self,
        words: "HiddenWords",
        examples: np.ndarray,
        labels: np.ndarray,
        steps: int,
        scale: Scale,
        subwords: Subwords,
    ) -> np.ndarray:
        """Return the contribution of every feature to the probability of a label: float64 [inputs, features].

        The contributions are integrated gradients from an input in which all features are hidden.

        Args:
            words: The words of the examples.
            examples: Index of the example in ``words``: int64 [inputs].
            labels: The label to explain: int64 [inputs].
            steps: Number of integration points.
            scale: Whether to explain the probability or its log-odds.
            subwords: How the values of the tokens of a word are combined, see :func:`of_words`.
        """
        import torch

        from heedful.lightning_modules.gradients import integrated_gradients

        batches, processes = self._experiment.batches, self._experiment.processes
        width = int(words.features.max(initial=0))
        nothing = np.zeros((len(examples), width), dtype=bool)
        most = min(batches.size.examples, AT_ONCE if batches.is_on_cpu else EXAMPLES)
        together = batches.snug_batches(words.lengths(examples, nothing), max(1, most // steps), steps)

        def make(positions: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
            inputs = words.inputs(examples, nothing, positions)
            baselines = words.inputs(examples, ~nothing, positions)
            for batch, end, baseline in zip(positions, inputs, baselines, strict=True):
                yield {"inputs": end, "from": baseline["input_ids"], "labels": torch.from_numpy(labels[batch])}

        sums = np.zeros((len(examples), width))
        with processes.precision():  # around all batches, as in BatchPredictor.predict
            for batch, inputs in batches.shared(make, together, "integrated gradients"):
                (features,) = words.features_of_tokens(examples, [batch])
                ends = inputs["inputs"], inputs["from"]
                tokens = integrated_gradients(batches.predictor, *ends, inputs["labels"], steps, most, scale)
                sums[batch] = of_words(tokens.cpu().numpy(), features, width, subwords)
        self.counts["gradients"] += len(examples) * steps
        phi = sum(gather_patiently(sums))  # each input is computed on one rank and 0 on the others
        require_finite(int((~np.isfinite(phi)).any(axis=1).sum()), len(phi), "integrated gradients")
        return phi


def of_words(tokens: np.ndarray, features: np.ndarray, width: int, subwords: Subwords) -> np.ndarray:
    """Combine the values of the tokens of every word: their sum, their mean, or the first value.

    Args:
        tokens: Values of the tokens: float64 [inputs, tokens].
        features: Index of the word of every token, -1 for none: int64 [inputs, tokens].
        width: Maximum number of words of an input.
        subwords: "sum", "mean" or "first".

    Returns:
        The value of every word, 0 for a word without a token: float64 [inputs, width].

    Example:
        >>> of_words(np.array([[1.0, 3.0, 5.0, 9.0]]), np.array([[0, 0, 1, -1]]), 2, "mean").tolist()
        [[2.0, 5.0]]
    """
    counted = features >= 0
    if subwords == "first":
        counted &= np.diff(features, axis=1, prepend=-2) != 0
    rows, columns = np.nonzero(counted)
    indices = rows * width + features[rows, columns]
    shape = (len(tokens), width)
    sums = np.bincount(indices, tokens[rows, columns], minlength=len(tokens) * width).reshape(shape)
    if subwords == "mean":
        sums /= np.maximum(1, np.bincount(indices, minlength=len(tokens) * width).reshape(shape))
    return sums


class Inquiry(Protocol):
    """The part of an evaluation that queries the model in several rounds, and defines the columns of the rows.

    Attributes except for the columns, ``schema``, are as in :class:`~heedful.interventions.Intervention`.
    """

    name: str
    version: int
    parts: tuple[str, ...]
    draws: int
    limit: int | None
    settings: tuple[str | int | bool, ...]
    schema: pa.Schema

    def require(self, processor: Processor, pool: Examples) -> None:
        """Raise HeedfulError if the inquiry cannot query a model with this processor about the examples of a pool."""
        ...

    def rows(self, pool: Examples, base: Predictions, ask: Ask, seed: int) -> Iterator[pa.Table]:
        """Query the model, given its predictions of a pool of examples, and yield blocks of rows, sorted by key."""
        ...


def inquire(experiment: Experiment, inquiry: Inquiry) -> tuple[pa.Table, dict[str, int]]:
    """Return the rows of an inquiry, which are empty on ranks other than rank 0, and :attr:`Ask.counts`."""
    ask = Ask(experiment)
    spool = Spool(inquiry.schema) if is_first() else None
    for table in inquiry.rows(experiment.pool, experiment.base, ask, experiment.seed):
        if spool is not None:
            spool.write(table)
    return inquiry.schema.empty_table() if spool is None else spool.finish(), dict(ask.counts)
