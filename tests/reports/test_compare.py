"""``heedful compare``: paired differences against loops, and means over runs."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.cli import command
from heedful.records import Context, Measurement, MetricName, RunError
from heedful.records.rows import BASE
from heedful.reports.compare import means, print_prompts
from heedful.reports.runs import read_runs, result_folders

import prompted_runs
import written_results
from clustered_shares import Entry, change_interval
from prompted_runs import rows_of as rows_of_prompt
from refusals import refused

ACCURACY, PREMISE = MetricName("accuracy", "d"), MetricName("attentiveness", "d", "premise")
SCORE = Measurement(0.61234, 4321, 5, 0.01278, (0.5944, 0.6301), (0.6,) * 5)
OTHER = Measurement(0.9, 4000, 5, 0.002, (0.89, 0.91))
PLAIN = Measurement(0.5, 4)
NUMBERS = ("metrics", "names", "headlines")
UNDEFINED = Measurement(None, 0, reason="every prediction is the default label 'neutral'")


def results(*numbers: tuple[MetricName, Measurement], **others) -> dict:
    """Results with these numbers, all of them headlines."""
    return written_results.results(dict(numbers), dict(numbers), **others)


def save(folder, rows) -> None:
    right = float(np.mean([row["y"] == row["gold"] for row in rows.to_pylist() if row["intervention"] == "base"]))
    found = results((ACCURACY, Measurement(right, rows.num_rows)))
    written_results.save(folder, found, {"accuracy": rows}, Context("d", labels=("yes", "no", "maybe")))


answers = st.lists(st.tuples(*[st.sampled_from(["yes", "no"])] * 3), min_size=1, max_size=20)


@given(answers)
def test_the_paired_difference_is_the_mean_of_the_differences(rows_of, tmp_path_factory, triples):
    folder = tmp_path_factory.mktemp("runs")
    save(folder / "a", rows_of({f"u{i}": (gold, first) for i, (gold, first, _) in enumerate(triples)}))
    save(folder / "b", rows_of({f"u{i}": (gold, second) for i, (gold, _, second) in enumerate(triples)}))
    m = written_results.paired(folder / "a", folder / "b")["accuracy/d"]
    gained = sum(second == gold for gold, _, second in triples) - sum(first == gold for gold, first, _ in triples)
    assert m.value == pytest.approx(gained / len(triples), abs=1e-12)
    assert m.n == len(triples)
    assert -1 <= m.ci95[0] <= m.value + 1e-12
    assert m.value - 1e-12 <= m.ci95[1] <= 1


@pytest.fixture
def two_runs(rows_of, tmp_path):
    """Two runs on 200 examples, the second better by about 10 points, and the difference of the scores per example."""
    rng = np.random.default_rng(0)
    first, second = rng.random(200) < 0.6, rng.random(200) < 0.7
    for name, right in (("a", first), ("b", second)):
        rows = rows_of({f"u{i:03}": ("yes", "yes" if r else "no") for i, r in enumerate(right)})
        save(tmp_path / name, rows)
    return tmp_path / "a", tmp_path / "b", second.astype(float) - first


def test_the_paired_interval_counts_what_changes_and_is_near_that_of_a_naive_bootstrap(two_runs):
    a, b, change = two_runs
    rng, n = np.random.default_rng(1), len(change)
    means = [np.mean([change[i] for i in rng.integers(n, size=n)]) for _ in range(3000)]
    low, high = np.quantile(means, [0.025, 0.975])
    there, back, none = (written_results.paired(*runs)["accuracy/d"] for runs in ((a, b), (b, a), (a, a)))
    assert there.ci95 == pytest.approx((low, high), abs=0.08 * (high - low))
    assert there.ci95 == pytest.approx(change_interval([Entry(i, x) for i, x in enumerate(change)]))
    assert there.value == -back.value == pytest.approx(change.mean())
    assert none.value == 0
    assert -none.ci95[0] == none.ci95[1] == pytest.approx(1 - 0.025 ** (1 / 200))  # of 200 examples, none differs


def test_different_examples_cannot_be_paired(rows_of, tmp_path, capsys):
    a, b = tmp_path / "a", tmp_path / "b"
    save(a, rows_of({"u0": ("yes", "yes"), "u1": ("yes", "yes")}))
    save(b, rows_of({"u0": ("yes", "yes")}))
    with refused(RunError, a, b, "1 are in one"):
        written_results.paired(a, b)
    command.main(["compare", str(a), str(b)])
    assert "points" not in capsys.readouterr().out


def test_a_run_counts_once_by_whatever_name(two_runs, capsys):
    a, b, _ = two_runs
    command.main(["compare", "--mean", str(a), f"{a}/", str(b)])
    assert "mean of 2 runs" in capsys.readouterr().out
    command.main(["compare", str(a), f"{a}/"])
    assert "(1)" not in capsys.readouterr().out


def test_the_command_prints_the_table_and_the_paired_difference(two_runs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    a, b, change = two_runs
    command.main(["compare", str(a), str(b)])
    text = capsys.readouterr().out
    found = re.search(
        r"accuracy \(2\) - \(1\): ([+-][\d.]+) points, paired 95 % interval \[([+-][\d.]+), ([+-][\d.]+)\]", text
    )
    value, low, high = map(float, found.groups())
    assert value == pytest.approx(100 * change.mean(), abs=0.005)
    assert low < value < high
    command.main(["compare", str(a)])
    text = capsys.readouterr().out
    assert "accuracy" in text
    assert "paired" not in text


@pytest.mark.parametrize("case", ["other data", "undefined", "no rows"])
def test_without_accuracy_on_the_same_data_there_is_only_the_table(two_runs, capsys, case):
    a, b, _ = two_runs
    found = results((ACCURACY, UNDEFINED if case == "undefined" else PLAIN))
    if case == "other data":
        found = results((MetricName("accuracy", "other"), PLAIN), data="other")
    written_results.rewrite(b, **{key: value for key, value in found.items() if key != "rows"})
    if case == "no rows":
        (b / "rows" / "accuracy.parquet").unlink()
    command.main(["compare", str(a), str(b)])
    text = capsys.readouterr().out
    assert f"(2) {b}" in text
    assert "paired 95 % interval" not in text
    assert ("Not paired: " in text) == (case == "other data")


def test_the_mean_is_of_what_all_runs_have(tmp_path, capsys):
    runs = [results((ACCURACY, PLAIN), (PREMISE, SCORE)), results((ACCURACY, OTHER))]
    for fold, (name, found) in enumerate(zip("ab", runs, strict=True)):
        written_results.configured(tmp_path / name, found=found | {"split": f"fold-{name}"}, fold=fold)
    command.main(["compare", "--mean", str(tmp_path / "a"), str(tmp_path / "b")])
    text = capsys.readouterr().out
    assert "mean of 2 runs, in %, ± std" in text
    assert "accuracy 70.00 ± 28.28 n=2002" in " ".join(text.split())  # the mean of 4 and 4000
    assert "fold-a, fold-b" in text
    assert "attentiveness" not in text
    assert "Metrics that not all of these runs have: 1." in text
    written_results.rewrite(tmp_path / "a", **{k: v for k, v in results((PREMISE, SCORE)).items() if k in NUMBERS})
    with refused(RunError, "no metric in common"):
        command.main(["compare", "--mean", str(tmp_path / "a"), str(tmp_path / "b")])


def trained(folder: Path, seed: int, backbone: str = "org/model", swap_seed: int | None = None, **others) -> str:
    """Write a run that was trained with ``seed``, and evaluated with ``swap_seed`` or else with the same seed."""
    measured = {name: others.pop(name) for name in ("data", "split") if name in others}
    seeds = {"seed": seed if swap_seed is None else swap_seed}
    found = results((ACCURACY, PLAIN)) | seeds | measured
    found["identity"] = {"weights": f"{folder.name} {seed}", "interventions": others.pop("interventions", {"swap": 3})}
    return written_results.configured(folder, backbone, found=found, seed_everything=seed, **others)


DIFFERENT = {
    "another model": ({"backbone": "org/other"}, "different models, org-model"),
    "another regime": ({"augment": "counterfactual"}, "plain and counterfactual"),
    "other data": ({"data": "e"}, "were evaluated on d validation and e validation"),
    "another part": ({"partial": "hypothesis"}, "plain and partial-hypothesis"),
    "another template": ({"template": "a"}, "differ in reads.template, None and a"),
    "another version of the swap": ({"interventions": {"swap": 2}}, "differ in interventions.swap, 3 and 2"),
    "another seed of swaps": ({"swap_seed": 5}, "were evaluated with the seeds 0 and 5"),
    "no training": ({"model": "same"}, "were not trained"),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_the_mean_is_over_runs_that_differ_in_the_seed_of_their_training_alone(tmp_path, capsys, case):
    settings, fact = DIFFERENT[case]
    same = [trained(tmp_path / "a", 0), trained(tmp_path / "b", 1)]
    command.main(["compare", "--mean", *same])
    command.main(
        ["compare", "--mean", same[0], trained(tmp_path / "d", 2, swap_seed=0)]
    )  # both were evaluated with the same seed
    assert capsys.readouterr().out.count("mean of 2 runs") == 2
    if case == "no training":
        for folder, name in zip(same, "ab", strict=True):
            identity = {"model": name, "settings": {"class_path": "Function"}, "trained": False, "seeds": []}
            written_results.rewrite(folder, identity=identity | settings, seed=0)
        other = same[1]
    else:
        other = trained(tmp_path / "c", 1, **settings)
    with refused(RunError, fact):
        command.main(["compare", "--mean", same[0], other])


def prompts(root: Path, kind: str, seeds: int, attentive: float = 0.5) -> list[str]:
    """Write runs of one model with other demonstrations, which differ in their seed alone."""
    folders = []
    for seed in range(seeds):
        rows = rows_of_prompt(attentive=attentive, seed=seed, invalid=0.0)
        folders.append(prompted_runs.save(root / f"{kind}{seed}", rows, seed=seed, kind=kind))
    return folders


def test_the_mean_over_demonstrations_and_its_difference_are_those_of_loops(tmp_path, capsys):
    """Means of the shares of each seed, with Student's interval over seeds at least."""
    plain, copies = prompts(tmp_path, "plain", 3), prompts(tmp_path, "counterfactual", 3, 0.9)
    groups = means(read_runs([*plain, *copies]))
    assert [len(group.members) for group in groups] == [3, 3]
    by_loops = []
    for group in groups:
        shares = []
        for run in group.members:
            rows = run.rows["attentiveness"][0].to_pylist()
            counted = [row for row in rows if row["intervention"] == "swap" and row["y"] != "neutral"]
            draws = {row["draw"] for row in counted}
            of_draws = [[row["y2"] != row["y"] for row in counted if row["draw"] == draw] for draw in draws]
            shares.append(np.mean([np.mean(hits) for hits in of_draws]))
        m = group.results["metrics"]["attentiveness/nli/premise"]
        assert (m["value"], m["std"]) == (pytest.approx(np.mean(shares)), pytest.approx(np.std(shares, ddof=1)))
        away = 4.3027 * np.std(shares, ddof=1) / 3**0.5
        assert m["ci95"][0] < m["value"] - 0.99 * away
        assert m["ci95"][1] > min(1, m["value"] + 0.99 * away) - 1e-9
        by_loops.append(shares)
    command.main(["compare", "--mean", *plain, *copies])
    text = " ".join(capsys.readouterr().out.split())
    change = 100 * np.mean(np.subtract(by_loops[1], by_loops[0]))
    assert f"attentiveness premise (2) - (1): {change:+.2f} points, paired 95 % interval" in text
    assert "mean of 3 runs" in text


def test_a_mean_is_undefined_where_a_seed_is_and_says_why(tmp_path, capsys):
    runs = prompts(tmp_path, "plain", 2)
    rows = rows_of_prompt(seed=2, invalid=0.0)
    default = rows.filter([row["intervention"] == BASE for row in rows.to_pylist()])
    default = default.set_column(default.schema.get_field_index("y"), "y", [["neutral"] * default.num_rows])
    runs.append(prompted_runs.save(tmp_path / "default", default, seed=2))
    command.main(["compare", "--mean", *runs])
    text = " ".join(capsys.readouterr().out.split())
    assert "attentiveness premise undefined: in 1 of 3 runs: " in text


def test_a_run_that_belongs_to_no_mean_has_its_own_column(tmp_path, capsys):
    runs = [*prompts(tmp_path, "plain", 2), *prompts(tmp_path, "counterfactual", 1)]
    assert result_folders([str(tmp_path), runs[0]]) == [*sorted(runs), runs[0]]
    command.main(["matrix", "--mean", "--all", str(tmp_path)])
    text = capsys.readouterr().out
    assert [line.split()[:3] for line in text.splitlines() if line.startswith("models-tiny")][:2] == [
        ["models-tiny,", "kind", "counterfactual"],
        ["models-tiny,", "kind", "plain"],
    ]


@pytest.mark.parametrize(("seeds", "fact"), [(2, "seeds that both means have: 2."), (1, "Not paired: one is no mean")])
def test_means_are_paired_by_seed(tmp_path, capsys, seeds, fact):
    runs = [*prompts(tmp_path, "plain", 3), *prompts(tmp_path, "counterfactual", seeds, 0.9)]
    command.main(["compare", "--mean", *runs])
    text = " ".join(capsys.readouterr().out.split())
    assert fact in text
    assert ("attentiveness premise (2) - (1)" in text) == (seeds > 1)


def test_prompts_that_differ_in_a_seed_are_averaged_and_an_error_is_not_hidden(tmp_path, capsys):
    plain, copies = prompts(tmp_path, "plain", 2), prompts(tmp_path, "counterfactual", 1)
    print_prompts([*plain, *copies])
    assert "mean of 2 and 1 runs" in capsys.readouterr().out
    print_prompts([plain[0], *copies])
    assert "mean of" not in capsys.readouterr().out
    same_rows = prompted_runs.save(tmp_path / "again", rows_of_prompt(seed=0, invalid=0.0), seed=5, kind="plain")
    print_prompts([plain[0], same_rows])  # without demonstrations, seeds make no difference
    assert "mean of" not in capsys.readouterr().out
    name = MetricName("accuracy", "other")
    written_results.rewrite(plain[1], metrics={str(name): PLAIN.as_dict()}, names=[list(name)], headlines=[str(name)])
    with refused(RunError, "no metric in common"):
        print_prompts(plain)
