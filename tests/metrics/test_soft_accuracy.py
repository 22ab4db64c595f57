"""Soft accuracy, its majority, its breakdown and its flag, against plain loops and all choices of signs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.accuracy import CONSTANT, METRIC, noise
from heedful.metrics.answers import majority_flags
from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.naive_partial import naive_partial
from heedful.metrics.statistics.majority import above_zero
from heedful.records import MANY, SOFT, Context

from made_rows import by_text
from tiers import costly

attentiveness, naive_partial, noise, score = map(by_text, (attentiveness, naive_partial, noise, METRIC.score))
NAMES = ("yes", "no", "2")
worths = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.3, 0.6, 0.9, 1.0]), min_size=1)
cases = st.lists(st.tuples(worths, st.sampled_from(NAMES), st.integers(0, 4)), min_size=1, max_size=25)


def rows_with(
    rows_of: object, found: Sequence[tuple[Mapping[str, float], str, int]], **slices: Sequence[str]
) -> pa.Table:
    """Base rows of (gold, answer, picture), without probabilities."""
    base = {f"u{i:03}": (json.dumps(gold, sort_keys=True), y) for i, (gold, y, _) in enumerate(found)}
    rows = rows_of(base)
    pictures = pa.array([f"picture {picture}" for _, _, picture in found], pa.string())
    rows = rows.set_column(rows.column_names.index("group"), "group", pictures)
    made = [[f"{name}={values[i]}" for name, values in slices.items()] for i in range(len(found))]
    return rows.set_column(rows.column_names.index("slices"), "slices", pa.array(made, pa.list_(pa.string())))


def soft_accuracy(rows, slices=(), seed=0):
    """Accuracy alone, without the flag of a model that always says the same."""
    found = score(rows, Context("d", seed, SOFT, slices=tuple(slices)))
    of_all = found["accuracy/d"]
    plain = tuple(flag for flag in of_all.flags if flag != CONSTANT)
    return {name: m for name, m in found.items() if "null" not in name} | {"accuracy/d": replace(of_all, flags=plain)}


def soft_flags(rows, seed=0):
    return majority_flags(rows, SOFT, seed)


@costly
@given(cases)
def test_equals_the_reference(rows_of, found):
    types = ["yes/no" if set(gold) <= {"yes", "no"} else "number" for gold, _, _ in found]
    m = soft_accuracy(rows_with(rows_of, found, answer_type=types), slices=["answer_type"])
    values = [gold.get(y, 0.0) for gold, y, _ in found]
    assert m["accuracy/d"].value == pytest.approx(sum(values) / len(values), abs=1e-12)
    assert m["accuracy/d"].n == len(found)
    assert m["accuracy/d"].ci95[0] - 1e-12 <= m["accuracy/d"].value <= m["accuracy/d"].ci95[1] + 1e-12
    totals = {name: sum(gold.get(name, 0.0) for gold, _, _ in found) for name in NAMES}
    assert m["accuracy/d/majority"].value == pytest.approx(max(totals.values()) / len(found), abs=1e-9)
    expected = {"accuracy/d", "accuracy/d/majority"}
    for kind, shown in (("yes/no", "yes-no"), ("number", "number")):
        of = [value for value, type_ in zip(values, types, strict=True) if type_ == kind]
        if of:
            expected.add(f"accuracy/d/answer_type={shown}")
            assert m[f"accuracy/d/answer_type={shown}"].value == pytest.approx(sum(of) / len(of), abs=1e-12)
            assert m[f"accuracy/d/answer_type={shown}"].n == len(of)
    assert set(m) == expected


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
def test_the_flag_is_the_test_over_all_choices_of_signs(tenths):
    differences = [k / 10 for k in tenths]
    signs = list(product([1, -1], repeat=len(differences)))
    sums = [sum(s * abs(d) for s, d in zip(row, differences, strict=True)) for row in signs]
    exact = np.mean([total >= sum(differences) - 1e-9 for total in sums])
    assert above_zero(differences, (0,)) == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 10_000))


def test_a_model_above_and_one_not_above_the_best_answer(rows_of):
    right = [({"yes": 1.0}, "yes", i) if i % 2 else ({"no": 0.6, "yes": 0.3}, "no", i) for i in range(40)]
    assert soft_flags(rows_with(rows_of, right)) == ()
    always = [(gold, "yes", i) for gold, _, i in right]
    assert soft_flags(rows_with(rows_of, always)) == ("not_above_majority",)
    assert soft_flags(rows_with(rows_of, right[:3])) == ("not_above_majority",)  # three examples show nothing
    one_picture = [(gold, y, 0) for gold, y, _ in right]
    assert soft_flags(rows_with(rows_of, one_picture)) == ("not_above_majority",)  # nor does one picture
    assert soft_accuracy(rows_with(rows_of, always))["accuracy/d"].flags == ("not_above_majority",)


def without_probabilities(rows):
    """The rows of a task of the kind "soft"."""
    for name in ("p", "p2"):
        nulls = pa.nulls(rows.num_rows, rows.schema.field(name).type)
        rows = rows.set_column(rows.column_names.index(name), name, nulls)
    return rows


def test_other_metrics_do_without_probabilities(rows_of):
    base = {f"u{i}": (json.dumps({"yes": 0.6}), "yes" if i % 2 else "no") for i in range(20)}
    null = [{"uid": uid, "intervention": "null", "part": "", "draw": -1, "y2": y} for uid, (_, y) in base.items()]
    swap = [{"uid": uid, "part": "image", "y2": "yes"} for uid in base]
    keep = [{"uid": u, "intervention": "keep", "variant": "image", "draw": -1, "y2": "yes"} for u in base]
    rows = without_probabilities(rows_of(base, [*null, *swap, *keep]))
    assert {name: m.value for name, m in noise(rows, Context("d")).items()} == {"null/d/flips": 0}
    own = {"swap": ["image"]}
    labels = [f"answer {i}" for i in range(MANY - 1)] + ["yes", "no"]
    found = attentiveness(rows, "image", Context("d", kind=SOFT, labels=tuple(labels), own=own), flags=("f",))
    assert set(found) == {"attentiveness/d/image", "attentiveness/d/image/eligible"}
    assert found["attentiveness/d/image"].value == 0.5
    fewer = Context("d", kind=SOFT, labels=tuple(labels[1:]), own=own)
    assert found["attentiveness/d/image"].flags == ("f",)
    assert "attentiveness/d/image/from_yes" in attentiveness(rows, "image", fewer, flags=())
    alone = naive_partial(rows, "image", Context("d", kind=SOFT))
    assert alone["naive_partial/d/image/accuracy"].value == pytest.approx(0.6)
    assert alone["naive_partial/d/image"].value == 0.5
