"""NLI-XY (Rozanova et al., 2022): rows that are composed of contexts and word pairs when they are read."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.datamodules.sources.hub_and_local import Columns, Local, split_form, to_examples
from heedful.datamodules.sources.readers import read
from heedful.interventions.natural_logic import CONTEXTS, PAIRS, compose, sentences, word_pairs
from heedful.records import DataError, Examples, inform

META = ("context", "insertion", "pair", "monotonicity", "relation", "operator")
PARTS = {"premise": "premise", "hypothesis": "hypothesis"}
COLUMNS = Columns(PARTS, "gold", {"entailment": (), "non-entailment": ()}, "uid", meta=META)


@dataclass(frozen=True)
class ComposedSentences(Local):
    """A folder with contexts.tsv and insertions.tsv, or with a folder of these for each split.

    Attributes:
        flags: What names the folder and the split on the command line, for messages.
    """

    flags: tuple[str, str] = ("data.path", "data.splits")

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Iterator[tuple[int, Mapping[str, Any]]]]:
        """(Folder, rows as :func:`compose` makes them) of a split; what fits nothing, or has both labels, is said.

        Raises:
            HeedfulError: There is no such split, or its files are not as they should be.
        """
        folder = self._folder(split, aliases)
        contexts = list(read(folder / CONTEXTS, quoting=False))
        pairs = list(read(folder / PAIRS, quoting=False))
        composed = list(compose(contexts, pairs, f"{folder}/"))
        if not composed:
            raise DataError(
                f"{folder}: none of the {len(pairs)} pairs of words fits any of the {len(contexts)} contexts. Take "
                f"{CONTEXTS} and {PAIRS} of one data set."
            )
        left_out = sorted({words.pair for words in word_pairs(pairs)} - {row["pair"] for row in composed})
        if left_out:
            inform(f"{folder}: word pairs that fit no context: {len(left_out)} ({', '.join(left_out[:5])}).")
        if idle := len({sentence.context for sentence in sentences(contexts)} - {row["context"] for row in composed}):
            inform(f"{folder}: contexts that take none of the word pairs: {idle}.")
        labels = defaultdict(set)
        for row in composed:
            labels[row["premise"], row["hypothesis"]].add(row["gold"])
        if twice := [row["pair"] for row in composed if len(labels[row["premise"], row["hypothesis"]]) > 1]:
            pairs_listed = ", ".join(sorted(set(twice)))
            inform(f"{folder}: {len(twice)} examples have texts with both labels (from {pairs_listed}).")
        return str(folder), enumerate(composed, 1)

    @property
    def has_splits(self) -> bool:
        return not (self.path / CONTEXTS).is_file()

    def _folder(self, split: str, aliases: Sequence[str]) -> Path:
        if not self.path.is_dir():
            raise DataError(f"{self.flags[0]} {self.path} is not a folder. Name one with {CONTEXTS} and {PAIRS}.")
        if not self.has_splits:
            return self.path
        names = [split, *aliases]
        for name in names:
            if (self.path / name / CONTEXTS).is_file():
                return self.path / name
        inside = ", ".join(sorted(f"{p.name}/" if p.is_dir() else p.name for p in self.path.iterdir())) or "nothing"
        form = f" {split_form(names)}" if self.flags == ComposedSentences.flags else ""
        raise DataError(
            f"{self.path} has no folder {' or '.join(names)} with {CONTEXTS} and {PAIRS}, but {inside}. Name another "
            f"with {self.flags[1]}{form}."
        )


def has_split(path: str | Path, split: str) -> bool:
    """Whether a folder has a folder for this split; one that is itself a split has none."""
    return (Path(path) / split / CONTEXTS).is_file()


def load_natural_logic(path: str | Path, split: str, flags: tuple[str, str] = ComposedSentences.flags) -> Examples:
    """All examples of a split, those in contexts that are ``neither`` up nor down among them.

    Args:
        path: A folder with a folder for each split, or with one split.
        split: Which; the uids are ``nlixy/<split>/<hash of the context>/<word>|<relation>|<word>``. A folder with one
            split is read for whichever is asked for.
        flags: As for :class:`ComposedSentences`.

    Returns:
        Examples with the parts premise and hypothesis, the labels "entailment" and "non-entailment", and the meta
        columns context, insertion, pair, monotonicity, relation and operator.

    Raises:
        HeedfulError: There is no such split, or its files are not as they should be.
    """
    where, rows = ComposedSentences(Path(path), flags=flags).rows(split, ())
    examples, _ = to_examples(rows, where, f"nlixy/{split}", COLUMNS)
    return examples
