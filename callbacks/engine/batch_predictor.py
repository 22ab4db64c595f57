"""Predictions of batches: each process predicts its share, and all meet afterwards."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from rich.progress import track

from heedful.callbacks.engine.pace import Pace
from heedful.callbacks.engine.predictions import Collector, Predictions, joined
from heedful.callbacks.engine.processes import Processes
from heedful.datamodules.base.ahead import ahead
from heedful.datamodules.base.sampler import evaluation_batches, share, snug_batches
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Encoded, Predictor
from heedful.records import Examples, HeedfulError, ModelError, RunError, Task, stopping

PADDING = 64  # tokens that a CPU computes in the time that a batch takes to begin; other devices want full batches
Predict = Callable[[dict[str, Any]], Outputs | None]
InputsOf = Callable[[Sequence[np.ndarray]], Iterator[dict[str, Any]]]  # batches of positions to inputs of the model


def gather_predictions(
    predicted: Predictions, processes: Processes, what: str = "the examples themselves"
) -> Predictions:
    """The predictions of all processes, by ascending position, on every process.

    Args:
        predicted: Predictions of this process.
        processes: All processes.
        what: Name of the inputs in the message.

    Raises:
        Stopped: SIGTERM came to a process, which may lack predictions; all raise it together.
        HeedfulError: A prediction was made twice, or the model's outputs are not finite.
    """
    base = joined(processes.meet(predicted))
    repeated = int((np.diff(base.positions) == 0).sum())
    if repeated:
        raise RunError(f"{repeated} examples were predicted twice ({what}).")
    require_finite(int(base.broken.sum()), len(base), what)
    return base


def require_finite(broken: int, n: int, what: str) -> None:
    """Refuse outputs that are not finite; argmax would turn them into a label.

    Raises:
        ModelError: There are some.
    """
    if broken:
        raise ModelError(
            f"The outputs of the model are not finite for {broken:,} of {n:,} predictions ({what}). Try "
            "trainer.precision 32-true, or train with a lower model.learning_rate."
        )


class BatchPredictor:
    """Predicts batches with a model: batch j goes whole to rank j mod world.

    Args:
        predictor: The model.
        processes: The processes that predict.
        task: The labels.
        batch_size: Most inputs of a batch.
    """

    def __init__(self, predictor: Predictor, processes: Processes, task: Task, batch_size: int) -> None:
        self.predictor = predictor
        self.processes = processes
        self.task = task
        self.batch_size = batch_size

    @property
    def ranks(self) -> int:
        """Number of predicting ranks; ranks above it idle."""
        return self.predictor.capabilities.ranks or self.processes.world_size

    @property
    def works_ahead(self) -> bool:
        """Whether threads make what comes next while the device computes; on the CPU they would only take turns."""
        return self.processes.device.type != "cpu"

    def pool(self, pool: Examples, encoded: Encoded, positions: np.ndarray) -> Predictions:
        """Predict examples of a pool.

        Args:
            pool: The examples.
            encoded: The pool as the model reads it.
            positions: int64, the examples to predict, ascending.

        Returns:
            The predictions of all processes, on every process.
        """
        places = np.argsort(pool.uid_order)[positions]
        batches = evaluation_batches(encoded.order[positions], places, self.batch_size)
        pace = Pace("Base examples", -(-len(positions) // self.ranks))
        mine = self.predict(encoded.batches, [positions[batch] for batch in batches], "Base examples", pace)
        return gather_predictions(mine, self.processes)

    def predict(
        self,
        make: InputsOf,
        batches: Sequence[np.ndarray],
        what: str,
        pace: Pace | None = None,
        predict: Predict | None = None,
    ) -> Predictions:
        """The predictions for this process's share of the batches; positions are those within the batches.

        Args:
            make: Returns an iterator over the inputs of some batches.
            batches: int64 [inputs of the batch] each.
            what: Label of the progress bar.
            pace: Reports the pace in a log file.
            predict: Method of the model; by default, its answers.
        """
        collector = Collector(self.task)
        predict = predict or self.predictor.predict
        try:
            with self.processes.precision():  # once: autocast keeps the weights that it has cast
                for positions, inputs in self.shared(make, batches, what):
                    collector.add(positions, predict({"inputs": inputs, "size": len(positions)}))
                    if pace is not None:
                        pace.advance(len(positions))
        except HeedfulError as error:
            self.processes.tell(error)
            raise
        return collector.predictions()

    def snug_batches(self, lengths: np.ndarray, batch_size: int, passes: int = 1) -> list[np.ndarray]:
        """Batches with little padding where that is worth more than full ones.

        Args:
            lengths: int [inputs], in tokens.
            batch_size: Most inputs of a batch.
            passes: How often each batch is computed.
        """
        is_on_cpu = self.processes.device.type == "cpu"
        padding = PADDING // passes if is_on_cpu else len(lengths) * int(lengths.max(initial=0))
        return snug_batches(lengths, batch_size, padding)

    def probabilities(self, make: InputsOf, lengths: np.ndarray, what: str) -> np.ndarray:
        """The probabilities of the labels for some inputs, on every process: float32 [inputs, labels].

        Args:
            make: Returns an iterator over the inputs of some batches.
            lengths: int [inputs], in tokens.
            what: Label of the progress bar and of messages.

        Raises:
            Stopped: SIGTERM came to a process; all raise it together.
            HeedfulError: The model's outputs are not finite. Every process raises it.
        """
        batches = self.snug_batches(lengths, self.batch_size)
        mine = self.predict(make, batches, what, predict=self.predictor.probabilities)
        return gather_predictions(mine, self.processes, what).probs

    def shared(
        self, make: InputsOf, batches: Sequence[np.ndarray], what: str
    ) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """This process's share of the batches, with their inputs on the device; it ends early where SIGTERM came.

        Args:
            make: Returns an iterator over the inputs of some batches.
            batches: int64 [inputs of the batch] each; batch j goes whole to rank j mod world.
            what: Label of the progress bar.
        """
        mine = share(batches, self.processes.rank, self.ranks)
        pairs = zip(mine, self._inputs(make, mine), strict=True)
        for positions, inputs in track(
            pairs, what, len(mine), transient=True, disable=not self.processes.shows_progress
        ):
            if stopping.requested():
                break  # to where the processes meet
            yield positions, inputs

    def _inputs(self, make: InputsOf, batches: Sequence[np.ndarray]) -> Iterator[dict]:
        """An iterator over the inputs of the batches, on the device."""
        inputs = make(batches)
        if not self.works_ahead:
            return inputs
        return map(self.processes.to_device, ahead(inputs, pin=self.processes.device.type == "cuda"))
