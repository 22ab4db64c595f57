"""What a folder of results is about, from its configuration and those of the runs that it began with."""

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml

from heedful.cli.short_forms import config_path, names
from heedful.records import Context, HeedfulError, read_json, write_json
from heedful.records.rows import BASE
from heedful.records.storage.schema import SCHEMA
from heedful.reports import comparable, compare, inoculation, matrix, partial_figure, ranking
from heedful.reports.in_context import __main__ as in_context
from heedful.reports.results import score
from heedful.reports.runs import columns, measured, short_name

import prompted_runs
import written_results
from attribution_rows import word_rows
from made_rows import make
from ranking_suites import LABELS as OF_WORDS
from ranking_suites import explained
from written_results import configured


@pytest.mark.parametrize("name", names("model"))
def test_every_configured_model_has_its_short_name(name):
    with open(config_path("model", name)) as file:
        config = yaml.safe_load(file)
    if "backbone" not in config["init_args"]:
        pytest.skip("it is named where it is asked")
    assert short_name(config["init_args"]["backbone"], config["class_path"]) == name


def test_regimes_stand_in_labels(tmp_path):
    folders = [
        configured(tmp_path / "a"),
        configured(tmp_path / "b", augment="counterfactual"),
        configured(tmp_path / "c", partial="hypothesis"),
        configured(tmp_path / "d", "org/Some Model", augment="inoculation", inoculation={"n": 200}),
    ]
    labels = ["minilm", "minilm counterfactual", "minilm", "org-some-model inoculation-200"]
    runs = measured(folders)
    assert [run.label for run in runs] == labels
    assert [run.regime for run in runs] == ["plain", "counterfactual", "partial-hypothesis", "inoculation-200"]


def test_an_evaluation_is_of_the_model_that_its_run_has_trained(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    configured(first)
    configured(second, first / "checkpoints" / "backbone", augment="counterfactual")
    exported = second / "checkpoints" / "backbone"
    folder = second / "evaluations" / "other"
    (run,) = measured([configured(folder, exported, second / "checkpoints" / "best.ckpt")])
    assert (run.model, run.label) == ("minilm", "minilm counterfactual")
    moved = (tmp_path / "moved").absolute()
    second.rename(moved)
    (run,) = measured([str(moved / "evaluations" / "other")])
    assert run.label == "minilm counterfactual"


def test_a_model_that_was_trained_on_other_data_is_called_that(tmp_path):
    run = tmp_path / "run"
    best, exported = run / "checkpoints" / "best.ckpt", run / "checkpoints" / "backbone"
    configured(run, name="mnli", augment="counterfactual")
    configured(tmp_path / "same", exported, best, name="mnli")
    configured(tmp_path / "other", exported, best, name="rte")
    configured(tmp_path / "tuned", exported, name="rte")
    runs = measured([str(tmp_path / name) for name in ("same", "other", "tuned")])
    trained = "minilm trained on mnli"
    assert [run.model for run in runs] == ["minilm", trained, "minilm"]
    assert [run.label for run in runs] == ["minilm counterfactual", f"{trained} counterfactual", "minilm"]


def test_runs_on_the_same_data_are_told_apart_by_seed_and_then_by_folder(tmp_path):
    for name, seed in (("a", 0), ("b", 1), ("c", 1)):
        configured(tmp_path / name, found=written_results.results(seed=seed))
    runs = measured([str(tmp_path / name) for name in "abca"])
    assert [run.label for run in runs] == [
        "minilm, seed 0", f"minilm, seed 1: {tmp_path / 'b'}", f"minilm, seed 1: {tmp_path / 'c'}"
    ]  # fmt: skip


def test_splits_of_one_data_set_are_columns_of_their_own(tmp_path):
    for name, data, split in (("a", "d", "dev"), ("b", "d", "test"), ("c", "e", "dev")):
        configured(tmp_path / name, found=written_results.results(data=data, split=split))
    runs = measured([str(tmp_path / name) for name in "abc"])
    assert list(columns(runs).values()) == ["d dev", "d test", "e"]


def test_a_folder_without_settings_goes_by_its_name_and_damaged_ones_are_refused(tmp_path):
    written_results.save(tmp_path / "mine")
    (run,) = measured([str(tmp_path / "mine")])
    assert run.label == "mine"
    (tmp_path / "mine" / "config.yaml").write_text("- no\n")
    with pytest.raises(HeedfulError, match="config.yaml is damaged"):
        measured([str(tmp_path / "mine")])


def test_a_configuration_that_stands_for_too_much_is_refused(tmp_path):
    """A few lines with aliases stand for more values than fit into a memory."""
    folder = tmp_path / "run"
    configured(folder)
    names = "abcdefghi"
    bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    bomb += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip(names, names[1:], strict=False)]
    (folder / "config.yaml").write_text("\n".join(bomb))
    with pytest.raises(HeedfulError, match="config.yaml stands for more than 100,000 values"):
        measured([folder])


# what reports do with runs that do not belong together

LABELS = ("entailment", "neutral", "contradiction")
UIDS = [f"d/test/{i:04}" for i in range(24)]
OWN: dict[str, dict] = {"accuracy": {}, "attentiveness": {"swap": ["premise"]}}
CHALLENGE = {"challenge": {"kinds": ["negation"], "title": False}}
BACKBONE = "/x/base/checkpoints/backbone"
OTHER = "/y/base/checkpoints/backbone"


def rows_of_run(seed: int, content: str) -> pa.Table:
    """Base rows, swaps of the premise and hypotheses that were negated."""
    right, stays, flips = np.random.default_rng(seed).random((3, len(UIDS))) < [[0.8], [0.5], [0.6]]
    answers = {True: "entailment", False: "contradiction"}
    base = {uid: ("entailment", answers[ok]) for uid, ok in zip(UIDS, right.tolist(), strict=True)}
    changes = []
    for uid, is_same, flipped in zip(UIDS, stays.tolist(), flips.tolist(), strict=True):
        changes.append({"uid": uid, "y2": base[uid][1] if is_same else "neutral"})
        made = {"intervention": "perturb/negation/flipped", "draw": -1, "gold": "contradiction"}
        changes.append({"uid": uid, **made, "y2": answers[not flipped], "clusters": [uid, f"table {uid}"]})
    rows = make(base, changes)
    here = zip(rows["uid"].to_pylist(), rows["intervention"].to_pylist(), strict=True)
    texts = [content + uid if intervention == BASE else "" for uid, intervention in here]
    return rows.set_column(rows.schema.get_field_index("content"), "content", pa.array(texts))


def run_folder(
    folder: Path,
    seed: int = 0,
    content: str = "",
    default_label: str | None = "neutral",
    backbone: str = BACKBONE,
    report: str = "",
    **data: str,
) -> str:
    """A run with what a report needs, trained with a seed and evaluated with the seed 0, with weights of its own."""
    number = sum(map(ord, f"{folder.name}{seed}"))
    context = Context("d", parts=("premise", "hypothesis"), labels=LABELS, default_label=default_label)
    run = {"data": "d", "split": "test", "seed": 0, "note": None, "counts": {"examples": 24}}
    about = {"data": "d", "seed": 0, "manifest": "m", "counts": {}, "most_probable": False, "run": run}
    rows = rows_of_run(number, content)
    evaluations = OWN | (CHALLENGE if report == "inoculation" else {})
    written = {n: (rows, about | {"context": replace(context, own=own).as_dict()}) for n, own in evaluations.items()}
    if report == "ranking":
        probs = np.random.default_rng(number).dirichlet([1, 1], 8)
        words = word_rows(explained(probs, [0] * 8, range(8), "d", ("shap",), {}), content=content)
        of_words = replace(context, labels=OF_WORDS)
        written["attributions"] = words, about | {"context": of_words.as_dict()}
    if data:  # a model of one part
        written = {"accuracy": written["accuracy"]}
    found = score(run, written).results | {"weights": f"weights of {folder.name}"}
    configured(folder, backbone, found=found, written=written, seed_everything=seed, **data)
    write_json(folder / "run.json", {"schema": SCHEMA, "started": folder.name, "command": []})
    return str(folder)


def asked(
    folder: Path, seed: int = 0, content: str = "", default_label: str | None = "neutral", backbone: str = BACKBONE
) -> str:
    """The same of a model that was asked in context, where the seed is that of demonstrations."""
    rows = rows_of_run(sum(map(ord, folder.name)), content)
    context = Context("d", parts=("premise", "hypothesis"), labels=LABELS, default_label=default_label)
    prompted_runs.save(folder, rows, seed=seed, context=replace(context, own=OWN["attentiveness"]), backbone="gpt")
    prompt = read_json(folder / "run.json")["prompt"]
    write_json(folder / "run.json", {"schema": SCHEMA, "prompt": prompt, "server": backbone})
    return str(folder)


def with_partial(runs: list[str], output: Path) -> None:
    """Draw runs with those of the same models on the hypothesis alone."""
    alone = [
        run_folder(output / f"alone{k}", k, backbone=b, partial="hypothesis") for k, b in enumerate((BACKBONE, OTHER))
    ]
    partial_figure.main([*runs, *alone, "--output", str(output / "f.png")])


CASES = {
    "two seeds": {"seed": 1},
    "other examples": {"seed": 1, "content": "other "},
    "another default label": {"seed": 1, "default_label": None},
    "one seed twice": {"seed": 0},
    "a copy": None,
    "another model of this name": {"seed": 1, "backbone": OTHER},
}
SAID = {
    "other examples": "/a and /b were evaluated on different examples: 24 of 24 have another text or label",
    "another default label": "/a and /b have other default labels, 'neutral' and None",
    "one seed twice": "/a and /b have the same seed, 0",
    "a copy": "/a and /b hold results of the same model",
}
REPORTS: dict[str, Callable[[list[str], Path], None]] = {
    "compare": lambda runs, _: compare.main(runs),
    "compare --mean": lambda runs, _: compare.main(["--mean", *runs]),
    "matrix": lambda runs, _: matrix.main(runs),
    "comparable": lambda runs, _: comparable.main(runs),
    "in_context": lambda runs, _: in_context.main(runs),
    "inoculation": lambda runs, _: inoculation.main(runs),
    "ranking": lambda runs, _: ranking.main(runs),
    "partial_figure": with_partial,
}
SHOWN = "shown"  # without a word, since each run has its own name there
DIFFERENT = f"are of different models, base, backbone {BACKBONE} and base, backbone {OTHER}"
SAME_PROMPT = "/a and /b hold results of the same model with the same prompt"
NOTED = {(report, case) for report in ("compare", "matrix") for case in SAID if case != "one seed twice"}
BESIDE = ("compare", "comparable", "ranking")
OTHERWISE = {  # (report, case) that is neither refused nor noted in the words above
    **{(report, "two seeds"): SHOWN for report in REPORTS},
    **{(report, "one seed twice"): SHOWN for report in (*BESIDE, "inoculation", "partial_figure")},
    **{(report, "another model of this name"): SHOWN for report in BESIDE},
    ("matrix", "one seed twice"): "base, seed 0: /b",
    ("matrix", "another model of this name"): f"base, backbone {OTHER}",
    ("compare --mean", "another model of this name"): DIFFERENT,
    ("inoculation", "another model of this name"): DIFFERENT,
    ("in_context", "one seed twice"): SAME_PROMPT,
    ("in_context", "a copy"): SAME_PROMPT,
    ("in_context", "another model of this name"): f"gpt, server {OTHER}",
    ("partial_figure", "other examples"): "/b and /alone0 were evaluated on different examples",
    ("partial_figure", "another default label"): SHOWN,
    ("partial_figure", "another model of this name"): f"base, backbone {OTHER}",
}
REFUSED = (DIFFERENT, SAME_PROMPT)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "report",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in ("ranking", "partial_figure"))) for name in REPORTS],
)
def test_what_each_report_does_with_runs_that_do_not_belong_together(tmp_path, capsys, monkeypatch, report, case):
    monkeypatch.setenv("COLUMNS", "240")
    save = asked if report == "in_context" else partial(run_folder, report=report)
    first = save(tmp_path / "a")
    if CASES[case] is None:
        shutil.copytree(first, tmp_path / "b")
    else:
        save(tmp_path / "b", **CASES[case])
    expected = OTHERWISE.get((report, case), SAID.get(case))
    is_refused = (report, case) not in NOTED | OTHERWISE.keys() or expected in REFUSED
    with pytest.raises(HeedfulError) if is_refused else nullcontext() as error:
        REPORTS[report]([first, str(tmp_path / "b")], tmp_path)
    told = str(error.value) if error else ""
    told = f"{told}{''.join(capsys.readouterr())}".replace(str(tmp_path), "")
    if expected == SHOWN:
        assert not [text for text in SAID.values() if text in told]
        assert "Note: /" not in told
    else:
        assert expected in told
