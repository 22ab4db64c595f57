"""Evidence and counterfactual tables on models with known answers."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from heedful.callbacks import CounterfactualTables, Evidence, Nothing, Setting
from heedful.datamodules import Planted
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.records import DataError, HeedfulError, ModelError, RunError, SettingError
from heedful.records.storage.results import write_results

from infotabs_files import C, E, N, module, write_infotabs
from oracles import measure
from refusals import refused

OTHER_LABELS = {"labels": {E: ["E"], "other": ["N", "C"]}}
FLIPS = (("Genre: pop", E, C), ("Genre: folk", C, E), ("Year: 2000", C, E))  # hypothesis, label, label after the edit


def reads_the_rows(table: Any, hypothesis: str) -> str:
    """Look up all keys that the hypothesis names."""
    keys, said = hypothesis.split(": ")
    found = [table.values.get(key) for key in keys.split("+")]
    if None in found:
        return N
    return E if all(set(said.split()) & set(values) for values in found) else C


def reads_the_first_row(table: Any, hypothesis: str) -> str:
    keys, said = hypothesis.split(": ")
    return reads_the_rows(table, f"{keys.split('+')[0]}: {said}")


def reads_the_hypothesis(table: Any, hypothesis: str) -> str:
    return LABELS[len(hypothesis) % 3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_infotabs(tmp_path)


def values(engine: Any, prefix: str) -> dict[str, tuple[float | None, int]]:
    return {k.removeprefix(prefix): (m.value, m.n) for k, m in engine.items() if k.startswith(prefix)}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (reads_the_rows, {"precision": 1, "recall": 1, "all": 1, "partial": 0, "none": 0, "ignored": 0}),
        (
            reads_the_first_row,
            {"precision": 1, "recall": 5 / 6, "all": 0.8, "partial": 0.2, "none": 0, "ignored": 0},
        ),
        (reads_the_hypothesis, {"precision": None, "recall": 0, "all": 0, "partial": 0, "none": 1, "ignored": 1}),
    ],
)
def test_evidence_is_used_as_far_as_a_model_reads_it(folder, rule, expected):
    engine = measure(rule, module(folder), Evidence(str(folder / "relevant.csv")))
    found = values(engine, "evidence/infotabs/")
    assert {name: found[name][0] for name in expected} == pytest.approx(expected)
    assert found["recall"][1] == 5
    counts = engine.content["counts"]
    assert counts["evidence/left_out"] == {"neutral": 1, "no relevant row": 1, "relevant rows and none": 0}
    assert (counts["evidence/pairs"], counts["evidence/tables"]) == (5, 3)
    if rule is reads_the_rows:
        assert found["macro_precision"] == found["exact"] == found["correct"] == (1, 5)
        moved = values(engine, "transitions/infotabs-evidence/")
        assert moved["delete_relevant/invalid/from_entailment"] == (0, 4)
        assert moved["delete_relevant/invalid/from_contradiction"] == (0, 2)
        assert moved["delete_irrelevant/invalid/from_entailment"] == (0, 4)
        assert not any(name.startswith("delete/") for name in moved)  # deletions are judged by relevance
    if rule is reads_the_hypothesis:
        assert found["ignored_of_none"] == (1, 5)


def test_a_model_that_reads_the_rows_follows_counterfactual_tables(folder):
    paths = [str(folder / "flips")]
    found = values(measure(reads_the_rows, module(folder), CounterfactualTables(paths)), "challenge/counterfactuals-")
    assert found["flips/original"] == found["flips/flipped"] == (1, 3)
    engine = measure(reads_the_hypothesis, module(folder, partial="hypothesis"), CounterfactualTables(paths))
    found = values(engine, "challenge/counterfactuals-")
    for name, side in (("original", 1), ("flipped", 2)):
        right = sum(reads_the_hypothesis(None, flip[0]) == flip[side] for flip in FLIPS)
        assert found[f"flips/{name}"] == (pytest.approx(right / 3), 3)
    assert engine.content["counts"]["counterfactual_tables/flips"]["flipped"] == 3


@pytest.mark.parametrize(
    "parts", [{"claim": "hypothesis", "grid": "premise"}, {"table": "premise", "claim": "hypothesis"}]
)
def test_probes_do_not_depend_on_the_names_of_the_parts(folder, parts):
    flips, evidence = CounterfactualTables([str(folder / "flips")]), Evidence(str(folder / "relevant.csv"))
    own = {"parts": parts, "template": None}
    usual, other = (measure(reads_the_rows, module(folder, **how), flips, evidence) for how in ({}, own))
    assert values(other, "") == values(usual, "")
    usual, other = (
        measure(reads_the_hypothesis, module(folder, **how), flips)
        for how in ({"partial": "hypothesis"}, {"partial": "claim"} | own)
    )
    for prefix in ("accuracy/infotabs", "challenge/"):
        assert values(other, prefix) == values(usual, prefix)


def hypothesis_only(folder: Path, name: str, **columns: Any) -> str:
    """Write the results of a model of the hypothesis alone, with other values in the first base row."""
    data = module(folder, partial="hypothesis")
    engine = measure(reads_the_hypothesis, data, CounterfactualTables([str(folder / "flips")]))
    rows, meta = engine.rows["counterfactual_tables"]
    entries = rows.to_pylist()
    next(entry for entry in entries if entry["intervention"] == "base").update(columns)
    rows = pa.Table.from_pylist(entries, rows.schema)
    write_results(folder / name, engine.content, engine.rows | {"counterfactual_tables": (rows, meta)})
    return str(folder / name)


def test_eight_cells_need_the_rows_of_a_model_of_the_hypothesis(folder):
    paths = [str(folder / "flips")]
    with refused(RunError, f"hypothesis_only {folder}", "counterfactual_tables", "paths"):
        CounterfactualTables(paths, str(folder))
    evaluation = CounterfactualTables(paths, hypothesis_only(folder, "alone"))
    engine = measure(reads_the_rows, module(folder), evaluation)
    cells = values(engine, "challenge/counterfactuals-flips/flipped/cells/")
    right = {h: reads_the_hypothesis(None, h) for h, _, _ in FLIPS}
    expected = dict.fromkeys(cells, 0)
    for hypothesis, old, _ in FLIPS:  # the model of tables is right on both sides of each pair
        expected[f"right_right_{'right' if right[hypothesis] == old else 'wrong'}"] += 1 / 3
    assert {name: value for name, (value, _) in cells.items()} == pytest.approx(expected)
    assert len(cells) == 8


@pytest.mark.parametrize(("column", "facts"), [("content", ["1 of "]), ("uid", ["in one run only"])])
def test_eight_cells_are_refused_if_the_other_rows_are_about_other_examples(folder, column, facts):
    other = hypothesis_only(folder, "other", **{column: "0" * 16})
    with refused(RunError, f"hypothesis_only {other}", "other examples", *facts):
        CounterfactualTables([str(folder / "flips")], other).plan(Setting(module(folder)))


def test_eight_cells_are_refused_if_the_other_model_reads_the_table(folder):
    paths = [str(folder / "flips")]
    engine = measure(reads_the_rows, module(folder), CounterfactualTables(paths))
    write_results(folder / "tables", engine.content, engine.rows)
    with refused(RunError, f"hypothesis_only {folder / 'tables'}", "reads the table"):
        CounterfactualTables(paths, str(folder / "tables")).plan(Setting(module(folder)))


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"partial": "hypothesis"}, ModelError, ["the hypothesis alone"]),
        ({"partial": "premise"}, ModelError, ["the premise alone"]),
        (OTHER_LABELS, DataError, ["entailment, neutral, contradiction", "entailment, other"]),
    ],
)
def test_evidence_needs_a_model_of_tables_with_the_three_labels(folder, settings, error: type[HeedfulError], facts):
    data = module(folder, **{"default_label": None} | settings)
    with refused(error, f"path {folder / 'relevant.csv'}", *facts):
        Evidence(str(folder / "relevant.csv")).plan(Setting(data))


def test_annotations_without_a_marked_row_are_refused(folder):
    annotations = folder / "none.csv"
    header, *rows = (folder / "relevant.csv").read_text().splitlines()
    annotations.write_text("\n".join([header, *(row for row in rows if ",N," in row)]))
    with refused(DataError, f"path {annotations}", "split"):
        Evidence(str(annotations)).plan(Setting(module(folder)))


def test_probes_are_about_tables(folder):
    with refused(DataError, f"path {folder / 'relevant.csv'}", "infotabs", "path DIR"):
        Evidence(str(folder / "relevant.csv")).plan(Setting(Planted(n_validation=8)))
    for evaluation in (Evidence(), CounterfactualTables()):
        assert isinstance(evaluation.plan(Setting(module(folder))), Nothing)
    again = folder / "again" / "flips"
    again.mkdir(parents=True)
    with refused(SettingError, f"paths {again}", "called flips"):
        CounterfactualTables([str(folder / "flips"), str(again)]).plan(Setting(module(folder)))
