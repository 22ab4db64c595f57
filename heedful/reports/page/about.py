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
    """The texts that explain an evaluation in plain language."""

    title: str
    families: tuple[str, ...]  # of its numbers: first components of names, such as "attentiveness"
    question: str = ""
    says: Mapping[str, str] = ()  # type: ignore[assignment]  # a sentence with {value}, {part} etc. for each statistic
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
    """Return the texts that explain an evaluation of a run: a plugin has its name as title, a perturbation the
    texts of all perturbations. Without gold labels, the texts of "accuracy" explain only its null control.
    """
    families = {name.family for name in run.numbers if evaluation_of(run, name) == evaluation}
    if run.unlabelled and families == {"null"}:
        return _about(texts("null_control"), "")
    own = texts("perturbation") if run.contexts[evaluation].own.get("perturbation") else {}
    return abouts().get(evaluation) or About(evaluation.replace("_", " "), (evaluation,), **own)


def evaluation_of(run: Run, name: MetricName) -> str:
    """Return the name of the evaluation whose section of a page shows a number of a run; "" for none."""
    families = {key: abouts()[key].families if key in abouts() else (key,) for key in in_order(run)}
    evaluations = [evaluation for evaluation in families if name.family in families[evaluation]]
    if name.family == "transitions" and name.data != run.data and "evidence" in evaluations:
        return "evidence"  # transitions by relevance have another name of the data set
    return next(iter(evaluations), "")


def in_order(run: Run) -> list[str]:
    """Names of the evaluations of a run, in the order in which a page shows them; plugins are last."""
    known = dict.fromkeys(["attentiveness", *abouts()])
    names = run.results["rows"]
    return [*(name for name in known if name in names), *sorted(name for name in names if name not in known)]
