"""Annotated rows and counterfactual tables on models whose answers can be told beforehand."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from heedful.callbacks import Challenge, CounterfactualTables, Evidence, Nothing, Setting, TableRows
from heedful.cli import command
from heedful.datamodules import Planted
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.lightning_modules import Seq2Seq
from heedful.records import DataError, HeedfulError, MetricName, ModelError, RunError, SettingError
from heedful.records.rows import contents, save_rows
from heedful.records.storage.results import write_results
from heedful.reports.inoculation import compare

from infotabs_files import PAIRS, C, E, N, module, write_infotabs
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


def test_eight_cells_are_refused_where_the_other_rows_do_not_fit(folder):
    paths = [str(folder / "flips")]
    reads = measure(reads_the_rows, module(folder), CounterfactualTables(paths))
    with refused(RunError, f"hypothesis_only {folder / 'full'}", "reads the table", "flips/"):
        CounterfactualTables(paths, str(written(reads, folder / "full"))).plan(Setting(module(folder)))
    partial = measure(reads_the_hypothesis, module(folder, partial="hypothesis"), CounterfactualTables(paths))
    rows, meta = partial.rows["counterfactual_tables"]
    few = meta["counts"] | {"examples": meta["counts"]["examples"] - 1}
    partial.rows["counterfactual_tables"] = rows.slice(2), meta | {"counts": few}
    with refused(RunError, f"hypothesis_only {folder / 'partial'}", "was not predicted", "flips/"):
        CounterfactualTables(paths, str(written(partial, folder / "partial"))).plan(Setting(module(folder)))


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


def test_inoculation_is_refused_where_examples_are_not_the_same(folder):
    sets = [str(folder / "flips")]
    engines = {}
    for name, rule in {"before": reads_the_hypothesis, "after": reads_the_rows}.items():
        engines[name] = measure(rule, module(folder), CounterfactualTables(sets), Challenge())
    before = written(engines["before"], folder / "before")
    assert compare(before, written(engines["after"], folder / "after"))
    with refused(RunError, folder / "after" / ".." / "before"):
        compare(before, folder / "after" / ".." / "before")
    changed_base(engines["after"], "accuracy", content="0" * 16)
    with refused(RunError, "1 of 7 "):
        compare(before, written(engines["after"], folder / "after"))
    engines["after"].rows["accuracy"] = engines["before"].rows["accuracy"]
    engines["after"].rows["challenge"][1]["manifest"] = "other"
    with refused(RunError, "challenge", folder / "after", "different changes"):
        compare(before, written(engines["after"], folder / "after"))


def test_a_partial_run_and_a_full_one_agree_on_the_content_of_their_examples(folder):
    engines = [measure(reads_the_hypothesis, module(folder, partial=partial)) for partial in (None, "hypothesis")]
    found = [contents(engine.rows["accuracy"][0]) for engine in engines]
    assert found[0] == found[1]
    assert {len(content) for content in found[0].values()} == {16}
    assert len(set(found[0].values())) == len(PAIRS)


def test_names_do_not_depend_on_the_data_that_are_evaluated_beside(folder):
    alone = module(folder)
    alone.name = "evidence"  # as where nothing else is evaluated
    names = [
        set(measure(reads_the_rows, data, Evidence(str(folder / "relevant.csv")))) for data in (module(folder), alone)
    ]
    evidence = [{name for name in found if name.split("/")[0] not in ("accuracy", "loss", "null")} for found in names]
    assert evidence[0] == evidence[1]
    titles = {e.title for e in (Evidence("a/b.csv"), Evidence("a/c.csv"), Evidence("a/b.csv", "dev"))}
    assert titles == {"evidence-b-train", "evidence-c-train", "evidence-b-dev"}
    assert CounterfactualTables([str(folder / "flips")]).title == "counterfactual_tables-flips"


def test_the_outcome_of_each_split_rests_on_the_seed_of_the_rows(folder):
    several = {"splits": {"train": "train", "validation": ["dev", "alpha1"]}, "seed": 3}
    runs = {"before": reads_the_hypothesis, "after": reads_the_rows}
    found = {name: measure(rule, module(folder, **several), Challenge()) for name, rule in runs.items()}
    before, after = (written(engine, folder / name) for name, engine in found.items())
    compared = compare(before, after)
    assert {test.split for test in compared} == {"dev", "alpha1"}
    for test, measured in compared.items():
        what = {"perturb": "hypotheses", "title": "titles"}[test.family]
        shown = f"challenge/infotabs/{what}/split={test.split}/{test.kind}"
        for time, engine in found.items():
            in_report = measured[MetricName("inoculation", str(test), "challenge", time)]
            assert (in_report.value, in_report.n) == (engine[shown].value, engine[shown].n)
        assert measured[MetricName("inoculation", str(test), "original", "after")].n == len(PAIRS)
    other = written(measure(reads_the_rows, module(folder, **several | {"seed": 4}), Challenge()), folder / "other")
    with refused(RunError, "3 and 4"):
        compare(before, other)


def test_the_outcome_of_inoculation_is_printed(folder, capsys):
    sets = [str(folder / "flips")]
    runs = {"before": reads_the_hypothesis, "after": reads_the_rows}
    before, after = (
        written(measure(rule, module(folder), CounterfactualTables(sets)), folder / name) for name, rule in runs.items()
    )
    (test, found), *others = compare(before, after).items()
    assert (test.source, test.kind, others) == (
        "counterfactuals-flips",
        "flipped",
        [],
    )  # no title stands in a hypothesis
    right = sum(reads_the_hypothesis(None, h) == LABELS["ENC".index(label)] for _, h, label, _ in PAIRS)
    assert found[MetricName("inoculation", str(test), "original", "before")].value == right / 7
    assert found[MetricName("inoculation", str(test), "original", "after")].value == 1
    assert found[MetricName("inoculation", str(test), "challenge", "after")].value == 1
    command.main(["compare", "--inoculation", str(before), str(after)])
    printed = capsys.readouterr().out
    assert "challenge: counterfactuals-flips, annotated, label flipped" in printed
    assert max(map(len, printed.splitlines())) <= max(80, len(f"before: {before}"))


def test_a_model_that_writes_the_label_takes_every_probe(folder, tiny_t5):
    probes = [Evidence(str(folder / "relevant.csv")), CounterfactualTables([str(folder / "flips")])]
    engine = measure(Seq2Seq(str(tiny_t5)), module(folder), *probes, TableRows(), Challenge())
    kinds = {name.split("/")[0] for name in engine}
    assert kinds >= {"accuracy", "challenge", "evidence", "transitions"}
    assert engine.content["counts"]["evidence/pairs"] == 5
    assert values(engine, "challenge/counterfactuals-")["flips/flipped"][1] == 3
    assert values(engine, "challenge/infotabs/")["hypotheses/original"][1] > 0


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


def test_counterfactual_tables_are_for_three_labels(folder):
    data = module(folder, default_label=None, **OTHER_LABELS)
    with refused(DataError, "paths", "entailment, neutral, contradiction", "entailment, other"):
        CounterfactualTables([str(folder / "flips")]).plan(Setting(data))


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
