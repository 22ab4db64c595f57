"""Describe each kind of data (texts, tables, pictures, ...) by the functions that read and prepare its examples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from heedful.datamodules.base.splits import ALIASES
from heedful.datamodules.loaders.pairs import Columns, load_pairs
from heedful.datamodules.sources.source import Source, Split
from heedful.records import CLASSIFICATION, TEXT, Examples, TableForm, TaskKind
from heedful.records.answers import Same

Load = Callable[[Source, Columns, Split], Examples]


@dataclass(frozen=True)
class Prepared:
    """The examples of a split, prepared for a model.

    Attributes:
        examples: The examples with all parts.
        read: The examples with the parts that the model reads. For training, examples that cannot be learned are left
            out.
        hopeless: Maps a reason to the number of examples that no prediction can get right.
    """

    examples: Examples
    read: Examples
    hopeless: Mapping[str, int] = field(default_factory=dict)


def kept_parts(data: Any, examples: Examples, training: bool) -> Prepared:
    """Prepare the examples of a split for a model: keep only the parts in the setting ``partial``, or all without it.

    Args:
        data: The data module.
        examples: The examples with all parts.
        training: Not used here.
    """
    return Prepared(examples, examples.keep_parts(data.partial.split("+")) if data.partial else examples)


@dataclass(frozen=True)
class Loader:
    """Functions and properties of a kind of data.

    Attributes:
        load: Loads the examples of a split: a function of (source, columns, split).
        kind: The kind of task, such as one label per example.
        kinds: Maps parts that are not texts to "table" or "picture".
        form: How tables are written as text.
        prepare: Prepares the examples of a split for a model: a function of (data module, examples, training), where
            the data module is a :class:`~heedful.datamodules.Pairs`.
        count_labels: Lists the labels that occur in the training split: a function of (source, split). None if the
            settings list the labels.
        challenge: Loads a challenge set for inoculation: a function of (source, columns, split, path); by default
            ``load`` with this path.
        perturb: Perturbs training examples for inoculation: a function of (examples, labels, n, by_group, seed, name).
            None if the kind of data does not support it.
        needs_gold: Whether evaluation requires gold labels.
        replaces_parts: Whether ``partial`` replaces the other parts by parts of another example instead of dropping
            them.
        split_name: Maps a split of the source to its name in uids; by default "train" or "validation", or with several
            validation splits the stem of the file name.
        aliases: Maps "train" and "validation" to alternative names of their files: {"validation": ["dev"]}. The names
            themselves are added.
        same: Decides whether two free-text answers are equal.
        control: Name of a mixture of control examples, such as "2L1S", for the name of the training regime; or None.
    """

    load: Load
    kind: TaskKind = CLASSIFICATION
    kinds: Mapping[str, str] = field(default_factory=dict)
    form: TableForm = TableForm()
    prepare: Callable[[Any, Examples, bool], Prepared] = kept_parts
    count_labels: Callable[[Source, Split], Sequence[str]] | None = None
    challenge: Callable[[Source, Columns, Split, str], Examples] | None = None
    perturb: Callable[..., Examples] | None = None
    needs_gold: bool = False
    replaces_parts: bool = False
    split_name: Callable[[str], str] | None = None
    aliases: Mapping[str, Sequence[str]] = field(default_factory=lambda: ALIASES)
    same: Same | None = None
    control: str | None = None

    def __post_init__(self) -> None:
        aliases = {split: tuple(dict.fromkeys((split, *self.aliases.get(split, ())))) for split in ALIASES}
        object.__setattr__(self, "aliases", aliases)

    def reads_by(self, load_function: Callable[..., Examples]) -> bool:
        """Whether :attr:`load` is ``load_function`` or a ``functools.partial`` of it."""
        return load_function in (self.load, getattr(self.load, "func", None))


PAIRS = Loader(load_pairs)


def free_text(same: Same) -> Loader:
    """Return a loader of text pairs with free-text answers.

    Args:
        same: Decides whether two answers are equal.
    """
    return Loader(partial(load_pairs, same=same), TEXT, same=same)
