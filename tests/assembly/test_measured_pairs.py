"""``heedful.measure((model, tokenizer), rows)`` measures the objects themselves, with all changes to them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import vary_answers
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, TextClassificationPipeline, pipeline

import heedful
from heedful.datamodules.planted import Planted
from heedful.lightning_modules.transformers_pair import PairProcessor
from heedful.records import Example, MetricName, ModelError, TableForm

from refusals import refused

PARTS = ["premise", "hypothesis"]
NAMES = ["contradiction", "entailment", "neutral"]
QUIET = {"enable_progress_bar": False}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def pairs() -> list[Row]:
    pool = Planted(n_train=3, n_validation=60).load("validation")
    return [{**example.parts, "label": example.label} for example in pool]


@pytest.fixture
def tokenizer(tiny_bert: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_bert)


@pytest.fixture
def model(tiny_bert: Path, pairs: list[Row], tokenizer: Any) -> BertForSequenceClassification:
    """A classifier whose answers vary with both parts."""
    config = BertConfig.from_pretrained(tiny_bert, num_labels=3, id2label=dict(enumerate(NAMES)))
    torch.manual_seed(3)
    model = BertForSequenceClassification(config)
    vary_answers(model, tokenizer, [[row[part] for row in pairs] for part in PARTS])
    return model


def measure(predict: Any, rows: list[Row], **more: Any) -> heedful.Results:
    return heedful.measure(predict, rows, PARTS, "neutral", draws=1, trainer=QUIET, **more)


def by_hand(model: Any, tokenizer: Any, **settings: Any) -> Callable[[list[Row]], torch.Tensor]:
    """The function that a user would write around model and tokenizer."""

    def predict(inputs: list[Row]) -> torch.Tensor:
        texts = [[row[part] for row in inputs] for part in PARTS]
        encoded = tokenizer(*texts, **{"truncation": True, "padding": True, "return_tensors": "pt"} | settings)
        with torch.no_grad():
            return model(**encoded).logits.float().softmax(dim=-1)

    return predict


def values(result: heedful.Results) -> dict[MetricName, Any]:
    rounded = {MetricName("loss", "rows"), MetricName("null", "rows", statistic="max_change")}
    shares = {name for name in result.numbers if name.statistic not in ("read", "unread")} - rounded
    return {name: result.numbers[name]["value"] for name in shares}


def change_hooks(model: Any, tokenizer: Any) -> None:
    model.bert.embeddings.register_forward_hook(lambda module, inputs, output: output.flip(-1))


def change_forward(model: Any, tokenizer: Any) -> None:
    forward = model.forward

    def turned(**inputs: Any) -> Any:
        said = forward(**inputs)
        said.logits = said.logits * torch.tensor([1.0, -1.0, 0.5])
        return said

    model.forward = turned


def change_activation(model: Any, tokenizer: Any) -> None:
    class Sine(torch.nn.Module):
        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return 9 * values.sin()

    for layer in model.bert.encoder.layer:
        layer.intermediate.intermediate_act_fn = Sine()


def change_truncation(model: Any, tokenizer: Any) -> None:
    tokenizer.truncation_side, tokenizer.model_max_length = "left", 12


def change_call(model: Any, tokenizer: Any) -> None:
    class Shouting(type(tokenizer)):
        def __call__(self, *texts: Any, **settings: Any) -> Any:
            return super().__call__(*([text.replace("a", "o") for text in several] for several in texts), **settings)

    tokenizer.__class__ = Shouting


CHANGES = [change_hooks, change_forward, change_activation, change_truncation, change_call]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_was_done_to_the_objects_counts(change: Any, model: Any, tokenizer: Any, pairs: list[Row]) -> None:
    before = values(measure((model, tokenizer), pairs))
    change(model, tokenizer)
    after = values(measure((model, tokenizer), pairs))
    assert after == values(measure(by_hand(model, tokenizer), pairs, labels=NAMES))
    assert after != before


@pytest.mark.parametrize(
    "settings",
    [
        {"truncation": True, "max_length": 8},
        {"truncation": "only_second", "max_length": 22, "padding": "max_length"},
        {"add_special_tokens": False},
        {"max_length": 8, "top_k": None, "function_to_apply": "softmax"},
    ],
    ids=str,
)
def test_the_settings_of_a_pipeline_count(settings: Row, model: Any, tokenizer: Any, pairs: list[Row]) -> None:
    """The pipeline itself, called from a function, gives the same numbers."""
    pipe = pipeline("text-classification", model, tokenizer=tokenizer, **settings)

    def ask(inputs: list[Row]) -> list[str]:
        answers = [pipe({"text": row[PARTS[0]], "text_pair": row[PARTS[1]]}, top_k=1) for row in inputs]
        return [answer["label"] for (answer,) in answers]

    found = measure(pipe, pairs)
    expected = values(measure(ask, pairs))
    assert {name: found.numbers[name]["value"] for name in expected} == expected
    assert values(found) != values(measure((model, tokenizer), pairs))


class Upper(TextClassificationPipeline):
    def preprocess(self, inputs: Any, **settings: Any) -> Any:
        return super().preprocess(inputs, **settings)


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ({"function_to_apply": "sigmoid"}, "function_to_apply"),
        ({"pipeline_class": Upper}, "preprocess"),
        ({"truncation": "both"}, "truncation='both'"),
    ],
)
def test_what_a_pipeline_does_otherwise_is_refused(
    own: Row, named: str, model: Any, tokenizer: Any, pairs: list[Row]
) -> None:
    with refused(ModelError, named):
        measure(pipeline("text-classification", model, tokenizer=tokenizer, **own), pairs)


def test_the_model_stays_as_it_is(model: Any, tokenizer: Any, pairs: list[Row]) -> None:
    model.train()
    model.bert.encoder.eval()
    modes = [module.training for module in model.modules()]
    torch.manual_seed(0)
    expected = torch.rand(2).tolist()
    torch.manual_seed(0)
    seen: list[tuple[bool, bool]] = []
    model.classifier.register_forward_hook(lambda module, *of: seen.append((module.training, torch.is_grad_enabled())))
    result = measure((model, tokenizer), pairs)
    assert set(seen) == {(False, False)}
    assert [module.training for module in model.modules()] == modes
    assert torch.rand(2).tolist() == expected
    assert result.content["identity"]["model"] == "BertForSequenceClassification"
    assert result.content["identity"]["weights"] is not None
    torch.nn.init.constant_(model.classifier.bias, float("nan"))
    with refused(ModelError, "not finite"):
        measure((model, tokenizer), pairs)
    assert [module.training for module in model.modules()] == modes


@pytest.mark.parametrize("batch_size", [4, 64])
def test_a_dry_run_bounds_the_inputs_of_a_model(batch_size: int, model: Any, tokenizer: Any, pairs: list[Row]) -> None:
    """The examples that are predicted alone, to test padding, count."""
    sizes: list[int] = []
    model.classifier.register_forward_hook(lambda module, inputs, output: sizes.append(len(output)))
    settings = {"batch_size": batch_size, "draws": 1, "trainer": QUIET}
    rows = [row | {"premise": f"{row['premise']} {' '.join(['the'] * (i % 7))}"} for i, row in enumerate(pairs)]
    bound = heedful.measure((model, tokenizer), rows, PARTS, dry_run=True, **settings).totals["together"][0]
    assert not sizes
    heedful.measure((model, tokenizer), rows, PARTS, **settings)
    assert 0.9 * bound < sum(sizes) <= bound, (sum(sizes), bound)


def test_a_model_that_depends_on_padding_is_flagged(model: Any, tokenizer: Any, pairs: list[Row]) -> None:
    def flags() -> tuple[str, ...]:
        return measure((model, tokenizer), pairs)["null", "flips"].flags

    assert flags() == ()
    forward = model.forward

    def turned(**inputs: Any) -> Any:
        said = forward(**inputs)
        said.logits[:, 0] += 0.05 * (inputs["attention_mask"] == 0).sum(dim=1)
        return said

    model.forward = turned
    assert flags() == ("predictions_depend_on_batch",)


@pytest.mark.parametrize(
    ("precision", "shift", "is_flagged"),
    [(torch.float32, 0.04, True), (torch.bfloat16, 0.04, False), (torch.bfloat16, 1.0, True)],
)
def test_probabilities_that_depend_on_the_batch_are_flagged_by_precision(
    model: Any, tokenizer: Any, pairs: list[Row], precision: Any, shift: float, is_flagged: bool
) -> None:
    forward = model.to(precision).forward

    def turned(**inputs: Any) -> Any:
        said = forward(**inputs)
        said.logits += shift * len(said.logits) / 64 * (said.logits == said.logits.amax(dim=1, keepdim=True))
        return said

    model.forward = turned
    flips = measure((model, tokenizer), pairs, evaluations="accuracy")["null", "flips"]
    assert (flips.value, flips.flags) == (0, ("predictions_depend_on_batch",) if is_flagged else ())


def test_a_full_device_is_not_taken_for_a_mistake_of_the_model(
    model: Any, tokenizer: Any, pairs: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**inputs: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model, "forward", fail)
    with pytest.raises(torch.OutOfMemoryError, match="^CUDA out of memory$"):
        measure((model, tokenizer), pairs)


def test_padded_examples_are_predicted_alone_in_single_precision(model: Any, tokenizer: Any, pairs: list[Row]) -> None:
    sizes: list[int] = []
    model.classifier.register_forward_hook(lambda module, inputs, output: sizes.append(len(output)))
    for precision, n in ((torch.float32, 24), (torch.bfloat16, 0)):  # padding changes bfloat16 anyway
        sizes.clear()
        measure((model.to(precision), tokenizer), pairs, evaluations="accuracy")
        assert sizes.count(1) == n


@pytest.mark.parametrize(("positions", "settings"), [(12, {}), (None, {"max_length": 12}), (12, {"max_length": 99})])
def test_what_the_tokenizer_cuts_off_is_counted_and_unread(tokenizer: Any, positions: Any, settings: Row) -> None:
    processor = PairProcessor(tokenizer, PARTS, TableForm(), positions, settings)
    texts = [("a dog", "a cat"), ("the big dog " * 9, "a cat"), ("the big dog " * 10, "a cat"), ("a dog", "a cow")]
    examples = [Example(str(i), dict(zip(PARTS, pair, strict=True))) for i, pair in enumerate(texts)]
    ids = [tokenizer(*pair, truncation=True, max_length=12)["input_ids"] for pair in texts]
    assert processor.lengths(examples).tolist() == [*map(len, ids)]
    assert processor.statistics(examples).truncated == 2
    same = np.equal.outer(processor.fingerprints(examples), processor.fingerprints(examples))
    assert same.tolist() == [[one == other for other in ids] for one in ids]
