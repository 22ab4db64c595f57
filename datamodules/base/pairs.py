"""What all kinds of data share: settings, splits, augmentation. It needs neither Lightning nor torch."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NoReturn, Self

import numpy as np

from heedful.datamodules.base.counts import Counts
from heedful.datamodules.base.fingerprints import fingerprints
from heedful.datamodules.base.inoculation import Challenges, Inoculation
from heedful.datamodules.base.splits import (
    apart,
    counterfactual_partners,
    fold_out,
    require_gold,
    require_slices,
    sample,
    with_counterfactuals,
)
from heedful.datamodules.base.transforms import Change, Divided, Reader, Split, Transform, composed
from heedful.datamodules.base.wording import checked_words, require_names
from heedful.interventions import Swap
from heedful.records import (
    CLASSIFICATION,
    Composed,
    DataError,
    Examples,
    ExamplesBuilder,
    SettingError,
    TableForm,
    Task,
    TaskKind,
    inform,
    repeats,
)
from heedful.records.arguments import RecordsArguments
from heedful.records.errors import guess
from heedful.records.prompts.wording import Wording
from heedful.records.storage.folder_names import FIT, is_folder_name, regime_name


class Pairs(RecordsArguments):
    """Paired inputs for training and for measuring attentiveness.

    A kind of data overrides :meth:`load`, and ``challenges`` if it can be inoculated; what else it does to its examples
    it adds to ``transforms`` or ``inputs``. One of another kind of task names the ``kind``; one with tables or pictures
    sets ``form`` or ``pictures`` before it calls ``super().__init__``.

    Args:
        name: Name of the data set, the first part of every uid and metric.
        parts: Names of the parts, in reading order.
        labels: Names of the labels, in order.
        default_label: The label of parts that have nothing to do with each other.
        swap: Parts that the attentiveness test swaps, each in turn; "left+right" are two that come from one partner.
        partial: Train and evaluate on this part alone, or on "left+right".
        augment: "counterfactual" adds one instance with the default label for each training pair of another label;
            "inoculation" trains on a few examples of a challenge set instead of the training set.
        inoculation: Which examples, and how many.
        resample_counterfactuals: Draw the counterfactuals anew in every epoch, not once for the run.
        folds: Cross-validation: split the training set into this many folds, and leave the validation split alone. All
            examples of one group (the first that the data set names; of one table, say) lie in one fold, and so do
            examples with equal parts.
        fold: Validate on this fold, counted from 0, and train on the others.
        slices: Columns, in any of whose values accuracy and attentiveness have numbers of their own: [heuristic].
        max_train: Train on a random sample of this size.
        max_validation: Validate on a random sample of this size.
        batch_size: Training examples in a batch of one process.
        eval_batch_size: Examples in an evaluation batch.
        num_workers: Processes that prepare batches for training; those for evaluation are put together in the process
            itself, which takes some microseconds an example.
        seed: The run's seed; follows --seed_everything.
        note: Caveat for readers of results on this data set.
        template: The words around the parts for a model that reads one text, each part as its name in braces: "mnli
            hypothesis: {hypothesis} premise: {premise}". By default the name, then the parts by the alphabet. A part
            that is missing goes with the word before it that ends with a colon.
        verbalisers: Label name to what such a model writes for it, where that is not the name.
        prompts: Name to the words of a prompt, for a model that is asked in context; the first is the usual one.

    Attributes:
        kind: The kind of its task.
        form: How tables among the parts are put into words.
        pictures: Which of the parts are pictures.
        distractors: Parts that another example may lend without any effect on the answer.
        transforms: Transforms of the loaded examples, which keep all of their parts.
        inputs: Transforms from these to the inputs of the model.
        full_task: The task with all parts.
        whole: The examples that are evaluated, with all of their parts.
        pool: Their parts that the model reads.
        trained: The examples that are trained on, with all of their parts.
        train_examples: Their parts that the model reads.
    """

    name: str
    kind: TaskKind = CLASSIFICATION
    form = TableForm()
    pictures: tuple[str, ...] = ()
    distractors: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        parts: Sequence[str],
        labels: Sequence[str],
        default_label: str | None = None,
        swap: list[str] | None = None,
        partial: str | None = None,
        augment: Literal["counterfactual", "inoculation"] | None = None,
        inoculation: Inoculation = Inoculation(),
        resample_counterfactuals: bool = False,
        folds: int | None = None,
        fold: int | None = None,
        slices: Sequence[str] = (),
        max_train: int | None = None,
        max_validation: int | None = None,
        batch_size: int = 32,
        eval_batch_size: int = 64,
        num_workers: int = 0,
        seed: int = 0,
        note: str | None = None,
        template: str | None = None,
        verbalisers: dict[str, str] | None = None,
        prompts: dict[str, Wording] | None = None,
    ) -> None:
        super().__init__()
        if not is_folder_name(name):
            raise SettingError(f"data.name {name!r} cannot name a folder. Use {FIT}.")
        sizes = {"batch_size": batch_size, "eval_batch_size": eval_batch_size, "num_workers": num_workers}
        for flag, n in (sizes | {"max_train": max_train, "max_validation": max_validation}).items():
            least = 0 if flag == "num_workers" else 1
            if n is not None and n < least:
                raise SettingError(f"data.{flag} {n} is less than {least}.")
        self.name = name
        self.default_label = default_label
        self.partial = partial
        self.augment = augment
        self.inoculation = inoculation
        self.resample_counterfactuals = resample_counterfactuals
        self.folds = folds
        self.fold = fold
        self.max_train = max_train
        self.max_validation = max_validation
        self.slices = tuple(dict.fromkeys(slices))
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size
        self.num_workers = num_workers
        self.seed = seed
        self.note = note
        self.prompts = dict(prompts or {})
        require_names(parts, labels)
        self._parts = tuple(parts)
        self._words = checked_words(name, template, verbalisers, parts, labels)
        self.settle_labels(labels, default_label)
        swap = list(parts[:1] if len(parts) > 1 else ()) if swap is None else swap
        _require_regime(name, parts, swap, partial, augment, folds, fold)
        self.swap = [] if partial else swap
        self.counts = Counts()
        self.transforms: list[Transform] = [] if folds is None else [Divided(self._fold_out, self.counts)]
        self.transforms.append(self._sampled)
        if augment == "inoculation":
            self.transforms.append(self._inoculated)
        self.inputs: list[Transform] = [Change(self._kept_parts)] if partial else []
        self.whole: Examples | None = None
        self.pool: Examples | None = None
        self.trained: Examples | None = None
        self.train_examples: Examples | None = None

    def settle_labels(self, labels: Sequence[str], default_label: str | None) -> None:
        """Make the task of these labels: at once, and again where labels are counted in the data, or are a model's.

        Raises:
            HeedfulError: The default label is not one of them.
        """
        words, pictures = self._words, self.pictures
        self.full_task = Task(self.kind, self._parts, tuple(labels), default_label, self.form, *words, pictures)

    @property
    def task(self) -> Task:
        """The task that a model sees: with ``partial``, of one part."""
        full = self.full_task
        if not self.partial:
            return full
        parts = tuple(self.partial.split("+"))
        return replace(full, parts=parts, pictures=tuple(part for part in full.pictures if part in parts))

    @property
    def sides(self) -> tuple[str, ...]:
        """The parts of the task; those that make sense together alone are joined by "+"."""
        return self.task.parts

    @property
    def evaluated(self) -> str:
        """The name of the examples that are evaluated: the split of the source."""
        return "validation"

    @property
    def splits_evaluated(self) -> tuple[str, ...]:
        """The names of the splits that are evaluated, where they are several: the meta column ``split`` says which."""
        return ()

    @property
    def regime(self) -> str:
        """The name of the training: plain, counterfactual, partial-<part> or inoculation-<n>; -fold-<k>."""
        return regime_name(self.partial, self.augment, self.inoculation.n, self.fold)

    def load(self, split: Split) -> Examples:
        """The examples of a split. Fills ``counts``."""
        raise NotImplementedError

    def examples(self, split: Split) -> Examples:
        """The examples of a split that are evaluated or trained on, with all of their parts."""
        return composed(self.load, self.transforms)(split)

    def inputs_of(self, examples: Examples, split: Split) -> Examples:
        """The parts of the examples of a split that the model reads."""
        return composed(lambda _: examples, self.inputs)(split)

    @property
    def challenges(self) -> Challenges:
        """Where the examples of an inoculation come from."""
        return Challenges()

    def without_examples(self, name: str) -> Self:
        """New data of the same task without examples, for evaluations that bring examples of their own."""
        empty = self.with_arguments()
        empty.name = name
        empty.pool = ExamplesBuilder(self.task.parts).finish()
        return empty

    def setup(self, stage: str) -> None:
        """Read the examples that are evaluated and, to fit, those to train on; a second call reads nothing.

        Args:
            stage: "fit" or "validate".

        Raises:
            HeedfulError: The data cannot be read, or do not fit the settings.
        """
        if stage == "fit":
            self.require_apart()
        if self.augment == "counterfactual" and self.default_label is None:
            self._refuse_without_default()
        if self.pool is None:
            self.whole = self.examples("validation")
            require_slices(self.whole, self.slices, self.name)
            self.pool = self.inputs_of(self.whole, "validation")
            self._count_repeats("validation", self.whole)
        if stage == "fit" and self.train_examples is None:
            self.trained = require_gold(self.examples("train"), self.name)
            _, self.counts.seen = apart(self.whole, self.trained)
            self.train_examples = self.inputs_of(self.trained, "train")
            self._count_repeats("train", self.trained)

    def require_apart(self) -> None:
        """Refuse to validate on training examples; overridden by kinds of data that can tell before they are read."""

    def _count_repeats(self, split: str, examples: Examples) -> None:
        self.counts.repeats[split] = repeats(examples.content_keys(self.full_task.parts))

    def _refuse_without_default(self, more: str = "") -> NoReturn:
        raise SettingError(
            f"augment counterfactual needs a label for parts that have nothing to do with each other, and {self.name} "
            f"has none. Name it with data.default_label{more}."
        )

    def fingerprints(self) -> dict[str, str]:
        """The examples that are evaluated and trained on, in a few bytes."""
        drawn = [self.augment, self.swap[:1], Swap.version, self.resample_counterfactuals]
        augmentation = drawn if self.augment == "counterfactual" else []
        return fingerprints(self.task, self.pool, self.train_examples, augmentation)

    def _fold_out(self, examples: Examples) -> tuple[Examples, Examples]:
        return fold_out(examples, self.folds, self.fold)

    def _sampled(self, read: Reader, split: Split) -> Examples:
        examples = read(split)
        most = self.max_train if split == "train" else self.max_validation
        if most is None or most >= len(examples):
            return examples
        self.counts.of = len(examples) if split == "validation" else self.counts.of
        return sample(examples, most, self.seed, f"max_{split}")

    def _inoculated(self, read: Reader, split: Split) -> Examples:
        """A few examples of a challenge set in place of the training set, which is not read."""
        return self.inoculation.examples(self.challenges, self.name, self.seed) if split == "train" else read(split)

    def _kept_parts(self, examples: Examples) -> Examples:
        return examples.keep_parts(self.task.parts)

    def training_pool(self) -> Examples:
        """The training examples as the model reads them, without those that are evaluated as well; it counts these."""
        rest, self.counts.evaluated = apart(require_gold(self.examples("train"), self.name), self.whole)
        self.train_examples = self.inputs_of(rest, "train") if len(rest) else rest
        return self.train_examples

    def announce_evaluation(self, positions: np.ndarray, statistics: Any) -> None:
        """Log how many examples are evaluated, and how the model reads them.

        Args:
            positions: int64, the examples that are evaluated.
            statistics: Statistics of the pool, as :class:`~heedful.lightning_modules.predictor.Statistics`.
        """
        total = self.counts.of or len(self.pool)
        limit = f" of {total:,}" if total > len(positions) else ""
        if len(self.pool):
            asides = self.counts.asides("validation", statistics)
            inform(f"{self.name}: evaluating on {len(positions):,}{limit} examples.{asides}")
        if self.note:
            inform(f"{self.name}: {self.note}")

    def count_seen(self, examples: int) -> None:
        """Count the examples that are evaluated and that the model was trained on, for the message about them."""
        self.counts.seen = examples

    def training_set(self, draw: int = 0) -> Composed:
        """The training examples with their counterfactuals, if any; ``draw`` is the epoch where each draws anew."""
        if self.augment != "counterfactual":
            return Composed.whole(self.train_examples)
        swap = Swap(self.swap[0], self.task.default_gold)  # of gold labels here, not of predictions
        partners = counterfactual_partners(self.train_examples, swap, self.seed, draw)
        return with_counterfactuals(self.train_examples, swap, partners)


def _require_regime(
    name: str,
    parts: Sequence[str],
    swap: Sequence[str],
    partial: str | None,
    augment: str | None,
    folds: int | None,
    fold: int | None,
) -> None:
    """Check settings of a data module against each other; they are described there.

    Raises:
        HeedfulError: Two of them exclude each other, one needs another, or one names a part that is not there.
    """
    _require_parts(name, parts, swap, partial, augment)
    if partial and augment == "counterfactual":
        raise SettingError(
            "partial leaves one part, and augment counterfactual swaps one of two. Leave one of the two out."
        )
    if augment == "counterfactual" and not swap:
        raise SettingError("augment counterfactual needs a part to swap. Name one with data.swap.")
    _require_folds(folds, fold, augment)


def _require_parts(
    name: str, parts: Sequence[str], swap: Sequence[str], partial: str | None, augment: str | None
) -> None:
    """Check that the settings name parts of the data, and each once."""
    if len(parts) == 1 and (swap or augment == "counterfactual"):
        needs_two = f"data.swap {swap[0]}" if swap else "augment counterfactual"
        raise DataError(f"{needs_two}: {name} has one part, {parts[0]}, and a swap needs two.")
    for option, parts_named in (("swap", swap), ("partial", [partial] if partial else [])):
        if unknown := [part for joined in parts_named for part in joined.split("+") if part not in parts]:
            raise SettingError(f"data.{option} {unknown[0]} is not a part of {name}. {guess(unknown[0], parts)}")
    joined_twice = [joined for joined in swap if len(set(joined.split("+"))) < len(joined.split("+"))]
    if twice := [part for k, part in enumerate(swap) if part in swap[:k]] + joined_twice:
        raise SettingError(f"data.swap names {twice[0]} twice.")


def _require_folds(folds: int | None, fold: int | None, augment: str | None) -> None:
    """Check the settings of cross-validation."""
    if folds is None and fold is None:
        return
    if folds is None or fold is None:
        raise SettingError(
            f"data.{'folds' if fold is None else 'fold'} is given alone. Give data.folds N, how many there are, and "
            "data.fold K, which one, from 0 to N - 1."
        )
    if folds < 2:
        raise SettingError(f"data.folds {folds} is less than 2.")
    if not 0 <= fold < folds:
        raise SettingError(f"data.fold {fold} is not one of the {folds} folds. They go from 0 to {folds - 1}.")
    if augment == "inoculation":
        raise SettingError(
            "data.folds splits the training set, which augment inoculation does not read. Leave one of the two out."
        )
