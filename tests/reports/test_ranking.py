"""``heedful rank``: few-shot accuracies against loops over rows, tables, figures, and refused runs."""

from functools import partial
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from heedful.metrics.ranking import drawn_positions, ranked, uniforms
from heedful.records import HeedfulError, RunError
from heedful.records.storage.results import read_evaluation, read_results, write_results
from heedful.reports import ranking as report
from heedful.reports.ranking import set_dependent, sets_of
from heedful.reports.rescore import rescored

from ranking_suites import save, suite
from refusals import refused

QUALITIES = {"step-5": 0.55, "step-25": 0.6, "step-100": 0.85}
SIZES = {"examples": 120, "population": 30}


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(report, "ranked", partial(ranked, resamples=25))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three") / "hans"
    return suite(folder, QUALITIES, methods=("lime", "shap"), data="hans", **SIZES)


def blocks(text):
    """Parse tables in Markdown: rows by heading."""
    found = {}
    for block in text.replace("\\", "").split("\n\n"):
        (heading, *header), _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines())
        found[heading] = {row[0]: dict(zip(header, row[1:], strict=True)) for row in rows}
    return found


def tables(capsys, *arguments):
    report.main([*arguments, "--format", "markdown"])
    return blocks(capsys.readouterr().out.strip())


def test_few_shot_accuracy_is_that_of_loops_over_the_rows(three, capsys):
    """The rankers ACC, CONF, CONF-GT and SUM-DIFF, from the rows of both evaluations."""
    numbers = {}
    for folder, name in zip(three, QUALITIES, strict=True):
        base, words = (read_evaluation(folder, each)[0].to_pylist() for each in ("accuracy", "attributions"))
        of = {row["uid"]: row for row in base}
        uids = sorted({row["uid"] for row in words})
        sums = dict.fromkeys(uids, 0.0)
        for row in words:
            if row["intervention"] == "shap" and row["part"]:
                sums[row["uid"]] += row["phi"] if row["part"] == "a" else -row["phi"]
        numbers[name] = {
            "truth": np.mean([row["y"] == row["gold"] for row in base]),
            "acc": [float(of[uid]["y"] == of[uid]["gold"]) for uid in uids],
            "conf": [max(of[uid]["p"]) for uid in uids],
            "conf_gt": [of[uid]["p"][("no", "yes").index(of[uid]["gold"])] for uid in uids],
            "conf_gt reversed": [-of[uid]["p"][("no", "yes").index(of[uid]["gold"])] for uid in uids],
            "sum_diff": [-sums[uid] for uid in uids],
        }
    samples = drawn_positions(uniforms(10, 50, 0), 30)
    found = tables(capsys, *three, "--samples", "50")
    shown = found["Few-shot accuracy [95 %], shap, n = 10 (tables 2, 7, 8), %"]
    pairwise = found["Pairwise accuracy, hans, shap, n = 10 (table 4), %"]
    for ranker in ("acc", "conf", "conf_gt", "conf_gt reversed", "sum_diff"):
        of_pairs = []
        for one, other in combinations(QUALITIES, 2):
            better, worse = (one, other) if numbers[one]["truth"] > numbers[other]["truth"] else (other, one)
            right = []
            for sample in samples:
                a, b = (np.mean([numbers[name][ranker][k] for k in sample]) for name in (better, worse))
                right.append(0.5 if a == b else float(a > b))
            of_pairs.append(np.mean(right))
            column = next(name for name in pairwise[ranker] if name.rstrip("*") == f"{better} > {worse}")
            assert float(pairwise[ranker][column]) == pytest.approx(100 * of_pairs[-1], abs=0.051)
        assert float(shown[ranker]["hans"].split()[0]) == pytest.approx(100 * np.mean(of_pairs), abs=0.051)
    truth = found["Accuracy of each model (tables 5 and 6), %"]
    assert {name: float(row["hans"]) for name, row in truth.items()} == {
        name: pytest.approx(100 * of["truth"], abs=0.051) for name, of in numbers.items()
    }


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with factors that order models correctly, reversely, or not at all."""
    (tmp_path / "ranking_oracles.py").write_text(
        "def best(of):\n    return -of.full\n"
        "def worst(of):\n    return of.full\n"
        "def constant(of):\n    return 0.1\n"
        "def sometimes(of):\n    return None if of.uid.endswith('3') else 0.5\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_oracles_of_ones_own(own, tmp_path, capsys):
    qualities = {"good": 1.0, "bad": 0.0}  # probability of the gold label
    folders = suite(tmp_path / "two", qualities, truthful=True, data="two", **SIZES)
    names = [f"ranking_oracles:{name}" for name in ("best", "worst", "constant", "sometimes")]
    found = tables(capsys, *folders, "--factors", ",".join(names))
    rankings = found["Rankings, two, shap, n = 10; tau and %"]
    assert {name: tuple(rankings[name].values()) for name in names} == {
        "ranking_oracles:best": ("100.0", "0.0", "+1.00", "0.0"),
        "ranking_oracles:worst": ("0.0", "0.0", "-1.00", "100.0"),
        "ranking_oracles:constant": ("50.0", "100.0", "+0.00", "50.0"),
        "ranking_oracles:sometimes": ("50.0", "100.0", "+0.00", "50.0"),
    }
    report.main([*folders, "--factors", ",".join(names)])
    text = " ".join(capsys.readouterr().out.split())
    assert "two, shap: ranking_oracles:sometimes is not defined for 3 of 30 examples, which do not count." in text


@pytest.mark.slow
def test_all_tables_of_the_paper_are_there_for_each_method(three, capsys):
    found = tables(capsys, *three, "--n", "5,10,20", "--samples", "20")
    headings = list(found)
    counts = {"(tables 5 and 6)": 1, "(tables 2, 7, 8)": 6, "(table 1)": 1, "(table 3)": 2}
    counts |= {"(table 4)": 2, "Factors less ACC": 2, "Rankings": 2, "Sizes (table 9)": 1, "(table 9)": 1}
    assert {part: sum(part in heading for heading in headings) for part in counts} == counts
    assert len(headings) == 17
    assert headings[0] == "Sizes (table 9); 20 samples of 5, 10, 20"
    assert list(found[headings[0]]["hans"].values())[:4] == ["120", "30", "3", "3"]
    assert list(found["Accuracy of each model (tables 5 and 6), %"]) == list(QUALITIES)
    pooled = found["Pooled few-shot accuracy, hans, shap, n = 10 (table 3), %"]
    assert pooled["guess, best candidate (step-100)"]["mean"] == "83.3"
    assert pooled["guess, mean of candidates"]["mean"] == "50.0"
    assert any(name.startswith("set-dependent (swap_avg)") for name in pooled)


@pytest.mark.slow
def test_sets_of_two_models_that_are_named_alike_are_pooled(three, tmp_path, capsys):
    qualities = {"step-5": 0.8, "step-100": 0.5, "other": 0.7}
    con = suite(tmp_path / "con", qualities, methods=("lime", "shap"), data="con", **SIZES)
    found = tables(capsys, *three, *con, "--samples", "20")
    shown = found["Few-shot accuracy [95 %], shap, n = 10 (tables 2, 7, 8), %"]
    assert list(shown["acc"]) == ["hans", "con"]
    assert found["Accuracy of each model (tables 5 and 6), %"]["step-25"]["con"] == ""
    heading = "Pooled few-shot accuracy, 2 sets, shap, n = 10 (table 3), %"
    mean = np.mean([float(shown["index_diff"][name].split()[0]) for name in ("hans", "con")])
    assert float(found[heading]["index_diff"]["mean"]) == pytest.approx(mean, abs=0.11)


@pytest.mark.slow
def test_the_terminal_has_80_columns_and_figures_are_drawn(three, tmp_path, capsys):
    report.main(
        [*three, "--figures", str(tmp_path / "figures"), "--n", "5", "--factors", "max_diff,swap_avg,verb,const"]
    )
    text = capsys.readouterr().out
    lines = [line for line in text.splitlines() if str(tmp_path.parent) not in line]
    assert max(map(len, lines)) <= 80
    assert f"hans step-25: {three[1]}" in text
    assert "hans, lime, shap: not defined for any example, and left out: verb, const." in text
    assert "left out: swap" not in text
    assert "have no swapped words" in text
    assert "hans: 3 models that differ in accuracy are too few to say" in " ".join(text.split())
    files = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert files == [f"ranking-{m}-{name}.png" for m in ("lime", "shap") for name in ("against-acc", "pairwise")]
    for file in files:
        assert (tmp_path / "figures" / file).read_bytes().startswith(b"\x89PNG")
        assert f"in {tmp_path}/figures/{file}" in text


def test_results_with_attributions_are_made_of_rows_alone(three):
    assert rescored(three[0]) == Path(three[0], "results.json").read_text()
    assert "attributions/hans/shap/index_diff" in read_results(three[0])["metrics"]


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"examples": 90}, RunError, ["/a", "/b", "30 are in one"]),
        ({"population": 20}, RunError, ["/a", "/b", "10 are in one", "set"]),
        ({"group": "g"}, RunError, ["/a", "/b", "groups"]),
        ({"manifest": "n"}, RunError, ["/a", "/b", "attributions"]),
        ({"methods": ("lime",)}, RunError, ["/a", "/b", "attributions"]),
        ({"population": 0}, RunError, ["/b"]),
        ({"quality": 0.6}, RunError, ["ood"]),
        ({"data": "other"}, RunError, ["ood", "/a"]),
    ],
)
def test_mixtures_are_refused_in_one_sentence(tmp_path, settings, error: type[HeedfulError], facts):
    save(tmp_path / "a", **{"quality": 0.6, **SIZES})
    save(tmp_path / "b", **{"quality": 0.8, **SIZES, **settings})
    with refused(error, *facts):
        report.main([f"{tmp_path}/a", f"{tmp_path}/b"])


def test_sets_are_named_on_the_command_line_or_by_their_data(three, tmp_path):
    sets = sets_of(three, [f"x={','.join(three[:2])}"])
    assert {name: [run.folder for run in runs] for name, runs in sets.items()} == {"x": three[:2], "hans": three}
    results, rows = read_results(three[0]), read_evaluation(three[0], "accuracy")
    write_results(tmp_path / "bare", results, {"accuracy": rows})
    with refused(HeedfulError, tmp_path / "bare", "attributions", "evaluations"):
        report.main([*three, str(tmp_path / "bare")])
    with refused(HeedfulError, "hans", "set"):
        report.main([*three, f"--set=hans={','.join(three)}"])


def test_factors_that_can_rank_nothing_are_left_out(tmp_path, capsys):
    """The parts have no word in common, and IRREG, ADJ and VERB are the same factor outside of MSGS."""
    folders = suite(tmp_path, QUALITIES, data="s", population=1, first=4, examples=120, target="1")
    report.main([*folders, "--samples", "5", "--n", "3", "--l1"])
    text = " ".join(capsys.readouterr().out.split())
    assert "swap_max_diff" not in text.partition("s, shap-l1:")[0]
    assert "s, shap-l1: 0 for all examples, and none has swapped words, and left out: swap_avg, swap_max" in text
    assert "s, shap-l1: the same as irreg, and left out: adj, verb." in text


@pytest.mark.parametrize(
    ("undefined", "without_swap", "factor"),
    [({"verb": 1}, 0, "verb"), ({"verb": 20}, 9, "swap_avg"), ({}, 20, "index_diff")],
)
def test_the_factor_that_fits_a_set_is_defined_for_most_examples(undefined, without_swap, factor):
    population = SimpleNamespace(places=np.arange(30), undefined=undefined, without_swap=without_swap)
    found = SimpleNamespace(tests=dict.fromkeys([*undefined, "swap_avg", "index_diff"]))
    ranking = report.Ranking(SimpleNamespace(populations={"shap": population}), "shap", found)
    assert set_dependent(ranking) == factor


@pytest.mark.slow
def test_near_pairs_are_marked_and_models_without_probabilities_have_no_confidence(tmp_path, capsys):
    """Two of the models have the same accuracy, and so no correct order."""
    qualities = {"a": 0.7, "b": 0.705, "c": 0.2, "twin": 0.2}
    found = tables(capsys, *suite(tmp_path, qualities, data="s", probabilities=False, **SIZES))
    assert list(found["Few-shot accuracy [95 %], shap, n = 10 (tables 2, 7, 8), %"])[:3] == [
        "acc",
        "random",
        "max_diff",
    ]
    header = found["Pairwise accuracy, s, shap, n = 10 (table 4), %"]["acc"]
    assert [{*name.rstrip("*").split(" > ")} for name in header if name.endswith("*")] == [{"a", "b"}]
    assert list(found["Sizes (table 9); 500 samples of 10"]["s"].values())[2:4] == ["4", "5"]
