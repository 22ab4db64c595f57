"""How each report handles runs that cannot be compared."""

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import heedful
from heedful.cli import command
from heedful.records import Context, RunError, read_json
from heedful.records.rows import BASE
from heedful.reports.results import score

import prompted_runs
from attribution_rows import word_rows
from made_rows import make
from ranking_suites import LABELS as OF_WORDS
from ranking_suites import explained
from refusals import refused
from tiers import first_tier
from written_results import configured, rewrite

LABELS = ("entailment", "neutral", "contradiction")
UIDS = [f"d/test/{i:04}" for i in range(24)]
OWN: dict[str, dict] = {"accuracy": {}, "attentiveness": {"swap": [["premise", "leaves"]]}}
CHALLENGE = {"challenge": {"kinds": ["negation"], "title": False}}
BACKBONE = "x/base"
OTHER = "x-base"


def rows_of_run(seed: int, content: str) -> pa.Table:
    """Rows of predictions for original examples, for swapped premises and for negated hypotheses."""
    right, stays, flips = np.random.default_rng(seed).random((3, len(UIDS))) < [[0.8], [0.5], [0.6]]
    answers = {True: "entailment", False: "contradiction"}
    base = {uid: ("entailment", answers[ok]) for uid, ok in zip(UIDS, right.tolist(), strict=True)}
    changes = []
    for uid, is_same, flipped in zip(UIDS, stays.tolist(), flips.tolist(), strict=True):
        changes.append({"uid": uid, "y2": base[uid][1] if is_same else "neutral"})
        made = {"intervention": "perturb/negation/flipped", "draw": -1, "gold2": "contradiction"}
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
    """Write a run with the evaluations that a report needs, trained with ``seed`` and evaluated with the seed 0."""
    number = sum(map(ord, f"{folder.name}{seed}"))
    context = Context("d", parts=("premise", "hypothesis"), labels=LABELS, default_label=default_label)
    run = {"data": "d", "split": "test", "seed": 0, "note": None, "counts": {"examples": 24}}
    about = {"data": "d", "seed": 0, "manifest": "m", "counts": {}, "run": run}
    rows = rows_of_run(number, content)
    evaluations = OWN | (CHALLENGE if report == "inoculation" else {})
    written = {n: (rows, about | {"context": replace(context, own=own).as_dict()}) for n, own in evaluations.items()}
    if report == "ranking":
        probs = np.random.default_rng(number).dirichlet([1, 1], 8)
        words = word_rows(explained(probs, [0] * 8, range(8), "d", ("shap",), {}), content=content)
        of_words = replace(context, labels=OF_WORDS)
        written["attributions"] = words, about | {"context": of_words.as_dict()}
    if data:  # a partial-input model
        written = {"accuracy": written["accuracy"]}
    found = score(run | {"weights": f"weights of {folder.name}"}, written).results
    configured(folder, backbone, found=found, written=written, seed_everything=seed, **data)
    return str(folder)


def asked(
    folder: Path, seed: int = 0, content: str = "", default_label: str | None = "neutral", backbone: str = BACKBONE
) -> str:
    """Write a run of a prompted model, with ``seed`` as the seed of the demonstrations."""
    rows = rows_of_run(sum(map(ord, folder.name)), content)
    context = Context("d", parts=("premise", "hypothesis"), labels=LABELS, default_label=default_label)
    context = replace(context, own=OWN["attentiveness"])
    prompted_runs.save(folder, rows, seed=seed, context=context, backbone="gpt", server=backbone)
    return str(folder)


def with_partial(runs: list[str], output: Path) -> None:
    """Draw the figure of runs and of partial-input runs of the same models."""
    alone = [
        run_folder(output / f"alone{k}", k, backbone=b, partial="hypothesis") for k, b in enumerate((BACKBONE, OTHER))
    ]
    command.main(["figure", "partial", *runs, *alone, "--output", str(output / "f.png")])


CASES = {  # how the second run differs from the first, and the fact that a report names
    "two seeds": ({"seed": 1}, None),
    "other examples": ({"seed": 1, "content": "other "}, "24 of 24"),
    "another default label": ({"seed": 1, "default_label": None}, "'neutral' and None"),
    "one seed twice": ({"seed": 0}, "same"),
    "a copy": (None, "the same model"),
    "another model of this name": ({"seed": 1, "backbone": OTHER}, OTHER),
}
REPORTS: dict[str, Callable[[list[str], Path], None]] = {
    "compare": lambda runs, _: command.main(["compare", *runs]),
    "compare --mean": lambda runs, _: command.main(["compare", "--mean", *runs]),
    "matrix": lambda runs, _: command.main(["matrix", *runs]),
    "comparable": lambda runs, _: command.main(["compare", "--agreed", *runs]),
    "matrix --mean": lambda runs, _: command.main(["matrix", "--mean", *runs]),
    "inoculation": lambda runs, _: command.main(["compare", "--inoculation", *runs]),
    "ranking": lambda runs, _: command.main(["rank", *runs]),
    "partial_figure": with_partial,
}
OUTCOMES = {  # of each case: the runs are shown (+), shown with a note on the fact (n), or refused (-)
    "compare": "+nn+n+",
    "compare --mean": "+-----",
    "matrix": "+nn+n+",
    "comparable": "+--+-+",
    "matrix --mean": "+-----",
    "inoculation": "+--+--",
    "ranking": "+--+-+",
    "partial_figure": "+nn+-+",
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("report", first_tier(2, REPORTS))
def test_what_each_report_does_with_runs_that_do_not_belong_together(tmp_path, capsys, monkeypatch, report, case):
    monkeypatch.setenv("COLUMNS", "240")
    settings, fact = CASES[case]
    outcome = OUTCOMES[report][list(CASES).index(case)]
    save = asked if report == "matrix --mean" else partial(run_folder, report=report)
    first, second = save(tmp_path / "a"), str(tmp_path / "b")
    if settings is None:
        shutil.copytree(first, second)
    else:
        save(tmp_path / "b", **settings)
    with refused(RunError, second, fact) if outcome == "-" else nullcontext():
        REPORTS[report]([first, second], tmp_path)
    text = "".join(capsys.readouterr()).replace(str(tmp_path), "")
    if outcome == "n":
        assert fact in text
    elif outcome == "+":
        assert "Note: /" not in text


def test_compare_says_when_numbers_of_training_steps_differ(tmp_path, capsys):
    runs = [run_folder(tmp_path / name, seed) for seed, name in enumerate("ab")]
    for folder, steps in zip(runs, (46, 1032), strict=True):
        results = read_json(Path(folder) / "results.json")
        rewrite(folder, identity=results["identity"] | {"steps": steps})
    command.main(["compare", *runs])
    text = " ".join(capsys.readouterr().out.replace(str(tmp_path), "").split())
    assert "/a and /b have weights from different training steps, 46 and 1,032." in text
    command.main(["compare", "--mean", *runs])
    assert "weights from different training steps" in " ".join(capsys.readouterr().out.split())


def always(answer: str) -> Callable[[list[dict]], list[str]]:
    def predict(inputs: list[dict]) -> list[str]:
        return [answer for _ in inputs]

    return predict


def never(_: str) -> Callable[[list[dict]], list[str]]:
    def predict(inputs: list[dict]) -> list[str]:
        return ["no" for _ in inputs]

    return predict


@pytest.mark.parametrize("other", [always("no"), never(""), partial(never(""))])
def test_two_functions_of_one_name_are_told_apart_and_two_names_of_equal_data_are_said(tmp_path, capsys, other):
    rows = [{"a": f"Dog {i}.", "b": f"Cat {i}.", "label": ("yes", "no")[i % 2]} for i in range(20)]
    measured = {"first": always("yes"), "again": always("yes"), "other": other}
    for name, predict in measured.items():
        data = "theirs" if name == "again" else "mine"
        settings = {"parts": ["a", "b"], "name": data, "trainer": {"enable_progress_bar": False}}
        heedful.measure(predict, rows, labels=["yes", "no"], **settings).save(tmp_path / name)
    first, again, others = (str(tmp_path / name) for name in measured)
    command.main(["compare", first, others])
    assert "have measured two functions of one name, predict" in " ".join(capsys.readouterr().out.split())
    command.main(["compare", first, again])
    text = " ".join(capsys.readouterr().out.split())
    assert "whose examples are the same: measure both with one name=." in text
    assert "two functions" not in text
