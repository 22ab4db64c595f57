"""The report of models in context: against loops over all rows, what is printed, and what is refused."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import pytest

from heedful.cli import command
from heedful.metrics.accuracy import accuracy
from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.number import measured as by_name
from heedful.records import NO_LABEL, SPAN, DataError, HeedfulError, MetricName, RunError
from heedful.records.numbers.measurement import Measurement
from heedful.records.rows import BASE
from heedful.records.storage.results import read_evaluation, read_results, rows_file
from heedful.records.task import SOFT
from heedful.reports.in_context import prompts
from heedful.reports.in_context.prompts import find, groups_of
from heedful.reports.in_context.tables import print_summary

import written_results
from made_rows import make
from prompted_runs import CONTEXT, LABELS, rows_of, save
from refusals import refused
from tiers import first_tier

SOFT_ROWS = make({"u00": ('{"entailment": 1.0}', "entailment")}, labels=1)
KINDS = ("plain", "counterfactual", "extra_tuple", "matched_labels")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """k = 0 and 1 with three seeds, two wordings, augmentation and both controls; another data set at chance."""
    root, n = tmp_path_factory.mktemp("runs"), 0
    for data, right in (("nli", 0.8), ("hard", 0.2)):
        context = replace(CONTEXT, data=data)
        for wording, kind, tuples in [
            ("paper", "plain", 0),
            ("short", "plain", 1),
            *(("paper", kind, 1) for kind in KINDS),
        ]:
            for seed in range(3 if tuples else 1):
                n += 1
                rows = rows_of(right=right, attentive=0.5 + 0.4 * (kind == "counterfactual"), seed=n, context=context)
                folder = root / data / f"{wording}-{kind}-k{tuples}-seed{seed}"
                save(folder, rows, tuples, seed, kind, wording, context)

    read, found = prompts._read, {}

    def once(run, model):
        if not Path(run.folder).is_relative_to(root):
            return read(run, model)
        if (run.folder, model) not in found:
            found[run.folder, model] = read(run, model)
        return found[run.folder, model]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompts, "_read", once)  # 32 folders, which no test changes, are read once
        yield str(root)


def tables(capsys, *arguments):
    """Heading to rows; each a list of cells below its header."""
    command.main(["matrix", "--prompts", *arguments, "--format", "csv"])
    found = {}
    for block in capsys.readouterr().out.split("\n\n"):
        (heading, *header), *rows = csv.reader(io.StringIO(block))
        assert heading not in found
        found[heading] = [dict(zip(["", *header], row, strict=True)) for row in rows]
    return found


def by_loops(root, wording, kind, tuples, seeds, likely=False):
    """Accuracy and attentiveness of each seed, and the standard deviation over draws."""
    accuracy, attentive, stds = [], [], []
    for seed in range(seeds):
        rows = read_evaluation(f"{root}/nli/{wording}-{kind}-k{tuples}-seed{seed}", "attentiveness")[0].to_pylist()
        for row in rows if likely else ():
            row["y"] = LABELS[row["p"].index(max(row["p"]))]
            row["y2"] = LABELS[row["p2"].index(max(row["p2"]))] if row["p2"] else None
        accuracy.append(mean(row["y"] == row["gold"] for row in rows if row["intervention"] == BASE))
        draws = {}
        for row in rows:
            if row["intervention"] == "swap" and row["y"] not in ("neutral", NO_LABEL) and row["y2"] != NO_LABEL:
                draws.setdefault(row["draw"], []).append(row["y2"] != row["y"])
        shares = [mean(hits) for hits in draws.values()]
        attentive.append(mean(shares))
        stds.append(stdev(shares))
    return accuracy, attentive, stds


def agreement(root, kind, seeds):
    """The share of written labels that are the most probable ones, of each seed."""
    found = []
    for seed in range(seeds):
        rows = read_evaluation(f"{root}/nli/paper-{kind}-k1-seed{seed}", "accuracy")[0].to_pylist()
        found.append(mean(row["y"] == LABELS[row["p"].index(max(row["p"]))] for row in rows))
    return found


def percent(value):
    return f"{100 * value:.1f}"


def test_numbers_are_those_of_loops_over_the_rows(runs, capsys):
    found = tables(capsys, runs, "--all")
    (answers,) = (rows for heading, rows in found.items() if heading == "models-tiny, nli validation: 60 examples, %")
    (swapped,) = (rows for heading, rows in found.items() if "nli validation: attentiveness" in heading)
    named = {"": "plain", " augmented": "counterfactual", " half default": "extra_tuple", " matched": "matched_labels"}
    for words, kind in named.items():
        accuracy, attentive, stds = by_loops(runs, "paper", kind, 1, 3)
        (row,) = (row for row in answers if row[""] == f"k=1{words} paper")
        assert row["accuracy"] == percent(mean(accuracy))
        assert [row["± seeds"], row["seeds"]] == [percent(stdev(accuracy)), "3"]
        scored, of_scored, stds_of_scored = by_loops(runs, "paper", kind, 1, 3, likely=True)
        assert row["scored"].partition(" ")[0] == percent(mean(scored))
        assert row["agree"] == percent(mean(agreement(runs, kind, 3)))
        written, likely = (row for row in swapped if row[""] == f"k=1{words} paper")
        assert [written["value"], written["± draws"], written["± seeds"]] == [
            f"{percent(mean(attentive))} (no_answers)", percent(mean(stds)), percent(stdev(attentive))]  # fmt: skip
        assert [likely["answer"], likely["value"].partition(" ")[0], likely["± draws"], likely["± seeds"]] == [
            "scored", percent(mean(of_scored)), percent(mean(stds_of_scored)), percent(stdev(of_scored))]  # fmt: skip
    assert answers[0][""] == "k=0 paper"
    assert [answers[0]["seeds"], answers[0]["± seeds"]] == ["1", ""]
    assert answers[-1]["accuracy"] == "33.3"


@pytest.mark.parametrize("group", [1, 4])
def test_one_seed_has_the_intervals_of_its_evaluation(tmp_path, group):
    rows = rows_of(group=group, invalid=0.0)  # else draws are not of as many pairs of answers
    save(tmp_path / "one", rows, 1, 0)
    (of,) = groups_of([str(tmp_path / "one")])
    own = by_name(accuracy(rows, CONTEXT))[MetricName("accuracy", "nli")]
    assert of.numbers["written", "", "worth"].value == own.value
    assert of.numbers["written", "", "worth"].ci95 == pytest.approx(own.ci95)
    found = by_name(attentiveness(rows, "premise", CONTEXT))
    measured = found[MetricName("attentiveness", "nli", "premise")]
    swapped = of.numbers["written", "premise", "attentiveness"]
    assert (swapped.value, swapped.std_draws) == (pytest.approx(measured.value), measured.std)
    assert swapped.ci95 == pytest.approx(measured.ci95)


@pytest.mark.slow
def test_tables_of_the_paper_are_there_in_form(runs, capsys):
    found = tables(capsys, runs)
    counts = {"(table 6)": 1, "(table 7)": 2, "(table 9)": 1, "(table 11)": 1, "Augmented less others": 2}
    assert {part: sum(part in heading for heading in found) for part in counts} == counts
    (six,) = (rows for heading, rows in found.items() if "(table 6)" in heading)
    _, attentive, stds = by_loops(runs, "paper", "plain", 1, 3)
    (row,) = (row for row in six if row[""] == "models-tiny k=1 paper")
    value = f"{percent(mean(attentive))} (no_answers)"  # as in the evaluation of each seed
    assert row == {"": row[""], "nli": f"{value} ± {percent(mean(stds))}", "hard": "-"}
    (nine,) = (rows for heading, rows in found.items() if "(table 9)" in heading)
    assert nine[0] == {"": "majority", "nli": "33.3", "hard": "33.3"}
    assert all(row["hard"].endswith(" (not_above_majority)") for row in nine[1:])
    (eleven,) = (rows for heading, rows in found.items() if "(table 11)" in heading)
    of_seeds = []
    for seed in range(3):
        rows = read_evaluation(f"{runs}/nli/paper-plain-k1-seed{seed}", "attentiveness")[0].to_pylist()
        swaps = [row for row in rows if row["intervention"] == "swap" and row["y"] not in ("neutral", NO_LABEL)]
        pairs = [row for row in swaps if row["y2"] != NO_LABEL]
        of_seeds.append(mean(mean(row["y2"] == "neutral" for row in pairs if row["draw"] == d) for d in range(3)))
    assert next(row for row in eleven if row[""] == "models-tiny k=1 paper")["nli"].split(" ")[0] == percent(
        mean(of_seeds)
    )


@pytest.mark.slow
def test_augmentation_is_compared_with_plain_demonstrations_and_both_controls(runs, capsys):
    found = tables(capsys, runs)
    (seven,) = (rows for heading, rows in found.items() if "(table 7)" in heading and "nli" in heading)
    assert [row[""] for row in seven] == ["plain", "half default", "matched", "augmented"]
    (less,) = (rows for heading, rows in found.items() if "less others" in heading and "nli" in heading)
    accuracy, attentive, _ = by_loops(runs, "paper", "counterfactual", 1, 3)
    for row, kind in zip(less, ("plain", "extra_tuple", "matched_labels"), strict=True):
        of_accuracy, of_attentive, _ = by_loops(runs, "paper", kind, 1, 3)
        assert row["accuracy"] == f"{100 * mean(a - b for a, b in zip(accuracy, of_accuracy, strict=True)):+z.1f}"
        change = mean(a - b for a, b in zip(attentive, of_attentive, strict=True))
        assert row["attentiveness"] == f"{100 * change:+.1f}"
        assert row["seeds"] == "3"
        assert all(100 * change > float(bound) for bound in row["[95 %]"].strip("[]").split(", ")[:1])
    (at_chance,) = (rows for heading, rows in found.items() if "less others" in heading and "hard" in heading)
    assert {row["attentiveness"] for row in at_chance} == {"-"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "version"), first_tier(1, [("plain", 0), ("counterfactual", 0), ("extra_tuple", 1), ("matched_labels", 3)])
)
def test_demonstrations_of_another_version_stand_apart(tmp_path, capsys, kind, version):
    """A folder that says no version is of the first; plain demonstrations are drawn as they were then."""
    for seed in range(2):
        save(tmp_path / f"old{seed}", rows_of(seed=seed), seed=seed, kind=kind, version=version)
        save(tmp_path / f"new{seed}", rows_of(seed=seed + 2), seed=seed + 2, kind=kind)
    groups = groups_of(find([str(tmp_path)])[0])
    if kind == "plain":
        assert [[prompt.seed for prompt in group.prompts] for group in groups] == [[0, 1, 2, 3]]
        return
    assert {group.key.kind: [prompt.seed for prompt in group.prompts] for group in groups} == {
        kind: [2, 3], f"{kind}, version {max(1, version)}": [0, 1]}  # fmt: skip
    command.main(["matrix", "--prompts", str(tmp_path)])
    text = " ".join(capsys.readouterr().out.split())
    assert f"{kind}, version {max(1, version)}: drawn otherwise than now, and so a kind of its own;" in text


@pytest.mark.slow
def test_all_shows_attentiveness_at_chance_with_a_mark(runs, capsys):
    hidden, shown = (tables(capsys, f"{runs}/hard", *more) for more in ((), ("--all",)))
    for found, is_shown in ((hidden, False), (shown, True)):
        (rows,) = (rows for heading, rows in found.items() if "attentiveness, premise" in heading)
        assert all((row["value"] != "-") == is_shown for row in rows)
        assert all(("(not_above_majority)" in row["value"]) == is_shown for row in rows)
    command.main(["matrix", "--prompts", f"{runs}/hard", "--all", "--short"])
    assert " (a) " in capsys.readouterr().out


@pytest.mark.slow
def test_the_terminal_has_80_columns(runs, capsys):
    command.main(["matrix", "--prompts", runs])
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines() if runs not in line) <= 80
    assert f"in {runs}: 32 folders" in text
    assert "(a) accuracy not above the majority share" in text
    assert "crosses examples and seeds" in text
    command.main(["matrix", "--prompts", runs, "--short"])
    short = capsys.readouterr().out
    assert "(table 6)" not in short
    assert short.count("examples, %") == 2


@pytest.mark.slow
def test_latex_and_markdown_are_tables_alone(runs, capsys):
    for form, start in (
        ("latex", "\\begin{tabular}{l"),
        ("markdown", "| models-tiny, hard validation: 60 examples, % |"),
    ):
        command.main(["matrix", "--prompts", runs, "--format", form])
        text = capsys.readouterr().out
        assert text.startswith(start)
        assert "crosses" not in text


def test_the_summary_after_several_prompts_is_short(runs, capsys):
    print_summary([f"{runs}/nli/paper-plain-k1-seed{seed}" for seed in range(3)])
    text = capsys.readouterr().out
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("k=")] == [["k=1", "3"]] + [
        ["k=1", answer] for answer in ("written", "scored")
    ]
    assert text.count(f"in {runs}/nli/paper-plain-k1-seed") == 3
    assert "table" not in text


def test_the_summary_of_other_evaluations_is_their_table(tmp_path, capsys):
    number = {MetricName("exact", "d"): Measurement(0.25, 4)}
    print_summary([str(written_results.save(tmp_path / name, written_results.results(number))) for name in "ab"])
    assert "(1)" in capsys.readouterr().out


def test_one_seed_says_nothing_of_other_demonstrations(runs, capsys):
    command.main(["matrix", "--prompts", f"{runs}/nli/paper-plain-k1-seed0"])
    text = " ".join(capsys.readouterr().out.split())
    assert "One seed alone: k=1. [95 %] says nothing of other demonstrations there." in text
    assert "crosses" not in text
    command.main(["matrix", "--prompts", f"{runs}/nli/paper-plain-k0-seed0"])
    assert "One seed alone" not in capsys.readouterr().out


def test_seeds_that_predict_the_default_label_alone_are_told(tmp_path, capsys):
    base = rows_of(invalid=0.0, seed=1)
    save(tmp_path / "a", base, seed=0)
    default = base.filter([row["intervention"] == BASE for row in base.to_pylist()])
    default = default.set_column(default.schema.get_field_index("y"), "y", [["neutral"] * default.num_rows])
    save(tmp_path / "b", default, seed=1)
    command.main(["matrix", "--prompts", str(tmp_path), "--all"])
    text = " ".join(capsys.readouterr().out.split())
    assert "k=1: with 1 of 2 seeds attentiveness to premise is undefined; they do not count." in text
    assert ") defined for one seed of demonstrations alone: the interval says nothing of others." in text


def test_without_probabilities_and_without_swaps_what_is_left_is_shown(tmp_path, capsys):
    for seed in range(2):
        save(tmp_path / str(seed), rows_of(with_p=False, seed=seed), seed=seed, swapped=False)
    found = tables(capsys, str(tmp_path))
    (heading,) = (heading for heading in found if "examples, %" in heading)
    assert found[heading][0]["scored"] == ""
    assert not any("swapped" in heading or "(table 6)" in heading for heading in found)
    assert any("(table 9)" in heading for heading in found)


@pytest.mark.slow
def test_of_texts_it_is_exact_match_abstention_and_what_stays(tmp_path, capsys):
    own = {"swap": ["passage"], "distractors": ["distractor"]}
    context = replace(CONTEXT, kind=SPAN, labels=(), default_label="", own=own)
    base = {f"u{i}": ('["x"]', "x" if i % 4 else "") for i in range(16)}
    swaps = [
        {"uid": uid, "draw": d, "y2": ("", y, "z")[(i + d) % 3], "part": part}
        for i, (uid, (_, y)) in enumerate(base.items())
        for d in range(2)
        for part in ("passage", "distractor")
    ]
    for seed in range(2):
        for kind in ("plain", "counterfactual"):
            save(tmp_path / f"{kind}{seed}", make(base, swaps, labels=1), seed=seed, kind=kind, context=context)
    found = tables(capsys, str(tmp_path), "--all")
    (row, *_) = found["models-tiny, nli validation: 16 examples, %"]
    assert (row["match"], row["no answer"]) == ("75.0", "25.0")
    (row, *_) = found["models-tiny, nli validation: attentiveness, passage swapped, %"]
    rows = [change for change in swaps if change["part"] == "passage" and base[change["uid"]][1]]
    assert row["value"] == percent(mean(change["y2"] == "" for change in rows)) + " (one_text)"
    (row, *_) = found["models-tiny, nli validation: answers that stay, distractor swapped, %"]
    rows = [change for change in swaps if change["part"] == "distractor"]
    assert row["value"] == percent(mean(change["y2"] == base[change["uid"]][1] for change in rows)) + " (one_text)"
    assert [heading for heading in found if "(table 7)" in heading and "distractor" in heading] == []
    command.main(["matrix", "--prompts", str(tmp_path)])
    text = capsys.readouterr().out
    assert "never answering" in text
    assert "+invalid" not in text


def test_models_of_one_name_are_told_apart_by_their_settings(tmp_path, capsys):
    for decoding in ("greedy", "likelihood"):
        save(tmp_path / decoding, rows_of(), decoding=decoding)
    save(tmp_path / "other", rows_of(), backbone="models/other")
    models = {group.key.model for group in groups_of(find([str(tmp_path)])[0])}
    assert models == {"models-tiny, decoding greedy", "models-tiny, decoding likelihood", "models-other"}


def test_settings_that_change_no_answer_make_no_other_model(tmp_path):
    for seed, most in enumerate((5, None)):
        save(tmp_path / str(seed), rows_of(seed=seed), seed=seed, max_requests=most, concurrency=seed + 1)
    (group,) = groups_of(find([str(tmp_path)])[0])
    assert (group.key.model, len(group.prompts)) == ("models-tiny", 2)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"decoding": "likelihood"}, {"read": "first_token"}])
def test_a_model_that_writes_nothing_has_no_written_answers(tmp_path, capsys, settings):
    for seed in range(2):
        save(tmp_path / str(seed), rows_of(seed=seed, right=0.9), seed=seed, **settings)
    found = tables(capsys, str(tmp_path))
    assert list(found["models-tiny, nli validation: 60 examples, %"][0])[-2:] == ["[95 %]", "invalid"]
    swapped = found["models-tiny, nli validation: attentiveness, premise swapped, %"]
    assert [row["answer"] for row in swapped] == ["scored"]
    command.main(["matrix", "--prompts", str(tmp_path)])
    text = " ".join(capsys.readouterr().out.split())
    assert "models-tiny: nothing is written; the answer is the label with the highest likelihood." in text
    assert "written: the label" not in text


@pytest.mark.slow
@pytest.mark.parametrize("few", [9, 10])
def test_of_few_examples_their_number_stands_in_every_table(tmp_path, capsys, few):
    """So many examples of 60 are predicted as another label than the default one; all are swapped twice."""
    uids = [f"u{i:02}" for i in range(60)]
    for k, (seed, kind) in enumerate((seed, kind) for seed in range(2) for kind in ("plain", "counterfactual")):
        base = {uid: (LABELS[i % 2], "entailment" if i < few else "neutral") for i, uid in enumerate(uids)}
        swaps = [
            {"uid": uid, "draw": d, "y2": LABELS[(i + d + k) % 2]} for i, uid in enumerate(uids[:few]) for d in (0, 1)
        ]
        save(tmp_path / f"{kind}{seed}", make(base, swaps, likely=LABELS), seed=seed, kind=kind)
    found = tables(capsys, str(tmp_path), "--all")
    (swapped,) = (rows for heading, rows in found.items() if "attentiveness, premise" in heading)
    (six,) = (rows for heading, rows in found.items() if "(table 6)" in heading)
    (seven,) = (rows for heading, rows in found.items() if "(table 7)" in heading)
    (eleven,) = (rows for heading, rows in found.items() if "(table 11)" in heading)
    (less,) = (rows for heading, rows in found.items() if "less others" in heading)
    cells = [row["value"] for row in swapped] + [six[0]["nli"], eleven[0]["nli"]]
    cells += [row["attentiveness"] for row in (*seven, *less)] + [row["+invalid"] for row in swapped if row["+invalid"]]
    beside = [row[name] for row in (*swapped, *seven) for name in ("± draws", "± seeds")]
    beside += [row["[95 %]"] for row in swapped]
    assert [cell.startswith("n=9") for cell in cells] == [few == 9] * len(cells)
    assert ["few_examples" in row["value"] for row in swapped] == [few == 9] * len(swapped)
    assert [bool(cell) for cell in beside] == [few == 10] * len(beside)
    command.main(["matrix", "--prompts", str(tmp_path), "--all"])
    assert (") fewer than 10 examples count" in capsys.readouterr().out) == (few == 9)


def test_what_is_left_out_is_counted(tmp_path, capsys):
    save(tmp_path / "in" / "a", rows_of())
    written_results.save(tmp_path / "in" / "plain")
    (tmp_path / "in" / "plain" / "run.json").write_text("{}")
    save(tmp_path / "in" / "stopped", rows_of(), seed=1)
    (tmp_path / "in" / "stopped" / "results.json").unlink()
    command.main(["matrix", "--prompts", str(tmp_path / "in")])
    text = capsys.readouterr().out
    assert f"Left out, as they hold no prompt: 1 folders, such as {tmp_path}/in/plain." in text
    assert f"Left out, as their evaluation has not ended: 1, such as {tmp_path}/in/stopped." in text


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"rows": rows_of(50)}, RunError, ["/a", "10 are in one"]),
        ({"manifest": "n"}, RunError, ["/a", "attentiveness"]),
        ({"swapped": False}, RunError, ["attentiveness", "evaluations"]),
        ({"context": replace(CONTEXT, seed=1)}, RunError, ["/a", "0 and 1", "seed_everything"]),
        ({"seed": 0}, RunError, ["/a"]),
        ({"context": replace(CONTEXT, kind=SOFT, data="x"), "rows": SOFT_ROWS}, DataError, ["x"]),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(tmp_path, settings, error: type[HeedfulError], facts):
    save(tmp_path / "a", rows_of())
    settings = {"rows": rows_of(seed=1), "seed": 1, **settings}
    save(tmp_path / "b", **settings)
    with refused(error, tmp_path / "b", *facts):
        command.main(["matrix", "--prompts", str(tmp_path / "a"), str(tmp_path / "b")])


def test_folders_without_prompts_are_refused(tmp_path):
    with refused(RunError):
        command.main(["matrix", "--prompts"])
    plain = str(written_results.save(tmp_path / "plain"))
    with refused(RunError, plain, "run.json", "'prompt'"):
        command.main(["matrix", "--prompts", plain])
    (tmp_path / "empty").mkdir()
    with refused(RunError, tmp_path / "empty"):
        command.main(["matrix", "--prompts", str(tmp_path / "empty")])
    with refused(DataError, tmp_path / "none"):
        command.main(["matrix", "--prompts", str(tmp_path / "none")])
    lacking = save(tmp_path / "lacking", rows_of(), swapped=False)
    written_results.save(Path(lacking), written_results.results(identity=read_results(lacking)["identity"]))
    assert not rows_file(lacking, "accuracy").exists()
    with refused(RunError, lacking, "accuracy"):
        command.main(["matrix", "--prompts", lacking])


def test_of_the_versions_of_an_evaluation_the_newest_is_read(tmp_path):
    for n, seed in enumerate((0, 1)):
        save(tmp_path / "run" / "evaluations" / "nli-validation" / f"version_{n}", rows_of(), seed=seed)
    (group,) = groups_of(find([str(tmp_path / "run")])[0])
    assert [prompt.seed for prompt in group.prompts] == [1]
