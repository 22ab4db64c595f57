"""The folder of a run: results.json and rows are checked together, epochs are kept, and one process writes."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from heedful.records import Context, Measurement, MetricName, RunError, printable, write_json
from heedful.records import rows as r
from heedful.records.storage import results as run
from heedful.records.storage.results import EPOCHS, LOCK, as_plain, locked, read_epochs

from made_rows import make
from refusals import refused
from written_results import about, results

ACCURACY = MetricName("accuracy", "d")
RESULTS = results({ACCURACY: Measurement(0.5, 4, ci95=(0.25, 0.75))}, [ACCURACY], words={"accuracy": "right"})
RESULTS = {key: value for key, value in RESULTS.items() if key != "rows"}
CONTEXT = Context("d", labels=("no", "yes"))


def predicted(n: int) -> pa.Table:
    """Base rows."""
    return make({f"u{i}": ("yes", "yes") for i in range(n)}, labels=2)


META = about(predicted(3), CONTEXT)


def save(folder: Path, n: int = 3, *evaluations: str) -> Path:
    rows = {name: (predicted(n), about(predicted(n), CONTEXT)) for name in evaluations or ["accuracy"]}
    run.write_results(folder, RESULTS, rows)
    return folder


def test_what_is_written_is_read_again(tmp_path):
    save(tmp_path / "a", 3, "accuracy", "swaps")
    found = run.read_results(tmp_path / "a")
    assert {k: v for k, v in found.items() if k != "rows"} == RESULTS
    assert set(found["rows"]) == {"accuracy", "swaps"}
    rows, metadata = run.read_evaluation(tmp_path / "a", "swaps")
    assert rows.equals(predicted(3).replace_schema_metadata(rows.schema.metadata))
    assert metadata == META
    assert run.read_evaluation(tmp_path / "a", "null") is None
    save(tmp_path / "a", 4, "accuracy")
    assert [p.name for p in (tmp_path / "a" / "rows").iterdir()] == ["accuracy.parquet"]


@pytest.mark.parametrize("kill", ["before results.json", "before the last rows"])
def test_a_kill_between_rows_and_results_is_seen(tmp_path, kill):
    """New rows beside the old results.json, as a process leaves them that ends between two renamings."""
    save(tmp_path / "old", 3, "accuracy", "swaps")
    save(tmp_path / "new", 4, "accuracy", "swaps")
    for name in ["swaps"] if kill == "before the last rows" else ["accuracy", "swaps"]:
        os.replace(run.rows_file(tmp_path / "new", name), run.rows_file(tmp_path / "old", name))
    with refused(RunError, ".parquet", tmp_path / "old" / "results.json"):
        run.read_results(tmp_path / "old")


def test_on_a_full_disk_the_old_files_stay_all_of_them(tmp_path, monkeypatch):
    save(tmp_path, 3, "accuracy", "swaps")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}

    def full(value):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run, "as_json", full)
    with refused(RunError, "results.json", "No space left on device"):
        save(tmp_path, 4, "accuracy", "swaps")
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("before", "after"),
    [('"value": 0.5', '"value": 0.95'), ('"seed": 0', '"seed": 1'), ('"accuracy": "right"', '"accuracy": "F1"')],
)
def test_results_that_were_edited_are_refused(tmp_path, before, after):
    """Also where no run.json is beside them, and the rows are not at hand."""
    path = save(tmp_path) / "results.json"
    run.rows_file(tmp_path, "accuracy").unlink()
    text = path.read_text()
    run.read_results(tmp_path)
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))
    with refused(RunError, path, "was edited"):
        run.read_results(tmp_path)
    content = json.loads(text)
    path.write_text(json.dumps({key: content[key] for key in reversed(content)}))  # which says the same
    run.read_results(tmp_path)
    del content["checksum"]
    path.write_text(json.dumps(content))
    with refused(RunError, path, "checksum"):
        run.read_results(tmp_path)


def test_a_folder_that_was_moved_is_the_same_run(tmp_path):
    odd = tmp_path / "new name\nwith \x1b[31m é"
    save(tmp_path / "a").rename(odd)
    assert run.read_evaluation(f"{odd}/", "accuracy")[0].num_rows == 3
    (odd / "results.json").unlink()
    with refused(RunError, printable(str(odd))) as caught:
        run.read_results(odd)
    assert str(caught.value).isprintable()
    (odd / "run.json").write_text("{}")
    with refused(RunError, printable(str(odd))):
        run.read_results(odd)


def test_how_examples_of_two_runs_differ():
    first = {"u1": "a", "u2": "b", "u3": "c"}
    assert r.describe_difference(first, dict(reversed(first.items()))) is None
    assert r.describe_difference(first, first | {"u3": "x", "u2": "y"}) == (
        "2 of 3 have another text or label, the first is u2"
    )
    assert r.describe_difference(first, {"u1": "z", "u4": "d"}) == "3 are in one run only, the first is u2"


HISTORY = {
    "attentiveness": [
        (1, {"premise": Measurement(0.5, 10, draws=2, std=0.1, ci95=(0.2, 0.8), per_draw=(0.4, 0.6), flags=("few",))}),
        (2, {"premise": Measurement(None, 0, reason="no example is eligible")}),
    ]
}


def plain(history):
    return {
        name: [(epoch, {curve: m.as_dict() for curve, m in of.items()}) for epoch, of in points]
        for name, points in history.items()
    }


def test_what_is_written_is_read(tmp_path):
    assert read_epochs(tmp_path) == {}
    write_json(tmp_path / EPOCHS, as_plain(HISTORY))
    assert plain(read_epochs(tmp_path)) == plain(HISTORY)


def test_another_process_is_kept_out(tmp_path: Path, lock_elsewhere: Callable[[Path], int]) -> None:
    lock_elsewhere(tmp_path / "run")
    with refused(RunError, "output run: another process"), locked(tmp_path / "run", "output run"):
        raise AssertionError


def test_the_lock_goes_and_what_is_written_stays(tmp_path: Path) -> None:
    with locked(tmp_path / "a" / "run"):
        assert (tmp_path / "a" / "run" / LOCK).is_file()
        (tmp_path / "a" / "run" / "config.yaml").touch()
    assert [path.name for path in (tmp_path / "a" / "run").iterdir()] == ["config.yaml"]


def test_folders_that_were_made_and_are_empty_go(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for folder in (tmp_path / "mine", tmp_path / "a" / "b" / "run"):
        with pytest.raises(KeyError), locked(folder):
            raise KeyError
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]
