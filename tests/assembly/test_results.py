"""Results in Python: numbers, rows, requirements, differences, saving and display."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from live_runs import MEASURED, ONCE, pairs, small

import heedful
from heedful.assembly.results import Differences, Results, Run
from heedful.cli import command
from heedful.records import Context, DataError, HeedfulError, Measurement, MetricName, RunError, SettingError
from heedful.records.storage import results as storage
from heedful.reports import rescore

import written_results
from refusals import refused
from written_results import saved_rows

PREMISE, HYPOTHESIS = MetricName("attentiveness", "d", "premise"), MetricName("attentiveness", "d", "hypothesis")
ACCURACY = MetricName("accuracy", "d")
NUMBERS = {
    ACCURACY: Measurement(0.8, 50, ci95=(0.66, 0.9)),
    ACCURACY._replace(statistic="majority"): Measurement(0.5, 50),
    PREMISE: Measurement(0.75, 40, 5, 0.01, (0.65, 0.85), (0.75,) * 5, ("unread_changes",)),
    PREMISE._replace(statistic="to_default"): Measurement(0.1, 40, 5, 0.01, (0.05, 0.15), (0.1,) * 5),
    PREMISE._replace(slice="from_neutral"): Measurement(None, 0, reason="no prediction is neutral"),
    HYPOTHESIS: Measurement(0.5, 40, 5, 0.01, (0.4, 0.6), (0.5,) * 5),
    PREMISE._replace(part="weak", statistic="kept"): Measurement(
        0.9, 40, 5, 0.01, (0.8, 1.0), (0.9,) * 5, ("not_above_majority",)
    ),
    PREMISE._replace(part="flagged"): Measurement(0.5, 40, 5, 0.01, (0.4, 0.6), (0.5,) * 5, ("not_above_majority",)),
    MetricName("null", "d", statistic="flips"): Measurement(0.0, 50, ci95=(0.0, 0.07)),
    MetricName("challenge", "hans", slice="lexical"): Measurement(0.6, 9),
    MetricName("challenge", "med", slice="lexical"): Measurement(0.4, 9),
    ACCURACY._replace(slice="genre=fiction"): Measurement(0.7, 20, ci95=(0.5, 0.8)),
}


@pytest.fixture(scope="module")
def run(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("results") / "run"
    return heedful.train(small(tiny_bert), pairs(), evaluations=MEASURED, trainer=ONCE, output=folder)


def test_a_run_has_the_numbers_and_the_rows_of_its_files(run: Run) -> None:
    in_file = json.loads((run.folder / "results.json").read_text())["metrics"]
    assert {str(name): number for name, number in run.numbers.items()} == in_file
    for loaded in (heedful.load(run.folder), Run.finished(run.folder)):
        assert (type(loaded), loaded.numbers, loaded.was_finished) == (Run, run.numbers, True)
    assert str(run.folder) in repr(run)
    assert len(repr(run)) < 500
    for name in MEASURED:
        rows = run.rows_of(name)
        assert rows.equals(pq.read_table(run.folder / "rows" / f"{name}.parquet"))
        part_of_all = run.rows.filter(pa.compute.equal(run.rows["evaluation"], name))
        assert part_of_all.drop_columns(["evaluation"]).to_pylist() == rows.to_pylist()
    assert run.rows.num_rows == sum(run.rows_of(name).num_rows for name in MEASURED)
    for missing in ("natural_logic", ""):
        with pytest.raises(KeyError, match=repr(missing)):
            run.rows_of(missing)


def test_reading_all_rows_checks_each_file_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []
    hash_of = storage.file_hash
    monkeypatch.setattr(storage, "file_hash", lambda path: hashed.append(path) or hash_of(path))
    assert run.rows.num_rows
    assert len(hashed) == len(MEASURED)


@pytest.fixture
def made() -> Results:
    """Results with numbers of all kinds."""
    return Results(Path("made"), written_results.results(NUMBERS))


@pytest.fixture
def two(rows_of: Callable[..., pa.Table], tmp_path: Path) -> tuple[Results, Results]:
    """Results of 60 examples, of which 40 and 55 are answered rightly."""
    found = [
        saved_rows(tmp_path / name, rows_of({f"u{i:02}": ("yes", "yes" if i < right else "no") for i in range(60)}))
        for name, right in (("a", 40), ("b", 55))
    ]
    return found[0], found[1]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("accuracy", ACCURACY),
        ("accuracy/d/majority", ACCURACY._replace(statistic="majority")),
        (("accuracy", "majority"), ACCURACY._replace(statistic="majority")),
        (("attentiveness", "premise"), PREMISE),
        (("attentiveness", "premise", None, "from_neutral"), PREMISE._replace(slice="from_neutral")),
        ("attentiveness premise to_default", PREMISE._replace(statistic="to_default")),
        (("attentiveness", "to_default"), PREMISE._replace(statistic="to_default")),
        (HYPOTHESIS, HYPOTHESIS),
        (tuple(HYPOTHESIS), HYPOTHESIS),
        (("null", "flips"), MetricName("null", "d", statistic="flips")),
        (("challenge", "med", "lexical"), MetricName("challenge", "med", slice="lexical")),
        ("accuracy fiction", ACCURACY._replace(slice="genre=fiction")),
    ],
)
def test_a_few_words_name_a_number(made: Results, key: object, name: MetricName) -> None:
    of, number = NUMBERS[name], made[key]
    assert (number.value, number.n, number.std, number.draws) == (of.value, of.n, of.std, of.draws)
    assert (number.low, number.high) == (of.ci95 or (None, None))
    assert (number.flags, number.reason) == (of.flags, of.reason)
    assert key in made


@pytest.mark.parametrize(
    ("key", "error", "facts"),
    [
        ("attentiveness", RunError, (PREMISE, HYPOTHESIS)),
        (("challenge", "lexical"), RunError, ("challenge/hans/lexical", "challenge/med/lexical")),
        (("attentiveness", "title"), RunError, ("title", "attentiveness premise", "attentiveness hypothesis")),
        ("acuracy", RunError, ("accuracy?",)),
        ("accuracy accuracy", RunError, ("accuracy majority",)),
        (MetricName("accuracy", "other"), RunError, ("other",)),
        ("null", RunError, ("null flips",)),  # no other statistic replaces it
        ("", RunError, ()),
    ],
)
def test_other_words_are_refused_and_are_a_key_error(
    made: Results, key: object, error: type[HeedfulError], facts: tuple
) -> None:
    with refused(error, *facts):
        made[key]
    with pytest.raises(KeyError):
        made[key]
    assert key not in made


def test_a_frame_has_a_line_for_each_number(made: Results) -> None:
    frame = made.frame()
    columns = "run data evaluation part statistic slice value low high n flags unit clusters std draws reason"
    assert list(frame.columns) == columns.split()
    names = frame[["evaluation", "data", "part", "statistic", "slice"]]
    assert [MetricName(*line) for line in names.itertuples(index=False)] == list(NUMBERS)
    assert set(frame["run"]) == {made.display_name}
    line = frame.iloc[2]
    assert (line.value, line.low, line.high, line.n, line.draws) == (0.75, 0.65, 0.85, 40, 5)
    assert line["flags"] == "unread_changes"
    assert frame.iloc[4].reason == "no prediction is neutral"
    assert frame["value"].isna().sum() == 1
    assert str(frame.dtypes["low"]) == "float64"


@pytest.mark.parametrize(
    "text",
    [
        "attentiveness premise >= 0.65",
        "accuracy >= 66 %",
        "attentiveness flagged <= 0.6",
        "attentiveness weak kept >= 0.7",  # guesses do not raise this share
        "attentiveness/d/premise/to_default < 15.1%",
        "attentiveness premise => 0.65",
        " null flips <= 7e-2 ",
    ],
)
def test_a_requirement_that_the_bound_meets_holds(made: Results, text: str) -> None:
    assert made.require(text) is made


@pytest.mark.parametrize(
    ("text", "error", "facts"),
    [
        (
            "attentiveness premise >= 0.7",
            RunError,
            ("0.75", "[0.65, 0.85]", "n=40"),
        ),  # the value is higher, the bound is not
        ("attentiveness premise > 0.65", RunError, ()),
        ("accuracy <= 85 %", RunError, ("80 %", "90 %", "n=50")),
        ("null flips < 0.07", RunError, ()),
        ("attentiveness premise from_neutral >= 0", RunError, ("no prediction is neutral",)),
        ("attentiveness >= 0.1", RunError, ()),
        ("attentiveness flagged >= 0.1", RunError, ("attentiveness flagged", "0.5, ", "majority")),
        ("attentiveness flagged <= 0.5", RunError, ("0.5", "[0.4, 0.6]")),
        ("accuracy <= 85", SettingError, ("85 %",)),
        ("accuracy == 0.8", SettingError, ()),
    ],
)
def test_a_requirement_is_decided_on_the_bound(
    made: Results, text: str, error: type[HeedfulError], facts: tuple
) -> None:
    with refused(error, *facts):
        made.require(text)


def test_rows_of_other_labels_fit_below_each_other(rows_of: Callable[..., pa.Table], tmp_path: Path) -> None:
    labels = ("yes", "no", "maybe")
    rows = {
        name: (of, written_results.about(of, Context("d", labels=labels[:n])))
        for name, n in (("accuracy", 3), ("two_class", 2))
        for of in [rows_of({"u": ("yes", "yes")}, labels=n, likely=labels[:n])]
    }
    written_results.write_results(tmp_path, written_results.results(), rows)
    found = heedful.load(tmp_path).rows
    assert [len(p) for p in found["p"].to_pylist()] == [3, 2]
    assert found["evaluation"].to_pylist() == ["accuracy", "two_class"]


def test_the_frame_of_several_runs_has_the_numbers_of_each(two: tuple[Results, Results]) -> None:
    worse, better = two
    frame = heedful.frame([str(worse.folder), better, better - worse])
    assert list(dict.fromkeys(frame["run"])) == [str(worse.folder), str(better.folder), (better - worse).title]
    values = frame.query("evaluation == 'accuracy' and statistic == '' and slice == ''")["value"].tolist()
    assert values == [each["accuracy"].value for each in (worse, better, better - worse)]


def test_a_difference_is_that_of_the_report(two: tuple[Results, Results], capsys: pytest.CaptureFixture[str]) -> None:
    worse, better = two
    changes = written_results.paired(worse.folder, better.folder)
    less = better - worse
    assert {str(name) for name in less} == changes.keys() & {str(name) for name in better}
    number, change = less["accuracy"], changes["accuracy/d"]
    assert (number.value, (number.low, number.high), number.n) == (change.value, change.ci95, change.n)
    assert number.value == pytest.approx(0.25)
    assert (worse - better)["accuracy"].value == -number.value
    assert less.require("accuracy > 10 %") is less
    with refused(RunError):
        less.require("accuracy >= 0.25")
    assert less.frame()["value"].iloc[0] == number.value
    less.show()
    printed = capsys.readouterr().out
    assert "+25.0 [" in printed
    assert "accuracy majority" not in printed
    assert "+25.0 [" in less._repr_html_()


def test_saved_results_have_the_same_bytes(two: tuple[Results, Results], tmp_path: Path) -> None:
    result, to = two[0], tmp_path / "new" / "saved"
    (result.folder / ".lock").touch()
    result.folder.chmod(0o700)
    saved = result.save(to)
    assert (saved.folder, saved.content) == (to, result.content)
    files = [str(path.relative_to(to)) for path in sorted(to.rglob("*")) if path.is_file()]
    assert files == ["results.json", "rows/accuracy.parquet"]
    assert all((to / path).read_bytes() == (result.folder / path).read_bytes() for path in files)
    assert [*to.parent.iterdir()] == [to]
    assert (saved - result)["accuracy"].value == 0
    assert rescore.rescored(to) == (to / "results.json").read_text()
    command.main(["compare", str(to)])
    assert to.stat().st_mode == to.parent.stat().st_mode


def test_a_folder_that_holds_something_stays(two: tuple[Results, Results], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for to in (two[1].folder, two[0].folder, tmp_path / "file", two[0].folder / "inside"):
        with refused(RunError, to):
            two[0].save(str(to))
    assert (tmp_path / "file").read_text() == "mine"
    assert heedful.load(two[1].folder).content == two[1].content


def test_only_a_folder_of_results_is_loaded(run: Run, two: tuple[Results, Results], tmp_path: Path) -> None:
    assert type(heedful.load(str(two[0].folder))) is Results
    assert isinstance(run.save(tmp_path / "saved"), Run)
    for folder, error in ((tmp_path, RunError), (tmp_path / "missing", DataError)):
        with refused(error, folder):
            heedful.load(folder)


def test_results_are_shown_in_a_terminal(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.show()
    text = capsys.readouterr().out
    command.main(["compare", str(run.folder)])
    assert text == capsys.readouterr().out
    Results(Path("made"), {}).show()
    assert capsys.readouterr().out == "Nothing was measured.\n"
    assert "accuracy" in repr(run)


def test_a_notebook_displays_results_and_escapes_their_texts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    displayed: list[str] = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.display = lambda shown: displayed.append(shown._repr_html_())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    evil = "<script>alert(1)</script>"
    numbers = {MetricName("attentiveness", evil, evil): Measurement(0.5, 9, ci95=(0.3, 0.6), flags=("unread_changes",))}
    content = written_results.results(numbers, data=evil, split=evil, words={"attentiveness": evil})
    Results(Path(evil), content).show()
    (html,) = displayed
    assert "50.00 [30.0, 60.0] n=9" in html
    assert "unread_changes: more than 5 %" in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html + Results(Path(evil), {})._repr_html_()
    assert capsys.readouterr().out == ""


def test_a_difference_of_weak_models_can_be_required() -> None:
    change = Measurement(0.3, 40, 5, 0.01, (0.2, 0.4), (0.3,) * 5, ("not_above_majority",)).as_dict()
    differences = Differences({PREMISE: change}, "one minus other", ("Left out: the swaps differ.",))
    assert differences.require("attentiveness premise >= 0.1") is differences
    with refused(RunError, "does not hold", "0.3"):
        differences.require("attentiveness premise >= 0.25")
    with refused(RunError, "the swaps differ"):
        differences["attentiveness", "hypothesis"]
