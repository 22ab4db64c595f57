"""Loader of NLI-XY (Rozanova et al., 2022): a premise and a hypothesis are one context with two different words.

A context is a sentence with a gap, "x". The first word of a pair fills the gap in the premise, the second word in the
hypothesis. The label follows from the monotonicity of the context and the relation between the words.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from heedful.datamodules.loaders.pairs import Columns, to_examples
from heedful.datamodules.sources.readers import read
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import Rows, require_column
from heedful.records import DataError, Examples, inform
from heedful.records.example import content_id

META = ("context", "insertion", "pair", "monotonicity", "relation", "operator")
PARTS = {"premise": "premise", "hypothesis": "hypothesis"}
COLUMNS = Columns(PARTS, "gold", {"entailment": (), "non-entailment": ()}, "uid", meta=META)
CONTEXTS, PAIRS = "contexts.tsv", "insertions.tsv"  # names of the published files, for messages
MONOTONICITIES = ("up", "down", "neither")
REVERSED = {"leq": "geq", "geq": "leq", "eq": "eq", "none": "none"}
SLOTS = {"s": "singular", "m": "mass", "p": "plural"}  # maps a word's grammar to the column of contexts that allow it
HOLE = re.compile(r"\bx\b")
Row = tuple[int, Mapping[str, str]]  # number of the row, and its values by column


def has_split(path: str | Path, split: str) -> bool:
    """Whether the folder ``path`` has a subfolder ``split`` with the file contexts.tsv."""
    return (Path(path) / split / CONTEXTS).is_file()


def load_natural_logic(
    source: Source | str | Path, columns: Columns = COLUMNS, split: Split | str = "train"
) -> Examples:
    """Load the examples of a split of NLI-XY, including contexts whose monotonicity is ``neither``.

    Args:
        source: A folder with a subfolder per split, or a folder with contexts.tsv and insertions.tsv, which serve as
            every split.
        columns: Roles of the columns that are read from the files: uid, premise, hypothesis, gold, context, insertion,
            pair, monotonicity, relation and operator.
        split: The split; uids are ``nlixy/<split>/<hash of the context>/<word>|<relation>|<word>``.

    Raises:
        DataError: The split does not exist, or a file is broken.
    """
    source = source if isinstance(source, Source) else Source(source)
    split = split if isinstance(split, Split) else Split(split, f"nlixy/{split}")
    where, rows = _rows(source.folder, split)
    return to_examples(source.select(rows, where), where, columns, split)


def _rows(path: Path, split: Split) -> tuple[str, Rows]:
    """Return the path of a split's folder, and its rows: pairs (row number, values by column), one per example."""
    folder = _folder(path, split)
    contexts = list(read(folder / CONTEXTS, quoting=False))
    pairs = list(read(folder / PAIRS, quoting=False))
    composed = list(compose(contexts, pairs, f"{folder}/"))
    if not composed:
        raise DataError(f"{folder}: none of the {len(pairs)} word pairs fits one of the {len(contexts)} contexts.")
    unused = len({words.pair for words in word_pairs(pairs)} - {row["pair"] for row in composed})
    idle = len({sentence.context for sentence in sentences(contexts)} - {row["context"] for row in composed})
    if unused or idle:
        inform(f"{folder}: unused, since nothing fits: {unused} word pairs, {idle} contexts.")
    return str(folder), enumerate(composed, 1)


def _folder(path: Path, split: Split) -> Path:
    if not path.is_dir():
        raise DataError(f"{path} is not a folder. Name one with {CONTEXTS} and {PAIRS}.")
    if (path / CONTEXTS).is_file():
        return path
    for name in split.names:
        if has_split(path, name):
            return path / name
    inside = ", ".join(sorted(f"{p.name}/" if p.is_dir() else p.name for p in path.iterdir())) or "nothing"
    raise DataError(
        f"{path} has no folder {' or '.join(split.names)} with {CONTEXTS} and {PAIRS}, but {inside}. Name another."
    )


def compose(contexts: Iterable[Row], pairs: Iterable[Row], where: str = "") -> Iterator[dict[str, str]]:
    """Compose each pair of words, in both orders, with each context in which both words fit grammatically.

    A repeated pair counts once. A repeated context yields its examples again, with "#2" appended to their uids.

    Args:
        contexts: Rows of contexts.tsv, in any order.
        pairs: Rows of insertions.tsv, in any order.
        where: Folder of both files with a final "/", for messages.

    Yields:
        Examples as dictionaries with the keys ``uid``, ``premise``, ``hypothesis``, ``gold``, ``context`` (hash of the
        sentence), ``insertion`` (both words in order), ``pair`` (both words sorted), ``monotonicity``, ``relation`` and
        ``operator``.

    Raises:
        HeedfulError: If a row is wrong, see :func:`word_pairs` and :func:`sentences`; the message has file and row.
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


def gold(monotonicity: str, relation: str) -> str:
    """Return the gold label of an example, "entailment" or "non-entailment", by table 1 of the paper.

    Beyond the table, synonyms ("eq") entail each other in every context, and in a context that is neither upward nor
    downward monotone nothing else is entailed.

    Args:
        monotonicity: Monotonicity of the context: "up", "down" or "neither".
        relation: Relation of the premise's word to the hypothesis's word: "leq" (boy, child), "geq", "eq" or "none".

    Example:
        >>> gold("up", "leq"), gold("down", "leq"), gold("down", "geq"), gold("up", "none")
        ('entailment', 'non-entailment', 'entailment', 'non-entailment')
    """
    entailed = relation == "eq" or (monotonicity, relation) in (("up", "leq"), ("down", "geq"))
    return "entailment" if entailed else "non-entailment"


class Words(NamedTuple):
    """An ordered pair of words, which fill the gap of a context.

    Attributes:
        premise: Word of the premise.
        hypothesis: Word of the hypothesis.
        relation: Relation of the first word to the second: "leq" (every boy is a child), "geq", "eq" or "none".
        pair: Name of the pair, the same for both orders: "boy/child".
        slots: The grammar of both words: "singular", "mass" or "plural". A context must allow all of them.
    """

    premise: str
    hypothesis: str
    relation: str
    pair: str
    slots: frozenset[str]


def word_pairs(rows: Iterable[Row], where: str = "") -> list[Words]:
    """Read the word pairs of NLI-XY; each pair is returned in both orders.

    Args:
        rows: Rows of insertions.tsv.
        where: Folder of the file with a final "/", for messages.

    Raises:
        DataError: If a column is missing, a grammar or relation is unknown, or an earlier row gives the same words
            another relation.
    """
    pairs: list[Words] = []
    relations: dict[tuple[str, str], tuple[str, int]] = {}
    for row, values in rows:
        at = f"{where}{PAIRS}, row {row}"
        x, y, relation, *grammars = _column_values(values, ("x", "y", "insertion_rel", "x_grammar", "y_grammar"), at)
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
    """A context.

    Attributes:
        context: Hash of the sentence, 16 hexadecimal digits.
        text: The sentence, with "x" as the gap.
        monotonicity: "up", "down" or "neither".
        operator: The word that causes the monotonicity, or "".
        slots: The grammar of words that fit the gap: "singular", "mass" or "plural".
    """

    context: str
    text: str
    monotonicity: str
    operator: str
    slots: tuple[str, ...]


def sentences(rows: Iterable[Row], where: str = "") -> list[Sentence]:
    """Read the contexts of NLI-XY, and sort them by their content.

    Args:
        rows: Rows of contexts.tsv.
        where: Folder of the file with a final "/", for messages.

    Raises:
        DataError: If a column is missing, a context does not have exactly one gap, a monotonicity is unknown, a
            cell for grammar is not "x" or "", or an earlier row gives the same context another monotonicity.
    """
    unsorted: list[Sentence] = []
    first: dict[str, tuple[int, str]] = {}
    for row, values in rows:
        at = f"{where}{CONTEXTS}, row {row}"
        names = ("context", "monotonicity", "operator", *SLOTS.values())
        text, monotonicity, operator, *cells = _column_values(values, names, at)
        if (holes := len(HOLE.findall(text))) != 1:
            raise DataError(f"{at}: the context {text!r} has {holes or 'no'} x. Write one x as the gap for the words.")
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


def _column_values(values: Mapping[str, str], names: Collection[str], at: str) -> list[str]:
    """Return the values of some columns in a row, without outer spaces; raise DataError if a column is missing."""
    for name in names:
        require_column(name, values, at)
    return [values[name].strip() for name in names]


def _known(value: str, name: str, allowed: Collection[str], at: str) -> None:
    if value not in allowed:
        listed = " or ".join(v or "nothing" for v in allowed)
        raise DataError(f"{at}: the column {name} does not allow {value!r}. Write {listed}.")
