"""Texts of a page that explain evaluations in plain language, from about.yaml; and the order of evaluations."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from heedful.records import MetricName
from heedful.records.storage.yaml_files import read_yaml
from heedful.reports.citing import paper_of
from heedful.reports.runs import Run


@dataclass(frozen=True)
class About:
    """The texts that explain an evaluation in plain language.

    Attributes:
        title: Title of the evaluation.
        families: Families of its numbers; a family is the first component of a name, such as "attentiveness".
        question: The question that the evaluation answers.
        says: A sentence about its number for each statistic, with the placeholders {value}, {part}, {data}, {title}.
        reading: How to read the numbers.
        limits: Conclusions that the numbers do not allow.
        paper: The paper that defines the evaluation; "" for none.
    """

    title: str
    families: tuple[str, ...]
    question: str = ""
    says: Mapping[str, str] = ()  # type: ignore[assignment]
    reading: str = ""
    limits: str = ""
    paper: str = ""


@cache
def texts(section: str) -> Mapping[str, Any]:
    """Read one section of about.yaml, such as "evaluations" or "counts"."""
    path = str(Path(__file__).with_name("about.yaml"))
    content: Mapping[str, Any] = read_yaml(path, path)
    return content[section]


@cache
def abouts() -> Mapping[str, About]:
    """Return the texts of about.yaml that explain evaluations, by name of the evaluation.

    Example:
        >>> abouts()["attentiveness"].title
        'Attentiveness'
    """
    return {name: _about(entry, paper_of(name)) for name, entry in texts("evaluations").items()}


def _about(entry: Mapping[str, Any], paper: str) -> About:
    return About(**{**entry, "families": tuple(entry["families"]), "paper": paper})


def about_of(run: Run, evaluation: str) -> About:
    """Return the texts that explain an evaluation of a run. An evaluation of a plugin has a title, its name; if it is a
    perturbation, also the texts of all perturbations.

    Without gold labels, the texts of "accuracy" explain only its null control (a second prediction of equal inputs).
    """
    families = {name.family for name in run.numbers if evaluation_of(run, name) == evaluation}
    if run.unlabelled and families == {"null"}:
        return _about(texts("null_control"), "")
    own = texts("perturbation") if run.contexts[evaluation].own.get("perturbation") else {}
    return abouts().get(evaluation) or About(evaluation.replace("_", " "), (evaluation,), **own)


def evaluation_of(run: Run, name: MetricName) -> str:
    """Return the name of the evaluation whose section of a page shows a number of a run; "" for none.

    The family of a number is the first component of its name, such as "attentiveness". The result is the first
    evaluation on the page that lists this family (:attr:`About.families`). Exception: a number of the family
    "transitions" with another data set than the run belongs to "evidence", if the run has this evaluation.
    """
    evaluations = [
        evaluation
        for evaluation in run.results["rows"]
        if name.family in (abouts()[evaluation].families if evaluation in abouts() else (evaluation,))
    ]
    if name.family == "transitions" and name.data != run.data and "evidence" in evaluations:
        return "evidence"  # transitions by relevance have another name of the data set
    return min(evaluations, key=_rank, default="")


def _rank(evaluation: str) -> int:
    """Return the position of an evaluation on a page; evaluations of plugins are last."""
    order = ["attentiveness", *abouts()]
    return order.index(evaluation) if evaluation in order else len(order)


def in_order(run: Run) -> list[str]:
    """Names of the evaluations of a run, in the order in which a page shows them."""
    return sorted(run.results["rows"], key=lambda name: (_rank(name), name))
