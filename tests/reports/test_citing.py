"""How to report results: what the paragraph must say, and BibTeX that a parser of its own reads."""

import copy
import re
from pathlib import Path

import yaml

from heedful.metrics import METRICS
from heedful.records.storage.results import read_results, read_run
from heedful.records.storage.schema import SCHEMA
from heedful.records.version import AUTHORS, TITLE, VERSION
from heedful.reports.citing import METHODS, bibtex, report_paragraph

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "tests" / "frozen" / f"schema_{SCHEMA}" / "runs"


def entries(text: str) -> dict[str, dict[str, str]]:
    """BibTeX by a reader of the test's own: key to kind and fields."""
    found = {}
    for kind, key, inside in re.findall(r"^@(\w+)\{([\w-]+),\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL):
        fields = re.findall(r"^  (\w+) = \{(.*)\},$", inside, re.MULTILINE)
        assert len(fields) == len(inside.splitlines())
        assert all(value.count("{") == value.count("}") for _, value in fields)
        assert key not in found
        found[key] = {"kind": kind, **dict(fields)}
    return found


def test_the_paragraph_has_each_headline_its_n_interval_draws_and_flags_and_where_it_is_from():
    content = read_results(RUNS / "plain")
    text = report_paragraph(content, read_run(RUNS / "plain"), model="MiniLM")
    m = content["metrics"]["attentiveness/planted/premise"]
    low, high = m["ci95"]
    assert (
        f"premise {100 * m['value']:.2f} ± {100 * m['std']:.2f} [{100 * low:.1f}, {100 * high:.1f}] n={m['n']}" in text
    )
    assert text.startswith(f"We measured MiniLM with Heedful {VERSION} on 40 examples of planted (validation).")
    assert "over 2 draws" in text
    assert "0 of 40 predictions changed" in text
    assert "not_above_majority means: accuracy not above the majority share" in text
    versions = "Python 3.11.7, PyTorch 2.13.0+cpu, Lightning 2.6.6, transformers 5.23.0."
    assert text.endswith(f"Seed 0, precision 32-true, {versions}")
    assert "%" not in text, "LaTeX would take the rest of the line for a comment"


def test_the_paragraph_says_how_intervals_are_made():
    assert "Clopper and Pearson's" in report_paragraph(read_results(RUNS / "plain"))


def test_flips_of_the_null_control_are_counted():
    content = copy.deepcopy(read_results(RUNS / "plain"))
    content["metrics"]["null/planted/flips"] |= {"value": 3 / 40}
    assert "3 of 40 predictions changed" in report_paragraph(content)


def test_what_was_not_measured_is_not_in_it():
    content = copy.deepcopy(read_results(RUNS / "plain"))
    content["metrics"] = {name: m | {"ci95": None, "std": None} for name, m in content["metrics"].items()}
    del content["metrics"]["null/planted/flips"], content["names"]["null/planted/flips"]
    text = report_paragraph(content)
    assert not re.search("null|±|brackets|Intervals|TCE|PyTorch", text)


def test_ratios_are_no_percents():
    content = read_results(RUNS / "natural_logic")
    ratio = content["metrics"]["natural_logic/nlixy/insertion/ratio"]["value"]
    assert f"TCE / DCE insertion (ratio) {ratio:.2f} [" in report_paragraph(content)


def test_a_version_of_heedful_stands_there_where_the_run_has_recorded_it():
    content = read_results(RUNS / "plain")
    assert "with Heedful 9.8.7 on" in report_paragraph(content, {"packages": {"heedful": "9.8.7"}})


def test_every_evaluation_but_plain_accuracy_has_its_paper():
    assert METRICS.keys() - METHODS.keys() == {"accuracy"}


def test_bibtex_has_heedful_and_each_paper_that_was_measured_once():
    found = entries(bibtex(read_results(RUNS / "tables")))
    assert list(found) == ["heedful", "elazar-attentiveness", "gupta-tabular-evidence"]
    assert found["gupta-tabular-evidence"] | {"author": "", "title": ""} == {
        "kind": "article",
        "author": "",
        "title": "",
        "journal": "Transactions of the Association for Computational Linguistics",
        "volume": "10",
        "pages": "659--679",
        "year": "2022",
        "doi": "10.1162/tacl_a_00482",
    }
    assert found["heedful"]["author"] == f"{{{AUTHORS}}}"
    assert list(entries(bibtex(read_results(RUNS / "natural_logic")))) == ["heedful", "rozanova-causal-effects"]


def test_the_citation_file_says_the_same_and_is_what_its_format_asks_for():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cff.keys()
    assert cff["cff-version"] == "1.2.0"
    assert (cff["title"], cff["version"], cff["authors"]) == (TITLE, VERSION, [{"name": AUTHORS}])
