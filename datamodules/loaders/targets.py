"""Where the word stands that decides the linguistic label of a sentence of MSGS, found by its paradigm's siblings.

MSGS (Warstadt et al., 2020, "Learning Which Features Matter") is made in paradigms: sentences with the same words as
far as their labels allow. The siblings of a sentence are those of its paradigm and condition, one of each linguistic
label.

- The **irregular form** is the verb of the second clause. Siblings share their clauses but for that verb, its object's
  preposition and "the": it is the first word behind the last "and" that they do not share and that is not a determiner.
  A sentence of the label 0 has a regular verb in that place.
- The **adjective** stands behind the last "and" in sentences of the label 1, and sentences of the label 0 have none
  there: it is the one word that never stands there in a sentence of the label 0. In a sentence of the label 0, the
  place is that of a predicate adjective: the first word behind the last form of "be" that is not a determiner.
- The **main verb** of the label 1 is the sentence's one progressive form. That of the label 0 is another form of the
  same verb; of several such words, the one with most of the same words behind it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from os.path import commonprefix

from heedful.records.parts.words import words
from heedful.records.word_lists import word_lists

LISTS = word_lists(__file__)
BE = frozenset(LISTS["be"])
DETERMINERS = frozenset(LISTS["determiners"])
AND = "and"
Sentences = Sequence[tuple[Sequence[str], bool]]  # words and whether the linguistic label is 1, of siblings
Finder = Callable[[Sentences], list[int | None]]


def targets(task: str, sentences: Iterable[tuple[str, str, bool]]) -> list[int | None]:
    """The number of the target word in each sentence, from 0, as :func:`heedful.records.parts.words.words` has them.

    Args:
        task: The name of the task; one of :data:`FINDERS`, others have no targets.
        sentences: (paradigm and condition, sentence, whether the linguistic label is 1) of a whole file.

    Returns:
        For each sentence a number; None where none can be told.
    """
    listed = [(key, tuple(words(sentence)), label) for key, sentence, label in sentences]
    if task not in FINDERS:
        return [None] * len(listed)
    return FINDERS[task](listed)


def _pairs(sentences: Sequence[tuple[str, Sequence[str], bool]]) -> Iterable[tuple[int, int]]:
    """The numbers of siblings, that of the label 1 first; none where a paradigm does not have one of each label."""
    siblings: Mapping[str, list[int]] = defaultdict(list)
    for i, (key, _, _) in enumerate(sentences):
        siblings[key].append(i)
    for several in siblings.values():
        several.sort(key=lambda i: not sentences[i][2])
        if [sentences[i][2] for i in several] == [True, False]:
            yield several[0], several[1]


def irregular_forms(sentences: Sequence[tuple[str, Sequence[str], bool]]) -> list[int | None]:
    """The places of the verbs of the second clauses: see the module."""
    places: list[int | None] = [None] * len(sentences)
    for pair in _pairs(sentences):
        clauses = [_second_clause(sentences[i][1]) for i in pair]
        for i, start, other in zip(pair, clauses, reversed(clauses), strict=True):
            sentence = sentences[i][1]
            sibling = sentences[pair[i == pair[0]]][1]
            places[i] = _first_unshared(sentence, start, sibling[other:])
    return places


def _first_unshared(sentence: Sequence[str], start: int, clause: Sequence[str]) -> int | None:
    """The first word from a place on that does not stand in the clause of the sibling, and is not a determiner."""
    return next(
        (i for i in range(start, len(sentence)) if sentence[i] not in clause and sentence[i] not in DETERMINERS), None
    )


def adjectives(sentences: Sequence[tuple[str, Sequence[str], bool]]) -> list[int | None]:
    """The places of adjectives, or of what stands where one might: see the module."""
    without = {word for _, sentence, label in sentences if not label for word in sentence[_second_clause(sentence) :]}
    places: list[int | None] = []
    for _, sentence, label in sentences:
        clause = range(_second_clause(sentence), len(sentence))
        if label:
            candidates = [i for i in clause if sentence[i] not in without]
        else:
            copula = max((i for i in clause if sentence[i] in BE), default=len(sentence))
            candidates = [i for i in clause if i > copula and sentence[i] not in DETERMINERS][:1]
        places.append(candidates[0] if len(candidates) == 1 else None)
    return places


def main_verbs(sentences: Sequence[tuple[str, Sequence[str], bool]]) -> list[int | None]:
    """The places of main verbs: see the module."""
    places: list[int | None] = [None] * len(sentences)
    for one, other in _pairs(sentences):
        progressive = _progressive(sentences[one][1])
        if len(progressive) != 1:
            continue
        places[one] = progressive[0]
        places[other] = _same_verb(sentences[one][1], progressive[0], sentences[other][1])
    return places


def _same_verb(sentence: Sequence[str], verb: int, sibling: Sequence[str]) -> int | None:
    """The place in a sibling of another form of the verb at a place of a sentence; None where it cannot be told."""
    forms = _forms(sentence[verb])
    progressive = _progressive(sibling)
    candidates = [i for i, word in enumerate(sibling) if word in forms and i not in progressive]
    shared = {i: len(commonprefix([list(sentence[verb + 1 :]), list(sibling[i + 1 :])])) for i in candidates}
    best = [i for i in candidates if shared[i] == max(shared.values())]
    return best[0] if len(best) == 1 else None


def _second_clause(sentence: Sequence[str]) -> int:
    """The place behind the last "and"."""
    return len(sentence) - sentence[::-1].index(AND) if AND in sentence else len(sentence)


def _progressive(sentence: Sequence[str]) -> list[int]:
    """The places of all words behind a form of "be", which the grammar of main verbs puts before participles alone."""
    return [i for i in range(1, len(sentence)) if sentence[i - 1] in BE]


def _forms(progressive: str) -> frozenset[str]:
    """The forms of a verb by its progressive one, those among them that no verb has.

    Example:
        >>> sorted({"hug", "hugs", "hugged", "hide", "hid"} & (_forms("hugging") | _forms("hiding")))
        ['hid', 'hide', 'hug', 'hugged', 'hugs']
    """
    stem = progressive.removesuffix("ing")
    stems = {stem, f"{stem}e", stem[:-1]} if stem[-1:] == stem[-2:-1] else {stem, f"{stem}e"}
    regular = {made for s in stems for made in (s, f"{s}s", f"{s}es", f"{s}ed", f"{s}d")}
    if stem.endswith("y"):
        regular |= {f"{stem[:-1]}ies", f"{stem[:-1]}ied"}
    return frozenset(regular | {progressive} | set(LISTS["irregular"].get(progressive, ())))


FINDERS: Mapping[str, Callable[[Sequence[tuple[str, Sequence[str], bool]]], list[int | None]]] = {
    "irregular_form_lexical_content_the": irregular_forms,
    "syntactic_category_lexical_content_the": adjectives,
    "main_verb_lexical_content_the": main_verbs,
}
