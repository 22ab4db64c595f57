"""Natural logic: sentences with a hole, and pairs of words to fill it, make examples whose labels are known (NLI-XY).

What holds of a sentence when a word in it is replaced follows from the monotonicity of the sentence at that place and
from the relation between the two words, and from nothing else (Rozanova, Valentino and Freitas, 2024).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from heedful.records import DataError
from heedful.records.pool.contents import content_id

CONTEXTS, PAIRS = "contexts.tsv", "insertions.tsv"  # as the authors name the files, and here the messages
MONOTONICITIES = ("up", "down", "neither")
REVERSED = {"leq": "geq", "geq": "leq", "eq": "eq", "none": "none"}
SLOTS = {"s": "singular", "m": "mass", "p": "plural"}  # grammar of a word: the column that lets it into a context
HOLE = re.compile(r"\bx\b")

Row = tuple[int, Mapping[str, str]]  # its number, which messages name; its columns


def gold(monotonicity: str, relation: str) -> str:
    """The label of an example, "entailment" or "non-entailment" (table 1 of the paper).

    The table has the relations leq, geq and none in contexts that are upward or downward monotone. Beyond it, words
    that mean the same (``eq``) entail each other anywhere, and a context that is ``neither`` lets nothing else through.

    Example:
        >>> gold("up", "leq"), gold("down", "leq"), gold("down", "geq"), gold("up", "none")
        ('entailment', 'non-entailment', 'entailment', 'non-entailment')
    """
    entailed = relation == "eq" or (monotonicity, relation) in (("up", "leq"), ("down", "geq"))
    return "entailment" if entailed else "non-entailment"


class Words(NamedTuple):
    """Two words in the order of premise and hypothesis.

    Attributes:
        premise: Word of the premise.
        hypothesis: Word of the hypothesis.
        relation: How the first lies to the second: leq (a boy is a child), geq, eq or none.
        pair: Id of the pair whichever way it stands: "boy/child", by the alphabet.
        slots: Columns that a context must have marked.
    """

    premise: str
    hypothesis: str
    relation: str
    pair: str
    slots: frozenset[str]


def word_pairs(rows: Iterable[Row], where: str = "") -> list[Words]:
    """Each pair of words as it stands, followed by the same pair reversed.

    Args:
        rows: Rows of insertions.tsv.
        where: Folder of the file with a "/" behind it, for messages.

    Raises:
        HeedfulError: A missing column, an empty word, an unknown grammar or relation, a pair of the same word that is
            not eq, or words that stand in an earlier row in the same order with another relation.
    """
    pairs: list[Words] = []
    relations: dict[tuple[str, str], tuple[str, int]] = {}
    for row, values in rows:
        at = f"{where}{PAIRS}, row {row}"
        x, y, relation, *grammars = _cells(values, ("x", "y", "insertion_rel", "x_grammar", "y_grammar"), at)
        if not x or not y:
            raise DataError(f"{at}: the word {'y' if x else 'x'} is empty. Fill it in, or leave its row out.")
        _known(relation, "insertion_rel", REVERSED, at)
        if x == y and relation != "eq":
            raise DataError(f"{at}: both words are {x!r}, and their relation is {relation}. Write eq, or another word.")
        for column, grammar in zip(("x_grammar", "y_grammar"), grammars, strict=True):
            _known(grammar, column, SLOTS, at)
        before, first = relations.setdefault((x, y), (relation, row))
        if before != relation:
            raise DataError(
                f"{at}: {x!r} and {y!r} have the relation {relation}, and in row {first} {before}. Mend one of the two "
                "rows."
            )
        pair = "/".join(sorted((x, y)))
        slots = frozenset(SLOTS[g] for g in grammars)
        pairs += [Words(x, y, relation, pair, slots), Words(y, x, REVERSED[relation], pair, slots)]
    return pairs


class Sentence(NamedTuple):
    """A sentence with a hole.

    Attributes:
        context: Id of its content (:func:`~heedful.records.pool.contents.content_id`), 16 digits of it.
        text: The sentence, in which x stands for the word.
        monotonicity: up, down or neither.
        operator: The word that makes it so, or "".
        slots: The columns that are marked, in their order.
    """

    context: str
    text: str
    monotonicity: str
    operator: str
    slots: tuple[str, ...]


def sentences(rows: Iterable[Row], where: str = "") -> list[Sentence]:
    """The sentences of contexts.tsv in an order that does not depend on that of its rows.

    Args:
        rows: Rows of contexts.tsv.
        where: Folder of the file with a "/" behind it, for messages.

    Raises:
        HeedfulError: A context without x or with several, with an unknown monotonicity or mark, or with another
            monotonicity than in an earlier row.
    """
    unsorted: list[Sentence] = []
    first: dict[str, tuple[int, str]] = {}
    for row, values in rows:
        at = f"{where}{CONTEXTS}, row {row}"
        names = ("context", "monotonicity", "operator", *SLOTS.values())
        text, monotonicity, operator, *cells = _cells(values, names, at)
        if (holes := len(HOLE.findall(text))) != 1:
            raise DataError(f"{at}: the context {text!r} has {holes or 'no'} x. Write one x, where the words go.")
        _known(monotonicity, "monotonicity", MONOTONICITIES, at)
        marks = dict(zip(SLOTS.values(), cells, strict=True))
        for slot, mark in marks.items():
            _known(mark, slot, ("x", ""), at)
        context = content_id(text)[:16]
        earlier, before = first.setdefault(context, (row, monotonicity))
        if before != monotonicity:
            raise DataError(
                f"{at}: the context {text!r} is {monotonicity}, and in row {earlier} {before}. Mend one of the two "
                "rows."
            )
        slots = tuple(slot for slot, mark in marks.items() if mark)
        unsorted.append(Sentence(context, text, monotonicity, operator, slots))
    return sorted(unsorted)


def compose(contexts: Iterable[Row], pairs: Iterable[Row], where: str = "") -> Iterator[dict[str, str]]:
    """Every pair of words in every context that takes them, both ways.

    The first word replaces the x of the context in the premise, the second in the hypothesis. A pair fits a context
    that is marked for the grammar of both words. A pair that is given twice counts once. A sentence that is given twice
    yields its examples twice, with the same ``context``, and with "#2" at the end of the second uid.

    Args:
        contexts: (row, columns) pairs of contexts.tsv.
        pairs: (row, columns) pairs of insertions.tsv.
        where: Folder of both with a "/" behind it, for messages.

    Yields:
        Rows with uid, premise, hypothesis, gold, context, insertion, pair, monotonicity, relation, operator (or "").
        They are the same for all orders of the two files. ``context`` identifies the sentence by its content;
        ``insertion`` names the words in their order, ``pair`` in either.

    Raises:
        HeedfulError: What :func:`word_pairs` and :func:`sentences` refuse. The message names the file and the row.
    """
    words = word_pairs(pairs, where)
    again: Counter[str] = Counter()
    for context, text, monotonicity, operator, slots in sentences(contexts, where):
        before_hole, behind_hole = HOLE.split(text)
        fitting = dict.fromkeys(each[:4] for each in words if each.slots <= {*slots})
        for premise, hypothesis, relation, pair in fitting:
            uid = f"{context}/{premise}|{relation}|{hypothesis}"
            again[uid] += 1
            yield {
                "uid": f"{uid}#{again[uid]}" if again[uid] > 1 else uid,
                "premise": before_hole + premise + behind_hole,
                "hypothesis": before_hole + hypothesis + behind_hole,
                "gold": gold(monotonicity, relation),
                "context": context,
                "insertion": f"{premise}|{hypothesis}",
                "pair": pair,
                "monotonicity": monotonicity,
                "relation": relation,
                "operator": operator,
            }


def _cells(values: Mapping[str, str], names: Iterable[str], at: str) -> list[str]:
    """The cells of these columns, stripped."""
    for name in names:
        if name not in values:
            raise DataError(f"{at}: there is no column {name!r}. The columns are {', '.join(values)}.")
    return [values[name].strip() for name in names]


def _known(value: str, name: str, allowed: Iterable[str], at: str) -> None:
    if value not in allowed:
        listed = " or ".join(v or "nothing" for v in allowed)
        raise DataError(f"{at}: the column {name} does not allow {value!r}. Write {listed}.")
