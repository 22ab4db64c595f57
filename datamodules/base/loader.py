"""Kinds of data: the functions that read and prepare examples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from heedful.datamodules.base.splits import ALIASES
from heedful.datamodules.loaders.pairs import Columns, load_pairs
from heedful.datamodules.sources.source import Source, Split
from heedful.records import CLASSIFICATION, Examples, TableForm, Task, TaskKind
from heedful.records.same import Same

Load = Callable[[Source, Columns, Split], Examples]


@dataclass(frozen=True)
class Regime:
    """Settings that determine which part of the examples a model reads.

    Attributes:
        name: Name of the data set.
        task: The task with all parts.
        partial: The only parts that the model reads, joined by "+"; None for all.
        seed: The run's seed.
        splits: The validation splits, if there are several.
    """

    name: str
    task: Task
    partial: str | None
    seed: int
    splits: Sequence[str]


@dataclass(frozen=True)
class Prepared:
    """The examples of a split, prepared for a model.

    Attributes:
        examples: The examples with all parts.
        read: The same examples as the model reads them.
        hopeless: Number of examples that no answer can get right, by reason.
    """

    examples: Examples
    read: Examples
    hopeless: Mapping[str, int] = field(default_factory=dict)


def kept_parts(regime: Regime, examples: Examples, training: bool) -> Prepared:
    """Keep the parts that a partial model reads."""
    return Prepared(examples, examples.keep_parts(regime.partial.split("+")) if regime.partial else examples)


@dataclass(frozen=True)
class Loader:
    """Functions and properties of a kind of data.

    Attributes:
        load: Loads the examples of a split: a function of (source, columns, split).
        kind: The kind of task.
        kinds: Maps parts other than text to "table" or "picture".
        form: Linearisation of tables.
        prepare: Prepares the examples of a split for a model: a function of (regime, examples, training).
        count_labels: Counts labels in the training split, if they are not listed: a function of (source, split).
        challenge: Loads challenge examples for inoculation: a function of (source, columns, split, path); by default
            ``load`` from the path.
        perturb: Perturbs training examples: a function of (examples, labels, n, by_group, seed, name).
        needs_gold: Whether evaluation requires gold labels.
        replaces_parts: Whether ``partial`` replaces the other parts by parts of another example instead of dropping
            them.
        split_name: Name of a split in uids; by default "train", "validation", or the stem of one of several files.
        aliases: Alternative file names by split.
        same: Equality of free-text answers.
        control: Name of the mixture in the regime.
    """

    load: Load
    kind: TaskKind = CLASSIFICATION
    kinds: Mapping[str, str] = field(default_factory=dict)
    form: TableForm = TableForm()
    prepare: Callable[[Regime, Examples, bool], Prepared] = kept_parts
    count_labels: Callable[[Source, Split], Sequence[str]] | None = None
    challenge: Callable[[Source, Columns, Split, str], Examples] | None = None
    perturb: Callable[..., Examples] | None = None
    needs_gold: bool = False
    replaces_parts: bool = False
    split_name: Callable[[str], str] | None = None
    aliases: Mapping[str, Sequence[str]] = field(default_factory=lambda: ALIASES)
    same: Same | None = None
    control: str | None = None

    def reads_by(self, load: Load) -> bool:
        """Whether ``load`` is this function or a partial of it."""
        return load in (self.load, getattr(self.load, "func", None))


PAIRS = Loader(load_pairs)
