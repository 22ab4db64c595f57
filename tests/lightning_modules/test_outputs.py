"""Predictions stay on the device: nothing reads a value of it, and nothing on the host takes part."""

import math
from pathlib import Path

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves
from transformers import masking_utils

from heedful.lightning_modules import NOT_FINITE, Encoder, LateFusion, Outputs, Seq2Seq
from heedful.lightning_modules.outputs import most_probable
from heedful.records import CLASSIFICATION, SOFT, Example, Picture, Task

LABELS = ("yes", "no", "maybe")
PAIRS = Task(CLASSIFICATION, ("premise", "hypothesis"), LABELS)
TURNED = Task(CLASSIFICATION, PAIRS.parts, LABELS[::-1])
QUESTIONS = Task(CLASSIFICATION, ("image", "question"), LABELS, pictures=("image",))


class Apart(TorchFunctionMode):
    """Refuses to bring values of the host to the device, or to compute with both: that would wait for a copy."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor) and value.ndim]
        assert len({value.device for value in tensors}) < 2, f"{function} mixes devices"
        if function is torch.Tensor.__getitem__:
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            assert not any(isinstance(entry, list) for entry in index), "a list is copied to the device"
        return function(*args, **(kwargs or {}))


def predicted(model, monkeypatch) -> Outputs:
    """The outputs of a model on a device that has shapes and no values: whoever asks for one fails."""
    examples = [Example(f"e{i}", {part: f"the {part}" for part in model.task.parts}) for i in range(2)]
    if model.task.pictures:
        examples = [Example(e.uid, e.parts | {"image": Picture()}) for e in examples]
    inputs = model.processor(examples)
    # transformers itself reads the mask, unless it is compiled
    monkeypatch.setattr(masking_utils, "_ignore_bidirectional_mask_sdpa", lambda *args, **settings: False)
    model.eval().to("meta")
    inputs = {n: values.to("meta") if isinstance(values, torch.Tensor) else values for n, values in inputs.items()}
    with torch.no_grad(), Apart():
        outputs = model.predict({"inputs": inputs, "size": len(examples)})
    assert all(values.device.type == "meta" for values in outputs if values is not None)
    return outputs


def ready(model, task: Task):
    model.prepare(task)
    model.configure_model()
    return model


@pytest.mark.parametrize(
    "waits",
    [
        lambda values: values[:, [2, 1, 0]],
        lambda values: values[:, torch.tensor([2, 1, 0])],
        lambda values: values.tolist(),
        lambda values: values.cpu(),
        lambda values: values.isfinite().all() and None,
        lambda values: values.unique(),
    ],
)
def test_what_waits_is_seen(waits) -> None:
    values = torch.zeros(2, 3, device="meta")
    with pytest.raises((AssertionError, RuntimeError, NotImplementedError)), Apart():
        waits(values)


def test_probabilities_of_texts(tiny_bert: Path, tiny_t5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (Encoder(str(tiny_bert), max_length=32), Seq2Seq(str(tiny_t5), max_length=32)):
        probs, answers = predicted(ready(model, PAIRS), monkeypatch)
        assert (probs.shape, probs.dtype, answers) == ((2, 3), torch.float32, None)


@pytest.mark.slow
def test_a_head_whose_outputs_come_in_another_order(tiny_bert: Path, tmp_path: Path, monkeypatch) -> None:
    model = ready(Encoder(str(tiny_bert), max_length=32), TURNED)
    model.export(str(tmp_path), weights=True)
    again = ready(Encoder(str(tmp_path), max_length=32), PAIRS)
    assert again.label_map.column == (2, 1, 0)
    assert predicted(again, monkeypatch).probs.shape == (2, 3)


def test_numbers_of_soft_labels(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ready(Encoder(str(tiny_bert), max_length=32), Task(SOFT, PAIRS.parts, LABELS))
    probs, answers = predicted(model, monkeypatch)
    assert (probs, answers.shape, answers.dtype) == (None, (2,), torch.int64)


@pytest.mark.slow
def test_probabilities_with_pictures_that_are_encoded(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ready(LateFusion(str(tiny_bert), image_size=[32, 32], hidden=32), QUESTIONS)
    assert predicted(model, monkeypatch).probs.shape == (2, 3)


def test_rows_without_a_finite_best_score_are_marked_and_a_label_may_be_ruled_out() -> None:
    nan, inf = math.nan, math.inf
    scores = torch.tensor([[1, 3, 3], [-inf, 0, -inf], [0, nan, 1], [nan] * 3, [0, inf, 1], [-inf] * 3, [2, 1, -inf]])
    numbers = most_probable(scores)
    assert numbers.dtype == torch.int64
    assert numbers.tolist() == [1, 1, NOT_FINITE, NOT_FINITE, NOT_FINITE, NOT_FINITE, 0]
