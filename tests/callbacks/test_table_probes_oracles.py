"""Annotated rows and counterfactual tables on models whose answers can be told beforehand."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from heedful.callbacks import CounterfactualTables, Evidence, Nothing, Setting
from heedful.datamodules import Planted
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.records import DataError, HeedfulError, ModelError, RunError, SettingError
from heedful.records.rows import save_rows
from heedful.records.storage.results import write_results

from infotabs_files import C, E, N, module, write_infotabs
from oracles import measure
from refusals import refused

OTHER_LABELS = {"labels": {E: ["E"], "other": ["N", "C"]}}


def reads_the_rows(table: Any, hypothesis: str) -> str:
    """Looks up all the keys that the hypothesis names."""
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


def test_a_model_that_reads_the_rows_uses_the_evidence_and_nothing_else(folder):
    engine = measure(reads_the_rows, module(folder), Evidence(str(folder / "relevant.csv")))
    found = values(engine, "evidence/infotabs/")
    assert found["precision"] == found["macro_precision"] == (1, 5)
    assert found["recall"] == found["all"] == found["exact"] == found["correct"] == (1, 5)
    assert found["partial"] == found["none"] == found["ignored"] == (0, 5)
    assert engine.content["counts"]["evidence/left_out"] == {
        "neutral": 1,
        "no relevant row": 1,
        "relevant rows and none": 0,
    }
    assert (engine.content["counts"]["evidence/pairs"], engine.content["counts"]["evidence/tables"]) == (5, 3)
    moved = values(engine, "transitions/infotabs-evidence/")
    assert moved["delete_relevant/invalid/from_entailment"] == (0, 4)
    assert moved["delete_relevant/invalid/from_contradiction"] == (0, 2)
    assert moved["delete_irrelevant/invalid/from_entailment"] == (0, 4)
    assert not any(name.startswith("delete/") for name in moved)  # their relevance is known


def test_a_model_that_reads_one_row_of_two_uses_part_of_the_evidence(folder):
    engine = measure(reads_the_first_row, module(folder), Evidence(str(folder / "relevant.csv")))
    found = values(engine, "evidence/infotabs/")
    assert (found["precision"], found["recall"]) == ((1, 5), (5 / 6, 5))
    assert (found["all"], found["partial"]) == ((4 / 5, 5), (1 / 5, 5))


def test_a_model_that_reads_the_hypothesis_uses_none(folder):
    engine = measure(reads_the_hypothesis, module(folder), Evidence(str(folder / "relevant.csv")))
    found = values(engine, "evidence/infotabs/")
    assert found["precision"][0] is None
    assert found["recall"] == (0, 5)
    assert found["ignored"] == found["none"] == found["ignored_of_none"] == (1, 5)


def test_counterfactual_tables_are_followed_by_who_reads_them(folder):
    paths = [str(folder / "flips")]
    found = values(measure(reads_the_rows, module(folder), CounterfactualTables(paths)), "challenge/counterfactuals-")
    assert found["flips/original"] == found["flips/flipped"] == (1, 3)
    engine = measure(reads_the_hypothesis, module(folder, partial="hypothesis"), CounterfactualTables(paths))
    found = values(engine, "challenge/counterfactuals-")
    right = {h: reads_the_hypothesis(None, h) for h in ("Genre: pop", "Genre: folk", "Year: 2000")}
    was = sum(right[h] == label for h, label in (("Genre: pop", E), ("Genre: folk", C), ("Year: 2000", C)))
    becomes = sum(right[h] == label for h, label in (("Genre: pop", C), ("Genre: folk", E), ("Year: 2000", E)))
    assert (found["flips/original"], found["flips/flipped"]) == ((was / 3, 3), (becomes / 3, 3))
    assert engine.content["counts"]["counterfactual_tables/flips"]["flipped"] == 3


@pytest.mark.parametrize(
    "parts", [{"claim": "hypothesis", "grid": "premise"}, {"table": "premise", "claim": "hypothesis"}]
)
def test_probes_find_the_table_whatever_it_is_called(folder, parts):
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


def written(engine: Any, folder: Path) -> Path:
    write_results(folder, engine.content, engine.rows)
    return folder


def test_eight_cells_need_the_rows_of_a_model_of_the_hypothesis(folder):
    paths = [str(folder / "flips")]
    with refused(RunError, f"hypothesis_only {folder}", "counterfactual_tables", "paths"):
        CounterfactualTables(paths, str(folder))
    partial = measure(reads_the_hypothesis, module(folder, partial="hypothesis"), CounterfactualTables(paths))
    evaluation = CounterfactualTables(paths, str(written(partial, folder / "partial")))
    found = values(
        measure(reads_the_rows, module(folder), evaluation), "challenge/counterfactuals-flips/flipped/cells/"
    )
    assert len(found) == 8
    assert sum(value for value, _ in found.values()) == pytest.approx(1)
    assert found["right_right_right"][0] + found["right_right_wrong"][0] == pytest.approx(1)


def changed_base(engine: Any, evaluation: str, **columns: Any) -> None:
    """Replace values of the first base row of an evaluation, as if other examples had been evaluated."""
    rows, meta = engine.rows[evaluation]
    entries = rows.to_pylist()
    next(entry for entry in entries if entry["intervention"] == "base").update(columns)
    engine.rows[evaluation] = pa.Table.from_pylist(entries, rows.schema), meta


def test_eight_cells_are_refused_where_the_other_rows_are_about_other_examples(folder):
    paths = [str(folder / "flips")]
    partial = measure(reads_the_hypothesis, module(folder, partial="hypothesis"), CounterfactualTables(paths))
    changed_base(partial, "counterfactual_tables", content="0" * 16)
    other = str(written(partial, folder / "other"))
    with refused(RunError, f"hypothesis_only {other}", "other examples", "1 of "):
        CounterfactualTables(paths, other).plan(Setting(module(folder)))
    partial = measure(reads_the_hypothesis, module(folder, partial="hypothesis", seed=4), CounterfactualTables(paths))
    with refused(RunError, f"hypothesis_only {folder / 'seed'}", "seed 4", " 0", "seed_everything"):
        CounterfactualTables(paths, str(written(partial, folder / "seed"))).plan(Setting(module(folder)))
    save_rows(folder / "seed" / "rows" / "counterfactual_tables.parquet", *partial.rows["counterfactual_tables"])
    (folder / "other" / "rows" / "counterfactual_tables.parquet").write_bytes(b"")
    with refused(RunError, f"hypothesis_only {other}", "counterfactual_tables.parquet"):
        CounterfactualTables(paths, other)


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"partial": "hypothesis"}, ModelError, ["the hypothesis alone"]),
        ({"partial": "premise"}, ModelError, ["the premise alone"]),
        (OTHER_LABELS, DataError, ["entailment, neutral, contradiction", "entailment, other"]),
    ],
)
def test_evidence_is_not_for_every_model(folder, settings, error: type[HeedfulError], facts):
    data = module(folder, **{"default_label": None} | settings)
    with refused(error, f"path {folder / 'relevant.csv'}", *facts):
        Evidence(str(folder / "relevant.csv")).plan(Setting(data))


def test_annotations_mark_some_row(folder):
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
