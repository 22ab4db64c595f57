"""``heedful.measure``: forms of models and rows, labels, and known attentiveness."""

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas
import pyarrow as pa
import pytest
import torch
from tiny_models import vary_answers
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, pipeline

import heedful
from heedful.datamodules.planted import Planted
from heedful.records import MetricName, ModelError, RunError, SettingError
from heedful.reports.runs import read_runs

from refusals import refused

PARTS = ["premise", "hypothesis"]
NAMES = ["entailment", "neutral", "contradiction"]
QUIET = {"enable_progress_bar": False}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def pairs() -> list[Row]:
    """Planted pairs with their labels by name."""
    pool = Planted(n_train=3, n_validation=90).load("validation")
    return [{**example.parts, "label": example.label} for example in pool]


@pytest.fixture(scope="module")
def classifier(tiny_bert: Path, pairs: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model whose answers vary with both parts; its labels have another order than in the data."""
    folder = tmp_path_factory.mktemp("classifier")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    outputs = {0: "CONTRADICTION", 1: "ENTAILMENT", 2: "NEUTRAL"}
    config = BertConfig.from_pretrained(tiny_bert, num_labels=3, id2label=outputs)
    torch.manual_seed(3)
    model = BertForSequenceClassification(config)
    vary_answers(model, tokenizer, [[row[part] for row in pairs] for part in PARTS])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def written(result: heedful.Results) -> dict[str, Any]:
    """The content of results.json without the identity of the model and hashes that depend on it."""
    with result.in_folder() as folder:
        content = json.loads((folder / "results.json").read_text())
    return {name: value for name, value in content.items() if name not in ("checksum", "identity", "rows")}


def number(result: heedful.Results, *words: str, data: str = "rows", of: str = "") -> dict[str, Any]:
    """A number by its family, part and statistic."""
    family, part, statistic = (*words, "", "")[:3]
    return result.numbers[MetricName(family, data, part, statistic, of)]


def values(result: heedful.Results) -> dict[MetricName, Any]:
    return {name: measured["value"] for name, measured in result.numbers.items()}


@pytest.mark.slow
def test_forms_of_a_model_and_of_rows_give_the_same(classifier: Path, pairs: list[Row], tmp_path: Path) -> None:
    numbered = [row | {"label": NAMES.index(row["label"])} for row in pairs]
    data = datasets.Dataset.from_list(numbered).cast_column("label", datasets.ClassLabel(names=NAMES))
    model = BertForSequenceClassification.from_pretrained(classifier).eval()
    tokenizer = AutoTokenizer.from_pretrained(classifier)
    labels = {"entailment": [0], "neutral": [1], "contradiction": [2]}

    def ask(inputs: list[Row]) -> torch.Tensor:
        texts = [[row[part] for row in inputs] for part in PARTS]
        encoded = tokenizer(*texts, padding=True, return_tensors="pt")
        with torch.no_grad():
            return model(**encoded).logits.softmax(dim=-1)[:, [1, 2, 0]]

    def measure(predict: Any, rows: Any, **more: Any) -> heedful.Results:
        return heedful.measure(predict, rows, PARTS, "neutral", trainer=QUIET, draws=2, **more)

    folder = measure(classifier, data)
    settings = {"name": "rows", "labels": labels, "default_label": "neutral", "swap": PARTS}
    by_command = heedful.evaluate(
        heedful.load_model(classifier, max_length=128),
        heedful.load_data(data, parts={part: part for part in PARTS}, **settings),
        attentiveness={"draws": 2},
        trainer=QUIET,
        output=tmp_path / "evaluate",
    )
    assert written(folder) == written(by_command)
    assert 0.1 < number(folder, "attentiveness", "premise")["value"] < 0.9
    assert 0.1 < number(folder, "attentiveness", "hypothesis")["value"] < 0.9
    for same in (
        measure(classifier, pandas.DataFrame(numbered), labels=labels),
        measure(classifier, pa.Table.from_pylist(numbered), labels=labels),
        measure(classifier, numbered, labels=labels),
    ):
        assert written(same) == written(folder)
    of_pair = measure((model, tokenizer), data)
    found, known = written(of_pair), written(folder)
    for name in ("loss/rows", "null/rows/max_change"):  # of linear layers that Heedful computes in another way
        one, other = (content["metrics"].pop(name) for content in (found, known))
        assert one["value"] == pytest.approx(other["value"], abs=1e-5)
    assert found == known
    one, other = (np.array(each.rows_of("attentiveness")["p"].to_pylist()) for each in (of_pair, folder))
    assert one == pytest.approx(other, abs=1e-5)
    with of_pair.in_folder() as in_memory:
        assert "model: (in memory)" in (in_memory / "config.yaml").read_text()
    assert written(measure(pipeline("text-classification", model, tokenizer=tokenizer), data)) == written(of_pair)
    found = values(measure(ask, data))
    known = {name: value for name, value in values(folder).items() if name.statistic not in ("unread", "read")}
    assert found.keys() == known.keys()  # what a function reads is unknown
    assert found.pop(MetricName("loss", "rows")) == pytest.approx(known.pop(MetricName("loss", "rows")), abs=1e-5)
    change = MetricName("null", "rows", statistic="max_change")
    assert found | {change: None} == known | {change: None}


# The answer joins the codes of all parts, so that attentiveness to a part is the share of pairs with different codes.
SHARES = {
    "instruction": 0.0,
    "document": 0.1464,
    "question": 0.5,
    "tool": 1.0,
}  # of the second of two codes; 1 for unique codes


def segments(n: int, seed: int = 5) -> list[Row]:
    """Rows with four parts, each with a code."""
    rng = random.Random(seed)
    return [
        {part: f"{part} {i} code {i if share == 1 else int(rng.random() < share)}" for part, share in SHARES.items()}
        | {"topic": f"topic {i % 7}"}
        for i in range(n)
    ]


def code(row: Row, part: str) -> str:
    return str(row[part]).rpartition(" ")[2]


def says_codes(inputs: list[Row]) -> list[str]:
    return ["-".join(code(row, part) for part in SHARES) for row in inputs]


def truth(rows: Sequence[Row], *parts: str) -> float:
    """Attentiveness by brute force: the share of pairs of examples with different codes of some parts."""
    counts = Counter(tuple(code(row, part) for part in parts) for row in rows)
    n = len(rows)
    return sum(k * (n - k) for k in counts.values()) / (n * (n - 1))


@pytest.mark.parametrize("allowed", ["of_weights", ["of_weights"], "other,of_weights"])
def test_weights_in_an_allowed_package(
    allowed: Any, classifier: Path, pairs: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(classifier, tmp_path / "of_weights" / "model")
    (tmp_path / "of_weights" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my.yaml").write_text("class_path: Encoder\ninit_args: {backbone: 'package:of_weights/model'}\n")
    how = {"evaluations": "accuracy", "trainer": QUIET}
    found = heedful.measure(tmp_path / "my.yaml", pairs[:12], PARTS, "neutral", allow_package=allowed, **how)
    assert values(found) == values(heedful.measure(classifier, pairs[:12], PARTS, "neutral", **how))
    with refused(ModelError, "allow_package of_weights"):
        heedful.measure(tmp_path / "my.yaml", pairs[:12], PARTS, "neutral", **how)


def test_planted_truths_lie_in_their_intervals() -> None:
    rows = segments(400)
    matter = list(SHARES)[1:]
    swap = [*matter, "document+question", "question+tool", "document+question+tool"]
    result = heedful.measure(says_codes, rows, list(SHARES), swap=swap, keeps=["instruction"], trainer=QUIET)
    for part in swap:
        found = number(result, "attentiveness", part)
        expected = truth(rows, *part.split("+"))
        assert found["ci95"][0] <= expected <= found["ci95"][1], (part, found, expected)
        assert found["n"] == 400
    assert number(result, "attentiveness", "tool")["value"] == 1
    assert number(result, "attentiveness", "instruction", "kept")["value"] == 1  # its code is always 0
    assert MetricName("attentiveness", "rows", "instruction") not in result.numbers
    assert [truth(rows, part) for part in SHARES] == pytest.approx([0.0, 0.25, 0.5, 1.0], abs=0.05)


def test_a_dry_run_bounds_the_inputs_of_a_function() -> None:
    """With distinct inputs that are all eligible, the function gets as many inputs as announced."""
    rows, sizes = segments(90), []

    def counting(inputs: list[Row]) -> list[str]:
        sizes.append(len(inputs))
        return says_codes(inputs)

    bound = heedful.measure(counting, rows, list(SHARES), dry_run=True).totals["together"][0]
    assert not sizes
    heedful.measure(counting, rows, list(SHARES), trainer=QUIET)
    assert 0.9 * bound < sum(sizes) <= bound


@pytest.mark.slow
def test_gold_answers_in_words_and_slices_and_clusters() -> None:
    rows = [row | {"label": f"  The {code(row, 'question')}! "} for row in segments(100)]

    def said(inputs: list[Row]) -> list[str]:
        return [code(row, "question") for row in inputs]

    more = {"by": "topic", "cluster": "topic", "name": "chats"}
    result = heedful.measure(said, rows, ["question", "document"], same="normalised", trainer=QUIET, **more)
    alone = heedful.measure(said, rows, ["question", "document"], same="normalised", trainer=QUIET, name="chats")
    assert number(result, "accuracy", data="chats")["value"] == 1
    assert number(result, "attentiveness", "question", data="chats", of="topic=topic 3")["n"] == 14
    one, other = (
        number(result, "attentiveness", "question", data="chats"),
        number(alone, "attentiveness", "question", data="chats"),
    )
    assert one["value"] == other["value"]
    assert one["ci95"] != other["ci95"]


def by_words(inputs: list[Row]) -> list[str]:
    """Answers that depend on both parts."""
    return [NAMES[(len(row["premise"]) + 2 * len(row["hypothesis"])) % 3] for row in inputs]


def test_each_input_is_asked_once_and_the_null_control_again(pairs: list[Row]) -> None:
    asked: list[str] = []

    def predict(inputs: list[Row]) -> list[str]:
        asked.extend(f"{row['premise']}|{row['hypothesis']}" for row in inputs)
        assert len(inputs) <= 16
        for row in inputs:
            assert list(row) == PARTS
        return by_words(inputs)

    how = {"draws": 3, "trainer": QUIET}

    def measure(predict: Any, **more: Any) -> heedful.Results:
        return heedful.measure(predict, pairs, PARTS, "neutral", **how, **more)

    result = measure(predict, batch_size=16)
    eligible = sum(answer != "neutral" for answer in by_words(pairs))
    assert len(asked) <= 2 * len(pairs) + 2 * 3 * eligible
    assert min(Counter(asked)[f"{row['premise']}|{row['hypothesis']}"] for row in pairs) >= 2
    assert number(result, "null", "", "flips")["n"] == len(pairs)
    spelled = {name: [i] for i, name in enumerate(NAMES)}
    assert values(measure(lambda inputs: [*map(NAMES.index, by_words(inputs))], labels=spelled)) == values(result)
    listed = measure(lambda inputs: [{answer.upper(): 1.0} for answer in by_words(inputs)])
    assert values(result).items() <= values(listed).items()  # probabilities have further numbers
    none = measure(lambda inputs: [None if answer == "entailment" else answer for answer in by_words(inputs)])
    assert number(none, "no_answer")["value"] == pytest.approx(by_words(pairs).count("entailment") / len(pairs))


def stopping(at: int, asked: list[int]) -> Callable[[list[Row]], list[str]]:
    """A function that is interrupted in its n-th call."""

    def predict(inputs: list[Row]) -> list[str]:
        asked.append(len(inputs))
        if len(asked) == at:
            raise KeyboardInterrupt
        return by_words(inputs)

    return predict


@pytest.mark.slow
@pytest.mark.parametrize("at", [3, 9, 25])
def test_answers_of_a_call_that_was_interrupted_are_used_by_the_next(at: int, pairs: list[Row]) -> None:
    asked: list[int] = []
    predict = stopping(at, asked)
    how = {"trainer": QUIET, "batch_size": 16, "draws": 2}
    with pytest.raises(KeyboardInterrupt) as stop:
        heedful.measure(predict, pairs, PARTS, "neutral", **how)
    assert "answers=error.answers" in stop.value.__notes__[0]
    before = sum(asked[:-1])
    went_on = heedful.measure(predict, pairs, PARTS, "neutral", answers=stop.value.answers, **how)
    after = sum(asked[at:])
    whole: list[int] = []
    at_once = heedful.measure(stopping(-1, whole), pairs, PARTS, "neutral", **how)
    assert written(went_on) == written(at_once)
    assert after <= sum(whole)
    assert before + after <= sum(whole)


@pytest.mark.parametrize("with_probabilities", [False, True])
def test_random_answers_are_an_error_and_are_not_resumed(with_probabilities: bool, pairs: list[Row]) -> None:
    calls = iter(range(10_000))

    def predict(inputs: list[Row]) -> Any:
        shift = next(calls)
        numbers = [(i + shift) % 3 for i in range(len(inputs))]
        return np.eye(3)[numbers] if with_probabilities else [NAMES[i] for i in numbers]

    with refused(ModelError, "deterministic") as stop:
        heedful.measure(predict, pairs, PARTS, "neutral", labels=NAMES, trainer=QUIET)
    assert stop.value.answers is None


@pytest.mark.parametrize("failing", [1, 4, 9])
def test_a_failed_request_is_no_answer_of_the_function(failing: int, pairs: list[Row]) -> None:
    """With an exception, the next call asks again; with None, the error says so and keeps the other answers."""
    calls = iter(range(1, 10_000))

    def flaky(fail: Callable[[int], list[None]]) -> Callable[[list[Row]], list[Any]]:
        return lambda inputs: fail(len(inputs)) if next(calls) == failing else by_words(inputs)

    def time_out(n: int) -> list[None]:
        raise TimeoutError("too slow")

    expected = heedful.measure(by_words, pairs, PARTS, "neutral", trainer=QUIET, batch_size=16)
    for fail, reason in ((time_out, "too slow"), (lambda n: [None] * n, "raise an exception")):
        calls, predict = iter(range(1, 10_000)), flaky(fail)
        with refused(ModelError, reason) as stop:
            heedful.measure(predict, pairs, PARTS, "neutral", trainer=QUIET, batch_size=16)
        answers = stop.value.answers
        found = heedful.measure(predict, pairs, PARTS, "neutral", trainer=QUIET, batch_size=16, answers=answers)
        assert written(found) == written(expected)


def test_the_order_of_rows_decides_nothing() -> None:
    rows = [row | {"label": ["Yes", "yes.", "No"][i % 3]} for i, row in enumerate(segments(60))]

    def said(inputs: list[Row]) -> list[str]:
        return ["yes" if code(row, "question") == "1" else "NO" for row in inputs]

    how = {"parts": ["question", "tool"], "same": "normalised", "trainer": QUIET}
    assert written(heedful.measure(said, rows, **how)) == written(heedful.measure(said, rows[::-1], **how))


def test_a_limit_excludes_rows(pairs: list[Row]) -> None:
    limit = QUIET | {"limit_val_batches": 1}
    result = heedful.measure(by_words, pairs, PARTS, "neutral", trainer=limit, batch_size=10)
    assert (result.content["counts"]["examples"], result.content["counts"]["not_predicted"]) == (10, 80)


def test_a_function_reads_passages(write_squad: Callable[..., Path], tmp_path: Path) -> None:
    data = heedful.load_data("squad2", path=str(write_squad(tmp_path / "squad.json", 4)), hold_out=20)

    def first_word(inputs: list[Row]) -> list[str]:
        return [row["context"].split()[0] if len(row["question"]) % 2 else "" for row in inputs]

    result = heedful.measure(first_word, data, trainer=QUIET)
    assert {"exact_match", "attentiveness"} <= {name.family for name in result.numbers}
    assert "If the function truncates inputs" in result.content["note"]


@pytest.mark.parametrize(
    "order", [["entailment", "neutral", "contradiction"], ["contradiction", "entailment", "neutral"]]
)
def test_probabilities_on_data_by_name_have_the_order_of_the_labels(order: list[str], pairs: list[Row]) -> None:
    def probabilities(inputs: list[Row]) -> np.ndarray:
        return np.array([[float(label == answer) for label in order] for answer in by_words(inputs)])

    data = heedful.load_data("mnli", path=pairs)
    expected = heedful.measure(by_words, data, trainer=QUIET, draws=2)
    found = heedful.measure(probabilities, data, labels=order, trainer=QUIET, draws=2)
    for name in ("accuracy", ("attentiveness", "premise")):
        assert found[name].value == expected[name].value
    with refused(SettingError, "labels"):
        heedful.measure(probabilities, data, trainer=QUIET)
    with refused(SettingError, "labels"):
        heedful.measure(probabilities, data, labels=order[:2], trainer=QUIET)


def test_a_folder_does_not_hide_data_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted").mkdir()
    assert heedful.measure(by_words, "planted", dry_run=True)


def test_probabilities_on_generated_data_have_the_one_order_of_its_labels() -> None:
    order = ["entailment", "neutral", "contradiction"]

    def probabilities(inputs: list[Row]) -> np.ndarray:
        return np.array([[float(label == answer) for label in order] for answer in by_words(inputs)])

    expected = heedful.measure(by_words, "planted", trainer=QUIET)
    found = heedful.measure(probabilities, "planted", labels=order, trainer=QUIET)
    assert found["accuracy"].value == expected["accuracy"].value
    with refused(SettingError, str(order)):
        heedful.measure(probabilities, "planted", labels=order[::-1], trainer=QUIET)


def test_a_function_is_measured_on_further_data(pairs: list[Row], tmp_path: Path) -> None:
    path = tmp_path / "validation.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in pairs))
    order = ["entailment", "neutral", "contradiction"]

    def probabilities(inputs: list[Row]) -> np.ndarray:
        return np.array([[float(label == answer) for label in order] for answer in by_words(inputs)])

    data = heedful.load_data("planted", n_validation=20)
    found = heedful.measure(
        probabilities,
        data,
        labels=order,
        evaluations="two_class",
        two_class={"benchmarks": {"snli": path}},
        trainer=QUIET,
    )
    is_right = [
        (answer == "entailment") == (row["label"] == "entailment")
        for row, answer in zip(pairs, by_words(pairs), strict=True)
    ]
    assert found["two_class", "snli"].value == pytest.approx(np.mean(is_right))
    asked: list[int] = []

    def answers(inputs: list[Row]) -> list[str]:
        asked.append(len(inputs))
        return by_words(inputs)

    with refused(ModelError, "two_class needs probabilities"):
        heedful.measure(answers, data, evaluations="two_class", two_class={"benchmarks": {"snli": path}}, trainer=QUIET)
    assert len(asked) == 1, "not after all answers"


@pytest.mark.slow
def test_outputs_without_names(classifier: Path, pairs: list[Row], tmp_path: Path) -> None:
    """Outputs without names are named by labels in order, or by the numbers of labels."""
    model = BertForSequenceClassification.from_pretrained(classifier)
    tokenizer = AutoTokenizer.from_pretrained(classifier)
    how = {"parts": PARTS, "default_label": "neutral", "trainer": QUIET, "draws": 2}
    in_order = ["contradiction", "entailment", "neutral"]
    named = heedful.measure((model, tokenizer), pairs, labels=in_order, **how)
    model.config.id2label = {k: f"LABEL_{k}" for k in range(3)}
    model.config.label2id = {f"LABEL_{k}": k for k in range(3)}
    model.save_pretrained(tmp_path / "unnamed")
    tokenizer.save_pretrained(tmp_path / "unnamed")
    by_number = {"entailment": ["LABEL_1"], "neutral": [2], "contradiction": ["0"]}
    for labels in (in_order, by_number):
        for form in ((model, tokenizer), tmp_path / "unnamed"):
            found = heedful.measure(form, pairs, labels=labels, **how)
            assert values(found)[MetricName("accuracy", "rows")] == values(named)[MetricName("accuracy", "rows")]
            assert number(found, "attentiveness", "premise") == number(named, "attentiveness", "premise")
    with refused(SettingError, "labels="):
        bare = [{part: row[part] for part in PARTS} for row in pairs]
        heedful.measure((model, tokenizer), bare, **how)
    for form in ((model, tokenizer), tmp_path / "unnamed"):  # the labels of rows have no order
        with refused(ModelError, "LABEL_0"):
            heedful.measure(form, pairs, **how)
        data = heedful.load_data("mnli", path=pairs)  # its numbers 0, 1, 2 are not the outputs of the model
        with refused(ModelError, "LABEL_0", "labels"):
            heedful.measure(form, data, trainer=QUIET, draws=2)
        by_name = heedful.measure(form, data, labels=in_order, trainer=QUIET, draws=2)
        assert by_name["accuracy"].value == named["accuracy"].value
    with refused(SettingError, "without its tokenizer"):
        heedful.measure(model, pairs, **how)
    model.config.problem_type = "multi_label_classification"
    with refused(ModelError, "multi_label_classification"):
        heedful.measure((model, tokenizer), pairs, labels=in_order, **how)


@pytest.mark.parametrize("labels", [None, ["cafe\u0301", "bar"], ["caf\u00e9", "bar"]])
def test_labels_that_look_the_same_are_one_label(labels: list[str] | None, pairs: list[Row]) -> None:
    twins = ["caf\u00e9", "bar", "cafe\u0301", "bar"]
    rows = [row | {"label": twins[i % 4]} for i, row in enumerate(pairs)]
    gold = {tuple(row[part] for part in PARTS): row["label"] for row in rows}

    def twin(inputs: list[Row]) -> list[str]:
        golds = [gold.get(tuple(row[part] for part in PARTS), "cafe\u0301") for row in inputs]
        return ["cafe\u0301" if label == "caf\u00e9" else label for label in golds]

    result = heedful.measure(twin, rows, PARTS, "cafe\u0301", labels=labels, trainer=QUIET)
    assert result["accuracy"].value == 1
    assert set(result.rows.column("gold").to_pylist()) == {"caf\u00e9", "bar"}


@pytest.mark.parametrize("nothing", [-1, "", "None", "null", "-", None])
def test_a_column_without_a_label_is_no_gold(nothing: Any, pairs: list[Row], caplog: pytest.LogCaptureFixture) -> None:
    bare = [row | {"label": nothing} for row in pairs]
    with caplog.at_level("INFO"):
        result = heedful.measure(by_words, bare, PARTS, "neutral", trainer=QUIET)
    assert {name.family for name in result.numbers} == {"null", "attentiveness"}
    assert "No row has a label in the column 'label'." in caplog.messages
    left_out = heedful.measure(by_words, pairs, PARTS, "neutral", label=None, labels=NAMES, trainer=QUIET)
    for part in PARTS:
        assert number(left_out, "attentiveness", part)["value"] == number(result, "attentiveness", part)["value"]


@pytest.mark.parametrize(
    ("names", "default", "more"),
    [
        ([name.upper() for name in NAMES], "neutral", {}),
        (["true", "false", "maybe"], False, {}),
        ([True, False, "maybe"], "false", {}),
        ([0, 1, 2], 1, {}),
        ([0, 1, 2], "neutral", {"labels": {"entailment": [0], "neutral": [1], "contradiction": [2]}}),
    ],
)
def test_the_default_label_in_other_letters(names: list[Any], default: Any, more: Any, pairs: list[Row]) -> None:
    of = dict(zip(NAMES, names, strict=True))
    renamed = [row | {"label": of[row["label"]]} for row in pairs]
    result = heedful.measure(lambda rows: [of[name] for name in by_words(rows)], renamed, PARTS, default, **more)
    plain = heedful.measure(by_words, pairs, PARTS, NAMES[1])
    named_alike = {"value", "n"}
    assert all(
        {key: number(result, *of_part)[key] == number(plain, *of_part)[key] for key in named_alike}
        for of_part in (("accuracy",), ("attentiveness", "premise", "eligible"))
    )


@pytest.mark.parametrize("seed", [None, "0", 1.9, True, -1, 2**32])
def test_a_seed_is_an_integer(seed: Any, pairs: list[Row]) -> None:
    with refused(SettingError, f"seed {seed!r}", "integer from 0 to 4294967295"):
        heedful.measure(by_words, pairs, PARTS, "neutral", seed=seed)


@pytest.mark.parametrize(
    ("default", "more", "facts"),
    [
        ("netural", {}, ["'netural'", "mean neutral?", "labels=['contradiction', 'entailment', 'neutral', 'netural']"]),
        ("xyz", {}, ["'xyz'", "Known are contradiction, entailment, neutral."]),
        ("netural", {"labels": NAMES}, ["'netural'", "mean neutral?"]),
    ],
)
def test_a_default_label_that_is_no_label(default: str, more: Any, facts: list[str], pairs: list[Row]) -> None:
    """Nothing is predicted. A label that no row has can be a default label if all labels are named."""
    with refused(SettingError, *facts):
        heedful.measure(lambda rows: pytest.fail("called"), pairs, PARTS, default, **more)
    result = heedful.measure(by_words, pairs, PARTS, default, labels=[*NAMES, default], trainer=QUIET)
    assert number(result, "attentiveness", "premise", "eligible")["value"] == 1


def test_nothing_is_written_before_it_is_asked_for(pairs: list[Row], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = heedful.measure(by_words, pairs, PARTS, "neutral", trainer=QUIET)
    result.show()
    assert result.rows.num_rows > len(pairs)
    assert [*tmp_path.iterdir()] == []
    with refused(RunError, "not saved"):
        result.page()
    assert "premise" in result.page("page.html").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("kind", ["function", "pair"])
def test_the_global_generators_are_neither_seeded_nor_advanced(kind: str, classifier: Path, pairs: list[Row]) -> None:
    drawn: list[float] = []

    def predict(inputs: list[Row]) -> list[str]:
        drawn.append(random.random())  # by the caller, which advances the generator
        return by_words(inputs)

    def states() -> tuple[Any, ...]:
        return np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002

    pair = BertForSequenceClassification.from_pretrained(classifier), AutoTokenizer.from_pretrained(classifier)
    random.seed(7)
    before, rng = states(), random.Random(7)
    heedful.measure(predict if kind == "function" else pair, pairs[:30], PARTS, "neutral", draws=1, trainer=QUIET)
    assert states() == before
    assert drawn == [rng.random() for _ in drawn]
    assert random.getstate() == rng.getstate()


def test_two_functions_of_one_name_have_the_folder_in_their_captions(tmp_path: Path) -> None:
    data = [{"premise": str(i), "hypothesis": str(i % 3), "label": "ab"[i % 2]} for i in range(20)]
    for k in (0, 1):

        def predict(inputs: list[Row], k: int = k) -> list[str]:
            return ["ab"[(int(row["premise"]) + k) % 2] for row in inputs]

        heedful.measure(predict, data, ["premise", "hypothesis"], "b", output=tmp_path / f"run{k}", trainer=QUIET)
    first, second = (run.label for run in read_runs([str(tmp_path / "run0"), str(tmp_path / "run1")]))
    assert ("run0" in first, "run1" in second) == (True, True)
    assert first != second
