"""results.json and rows: written together, checked together, and never taken for what they are not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from heedful.cli import command
from heedful.records import Context, MetricName, printable
from heedful.records import rows as r
from heedful.records.storage import results as run
from heedful.records.storage.schema import SCHEMA

from made_rows import make
from plain_rows import plain, table
from refusals import refused
from written_results import about

LINE = {"metric": "accuracy/d", "label": "accuracy"}
DISPLAY = {"lines": [LINE], "asides": [], "sections": {"s": {"about": ["test"], "examples": ""}}}
RESULTS = {"schema": SCHEMA, "data": "d", "split": "validation", "seed": 0, "counts": {}, "note": None}
RESULTS |= {"names": {"accuracy/d": ["accuracy", "d", "", "", ""]}, "display": DISPLAY}
MEASURED = {"value": 0.5, "n": 4, "draws": None, "std": None, "ci95": [0.25, 0.75], "per_draw": [], "flags": []}
RESULTS["metrics"] = {"accuracy/d": MEASURED | {"reason": None}}
CONTEXT = Context("d", labels=("no", "yes"))


def predicted(n: int) -> pa.Table:
    """Base rows."""
    return make({f"u{i}": ("yes", "yes") for i in range(n)}, labels=2)


META = about(predicted(3), CONTEXT)


def save(folder: Path, n: int = 3, *evaluations: str, **results) -> Path:
    rows = {name: (predicted(n), about(predicted(n), CONTEXT)) for name in evaluations or ["accuracy"]}
    run.write_results(folder, RESULTS | results, rows)
    return folder


def test_what_is_written_is_read_again(tmp_path):
    save(tmp_path / "a", 3, "accuracy", "swaps")
    found = run.read_results(tmp_path / "a")
    assert {k: v for k, v in found.items() if k not in ("rows", "written")} == RESULTS
    assert set(found["rows"]) == {"accuracy", "swaps"}
    rows, metadata = run.read_evaluation(tmp_path / "a", "swaps")
    assert rows.equals(predicted(3).replace_schema_metadata(rows.schema.metadata))
    assert metadata == {"schema": SCHEMA, "written": SCHEMA, **META}
    assert run.read_evaluation(tmp_path / "a", "null") is None


def test_rows_of_evaluations_that_did_not_run_again_are_removed(tmp_path):
    save(tmp_path, 3, "accuracy", "swaps")
    save(tmp_path, 4, "accuracy")
    assert [p.name for p in (tmp_path / "rows").iterdir()] == ["accuracy.parquet"]


@pytest.mark.parametrize("kill", ["before results.json", "before the last rows"])
def test_a_kill_between_rows_and_results_is_seen(tmp_path, kill):
    """New rows beside the old results.json, as a process leaves them that ends between two renamings."""
    save(tmp_path / "old", 3, "accuracy", "swaps")
    save(tmp_path / "new", 4, "accuracy", "swaps")
    for name in ["swaps"] if kill == "before the last rows" else ["accuracy", "swaps"]:
        os.replace(run.rows_file(tmp_path / "new", name), run.rows_file(tmp_path / "old", name))
    with refused("other-rows", ".parquet", tmp_path / "old" / "results.json"):
        run.read_results(tmp_path / "old")


def test_results_take_their_place_last(tmp_path, monkeypatch):
    save(tmp_path, 3, "accuracy", "swaps")
    order, original = [], Path.replace
    monkeypatch.setattr(Path, "replace", lambda path, to: order.append(Path(to).name) or original(path, to))
    save(tmp_path, 4, "accuracy", "swaps")
    assert sorted(order[:2]) == ["accuracy.parquet", "swaps.parquet"]
    assert order[2:] == ["results.json"]


def test_on_a_full_disk_the_old_files_stay_all_of_them(tmp_path, monkeypatch):
    save(tmp_path, 3, "accuracy", "swaps")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}

    def full(value):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run, "as_json", full)
    with refused("unwritable-file", "results.json", "No space left on device"):
        save(tmp_path, 4, "accuracy", "swaps")
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("cut", [0, 100, -1])
def test_rows_that_were_cut_or_copied_in_do_not_fit(tmp_path, cut):
    whole = run.rows_file(save(tmp_path / "a"), "accuracy")
    other = run.rows_file(save(tmp_path / "b", 4), "accuracy").read_bytes()
    for content in (whole.read_bytes()[:cut], other):
        whole.write_bytes(content)
        for read in (run.read_results, lambda folder: run.read_evaluation(folder, "accuracy")):
            with refused("other-rows", whole, tmp_path / "a" / "results.json"):
                read(tmp_path / "a")


def test_rows_that_results_do_not_name_are_not_read(tmp_path):
    save(tmp_path, 3, "accuracy")
    r.save_rows(run.rows_file(tmp_path, "swaps"), predicted(3), META)
    with refused("other-rows", "swaps.parquet", tmp_path / "results.json"):
        run.read_evaluation(tmp_path, "swaps")


@pytest.mark.parametrize("key", META)
def test_rows_that_do_not_say_what_they_are_about_are_refused(tmp_path, key):
    rows = {"accuracy": (predicted(3), {k: v for k, v in META.items() if k != key})}
    run.write_results(tmp_path, RESULTS, rows)
    with refused("damaged-rows", "accuracy.parquet", f"'{key}'"):
        run.read_evaluation(tmp_path, "accuracy")


def test_results_and_descriptions_that_were_edited_are_refused(tmp_path):
    run.write_json(save(tmp_path) / "run.json", {"schema": SCHEMA})
    run.record_results(tmp_path)
    run.read_results(tmp_path)
    results = tmp_path / "results.json"
    results.write_text(results.read_text().replace("0.5", "0.6"))
    with refused("changed-run-file", results, "run.json"):
        run.read_results(tmp_path)
    (tmp_path / "run.json").write_text("[]")
    with refused("damaged-results", tmp_path / "run.json"):
        run.read_results(tmp_path)


def test_measurements_are_found_by_their_names(tmp_path):
    found = run.named(run.read_results(save(tmp_path)))
    assert found == {MetricName("accuracy", "d"): RESULTS["metrics"]["accuracy/d"]}


def test_results_alone_can_be_read_and_missing_rows_are_named(tmp_path):
    run.rows_file(save(tmp_path), "accuracy").unlink()
    assert run.read_results(tmp_path)["data"] == "d"
    with refused("missing-rows", "accuracy.parquet"):
        run.read_evaluation(tmp_path, "accuracy")


def test_a_folder_that_was_moved_is_the_same_run(tmp_path):
    odd = tmp_path / "new name\nwith \x1b[31m é"
    save(tmp_path / "a").rename(odd)
    assert run.read_evaluation(f"{odd}/", "accuracy")[0].num_rows == 3
    (odd / "results.json").unlink()
    with refused("not-a-run", printable(str(odd))) as caught:
        run.read_results(odd)
    assert str(caught.value).isprintable()
    (odd / "run.json").write_text("{}")
    with refused("unfinished-run", printable(str(odd))):
        run.read_results(odd)


def damaged(**changes) -> dict:
    measured = {k: v for k, v in (MEASURED | {"reason": None} | changes).items() if v != "gone"}
    return {"metrics": {"accuracy/d": measured}}


FIELDS = (None, "accuracy/d", ["accuracy", "d"], ["accuracy", "d", "", "", 0], ["accuracy", "e", "", "", ""])
LINES = ({"level": "1"}, {"label": None}, {"beside": 1}, {"colour": "red"})
SECTIONS = (None, {}, {"about": "test", "examples": ""}, {"about": [1], "examples": ""}, {"about": [], "examples": 0})
CONTENTS = {
    "damaged-file": [
        ('{"schema": NaN}', "NaN"),
        ("[" * 100_000, "results.json"),
        (damaged(value=float("nan")), "NaN"),
    ],
    "other-schema": [
        ('{"format": 2}', f"4 to {SCHEMA} ", "schema 2"),
        (f'{{"schema": {SCHEMA + 1}}}', f"schema {SCHEMA + 1}", f"4 to {SCHEMA} "),
        ('{"schema": "new"}', 'schema "new"'),
        ('{"schema": true}', "schema true"),
        ('{"schema": 4.5}', "schema 4.5"),
    ],
    "damaged-results": [
        ("{}", "'schema'"),
        ("[]", "'schema'"),
        ("3", "'schema'"),
        ('{"format": 4}', "'data'"),
        ('{"schema": 6}', "'data'"),
        (damaged(value="0.5"), "'value'", "'accuracy/d'"),
        (damaged(value=True), "'value'", "'accuracy/d'"),
        (damaged(value=None), "'reason'", "'accuracy/d'"),
        (damaged(value="gone"), "'value'", "'accuracy/d'"),
        (damaged(n="gone"), "'n'", "'accuracy/d'"),
        (damaged(ci95=[0.5]), "'ci95'", "'per_draw'", "'accuracy/d'"),
        (damaged(ci95=["0", "1"]), "'ci95'", "'per_draw'", "'accuracy/d'"),
        (damaged(flags=[1]), "'flags'", "'accuracy/d'"),
        ({"metrics": {"accuracy/d": 0.5}}, "'accuracy/d'"),
        ({"metrics": {"accuracy": MEASURED}}, "'names'", "'accuracy'"),
        *(({"names": {"accuracy/d": fields}}, "'names'", "'accuracy/d'") for fields in FIELDS),
        *(({"display": DISPLAY | {"lines": [LINE | line]}}, "'display'", "{") for line in LINES),
        ({"display": DISPLAY | {"lines": ["accuracy"]}}, "'display'", '"accuracy"'),
        ({"display": DISPLAY | {"lines": [{"metric": "accuracy/d"}]}}, "'display'", "{"),
        ({"display": {}}, "'display'", "'lines'"),
        ({"display": []}, "'display'", "[]"),
        ({"display": DISPLAY | {"asides": [1]}}, "'asides'", "'display'"),
        *(({"display": DISPLAY | {"sections": {"s": section}}}, "'display'", "'s'") for section in SECTIONS),
        ({"metrics": []}, "'metrics'", "[]"),
        ({"rows": {"accuracy": 1}}, "'rows'", "'accuracy'"),
        ({"display": DISPLAY | {"lines": [LINE | {"metric": "loss/d"}]}}, "'loss/d'"),
        (damaged(value=0.8), "'ci95'", "'accuracy/d'"),
        (damaged(ci95=[0.75, 0.25]), "'ci95'", "'accuracy/d'"),
        (damaged(value=None, reason="why"), "'ci95'", "'accuracy/d'"),
        (damaged(value=1.01, ci95=[0.5, 1.1]), "'accuracy/d'"),
        (damaged(ci95=[-0.1, 0.9]), "'accuracy/d'"),
        (damaged(draws=1, per_draw=[50.0]), "'accuracy/d'"),
        (damaged(n=-1), "'n'", "'accuracy/d'"),
        (damaged(n=0), "'n'", "'accuracy/d'"),
        (damaged(n=2.5), "'n'", "'accuracy/d'"),
        (damaged(draws=2, per_draw=[0.5]), "'draws'", "'accuracy/d'"),
        (damaged(std=-0.1), "'std'", "'accuracy/d'"),
        ({"accepted_rows": False}, "'accepted_rows'", "false"),
        ({"counts": {"examples": -1}}, "'examples'", "'counts'", "-1"),
        ({"counts": {"examples": 0.5}}, "'examples'", "'counts'", "0.5"),
        ({"counts": {"tokens_kept": {"premise": [1, 2]}}}, "'tokens_kept'", "'counts'"),
        ({"counts": {"tokens_kept": 3, "examples": 1, "truncated": 1}}, "'tokens_kept'", "'counts'", "3"),
        ({"seed": "0"}, "'seed'", '"0"'),
        ({"counts": []}, "'counts'", "[]"),
    ],
}


@pytest.mark.parametrize(
    ("code", "content", "facts"), [(code, content, facts) for code, of in CONTENTS.items() for content, *facts in of]
)
def test_results_that_say_nonsense_are_one_sentence(tmp_path, code, content, facts):
    text = content if isinstance(content, str) else json.dumps(RESULTS | {"rows": {}} | content)
    (tmp_path / "results.json").write_text(text)
    with refused(code, tmp_path / "results.json", *facts) as caught:
        run.read_results(tmp_path)
    assert str(caught.value).isprintable()


def test_numbers_that_may_be_are_read(tmp_path):
    numbers = {
        MetricName("accuracy", "d", statistic="matthews"): MEASURED | {"value": -0.5, "ci95": [-1, 0.25]},
        MetricName("challenge", "d", "titles", "flipped/drop"): MEASURED | {"value": -0.5, "ci95": [-0.6, -0.4]},
        MetricName("loss", "d"): MEASURED | {"value": 87.3, "ci95": None},
        MetricName("natural_logic", "d", "context", "ratio"): MEASURED | {"value": 3.0, "ci95": [1.0, 9.0]},
        MetricName("attentiveness", "d", "premise"): MEASURED | {"draws": 2, "per_draw": [0.25, 0.75], "std": 0.35},
        MetricName("two_class", "d"): MEASURED | {"value": 1, "ci95": [1 - 1e-17, 1]},
    }
    results = RESULTS | {"metrics": {str(name): m | {"reason": None} for name, m in numbers.items()}, "rows": {}}
    results |= {"names": {str(name): list(name) for name in numbers}, "display": DISPLAY | {"lines": []}}
    results["counts"] = {"examples": 4, "truncated": 1, "tokens_kept": {"premise": [3, 4]}, "premise": {"with": 0.5}}
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert run.named(run.read_results(tmp_path)) == {name: m | {"reason": None} for name, m in numbers.items()}


def test_intervals_of_resamples_need_not_hold_their_value(tmp_path):
    for number in (6, SCHEMA):
        (tmp_path / "results.json").write_text(
            json.dumps(RESULTS | {"rows": {}} | damaged(value=0.8) | {"schema": number})
        )
        if number < SCHEMA:
            assert run.read_results(tmp_path)["written"] == number
    with refused("damaged-results", "'ci95'", "'accuracy/d'"):
        run.read_results(tmp_path)


def test_a_number_too_large_for_a_float_is_not_one(tmp_path):
    text = json.dumps(RESULTS | {"rows": {}}).replace('"value": 0.5', '"value": 1e999')
    (tmp_path / "results.json").write_text(text)
    with refused("damaged-results", "'value'", "'accuracy/d'"):
        run.read_results(tmp_path)


def test_rows_of_another_schema_are_refused_with_what_to_do(tmp_path):
    rows = plain(3).replace_schema_metadata({"heedful": json.dumps({"format": 2})})
    r.pq.write_table(rows, tmp_path / "old.parquet")
    with refused("other-schema", "old.parquet", "schema 2", f"4 to {SCHEMA}"):
        r.read_rows(tmp_path / "old.parquet")
    rows = plain(3).drop_columns(["content"]).replace_schema_metadata({"heedful": json.dumps({"schema": SCHEMA})})
    r.pq.write_table(rows, tmp_path / "cut.parquet")
    with refused("damaged-rows", "cut.parquet", "'content'"):
        r.read_rows(tmp_path / "cut.parquet")


def test_the_same_folder_by_two_names_is_one(tmp_path):
    (tmp_path / "a").mkdir()
    names = [f"{tmp_path}/a/", f"{tmp_path}/b", f"{tmp_path}/a", f"{tmp_path}/b/../a"]
    assert run.distinct(names) == names[:2]


def test_how_examples_of_two_runs_differ():
    first = {"u1": "a", "u2": "b", "u3": "c"}
    assert r.difference(first, dict(reversed(first.items()))) is None
    assert r.difference(first, first | {"u3": "x", "u2": "y"}) == ("2 of 3 have another text or label, the first is u2")
    assert r.difference(first, {"u1": "z", "u4": "d"}) == "3 are in one of them only, the first is u2"


def test_only_base_rows_have_a_content():
    rows = table([("u", "base", "", "", -1), ("u", "swap", "", "", 0)], content=["abc", ""])
    assert r.contents(rows) == {"u": "abc"}


READERS = [
    "compare run",
    "compare run --require accuracy>0",
    "compare run . --inoculation",
    "figure causal_effects run --output f.png",
    "figure transitions run --output f.png",
]


@pytest.mark.parametrize("words", READERS)
def test_every_command_that_reads_results_refuses_them_in_a_sentence(tmp_path, monkeypatch, words):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "results.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    with refused("damaged-results", "run/results.json"):
        command.main(words.split())


@pytest.mark.slow
@pytest.mark.parametrize("closed", [pytest.param("stdout", marks=pytest.mark.slow), "both"])
def test_a_reader_that_goes_away_ends_a_command_without_a_traceback(tmp_path, closed):
    names = [f"accuracy/d{i}" for i in range(5000)]
    measured = {name: MEASURED | {"reason": None} for name in names}
    lines = [{"metric": name, "label": name} for name in names]
    fields = {name: ["accuracy", f"d{i}", "", "", ""] for i, name in enumerate(names)}
    save(tmp_path, metrics=measured, names=fields, display=DISPLAY | {"lines": lines})
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-m", "heedful", "compare", str(tmp_path)],
        stdout=write,
        stderr=write if closed == "both" else subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        text=True,
    )
    os.close(write)
    assert process.returncode == 1
    assert not process.stderr
