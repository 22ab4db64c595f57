"""Answers from files have the same results as the function that gave them."""

import json
import math
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import heedful
from heedful.assembly.answers_from_files import META, score, write_inputs
from heedful.records import DataError, HeedfulError, ModelError, SettingError

from fake_server import FakeServer, answer_or_refusal, question_of, share_of
from refusals import refused

QUIET = {"enable_progress_bar": False}
NAMES = ("entailment", "neutral", "contradiction")
PARTS = ("premise", "hypothesis")
ROWS = [{"premise": f"p {i}", "hypothesis": f"h {i}", "label": NAMES[i % 3]} for i in range(12)]
FREE_ROWS = [{part: f"{part} {i}\u2028é" for part in ("instruction", "document", "question")} for i in range(20)]
Line = dict[str, Any]


def without_null(results: heedful.Results) -> dict[str, Any]:
    """The content of results.json, without the identity of the model and the null control; and the other rows."""
    content = {name: value for name, value in results.content.items() if name != "identity"}
    content["metrics"] = {k: v for k, v in content["metrics"].items() if not k.startswith("null/")}
    content["names"] = [name for name in content["names"] if name[0] != "null"]
    repeated = {"accuracy/no_label", "no_answers", "models"}  # these count the answers to repeated inputs as well
    content["counts"] = {k: v for k, v in content["counts"].items() if k not in repeated}
    return content | {"rows": results.rows.filter(pc.field("intervention") != "null")}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working directory, and an environment without the variables of a server."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def lines_of(path: str) -> list[Line]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def write_lines(path: str, lines: list[Line]) -> None:
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))


def by_words(parts: Line) -> str:
    return NAMES[int(3 * share_of(json.dumps(parts)))]


def probabilities(parts: Line) -> dict[str, float]:
    first = share_of(json.dumps(parts)) * 0.7
    return {"entailment": first, "neutral": 0.3, "contradiction": 0.7 - first}


def free_text(parts: Line) -> str:
    return f"The {int(5 * share_of(json.dumps(parts)))}." if share_of(parts["question"]) > 0.1 else ""


def answer_by(rule: Callable[[Line], Any], key: str = "answer") -> list[Line]:
    """Write the answers to all inputs by a rule, in reverse order."""
    lines = [{"id": line["id"], key: rule(line["parts"])} for line in lines_of("inputs.jsonl")]
    write_lines("answers.jsonl", lines[::-1])
    return lines


CASES: dict[str, tuple[list[Line], Line, Callable[[Line], Any], str]] = {
    "labels": (ROWS, {"parts": PARTS, "default_label": "neutral", "by": "label"}, by_words, "answer"),
    "probabilities": (ROWS, {"parts": PARTS, "draws": 2, "seed": 3}, probabilities, "probs"),
    "free texts": (
        FREE_ROWS,
        {"parts": [*FREE_ROWS[0]], "keeps": "instruction", "swap": ["document+question"]},
        free_text,
        "answer",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_files_have_the_results_of_the_function(case: str) -> None:
    """Numbers and rows are equal, although the answers are in another order."""
    rows, settings, rule, key = CASES[case]
    n = write_inputs(rows, "inputs.jsonl", **settings)
    assert n == len({json.dumps(line["parts"]) for line in lines_of("inputs.jsonl")}) == len(answer_by(rule, key))
    scored = score("inputs.jsonl", "answers.jsonl", rows=rows, trainer=QUIET)
    measured = heedful.measure(lambda inputs: [*map(rule, inputs)], rows, trainer=QUIET, **settings)
    assert without_null(scored) == without_null(measured)
    assert not any(name.startswith("null/") for name in scored.content["metrics"])  # each input has one answer


PROMPT = "{premise} Does it follow that {hypothesis}?"


@pytest.mark.slow
def test_a_batch_has_the_results_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
    data = heedful.load_data("planted", n_validation=20)
    with FakeServer(lambda body, n: answer_or_refusal(body)) as fake:
        measured = heedful.measure(heedful.Endpoint(fake.url, "tiny", PROMPT), data, draws=2, trainer=QUIET)
        asked = {question_of(body) for body in fake.requests[1:]}  # the first request is a probe
        n = write_inputs(data, "batch.jsonl", endpoint=heedful.Endpoint(None, "tiny", PROMPT), draws=2)
        lines = lines_of("batch.jsonl")
        write_lines("output.jsonl", [served(line, fake) for line in lines])
    assert len({line["custom_id"] for line in lines}) == len({question_of(line["body"]) for line in lines}) == n
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    assert asked <= {question_of(line["body"]) for line in lines}
    scored = score("batch.jsonl", "output.jsonl", trainer=QUIET)
    assert without_null(scored) == without_null(measured)
    assert scored.content["counts"]["no_answers"]


def served(line: Line, fake: FakeServer) -> Line:
    """A line of the output file of a batch, with the response of a server."""
    asked = urllib.request.Request(fake.url.removesuffix("/v1") + line["url"], json.dumps(line["body"]).encode())
    with urllib.request.urlopen(asked) as answer:
        response = {"status_code": answer.status, "request_id": "r", "body": json.load(answer)}
    return {"id": "batch_req", "custom_id": line["custom_id"], "response": response, "error": None}


def test_requests_of_a_batch_that_failed_are_not_answers() -> None:
    endpoint = heedful.Endpoint(model="tiny", read="first_token")
    data = heedful.load_data("planted", n_validation=6)
    n = write_inputs(data, "batch.jsonl", endpoint=endpoint, draws=1)
    lines: list[Line] = []
    for line in lines_of("batch.jsonl"):
        shares = probabilities(line["body"])
        top = [{"token": label, "logprob": math.log(max(p, 1e-9))} for label, p in shares.items()]
        choice = {"message": {"content": "x"}, "logprobs": {"content": [{"top_logprobs": top}]}}
        response = {"status_code": 200, "body": {"choices": [choice]}}
        lines.append({"id": "batch_req", "custom_id": line["custom_id"], "response": response, "error": None})
    write_lines("output.jsonl", lines)
    whole = score("batch.jsonl", "output.jsonl", trainer=QUIET)
    for failed, *facts in (
        ({"response": {"status_code": 500, "body": {"error": {"message": "overloaded"}}}}, f"1 of {n} inputs", "500"),
        ({"response": None, "error": {"code": "batch_expired"}}, f"1 of {n} inputs", "batch_expired"),
        ({"response": None}, f"1 of {n} inputs", "no answer"),
        ({"response": {"status_code": 200, "body": {"choices": []}}}, "0 choices in place"),
        ({"response": {"status_code": 200, "body": {"choices": [choice] * 2}}}, "2 choices"),
    ):
        write_lines("failed.jsonl", [*lines[:3], {**lines[3], **failed}, *lines[4:]])
        with refused(DataError, "failed.jsonl, row 4", *facts):
            score("batch.jsonl", "failed.jsonl", trainer=QUIET)
    write_lines("failed.jsonl", [{**lines[3], "response": None}, *lines[4:]])
    write_lines("again.jsonl", lines[:4])
    assert score("batch.jsonl", ["failed.jsonl", "again.jsonl"], trainer=QUIET).content == whole.content


@pytest.fixture
def answered() -> list[Line]:
    """The answers to the inputs of a file of rows."""
    write_lines("rows.jsonl", ROWS)
    write_inputs("rows.jsonl", "inputs.jsonl", PARTS, "neutral", draws=1)
    return answer_by(by_words)


BAD: dict[str, tuple[Callable[[Line], list[Line]], type[HeedfulError], list[str]]] = {
    "missing": (lambda line: [], DataError, ["inputs.jsonl, row 1", "ID", "1 of N inputs"]),
    "null": (lambda line: [{**line, "answer": None}], DataError, ["changed.jsonl, row 1", "ID", "1 of N inputs"]),
    "failed": (lambda line: [{"id": line["id"], "error": "time-out"}], DataError, ["row 1", "ID", "time-out"]),
    "doubled": (lambda line: [line, line], DataError, ["changed.jsonl, row 2", "ID", "changed.jsonl, row 1"]),
    "foreign": (lambda line: [line, {**line, "id": "0" * 16}], DataError, ["row 2", "inputs.jsonl", "0" * 16]),
    "number": (lambda line: [{**line, "id": 17}], DataError, ["changed.jsonl, row 1", "17"]),
    "both": (lambda line: [{**line, "probs": {}}], DataError, ["changed.jsonl, row 1", "probs"]),
    "label": (lambda line: [{**line, "answer": "maybe"}], ModelError, ["'maybe'", "changed.jsonl, row 1", "ID"]),
    "list": (lambda line: [{**line, "answer": ["neutral"]}], DataError, ["changed.jsonl, row 1"]),
    "mixed": (
        lambda line: [{"id": line["id"], "probs": {"neutral": 1}}],
        ModelError,
        ["with probabilities"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_answers_that_are_refused(answered: list[Line], case: str) -> None:
    make, error, facts = BAD[case]
    write_lines("changed.jsonl", [*make(answered[0]), *answered[1:]])
    known = [fact.replace("ID", answered[0]["id"]).replace("of N", f"of {len(answered)}") for fact in facts]
    with refused(error, *known):
        score("inputs.jsonl", "changed.jsonl", trainer=QUIET)


def test_a_file_with_other_content_is_not_replaced(here: Path) -> None:
    rows = here / "rows.jsonl"
    rows.write_text(before := "".join(json.dumps(row) + "\n" for row in ROWS))
    with refused(SettingError, rows, "not a file of inputs"):
        write_inputs(rows, rows, PARTS, "neutral")
    assert rows.read_text() == before
    for _ in range(2):  # a file of inputs is written again
        assert write_inputs(rows, "inputs.jsonl", PARTS, "neutral", evaluations="accuracy") == len(ROWS)


def test_other_inputs_than_those_that_were_written(answered: list[Line]) -> None:
    write_lines("rows.jsonl", [{**row, "premise": row["premise"].upper()} for row in ROWS])
    with refused(DataError, "inputs.jsonl", "'premise': 'P "):
        score("inputs.jsonl", "answers.jsonl", trainer=QUIET)
    write_inputs(ROWS, "inputs.jsonl", PARTS, "neutral", draws=1)
    with refused(SettingError, "inputs.jsonl", "rows="):
        score("inputs.jsonl", "answers.jsonl")
    Path(f"inputs.jsonl{META}").unlink()
    with refused(DataError, f"inputs.jsonl{META}"):
        score("inputs.jsonl", "answers.jsonl")
