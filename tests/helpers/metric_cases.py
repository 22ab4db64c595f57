"""Rows and contexts of all metrics, for tests of their common properties."""

import json
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from heedful.metrics.attributions.attribution import SCHEMA
from heedful.metrics.tables.challenge import perturbations
from heedful.records import CLASSIFICATION, SOFT, SPAN, Context

from made_rows import make
from natural_logic_rows import base_row, pair_row, table

LABELS = ("entailment", "neutral", "contradiction")


def swaps(answers: dict[str, str], after: list[str], kind=CLASSIFICATION, **own) -> tuple[pa.Table, Context]:
    expects = dict.fromkeys("ab", "stays")  # in default_label, and of parts that own does not name
    expects |= {} if "siblings" in own else dict(own.get("swap", ()))
    base = {uid: ("[]" if kind is SPAN else "neutral", y) for uid, y in answers.items()}
    changed = [
        {"uid": uid, "draw": d, "y2": y2, "part": part, "expects": expects[part]}
        for uid in base
        for d, y2 in enumerate(after)
        for part in "ab"
    ]
    changed += [{"uid": uid, "intervention": "null", "part": "", "draw": -1, "y2": y} for uid, y in answers.items()]
    changed += [
        {"uid": uid, "intervention": "keep", "variant": side, "part": "", "draw": -1, "y2": after[0]}
        for uid in base
        for side in "ab"
    ]
    default = None if kind is SPAN else "neutral"
    return make(base, changed), Context("d", 0, kind, ("a", "b"), LABELS, default, own=own)


def classified(**own):
    answers = {"u0": "entailment", "u1": "neutral", "u2": "(no label)", "u3": "contradiction", "u4": "neutral"}
    return swaps(answers, ["neutral", "contradiction"], **own)


def answered(**own):
    return swaps({"u0": "x", "u1": "", "u2": "y"}, ["", "y"], SPAN, **own)


def tables() -> tuple[pa.Table, Context]:
    edits = [
        {"uid": f"u{i}", "intervention": name, "part": "table", "variant": str(k), "draw": -1, "y2": LABELS[k],
         "expects": f"transitions/{name}/unknown", "clusters": [f"u{i}", f"table {i % 2}"]}
        for i in range(6) for k in range(3) for name in ("delete", "insert")
    ]  # fmt: skip
    edits[0]["y2"] = "(no label)"
    base = {f"u{i}": ("neutral", LABELS[i % 3]) for i in range(6)}
    return make(base, edits), Context("d", own={"operations": ["delete", "insert"]})


def challenged() -> tuple[pa.Table, Context]:
    golds = ("entailment", "contradiction")
    changed = [
        {"uid": f"u{i}", "intervention": name, "part": "hypothesis", "variant": str(k), "draw": -1,
         "gold2": LABELS[(i + k) % 3], "y2": LABELS[k], "clusters": [f"u{i}", f"table {i % 2}"]}
        for i in range(6) for k in range(3) for name in (*perturbations(["numbers"]), "other")
    ]  # fmt: skip
    changed += [
        {
            "uid": f"u{i}",
            "intervention": "title",
            "gold2": golds[i % 2],
            "y2": golds[0],
            "clusters": [f"u{i}", "table t"],
        }
        for i in range(4)
    ]
    base = {f"u{i}": (golds[i % 2] if i < 5 else "neutral", LABELS[i % 3]) for i in range(6)}
    return make(base, changed), Context("d", own={"kinds": ["numbers"], "title": True})


def of_sets() -> tuple[pa.Table, Context]:
    begin = "counterfactuals-s"
    golds = {"annotated/flipped": "contradiction", "annotated/preserved": "entailment"}
    changed = [
        {"uid": f"{begin}{s}/{i}", "intervention": name, "draw": -1, "y2": "entailment", "gold2": gold,
         "clusters": ["x", f"table {i}"]}
        for s in "ab" for i in range(3) for name, gold in golds.items()
    ]  # fmt: skip
    base = {f"{begin}{s}/{i}": ("entailment", "entailment") for s in "ab" for i in range(3)}
    return make(base, changed), Context("d", own={"sets": ["sa", "sb"], "hypothesis_only": None})


def evident() -> tuple[pa.Table, Context]:
    changed = [
        {"uid": f"u{i}", "intervention": "delete", "part": "table", "variant": key, "draw": -1,
         "y2": LABELS[(i + k) % 3], "expects": "transitions/delete/unknown", "clusters": [f"u{i}", f"table {i}"]}
        for i in range(6) for k, key in enumerate("xyz")
    ]  # fmt: skip
    changed += [
        {
            "uid": f"u{i}",
            "intervention": "values",
            "gold2": "entailment",
            "y2": "entailment",
            "clusters": [f"u{i}", "table t"],
        }
        for i in range(3)
    ]
    base = {f"u{i}": ("entailment", "contradiction" if i % 2 else "entailment") for i in range(6)}
    relevant = {f"u{i}": ["x", "y"] for i in range(5)}
    return make(base, changed), Context("d", own={"data": "e", "table": "table", "relevant": relevant})


def logical() -> tuple[pa.Table, Context]:
    labels = ("contradiction", "entailment", "neutral")
    yes, no = (0.1, 0.8, 0.1), (0.8, 0.1, 0.1)
    entries = [base_row(f"u{i}", yes, labels) for i in range(4)]
    entries += [
        pair_row(f"u{i}", which, str(k), yes, yes if (i + k) % 3 else no, labels, "entailment")
        for i in range(4) for k in range(2) for which in ("I0", "I1", "I2", "I3")
    ]  # fmt: skip
    return table(entries), Context("d", labels=labels, own={"data": "n"})


def edited() -> tuple[pa.Table, Context]:
    changed = [
        {"uid": f"u{i}", "intervention": "counterpart", "variant": f"{kind}#{k}", "draw": -1,
         "gold2": LABELS[(i + k) % 3], "y2": LABELS[(i + 2 * k) % 3], "clusters": [f"u{i}", f"s{i}"]}
        for i in range(9) for k, kind in enumerate(["tense", "order"])
    ]  # fmt: skip
    return make({f"u{i}": (LABELS[i % 3], LABELS[i * i % 3]) for i in range(9)}, changed), Context("d", labels=LABELS)


def with_slices(rows: pa.Table, *columns: tuple[str, str]) -> pa.Table:
    """The rows with slices: the number in a uid chooses the value of each column in turn."""
    numbers = [int(uid.rpartition("u")[2]) for uid in rows["uid"].to_pylist()]
    slices = [[f"{name}={values[n % len(values)]}" for name, values in columns] for n in numbers]
    return rows.set_column(rows.schema.get_field_index("slices"), "slices", pa.array(slices))


def plain(kind=CLASSIFICATION, **about):
    base = {f"u{i:02}": (LABELS[i % 3], LABELS[(i * i) % 3]) for i in range(30)}
    if kind is SOFT:
        base = {uid: ('{"no": 0.3, "yes": 1.0}', "yes" if i % 2 else "no") for i, uid in enumerate(base)}
    if kind is SPAN:
        base = {uid: ('["a b"]' if i % 2 else "[]", ("a", "a b", "")[i % 3]) for i, uid in enumerate(base)}
    null = {"intervention": "null", "part": "", "draw": -1}
    nulls = [null | {"uid": u, "y2": y if i else "neutral"} for i, (u, (_, y)) in enumerate(base.items())]
    labels, default = (LABELS, "neutral") if kind is CLASSIFICATION else ((), None)
    rows = with_slices(make(base, nulls), ("split", "ab"), ("kind", "xy/"))
    return rows, Context("d", 0, kind, ("a", "b"), labels, default, **about)


def sliced_swaps(**own):
    rows, context = swaps({f"u{i}": LABELS[i % 3] for i in range(9)}, ["neutral", "contradiction"], **own)
    return with_slices(rows, ("kind", "ab")), replace(context, slices=("kind",))


def interactions(**about):
    """Every second example has no second swap of b; one prediction is missing."""
    base = {f"u{i:02}": (LABELS[i % 3], LABELS[(i * i) % 3]) for i in range(12)}
    entries = [
        {"uid": u, "part": part, "draw": -1, "intervention": "empty"} for u in base for part in ("a", "b", "a+b")
    ]
    entries += [
        {"uid": u, "part": part, "draw": d, "variant": "a+b", "partner": f"u{(i + d + 1) % 12:02}", "expects": ""}
        for i, u in enumerate(base) for part in ("a", "b", "a+b") for d in range(2) if (i % 2, part, d) != (0, "b", 1)
    ]  # fmt: skip
    answers = ["(no label)", *(LABELS[k % 3] for k in range(1, len(entries)))]
    rows = make(base, [entry | {"y2": y2} for entry, y2 in zip(entries, answers, strict=True)])
    return with_slices(rows, ("kind", "xy")), Context("d", labels=LABELS, own={"pairs": [["a", "b"]]}, **about)


def many_labels():
    labels = tuple(f"l{i}" for i in range(8))
    base = {f"u{i}": (labels[0], labels[i % 3]) for i in range(12)}
    lent = [
        {"uid": f"u{i}", "draw": d, "y2": labels[d], "partner": f"u{(i + d + 1) % 12}"}
        for i in range(12)
        for d in range(2)
    ]
    return make(base, lent, labels=8), Context(
        "d", 0, CLASSIFICATION, ("premise",), labels, None, own={"swap": [["premise", "leaves"]]}
    )


def split_tables():
    rows, context = tables()
    expects = [
        f"transitions/{name}/{('irrelevant', 'relevant')[i % 2]}" if name != "base" else ""
        for i, name in enumerate(rows["intervention"].to_pylist())
    ]
    rows = rows.set_column(rows.schema.get_field_index("expects"), "expects", pa.array(expects))
    return with_slices(rows, ("split", "st")), replace(context, splits=("s", "t"))


def split_challenged():
    rows, context = challenged()
    return with_slices(rows, ("split", "st")), replace(context, splits=("s", "t"))


def cells():
    rows, _ = of_sets()
    alone = {uid: i % 2 == 0 for i, uid in enumerate(sorted(set(rows["uid"].to_pylist())))}
    return rows, Context("d", own={"sets": ["sb", "sa"], "hypothesis_only": alone})


def logical_slices():
    rows, context = logical()
    rows = with_slices(
        rows, ("monotonicity", ("up", "down")), ("relation", ("x", "")), ("context", "abc"), ("pair", "de")
    )
    return rows, replace(context, own={"data": "nlixy"}, counts=COUNTS)


def attributed(scale):
    about = {"group": None, "content": "", "gold": "yes", "y": "yes", "version": 1, "masks": 4, "slices": []}
    words = {"": ["[SEP]", "[SEP]"], "a": ["the", "cat", "saw", "dog"], "b": ["dog", "saw", "the", "cat"]}
    entries = [
        {"uid": f"u{i}", "intervention": method, "part": part, "variant": variant, "word": word, "draw": d,
         "phi": 0.1 * d + 0.01 * i, "error": None if method == "lime" else 0.01 * d, "full": 0.9, "nothing": 0.1,
         "delta": 0.02 * i} | about
        for i in range(5) for method in ("lime", "shap") for part in words for variant in ("", "swap a")
        for d, word in enumerate(words[part])
    ]  # fmt: skip
    context = Context("d", parts=("a", "b"), labels=("yes", "no"), own={"scale": scale}, counts={"shap_scarce": 2})
    return pa.Table.from_pylist(entries, schema=SCHEMA), context


def two_classes():
    base = {f"{data}/u{i}": (LABELS[i % 3], LABELS[(i * i + 1) % 3]) for data in ("snli", "med") for i in range(20)}
    return make(base), Context("d", labels=("contradiction", "entailment", "neutral"))


def reordered():
    """Three options, of which the answer follows the content, the position, or neither."""
    base = {f"u{i}": ("ABC"[i % 3], "ABC"[i % 2]) for i in range(12)}
    moved = {"A": "B", "B": "C", "C": "A"}
    expects = "moves/" + json.dumps({old: [new] for old, new in moved.items()})
    changed = [
        {"uid": uid, "intervention": "order", "part": "options", "draw": d, "y2": "ABC"[(i + d) % 3],
         "gold2": moved[gold], "expects": expects}
        for d in range(2) for i, (uid, (gold, _)) in enumerate(base.items())
    ]  # fmt: skip
    own = {"part": "", "perturbation": True}
    return make(base, changed), Context("d", labels=("A", "B", "C"), own=own)


COUNTS = {"split": "test"} | {
    name: {"pairs": 8, "seeds": 5, "seeds_without_match": 1, "sha256": f"of {name}"} for name in ("I0", "I1")
}
CASES: dict[str, Callable[[], tuple[pa.Table, Context]]] = {  # name of the metric, and variation
    "attentiveness": lambda: classified(swap=[["a", "leaves"], ["b", "leaves"]]),
    "attentiveness of spans": lambda: answered(swap=[["a", "leaves"], ["b", "stays"]]),
    "default_label": lambda: classified(swap=["a", "b"], siblings={}),
    "naive_partial": lambda: classified(sides=["a", "b"]),
    "order": reordered,
    "counterpart": edited,
    "interaction": lambda: interactions(slices=("kind",)),
    "table_rows": tables,
    "challenge": challenged,
    "counterfactual_tables": of_sets,
    "evidence": evident,
    "natural_logic": logical,
    "accuracy": lambda: plain(),
    "accuracy splits": lambda: plain(splits=("a", "b"), slices=("kind",), own={"asked": True}),
    "accuracy alone": lambda: plain(own={"alone": 3}),
    "accuracy soft": lambda: plain(SOFT, slices=("kind",)),
    "accuracy unlabelled": lambda: plain(unlabelled=True),
    "answers": lambda: plain(SPAN, slices=("kind",)),
    "answers unlabelled": lambda: plain(SPAN, unlabelled=True),
    "attentiveness sliced": lambda: sliced_swaps(swap=[["a", "leaves"], ["b", "stays"]]),
    "attentiveness plain": lambda: sliced_swaps(swap=[["a", "leaves"], ["b", "leaves"]]),
    "attentiveness many labels": many_labels,
    "default_label siblings": lambda: classified(swap=["a"], siblings={"b": "b"}),
    "table_rows splits": split_tables,
    "challenge splits": split_challenged,
    "challenge titles": lambda: (challenged()[0], Context("d", own={"kinds": [], "title": True})),
    "counterfactual_tables alone": cells,
    "natural_logic sliced": logical_slices,
    "attributions": lambda: attributed("probability"),
    "attributions logit": lambda: attributed("logit"),
    "two_class": two_classes,
}
