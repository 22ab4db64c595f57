"""Natural logic: sentences with a hole and word pairs to fill it give examples with known labels (NLI-XY).

The label follows from the monotonicity of the sentence at the hole and from the relation between the two words
(Rozanova, Valentino and Freitas, 2024).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from heedful.records import DataError
from heedful.records.pool.contents import content_id

CONTEXTS, PAIRS = "contexts.tsv", "insertions.tsv"  # file names of the authors, used in messages
MONOTONICITIES = ("up", "down", "neither")
REVERSED = {"leq": "geq", "geq": "leq", "eq": "eq", "none": "none"}
SLOTS = {"s": "singular", "m": "mass", "p": "plural"}  # grammar of a word to the column of contexts that allow it
HOLE = re.compile(r"\bx\b")

Row = tuple[int, Mapping[str, str]]  # row number for messages, columns


def gold(monotonicity: str, relation: str) -> str:
    """The label of an example, "entailment" or "non-entailment" (table 1 of the paper).

    The table has the relations leq, geq and none in upward and downward monotone contexts. In addition, synonyms
    (``eq``) entail each other in every context, and a context that is ``neither`` gives no other entailment.

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
        relation: Relation of the first word to the second: leq (a boy is a child), geq, eq or none.
        pair: Id of the pair in both orders: "boy/child", sorted.
        slots: Columns that must be marked in a context.
    """

    premise: str
    hypothesis: str
    relation: str
    pair: str
    slots: frozenset[str]


def word_pairs(rows: Iterable[Row], where: str = "") -> list[Words]:
    """Each pair of words, followed by the reversed pair.

    Args:
        rows: Rows of insertions.tsv.
        where: Folder of the file, with a final "/", for messages.

    Raises:
        DataError: A missing column, an unknown grammar or relation, or words with another relation in an earlier row.
    """
    pairs: list[Words] = []
    relations: dict[tuple[str, str], tuple[str, int]] = {}
    for row, values in rows:
        at = f"{where}{PAIRS}, row {row}"
        x, y, relation, *grammars = _cells(values, ("x", "y", "insertion_rel", "x_grammar", "y_grammar"), at)
        _known(relation, "insertion_rel", REVERSED, at)
        for column, grammar in zip(("x_grammar", "y_grammar"), grammars, strict=True):
            _known(grammar, column, SLOTS, at)
        before, first = relations.setdefault((x, y), (relation, row))
        if before != relation:
            raise DataError(
                f"{at}: {x!r} and {y!r} have the relation {relation}, and in row {first} {before}. Correct one row."
            )
        pair = "/".join(sorted((x, y)))
        slots = frozenset(SLOTS[g] for g in grammars)
        pairs += [Words(x, y, relation, pair, slots), Words(y, x, REVERSED[relation], pair, slots)]
    return pairs


class Sentence(NamedTuple):
    """A sentence with a hole.

    Attributes:
        context: The first 16 digits of its :func:`~heedful.records.pool.contents.content_id`.
        text: The sentence, with x in place of the word.
        monotonicity: up, down or neither.
        operator: The word that causes the monotonicity, or "".
        slots: The marked columns, in their order.
    """

    context: str
    text: str
    monotonicity: str
    operator: str
    slots: tuple[str, ...]


def sentences(rows: Iterable[Row], where: str = "") -> list[Sentence]:
    """The sentences of contexts.tsv, in an order that is independent of the order of rows.

    Args:
        rows: Rows of contexts.tsv.
        where: Folder of the file, with a final "/", for messages.

    Raises:
        DataError: A context without exactly one x, with an unknown monotonicity or mark, or with another monotonicity
            in an earlier row.
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
                f"{at}: the context {text!r} is {monotonicity}, and in row {earlier} {before}. Correct one row."
            )
        slots = tuple(slot for slot, mark in marks.items() if mark)
        unsorted.append(Sentence(context, text, monotonicity, operator, slots))
    return sorted(unsorted)


def compose(contexts: Iterable[Row], pairs: Iterable[Row], where: str = "") -> Iterator[dict[str, str]]:
    """Compose every pair of words, in both orders, with every context that allows its grammar.

    The first word replaces the x of the context in the premise, the second in the hypothesis. A repeated pair counts
    once. A repeated sentence yields its examples twice, with the same ``context`` and a second uid that ends in "#2".

    Args:
        contexts: Rows of contexts.tsv.
        pairs: Rows of insertions.tsv.
        where: Folder of both files, with a final "/", for messages.

    Yields:
        Rows with uid, premise, hypothesis, gold, context, insertion, pair, monotonicity, relation, operator (or ""),
        independent of the order of both files. ``context`` identifies the sentence by its content; ``insertion`` has
        the words in their order, ``pair`` in sorted order.

    Raises:
        HeedfulError: See :func:`word_pairs` and :func:`sentences`. The message has the file and the row.
    """
    words = word_pairs(pairs, where)
    repeats: Counter[str] = Counter()
    for context, text, monotonicity, operator, slots in sentences(contexts, where):
        prefix, suffix = HOLE.split(text)
        fitting = dict.fromkeys(each[:4] for each in words if each.slots <= {*slots})
        for premise, hypothesis, relation, pair in fitting:
            uid = f"{context}/{premise}|{relation}|{hypothesis}"
            repeats[uid] += 1
            yield {
                "uid": f"{uid}#{repeats[uid]}" if repeats[uid] > 1 else uid,
                "premise": prefix + premise + suffix,
                "hypothesis": prefix + hypothesis + suffix,
                "gold": gold(monotonicity, relation),
                "context": context,
                "insertion": f"{premise}|{hypothesis}",
                "pair": pair,
                "monotonicity": monotonicity,
                "relation": relation,
                "operator": operator,
            }


def _cells(values: Mapping[str, str], names: Iterable[str], at: str) -> list[str]:
    """Stripped cells of some columns."""
    for name in names:
        if name not in values:
            raise DataError(f"{at}: there is no column {name!r}. The columns are {', '.join(values)}.")
    return [values[name].strip() for name in names]


def _known(value: str, name: str, allowed: Iterable[str], at: str) -> None:
    if value not in allowed:
        listed = " or ".join(v or "nothing" for v in allowed)
        raise DataError(f"{at}: the column {name} does not allow {value!r}. Write {listed}.")
