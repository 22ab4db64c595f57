"""Rows are what the engine writes: each value that it cannot have written is refused, with the file and the row."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from heedful.metrics.attributions.attribution import SCHEMA as WORDS
from heedful.records import NO_LABEL, SOFT, SPAN, Context, RunError
from heedful.records.storage.schema import SCHEMA
from heedful.records.storage.sound_rows import require_sound, require_together

from made_rows import make
from refusals import refused
from written_results import about

LABELS = ("no", "maybe", "yes")
CONTEXT = Context("d", labels=LABELS, default_label="no")
BASE = {"u0": ("yes", "yes"), "u1": ("no", "yes"), "u2": ("maybe", NO_LABEL)}
SWAPS = [{"uid": uid, "draw": d, "y2": y2} for uid in ("u0", "u1") for d, y2 in enumerate(("no", "yes"))]
LAST = 6  # the row of u2, which is its base row alone


def rows(**changed) -> pa.Table:
    """Base rows of three examples, two of them with two swaps: u0 is rows 0 to 2, u1 3 to 5."""
    return make(BASE, SWAPS, **changed)


def metadata(table: pa.Table, context: Context = CONTEXT, **others) -> dict:
    return about(table, context) | {"written": SCHEMA} | others


def edited(table: pa.Table, name: str, values: dict[int, object]) -> pa.Table:
    """The same with other values in some rows."""
    column = table[name].to_pylist()
    for row, value in values.items():
        column[row] = value
    place = table.schema.get_field_index(name)
    return table.set_column(place, name, pa.array(column, table.schema.field(name).type))


def test_rows_as_the_engine_writes_them_are_sound():
    require_sound(rows(), metadata(rows()), "f")
    likely = make({"u": ("yes", "no")}, [{"uid": "u", "y2": "yes"}], likely=LABELS)
    require_sound(likely, metadata(likely, most_probable=True), "f")
    nothing = rows().slice(0, 0)
    require_sound(nothing, metadata(nothing), "f")


P = [0.2, 0.3, 0.5]
EDITS = [
    ("uid", {0: None}, 1, "'uid'"),
    ("draw", {1: None}, 2, "'draw'"),
    ("draw", {0: 3}, 1, "base"),
    ("y", {0: None}, 1, "'y'"),
    ("y", {0: "yess"}, 1, "'y'", "no, maybe, yes"),
    ("y", {0: "no"}, 2, "'y'"),
    ("y", {3: "no", 4: "no"}, 6, "'y'"),
    ("y2", {1: None, 2: None}, 2, "'y2'", " 1 more "),
    ("y2", {0: "yes"}, 1, "'y2'", "base"),
    ("y2", {5: "?"}, 6, "'y2'", "no, maybe, yes"),
    ("gold", {LAST: None}, 7, "gold"),
    ("gold", dict.fromkeys(range(LAST + 1)), 1, "gold", " 2 more "),
    ("gold", {LAST: "y"}, 7, "'gold'", "no, maybe, yes"),
    ("group", {1: "g"}, 2, "'group'"),
    ("intervention", {0: "swap"}, 1, "base"),
    ("intervention", {1: "base"}, 1, "base"),
    ("p", {1: None}, 2, "'p'"),
    ("p2", {1: None}, 2, "'p2'"),
    ("p2", {0: P}, 1, "'p2'"),
    ("p2", {2: [0.2, 0.3, 0.6]}, 3, "'p2'", "sum"),
    ("p2", {2: [-0.5, 0.5, 1.0]}, 3, "'p2'", "sum"),
    ("p2", {2: [float("nan"), 0.5, 0.5]}, 3, "'p2'", "sum"),
    ("p2", {2: [float("inf"), 0.5, 0.5]}, 3, "'p2'", "sum"),
    ("p", {4: P}, 5, "'p'", "base"),
]


@pytest.mark.parametrize(("name", "values", "row", "facts"), [(*edit[:3], edit[3:]) for edit in EDITS])
def test_a_value_that_was_not_written_is_refused_with_its_row(name, values, row, facts):
    wrong = edited(rows(), name, values)
    with refused(RunError, f"f.parquet, row {row} (", *facts):
        require_sound(wrong, metadata(rows()), "f.parquet")


def test_the_label_of_a_base_row_must_be_that_of_its_example_in_every_row():
    """Answers that become gold in base rows alone, or everywhere while probabilities stay."""
    table = make(BASE | {"u2": ("maybe", "no")}, SWAPS, likely=LABELS)
    honest = metadata(table, most_probable=True)
    everywhere = edited(table, "y", dict.fromkeys(range(3, 6), "no") | {LAST: "maybe"})
    with refused(RunError, "row 4 (u1)", " 3 more ", "'y'"):
        require_sound(everywhere, honest, "f")
    require_sound(everywhere, honest | {"most_probable": False}, "f")  # a model that writes may answer otherwise
    with refused(RunError, "row 3 (u0)", "'y2'"):
        require_sound(edited(table, "y2", {2: "no"}), honest, "f")


RUN = {"data": "d", "seed": 0}
COUNTS = [
    ({"run": RUN | {"counts": {"examples": 4}}}, "'examples'", 4, 3),
    ({"run": RUN | {"counts": {}}}, "'examples'", None, 3),
    ({"run": RUN}, "'examples'", None, 3),
    ({"counts": {"no_label": 1}}, "'no_label'", 1, 0),
    ({"counts": {"examples": 2}}, "'examples'", 2, 3),
]


@pytest.mark.parametrize(("others", "name", "told", "there"), COUNTS)
def test_examples_are_as_many_as_were_counted(others, name, told, there):
    with refused(RunError, "f ", name, f" {told} ", f" {there} "):
        require_sound(rows(), metadata(rows(), **others), "f")


def test_a_half_of_the_examples_is_refused():
    with refused(RunError, "'examples'", " 3 ", " 1 "):
        require_sound(rows().slice(0, 3), metadata(rows()), "f")


@pytest.mark.parametrize("key", ["data", "seed", "manifest", "run", "context", "counts", "most_probable"])
def test_what_the_metadata_must_say_is_demanded(key):
    for value in (None, 1.5):
        with refused(RunError, "f ", f"'{key}'"):
            require_sound(rows(), metadata(rows()) | {key: value}, "f")


def test_rows_are_of_one_data_set_and_seed():
    for name, value in (("data", "e"), ("seed", 1)):
        said = metadata(rows())
        for other in ({name: value}, *({of: said[of] | {name: value}} for of in ("run", "context"))):
            with refused(RunError, "f ", f"'{name}'"):
                require_sound(rows(), said | other, "f")


@pytest.mark.parametrize("context", [{}, {"kind": "x"}, {"kind": "soft", "colour": 1}, {"kind": "classification"}])
def test_a_context_that_is_none_is_refused(context):
    with refused(RunError, "f ", "'context'"):
        require_sound(rows(), metadata(rows()) | {"context": context}, "f")


def test_an_earlier_schema_need_not_say_whether_answers_are_the_most_probable():
    of_before = {k: v for k, v in metadata(rows(), written=6).items() if k != "most_probable"}
    require_sound(rows(), of_before, "f")


def test_a_column_of_another_type_is_refused():
    two = replace(CONTEXT, labels=LABELS[:2])
    with refused(RunError, "f ", "'p'", "[2]", "2 labels"):
        require_sound(rows(), metadata(rows(), two), "f")
    table = rows()
    wide = table.set_column(table.schema.get_field_index("draw"), "draw", table["draw"].cast(pa.int64()))
    with refused(RunError, "f ", "'draw'", "int16"):
        require_sound(wide, metadata(rows()), "f")


def test_text_that_is_not_utf_8_is_refused():
    table = rows()
    broken = pa.array([b"\xff\xfe"] + [b""] * LAST, pa.binary()).view(pa.string())
    wrong = table.set_column(table.schema.get_field_index("partner"), "partner", broken)
    with refused(RunError, "f ", "UTF"):
        require_sound(wrong, metadata(rows()), "f")


@pytest.mark.parametrize(
    ("kind", "gold", "wrong"),
    [(SOFT, '{"no": 1}', '["no"]'), (SOFT, '{"no": 1}', "{"), (SPAN, '["x"]', "x"), (SPAN, "[]", '{"x": 1}')],
)
def test_gold_is_of_the_kind_of_the_task(kind, gold, wrong):
    context = Context("d", kind=kind, labels=LABELS if kind is SOFT else ())
    table = make({"u": (gold, "no")}, [{"uid": "u", "y2": "yes"}], labels=1)
    require_sound(table, metadata(table, context), "f")
    with refused(RunError, "row 1 ", "'gold'", kind.name):
        require_sound(edited(table, "gold", {0: wrong}), metadata(table, context), "f")


def test_examples_of_other_data_may_have_other_gold_labels():
    require_sound(rows(), metadata(rows(), counts={"examples": {"candidates": 3}, "no_label": 0}), "f")  # a part
    table = edited(rows(), "gold", dict.fromkeys(range(LAST + 1), "not-entailment"))
    require_sound(table, metadata(table, counts={"examples": 3, "no_label": 1}), "f")


def together(first: pa.Table, second: pa.Table, **others) -> None:
    evaluated = {"a": (first, metadata(rows())), "b": (second, metadata(rows(), **others))}
    require_together(evaluated, {"a": "a.parquet", "b": "b.parquet"})


def test_base_rows_of_one_run_are_the_same_in_every_file():
    together(rows(), make(BASE))
    for name, value in (("y", "maybe"), ("gold", "maybe"), ("content", "x"), ("group", "g"), ("p", P)):
        with refused(RunError, "a.parquet and b.parquet", "u1", f"'{name}'"):
            together(rows(), edited(make(BASE), name, {1: value}))
    with refused(RunError, "a.parquet and b.parquet", "'uid'"):
        together(rows(), make(BASE).slice(0, 2))
    with refused(RunError, "b.parquet and a.parquet"):
        together(rows(), make(BASE), run={"data": "e"})


def words(**changed) -> pa.Table:
    """Two words of one example, as inquiries write them."""
    one = {"uid": "u1", "group": None, "content": "", "intervention": "shap", "part": "premise", "variant": ""}
    one |= {"word": "w", "gold": "no", "y": "yes", "version": 1, "masks": 4, "phi": 0.1, "error": None}
    one |= {"full": 0.9, "nothing": 0.5, "delta": 0.0, "slices": []}
    return pa.Table.from_pylist([one | {"draw": 0}, one | {"draw": 1} | changed], schema=WORDS)


def test_words_are_of_labels_and_numbers():
    require_sound(words(), metadata(words()), "f")
    for name, value in {"y": "x", "gold": "x", "phi": np.inf, "full": None}.items():
        with refused(RunError, "f, row 2 ", f"'{name}'"):
            require_sound(words(**{name: value}), metadata(words()), "f")


def test_words_are_of_examples_that_were_predicted():
    table = make(BASE)
    together(table, words())
    for changed in ({"gold": "yes"}, {"content": "x"}):
        with refused(RunError, "b.parquet and a.parquet", "u1"):
            together(table, words(**changed))
    with refused(RunError, "b.parquet and a.parquet", "u9"):
        together(table, words(uid="u9"))
