"""BibTeX of the measured evaluations."""

import re
from pathlib import Path

import yaml

from heedful.records.storage.results import read_results
from heedful.records.storage.schema import AUTHORS, SCHEMA, TITLE, VERSION
from heedful.reports.citing import bibtex

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "tests" / "frozen" / f"schema_{SCHEMA}" / "runs"


def test_bibtex_has_heedful_and_each_paper_that_was_measured_once():
    text = bibtex(read_results(RUNS / "tables"))
    assert re.findall(r"^@\w+{(.*),$", text, re.MULTILINE) == [
        "heedful",
        "elazar-attentiveness",
        "gupta-tabular-evidence",
    ]
    assert text.count("{") == text.count("}")
    assert "  doi = {10.1162/tacl_a_00482},\n" in text
    assert f"author = {{{{{AUTHORS}}}}}" in text


def test_the_citation_file_says_the_same_and_is_what_its_format_asks_for():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cff.keys()
    assert cff["cff-version"] == "1.2.0"
    assert (cff["title"], cff["version"], cff["authors"]) == (TITLE, VERSION, [{"name": AUTHORS}])
