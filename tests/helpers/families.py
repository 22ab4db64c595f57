"""Every model family on a tiny backbone, with data: contract tests run over all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from tiny_data import write_squad, write_squares

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy, Answers, Attentiveness
from heedful.datamodules import PairedData, PairedImages, Planted, Reading
from heedful.datamodules.base.collate import Collate
from heedful.lightning_modules import Blip, BlipAnswers, Encoder, LateFusion, Reader, Seq2Seq, Vilt, Writer
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.records import SOFT, SPAN, Composed, Example, Examples, Task

SQUARES: dict[str, Any] = {
    "name": "squares",
    "parts": {"image": "pictures/{file}", "question": "text"},
    "labels": {"no": [], "yes": []},
    "label": "answer",
    "default_label": "no",
    "uid": "id",
}
TWO = ("left", "right")


@dataclass(frozen=True)
class Family:
    """A model family with a tiny backbone.

    Attributes:
        kind: Class of the family.
        backbone: Name of the fixture of the backbone.
        data: "pairs", "passages", "questions" (about a picture) or "two" (two pictures and a sentence).
        settings: Settings of the model.
        head: Prefix of the names of the head's weights; "" if there is no head.
        soft: Whether labels are soft.
    """

    kind: type[PretrainedClassifier]
    backbone: str
    data: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    head: str = ""
    soft: bool = False


WINDOWS = {"max_length": 24, "overlap": 6, "longest_answer": 4}
SMALL = {"image_size": [32, 32], "hidden": 32}
FAMILIES = {
    "Encoder": Family(Encoder, "tiny_bert", "pairs", head="classifier"),
    "Reader": Family(Reader, "tiny_bert", "passages", WINDOWS, "qa_outputs"),
    "Seq2Seq": Family(Seq2Seq, "tiny_t5", "pairs"),
    "Writer": Family(Writer, "tiny_t5", "passages", {"longest_answer": 3}),
    "LateFusion": Family(LateFusion, "tiny_bert", "questions", SMALL, "head.3"),
    "Vilt": Family(Vilt, "tiny_vilt", "questions", {"max_length": 40}, "classifier"),
    "Blip": Family(Blip, "tiny_blip", "questions", head="head"),
    "BlipAnswers": Family(BlipAnswers, "tiny_blip", "questions"),
}
LABELLED = [name for name, family in FAMILIES.items() if family.head and family.data != "passages"]
CASES = FAMILIES | {
    "Encoder, soft": Family(Encoder, "tiny_bert", "pairs", soft=True),
    "Seq2Seq, mean": Family(Seq2Seq, "tiny_t5", "pairs", {"score": "mean"}),
    "Seq2Seq, untied": Family(Seq2Seq, "untied_t5", "pairs"),
    "Seq2Seq, Switch": Family(Seq2Seq, "tiny_switch", "pairs"),
    "Seq2Seq, BART": Family(Seq2Seq, "tiny_bart", "pairs", {"max_length": 128}),
    "Seq2Seq, greedy": Family(Seq2Seq, "tiny_t5", "pairs", {"decoding": "greedy"}),
    "LateFusion, two": Family(LateFusion, "tiny_bert", "two", SMALL),
    "Vilt, two": Family(Vilt, "tiny_vilt", "two", {"max_length": 40}),
    "Blip, two": Family(Blip, "tiny_blip", "two"),
    "BlipAnswers, ranked": Family(BlipAnswers, "tiny_blip", "questions", {"rank": 1}),
    "BlipAnswers, soft": Family(BlipAnswers, "tiny_blip", "questions", soft=True),
}


class Trained(NamedTuple):
    """A model after an epoch of training, the folder of its checkpoint and exports, and its results."""

    model: PretrainedClassifier
    folder: Path
    measurements: Any


class Zoo:
    """Builds models of every family, and trains one model per family and session.

    Args:
        request: Request of a session fixture, which finds the backbones.
        folder: Folder for data and trained models.
    """

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self.request, self.folder = request, folder
        self.trained = cache(self._trained)
        self.exported = cache(self._exported)
        self.pool = cache(self._pool)
        self.squares = cache(lambda: write_squares(folder / "squares", 8, 8))

    def backbone(self, name: str) -> str:
        """Folder of the backbone of a case."""
        return str(self.request.getfixturevalue(CASES[name].backbone))

    def data(self, name: str) -> PairedData:
        """A new data module with a few examples."""
        family = CASES[name]
        if family.data == "pairs":
            return Planted(n_train=8, n_validation=8)
        if family.data == "questions":
            return PairedImages(**SQUARES, path=str(self.squares()))
        for split in ("train", "dev"):
            write_squad(self.folder / f"{split}-v2.0.json", 1)
        parts = {"context": "context", "question": "question"}
        return Reading("squad2", parts, path=str(self.folder), uid="id", groups=["title"], validate_on_train=True)

    def task(self, name: str) -> Task:
        """The task of a case."""
        family = CASES[name]
        if family.data == "two":
            return replace(self.data("Vilt").task, parts=(*TWO, "sentence"), pictures=TWO)
        return replace(self.data(name).task, kind=SOFT) if family.soft else self.data(name).task

    def _pool(self, name: str) -> Examples:
        """Six examples of different lengths; the last has the same content as the first."""
        if CASES[name].data == "two":
            one = list(self.pool("Vilt"))
            pairs = zip(one, [*one[1:5], one[0], one[1]], strict=True)
            parts = [
                {"left": a.parts["image"], "right": b.parts["image"], "sentence": a.parts["question"]} for a, b in pairs
            ]
            return Examples.of(Example(e.uid, content, None) for e, content in zip(one, parts, strict=True))
        data = self.data(name)
        data.setup("validate")
        examples = [data.pool[i] for i in range(5)]
        if "question" in examples[1].parts and CASES[name].data == "questions":  # texts of other lengths
            examples[1] = replace(examples[1], parts=examples[1].parts | {"question": "what color is the picture ?"})
        return Examples.of([*examples, replace(examples[0], uid="again")])

    def unbuilt(self, name: str, folder: str | Path | None = None, **settings: Any) -> PretrainedClassifier:
        """A model of a case that is not bound to a task."""
        settings = {"max_length": 64} | CASES[name].settings | settings
        model = CASES[name].kind(self.backbone(name) if folder is None else str(folder), **settings)
        torch.manual_seed(0)
        return model

    def model(
        self,
        name: str,
        folder: str | Path | None = None,
        task: Task | None = None,
        trains: bool = True,
        **settings: Any,
    ) -> PretrainedClassifier:
        """A model of a case with its network, in eval mode."""
        model = self.unbuilt(name, folder, **settings)
        label_map = model.bind(task or self.task(name), trains).label_map
        assert label_map.labels == (task or self.task(name)).labels
        model.configure_model()
        return model.eval()

    def measured(self, name: str, model: Predictor, **settings: Any) -> Any:
        """Results of a model on the data of a case."""
        return measured(model, self.data(name), self.evaluations(name), accelerator="cpu", **settings)

    def evaluations(self, name: str) -> list[Any]:
        """The evaluations of a case."""
        return [Answers() if self.task(name).kind is SPAN else Accuracy(), Attentiveness(draws=1)]

    def _exported(self, name: str) -> Path:
        """Export a model of a case with random weights; returns the folder."""
        model, folder = self.model(name), self.folder / f"exported {name}"
        for parameter in model.parameters():
            parameter.data += 0.01  # otherwise, a new head with the same seed would be equal
        model.export(str(folder), weights=True)
        return folder

    def _trained(self, name: str) -> Trained:
        """Train a model for an epoch; write ``best.ckpt``, the export ``backbone``, and ``bare``, without weights."""
        folder = self.folder / name
        folder.mkdir()
        model = self.unbuilt(name, learning_rate=1e-3)
        data = self.data(name)
        measurements = fitted(model, data, self.evaluations(name), accelerator="cpu", max_epochs=1)
        model.trainer.save_checkpoint(folder / "best.ckpt")
        model.export(str(folder / "backbone"), weights=True)
        model.export(str(folder / "bare"), weights=False)
        return Trained(model.eval(), folder, measurements)


def batch_of(model: Predictor, examples: Sequence[Example]) -> dict[str, Any]:
    """A batch of the examples, as the data module makes it for a model."""
    return Collate(model.processor, model.task)((range(len(examples)), list(examples)))


def predicted(model: Predictor, pool: Sequence[Example], batches: Sequence[Sequence[int]] | None = None) -> list[Any]:
    """Predict a pool in batches of positions; returns the probabilities, or else the answer, per example."""
    composed = pool if isinstance(pool, Composed) else Composed.whole(Examples.of(list(pool)))
    positions = [np.array(batch) for batch in batches or [range(len(pool))]]
    found: dict[int, Any] = {}
    with torch.inference_mode():
        for batch, inputs in zip(positions, model.encode(composed).batches(positions), strict=True):
            outputs = model.predict({"inputs": inputs, "size": len(batch)})
            assert isinstance(outputs, Outputs)
            values = outputs.answers if outputs.probs is None else outputs.probs
            assert len(values) == len(batch)
            found |= dict(zip(batch.tolist(), values, strict=True))
    return [found[k] for k in range(len(pool))]


def assert_alike(first: Sequence[Any], second: Sequence[Any], tolerance: float = 0.0) -> None:
    """Assert equal answers, and probabilities within a tolerance."""
    for one, other in zip(first, second, strict=True):
        if isinstance(one, torch.Tensor) and one.is_floating_point():
            torch.testing.assert_close(one, other, rtol=0, atol=tolerance)
        else:
            assert one == other
