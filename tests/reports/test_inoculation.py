"""Which challenge tests two evaluations have, by the context of their rows, and what is printed of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from heedful.cli import command
from heedful.records import Context, DataError, RunError
from heedful.records.storage.results import write_results
from heedful.reports.inoculation import challenge_tests, compare

import written_results
from refusals import refused

E, C = "entailment", "contradiction"
LABELS = (E, "neutral", C)
MADE = Context("d", labels=LABELS, own={"kinds": ["negation", "numbers"], "title": True})
BASE = dict.fromkeys(("d/dev/1", "d/dev/2", "d/alpha1/1"), (E, E))


def change(uid: str, intervention: str, gold: str = C, y2: str = E) -> dict:
    split = uid.split("/")[1]
    shared = {"clusters": [uid, f"table {uid}"], "slices": [f"split={split}"], "draw": -1}
    return {"uid": uid, "intervention": intervention, "gold": gold, "y2": y2, **shared}


def names(rows, context: Context) -> list[str]:
    return [str(test) for test in challenge_tests(rows, "challenge", context)]


@pytest.fixture
def made(rows_of):
    """Changed hypotheses of one split and a swapped title of the other; "date" is not among the kinds."""
    changes = [
        change("d/dev/1", "perturb/negation/flipped"),
        change("d/dev/2", "perturb/numbers/flipped"),
        change("d/dev/2", "perturb/date/preserved", gold=E),
        change("d/alpha1/1", "title", gold=E),
    ]
    rows = rows_of(BASE, changes)
    slices = [[f"split={uid.split('/')[1]}"] for uid in rows["uid"].to_pylist()]
    return rows.set_column(rows.schema.get_field_index("slices"), "slices", [slices])


def test_what_was_made_is_a_test_for_each_kind_of_change_and_each_split(made):
    assert names(made, MADE) == [
        "challenge, perturb, label flipped",
        "challenge, title, label preserved",
    ]
    found = list(challenge_tests(made, "challenge", MADE, ("dev", "alpha1")))
    assert [str(test) for test in found] == [
        "challenge, dev, perturb, label flipped",
        "challenge, alpha1, title, label preserved",
    ]
    assert [set(test.of(made)["uid"].to_pylist()) for test in found] == [{"d/dev/1", "d/dev/2"}, {"d/alpha1/1"}]


def test_what_was_not_made_is_not_a_test(made):
    alone = Context("d", own={"kinds": [], "title": True})
    assert names(made, alone) == ["challenge, title, label preserved"]
    alone = Context("d", own={"kinds": ["numbers"], "title": False})
    assert names(made, alone) == ["challenge, perturb, label flipped"]


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
    assert all(uid.startswith("counterfactuals-new/") for uid in found[0].of(rows)["uid"].to_pylist())


def written(folder: Path, rows_of, right: bool) -> Path:
    """A run that is right on originals, and either right or wrong on three changed examples of three tables."""
    rows = rows_of(BASE, [change(uid, "perturb/negation/flipped", y2=C if right else E) for uid in BASE])
    contexts = {"accuracy": replace(MADE, own={}), "challenge": MADE}
    of = {name: (rows, written_results.about(rows, context)) for name, context in contexts.items()}
    write_results(folder, written_results.results(), of)
    return folder


def test_two_runs_are_compared_and_the_comparison_is_printed(tmp_path, rows_of, capsys):
    before, after = (written(tmp_path / str(right), rows_of, right) for right in (False, True))
    (numbers,) = compare(before, after).values()
    found = {name[2:4]: m.value for name, m in numbers.items()}
    assert [found["original", time] for time in ("before", "after", "change")] == [1, 1, 0]
    assert [found["paired", time] for time in ("before", "after", "change")] == [1, 1, 0]
    assert [found["challenge", time] for time in ("before", "after", "change")] == [0, 1, 1]
    command.main(["compare", "--inoculation", str(before), str(after)])
    text = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert "challenge: challenge, perturb, label flipped".split() in text
    assert "paired originals 3 100.0 [29.2, 100.0] 100.0 [29.2, 100.0]".split() in text
    assert "challenge 3 0.0 [0.0, 70.8] 100.0 [29.2, 100.0]".split() in text
    assert "challenge +100.0 [-0.1, +100.0]".split() in text  # what does not fit in 80 columns stands below
    assert "gap -100.0 [-157.8, +48.4]".split() in text


def test_each_way_of_what_flips_is_printed_and_one_that_is_missing_is_undefined(tmp_path, rows_of, capsys):
    folders = [str(written(tmp_path / str(right), rows_of, right)) for right in (False, True)]
    command.main(["compare", "--inoculation", *folders])
    text = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert "from entailment 3 0.0 [0.0, 70.8] 100.0 [29.2, 100.0]".split() in text
    assert "from contradiction 0 undefined undefined".split() in text
    assert "mean of both 3 undefined undefined".split() in text


def test_a_run_without_challenge_examples_is_refused(tmp_path, rows_of):
    rows = {"accuracy": rows_of(BASE)}
    folders = [written_results.save(tmp_path / name, rows=rows, context=replace(MADE, own={})) for name in "ab"]
    with refused(RunError, *folders, "challenge", "counterfactual_tables"):
        compare(*folders)


def test_mistakes_are_one_sentence(tmp_path, rows_of):
    folder = written_results.save(tmp_path / "a", rows={"accuracy": rows_of(BASE)}, context=MADE)
    without = written_results.save(tmp_path / "b")
    with refused(RunError):
        command.main(["compare", "--inoculation", str(folder)])
    with refused(DataError, tmp_path / "gone"):
        command.main(["compare", "--inoculation", str(folder), str(tmp_path / "gone")])
    with refused(RunError, folder):
        command.main(["compare", "--inoculation", str(folder), str(folder)])
    with refused(RunError, without, "accuracy"):
        command.main(["compare", "--inoculation", str(folder), str(without)])
