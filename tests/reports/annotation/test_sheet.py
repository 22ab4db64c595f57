"""Annotation sheets: what stands in them, what does not, and how they are scored."""

import base64
import csv
import io
from hashlib import sha256
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from heedful.callbacks import Attentiveness
from heedful.cli import command
from heedful.datamodules import Planted
from heedful.records import (
    Context,
    DataError,
    Example,
    Examples,
    HeedfulError,
    Picture,
    RunError,
    SettingError,
    Table,
    generator,
)
from heedful.records.storage.results import write_results
from heedful.reports import sheet as report
from heedful.reports.annotation.choice import Case, cases, chosen
from heedful.reports.annotation.files import ANSWER, page, read_tsv, tsv
from heedful.reports.annotation.scoring import kappa, wilson

from made_rows import make
from oracles import measure
from refusals import refused

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context("d", labels=LABELS, default_label="neutral", own={"swap": ["premise"]})
DATA = {"n_validation": 60, "n_train": 10}
Z = 1.959963984540054


def by_words(table, hypothesis):
    """An answer that depends on the hypothesis alone."""
    return LABELS[int(generator("words", hypothesis).integers(3))]


def uids(rows, n, seed=0):
    context = Context(**{**vars(CONTEXT), "seed": seed})
    places = chosen(rows, "premise", context, n)
    assert all(row["draw"] == 0 and row["intervention"] == "swap" for row in rows.take(places).to_pylist())
    return [row["uid"] for row in rows.take(places).to_pylist()]


def rows_of(seconds):
    """Rows of twelve examples, every third of which is predicted as the default label; their second predictions."""
    base = {f"u{i:02}": ("entailment", LABELS[i % 3]) for i in range(12)}
    swaps = [{"uid": u, "draw": d, "y2": seconds[i]} for i, u in enumerate(base) for d in (0, 1) if i % 3 != 1]
    return make(base, swaps)


@given(st.lists(st.sampled_from(LABELS), min_size=12, max_size=12), st.integers(1, 9), st.integers(0, 3))
def test_the_choice_knows_nothing_of_the_second_prediction(seconds, n, seed):
    found = uids(rows_of(seconds), n, seed)
    assert found == uids(rows_of(["neutral"] * 12), n, seed)
    assert len(found) == min(n, 8)
    assert not {"u01", "u04", "u07", "u10"} & set(found)
    assert set(found) <= set(uids(rows_of(seconds), n + 1, seed))


def test_another_seed_chooses_others():
    assert len({tuple(uids(rows_of(["neutral"] * 12), 3, seed)) for seed in range(9)}) > 1


@pytest.fixture
def run(tmp_path):
    """The folder of a run on 60 planted pairs."""
    engine = measure(by_words, Planted(**DATA), Attentiveness(draws=2))
    folder = tmp_path / "run"
    write_results(folder, engine.content, engine.rows)
    configure(folder, "heedful.datamodules.Planted", DATA)
    return folder


def configure(folder, class_path, settings):
    model = {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": "b"}}
    config = {"model": model, "data": {"class_path": class_path, "init_args": settings}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def write(run, n=7):
    name = run.parent / "sheet"
    command.main(["sheet", str(run), "--n", str(n), "--output", str(name)])
    return name.with_name("sheet.tsv"), name.with_name("sheet.html")


def fill(path, answers, name="filled.tsv"):
    """A copy with answers, as a spreadsheet writes it."""
    lines = list(csv.DictReader(io.StringIO(path.read_text(), newline=""), delimiter="\t"))
    text = io.StringIO()
    writer = csv.DictWriter(text, lines[0], delimiter="\t")
    writer.writeheader()
    writer.writerows(line | {ANSWER: answer} for line, answer in zip(lines, answers, strict=True))
    filled = path.with_name(name)
    filled.write_text(f"\ufeff{text.getvalue()}", newline="")
    return str(filled)


def test_a_sheet_shows_the_swapped_input_and_the_first_prediction_alone(run):
    tsv_file, html_file = write(run)
    data = Planted(**DATA)
    data.setup("validate")
    rows = report.read_run(str(run)).rows
    first = {r["uid"]: r for r in rows.to_pylist() if r["intervention"] == "swap" and r["draw"] == 0}
    lines, text = read_tsv(tsv_file), html_file.read_text()
    assert len(lines) == 7
    for line in lines:
        row = first[line["uid"]]
        assert line["premise"] == data.pool[row["partner"]].parts["premise"]
        assert line["hypothesis"] == data.pool[row["uid"]].parts["hypothesis"]
        assert line["label"] == row["y"] != "neutral"
        assert (line[ANSWER], line["lent_by"]) == ("", row["partner"])
        assert line["premise"] in text
        assert list(line) == ["number", "uid", "swapped", "premise", "hypothesis", "label", ANSWER, "lent_by", "run"]
    assert "neutral" not in text


def test_scores_are_those_of_the_answers_and_of_the_rows(run, capsys):
    sheet, _ = write(run)
    answers = ["yes", "YES ", "no", "y", "1", "", "n"]
    file = fill(sheet, answers)
    capsys.readouterr()
    command.main(["sheet", "--score", file])
    text = capsys.readouterr().out
    assert "the label is now wrong in 66.7 [30.0, 90.3] %, n=6 of 7" in text
    assert "attentiveness among the yes: 0.0 [0.0, 49.0] %, n=4" in text  # the model ignores the premise
    assert "Note for planted (--data.note)" in text
    assert "wrong in 30 % to 90 % of cases (people judged 6)" in text
    command.main(["sheet", "--score", fill(sheet, [""] * 7, "empty.tsv")])
    assert "empty.tsv: no case was answered, n=0 of 7" in capsys.readouterr().out


def test_two_annotators_have_a_kappa_and_are_scored_where_both_say_yes(run, capsys):
    sheet, _ = write(run, 4)
    files = [fill(sheet, a, f"{k}.tsv") for k, a in enumerate((["yes", "yes", "no", "no"], ["yes", "no", "no", "no"]))]
    command.main(["sheet", "--score", *files])
    text = capsys.readouterr().out
    assert "the two agree on 3 of 4; Cohen's kappa 0.50" in text
    assert "attentiveness among the yes of both: 0.0" in text
    for old in (sheet, sheet.with_suffix(".html")):
        old.unlink()
    larger = fill(write(run, 5)[0], ["yes"] * 5, "other.tsv")
    with refused(RunError, files[0], larger):
        command.main(["sheet", "--score", files[0], larger])


def test_where_all_say_yes_there_is_no_note(run, capsys):
    file = fill(write(run, 30)[0], ["yes"] * 30)
    command.main(["sheet", str(run), "--score", file])
    assert "Note for" not in capsys.readouterr().out


def test_a_share_has_wilsons_interval():
    k, n = 41, 50
    p = k / n
    middle, half = p + Z**2 / (2 * n), Z * sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    expected = ((middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n))
    assert wilson(k, n, "").ci95 == pytest.approx(expected)
    assert wilson(0, 0, "why").reason == "why"


def test_kappa_is_that_of_the_textbook():
    """Cohen's example of 50 grants: both yes 20, both no 15, one yes alone 5 and 10."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert kappa(first, second) == pytest.approx(0.4)
    assert kappa(second, first) == pytest.approx(0.4)
    assert kappa(first, first) == 1
    assert kappa(["yes"], ["yes"]) is None
    assert kappa([], []) is None


def test_pictures_stand_in_the_html():
    picture = np.zeros((4, 6, 3), dtype=np.uint8)
    cases = [Case("d/v/<1>", "d/v/2", "image", {"question": "<b>?\n2", "image": picture}, "yes")]
    text = page(cases, "d")
    encoded = text.partition("base64,")[2].partition('"')[0]
    assert Image.open(io.BytesIO(base64.b64decode(encoded))).size == (6, 4)
    assert "&lt;b&gt;?<br>2" in text
    assert '<dd class="swapped"><img' in text
    assert "(picture, in the HTML)" in tsv(cases, "run")


def test_a_case_has_the_table_of_the_partner_in_words_and_small_pictures(tmp_path):
    Image.new("RGB", (960, 30), "red").save(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    picture = Picture(sha256(content).hexdigest(), str(tmp_path / "a.png"), 0, len(content), "row 1")
    tables = [Table(f"T{i}", (("Length", (f"{i} km",)), ("Age", ("1", "2")))) for i in range(2)]
    pool = Examples.of([Example(f"u{i}", {"table": tables[i], "image": picture}, "yes", {}) for i in range(2)])
    data = SimpleNamespace(pool=pool, task=SimpleNamespace(parts=("table", "image")))
    row = {"uid": "u0", "partner": "u1", "part": "table", "y": "no"}
    (case,) = cases(pa.Table.from_pylist([row]), [0], data)
    assert (case.uid, case.partner, case.part, case.label) == ("u0", "u1", "table", "no")
    assert case.contents["table"] == "Title: T1; Length: 1 km; Age: 1, 2"
    assert case.contents["image"].shape == (15, 480, 3)


def test_mistakes_are_one_sentence(run, tmp_path):
    sheet, _ = write(run, 2)
    with refused(RunError, sheet, "output"):
        write(run, 2)
    with refused(DataError, "row 3", "now_wrong", "'maybe'"):
        command.main(["sheet", "--score", fill(sheet, ["yes", "maybe"])])
    other = tmp_path / "other.tsv"
    other.write_text("a\tb\n1\t2\n")
    with refused(DataError, other, "'uid'"):
        command.main(["sheet", "--score", str(other)])
    with refused(RunError, "score"):
        command.main(["sheet"])
    with refused(SettingError, "n", "0"):
        command.main(["sheet", str(run), "--n", "0"])
    with refused(SettingError, "output", "2"):
        command.main(["sheet", str(run), str(run), "--output", "x"])
    other.write_bytes(b"\xff")
    with refused(DataError, other):
        command.main(["sheet", "--score", str(other)])
    with refused(SettingError, "score", "3"):
        command.main(["sheet", "--score", *[str(sheet)] * 3])
    file = fill(sheet, ["yes", "no"])
    with refused(SettingError, "score", file):
        command.main(["sheet", "--score", file, str(tmp_path / "." / "filled.tsv")])
    lines = (tmp_path / "filled.tsv").read_text()
    label, uid, lender = (read_tsv(file)[0][name] for name in ("label", "uid", "lent_by"))
    (tmp_path / "other.tsv").write_text(lines + lines.splitlines(keepends=True)[1])
    with refused(DataError, f"{other}, row 4", uid, "row 2"):
        command.main(["sheet", "--score", str(other)])
    (tmp_path / "other.tsv").write_text(lines.replace(f"\t{lender}\t", "\td/v/other\t"))
    with refused(RunError, run, uid, "premise", lender, "d/v/other"):
        command.main(["sheet", "--score", str(other)])
    without = "\n".join("\t".join(line.split("\t")[:-2] + line.split("\t")[-1:]) for line in lines.splitlines())
    (tmp_path / "other.tsv").write_text(without)  # as earlier versions wrote it
    command.main(["sheet", "--score", str(other)])
    (tmp_path / "filled.tsv").write_text(lines.replace(f"\t{label}\t", "\tneutral\t"))
    with refused(RunError, run, uid, "'neutral'"):
        command.main(["sheet", "--score", file])
    run.rename(tmp_path / "gone")
    with refused(DataError, run, "score"):
        command.main(["sheet", "--score", file])


@pytest.mark.parametrize(
    ("class_path", "settings", "error", "fact"),
    [
        ("heedful.datamodules.Planted", {"n_validation": 59}, DataError, "1 are in one"),
        ("heedful.datamodules.Planted", {"grammar_seed": 1, **DATA}, DataError, "60 of 60"),
        ("os.system", {}, SettingError, "os.system"),
        ("heedful.datamodules.Planted", {"note": {"class_path": "os.system"}}, RunError, "Planted"),
        ("heedful.datamodules.Planted", {"unheard_of": 1}, RunError, "datamodules.Planted"),
    ],
)
def test_data_that_are_not_those_of_the_run_are_refused(run, class_path, settings, error: type[HeedfulError], fact):
    configure(run, class_path, settings)
    with refused(error, "config.yaml", fact):
        write(run)
    (run / "config.yaml").unlink()
    with refused(RunError, run / "config.yaml"):
        write(run)


def test_a_run_of_which_no_prediction_counts_has_no_sheet(tmp_path):
    engine = measure(lambda premise, hypothesis: "neutral", Planted(**DATA), Attentiveness(draws=1))
    write_results(tmp_path, engine.content, engine.rows)
    with refused(RunError, tmp_path):
        write(tmp_path)
