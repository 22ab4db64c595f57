"""BibTeX of the measured evaluations."""

import re
from pathlib import Path

import yaml

from heedful.records.storage.results import read_results
from heedful.records.storage.schema import SCHEMA
from heedful.records.version import AUTHORS, TITLE, VERSION
from heedful.reports.citing import bibtex

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "tests" / "frozen" / f"schema_{SCHEMA}" / "runs"


def entries(text: str) -> dict[str, dict[str, str]]:
    """Parse BibTeX: kind and fields by key."""
    found = {}
    for kind, key, inside in re.findall(r"^@(\w+)\{([\w-]+),\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL):
        fields = re.findall(r"^  (\w+) = \{(.*)\},$", inside, re.MULTILINE)
        assert len(fields) == len(inside.splitlines())
        assert all(value.count("{") == value.count("}") for _, value in fields)
        assert key not in found
        found[key] = {"kind": kind, **dict(fields)}
    return found


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
