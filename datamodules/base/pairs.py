"""Paired inputs: settings, splits and augmentation, without Lightning and torch."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa

from heedful.datamodules.base.checks import (
    require_distractors,
    require_folds,
    require_one_validation,
    require_regime,
    require_sizes,
    require_splits,
)
from heedful.datamodules.base.fingerprints import fingerprints
from heedful.datamodules.base.inoculation import Inoculation
from heedful.datamodules.base.loader import PAIRS, Loader, Prepared, Regime
from heedful.datamodules.base.mixture import Mixture, mixed, require_mixture
from heedful.datamodules.base.splits import (
    aliases_of,
    apart,
    counterfactual_partners,
    fold_out,
    hold_out,
    require_gold,
    require_slices,
    sample,
    with_counterfactuals,
)
from heedful.datamodules.base.wording import checked_words, require_names
from heedful.datamodules.loaders.pairs import LABEL, Columns, load_pairs, require_parts
from heedful.datamodules.sources.row_filter import ANY_SPLIT, SPLITS, conditions_of
from heedful.datamodules.sources.source import Hub, Source, Split
from heedful.interventions import Swap
from heedful.records import (
    SOFT,
    SPAN,
    TEXT,
    Composed,
    DataError,
    Examples,
    ExamplesBuilder,
    SettingError,
    Table,
    Task,
    agree,
    inform,
    listing,
    percent,
    repeats,
)
from heedful.records.arguments import RecordsArguments
from heedful.records.prompts.wording import Wording
from heedful.records.rows import SPLIT
from heedful.records.storage.folder_names import regime_name

Role = Literal["train", "validation"]


@dataclass
class Counts:
    """Counts of the examples of a data module, for results and messages.

    Attributes:
        no_gold: Validation rows without a gold label.
        shortened: Validation tables that lose rows.
        hopeless: Reason why no answer can be right to the number of validation examples.
        available: Validation examples before sampling.
        seen: Validation examples all of whose parts stand in one training example as well, of this run or of one that
            the model began with.
        evaluated: Training examples that are not shown to a model in context, since they are evaluated as well.
    """

    no_gold: int = 0
    shortened: int = 0
    hopeless: dict[str, int] = field(default_factory=dict)
    available: int = 0
    seen: int = 0
    evaluated: int = 0


class Pairs(RecordsArguments):
    """Paired inputs for training and for measuring attentiveness.

    Args:
        name: Name of the data set, the first part of every uid and metric.
        parts: Part name to column, in reading order.
        labels: Label name to its spellings in the sources, in label order.
        label: Column of the label; null for examples without gold labels, which can be evaluated, but not trained on.
            A column of the default name may be missing, too, unless another column has nearly that name.
        default_label: The label of parts that have nothing to do with each other.
        hub: Where on the hub.
        path: Local files instead: a folder with one file per split, one file, or a save_to_disk folder. In Python, rows
            in memory as well: a frame of pandas or polars, a table of pyarrow, a data set of datasets, a list of
            dictionaries, or a dictionary with one of these for each split.
        quoting: Whether fields of csv and tsv files may be double-quoted.
        columns: Names of all columns, of csv, tsv and txt files without a header, and of json files whose rows are
            lists.
        where: Column to the value or the list of values of the rows to read, as {heuristic: subsequence}; the others
            are left out. {train: {...}} and {validation: {...}} hold for that split alone.
        uid: Column of a unique id; without one, examples are named by a hash of their label and parts.
        groups: Columns whose equal values make two examples related, so that they are never partners.
        meta: Columns that go along into the rows, as text; they may be empty. Columns of ``slices`` are added.
        cluster: The clusters of intervals, by default the first of ``groups``: a part, a group, or one
            of ``meta``, which does not keep examples from being partners. ``hold_out`` and ``folds`` split none.
        slices: Columns, in any of whose values accuracy and attentiveness have numbers of their own: [heuristic].
        several: Several labels of an example may be right, and each is worth 1: "list" where the column of the label
            holds lists of names, else the text that stands between them, such as ", ".
        splits: Which split or file of the source is ``train``, and which ``validation``. The latter may be a list: then
            they are evaluated together, in this order, and the meta column ``split`` tells them apart.
        hold_out: Take this many training examples for validation, where the source has no such split; by a hash of
            their parts, so that the order of the file does not matter, and equal examples stay together.
        folds: Cross-validation: split the training set into this many folds, and leave the validation split alone. All
            examples of one group (the first that the data set names; of one table, say) lie in one fold, and so do
            examples with equal parts.
        fold: Validate on this fold, counted from 0, and train on the others.
        validate_on_train: Validate on the training rows themselves, which measures memorisation, and
            is refused unless it is asked for.
        max_train: Train on a random sample of this size.
        max_validation: Validate on a random sample of this size.
        swap: Parts that the attentiveness test swaps, each in turn; "left+right" are two that come from one partner.
        distractors: Parts that must not matter: another example's does not change the right answer, and attentiveness
            counts how often the answer stays. They are not swapped otherwise.
        partial: Train and evaluate on this part alone, or on "left+right".
        augment: "counterfactual" adds one instance with the default label for each training pair of another label;
            "inoculation" trains on a few examples of a challenge set instead of the training set.
        resample_counterfactuals: Draw the counterfactuals anew in every epoch, not once for the run.
        inoculation: Which examples, and how many.
        mixture: Other rows that replace a share of the training examples, as [{path: FILE, share: 0.02}].
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
        loader: The kind of data; by default pairs of texts. No setting names it.

    Attributes:
        source: Where the rows are.
        columns: Which column is what.
        full_task: The task with all parts.
        whole: The examples that are evaluated, with all of their parts.
        pool: Their parts that the model reads.
        trained: The examples that are trained on, with all of their parts.
        train_examples: Their parts that the model reads.
        counts: Counts of these examples.
    """

    whole: Examples | None = None
    pool: Examples | None = None
    trained: Examples | None = None
    train_examples: Examples | None = None

    def __init__(
        self,
        name: str,
        parts: dict[str, str],
        labels: dict[str, list[str | int]],
        label: str | None = LABEL,
        default_label: str | None = None,
        hub: Hub | None = None,
        path: str | None = None,
        quoting: bool = True,
        columns: Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
        uid: str | None = None,
        groups: Sequence[str] = (),
        meta: Sequence[str] = (),
        cluster: str | None = None,
        slices: Sequence[str] = (),
        several: str | None = None,
        splits: dict[str, str | list[str]] | None = None,
        hold_out: int | None = None,
        folds: int | None = None,
        fold: int | None = None,
        validate_on_train: bool = False,
        max_train: int | None = None,
        max_validation: int | None = None,
        swap: list[str] | None = None,
        distractors: Sequence[str] = (),
        partial: str | None = None,
        augment: Literal["counterfactual", "inoculation"] | None = None,
        resample_counterfactuals: bool = False,
        inoculation: Inoculation = Inoculation(),
        mixture: Sequence[Mixture] = (),
        batch_size: int = 32,
        eval_batch_size: int = 64,
        num_workers: int = 0,
        seed: int = 0,
        note: str | None = None,
        template: str | None = None,
        verbalisers: dict[str, str] | None = None,
        prompts: dict[str, Wording] | None = None,
        loader: Loader = PAIRS,
    ) -> None:
        super().__init__()
        sizes = {"batch_size": batch_size, "eval_batch_size": eval_batch_size, "num_workers": num_workers}
        require_sizes(name, {**sizes, "hold_out": hold_out, "max_train": max_train, "max_validation": max_validation})
        require_names(tuple(parts), tuple(labels))
        part_columns = dict(parts) if isinstance(parts, Mapping) else {part: part for part in parts}
        spellings = dict(labels) if isinstance(labels, Mapping) else {label: [] for label in labels}
        if swap is None:
            swap = [part for part in part_columns if part not in distractors][:1] if len(part_columns) > 1 else []
        require_regime(name, list(part_columns), swap, partial, augment)
        require_distractors(name, distractors, list(part_columns), swap)
        require_folds(hold_out, folds, fold, augment)
        self.name = name
        self.loader = loader
        self.default_label = default_label
        self.hold_out, self.folds, self.fold = hold_out, folds, fold
        self.validate_on_train = validate_on_train
        self.max_train, self.max_validation = max_train, max_validation
        self.swap = [] if partial else swap
        self.distractors = () if partial else tuple(dict.fromkeys(distractors))
        self.partial, self.augment, self.resample_counterfactuals = partial, augment, resample_counterfactuals
        self.inoculation, self.mixture = inoculation, tuple(mixture)
        self.batch_size, self.eval_batch_size, self.num_workers = batch_size, eval_batch_size, num_workers
        self.seed, self.note = seed, note
        self.prompts = dict(prompts or {})
        self.slices = tuple(dict.fromkeys(slices))
        self.splits = {"train": "train", "validation": "validation"} | (splits or {})
        require_splits(self.splits, [self._called("validation", each) for each in self._names("validation")], meta)
        self.where = dict(where or {})
        for role in SPLITS:
            conditions_of(self.where, role)
        held_out = {"hold_out": hold_out, "folds": folds, "fold": fold}
        require_one_validation(name, held_out, self.splits, self.where, loader.aliases)
        if label is None and loader.needs_gold:
            raise SettingError(f"data.label null: {name} is not evaluated without gold labels.")
        require_parts(part_columns, label, columns)
        added = (SPLIT,) if self.splits_evaluated else ()  # to each of several splits
        further = tuple(column for column in self.slices if column not in (*meta, *added))
        kind = loader.kind if several is None else SOFT
        self.source = Source(path, hub, quoting, tuple(columns))
        self.columns = Columns(
            part_columns,
            label,
            None if loader.kind in (SOFT, TEXT) else spellings,
            uid,
            tuple(groups),
            (*meta, *further),
            loader.kinds,
            further,
            several,
            cluster,
        )
        words = checked_words(name, template, verbalisers, list(part_columns), list(spellings))
        pictures = tuple(part for part in part_columns if loader.kinds.get(part) == "picture")
        default = default_label if spellings or not kind.has_labels else None  # labels that are counted bring theirs
        self.full_task = Task(kind, tuple(part_columns), tuple(spellings), default, loader.form, *words, pictures)
        if mixture:
            self._require_mixture()
        self.counts = Counts()
        self._read: dict[str, tuple[str, Any]] = {}  # split to its file, and to the number and a hash of its examples

    def settle_labels(self, labels: Sequence[str], default_label: str | None) -> None:
        """Set the labels of the task where they are counted in the data, or are those of a model.

        Raises:
            SettingError: The default label is not one of them.
        """
        self.full_task = replace(self.full_task, labels=tuple(labels), default_label=default_label)

    @property
    def path(self) -> Any:
        """The path, or the rows in memory."""
        return self.source.path

    @property
    def task(self) -> Task:
        """The task that a model sees: with ``partial``, of one part."""
        full = self.full_task
        if not self.partial or self.loader.replaces_parts:
            return full
        parts = tuple(self.partial.split("+"))
        return replace(full, parts=parts, pictures=tuple(part for part in full.pictures if part in parts))

    @property
    def sides(self) -> tuple[str, ...]:
        """The parts of the task; those that make sense together alone, as several pictures, are joined by "+"."""
        pictures = self.task.pictures
        joined = ("+".join(pictures),) if pictures else ()
        return (*joined, *(part for part in self.task.parts if part not in pictures))

    @property
    def evaluated(self) -> str:
        """The name of the examples that are evaluated: the split of the source."""
        if self.fold is not None:
            return f"fold-{self.fold}"
        if self.hold_out is not None:
            return "validation"
        return "+".join(self.splits_evaluated) or Path(self._names("validation")[0]).stem

    @property
    def splits_evaluated(self) -> tuple[str, ...]:
        """The names of the splits that are evaluated, where they are several: the meta column ``split`` says which."""
        names = self._names("validation")
        return tuple(self._called("validation", name) for name in names) if len(names) > 1 else ()

    @property
    def regime(self) -> str:
        """The name of the training: plain, counterfactual, mixture, partial-<part> or inoculation-<n>; -fold-<k>."""
        settings = self.partial, self.augment, self.inoculation.n, self.fold
        return regime_name(*settings, bool(self.mixture), self.loader.control)

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
        if self.augment == "counterfactual" and self.default_label is None:
            raise SettingError(
                "augment counterfactual needs a label for parts that have nothing to do with each other, and "
                f"{self.name} has none. Name it with data.default_label, as '(unrelated)' where no answer is one."
            )
        if self.loader.count_labels is not None and not self.full_task.labels and self.pool is None:
            labels = self.loader.count_labels(self._source("train"), self._split("train", self._names("train")[0]))
            self.settle_labels(labels, self.default_label)
        if self.pool is None:
            prepared = self._prepared(self._examples("validation"), False)
            self.whole, self.pool, self.counts.hopeless = prepared.examples, prepared.read, dict(prepared.hopeless)
            require_slices(self.whole, self.slices, self.name)
            self.counts.shortened = self._shortened(self.pool)
            self._report_repeats("validation", self.whole)
            self._report_labels("validation", self.whole, self.full_task.labels)
        if stage == "fit" and self.train_examples is None:
            examples = require_gold(self._examples("train"), self.name)
            self._require_apart()
            prepared = self._prepared(examples, True)
            self.trained, self.train_examples = prepared.examples, prepared.read
            self.counts.seen = apart(self.whole, self.trained)[1]
            self._report_repeats("training", self.trained)
            self._report_labels("training", self.trained, self._labels_of(self.whole))

    def _prepared(self, examples: Examples, training: bool) -> Prepared:
        regime = Regime(self.name, self.full_task, self.partial, self.seed, self.splits_evaluated)
        return self.loader.prepare(regime, examples, training)

    def load(self, role: Role) -> Examples:
        """The examples of a split with all of their parts, before some are sampled, replaced or mixed in."""
        if self.hold_out is None and self.folds is None:
            return self._loaded(role)
        return self._divided[role == "validation"]

    def _examples(self, role: Role) -> Examples:
        """The examples of a split that are evaluated or trained on, with all of their parts."""
        if role == "train" and self.augment == "inoculation":
            return self._inoculation()
        examples = self.load(role)
        most = self.max_train if role == "train" else self.max_validation
        if role == "validation":
            self.counts.available = len(examples)
        if most is not None and most < len(examples):
            examples = sample(examples, most, self.seed, f"max_{role}")
        return (
            mixed(examples, self.mixture, self._ingredient, self.seed) if self.mixture and role == "train" else examples
        )

    @cached_property
    def _divided(self) -> tuple[Examples, Examples]:
        """The training set, of which some is held out: (rest, held out)."""
        examples = self._loaded("train")
        self.counts.no_gold = examples.no_gold
        if self.hold_out is not None:
            return hold_out(examples, self.hold_out, seed=0)  # the same in every run
        return fold_out(examples, self.folds, self.fold)

    def _loaded(self, role: Role) -> Examples:
        """The examples of a split of the source, or of several."""
        names = self._names(role)
        if len(names) > 1 and not self.source.has_splits:
            raise DataError(f"data.splits names {' and '.join(names)}, and {self.source.display_name} has no splits.")
        several = [self.loader.load(self._source(role), self.columns, self._split(role, name)) for name in names]
        for name, one in zip(names, several, strict=True):
            self._read[name] = one.origin, (len(one), int(one.content_keys(one.parts).sum()))
        no_gold = sum(examples.no_gold for examples in several)
        if no_gold:
            split = f"of {' and '.join(names)}"
            has_none = agree(
                no_gold, f"row {split} has no gold label and is", f"rows {split} have no gold label and are"
            )
            inform(f"{self.name}: {has_none} left out.")
        bare = [name for name, examples in zip(names, several, strict=True) if examples.is_unlabelled]
        if 0 < len(bare) < len(names):
            raise DataError(
                f"data.splits: {', '.join(bare)} has no gold labels, and other splits of {self.name} have. Evaluate "
                "it alone, or all of them without, with data.label null."
            )
        if bare:
            inform(f"{self.name}: the examples are unlabelled: accuracy and what rests on it are not measured.")
        if role == "validation":
            self.counts.no_gold = no_gold
        if len(several) > 1:
            told = zip(self.splits_evaluated, several, strict=True)
            several = [one.with_column(f"meta.{SPLIT}", pa.repeat(called, len(one))) for called, one in told]
            return Examples.concatenate(several)
        several[0].no_gold = no_gold
        return several[0]

    def _require_apart(self) -> None:
        """Refuse a validation split that is the training split, or a copy of the file."""
        if self.validate_on_train or self.hold_out is not None or self.folds is not None:
            return
        train, *_ = self._names("train")
        for name in self._names("validation"):
            origin, content = self._read.get(name, ("", None))
            trained = self._read.get(train, ("", None))
            is_copy = self.loader.reads_by(load_pairs) and content == trained[1]
            if content and (is_copy or origin and origin == trained[0]):
                raise DataError(
                    f"{self.name}: the splits {name!r} and {train!r} of {self._source('train').display_name} hold the "
                    "same examples. Name another with data.splits '{validation: NAME}', or add data.hold_out N, or "
                    "data.validate_on_train true."
                )

    def _names(self, role: Role) -> list[str]:
        """What the source calls a split, or each of several."""
        names = self.splits[role]
        return [names] if isinstance(names, str) else list(names)

    def _called(self, role: Role, name: str) -> str:
        """The name of a split in uids, by its name in the source."""
        if self.loader.called is not None:
            return self.loader.called(name)
        return role if len(self._names(role)) == 1 else Path(name).stem

    def _source(self, role: Role) -> Source:
        return replace(self.source, where=conditions_of(self.where, role))

    def _split(self, role: Role, name: str) -> Split:
        """A split of the source; one of several has no further names, and no name is that of another split."""
        taken = {other for r in SPLITS if r != role for other in self._names(r)}
        aliases = aliases_of(name, self.loader.aliases) if len(self._names(role)) == 1 else []
        prefix = f"{self.name}/{self._called(role, name)}"
        return Split(name, prefix, [alias for alias in aliases if alias not in taken], role == "train")

    def _inoculation(self) -> Examples:
        """A few examples of a challenge set in place of the training set."""
        self.inoculation.require_source()
        n, by_group, path = self.inoculation.n, self.inoculation.by_group, self.inoculation.path
        if path is None:
            if self.loader.perturb is None:
                raise DataError(f"data.inoculation.perturbed is for hypotheses about tables, and {self.name} has none.")
            labels = self.columns.labels or {}
            return self.loader.perturb(self._loaded("train"), labels, n, by_group, self.seed, self.name)
        split = Split("train", f"{self.name}/challenge", self.loader.aliases["train"], True)
        source = self._source("train")
        if self.loader.challenge is not None:
            examples = self.loader.challenge(source, self.columns, split, path)
        else:
            examples = self.loader.load(source.at(path), self.columns, split)
        return sample(examples, n, self.seed, "inoculation", by_group)

    def _require_mixture(self) -> None:
        if self.full_task.kind is SPAN or self.full_task.pictures:
            raise DataError(f"data.mixture is for texts with labels, which {self.name} is not.")
        if self.augment is not None:
            raise SettingError(
                f"data.mixture and augment {self.augment} both change the training set. Leave one of the two out."
            )
        require_mixture(self.mixture, self.full_task.parts, self.full_task.labels)

    def _ingredient(self, mixture: Mixture) -> Examples:
        """All examples that a mixture takes from."""
        source = self.source.at(self.path if mixture.path is None else mixture.path)
        source = replace(source, where=conditions_of(mixture.where, ANY_SPLIT))
        aliases = aliases_of(mixture.split, self.loader.aliases)
        split = Split(mixture.split, f"{self.name}/train+{mixture.called}", aliases, True)
        return self.loader.load(source, mixture.columns(self.columns), split)

    def _shortened(self, examples: Examples) -> int:
        """How many tables lose rows."""
        form = self.full_task.form
        if form.keep is None:
            return 0
        contents = [t for part in examples.tables for t in examples.table[f"parts.{part}"].unique().to_pylist()]
        n = sum(form.shortens(Table.decode(content)) for content in contents)
        inform(
            f"{self.name}: {agree(n, 'table has', 'tables have')} more than {form.keep} rows: the others are left out."
        )
        return n

    def _report_repeats(self, role: str, examples: Examples) -> None:
        if n := repeats(examples.content_keys(self.full_task.parts)):
            inform(f"{self.name}: {agree(n, f'{role} example has', f'{role} examples have')} the parts of another one.")

    def _report_labels(self, role: str, examples: Examples, labels: Collection[str]) -> None:
        """Log which of some labels no example has; soft labels are thousands, and unlabelled examples have none."""
        if self.full_task.kind.exclusive and not examples.is_unlabelled:
            there = self._labels_of(examples)
            if missing := [label for label in self.full_task.labels if label in labels and label not in there]:
                of_validation = ", which validation examples have" if role == "training" else ""
                inform(f"{self.name}: no {role} example has the label {listing(missing)}{of_validation}.")

    @staticmethod
    def _labels_of(examples: Examples) -> set[str | None]:
        return {*examples.table["label"].unique().to_pylist()}

    def fingerprints(self) -> dict[str, str]:
        """The examples that are evaluated and trained on, in a few bytes."""
        drawn = [self.augment, self.swap[:1], Swap.version, self.resample_counterfactuals]
        augmentation = drawn if self.augment == "counterfactual" else []
        return fingerprints(self.task, self.pool, self.train_examples, augmentation)

    def training_pool(self) -> Examples:
        """The training examples as the model reads them, without those that are evaluated as well; it counts these."""
        rest, self.counts.evaluated = apart(require_gold(self._examples("train"), self.name), self.whole)
        self.train_examples = self._prepared(rest, True).read if len(rest) else rest
        return self.train_examples

    def announce_evaluation(self, positions: np.ndarray, statistics: Any) -> None:
        """Log how many examples are evaluated, and how the model reads them.

        Args:
            positions: int64, the examples that are evaluated.
            statistics: Statistics of the pool, as :class:`~heedful.lightning_modules.predictor.Statistics`.
        """
        total = self.counts.available or len(self.pool)
        limit = f"of {total:,} " if total > len(positions) else ""
        if len(self.pool):
            stand = agree(self.counts.seen, "of them stands", "of them stand")
            seen = f" {stand} among the training examples as well." if self.counts.seen else ""
            n = agree(len(positions), f"{limit}example", f"{limit}examples")
            inform(f"{self.name}: evaluating on {n}.{seen}{how_read(statistics)}")
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


def how_read(statistics: Any) -> str:
    """How much of some examples a model truncates or does not know, for a message; empty where it reads them whole."""
    truncated = statistics.truncated
    longer = agree(truncated, "is longer than the model reads and is", "are longer than the model reads and are")
    return (f" {longer} truncated." if truncated else "") + (
        f" {percent(statistics.unknown)} of the tokens are unknown to the model." if statistics.unknown else ""
    )
