"""A kind of data: the functions that read it."""

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
    """What a model reads of the examples.

    Attributes:
        name: Name of the data set.
        task: The task with all parts.
        partial: The parts that the model reads alone, joined by "+"; None for all.
        seed: The run's seed.
        splits: The splits that are evaluated, where they are several.
    """

    name: str
    task: Task
    partial: str | None
    seed: int
    splits: Sequence[str]


@dataclass(frozen=True)
class Prepared:
    """Examples of a split for a model.

    Attributes:
        examples: Those to train on or to evaluate, with all of their parts.
        read: The same, as the model reads them.
        hopeless: Reason why no answer can be right to the number of such examples.
    """

    examples: Examples
    read: Examples
    hopeless: Mapping[str, int] = field(default_factory=dict)


def kept_parts(regime: Regime, examples: Examples, training: bool) -> Prepared:
    """The examples, of which a partial model reads some parts."""
    return Prepared(examples, examples.keep_parts(regime.partial.split("+")) if regime.partial else examples)


@dataclass(frozen=True)
class Loader:
    """How a kind of data becomes examples.

    Attributes:
        load: The examples of a split: a function of (source, columns, split).
        kind: The kind of its task.
        kinds: Part to "table" or "picture", of parts that are no texts.
        form: How tables among the parts are put into words.
        prepare: The examples of a split for a model: a function of (regime, examples, training).
        count_labels: Where the labels are counted in the training split: a function of (source, split).
        challenge: The challenge examples of an inoculation: a function of (source, columns, split, path); by default
            ``load`` from the path.
        perturb: Perturbed training examples: a function of (examples, labels, n, by_group, seed, name).
        needs_gold: Whether examples without gold labels cannot be evaluated either.
        replaces_parts: Whether a model of one part alone reads another example's in place of the others.
        called: What a split is called in uids; by default "train", "validation", or the stem of one of several files.
        aliases: What files of a split may be called.
        same: Of free texts, which are one answer.
        control: What the mixture is called in the name of the regime.
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
    called: Callable[[str], str] | None = None
    aliases: Mapping[str, Sequence[str]] = field(default_factory=lambda: ALIASES)
    same: Same | None = None
    control: str | None = None

    def reads_by(self, load: Load) -> bool:
        """Whether the examples are read by a function, or by it with further arguments."""
        return load in (self.load, getattr(self.load, "func", None))


PAIRS = Loader(load_pairs)
