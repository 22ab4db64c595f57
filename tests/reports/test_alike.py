"""What each report does with runs that do not belong together."""

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

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
OWN: dict[str, dict] = {"accuracy": {}, "attentiveness": {"swap": ["premise"]}}
CHALLENGE = {"challenge": {"kinds": ["negation"], "title": False}}
BACKBONE = "x/base"
OTHER = "x-base"


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
    about = {"data": "d", "seed": 0, "manifest": "m", "counts": {}, "run": run}
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
    found = score(run | {"weights": f"weights of {folder.name}"}, written).results
    configured(folder, backbone, found=found, written=written, seed_everything=seed, **data)
    return str(folder)


def asked(
    folder: Path, seed: int = 0, content: str = "", default_label: str | None = "neutral", backbone: str = BACKBONE
) -> str:
    """The same of a model that was asked in context, where the seed is that of demonstrations."""
    rows = rows_of_run(sum(map(ord, folder.name)), content)
    context = Context("d", parts=("premise", "hypothesis"), labels=LABELS, default_label=default_label)
    context = replace(context, own=OWN["attentiveness"])
    prompted_runs.save(folder, rows, seed=seed, context=context, backbone="gpt", server=backbone)
    return str(folder)


def with_partial(runs: list[str], output: Path) -> None:
    """Draw runs with those of the same models on the hypothesis alone."""
    alone = [
        run_folder(output / f"alone{k}", k, backbone=b, partial="hypothesis") for k, b in enumerate((BACKBONE, OTHER))
    ]
    command.main(["figure", "partial", *runs, *alone, "--output", str(output / "f.png")])


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
    "another default label": "/a and /b use different default labels, 'neutral' and None",
    "one seed twice": "/a and /b have the same seed, 0",
    "a copy": "/a and /b hold results of the same model",
}
REPORTS: dict[str, Callable[[list[str], Path], None]] = {
    "compare": lambda runs, _: command.main(["compare", *runs]),
    "compare --mean": lambda runs, _: command.main(["compare", "--mean", *runs]),
    "matrix": lambda runs, _: command.main(["matrix", *runs]),
    "comparable": lambda runs, _: command.main(["compare", "--agreed", *runs]),
    "in_context": lambda runs, _: command.main(["matrix", "--prompts", *runs]),
    "inoculation": lambda runs, _: command.main(["compare", "--inoculation", *runs]),
    "ranking": lambda runs, _: command.main(["rank", *runs]),
    "partial_figure": with_partial,
}
SHOWN = "shown"  # without a word, since each run has its own name there
DIFFERENT = f"hold different models, x-base, backbone {BACKBONE} and x-base, backbone {OTHER}"
SAME_PROMPT = "/a and /b hold results of the same model with the same prompt"
NOTED = {(report, case) for report in ("compare", "matrix") for case in SAID if case != "one seed twice"}
NOTED |= {("partial_figure", "another default label")}
BESIDE = ("compare", "comparable", "ranking")
OTHERWISE = {  # (report, case) that is neither refused nor noted in the words above
    **{(report, "two seeds"): SHOWN for report in REPORTS},
    **{(report, "one seed twice"): SHOWN for report in (*BESIDE, "inoculation", "partial_figure")},
    **{(report, "another model of this name"): SHOWN for report in BESIDE},
    ("matrix", "one seed twice"): "x-base, seed 0: /b",
    ("matrix", "another model of this name"): f"x-base, backbone {OTHER}",
    ("compare --mean", "another model of this name"): DIFFERENT,
    ("inoculation", "another model of this name"): DIFFERENT,
    ("in_context", "one seed twice"): SAME_PROMPT,
    ("in_context", "a copy"): SAME_PROMPT,
    ("in_context", "another model of this name"): f"gpt, server {OTHER}",
    ("partial_figure", "other examples"): "/b and /alone0 were evaluated on different examples",
    ("partial_figure", "another model of this name"): f"x-base, backbone {OTHER}",
}
REFUSED = (DIFFERENT, SAME_PROMPT)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "report",
    first_tier(2, REPORTS),
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
    with refused(RunError, "/b") if is_refused else nullcontext() as error:
        REPORTS[report]([first, str(tmp_path / "b")], tmp_path)
    told = str(error.value) if error else ""
    told = f"{told}{''.join(capsys.readouterr())}".replace(str(tmp_path), "")
    if expected == SHOWN:
        assert not [text for text in SAID.values() if text in told]
        assert "Note: /" not in told
    else:
        assert expected in told


def test_compare_says_when_numbers_of_training_steps_differ(tmp_path, capsys):
    runs = [run_folder(tmp_path / name, seed) for seed, name in enumerate("ab")]
    for folder, steps in zip(runs, (46, 1032), strict=True):
        results = read_json(Path(folder) / "results.json")
        rewrite(folder, identity=results["identity"] | {"steps": steps})
    command.main(["compare", *runs])
    text = " ".join(capsys.readouterr().out.replace(str(tmp_path), "").split())
    assert "/a and /b have weights from different training steps, 46 and 1,032." in text
    command.main(["compare", "--mean", *runs])
    assert "numbers of steps" not in capsys.readouterr().out
