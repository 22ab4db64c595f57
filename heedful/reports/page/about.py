"""Texts of a page that explain evaluations in plain language, from about.yaml; and the order of evaluations."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from heedful.records import MetricName
from heedful.records.storage.yaml_files import read_yaml
from heedful.reports.citing import paper_of
from heedful.reports.runs import Run


class About(NamedTuple):
    """The texts that explain an evaluation in plain language."""

    title: str
    families: Sequence[str]  # of its numbers: first components of names, such as "attentiveness"
    says: Mapping[str, str]  # a sentence with {value}, {part} etc. for each statistic
    question: str = ""
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
    return {name: About(**entry, paper=paper_of(name)) for name, entry in texts("evaluations").items()}


def about_of(run: Run, evaluation: str) -> About:
    """Return the texts that explain an evaluation of a run: a plugin has its name as title, a perturbation the
    texts of all perturbations. Without gold labels, the texts of "accuracy" explain only its null control.
    """
    families = {name.family for name in run.numbers if evaluation_of(run, name) == evaluation}
    if run.unlabelled and families == {"null"}:
        return About(**texts("null_control"))
    entry = texts("perturbation") if run.contexts[evaluation].own.get("perturbation") else {"says": {}}
    return abouts().get(evaluation) or About(evaluation.replace("_", " "), (evaluation,), **entry)


def evaluation_of(run: Run, name: MetricName) -> str:
    """Return the name of the evaluation whose section of a page shows a number of a run; "" for none."""
    families = {key: abouts()[key].families if key in abouts() else (key,) for key in in_order(run)}
    evaluations = [key for key in families if name.family in families[key]]
    if name.family == "transitions" and name.data != run.data and "evidence" in evaluations:
        return "evidence"  # transitions by relevance have another name of the data set
    return next(iter(evaluations), "")


def in_order(run: Run) -> list[str]:
    """Names of the evaluations of a run, in the order in which a page shows them; plugins are last."""
    order = dict.fromkeys(["attentiveness", *abouts(), *sorted(run.results["rows"])])
    return [name for name in order if name in run.results["rows"]]
