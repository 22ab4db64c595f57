"""The table of one run, and of several runs, at 80 columns."""

import csv
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
from heedful.metrics.statistics.bootstrap import few_clusters_flag, measured
from heedful.metrics.tables.challenge import HALF_ERROR, challenge
from heedful.metrics.tables.transitions import invalid_transitions
from heedful.records import SPAN, TEXT, Context, Measurement, MetricName, printable
from heedful.reports.flags import FLAGS
from heedful.reports.tables import FORMATS
from heedful.reports.terminal.table import TERMS, TITLE, build, in_columns, print_table

import written_results

ACCURACY, PREMISE = MetricName("accuracy", "d"), MetricName("attentiveness", "d", "premise")
MAJORITY, OF_YES = ACCURACY._replace(statistic="majority"), ACCURACY._replace(slice="yes")
FROM_YES = PREMISE._replace(slice="from_yes")
FLIPS = MetricName("null", "d", statistic="flips")
DEFAULT = MetricName("default_label", "d")
SCORE = Measurement(0.61234, 4321, 5, 0.01278, (0.5944, 0.6301), (0.6,) * 5)
OTHER = Measurement(0.9, 4000, 5, 0.002, (0.89, 0.91))
PLAIN = Measurement(0.5, 4)
RATIO = Measurement(1.787, 400, ci95=(1.737, 1.827), unit="ratio")
UNDEFINED = Measurement(None, 0, reason="every prediction is the default label 'neutral'")


def results(*numbers: tuple[MetricName, Measurement], **others) -> dict:
    """Results with these numbers, in which those without statistic and slice are headlines."""
    headlines = [name for name, _ in numbers if not name.statistic and not name.slice]
    return written_results.results(dict(numbers), headlines, **others)


def test_csv_has_a_column_for_each_number():
    few = Measurement(1.0, 3, flags=("few_examples", "one_sided"))
    shown = (PREMISE, SCORE), (FROM_YES, few), (MetricName("x", "d"), RATIO), (ACCURACY, UNDEFINED)
    found = list(csv.DictReader(io.StringIO(FORMATS["csv"](in_columns({"runs/a": results(*shown)})))))
    number = {"run": "runs/a", "unit": "percent", "std": "", "low": "", "high": "", "flags": "", "reason": ""} | {
        "clusters": ""
    }
    assert found == [
        number | {"label": "attentiveness premise", "metric": "attentiveness/d/premise", "value": "61.234"}
        | {"std": "1.278", "low": "59.44", "high": "63.01", "n": "4321"},
        number | {"label": "attentiveness premise from_yes", "metric": "attentiveness/d/premise/from_yes", "value": ""}
        | {"n": "3", "flags": "few_examples, one_sided"},
        number | {"label": "x", "metric": "x/d", "unit": "ratio", "value": "1.787", "low": "1.737"}
        | {"high": "1.827", "n": "400"},
        number | {"label": "accuracy", "metric": "accuracy/d", "value": "", "n": "0", "reason": UNDEFINED.reason},
    ]  # fmt: skip


def printed(found: dict[str, dict]) -> str:
    file = io.StringIO()
    print_table(found, Console(width=80, file=file))
    return file.getvalue()


def table_of(text: str) -> list[str]:
    """The lines of the printed table, from the header to the last row."""
    lines = [line for line in text.splitlines() if line.strip()]
    start = next(i for i, line in enumerate(lines) if line.startswith("% ±"))
    end = next(
        i for i, line in enumerate(lines) if re.match(r"\(\w\) |Note: |in |null flips: |results.json has ", line)
    )
    return lines[start:end]


def words(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def labels(text: str) -> list[str]:
    """The labels in a printed table, with indentation."""
    header, *lines = table_of(text)
    width = len("% ± std over draws [95 %]")
    return [label for line in lines if (label := line[: max(width, header.find("(1)"))].rstrip())]


def column(text: str, run: int) -> str:
    """The cells of one of two runs in a printed table, joined."""
    header, *lines = table_of(text)
    start = header.index(f"({run})")
    end = header.index("(2)") if run == 1 else None
    return words([line[start:end] for line in lines])


def test_the_table_of_one_run_names_data_folder_and_every_line():
    names = [ACCURACY, MAJORITY, OF_YES, PREMISE, FROM_YES, FLIPS]
    text = printed({"runs/mnli/bert": results(*((name, SCORE) for name in names), data="mnli")})
    assert "mnli, validation" in text
    assert "in runs/mnli/bert" in text
    assert labels(text) == [
        "accuracy", "  majority", "  yes", "attentiveness premise", "  from_yes", "null flips"
    ]  # fmt: skip
    assert table_of(text)[1].split() == "accuracy 61.23 ± 1.28 [59.4, 63.0] n=4321".split()


def test_two_runs_stand_side_by_side_with_their_headlines():
    first, second = (results((PREMISE, m), (FROM_YES, PLAIN)) for m in (SCORE, OTHER))
    text = printed({"runs/a": first, "runs/b": second})
    assert column(text, 1) == "61.23 ± 1.28 [59.4, 63.0] n=4321"
    assert column(text, 2) == "90.00 ± 0.20 [89.0, 91.0] n=4000"
    assert labels(text) == ["attentiveness premise"]
    assert text.index("(1) runs/a") < text.index("(2) runs/b")


@pytest.mark.parametrize("runs", [1, 2])
def test_no_line_of_the_table_is_longer_than_80_columns_and_no_number_is_cut(runs):
    hypothesis, other = (PREMISE._replace(part=part) for part in ("hypothesis", "other"))
    found = results(
        (hypothesis, SCORE),
        (hypothesis._replace(slice="from_contradiction"), UNDEFINED),
        (ACCURACY, Measurement(0.5, 7, ci95=(0.25, 0.75))),
        (other, UNDEFINED),
    )
    text = printed({f"runs/{i}": found for i in range(runs)})
    assert max(map(len, text.splitlines())) <= 80
    for word in "61.23 1.28 [59.4, 63.0] n=4321 50.00 [25.0, 75.0] n=7".split():
        assert text.split().count(word) == runs
    assert "…" not in text


@pytest.mark.parametrize(
    ("name", "m", "shown"),
    [
        (MAJORITY, Measurement(0.3545, 9815), "accuracy majority 35.45 n=9815"),
        *(
            (MetricName("noise", "d"), Measurement(value, 512), f"noise {shown} n=512")
            for value, shown in (
                (0.0, "0.00"),
                (-0.0, "0.00"),
                (3.6e-7, "4e-05"),
                (-3.6e-7, "-4e-05"),
                (0.0123, "1.23"),
            )
        ),
        (MetricName("ratio", "d"), RATIO, "ratio 1.79 [1.74, 1.83] n=400"),
        (MetricName("delta", "d"), dataclasses.replace(RATIO, unit="percent"), "delta 178.70 [173.7, 182.7] n=400"),
        (PREMISE, UNDEFINED, f"attentiveness premise undefined: {UNDEFINED.reason}"),
    ],
)
def test_a_number_is_shown_with_its_unit_interval_and_n(name, m, shown):
    """Tiny values, such as the numeric noise, are not rounded to 0."""
    assert words(table_of(printed({"a": results((name, m))}))[1:]) == shown


def test_a_text_replaces_the_numbers_of_labels_that_are_never_predicted():
    never = [(PREMISE._replace(slice=f"from_l{i}"), UNDEFINED) for i in range(3)]
    text = printed({"a": results((PREMISE, PLAIN), *never)})
    assert words(table_of(text)[2:]) == "from_... undefined: 3 labels are never predicted"


def test_a_metric_that_only_one_run_has_leaves_the_other_cell_empty():
    text = printed({"a": results((ACCURACY, PLAIN)), "b": results((PREMISE, UNDEFINED))})
    assert (column(text, 1), column(text, 2)) == ("50.00 n=4", f"undefined: {UNDEFINED.reason}")


def test_how_many_numbers_are_elsewhere_is_said_below_one_run():
    effect = MetricName("natural_logic", "nlixy", "context", "tce")
    hidden = [(effect._replace(statistic=f"tce/{statistic}"), PLAIN) for statistic in ("naive", "argmax")]
    found = results((ACCURACY, PLAIN), (effect, PLAIN), *hidden)
    one = printed({"a": found})
    assert "results.json has 2 more numbers." in one
    assert labels(one) == ["accuracy", "TCE context"]
    assert "results.json has 1 more number." in printed({"a": results((effect, PLAIN), hidden[0])})
    assert "results.json" not in printed({"a": found, "b": found}) + printed({"a": results((ACCURACY, PLAIN))})


def raise_flag(flag: str) -> Measurement:
    return dataclasses.replace(PLAIN, flags=(flag,))


@pytest.mark.parametrize("runs", [1, 2])
def test_a_flag_is_explained_once_where_it_was_raised_in_the_order_of_the_marks(runs):
    for flag in FLAGS:
        flagged = results((ACCURACY, raise_flag(flag)), (PREMISE, raise_flag(flag)))
        text = words(printed({f"runs/{i}": flagged for i in range(runs)}).splitlines())
        assert [text.count(FLAGS[each].short) for each in FLAGS] == [each == flag for each in FLAGS]
    found = results(*((MetricName("x", str(i)), raise_flag(flag)) for i, flag in enumerate(reversed(FLAGS))))
    marks = re.findall(r"^\(([a-z])\) ", printed({str(i): found for i in range(runs)}), re.MULTILINE)
    assert "".join(marks) == ascii_lowercase[: len(FLAGS)]


def test_marks_belong_to_their_run_and_metric_and_few_examples_show_their_number():
    few = dataclasses.replace(SCORE, n=3, flags=("not_above_majority", "few_examples"))
    undefined = dataclasses.replace(UNDEFINED, flags=("not_above_majority",))
    found = results((PREMISE, few), (FROM_YES, undefined), (ACCURACY, raise_flag("new")), (MAJORITY, PLAIN))
    lines = words(table_of(printed({"a": found}))[1:])
    assert lines == (
        f"attentiveness premise n=3 (a) (b) from_yes undefined: {UNDEFINED.reason} (a) accuracy 50.00 n=4 (new) "
        "majority 50.00 n=4"
    )
    text = printed({"a": found, "b": results((PREMISE, SCORE), (ACCURACY, PLAIN))})
    assert column(text, 1) == "n=3 (a) (b) 50.00 n=4 (new)"
    assert "(b) fewer than 10 examples count" in text
    assert build({"a": found}).rows[0][1] == "n=3 (not_above_majority) (few_examples)"
    guesses = dataclasses.replace(SCORE, flags=("not_above_majority",))
    assert "no merit" in printed({"a": results((PREMISE, guesses))})
    assert "no merit" not in text + printed({"a": results((PREMISE, undefined), (ACCURACY, guesses))})


def test_every_flag_that_a_metric_can_raise_is_explained(rows_of):
    null = {"uid": "u", "intervention": "null", "part": "", "draw": -1, "y2": "no"}
    about = Context("d", labels=("yes", "no"), default_label="no", own={"swap": [["premise", "leaves"]]})
    rows = rows_of({"u": ("yes", "yes")}, [null, {"uid": "u", "y2": "no"}])
    found = by_name([*accuracy(rows, about), *noise(rows, about), *attentiveness(rows, "premise", about)])
    unread = rows_of({"u": ("yes", "yes")}, [{"uid": "u", "y2": "yes", "unread": True}])
    found |= METRICS["attentiveness"].score(
        unread, Context("d", labels=("yes", "no"), own={"swap": [["premise", "leaves"]]})
    )
    failed = rows_of({"u": ("yes", "yes")}, [{"uid": "u", "y2": "(no label)"}])
    context = Context("fails", labels=("yes", "no"), own={"swap": [["premise", "leaves"]]})
    found |= METRICS["attentiveness"].score(failed, context) | by_name(
        noise(rows, Context("asked", own={"asked": True}))
    )
    one = rows_of(dict.fromkeys(map(str, range(10)), ("[]", "a")), [{"uid": str(i), "y2": "b"} for i in range(10)])
    found |= by_name(attentiveness(one, "premise", Context("texts", kind=SPAN, own={"swap": [["premise", "leaves"]]})))
    about = Context("texts", kind=TEXT, default_label="c", own={"swap": [["premise", "leaves"]]})
    found |= by_name(attentiveness(one, "premise", about))
    yes, no = ([0.8, 0.2, 0.0], [0.2, 0.8, 0.0])
    change = {"uid": "u", "part": "context", "draw": -1, "y2": "neutral", "gold2": "neutral", "p": yes}
    pairs = [
        change | {"intervention": "I0", "expects": "leaves", "partner": "c", "clusters": ["u", "a", "c"], "p2": no}
    ]
    for i in range(9):  # one of the predictions changes, in one of two contexts
        moved = {"p2": yes if i else no, "variant": str(i), "partner": str(i), "clusters": ["u", "ab"[i % 2], str(i)]}
        pairs.append(change | {"intervention": "I2", "expects": "stays"} | moved)
    rows = rows_of({"u": ("entailment", "entailment")}, pairs)
    labels = "entailment", "neutral", "contradiction"
    found |= METRICS["natural_logic"].score(rows, Context("d", labels=labels, own={"data": "d"}))
    change = {"uid": "u", "intervention": "change", "gold2": "yes", "y2": "no", "clusters": ["u", "table t"]}
    changes = [change, change | {"gold2": "no", "variant": "flipped"}]
    found |= by_name(challenge(rows_of({"u": ("yes", "yes")}, changes), MetricName("challenge", "d"), ["change"]))
    edit = {"intervention": "delete", "y2": "neutral", "expects": "transitions/delete/unknown"}
    edits = [edit | {"uid": u, "clusters": [u, f"table {u}"], "slices": [f"split={u}"]} for u in "uv"]
    rows = rows_of(dict.fromkeys("uv", ("entailment", "entailment")), edits)
    found |= by_name(invalid_transitions(rows, "d", ["delete"], splits=["u", "v"]))
    found |= METRICS["accuracy"].score(rows_of(dict.fromkeys("uv", ("yes", "no"))), Context("d", labels=("yes", "no")))
    ranked = measured(0.5, 3, np.full(9, np.nan), few_clusters_flag(np.zeros(2)))
    assert {flag for m in (*found.values(), ranked) for flag in m.flags} == {HALF_ERROR, *FLAGS}


def test_a_note_is_printed_once():
    noted = results((ACCURACY, SCORE), note="Random partners are often neutral.")
    assert printed({"a": noted, "b": noted}).count("Note: Random partners are often neutral.") == 1
    assert "Note" not in printed({"a": results((ACCURACY, SCORE))})


@pytest.mark.parametrize("name", ["sweep[lr]", "a[/b]", "[bold]", "\x1b[2J", "\x1b]0;title\x07"])
def test_names_neither_style_nor_command_the_terminal(name):
    undefined, label = Measurement(None, 0, reason=f"no example is predicted as '{name}'"), name.replace("/", "")
    numbers = (PREMISE._replace(slice=f"from_{label}"), undefined), (MetricName(name, "d", name), PLAIN)
    found = results(*numbers, data=f"my {name}", note=f"About {name}.")
    text = printed({f"runs/{name}": found})
    assert not {"\x1b", "\x07"} & {*text}
    shown, part = (printable(each) for each in (name, label))
    for words_ in (
        f"in runs/{shown}",
        f"from_{part}",
        f"'{shown}'",
        f"About {shown}.",
        f"my {shown}",
        f"{shown} {shown}",
    ):
        assert words_ in text


def test_the_cells_of_a_table_say_by_themselves_what_they_are():
    flagged = dataclasses.replace(SCORE, flags=("not_above_majority",))
    runs = {"a": results((ACCURACY, flagged), (MAJORITY, PLAIN), (OF_YES, PLAIN))}
    cell = "61.23 ± 1.28 [59.4, 63.0] n=4321 (not_above_majority)"
    rows = [["accuracy", cell], ["accuracy majority", "50.00 n=4"], ["accuracy yes", "50.00 n=4"]]
    assert build(runs) == ("", [TITLE, "a"], rows, "")
    _, header, rows, _ = build(runs | {"b": results((MetricName("accuracy", "mnli"), PLAIN))})
    assert header == [TITLE, "a", "b"]
    assert rows == [["accuracy d", cell, ""], ["accuracy mnli", "", "50.00 n=4"]]


@pytest.mark.parametrize(
    ("names", "terms"),
    [
        (
            [PREMISE._replace(statistic="to_default"), PREMISE._replace(statistic="eligible")],
            ["to_default", "eligible"],
        ),
        ([MetricName("null", "d", statistic="max_change")], ["max_change"]),
        ([ACCURACY], []),
        (
            [DEFAULT._replace(part="premise"), DEFAULT._replace(part="premise", statistic="siblings"),
             DEFAULT._replace(statistic="eligible")],
            ["default label ...", "siblings", "default label eligible"],
        ),
        ([DEFAULT._replace(statistic="null_total_variation")], []),
    ],
)  # fmt: skip
def test_labels_that_do_not_explain_themselves_are_explained_once(names, terms):
    text = words(printed({"a": results(*((name, PLAIN) for name in names))}).splitlines())
    assert [term for term in TERMS if f"{term}: {TERMS[term]}" in text] == terms


def test_what_else_was_counted_stands_below_the_table_of_one_run():
    """Unread changes, truncated parts, inputs that were predicted once, and missing answers."""
    flagged = dataclasses.replace(PLAIN, flags=("unread_changes",))
    numbers = [(PREMISE, flagged), (PREMISE._replace(statistic="unread"), Measurement(0.24, 50))]
    numbers += [(ACCURACY, PLAIN), (ACCURACY._replace(statistic="unread"), Measurement(0.04, 50))]
    counts = {"examples": 20, "not_predicted": 80, "truncated": 7, "tokens_kept": {"premise": [300, 1200], "b": [0, 0]}}
    counts |= {"attentiveness/identical": 1200, "evidence/identical": 34, "evidence/examples": 9}
    counts |= {"evidence/truncated": 1, "evidence/tokens_kept": {"table": [1000, 1001]}}
    counts |= {"no_answers": [["Error: upstream timeout", 510], ["", 2]], "repeats": 2, "evidence/trained_on": 1}
    counts |= {"attentiveness/one_text": {"context": ["error", 25, 30]}}
    counts |= {"attentiveness/default_label_unseen": ["netural", "neutral", "yes"]}
    found = results(*numbers, counts=counts)
    text = words(printed({"a": found}).splitlines())
    for fact in (
        "24 % for 'attentiveness premise'.",
        "7 of 100 examples are longer",
        "premise 300 of 1,200 (25 %), b",
        "1 of 9 examples of evidence is longer",
        "table 1,000 of 1,001",
        "1,234 changed inputs",
        "'Error: upstream timeout' (510 times), '' (2 times)",
        "83 % (25 of 30) get the answer 'error'",
        "the default label 'netural'; the most frequent answers are 'neutral', 'yes'.",
        "2 of 20 examples are repeats of others",
        "1 of 9 examples of evidence was trained on",
    ):
        assert fact in text
    both = printed({"a": found, "b": found})
    assert "(a) more than 5 % of the changes never reach the model" in both
    assert "Tokens that" not in both
