"""Loader of NLI-XY (Rozanova et al., 2022): a premise and a hypothesis are one context with two different words.

A context is a sentence with a gap for the word.
"""

from pathlib import Path

from heedful.datamodules.loaders.pairs import Columns, to_examples
from heedful.datamodules.sources.readers import read
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import Rows
from heedful.interventions.natural_logic import CONTEXTS, PAIRS, compose, sentences, word_pairs
from heedful.records import DataError, Examples, inform

META = ("context", "insertion", "pair", "monotonicity", "relation", "operator")
PARTS = {"premise": "premise", "hypothesis": "hypothesis"}
COLUMNS = Columns(PARTS, "gold", {"entailment": (), "non-entailment": ()}, "uid", meta=META)


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
    """Read a split; return the path of its folder, and pairs (row number, values by column), one per example.

    The numbers of contexts and word pairs that occur in no example are logged.
    """
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
