"""Statistics below numbers, lines and curves, for all metrics."""

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_cases import CASES, LABELS

from heedful.metrics import METRICS
from heedful.metrics.metric import MOST_UNREAD, UNREAD_CHANGES, Metric, name_below
from heedful.metrics.number import Number, measured
from heedful.records import NO_LABEL, Context, Measurement, MetricName, RunError
from heedful.records.rows import BASE, rows_with
from heedful.reports.lines import label_of, lines_of
from heedful.reports.results import score

from made_rows import make
from refusals import refused
from registered import CLASSES
from written_results import results

FILE = Path(__file__).with_name("lines.txt")
WITHOUT_CHANGES = {"accuracy", "answers", "two_class", "attributions"}
OVER_CHANGES = [case for case in CASES if case.split()[0] not in WITHOUT_CHANGES]
NAME = MetricName("attentiveness", "d", "premise")
CONTEXT = Context("d", labels=LABELS, default_label="neutral", own={"swap": [["premise", "leaves"]]})
ANSWERS = st.sampled_from(LABELS)
ATTENTIVENESS = METRICS["attentiveness"]


WORDS = ("majority", "f1", "macro_f1", "matthews", "eligible", "to_default", "read", "unread", "loss")
ODD = st.sampled_from([*WORDS, "neutral", "kind=b", "majority/kind=b", '"f1"', "from_f1", "a/b", "f1/x"])


@settings(max_examples=20)
@given(st.lists(ODD, min_size=2, max_size=4, unique=True))
def test_no_label_has_the_name_of_another_number(labels):
    """With any names of labels, numbers have different names, and can be monitored."""
    base = {f"u{i}": (label, labels[i - 1]) for i, label in enumerate(labels)}
    swaps = [{"uid": uid, "y2": gold} for uid, (gold, _) in base.items()]
    keeps = [{"uid": uid, "y2": gold, "intervention": "keep", "variant": "premise"} for uid, (gold, _) in base.items()]
    rows = make(base, [*swaps, *keeps], labels=len(labels))
    rows = rows.set_column(rows.schema.get_field_index("slices"), "slices", pa.array([["kind=b"]] * rows.num_rows))
    own = {"swap": [["premise", "leaves"]], "sides": ["premise"]}
    context = Context("d", labels=tuple(labels), default_label=labels[0], slices=("kind",), own=own)
    for evaluation in ("accuracy", "attentiveness", "naive_partial"):
        metric = METRICS[evaluation]
        found = metric.score(rows, context)
        assert len({str(name) for name in found}) == len(found)
        of_labels = {name: m.value for name, m in found.items() if name.slice and not any(name.by)}
        if evaluation == "accuracy":
            assert list(of_labels.values()) == [0.0] * len(labels)  # each example is predicted as the previous label
        assert {name for name in found if any(name.by)} == {name for name in found if name.slice == "kind=b"}
        assert all(metric.may_have(str(name), context) for name in of_labels if evaluation != "naive_partial")


def test_two_numbers_of_one_name_are_refused():
    def twice(rows, context):
        yield Number(MetricName("f", "d", "x"), Measurement(0.1, 1))
        yield Number(MetricName("f", "d", statistic="x"), Measurement(0.2, 1))

    metadata = {"context": CONTEXT.as_dict(), "counts": {}}
    run = {"data": "d", "split": "s", "seed": 0, "note": None, "counts": {}}
    with refused(RunError, "f and f ", "f/d/x"):
        score(run, {"f": (make({"u": ("neutral", "neutral")}), metadata)}, {"f": Metric("f", twice)})


def with_unread(rows: pa.Table, unread: np.ndarray) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index("unread"), "unread", pa.array(unread, pa.bool_()))


@settings(max_examples=20)
@given(
    st.lists(st.tuples(ANSWERS, st.lists(st.tuples(ANSWERS, st.sampled_from([True, False, False])), max_size=3))),
    st.booleans(),
)
def test_the_share_unread_and_the_number_without_are_those_of_plain_loops(examples, is_unknown):
    """If ``unread`` is null for one change that counts, there are no statistics."""
    base = {f"u{i}": ("neutral", y) for i, (y, _) in enumerate(examples)}
    made = [(f"u{i}", y, d, *swap) for i, (y, swaps) in enumerate(examples) for d, swap in enumerate(swaps)]
    changed = [{"uid": u, "draw": d, "y2": y2, "unread": unread} for u, _, d, y2, unread in made]
    counted = [row for row in made if row[1] != "neutral"]
    if is_unknown and counted:
        next(c for c in changed if (c["uid"], c["draw"]) == (counted[0][0], counted[0][2]))["unread"] = None
    found = ATTENTIVENESS.score(make(base, changed), CONTEXT)
    unread, read = name_below(NAME, "unread"), name_below(NAME, "read")
    if is_unknown or not counted:
        assert not {unread, read} & found.keys()
        return
    share = np.mean([row[4] for row in counted])
    assert (found[unread].value, found[unread].n) == (pytest.approx(share), len(counted))
    assert (UNREAD_CHANGES in found[NAME].flags) == (share > MOST_UNREAD)
    assert (read in found) == (share > 0)
    rest = [row for row in counted if not row[4]]
    draws = sorted({d for _, _, d, _, _ in rest})
    scores = [np.mean([y2 != y for _, y, d, y2, _ in rest if d == draw]) for draw in draws]
    if share == 1:
        assert (found[read].value, found[read].reason) == (None, "the model reads none of the changes")
    elif share:
        assert (found[read].value, found[read].n) == (pytest.approx(np.mean(scores)), len({u for u, *_ in rest}))
    everyone = [
        np.mean([y2 != y for _, y, d, y2, _ in counted if d == draw]) for draw in {d for _, _, d, _, _ in counted}
    ]
    assert found[NAME].value == pytest.approx(np.mean(everyone))


@pytest.mark.parametrize(("unread", "is_flagged"), [(1, False), (2, True)])
def test_more_than_a_twentieth_is_flagged(unread, is_flagged):
    base = {f"u{i:02}": ("neutral", "entailment") for i in range(20)}
    changed = [{"uid": uid, "y2": "neutral", "unread": i < unread} for i, uid in enumerate(base)]
    found = ATTENTIVENESS.score(make(base, changed), CONTEXT)
    assert found[name_below(NAME, "unread")].value == unread / 20
    assert (UNREAD_CHANGES in found[NAME].flags) == is_flagged
    assert UNREAD_CHANGES not in found[NAME._replace(statistic="to_default")].flags


# all metrics


def test_every_metric_has_cases_and_every_case_is_in_the_file():
    assert {name.split()[0] for name in CASES} == CLASSES
    assert list(texts_of_file()) == list(CASES)


def texts_of_file() -> dict[str, str]:
    texts = ("\n" + FILE.read_text(encoding="utf-8")).split("\n# ")[1:]
    return {text.partition("\n")[0]: f"# {text}" for text in texts}


def shown_text(case: str) -> str:
    """Lines and curves of a case as text, with every third change unread."""
    metric = METRICS[case.split()[0]]
    rows, context = CASES[case]()
    if "unread" in rows.schema.names:
        changed = ~rows_with(rows, intervention=BASE)
        rows = with_unread(rows, changed & (np.cumsum(changed) % 3 == 1))
    numbers, _ = metric.evaluate(rows, context)
    headlines = [number.name for number in numbers if number.headline]
    texts = [f"# {case}"]
    for line in lines_of(results(measured(numbers), headlines, words=metric.words)):
        about = [line.unit] * (line.unit != "percent") + ["headline"] * line.is_headline + [line.text] * bool(line.text)
        texts.append("  " * line.level + f"{line.label} = {line.metric}" + "".join(f", {word}" for word in about))
    texts += [f"curve: {label_of(name)} = {name}" for name in curves_of(metric, context)]
    return "\n".join(texts) + "\n"


def curves_of(metric: Metric, context: Context) -> list[MetricName]:
    """The curves of a metric that is also measured in training."""
    return [] if metric.headlines is None else metric.curves(context)


@pytest.mark.parametrize("case", CASES)
def test_lines_and_curves_are_those_of_the_file(case):
    """To update the file, run ``PYTHONPATH=tests/helpers python tests/metrics/test_metric.py`` and check its diff."""
    assert shown_text(case) == texts_of_file()[case]


@pytest.mark.parametrize("case", CASES)
def test_curves_are_headlines_which_may_be_monitored(case):
    metric = METRICS[case.split()[0]]
    rows, context = CASES[case]()
    numbers, _ = metric.evaluate(rows, context)
    curves = curves_of(metric, context)
    assert {*curves} <= {number.name for number in numbers if number.headline}
    assert all(metric.may_have(str(name), context) for name in curves)
    assert not metric.may_have("accuracy/other", context)
    assert len({str(number.name) for number in numbers}) == len(numbers)


@pytest.mark.parametrize("case", CASES)
def test_numbers_have_the_families_of_their_metric(case):
    metric = METRICS[case.split()[0]]
    assert {name.family for name in metric.score(*CASES[case]())} <= {*(metric.families or (metric.name,))}


@pytest.mark.parametrize("case", OVER_CHANGES)
def test_a_failure_after_a_change_is_no_behaviour(case):
    """If all answers after changes are missing, the numbers over changes are undefined and flagged."""
    metric = METRICS[case.split()[0]]
    rows, context = CASES[case]()
    headlines = {n.name: n.changed for n in metric.evaluate(rows, context)[0] if n.changed is not None}
    changed = np.any(list(headlines.values()), axis=0)
    y2 = [NO_LABEL if here else text for text, here in zip(rows["y2"].to_pylist(), changed, strict=True)]
    failed = rows.set_column(rows.schema.get_field_index("y2"), "y2", pa.array(y2, pa.string()))
    found = metric.score(failed, context)
    for name, here in headlines.items():
        if here.any():
            assert (found[name].value, "no_answers" in found[name].flags) == (None, True)
            assert found[name].reason == "more than half of the answers are none"
            assert found[name_below(name, "no_answer/changed")].value == 1
            assert name_below(name, "unread") not in found
    about = {(name.data, name.part) for name, here in headlines.items() if here.any()}
    others = ("eligible", "accuracy", "no_answer/base", "no_answer/changed")
    for name, m in found.items():
        if (name.data, name.part) in about and not name.statistic.endswith(others):
            assert m.value is None, name


@pytest.mark.parametrize("case", OVER_CHANGES)
def test_a_headline_rests_on_the_rows_without_which_it_changes(case):
    """The ``changed`` rows of a headline determine it: alone they give the same number, without them there is none."""
    metric: Metric = METRICS[case.split()[0]]
    rows, context = CASES[case]()
    uids = rows["uid"].to_pylist()
    is_base, answered = rows_with(rows, intervention=BASE), ~rows_with(rows, y2=NO_LABEL)
    plain = metric.score(rows, context)
    headlines = {n.name: n.changed for n in metric.evaluate(rows, context)[0] if n.changed is not None}
    changed = np.any(list(headlines.values()), axis=0) & answered
    third = changed & (np.cumsum(changed) % 3 == 1)
    nothing, some = (metric.score(with_unread(rows, unread), context) for unread in (changed, third))
    lost = {uid for uid, unread in zip(uids, third, strict=True) if unread}
    kept = is_base | [uid not in lost for uid in uids] if metric.whole_examples else ~third
    rest = measured(metric.numbers(rows.filter(pa.array(kept)), context))
    numbers_of = cache(lambda mask: measured(metric.numbers(rows.filter(pa.array(np.frombuffer(mask, bool))), context)))
    for name, counted in headlines.items():
        here, unread = counted & answered, name_below(name, "unread")
        read = name if metric.omits_unread else name_below(name, "read")
        assert here.any()
        assert not (here & is_base).any()
        alone = numbers_of((is_base | here).tobytes())[name]
        assert plain[name].value is not None
        assert (alone.value, alone.n) == (plain[name].value, plain[name].n)
        assert (nothing[unread].value, nothing[read].value) == (1, None)
        assert metric.omits_unread or nothing[read].reason == "the model reads none of the changes"
        assert (some[unread].value, some[unread].n) == (third[here].mean(), here.sum())
        assert (some[read].value, some[read].n) == (rest[name].value, rest[name].n)
    if metric.name == "attentiveness":
        found = metric.score(with_unread(rows, np.zeros(len(uids), dtype=bool)), context)
        new = {name_below(name, "unread") for name in headlines}
        assert found.keys() == plain.keys() | new
        assert {name: m for name, m in found.items() if name not in new} == plain


if __name__ == "__main__":
    FILE.write_text("\n".join(map(shown_text, CASES)), encoding="utf-8")
