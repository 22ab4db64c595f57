"""Consistency of models with known answers through the real engine; and published numbers."""

import json
from collections import defaultdict

import pytest

import heedful
from heedful.callbacks import Counterparts, Nothing, Setting
from heedful.cli import command
from heedful.datamodules import PairedText
from heedful.records import DataError

from commands import results_of, run
from fake_server import FakeServer, question_of
from oracles import ByParts, measure
from own_data import configured, converted, set_up, twin_path
from refusals import refused

ONLY = ["accuracy", "counterpart"]
PARTS = {"premise": "premise", "hypothesis": "hypothesis"}


def data_of(counterpart, rows, **settings):
    data = PairedText("d", PARTS, {"yes": [], "no": []}, path=rows, counterpart=counterpart, uid="id", **settings)
    return set_up(data, "validate")


def numbers(engine):
    return {
        name.removeprefix("counterpart/d/"): m.value for name, m in engine.items() if name.startswith("counterpart/")
    }


def rows_of(form):
    """Four originals, of which the first two have an edit that changes the gold label, and one that keeps it."""
    rows = []
    for i in range(4):
        original = {"id": i, "premise": f"p{i}", "hypothesis": f"h{i} yes", "label": "yes", "original": i}
        edits = [("no", "no", "flip"), ("yes again", "yes", "keep")] if i < 2 else []
        if form == "joined":
            made = [
                original | {"hypothesis": f"h{i} {text}", "label": gold, "kind": kind} for text, gold, kind in edits
            ]
            rows += [original | {"kind": None}, *(edit | {"id": f"{i}-{k}"} for k, edit in enumerate(made))]
        else:
            more = [{"new": f"h{i} {text}", "gold2": gold, "kind": kind} for text, gold, kind in edits]
            more = more or [{"new": None, "gold2": None, "kind": None}]
            rows += [original | each | {"id": f"{i}-{k}"} for k, each in enumerate(more)]
    return rows


FORMS = {
    "joined": {"original": "original", "kind": "kind"},
    "columns": {"parts": {"hypothesis": "new"}, "label": "gold2", "kind": "kind"},
}


@pytest.mark.parametrize("form", FORMS)
def test_both_forms_give_the_numbers_of_the_rule(form):
    """A perfect model, and one that reads the premise alone and is right on originals."""
    data = data_of(FORMS[form], rows_of(form))
    found = numbers(
        measure(ByParts(lambda premise, hypothesis: hypothesis.split()[1]), data, Counterparts(), only=ONLY)
    )
    assert {found[name] for name in ("all", "pair", "original", "edited", "other_gold/moves", "same_gold/stays")} == {1}
    engine = measure(ByParts(lambda premise, hypothesis: "yes"), data, Counterparts(), only=ONLY)
    found = numbers(engine)
    assert {name: found[name] for name in ("all", "pair", "original", "edited")} == {
        "all": 0, "pair": 0.5, "original": 1, "edited": 0.5
    }  # fmt: skip
    assert (found["other_gold/stays"], found["pair/kind=flip"], found["pair/kind=keep"]) == (1, 0, 1)
    counts = {name: engine.content["counts"][f"counterpart/{name}"] for name in ("sets", "pairs", "alone")}
    assert counts == {"sets": 2, "pairs": 4, "alone": 2}
    rows = engine.rows["counterpart"][0].to_pylist()
    assert {(r["part"], r["gold2"], r["variant"]) for r in rows if r["intervention"] == "counterpart"} >= {
        ("hypothesis", "no", "flip#1")
    }
    n = sum(r["intervention"] == "base" for r in rows)
    assert n == len(data.pool)


def test_a_model_of_the_other_part_does_not_read_the_edit():
    data = data_of(FORMS["columns"], rows_of("columns"), partial="premise")
    found = numbers(measure(ByParts(lambda premise: "yes"), data, Counterparts(), only=ONLY))
    assert (found["other_gold/stays"], found["pair"], found["original"]) == (1, 0.5, 1)


def test_there_is_nothing_to_do_without_counterparts():
    data = data_of(None, rows_of("joined"))
    assert isinstance(Counterparts().plan(Setting(data)), Nothing)
    rows = [row | {"original": f"x{row['id']}"} for row in rows_of("joined")]
    with refused(DataError, "d: no evaluated example", "data.counterpart"):
        Counterparts().plan(Setting(data_of({"original": "original"}, rows)))


def real(name, path, shared_data, folder):
    if not (shared_data / path).exists():
        pytest.skip(f"no {path} in {shared_data}")
    return converted(name, shared_data / path, folder)


def test_published_predictions_give_the_published_numbers_of_matres(shared_data, tmp_path):
    """Gardner et al. (2020), table 2: 73.2, 63.3 and 40.6; the consistency of pairs is counted from the same files."""
    path = real("matres", "contrast_sets/matres", shared_data, tmp_path)
    data = heedful.load_data("matres", path=str(path))
    heedful.write_inputs(data, tmp_path / "inputs.jsonl", evaluations=["counterpart"])
    published = {row["text"]: row["published"].lower() for row in map(json.loads, path.read_text().splitlines())}
    answers = tmp_path / "answers.jsonl"
    inputs = map(json.loads, (tmp_path / "inputs.jsonl").read_text().splitlines())
    lines = [{"id": line["id"], "answer": published[line["parts"]["text"]]} for line in inputs]
    answers.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    results = heedful.score(tmp_path / "inputs.jsonl", answers, trainer={"enable_progress_bar": False})
    begin = "counterpart/matres/"
    metrics = {name.removeprefix(begin): m for name, m in results.content["metrics"].items()}
    found = {name: (round(100 * m["value"], 1), m["n"]) for name, m in metrics.items()}
    assert {name: found[name] for name in ("original", "edited", "all", "pair")} == {
        "original": (73.2, 239), "edited": (63.3, 401), "all": (40.6, 239), "pair": (48.6, 401)
    }  # fmt: skip


def test_groups_of_condaqa_are_those_of_loops(shared_data, tmp_path):
    path = real("condaqa", "condaqa/condaqa_dev.json", shared_data, tmp_path)
    rule = lambda passage, question: ("YES", "NO")[(len(passage) + len(question)) % 2]  # noqa: E731
    engine = measure(ByParts(rule), configured("condaqa", path, "validate"), Counterparts(), only=ONLY)
    groups = defaultdict(list)
    for row in map(json.loads, path.read_text().splitlines()):
        groups[row["PassageID"], row["QuestionID"]].append(rule(row["sentence1"], row["sentence2"]) == row["label"])
    sets = [group for group in groups.values() if len(group) > 1]
    assert len(groups) == 328
    expected = sum(map(all, sets)) / len(sets)
    found = engine["counterpart/condaqa/all"]
    assert (found.value, found.n) == (pytest.approx(expected), 311)
    pairs = [a and b for group in sets for k, a in enumerate(group) for b in group[k + 1 :]]
    assert engine["counterpart/condaqa/pair"].value == pytest.approx(sum(pairs) / len(pairs))


@pytest.mark.parametrize(("name", "path"), [("conflictqa", "conflictqa/conflictQA-strategyQA-chatgpt.json"),
                                            ("rgb", "rgb/en_fact.json")])  # fmt: skip
@pytest.mark.parametrize("source", ["twin", "real"])
def test_a_server_that_follows_the_passage_is_consistent(name, path, source, shared_data, tmp_path):
    """The server looks the answer to the passages up; RGB's answers stand in a sentence."""
    pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
    file = next(twin_path(name).iterdir()) if source == "twin" else real(name, path, shared_data, tmp_path)
    answer_of = {}
    for row in map(json.loads, file.read_text().splitlines()):
        if name == "rgb":
            answer_of |= {
                row["passages"]: f"It is {row['answers'][0]}.",
                row["false_passages"]: row["false_answers"][0],
            }
        else:
            answer_of |= {row["passage"]: "A", row["other_passage"]: "B"}

    def answer(body, n=0):
        text = question_of(body).partition(": ")[2].rpartition("\nQuestion:")[0]
        return answer_of[text.partition("\nQuestion:")[0]]

    with FakeServer(answer) as fake:
        data = heedful.load_data(name, path=str(file), max_validation=12)
        settings = {"evaluations": ["counterpart"], "trainer": {"enable_progress_bar": False}}
        results = heedful.measure(heedful.Endpoint(fake.url, "m", cache=str(tmp_path / "cache")), data, **settings)
    found = {
        name.removeprefix(f"counterpart/{data.name}/"): m["value"] for name, m in results.content["metrics"].items()
    }
    assert {found[name] for name in ("all", "pair", "original", "edited", "other_gold/moves")} == {1}


PAIRS = {
    "boolq": "contrast_sets/boolq/boolq_perturbed.json",
    "condaqa": "condaqa/condaqa_dev.json",
    "matres": "contrast_sets/matres",
    "monli": "monli",
    "perspectrum": "contrast_sets/perspectrum/perspectrum_contrast_sets.csv",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_minilm_is_measured_on_the_real_data(name, shared_data, tmp_path):
    """After two steps, on sets of which none is divided."""
    path = real(name, PAIRS[name], shared_data, tmp_path)
    held_out = [] if path.is_dir() else ["--data.hold_out", "60"]
    few = ["--trainer.max_steps", "2", "--data.batch_size", "4", "--data.max_validation", "60"]
    few += ["--model.max_length", "64"]
    words = ["--data", name, "--data.path", path, *held_out, "--model", "minilm", *few, "--output", tmp_path / "run"]
    run(command.train, *words)
    results = results_of(tmp_path / "run")
    metrics = {key.removeprefix("counterpart/"): m for key, m in results["metrics"].items() if "counterpart/" in key}
    assert {f"{name}/{statistic}" for statistic in ("all", "pair", "original", "edited")} <= metrics.keys()
    assert metrics[f"{name}/all"]["n"] == results["counts"]["counterpart/sets"] > 5
    assert metrics[f"{name}/all"]["value"] <= metrics[f"{name}/original"]["value"]
