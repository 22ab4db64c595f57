"""One contract for all models: bind, encode, predict; and for families, export and load again."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from heedful.lightning_modules import Blip, BlipAnswers, Encoder, LateFusion, Reader, Seq2Seq, Vilt, Writer
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.lightning_modules.classifier import Classifier
from heedful.lightning_modules.function import Function
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.transformers_pair import TransformersPair
from heedful.records import CLASSIFICATION, SOFT, SPAN, Composed, Example, Examples, Picture, Task

LABELS = ("yes", "no")
PAIRS = Task(CLASSIFICATION, ("premise", "hypothesis"), LABELS)
QUESTIONS = Task(CLASSIFICATION, ("image", "question"), LABELS, pictures=("image",))
PASSAGES = Task(SPAN, ("context", "question"), ())


@dataclass(frozen=True)
class Case:
    """A family on its tiny backbone."""

    family: type[Classifier]
    backbone: str
    task: Task
    settings: dict[str, Any] = field(default_factory=dict)


CASES = {
    "Encoder": Case(Encoder, "tiny_bert", PAIRS),
    "Encoder, soft": Case(Encoder, "tiny_bert", Task(SOFT, PAIRS.parts, LABELS)),
    "Reader": Case(Reader, "tiny_bert", PASSAGES, {"overlap": 8, "longest_answer": 8}),
    "Seq2Seq": Case(Seq2Seq, "tiny_t5", PAIRS),
    "Writer": Case(Writer, "tiny_t5", PASSAGES, {"longest_answer": 3}),
    "LateFusion": Case(LateFusion, "tiny_bert", QUESTIONS, {"image_size": [32, 32], "hidden": 32}),
    "Vilt": Case(Vilt, "tiny_vilt", QUESTIONS),
    "Blip": Case(Blip, "tiny_blip", QUESTIONS),
    "BlipAnswers": Case(BlipAnswers, "tiny_blip", QUESTIONS),
}


def examples_of(task: Task, folder: Path) -> Examples:
    """Four examples of different lengths; the last has the content of the first."""
    pictures = []
    for colour in ("red", "blue"):
        path = folder / f"{colour}.png"
        Image.new("RGB", (40, 32), colour).save(path)
        pictures.append(Picture(hashlib.sha256(path.read_bytes()).hexdigest(), str(path), 0, path.stat().st_size, "r"))
    made = []
    for i in (0, 1, 2, 0):
        words = {part: " ".join(["the", "dog", "runs"][: 1 + i]) for part in task.parts}
        made.append(Example(f"e{len(made)}", words | dict.fromkeys(task.pictures, pictures[i % 2]), None))
    return Examples.of(made)


def bound(case: Case, backbone: str, trains: bool, **settings: Any) -> Classifier:
    torch.manual_seed(0)
    model = case.family(backbone, max_length=40, **case.settings | settings)
    label_map = model.bind(case.task, trains)
    assert label_map.labels == case.task.labels
    model.configure_model()
    return model.eval()


def predicted(model: BasePredictor, pool: Examples, batches: list[list[int]]) -> list[Any]:
    """The outputs for each example, in the order of the pool."""
    encoded = model.encode(Composed.whole(pool))
    positions = [np.array(batch) for batch in batches]
    found: dict[int, Any] = {}
    with torch.inference_mode():
        for batch, inputs in zip(positions, encoded.batches(positions), strict=True):
            outputs = model.predict({"inputs": inputs, "size": len(batch)})
            assert isinstance(outputs, Outputs)
            values = outputs.answers if outputs.probs is None else outputs.probs
            assert len(values) == len(batch)
            found |= dict(zip(batch.tolist(), values, strict=True))
    return [found[k] for k in range(len(pool))]


def assert_alike(first: list[Any], second: list[Any]) -> None:
    for one, other in zip(first, second, strict=True):
        if isinstance(one, torch.Tensor) and one.is_floating_point():
            torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
        else:
            assert one == other


@pytest.mark.parametrize("name", CASES)
def test_a_family_binds_encodes_predicts_and_is_loaded_again(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    case = CASES[name]
    pool = examples_of(case.task, tmp_path)
    model = bound(case, str(request.getfixturevalue(case.backbone)), trains=True)
    encoded = model.encode(pool)
    assert encoded.lengths.dtype == np.int32
    assert (encoded.lengths > 0).all()
    assert encoded.statistics.truncated == 0
    keys = encoded.fingerprints
    assert keys is not None
    assert len(set(keys.tolist())) == 3
    assert keys[0] == keys[3]
    together = predicted(model, pool, [[0, 1, 2, 3]])
    assert_alike(together, predicted(model, pool, [[2, 0], [3], [1]]))  # whatever the batch
    assert_alike(together[:1], together[3:])
    model.export(str(tmp_path / "export"), weights=True)
    again = bound(case, str(tmp_path / "export"), trains=False)
    assert_alike(together, predicted(again, pool, [[0, 1, 2, 3]]))
    state = {key: value.clone() for key, value in model.state_dict().items()}
    other = bound(case, str(request.getfixturevalue(case.backbone)), trains=True)
    other.load_state_dict(state)
    assert other.has_learned
    assert_alike(together, predicted(other.eval(), pool, [[0, 1, 2, 3]]))


def function_of(request: pytest.FixtureRequest) -> BasePredictor:
    return Function(lambda rows: ["yes" if len(row["premise"]) % 2 else "no" for row in rows])


def pair_of(request: pytest.FixtureRequest) -> BasePredictor:
    folder = request.getfixturevalue("tiny_bert")
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2).eval()
    return TransformersPair(model, AutoTokenizer.from_pretrained(folder), labels=["yes", "no"])


@pytest.mark.parametrize("make", [function_of, pair_of])
def test_a_model_without_lightning_binds_encodes_and_predicts(
    make: Callable[[pytest.FixtureRequest], BasePredictor], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model, pool = make(request), examples_of(PAIRS, tmp_path)
    assert model.bind(PAIRS).labels == LABELS
    keys = model.encode(pool).fingerprints
    assert keys is None or (keys[0] == keys[3] and len(set(keys.tolist())) == 3)
    together = predicted(model, pool, [[0, 1, 2, 3]])
    assert_alike(together, predicted(model, pool, [[2, 0], [3], [1]]))
    assert_alike(together[:1], together[3:])
