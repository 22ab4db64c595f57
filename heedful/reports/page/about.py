"""Each evaluation in words, for whoever has never heard of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from heedful.records.storage.yaml_files import read_yaml
from heedful.reports.citing import paper_of


@dataclass(frozen=True)
class About:
    """What people must know of an evaluation.

    Attributes:
        title: Its name for people.
        families: Which numbers are its own.
        question: What it asks, in a sentence.
        says: Statistic to a sentence that says it, with the places {value}, {part} and {data}.
        reading: How its numbers are read.
        limits: What they cannot say.
        paper: The paper that it is from; "" for none.
    """

    title: str
    families: tuple[str, ...]
    question: str
    says: Mapping[str, str]
    reading: str
    limits: str
    paper: str


@cache
def _texts() -> Mapping[str, Any]:
    path = str(Path(__file__).with_name("about.yaml"))
    texts: Mapping[str, Any] = read_yaml(path, path)
    return texts


@cache
def abouts() -> Mapping[str, About]:
    """Evaluation to what people must know of it.

    Example:
        >>> abouts()["attentiveness"].title
        'Attentiveness'
    """
    return {name: _about(about, paper_of(name)) for name, about in _texts()["evaluations"].items()}


def about_null_control() -> About:
    """What people must know of an evaluation of which nothing but the null control is left, without gold labels."""
    return _about(_texts()["null_control"], "")


def _about(texts: Mapping[str, Any], paper: str) -> About:
    return About(**{**texts, "families": tuple(texts["families"]), "paper": paper})
