"""``heedful compare --inoculation``: the challenge tests of two evaluations, and the printed tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from heedful.cli import command
from heedful.records import Context
from heedful.records.storage.results import write_results
from heedful.reports.inoculation import challenge_tests, compare
from heedful.reports.runs import read_runs

import written_results

E, C = "entailment", "contradiction"
LABELS = (E, "neutral", C)
MADE = Context("d", labels=LABELS, own={"kinds": ["negation", "numbers"], "title": True})
BASE = dict.fromkeys(("d/dev/1", "d/dev/2", "d/alpha1/1"), (E, E))


def change(uid: str, intervention: str, gold: str = C, y2: str = E) -> dict:
    split = uid.split("/")[1]
    shared = {"clusters": [uid, f"table {uid}"], "slices": [f"split={split}"], "draw": -1}
    return {"uid": uid, "intervention": intervention, "gold2": gold, "y2": y2, **shared}


@pytest.fixture
def made(rows_of):
    """Rows of changed hypotheses in one split and of a swapped title in another; "date" is not among the kinds."""
    changes = [
        change("d/dev/1", "perturb/negation/flipped"),
        change("d/dev/2", "perturb/numbers/flipped"),
        change("d/dev/2", "perturb/date/preserved", gold=E),
        change("d/alpha1/1", "title", gold=E),
    ]
    rows = rows_of(BASE, changes)
    slices = [[f"split={uid.split('/')[1]}"] for uid in rows["uid"].to_pylist()]
    return rows.set_column(rows.schema.get_field_index("slices"), "slices", [slices])


@pytest.mark.parametrize(
    ("own", "splits", "expected"),
    [
        (MADE.own, (), ["challenge, perturb, label flipped", "challenge, title, label preserved"]),
        (MADE.own, ("dev", "alpha1"), ["challenge, dev, perturb, label flipped",
                                       "challenge, alpha1, title, label preserved"]),
        ({"kinds": [], "title": True}, (), ["challenge, title, label preserved"]),
        ({"kinds": ["numbers"], "title": False}, (), ["challenge, perturb, label flipped"]),
    ],
)  # fmt: skip
def test_each_kind_of_change_and_each_split_is_a_test(made, own, splits, expected):
    found = list(challenge_tests(made, "challenge", Context("d", own=own), splits))
    assert [str(test) for test in found] == expected
    if splits:
        assert [set(test.select(made)["uid"].to_pylist()) for test in found] == [{"d/dev/1", "d/dev/2"}, {"d/alpha1/1"}]


def test_each_set_is_a_test_of_the_split_of_its_name(rows_of):
    base = {f"counterfactuals-{name}/{i}": (E, E) for name in ("alpha1", "new") for i in range(2)}
    changes = [change(uid, "annotated/flipped") for uid in base]
    changes.append(change("counterfactuals-new/1", "title/new", gold=E))
    rows = rows_of(base, changes)
    context = Context("d", own={"sets": ["new", "alpha1"], "hypothesis_only": None})
    found = list(challenge_tests(rows, "counterfactual_tables", context, ("alpha1",)))
    assert [(str(test), test.split) for test in found] == [
        ("counterfactuals-new, annotated, label flipped", ""),
        ("counterfactuals-new, title, label preserved", ""),
        ("counterfactuals-alpha1, annotated, label flipped", "alpha1"),
    ]
    assert all(uid.startswith("counterfactuals-new/") for uid in found[0].select(rows)["uid"].to_pylist())


def written(folder: Path, rows_of, right: bool) -> Path:
    """Write a run that is correct on original examples, and correct or wrong on three changed examples."""
    rows = rows_of(BASE, [change(uid, "perturb/negation/flipped", y2=C if right else E) for uid in BASE])
    contexts = {"accuracy": replace(MADE, own={}), "challenge": MADE}
    of = {name: (rows, written_results.about(rows, context)) for name, context in contexts.items()}
    write_results(folder, written_results.results(), of)
    return folder


def test_two_runs_are_compared_and_the_comparison_is_printed(tmp_path, rows_of, capsys):
    before, after = (written(tmp_path / str(right), rows_of, right) for right in (False, True))
    (numbers,) = compare(*read_runs([str(before), str(after)])).values()
    found = {name[2:4]: m.value for name, m in numbers.items()}
    assert [found["original", time] for time in ("before", "after", "change")] == [1, 1, 0]
    assert [found["paired", time] for time in ("before", "after", "change")] == [1, 1, 0]
    assert [found["challenge", time] for time in ("before", "after", "change")] == [0, 1, 1]
    command.main(["compare", "--inoculation", str(before), str(after)])
    text = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert "challenge: challenge, perturb, label flipped".split() in text
    assert "paired originals 3 100.0 [29.2, 100.0] 100.0 [29.2, 100.0]".split() in text
    assert "challenge 3 0.0 [0.0, 70.8] 100.0 [29.2, 100.0]".split() in text
    assert (
        "challenge +100.0 [-0.1, +100.0]".split() in text
    )  # columns that do not fit in 80 characters are printed below
    assert "gap -100.0 [-157.8, +48.4]".split() in text
    assert "from entailment 3 0.0 [0.0, 70.8] 100.0 [29.2, 100.0]".split() in text
    assert "from contradiction 0 undefined undefined".split() in text
    assert "mean of both 3 undefined undefined".split() in text
