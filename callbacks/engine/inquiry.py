"""Inquiries: evaluations that ask the model in rounds, where what is asked next depends on the answers so far."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import torch

from heedful.callbacks.engine.batch_predictor import require_finite
from heedful.callbacks.engine.experiment import Experiment
from heedful.callbacks.engine.predictions import Predictions
from heedful.datamodules.base.sampler import share
from heedful.lightning_modules.gradients import Scale, integrated_gradients
from heedful.lightning_modules.processors.hiding import HiddenWords
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Composed, Examples, Spool

AT_ONCE = 32  # inputs of a pass forward and backward on a CPU, whose caches hold no more
Subwords = Literal["sum", "mean", "first"]


class Ask:
    """The model, for inquiries. Every process asks the same, each predicts its share, and all get all answers.

    Args:
        experiment: Predicts.

    Attributes:
        labels: The labels, in the order of the probabilities.
        parts: Names of all parts of the data, of which the model may read fewer.
        counts: How many inputs were predicted, and what else an inquiry counts.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self.labels = experiment.task.distribution
        self.parts = experiment.parts
        self.counts: Counter[str] = Counter()

    def words(self, examples: Composed, delete: bool) -> HiddenWords:
        """The words of examples, to be hidden; see ``Processor.hiding``. Features stand in the order of the data."""
        return HiddenWords(self._experiment.predictor.processor, examples, examples.pool.parts, delete)

    def hidden(self, words: HiddenWords, examples: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Predict inputs in which words are hidden.

        Args:
            words: The words of the examples.
            examples: int64 [inputs], the example that each input is made of.
            hidden: bool [inputs, features].

        Returns:
            Probabilities of the labels, float64 [inputs, labels].
        """
        self.counts["inputs"] += len(examples)
        make = partial(words.inputs, examples, hidden)
        lengths = words.lengths(examples, hidden)
        return self._experiment.batches.probabilities(make, lengths, "inputs without words").astype(np.float64)

    def gradients(
        self, words: HiddenWords, examples: np.ndarray, labels: np.ndarray, steps: int, scale: Scale, subwords: Subwords
    ) -> np.ndarray:
        """Integrated gradients from the input in which everything is hidden.

        Args:
            words: The words of the examples.
            examples: int64 [inputs].
            labels: int64 [inputs], the label whose probability is explained.
            steps: Points on the way.
            scale: Whether the probability is explained, or its log-odds.
            subwords: What a word gets of its tokens.

        Returns:
            float64 [inputs, features].
        """
        batches, processes = self._experiment.batches, self._experiment.processes
        width = int(words.features.max(initial=0))
        nothing = np.zeros((len(examples), width), dtype=bool)
        most = batches.batch_size
        if processes.device.type == "cpu":
            most = min(most, AT_ONCE)
        together = batches.snug_batches(words.lengths(examples, nothing), max(1, most // steps), steps)

        def make(several: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
            whole = words.inputs(examples, nothing, several)
            hidden = words.inputs(examples, ~nothing, several)
            for batch, inputs, baseline in zip(several, whole, hidden, strict=True):
                yield {"inputs": inputs, "from": baseline["input_ids"], "labels": torch.from_numpy(labels[batch])}

        sums = np.zeros((len(examples), width))
        mine = share(together, processes.rank, batches.ranks)
        of_tokens = words.features_of_tokens(examples, mine)
        shares = zip(batches.shared(make, together, "integrated gradients"), of_tokens, strict=False)
        with processes.precision():  # as predictions are made
            for (batch, given), features in shares:
                ends = given["inputs"], given["from"]
                tokens = integrated_gradients(batches.predictor, *ends, given["labels"], steps, most, scale)
                sums[batch] = of_words(tokens.cpu().numpy(), features, width, subwords)
        self.counts["gradients"] += len(examples) * steps
        phi = sum(processes.meet(sums))  # each example is one process's, and 0 for the others
        require_finite(int((~np.isfinite(phi)).any(axis=1).sum()), len(phi), "integrated gradients")
        return phi


def of_words(tokens: np.ndarray, features: np.ndarray, width: int, subwords: Subwords) -> np.ndarray:
    """What each feature gets of its tokens: float64 [inputs, width].

    Args:
        tokens: float64 [inputs, tokens].
        features: int64 [inputs, tokens], the feature of each token; -1 for none.
        width: Most features of an input.
        subwords: Their sum, their mean, or the first alone.

    Example:
        >>> of_words(np.array([[1.0, 3.0, 5.0, 9.0]]), np.array([[0, 0, 1, -1]]), 2, "mean").tolist()
        [[2.0, 5.0]]
    """
    taken = features >= 0
    if subwords == "first":
        taken &= np.diff(features, axis=1, prepend=-2) != 0
    rows, columns = np.nonzero(taken)
    places = rows * width + features[rows, columns]
    shape = (len(tokens), width)
    sums = np.bincount(places, tokens[rows, columns], minlength=len(tokens) * width).reshape(shape)
    if subwords == "mean":
        sums /= np.maximum(1, np.bincount(places, minlength=len(tokens) * width).reshape(shape))
    return sums


class Inquiry(Protocol):
    """An evaluation that asks the model in rounds, and makes rows of its own form.

    Attributes:
        name: Its name in the manifest, with what follows; all as for an :class:`~heedful.interventions.Intervention`.
        schema: The columns of its rows; the key of rows is among them.
    """

    name: str
    version: int
    parts: tuple[str, ...]
    draws: int
    limit: int | None
    settings: tuple[str | int | bool, ...]
    schema: pa.Schema

    def require(self, processor: Processor, pool: Examples) -> None:
        """Refuse a model that cannot be asked so, before anything is predicted.

        Raises:
            HeedfulError: It cannot.
        """
        ...

    def rows(self, pool: Examples, base: Predictions, ask: Ask, seed: int) -> Iterator[pa.Table]:
        """The rows, in their canonical order, some at a time.

        Args:
            pool: The examples.
            base: Their predictions.
            ask: The model.
            seed: The run's seed.
        """
        ...


def inquire(experiment: Experiment, inquiry: Inquiry) -> tuple[pa.Table, dict[str, int]]:
    """The rows of an inquiry, on the first process, and what was counted; of other processes no rows."""
    ask = Ask(experiment)
    spool = Spool(inquiry.schema) if experiment.processes.is_first else None
    for table in inquiry.rows(experiment.pool, experiment.base, ask, experiment.seed):
        if spool is not None:
            spool.write(table)
    return inquiry.schema.empty_table() if spool is None else spool.finish(), dict(ask.counts)
