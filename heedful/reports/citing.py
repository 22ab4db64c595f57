"""BibTeX of Heedful and of the papers that define its evaluations; ``papers.bib`` holds the entries of the papers."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from heedful.records.storage.schema import AUTHORS, TITLE, VERSION

EVALUATIONS = {  # by key in papers.bib
    "elazar-attentiveness": ("attentiveness", "answers", "default_label", "naive_partial"),
    "gupta-tabular-evidence": ("table_rows", "evidence", "challenge", "counterfactual_tables"),
    "rozanova-causal-effects": ("natural_logic", "two_class"),
    "singhal-few-examples": ("attributions",),
}
PAPERS = {evaluation: key for key, evaluations in EVALUATIONS.items() for evaluation in evaluations}
HEEDFUL = (
    f"@software{{heedful,\n  author = {{{{{AUTHORS}}}}},\n  title = {{{{{TITLE}}}}},\n  version = {{{VERSION}}},\n}}\n"
)


@cache
def _entries() -> dict[str, str]:
    """Read papers.bib, and return the text of each entry by its key."""
    text = Path(__file__).with_name("papers.bib").read_text(encoding="utf-8")
    return {re.search(r"{(.*),", entry)[1]: f"{entry.strip()}\n" for entry in text.split("\n\n")}  # type: ignore[index]


def bibtex(content: Mapping[str, Any]) -> str:
    """Return the BibTeX of Heedful and of the papers on the evaluations of a run. ``content`` is its results.json."""
    keys = dict.fromkeys(PAPERS[name] for name in PAPERS if name in content["rows"])
    return "\n".join([HEEDFUL, *(_entries()[key] for key in keys)])


def paper_of(evaluation: str) -> str:
    """Return author and title of the paper that defines an evaluation, as "Elazar et al., “Measuring ...”", or ""."""
    if evaluation not in PAPERS:
        return ""
    ((author, title),) = re.findall(r"author = {(.*?) and .*\n  title = {{(.*)}}", _entries()[PAPERS[evaluation]])
    return f"{author.rpartition(' ')[2]} et al., “{title}”"
