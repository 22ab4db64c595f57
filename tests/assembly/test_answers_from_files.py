"""A model that is not at hand: inputs are written, answers come from elsewhere, results are those of evaluate.py."""

import json
import math
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

import heedful
from heedful.assembly.answers_from_files import score, write_inputs
from heedful.assembly.input_files import beside
from heedful.cli import evaluation as evaluate
from heedful.cli.inputs import main as inputs
from heedful.datamodules.planted import Planted
from heedful.lightning_modules.pretrained import linear
from heedful.records import MetricName
from heedful.reports.rescore import rescored

from commands import results_of, run
from fake_server import FakeServer, answer_or_refusal, question_of, share_of
from infotabs_files import write_infotabs
from refusals import refused

QUIET = {"enable_progress_bar": False}
NAMES = ("entailment", "neutral", "contradiction")
PARTS = ("premise", "hypothesis")
ELSEWHERE = """
import json, sys
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

folder, inputs, answers = sys.argv[1:]
torch.set_num_threads(1)
model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
tokenizer = AutoTokenizer.from_pretrained(folder)
with open(inputs) as lines, open(answers, "w") as file, torch.no_grad():
    for line in lines:
        asked = json.loads(line)
        encoded = tokenizer(*asked["parts"].values(), return_tensors="pt")
        probs = model(**encoded).logits.softmax(dim=-1)[0].tolist()
        named = {model.config.id2label[i]: p for i, p in enumerate(probs)}
        file.write(json.dumps({"id": asked["id"], "probs": named}) + "\\n")
"""
Line = dict[str, Any]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working directory, and an environment that knows no server."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def classifier(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of random weights whose answers vary with both parts, in another order than the data."""
    folder = tmp_path_factory.mktemp("classifier")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    outputs = {0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}
    torch.manual_seed(3)
    model = BertForSequenceClassification(BertConfig.from_pretrained(tiny_bert, num_labels=3, id2label=outputs))
    pool = Planted(n_train=3, n_validation=60).load("validation")
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.mul_(8 if "embeddings.word" in name else 1)
        model.classifier.weight.normal_(std=3)
        texts = [[str(example.parts[part]) for example in pool] for part in PARTS]
        scores = model.eval()(**tokenizer(*texts, padding=True, return_tensors="pt")).logits
        model.classifier.bias.sub_(scores.mean(dim=0))  # so that each answer is given
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def elsewhere(folder: Path, inputs: str = "inputs.jsonl", answers: str = "answers.jsonl") -> None:
    """Answer in another process, which knows transformers and nothing of Heedful."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, "-I", "-c", ELSEWHERE, str(folder), inputs, answers], env=env, check=True)


def lines_of(path: str) -> list[Line]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def write_lines(path: str, lines: list[Line]) -> None:
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))


def answer_by(rule: Callable[[Line], Any], answers: str = "answers.jsonl", inputs: str = "inputs.jsonl") -> list[Line]:
    """Answer each input by a rule."""
    lines = [{"id": line["id"], "answer": rule(line["parts"])} for line in lines_of(inputs)]
    write_lines(answers, lines)
    return lines


def by_words(parts: Line) -> str:
    return NAMES[int(3 * share_of(json.dumps(parts)))]


def known(results: Line) -> Line:
    """results.json without what nobody knows of a model that is not at hand: its weights, and what it reads."""
    unknown = {name for name, of in results["names"].items() if MetricName(*of).statistic in ("unread", "read")}
    left = {name: value for name, value in results.items() if name not in ("note", "rows", "weights", "display")}
    left["counts"] = {name: n for name, n in results["counts"].items() if not name.endswith("/identical")}
    for group in ("metrics", "names"):
        left[group] = {name: value for name, value in results[group].items() if name not in unknown}
    return left


@pytest.mark.slow
def test_answers_of_another_process_give_what_evaluate_gives(classifier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last digit, losses included, where both multiply matrices by the same library, one input at a time."""
    monkeypatch.setattr(linear, "prefers_onednn", lambda: False)
    data = ["--data", "planted", "--data.n_validation", "40", "--data.swap", "[premise, hypothesis]"]
    data += ["--seed_everything", "3", "--attentiveness.draws", "3"]
    alone = ["--model.max_length", "128", "--data.eval_batch_size", "1", "--output", "evaluated"]
    run(evaluate.main, "--model", classifier, *data, *alone)
    inputs([*data, "-o", "inputs.jsonl"])()
    elsewhere(classifier)
    scored = score("inputs.jsonl", "answers.jsonl", output="scored", trainer=QUIET)
    assert 0.1 < scored["attentiveness", "premise"].value < 0.95
    assert known(results_of(scored.folder)) == known(results_of(Path("evaluated")))


def test_a_batch_gives_what_the_server_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
    small = ["--data", "planted", "--data.n_validation", "20", "--attentiveness.draws", "2", "--endpoint", "org/tiny"]
    small += ["--endpoint.prompt", "{premise} Does it follow that {hypothesis}?"]
    with FakeServer(lambda body, n: answer_or_refusal(body)) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        run(evaluate.main, *small, "--output", "evaluated")
        asked = {question_of(body) for body in fake.requests[1:]}  # the first shows what the server can do
        inputs([*small, "--format", "openai-batch", "-o", "batch.jsonl"])()
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        lines = lines_of("batch.jsonl")
        assert len({line["custom_id"] for line in lines}) == len(lines)
        assert {line["url"] for line in lines} == {"/v1/chat/completions"}
        questions = [question_of(line["body"]) for line in lines]
        assert asked <= set(questions)
        assert len(set(questions)) == len(questions)
        write_lines("output.jsonl", [served(line, fake) for line in lines])
    scored = score("batch.jsonl", "output.jsonl", output="scored", trainer=QUIET)
    found, expected = results_of(scored.folder), results_of(Path("evaluated"))
    assert found.pop("note") != expected.pop("note")
    for results in (found, expected):
        results.pop("rows")  # hashes of files whose metadata hold the note
    assert found == expected
    assert expected["counts"]["no_answers"]  # which are read as those of a server are


def served(line: Line, fake: FakeServer) -> Line:
    """A line of the output of a batch, by a server."""
    body = json.dumps(line["body"]).encode()
    asked = urllib.request.Request(fake.url.removesuffix("/v1") + line["url"], body)
    with urllib.request.urlopen(asked) as answer:
        response = {"status_code": answer.status, "request_id": "r", "body": json.load(answer)}
    return {"id": "batch_req", "custom_id": line["custom_id"], "response": response, "error": None}


def test_a_batch_by_first_tokens_without_failed_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = heedful.Endpoint(model="tiny", read="first_token")
    data = heedful.load_data("planted", n_validation=20)
    write_inputs(data, "batch.jsonl", endpoint=endpoint, attentiveness={"draws": 1})
    lines = []
    for line in lines_of("batch.jsonl"):
        first = share_of(json.dumps(line["body"]["messages"]))
        shares = {"entailment": first / 2, "neutral": 0.3, "contradiction": 0.7 - first / 2}
        top = [{"token": label, "logprob": math.log(max(p, 1e-9))} for label, p in shares.items()]
        body = {"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"top_logprobs": top}]}}]}
        lines.append({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}, "error": None})
    write_lines("output.jsonl", lines)
    whole = score("batch.jsonl", "output.jsonl", trainer=QUIET)
    assert whole["null", "max_change"].value == 0
    lines[3]["response"] = {"status_code": 500, "body": {"error": {"message": "overloaded"}}}
    lines[4]["response"]["body"] = {"choices": []}
    lines[5] |= {"response": None, "error": {"code": "batch_expired"}}
    write_lines("output.jsonl", lines)
    with refused("missing-answers", f"3 of {len(lines)} inputs", "row "):
        score("batch.jsonl", "output.jsonl", trainer=QUIET)
    rest = score("batch.jsonl", "output.jsonl", partial=True, trainer=QUIET)
    assert rest.content["counts"]["unanswered"] == 3
    assert rest.content["counts"]["not_predicted"] == 3  # the first 20 lines are of one example each
    with refused("unfit-model", "decisions"):
        write_inputs(data, "batch.jsonl", endpoint=heedful.Endpoint(model="tiny", read="decisions"))
    with refused("clashing-settings", "prompts"):
        write_inputs(data, "batch.jsonl", endpoint=endpoint, prompt={"tuples": 1, "seeds": 2})


SEGMENTS = ("instruction", "document", "question")


@pytest.mark.slow
def test_free_texts_of_a_file_of_rows_and_of_rows_in_memory() -> None:
    rows = [{part: f"{part} {i}\u2028é" for part in SEGMENTS} for i in range(30)]
    write_lines("rows.jsonl", rows)

    def says(parts: Line) -> str:
        return f"The {len(parts['document']) + int(5 * share_of(parts['question']))}."

    how: dict[str, Any] = {"keeps": "instruction", "swap": ["document", "question", "document+question"]}
    written = write_inputs("rows.jsonl", "inputs.jsonl", SEGMENTS, **how)
    assert written.inputs == len(answer_by(says))
    scored = score("inputs.jsonl", "answers.jsonl", trainer=QUIET)
    measured = heedful.measure(lambda asked: list(map(says, asked)), "rows.jsonl", SEGMENTS, trainer=QUIET, **how)
    assert known(scored.content) == known(measured.content)
    again = write_inputs(rows, "memory.jsonl", SEGMENTS, **how)
    assert again.version == written.version
    with refused("missing-setting", "memory.jsonl", "rows="):
        score("memory.jsonl", "answers.jsonl", trainer=QUIET)
    from_memory = score("memory.jsonl", "answers.jsonl", rows=rows, trainer=QUIET)
    assert from_memory.content["metrics"] == scored.content["metrics"]


@pytest.mark.slow
def test_tables_and_examples_that_an_evaluation_brings(tmp_path: Path) -> None:
    write_infotabs(tmp_path)
    folder, relevant = tmp_path / "infotabs", tmp_path / "relevant.csv"
    inputs(["--data", "infotabs", f"--data.path={folder}", "--evidence.path", str(relevant), "-o", "inputs.jsonl"])()
    assert lines_of("inputs.jsonl")[0]["parts"]["premise"]["title"] in ("Alpha", "Beta", "Gamma")
    answered = answer_by(by_words)
    scored = score("inputs.jsonl", "answers.jsonl", trainer=QUIET)
    measured = heedful.measure(
        lambda asked: list(map(by_words, asked)),
        heedful.load_data("infotabs", path=str(folder)),
        evidence={"path": str(relevant)},
        trainer=QUIET,
    )
    assert known(scored.content) == known(measured.content)
    assert {name.family for name in scored} >= {"accuracy", "attentiveness", "evidence"}
    write_lines("part.jsonl", answered[7:])
    with refused("missing-answers", "infotabs", "partial"):
        score("inputs.jsonl", "part.jsonl", partial=True, trainer=QUIET)


@pytest.fixture
def answered() -> list[Line]:
    """Answers to the inputs of planted pairs, which lie in files."""
    write_inputs(heedful.load_data("planted", n_validation=30), "inputs.jsonl", attentiveness={"draws": 2})
    return answer_by(by_words)


@pytest.mark.slow
def test_ids_are_compared(answered: list[Line], capsys: pytest.CaptureFixture[str]) -> None:
    def scored(*lines: Line, **more: Any) -> heedful.Results:
        write_lines("changed.jsonl", list(lines))
        return score("inputs.jsonl", "changed.jsonl", trainer=QUIET, **more)

    first, second, *others = answered
    with refused("missing-answers", f"1 of {len(answered)} inputs", first["id"]):
        scored(second, *others)
    for empty in ({"answer": None}, {"error": "time-out"}, {"probs": None}):
        with refused("missing-answers", f"1 of {len(answered)}", first["id"], "row 1 of changed.jsonl"):
            scored({"id": first["id"], **empty}, second, *others)
    for partial in (False, True):
        with refused("repeated-answers", "1 answers", first["id"], f"row {len(answered) + 1}"):
            scored(*answered, first, partial=partial)
        with refused("foreign-answers", "2 ids", '"17" in row 1'):
            scored({"id": "17", "answer": "neutral"}, {"id": None, "answer": "neutral"}, *answered, partial=partial)
        with refused("foreign-answers", "1 ids"):
            scored({**first, "id": f"{first['id'][:9]}{'0' * 16}"}, *answered, partial=partial)
    failed_first = {"id": first["id"], "error": "time-out"}
    assert scored(failed_first, *answered).content == score("inputs.jsonl", "answers.jsonl", trainer=QUIET).content
    write_lines("one.jsonl", answered[:9])
    write_lines("two.jsonl", answered[9:])
    both = score("inputs.jsonl", ["one.jsonl", "two.jsonl"], trainer=QUIET)
    assert both.content == score("inputs.jsonl", "answers.jsonl", trainer=QUIET).content
    assert json.loads((both.folder / "run.json").read_text())["answers"]["files"].keys() == {"one.jsonl", "two.jsonl"}
    write_inputs(heedful.load_data("planted", n_validation=31), "inputs.jsonl")
    with refused("other-inputs", "another version", first["id"]):
        scored(*answered, partial=True)


def test_files_are_compared_with_what_was_written(answered: list[Line]) -> None:
    content = Path("inputs.jsonl").read_text()
    Path("inputs.jsonl").write_text(content.replace("The", "A"))
    with refused("other-inputs", "inputs.jsonl"):
        score("inputs.jsonl", "answers.jsonl")
    Path("inputs.jsonl").write_text(content)
    about = json.loads(beside("inputs.jsonl").read_text())
    beside("inputs.jsonl").write_text(json.dumps(about | {"version": 99}))
    with refused("other-schema", "inputs.jsonl.meta.json"):
        score("inputs.jsonl", "answers.jsonl")
    for setting, other in ({"ids": "00000000", "seed": 9, "is_ordered": True, "of_rows": {}}).items():
        beside("inputs.jsonl").write_text(json.dumps(about | {setting: other}))
        with refused("changed-run-file", "inputs.jsonl.meta.json"):
            score("inputs.jsonl", "answers.jsonl")
    beside("inputs.jsonl").unlink()
    with refused("missing-file", "inputs.jsonl.meta.json"):
        score("inputs.jsonl", "answers.jsonl")
    with refused("missing-file", "no.jsonl"):
        score("no.jsonl", "answers.jsonl")
    rows = [{"premise": f"p {i}", "hypothesis": f"h {i}", "label": NAMES[i % 3]} for i in range(9)]
    write_lines("rows.jsonl", rows)
    write_inputs("rows.jsonl", "inputs.jsonl", PARTS, "neutral")
    answer_by(by_words)
    write_lines("rows.jsonl", rows[:8])
    with refused("changed-data", "inputs.jsonl"):
        score("inputs.jsonl", "answers.jsonl")


@pytest.mark.parametrize(
    ("answer", "code", "facts"),
    [
        ({"answer": "maybe"}, "unknown-label", ["changed.jsonl", "'maybe'", "'row': 1"]),
        ({"answer": ["neutral"]}, "wrong-value", ["changed.jsonl, row 1"]),
        ({"probs": 0.5}, "wrong-value", ["changed.jsonl, row 1"]),
        ({"answer": "neutral", "probs": {"neutral": 1}}, "wrong-value", ["both"]),
        ({"probs": {"neutral": 1.0}}, "broken-model", ["changed.jsonl", "'row': 2"]),
    ],
)
def test_what_is_not_an_answer(answered: list[Line], answer: Line, code: str, facts: list[str]) -> None:
    write_lines("changed.jsonl", [{"id": answered[0]["id"], **answer}, *answered[1:]])
    with refused(code, *facts):
        score("inputs.jsonl", "changed.jsonl", trainer=QUIET)


def test_probabilities_in_the_order_of_labels_that_were_named(answered: list[Line]) -> None:
    probs = [{"id": line["id"], "probs": [0.5, 0.25, 0.25]} for line in answered]
    write_lines("probs.jsonl", probs)
    with refused("missing-setting", "probs.jsonl", "labels="):
        score("inputs.jsonl", "probs.jsonl", trainer=QUIET)
    rows = [{"premise": f"p {i}", "hypothesis": f"h {i}", "label": NAMES[i % 3]} for i in range(12)]
    write_inputs(rows, "rows.jsonl", PARTS, labels=NAMES)
    write_lines("probs.jsonl", [{"id": line["id"], "probs": [0.5, 0.25, 0.25]} for line in lines_of("rows.jsonl")])
    assert score("rows.jsonl", "probs.jsonl", rows=rows, trainer=QUIET)["accuracy"].value == pytest.approx(1 / 3)


def test_a_default_label_that_is_misspelt() -> None:
    rows = [{"premise": f"p {i}", "hypothesis": f"h {i}", "label": NAMES[i % 3]} for i in range(9)]
    write_inputs(rows, "inputs.jsonl", PARTS, "nuetral")
    answer_by(by_words)
    with refused("unknown-label", "'nuetral'", "contradiction"):
        score("inputs.jsonl", "answers.jsonl", rows=rows, trainer=QUIET)


def test_no_answer_is_one_and_a_failure_is_not(answered: list[Line]) -> None:
    without = [{**line, "answer": "" if i < 30 else line["answer"]} for i, line in enumerate(answered)]
    write_lines("without.jsonl", without)
    assert score("inputs.jsonl", "without.jsonl", trainer=QUIET).content["counts"]["no_label"] == 30


@pytest.mark.slow
def test_part_of_the_answers(answered: list[Line], caplog: pytest.LogCaptureFixture) -> None:
    """Examples with a missing answer are left out, needed or not; all others count as in the whole."""
    whole = score("inputs.jsonl", "answers.jsonl", trainer=QUIET)
    assert score("inputs.jsonl", "answers.jsonl", partial=True, trainer=QUIET).content == whole.content
    write_lines("part.jsonl", answered[2:-5])
    with caplog.at_level("INFO"):
        part = score("inputs.jsonl", "part.jsonl", partial=True, trainer=QUIET)
    left = part.content["counts"]["not_predicted"]
    assert 2 < left <= 7
    assert f"7 of {len(answered)} inputs" in caplog.text
    assert f"{left} of 30 examples are left out" in caplog.text
    assert all("incomplete" in measured["flags"] for measured in part.content["metrics"].values())
    for evaluation in ("accuracy", "attentiveness"):
        rows, of_whole = (one.rows_of(evaluation).to_pylist() for one in (part, whole))
        kept = {row["uid"] for row in rows}
        assert len({row["uid"] for row in of_whole} - kept) == left
        assert rows == [row for row in of_whole if row["uid"] in kept]
    assert json.loads(rescored(part.folder)) == json.loads((part.folder / "results.json").read_text())
    with refused("nothing-left", "each example"):
        write_lines("none.jsonl", answered[30:])
        score("inputs.jsonl", "none.jsonl", partial=True, trainer=QUIET)


def test_an_evaluation_needs_no_others(classifier: Path) -> None:
    """With any answers, what the engine asks for is among what was written; the same seed gives the same swaps."""
    data = heedful.load_data("planted", n_validation=25)
    written = write_inputs(data, "inputs.jsonl", evaluations="default_label,attentiveness,naive_partial", seed=5)
    ids = {line["id"]: line["parts"] for line in lines_of("inputs.jsonl")}
    assert len(ids) == written.inputs == len({json.dumps(parts) for parts in ids.values()})
    asked: list[Line] = []

    def predict(rows: list[Line]) -> list[str]:
        asked.extend(map(dict, rows))
        return list(map(by_words, rows))

    heedful.measure(
        predict, data, seed=5, trainer=QUIET, evaluations=["default_label", "attentiveness", "naive_partial"]
    )
    assert {json.dumps(row) for row in asked} <= {json.dumps(parts) for parts in ids.values()}
