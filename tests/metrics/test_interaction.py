"""The interaction of two parts against loops over rows, and its coverage of planted interactions."""

from statistics import mean

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.interaction import METRIC, numbers
from heedful.metrics.number import measured
from heedful.metrics.statistics import paired
from heedful.records import NO_LABEL, Context

from made_rows import by_text
from python_rows import rows_from
from tiers import costly

LABELS = ("yes", "no", "other")
CONTEXT = Context("d", labels=LABELS, own={"pairs": [["a", "b"]]})
PARTS = {"a": "only_b", "b": "only_a", "a+b": "nothing"}  # part that is missing, and what is left
found_in = by_text(lambda rows, context=CONTEXT: measured(numbers(rows, context)))

p = st.sampled_from([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.0, 1.0, 0.0]])
answer = st.sampled_from([*LABELS, *LABELS, *LABELS, NO_LABEL])
gold = st.sampled_from([*LABELS, *LABELS, None, "elsewhere"])
change = st.tuples(answer, st.one_of(p, p, p, st.none()))  # answer and probabilities after a change
quadruple = st.fixed_dictionaries(dict.fromkeys(PARTS, change))
example = st.tuples(gold, answer, p, quadruple, st.lists(st.one_of(st.none(), quadruple), max_size=3))


def rows_of(examples, pair: str = "a+b") -> pa.Table:
    """Rows of examples: gold label, answer, probabilities, emptied parts, and swaps in each draw (None: no partner)."""
    entries = []
    for i, (label, y, before, emptied, swapped) in enumerate(examples):
        base = {"uid": f"u{i:04}", "gold": label, "y": y, "p": before}
        entries.append(base)
        changes = [(-1, "empty", "", "", emptied)]
        changes += [(d, "swap", pair, f"u{(i + d + 1) % len(examples):04}", each) for d, each in enumerate(swapped)]
        entries += [
            base | {"intervention": name, "variant": variant, "draw": d, "partner": partner, "part": part, "y2": y2,
                    "p2": p2, "clusters": [base["uid"], partner] if partner else [base["uid"]]}
            for d, name, variant, partner, each in changes if each for part, (y2, p2) in each.items()
        ]  # fmt: skip
    return rows_from(entries, len(LABELS))


def four(rows: pa.Table, intervention: str) -> dict[tuple[str, int], dict[str, float]]:
    """By uid and draw, the probabilities of the gold label where all four are known, in loops over rows."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows.to_pylist():
        is_known = row["gold"] in LABELS and NO_LABEL not in (row["y"], row["y2"]) and row["p"] and row["p2"]
        if row["intervention"] == intervention and is_known:
            f = found.setdefault((row["uid"], row["draw"]), {})
            at = LABELS.index(row["gold"])
            f["both"], f[PARTS[row["part"]]] = row["p"][at], row["p2"][at]
    return {key: f for key, f in found.items() if len(f) == 4}


def over_draws(values: dict[tuple[str, int], float]) -> float:
    return mean(mean(v for (_, d), v in values.items() if d == draw) for draw in {d for _, d in values})


@costly
@given(st.lists(example, max_size=7))
def test_the_numbers_are_those_of_loops(examples):
    """An example without its gold label, a partner, or one of four answers does not count, and is counted."""
    rows = rows_of(examples)
    found, (_, counts) = found_in(rows), METRIC.evaluate(rows, CONTEXT)
    for way, intervention in (("emptied", "empty"), ("swapped", "swap")):
        f = four(rows, intervention)
        n, name = len({uid for uid, _ in f}), f"interaction/d/a+b/{way}"
        assert (counts["a+b"][way], counts["a+b"][f"{way}_left_out"]) == (n, len(examples) - n)
        value = {key: q["both"] - q["only_a"] - q["only_b"] + q["nothing"] for key, q in f.items()}
        gain = {key: q["both"] - q["nothing"] for key, q in f.items()}
        m, share = found[name], found[f"{name}/share"]
        assert m.n == share.n == n
        if not f:
            assert (m.value, share.value, share.reason) == (None, None, m.reason)
            continue
        assert m.value == pytest.approx(over_draws(value), abs=1e-7)
        assert m.ci95 is None or m.ci95[0] <= m.value <= m.ci95[1]
        if share.value is not None:
            assert share.value == pytest.approx(over_draws(value) / over_draws(gain), abs=1e-6)
        for statistic in ("both", "only_a", "only_b", "nothing"):
            each = {key: q[statistic] for key, q in f.items()}
            assert found[f"{name}/{statistic}"].value == pytest.approx(over_draws(each), abs=1e-7)
        golds = {row["uid"]: row["gold"] for row in rows.to_pylist()}
        for label in LABELS:
            of_label = {key: v for key, v in value.items() if golds[key[0]] == label}
            expected = pytest.approx(over_draws(of_label), abs=1e-7) if of_label else None
            assert found[f"{name}/gold_{label}"].value == expected


def test_each_pair_has_its_own_swaps():
    """With three parts, the swaps of a and b, and the swaps of a and c, are about other partners."""
    context = Context("d", labels=LABELS, own={"pairs": [["a", "b"], ["a", "c"]]})
    certain, after = [1.0, 0.0, 0.0], {part: ("yes", [0.5, 0.5, 0.0]) for part in ("a", "b", "c", "a+b", "a+c")}
    swaps = {part: after[part] for part in ("a", "b", "a+b")}
    others = {part: ("yes", [0.1, 0.9, 0.0]) for part in ("a", "c", "a+c")}
    rows = [
        rows_of([("yes", "yes", certain, after, [each])] * 12, pair) for each, pair in ((swaps, "a+b"), (others, "a+c"))
    ]
    joined = pa.concat_tables([rows[0], rows[1].filter(pa.array([v == "a+c" for v in rows[1]["variant"].to_pylist()]))])
    joined = joined.sort_by([(name, "ascending") for name in ("uid", "intervention", "part", "variant", "draw")])
    found = found_in(joined, context)
    assert found["interaction/d/a+b/swapped"].value == pytest.approx(1 - 0.5 - 0.5 + 0.5)
    assert found["interaction/d/a+c/swapped"].value == pytest.approx(1 - 0.1 - 0.1 + 0.1)
    assert found["interaction/d/a+c/emptied"].value == pytest.approx(0.5)


# Planted predictors: their probability of "yes", given a trait of each part, 0 if the part is emptied. The gold label
# is the more probable one.


def uniform(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)


def repeated(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return (a := rng.uniform(-1, 1, n)), a


PLANTED = {  # traits, probability, and the true interaction and share of emptied and of swapped parts
    "both": (uniform, lambda a, b: 0.5 + 0.4 * a * b, (0.1, 1.0), (0.1, 1.0)),
    "sum": (uniform, lambda a, b: 0.5 + 0.2 * a + 0.2 * b, (0.0, 0.0), (0.0, 0.0)),
    "one": (uniform, lambda a, b: 0.5 + 0.4 * a + 0 * b, (0.0, 0.0), (0.0, 0.0)),
    "each": (repeated, lambda a, b: 0.5 + 0.4 * np.where(a == 0, b, a), (-0.2, -1.0), (0.0, 0.0)),
    "partly": (
        lambda rng, n: (rng.uniform(-1, 1, n), rng.uniform(0, 1, n)),
        lambda a, b: 0.5 + 0.2 * a + 0.2 * a * b, (0.05, 1 / 3), (0.0, 0.0),
    ),
}  # fmt: skip


def planted(name: str, rng: np.random.Generator, n: int = 80, draws: int = 2) -> pa.Table:
    traits, probability, *_ = PLANTED[name]
    a, b = traits(rng, n)
    empty, before = np.zeros(n), probability(a, b)
    is_yes = before > 0.5

    def after(other: np.ndarray, another: np.ndarray) -> list[dict[str, tuple[str, list[float]]]]:
        inputs = {"a": (other, b), "b": (a, another), "a+b": (other, another)}
        columns = [[("yes", [y, 1 - y, 0.0]) for y in probability(*traits).tolist()] for traits in inputs.values()]
        return [dict(zip(inputs, each, strict=True)) for each in zip(*columns, strict=True)]

    emptied = after(empty, empty)
    swapped = [after(np.roll(a, -d - 1), np.roll(b, -d - 1)) for d in range(draws)]  # the partners of rows_of
    return rows_of(
        [
            (LABELS[1 - is_yes[i]], "yes", [before[i], 1 - before[i], 0.0], emptied[i], [each[i] for each in swapped])
            for i in range(n)
        ]
    )


@pytest.mark.parametrize("name", PLANTED)
def test_the_interaction_of_a_planted_predictor_is_in_its_interval(name):
    found = found_in(planted(name, np.random.default_rng(0), 400))
    for way, truth in zip(("emptied", "swapped"), PLANTED[name][2:], strict=True):
        for suffix, value in zip(("", "/share"), truth, strict=True):
            m = found[f"interaction/d/a+b/{way}{suffix}"]
            low, high = m.ci95 or (m.value, m.value)  # a share that is the same in all examples has no interval
            assert low - 1e-6 <= value <= high + 1e-6, (way, suffix, m)
            assert high - low < (0.6 if suffix else 0.1)


def test_interactions_of_two_models_are_paired():
    """The second model is half as sure in each answer: interactions are half as large, and the shares are the same."""
    rows = planted("partly", np.random.default_rng(0), 400)
    unsure = rows
    for name in ("p", "p2"):
        halves = [None if p is None else [(x + 0.5) / 2 for x in p] for p in rows[name].to_pylist()]
        column = pa.array(halves, rows.schema.field(name).type)
        unsure = unsure.set_column(rows.column_names.index(name), rows.schema.field(name), column)
    with paired.recording():
        before, after = map(found_in, (rows, unsure))
    for way in ("emptied", "swapped"):
        name = f"interaction/d/a+b/{way}"
        half = paired.change(before[name], after[name])
        assert half.value == pytest.approx(-before[name].value / 2, abs=1e-6)
        low, high = before[name].ci95
        assert half.ci95 == pytest.approx((-high / 2, -low / 2), abs=1e-6)
    assert paired.change(before[f"{name}/share"], after[f"{name}/share"]).value == pytest.approx(0, abs=1e-5)


def coverage(name: str, tries: int) -> dict[str, float]:
    """Share of simulated data sets whose interval contains the truth."""
    rng, covered = np.random.default_rng(7), {}
    for _ in range(tries):
        found = found_in(planted(name, rng))
        for way, truth in zip(("emptied", "swapped"), PLANTED[name][2:], strict=True):
            for suffix, value in zip(("", "/share"), truth, strict=True):
                if bounds := found[f"interaction/d/a+b/{way}{suffix}"].ci95:
                    covered.setdefault(f"{way}{suffix}", []).append(bounds[0] - 1e-6 <= value <= bounds[1] + 1e-6)
    assert all(len(each) > tries / 2 for each in covered.values())
    return {name: mean(each) for name, each in covered.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PLANTED if name != "one"])  # always 0, without an interval
def test_coverage_is_93_percent(name):
    assert min(coverage(name, 400).values()) >= 0.93
