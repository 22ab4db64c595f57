"""Query the model in rounds, for an evaluation whose later inputs depend on earlier answers (an inquiry)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.batch_predictor import require_finite
from heedful.callbacks.engine.experiment import Experiment
from heedful.callbacks.engine.predictions import Predictions
from heedful.datamodules.base.batches import batches_of_rank
from heedful.lightning_modules.outputs import Scale
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Composed, Examples, Spool

if TYPE_CHECKING:
    from heedful.lightning_modules.processors.hiding import HiddenWords

AT_ONCE = 32  # inputs of a forward and backward pass on a CPU, whose caches hold no more
Subwords = Literal["sum", "mean", "first"]


class Ask:
    """Lets an inquiry query the model. All ranks make the same calls; each rank predicts its share and gets all
    answers.

    Attributes:
        labels: The labels, in the order of the probabilities.
        parts: Names of all parts of the data; the model may read fewer.
        counts: Maps names to numbers: "inputs" to the number of inputs predicted with hidden words, "gradients" to the
            number of inputs times integration points, and other names to numbers that the inquiry adds.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self.labels = experiment.task.distribution
        self.parts = experiment.parts
        self.counts: Counter[str] = Counter()

    def words(self, examples: Composed, delete: bool) -> "HiddenWords":
        """Return the words of examples, which can be hidden from the model; with ``delete``, hidden words are deleted
        instead of masked.
        """
        from heedful.lightning_modules.processors.hiding import HiddenWords  # imports transformers

        return HiddenWords(self._experiment.predictor.processor, examples, examples.pool.parts, delete)

    def hidden(self, words: "HiddenWords", examples: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Return the probabilities of the labels for inputs with hidden words: float64 [inputs, labels].

        Args:
            words: The words of the examples.
            examples: int64 [inputs], index of the example in ``words``.
            hidden: bool [inputs, features], whether a feature (a word or a separator) is hidden.
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
        """Return integrated gradients: the contribution of each feature (a word or a separator) to the probability of
        one label per input, compared with an input in which all are hidden: float64 [inputs, features].

        Args:
            words: The words of the examples.
            examples: int64 [inputs], index of the example in ``words``.
            labels: int64 [inputs], the label to explain.
            steps: Number of integration points.
            scale: Whether to explain the probability or its log-odds.
            subwords: How the values of the tokens of a word are aggregated.
        """
        import torch

        from heedful.lightning_modules.gradients import integrated_gradients

        batches, processes = self._experiment.batches, self._experiment.processes
        width = int(words.features.max(initial=0))
        nothing = np.zeros((len(examples), width), dtype=bool)
        most = min(batches.batch_size, AT_ONCE) if batches.is_on_cpu else batches.batch_size
        together = batches.snug_batches(words.lengths(examples, nothing), max(1, most // steps), steps)

        def make(positions: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
            inputs = words.inputs(examples, nothing, positions)
            baselines = words.inputs(examples, ~nothing, positions)
            for batch, end, baseline in zip(positions, inputs, baselines, strict=True):
                yield {"inputs": end, "from": baseline["input_ids"], "labels": torch.from_numpy(labels[batch])}

        sums = np.zeros((len(examples), width))
        of_tokens = words.features_of_tokens(examples, batches_of_rank(together, processes.rank, batches.ranks))
        shares = zip(batches.shared(make, together, "integrated gradients"), of_tokens, strict=False)
        with processes.precision():  # around all batches, as in BatchPredictor.predict
            for (batch, inputs), features in shares:
                ends = inputs["inputs"], inputs["from"]
                tokens = integrated_gradients(batches.predictor, *ends, inputs["labels"], steps, most, scale)
                sums[batch] = of_words(tokens.cpu().numpy(), features, width, subwords)
        self.counts["gradients"] += len(examples) * steps
        phi = sum(processes.gather_patiently(sums))  # each input is computed on one rank and 0 on the others
        require_finite(int((~np.isfinite(phi)).any(axis=1).sum()), len(phi), "integrated gradients")
        return phi


def of_words(tokens: np.ndarray, features: np.ndarray, width: int, subwords: Subwords) -> np.ndarray:
    """Combine the values of the tokens of each word to a value of the word: float64 [inputs, width].

    Args:
        tokens: float64 [inputs, tokens], values of the tokens.
        features: int64 [inputs, tokens], index of the word of each token; -1 for none.
        width: Maximum number of words of an input.
        subwords: The value of a word: the sum or the mean over its tokens, or the value of its first token.

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

    Attributes:
        name: Name in the manifest (a hash of the planned changes). Attributes that are not listed here are as in
            :class:`~heedful.interventions.Intervention`.
        schema: The columns of the rows, which include the columns of the key.
    """

    name: str
    version: int
    parts: tuple[str, ...]
    draws: int
    limit: int | None
    settings: tuple[str | int | bool, ...]
    schema: pa.Schema

    def require(self, processor: Processor, pool: Examples) -> None:
        """Raise HeedfulError if the inquiry cannot query the model; called before the first prediction.

        Args:
            processor: Converts examples to inputs of the model.
            pool: The examples.
        """
        ...

    def rows(self, pool: Examples, base: Predictions, ask: Ask, seed: int) -> Iterator[pa.Table]:
        """Query the model, and yield blocks of rows, sorted by their key.

        Args:
            pool: The examples.
            base: Predictions of the examples.
            ask: Queries the model.
            seed: The run's seed.
        """
        ...


def inquire(experiment: Experiment, inquiry: Inquiry) -> tuple[pa.Table, dict[str, int]]:
    """Query the model in several rounds, as an inquiry (part of an evaluation) demands.

    Returns:
        The rows of the inquiry, which are empty on ranks other than rank 0; and :attr:`Ask.counts`, which maps names to
        numbers, such as "inputs" to the number of predicted inputs.
    """
    ask = Ask(experiment)
    spool = Spool(inquiry.schema) if experiment.processes.is_first else None
    for table in inquiry.rows(experiment.pool, experiment.base, ask, experiment.seed):
        if spool is not None:
            spool.write(table)
    return inquiry.schema.empty_table() if spool is None else spool.finish(), dict(ask.counts)
