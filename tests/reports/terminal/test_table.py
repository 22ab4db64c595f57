"""The table at 80 columns: of one run, and of several side by side."""

import dataclasses
import io
import re
from string import ascii_lowercase

import numpy as np
import pytest
from rich.console import Console

from heedful.metrics import METRICS
from heedful.metrics.accuracy import accuracy, noise
from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.number import measured as by_name
from heedful.metrics.statistics.bootstrap import few_of, measured
from heedful.metrics.statistics.over_seeds import over_seeds
from heedful.metrics.tables.challenge import HALF_ERROR, challenge
from heedful.metrics.tables.transitions import invalid_transitions
from heedful.records import SPAN, Context, Line, Measurement, MetricName, Section, Shown
from heedful.reports.flags import FLAGS
from heedful.reports.terminal.table import TITLE, merged, print_table, table_cells

import written_results

ACCURACY = Line("accuracy/d", "accuracy", beside=True)
PREMISE = Line("attentiveness/d/premise", "attentiveness premise", beside=True)
MORE = [
    Line("accuracy/d/majority", "majority", 1),
    Line("accuracy/d/yes", "yes", 1),
    Line("attentiveness/d/premise/from_yes", "from_yes", 1),
    Line("null/d/flips", "null flips"),
]
SCORE = Measurement(0.61234, 4321, 5, 0.01278, (0.5944, 0.6301), (0.6,) * 5)
OTHER = Measurement(0.9, 4000, 5, 0.002, (0.89, 0.91))
PLAIN = Measurement(0.5, 4)
UNDEFINED = Measurement(None, 0, reason="every prediction is the default label 'neutral'")


def results(*shown: tuple[Line, Measurement], sections=(), asides=(), **others) -> dict:
    """Results whose numbers are shown in these lines."""
    numbers = {MetricName(*line.metric.split("/", 2)): m for line, m in shown}
    return written_results.results(numbers, Shown([line for line, _ in shown], asides, dict(sections)), **others)


def printed(found: dict[str, dict]) -> str:
    file = io.StringIO()
    print_table(found, Console(width=80, file=file))
    return file.getvalue()


def table_of(text: str) -> list[str]:
    """The lines of the table: from its header to the first footnote."""
    lines = [line for line in text.splitlines() if line.strip()]
    start = next(i for i, line in enumerate(lines) if line.startswith("% ±"))
    end = next(i for i, line in enumerate(lines) if re.match(r"\(\w\) |Note: |in ", line))
    return lines[start:end]


def words(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def labels(text: str) -> list[str]:
    """The labels in the table, with their indentation."""
    header, *lines = table_of(text)
    width = len("% ± std over draws [95 %]")
    return [label for line in lines if (label := line[: max(width, header.find("(1)"))].rstrip())]


def column(text: str, run: int) -> str:
    """The words in the column of one of two runs, without its header."""
    header, *lines = table_of(text)
    start = header.index(f"({run})")
    end = header.index("(2)") if run == 1 else None
    return words([line[start:end] for line in lines])


def test_one_result():
    text = printed({"runs/mnli/bert/plain/version_0": results((PREMISE, SCORE))})
    assert table_of(text)[1].split() == "attentiveness premise 61.23 ± 1.28 [59.4, 63.0] n=4321".split()
    assert "in runs/mnli/bert/plain/version_0" in text


def test_the_data_set_is_named():
    assert "mnli, validation" in printed({"runs/a": results((ACCURACY, PLAIN), data="mnli")})
    both = {data: results((ACCURACY, PLAIN), data=data) for data in ("mnli", "rte")}
    assert "mnli, rte, validation" in printed(both)


def test_data_of_which_no_example_was_predicted_are_not_the_title():
    found = results((Line("two_class/rte", "two-class accuracy rte"), PLAIN), data="mnli", counts={"examples": 0})
    assert "mnli" not in printed({"runs/a": found})
    both = {"a": found, "b": results((ACCURACY, PLAIN), data="rte")}
    assert "rte, validation" in printed(both)
    assert "mnli" not in printed(both)


def test_two_results_stand_side_by_side():
    first, second = (results((PREMISE, m)) for m in (SCORE, OTHER))
    text = printed({"runs/a": first, "runs/b": second})
    assert column(text, 1) == "61.23 ± 1.28 [59.4, 63.0] n=4321"
    assert column(text, 2) == "90.00 ± 0.20 [89.0, 91.0] n=4000"
    assert text.index("(1) runs/a") < text.index("(2) runs/b")


def test_one_result_shows_every_line_in_its_order_and_two_only_those_that_stand_beside():
    lines = [ACCURACY, *MORE[:2], PREMISE, *MORE[2:]]
    found = results(*((line, PLAIN) for line in lines))
    assert labels(printed({"runs/a": found})) == ["  " * line.level + line.label for line in lines]
    assert labels(printed({"runs/a": found, "runs/b": found})) == ["accuracy", "attentiveness premise"]


def test_numbers_without_a_line_are_not_shown():
    found = results((ACCURACY, PLAIN), (MORE[0], SCORE))
    found["display"]["lines"].pop()
    assert labels(printed({"a": found})) == ["accuracy"]


@pytest.mark.parametrize("runs", [1, 2])
def test_no_line_of_the_table_is_longer_than_80_columns_and_no_number_is_cut(runs):
    hypothesis = Line("attentiveness/d/hypothesis", "attentiveness hypothesis", beside=True)
    found = results(
        (hypothesis, SCORE),
        (Line(f"{hypothesis.metric}/from_contradiction", "from_contradiction", 1), UNDEFINED),
        (ACCURACY, Measurement(0.5, 7, ci95=(0.25, 0.75))),
        (dataclasses.replace(hypothesis, metric="attentiveness/d/other"), UNDEFINED),
    )
    text = printed({f"runs/{i}": found for i in range(runs)})
    assert max(map(len, text.splitlines())) <= 80
    for word in "61.23 1.28 [59.4, 63.0] n=4321 50.00 [25.0, 75.0] n=7".split():
        assert text.split().count(word) == runs
    assert "…" not in text


def test_what_is_not_drawn_has_neither_std_nor_interval():
    text = printed({"runs/a": results((MORE[0], Measurement(0.3545, 9815)))})
    assert table_of(text)[1].split() == ["majority", "35.45", "n=9815"]


@pytest.mark.parametrize(
    ("change", "shown"), [(0.0, "0.00"), (-0.0, "0.00"), (3.6e-7, "4e-05"), (-3.6e-7, "-4e-05"), (0.0123, "1.23")]
)
def test_the_noise_floor_is_not_rounded_away(change, shown):
    text = printed({"runs/a": results((Line("null/d/max_change", "null max_change"), Measurement(change, 512)))})
    assert table_of(text)[1].split() == ["null", "max_change", shown, "n=512"]


def test_shares_are_in_percent_and_ratios_are_plain():
    m = Measurement(1.787, 400, ci95=(1.737, 1.827))
    text = printed({"a": results((Line("ratio/d", "ratio", unit="ratio"), m), (Line("delta/d", "delta"), m))})
    assert words(table_of(text)[1:]) == "ratio 1.79 [1.74, 1.83] n=400 delta 178.70 [173.7, 182.7] n=400"


def test_what_is_undefined_is_shown_so_with_its_reason():
    found = results((PREMISE, UNDEFINED))
    shown = "undefined: every prediction is the default label 'neutral'"
    one, two = printed({"a": found}), printed({"a": found, "b": found})
    assert words(table_of(one)[1:]) == f"attentiveness premise {shown}"
    assert column(two, 1) == column(two, 2) == shown
    for text in (one, two):
        assert "n=0" not in text
        assert "None" not in text


def test_a_text_stands_in_place_of_a_number():
    never = Line("attentiveness/d/image/from_x", "from_...", 1, text="undefined: 3 labels are never predicted")
    text = printed({"run": results((PREMISE, SCORE), (never, UNDEFINED))})
    assert table_of(text)[2].split("   ")[0] == "  from_..."
    assert words(table_of(text)[2:]) == "from_... undefined: 3 labels are never predicted"


def test_a_metric_that_only_one_run_has_leaves_the_other_cell_empty():
    text = printed({"a": results((ACCURACY, PLAIN)), "b": results((PREMISE, UNDEFINED))})
    assert column(text, 1) == "50.00 n=4"
    assert column(text, 2).startswith("undefined")


def test_what_a_later_run_adds_stands_beside_its_neighbours_there():
    runs = ("abz", "cbdezf", "adgz", "h", "kf")
    lines = merged([results(*((Line(f"accuracy/{name}", name), PLAIN) for name in run)) for run in runs])
    assert "".join(line.label for line in lines) == "acbdgezkfh"


EFFECTS = [Line(f"natural_logic/nlixy/{x}", x.upper(), beside=True, section="natural logic") for x in ("tce", "dce")]


def measured_on(*about: str, examples: str = "", lines=EFFECTS) -> dict:
    return results(*((line, PLAIN) for line in lines), sections={"natural logic": Section(about, examples)})


def test_a_heading_says_once_what_its_lines_rest_on():
    found = measured_on("test,", "39,184 pairs", "of 1,518 seeds", lines=[ACCURACY, *EFFECTS, MORE[-1]])
    one = table_of(printed({"a": found}))
    assert one[2].split("  ")[0] == "natural logic"
    assert words(one[1:]) == (
        "accuracy 50.00 n=4 natural logic test, 39,184 pairs of 1,518 seeds "
        "TCE 50.00 n=4 DCE 50.00 n=4 null flips 50.00 n=4"
    )
    two = {"a": found, "b": measured_on("dev,", "8 pairs"), "c": results((ACCURACY, PLAIN))}
    heading = [line.split() for line in table_of(printed(two))[2:5]]
    assert heading == [["natural", "logic", "test,", "dev,"], "39,184 pairs 8 pairs".split(), "of 1,518 seeds".split()]


@pytest.mark.parametrize(
    ("asides", "line"),
    [
        (["by relation"], "By relation: results.json"),
        (
            ["by a, b and c", "other rules", "naive intervals"],
            "By a, b and c, other rules and naive intervals: results",
        ),
        (["other rules", "other rules", "naive intervals"], "Other rules and naive intervals: results.json"),
    ],
)
def test_what_is_elsewhere_is_named_below_one_run(asides, line):
    found = results((ACCURACY, PLAIN), asides=asides)
    text = printed({"a": found})
    assert line in text
    assert text.count("results.json") == 1
    assert "results.json" not in printed({"a": found, "b": found}) + printed({"a": results((ACCURACY, PLAIN))})


def raise_flag(flag: str) -> Measurement:
    return dataclasses.replace(PLAIN, flags=(flag,))


@pytest.mark.parametrize("flag", sorted(FLAGS))
@pytest.mark.parametrize("runs", [1, 2])
def test_a_flag_is_explained_once_and_only_where_it_was_raised(flag, runs):
    flagged = results((ACCURACY, raise_flag(flag)), (PREMISE, raise_flag(flag)))
    text = words(printed({f"runs/{i}": flagged for i in range(runs)}).splitlines())
    assert text.count(FLAGS[flag].short) == 1
    for other in set(FLAGS) - {flag}:
        assert FLAGS[other].short not in text
    unflagged = printed({f"runs/{i}": results((ACCURACY, PLAIN)) for i in range(runs)})
    assert FLAGS[flag].short not in words(unflagged.splitlines())


def test_a_flag_of_what_is_not_shown_is_not_explained():
    found = results((ACCURACY, PLAIN), (MORE[0], raise_flag("one_sided")))
    assert "one label" in printed({"a": found})
    assert "one label" not in printed({"a": found, "b": found})


def test_a_flag_marks_the_run_and_the_metric_that_it_is_about():
    flagged = raise_flag("not_above_majority")
    text = printed({"a": results((ACCURACY, PLAIN)), "b": results((ACCURACY, flagged))})
    assert column(text, 1) == "50.00 n=4"
    assert column(text, 2) == "50.00 n=4 (a)"
    lines = table_of(printed({"a": results((ACCURACY, flagged), (MORE[1], PLAIN))}))
    assert [line.split()[-1] for line in lines[1:]] == ["(a)", "n=4"]


def test_of_few_examples_their_number_stands_in_the_table():
    few = dataclasses.replace(SCORE, n=3, flags=("not_above_majority", "few_examples"))
    found = results((PREMISE, few), (MORE[2], dataclasses.replace(few, n=9)))
    lines = table_of(printed({"a": found}))
    assert [line.split("  ")[-1].strip() for line in lines[1:]] == ["n=3 (a) (b)", "n=9 (a) (b)"]
    assert "(b) fewer than 10 examples count" in printed({"a": found})
    assert column(printed({"a": found, "b": results((PREMISE, SCORE))}), 1) == "n=3 (a) (b)"
    assert table_cells({"a": found}).rows[0][1] == "n=3 (not_above_majority) (few_examples)"
    assert found["metrics"]["attentiveness/d/premise"]["value"] == SCORE.value


def test_flags_are_explained_in_the_order_of_their_marks():
    flags = [(Line(f"accuracy/{i}", "accuracy"), raise_flag(flag)) for i, flag in enumerate(reversed(FLAGS))]
    marks = re.findall(r"^\((\w)\)", printed({"a": results(*flags)}), re.MULTILINE)
    assert marks == list(ascii_lowercase[: len(FLAGS)])


def test_an_undefined_score_keeps_the_mark_of_its_flag():
    undefined = dataclasses.replace(UNDEFINED, flags=("not_above_majority",))
    text = printed({"a": results((PREMISE, undefined))})
    assert words(table_of(text)).endswith("'neutral' (a)")
    assert "(a) accuracy not above" in text


def test_every_flag_that_a_metric_can_raise_is_explained(rows_of):
    null = {"uid": "u", "intervention": "null", "part": "", "draw": -1, "y2": "no"}
    about = Context("d", labels=("yes", "no"), default_label="no", own={"swap": ["premise"]})
    rows = rows_of({"u": ("yes", "yes")}, [null, {"uid": "u", "y2": "no"}])
    found = by_name([*accuracy(rows, about), *noise(rows, about), *attentiveness(rows, "premise", about)])
    unread = rows_of({"u": ("yes", "yes")}, [{"uid": "u", "y2": "yes", "unread": True}])
    found |= METRICS["attentiveness"].score(unread, Context("d", labels=("yes", "no"), own={"swap": ["premise"]}))
    failed = rows_of({"u": ("yes", "yes")}, [{"uid": "u", "y2": "(no label)"}])
    context = Context("fails", labels=("yes", "no"), own={"swap": ["premise"]})
    found |= METRICS["attentiveness"].score(failed, context) | by_name(
        noise(rows, Context("asked", own={"asked": True}))
    )
    one = rows_of(dict.fromkeys(map(str, range(10)), ("[]", "a")), [{"uid": str(i), "y2": "b"} for i in range(10)])
    found |= by_name(attentiveness(one, "premise", Context("texts", kind=SPAN, own={"swap": ["premise"]})))
    yes, no = ([0.8, 0.2, 0.0], [0.2, 0.8, 0.0])
    change = {"uid": "u", "part": "context", "draw": -1, "y2": "neutral", "gold": "neutral", "p": yes}
    pairs = [
        change | {"intervention": "I0", "expectation": "change", "partner": "c", "clusters": ["u", "a", "c"], "p2": no}
    ]
    for i in range(9):  # of which one changes, in one of two contexts
        moved = {"p2": yes if i else no, "variant": str(i), "partner": str(i), "clusters": ["u", "ab"[i % 2], str(i)]}
        pairs.append(change | {"intervention": "I2", "expectation": "stay"} | moved)
    rows = rows_of({"u": ("entailment", "entailment")}, pairs)
    labels = "entailment", "neutral", "contradiction"
    found |= METRICS["natural_logic"].score(rows, Context("d", labels=labels, own={"data": "d"}))
    change = {"uid": "u", "intervention": "change", "y2": "no", "clusters": ["u", "table t"]}
    changes = [change, change | {"gold": "no", "variant": "flipped"}]
    found |= by_name(challenge(rows_of({"u": ("yes", "yes")}, changes), MetricName("challenge", "d"), ["change"]))
    edit = {"intervention": "delete", "y2": "neutral", "allowed": "delete/unknown"}
    edits = [edit | {"uid": u, "clusters": [u, f"table {u}"], "slices": [f"split={u}"]} for u in "uv"]
    rows = rows_of(dict.fromkeys("uv", ("entailment", "entailment")), edits)
    found |= by_name(invalid_transitions(rows, "d", ["delete"], splits=["u", "v"]))
    found |= METRICS["accuracy"].score(rows_of(dict.fromkeys("uv", ("yes", "no"))), Context("d", labels=("yes", "no")))
    over = over_seeds([Measurement(0.5, 2), Measurement(None, 0)])  # the second has no number
    ranked = measured(0.5, 3, np.full(9, np.nan), few_of(np.zeros(2)))
    assert {flag for m in (*found.values(), over, ranked) for flag in m.flags} == {HALF_ERROR, *FLAGS}


def test_a_flag_of_another_version_does_not_hide_the_numbers():
    text = printed({"runs/a": results((ACCURACY, raise_flag("not_yet_invented")))})
    assert "50.00" in text
    assert "not_yet_invented" in text


def test_a_note_is_printed_once():
    noted = results((ACCURACY, SCORE), note="Random partners are often neutral.")
    assert printed({"a": noted, "b": noted}).count("Note: Random partners are often neutral.") == 1
    assert "Note" not in printed({"a": results((ACCURACY, SCORE))})


@pytest.mark.parametrize("name", ["sweep[lr]", "a[/b]", "[bold]"])
def test_square_brackets_in_names_are_printed_as_they_are(name):
    undefined, label = Measurement(None, 0, reason=f"no example is predicted as '{name}'"), name.replace("/", "")
    line = Line(f"attentiveness/d/premise/from_{label}", f"from_{label}", section=f"about {label}")
    section = {f"about {label}": Section((f"on {label}",))}
    found = results(
        (line, undefined), data=f"my {name}", note=f"About {name}.", sections=section, asides=[f"by {name}"]
    )
    text = printed({f"runs/{name}": found})
    shown = [f"in runs/{name}", f"from_{label}", f"'{name}'", f"About {name}.", f"my {name}", f"By {name}:"]
    for part in (*shown, f"about {label}", f"on {label}"):
        assert part in text


def test_names_from_data_do_not_command_the_terminal():
    line = Line("accuracy/d/label", "label/a\x1b[2Jb", section="below \x1b[2J")
    found = results((line, PLAIN), note="note \x1b]0;title\x07", sections={line.section: Section(("on \x1b[2J",))})
    text = printed({"run": found})
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b]0;title" in text


def test_of_several_data_sets_each_row_names_its_own():
    other = Line("accuracy/mnli", "accuracy", beside=True)
    kinds = Line("two_class/snli", "two-class accuracy snli", beside=True)
    runs = {"a": results((ACCURACY, PLAIN), (kinds, PLAIN)), "b": results((other, SCORE), data="mnli")}
    assert labels(printed(runs)) == ["accuracy d", "two-class accuracy snli", "accuracy mnli"]
    assert labels(printed({"a": runs["a"]})) == ["accuracy", "two-class accuracy snli"]
    same = {"a": results((ACCURACY, PLAIN)), "b": results((ACCURACY, SCORE))}
    assert labels(printed(same)) == ["accuracy"]


def test_the_cells_of_a_table_say_by_themselves_what_they_are():
    flagged = dataclasses.replace(SCORE, flags=("not_above_majority",))
    runs = {"a": results((ACCURACY, flagged), (MORE[0], PLAIN), (MORE[1], PLAIN))}
    cell = "61.23 ± 1.28 [59.4, 63.0] n=4321 (not_above_majority)"
    rows = [["accuracy", cell], ["accuracy majority", "50.00 n=4"], ["accuracy yes", "50.00 n=4"]]
    assert table_cells(runs) == ("", [TITLE, "a"], rows, "")
    _, header, rows, _ = table_cells(runs | {"b": results((Line("accuracy/mnli", "accuracy", beside=True), PLAIN))})
    assert header == [TITLE, "a", "b"]
    assert rows == [["accuracy d", cell, ""], ["accuracy mnli", "", "50.00 n=4"]]


def test_labels_that_do_not_explain_themselves_are_explained_in_one_sentence():
    lines = [Line(f"attentiveness/d/premise/{label}", label, 1) for label in ("to_default", "eligible")]
    text = words(printed({"a": results((PREMISE, SCORE), *((line, PLAIN) for line in lines))}).splitlines())
    assert "to_default: changes to the default label; eligible: share not predicted as the default label." in text
    assert "max_change:" not in text
    assert "largest change of a probability" in printed(
        {"a": results((Line("null/d/max_change", "null max_change"), PLAIN))}
    )
    assert "eligible" not in printed({"a": results((ACCURACY, SCORE))})


def test_what_is_eligible_is_explained_for_the_metric_that_it_belongs_to():
    lines = [Line("default_label/d/premise", "default label premise"), Line("default_label/d/siblings", "siblings", 1)]
    lines.append(Line("default_label/d/eligible", "default label eligible"))
    text = words(printed({"a": results(*((line, PLAIN) for line in lines))}).splitlines())
    assert "not predicted as the default label" not in text
    assert "default label eligible: share predicted as the default label." in text
    assert text.count("default label ...: of predictions of the default label, the share that stays") == 1
    assert "siblings_gold:" not in text


def test_a_model_that_is_not_above_the_majority_is_not_to_be_read():
    flagged = dataclasses.replace(SCORE, flags=("not_above_majority",))
    text = words(printed({"a": results((PREMISE, flagged))}).splitlines())
    assert "(a) accuracy not above the majority share" in text
    assert "p >= 0.05. A high attentiveness is no merit here: guesses change, too." in text
    text = words(printed({"a": results((ACCURACY, flagged))}).splitlines())
    assert "(a) accuracy not above the majority share: one-sided test, p >= 0.05." in text
    assert "Do not read" not in text


def test_too_many_changes_that_are_never_read_are_said_in_words():
    """Of one run, with how much of each part the model reads, of the data and of examples of an evaluation's own."""
    flagged = dataclasses.replace(PLAIN, flags=("unread_changes",))
    hypothesis = Line("attentiveness/d/hypothesis", "attentiveness hypothesis")
    lines = [(PREMISE, flagged), (Line("attentiveness/d/premise/unread", "unread", 1), Measurement(0.24, 50))]
    lines += [(hypothesis, PLAIN), (Line("attentiveness/d/hypothesis/unread", "unread", 1), Measurement(0.04, 50))]
    counts = {"examples": 20, "not_predicted": 80, "truncated": 7, "tokens_kept": {"premise": [300, 1200], "b": [0, 0]}}
    counts |= {
        "attentiveness/identical": 1200,
        "evidence/identical": 34,
        "evidence/examples": 9,
        "evidence/truncated": 1,
        "evidence/tokens_kept": {"table": [1000, 1001]},
    }
    found = results(*lines, counts=counts)
    text = words(printed({"a": found}).splitlines())
    assert "Changes that never reach the model: 24 % of those behind 'attentiveness premise'. 7 of 100" in text
    assert (
        "7 of 100 examples are longer than the model reads. Tokens that it reads: premise 300 of 1,200 (25 %), b"
        in text
    )
    assert "1 of 9 examples of evidence is longer than the model reads. Tokens that it reads: table 1,000 of" in text
    assert "unread: share of the changes after which the model receives what it did before" in text
    assert "1,234 changed inputs were the same as others to the model; to save time they were predicted once." in text
    both = printed({"a": found, "b": found})
    assert "(a) more than 5 % of the changes never reach the model" in both
    assert "Tokens that" not in both


def test_what_is_no_answer_is_quoted():
    found = results((ACCURACY, SCORE))
    found["counts"] |= {
        "no_answers": [["Error: upstream timeout", 510], ["", 2]],
        "several_labels": 3,
        "attentiveness/one_text": {"context": ["error", 25, 30]},
    }
    text = " ".join(printed({"runs/a": found}).split())
    assert "The commonest of what is no answer: 'Error: upstream timeout' (510 times), '' (2 times)." in text
    assert "3 answers name several labels, and were read as the wording says." in text
    assert "With another context, 83 % (25 of 30) get the answer 'error', and no base input does." in text
