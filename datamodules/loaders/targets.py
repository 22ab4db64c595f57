"""Find the target word of each MSGS sentence, the word that decides its linguistic label.

MSGS (Warstadt et al., 2020, "Learning Which Features Matter") consists of paradigms: sentences that differ only as
their labels require. Two sentences of a paradigm and condition with different linguistic labels are siblings. The
target depends on the task:

- **Irregular form**: the verb of the second clause, that is, of the words after the last "and". The target is the first
  word of the clause that is neither in the sibling's second clause nor a determiner. With label 0, the verb is regular.
- **Adjective**: with label 1, the adjective of the second clause: the only word that is in no second clause of a
  sentence with label 0. With label 0, the word in the place of an adjective: the first word after the last form of "be"
  that is not a determiner.
- **Main verb**: with label 1, the only progressive form. With label 0, another form of the same verb. Of several such
  forms, the target is the one whose following words agree longest with the words after the sibling's verb.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from os.path import commonprefix

from heedful.records.storage.yaml_files import word_lists
from heedful.records.text import words

LISTS = word_lists(__file__)
BE = frozenset(LISTS["be"])
DETERMINERS = frozenset(LISTS["determiners"])
AND = "and"
# triples (paradigm and condition, words, whether the linguistic label is 1), one per sentence of a file
Sentences = Sequence[tuple[str, Sequence[str], bool]]


def targets(task: str, sentences: Iterable[tuple[str, str, bool]]) -> list[int | None]:
    """Find the target word of each MSGS sentence, the word that decides its linguistic label.

    Args:
        task: Name of the task; only the tasks in :data:`FINDERS` have targets.
        sentences: All sentences of a file: (paradigm and condition, sentence, whether the linguistic label is 1).

    Returns:
        For each sentence, the index of the target among its words (:func:`heedful.records.text.words`), or
        None if the target is unknown.
    """
    listed = [(key, tuple(words(sentence)), label) for key, sentence, label in sentences]
    if task not in FINDERS:
        return [None] * len(listed)
    return FINDERS[task](listed)


def _pairs(sentences: Sentences) -> Iterable[tuple[int, int]]:
    """Yield index pairs of siblings, the only two of their group: (sentence with label 1, sentence with label 0)."""
    siblings: Mapping[str, list[int]] = defaultdict(list)
    for i, (key, _, _) in enumerate(sentences):
        siblings[key].append(i)
    for several in siblings.values():
        several.sort(key=lambda i: not sentences[i][2])
        if [sentences[i][2] for i in several] == [True, False]:
            yield several[0], several[1]


def irregular_forms(sentences: Sentences) -> list[int | None]:
    """Return the index of the verb in the second clause of each sentence; None if the verb is not found.

    The verb is an irregular form ("drew") if the label is 1, and a regular form if the label is 0. A sentence without
    exactly one sibling has no index.

    Args:
        sentences: As :data:`Sentences`.
    """
    # The second clauses of siblings differ in the verb, and after it: so the verb is the first word that the clause of
    # the sibling lacks. Determiners are skipped, as they may differ.
    places: list[int | None] = [None] * len(sentences)
    for pair in _pairs(sentences):
        for i, sibling in (pair, pair[::-1]):
            words, clause = sentences[i][1], sentences[sibling][1][_second_clause(sentences[sibling][1]) :]
            unshared = (k for k in range(_second_clause(words), len(words)) if words[k] not in {*clause, *DETERMINERS})
            places[i] = next(unshared, None)
    return places


def adjectives(sentences: Sentences) -> list[int | None]:
    """Return the index of the adjective in each sentence, or of the word in its place; None if it is unclear.

    A sentence with label 1 has an adjective in the second clause. A sentence with label 0 has none. The word in its
    place is the first word after a form of "be" that is not a determiner: "doctor" in "... and he is the doctor".

    Args:
        sentences: As :data:`Sentences`.
    """
    # with label 1, the adjective is the only word that is in the second clause of no sentence with label 0
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


def main_verbs(sentences: Sentences) -> list[int | None]:
    """Return the index of the main verb in each sentence; None if the verb is not found.

    The verb is a progressive form ("is drawing") if the label is 1, and another form of the same verb if the label is
    0. A sentence without exactly one sibling has no index.

    Args:
        sentences: As :data:`Sentences`.
    """
    # A sentence with label 1 has only one progressive form. It names the verb, of which the sibling has another form.
    places: list[int | None] = [None] * len(sentences)
    for i, sibling in _pairs(sentences):
        progressive = _progressive(sentences[i][1])
        if len(progressive) == 1:
            places[i] = progressive[0]
            places[sibling] = _same_verb(sentences[i][1], progressive[0], sentences[sibling][1])
    return places


def _same_verb(sentence: Sequence[str], verb: int, sibling: Sequence[str]) -> int | None:
    """Return the index in ``sibling`` of the best matching form of the verb; None if no form, or several, match."""
    forms = _forms(sentence[verb])
    progressive = _progressive(sibling)
    candidates = [i for i, word in enumerate(sibling) if word in forms and i not in progressive]
    shared = {i: len(commonprefix([list(sentence[verb + 1 :]), list(sibling[i + 1 :])])) for i in candidates}
    best = [i for i in candidates if shared[i] == max(shared.values())]
    return best[0] if len(best) == 1 else None


def _second_clause(sentence: Sequence[str]) -> int:
    """Return the index of the first word after the last "and"; without "and", the length of the sentence."""
    return len(sentence) - sentence[::-1].index(AND) if AND in sentence else len(sentence)


def _progressive(sentence: Sequence[str]) -> list[int]:
    """Return the indices of the words after a form of "be"; in MSGS tasks about main verbs, they are participles."""
    return [i for i in range(1, len(sentence)) if sentence[i - 1] in BE]


def _forms(progressive: str) -> frozenset[str]:
    """Return candidate forms of a verb, derived from its progressive form by spelling rules; some are not words.

    Example:
        >>> sorted({"hug", "hugs", "hugged", "hide", "hid"} & (_forms("hugging") | _forms("hiding")))
        ['hid', 'hide', 'hug', 'hugged', 'hugs']
    """
    stem = progressive.removesuffix("ing")
    stems = {stem, f"{stem}e", stem[:-1]} if stem[-1:] == stem[-2:-1] else {stem, f"{stem}e"}
    regular = {form for s in stems for form in (s, f"{s}s", f"{s}es", f"{s}ed", f"{s}d")}
    if stem.endswith("y"):
        regular |= {f"{stem[:-1]}ies", f"{stem[:-1]}ied"}
    return frozenset(regular | {progressive} | set(LISTS["irregular"].get(progressive, ())))


FINDERS: Mapping[str, Callable[[Sentences], list[int | None]]] = {
    "irregular_form_lexical_content_the": irregular_forms,
    "syntactic_category_lexical_content_the": adjectives,
    "main_verb_lexical_content_the": main_verbs,
}
