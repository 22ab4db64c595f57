"""Data of paired inputs: settings, splits and augmentation. Imports neither Lightning nor torch."""

import hashlib
import json
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
    require_names,
    require_one_validation,
    require_regime,
    require_sizes,
    require_splits,
    template_of,
)
from heedful.datamodules.base.inoculation import Inoculation
from heedful.datamodules.base.loader import PAIRS, Loader
from heedful.datamodules.base.mixture import Mixture, mixed, require_mixture
from heedful.datamodules.base.splits import (
    aliases_of,
    counterfactual_partners,
    fold_out,
    hold_out,
    overlap,
    require_gold,
    require_slices,
    sample,
    with_counterfactuals,
    without_overlap,
)
from heedful.datamodules.loaders.counterparts import Counterpart, counterpart_of
from heedful.datamodules.loaders.pairs import LABEL, Columns, load_pairs, require_parts
from heedful.datamodules.sources.row_filter import SPLITS, conditions_of
from heedful.datamodules.sources.source import Hub, Source, Split
from heedful.interventions import Swap
from heedful.records import (
    SOFT,
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
from heedful.records.prompts import Wording
from heedful.records.rows import SPLIT
from heedful.records.storage.results import regime_name

Role = Literal["train", "validation"]


@dataclass
class Counts:
    """Counts of examples, for results and messages.

    Attributes:
        no_gold: Validation rows that were left out, since they have no gold label.
        shortened: Validation tables from which ``keep_rows`` removes rows.
        hopeless: Maps a reason to the number of validation examples that no prediction can get right.
        available: Validation examples before sampling.
        seen: Validation examples with the same content as a training example, of this run or of an initial checkpoint.
        evaluated: Training examples that cannot be demonstrations in a prompt, since they are evaluated as well.
    """

    no_gold: int = 0
    shortened: int = 0
    hopeless: dict[str, int] = field(default_factory=dict)
    available: int = 0
    seen: int = 0
    evaluated: int = 0


class Pairs(RecordsArguments):
    """Inputs of several parts, such as premise and hypothesis, for training and for measuring attentiveness.

    Attentiveness swaps a part: a partner, which is an unrelated example of the same split, lends its part.

    Args:
        name: Name of the data set, the start of uids and a component of metric names.
        parts: Maps part names to columns, in reading order. A part of multiple choice is a column of lists, or a list
            of columns with one option each; the first label is the label of the first option, and so on.
        labels: Maps label names to spellings in the source, in label order.
        label: Column of the label; null for unlabelled examples, which can be evaluated but not trained on. The column
            of the default name may be missing for evaluation, unless another column has a similar name.
        default_label: The right label if the parts of an input are unrelated.
        hub: Data set on the Hugging Face hub.
        path: Local files instead: a folder with one file per split, one file, or a save_to_disk folder. In Python, also
            rows in memory: a frame of pandas or polars, a pyarrow table, a ``datasets.Dataset`` or a list of
            dictionaries. A mapping of splits gives each split its own file or rows.
        quoting: Whether fields of csv and tsv files may be double-quoted.
        columns: Column names, for csv and tsv files without a header and for json files whose rows are lists.
        where: Maps columns to the value, or the list of values, of the rows to read, such as {heuristic: subsequence}.
            {train: {...}} and {validation: {...}} apply to one split.
        uid: Column of a unique id; by default, the id is a hash of label and parts.
        groups: Columns that relate examples: examples with equal values are never partners.
        meta: Columns that are copied into the rows of results as text; they may be empty. ``slices`` are added.
        cluster: Part, group or meta column whose equal values form a cluster, the unit of sampling for intervals; by
            default the first of ``groups``. ``hold_out`` and ``folds`` keep clusters together. Examples that share
            only a meta column may be partners.
        slices: Columns by whose values accuracy and attentiveness are broken down, such as [heuristic].
        counterpart: Where edited versions of examples, and their gold labels, are: see
            :class:`~heedful.datamodules.loaders.counterparts.Counterpart`.
        several: For examples with several right labels, each worth 1: "list" if the label column has lists of names,
            else the separator, such as ", ".
        splits: Maps ``train`` and ``validation`` to splits or files of the source. ``validation`` may be a list of
            splits, which are evaluated together in this order; the meta column ``split`` has the name of the split.
        hold_out: Number of training examples to hold out for validation, for sources without a validation split. A
            hash of the content chooses them, so that the order of rows does not matter and equal examples stay
            together.
        folds: Number of folds for cross-validation on the training set. Examples of one cluster, and examples with
            equal parts, are in one fold.
        fold: The fold to validate on, from 0; training uses the other folds.
        validate_on_train: Allow validation on the training rows, to measure memorisation.
        max_train: Train on a random sample of this size.
        max_validation: Validate on a random sample of this size.
        swap: Parts that the attentiveness test swaps, each in turn; "left+right" takes both from one partner.
        distractors: Parts that must not matter: replacing them preserves the right answer, and attentiveness is the
            share of swaps after which the prediction stays. They cannot be in ``swap``.
        partial: Train and evaluate on this part alone, or on "left+right".
        augment: "counterfactual" adds one example with the default label for each training example of another label;
            "inoculation" trains on a few examples of a challenge set instead of the training set.
        resample_counterfactuals: Draw counterfactuals anew in every epoch, not once per run.
        inoculation: Source and number of challenge examples.
        mixture: Rows of other sources that replace a share of the training examples, such as
            [{path: FILE, share: 0.02}].
        batch_size: Training examples per batch and process.
        eval_batch_size: Most examples per evaluation batch; by default 64, or 4,096 with ``eval_tokens``.
        eval_tokens: Most tokens per evaluation batch, padding included. By default, an encoder on a GPU has as many as
            fill the GPU; other models and devices have no limit.
        num_workers: Worker processes of training; evaluation batches are built in the main process.
        note: Caveat for readers of results on this data set.
        template: Input of text-to-text models, with part names in braces: "mnli hypothesis: {hypothesis} premise:
            {premise}". By default the name, then the parts in alphabetical order. If a model does not read a part, the
            word before the part that ends with a colon is dropped as well.
        verbalisers: Maps label names to the texts that a text-to-text model writes, if they differ from the names.
        prompts: Maps names to wordings of the prompt, for in-context learning; the first is the default.
        loader: The kind of data, by default pairs of texts; set by subclasses, not by users.

    Attributes:
        source: The source of rows.
        columns: Roles of the columns.
        full_task: The task with all parts.
        whole: The validation examples with all parts.
        pool: The validation examples with the parts that the model reads.
        trained: The training examples with all parts.
        train_examples: The training examples with the parts that the model reads.
        counts: Numbers of examples.
        seed: The seed of the run, from :meth:`setup`.
    """

    seed = 0
    whole: Examples | None = None
    pool: Examples | None = None
    trained: Examples | None = None
    train_examples: Examples | None = None

    def __init__(
        self,
        name: str,
        parts: dict[str, str | list[str]],
        labels: dict[str, list[str | int]],
        label: str | None = LABEL,
        default_label: str | None = None,
        hub: Hub | None = None,
        path: str | dict[str, str] | None = None,
        quoting: bool = True,
        columns: Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
        uid: str | None = None,
        groups: Sequence[str] = (),
        meta: Sequence[str] = (),
        cluster: str | None = None,
        slices: Sequence[str] = (),
        counterpart: Counterpart | None = None,
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
        eval_batch_size: int | None = None,
        eval_tokens: int | None = None,
        num_workers: int = 0,
        note: str | None = None,
        template: str | None = None,
        verbalisers: dict[str, str] | None = None,
        prompts: dict[str, Wording] | None = None,
        loader: Loader = PAIRS,
    ) -> None:
        super().__init__()
        sizes = {"batch_size": batch_size, "eval_batch_size": eval_batch_size, "eval_tokens": eval_tokens}
        sizes |= {"num_workers": num_workers}
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
        self.batch_size, self.num_workers = batch_size, num_workers
        self.eval_batch_size, self.eval_tokens = eval_batch_size, eval_tokens
        self.note = note
        self.prompts = dict(prompts or {})
        self.slices = tuple(dict.fromkeys(slices))
        self.splits = {"train": "train", "validation": "validation"} | (splits or {})
        require_splits(
            self.splits, [self._split_name("validation", name) for name in self._source_splits("validation")], meta
        )
        self.where = dict(where or {})
        for role in SPLITS:
            conditions_of(self.where, role)
        held_out = {"hold_out": hold_out, "folds": folds, "fold": fold}
        require_one_validation(name, held_out, self.splits, self.where, loader.aliases)
        if label is None and loader.needs_gold:
            raise SettingError(f"data.label null: {name} is not evaluated without gold labels.")
        require_parts(part_columns, label, columns)
        added = (SPLIT,) if self.splits_evaluated else ()
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
            counterpart_of(counterpart, list(part_columns), uid),
        )
        words = template_of(name, template, verbalisers, list(part_columns), list(spellings))
        pictures = tuple(part for part in part_columns if loader.kinds.get(part) == "picture")
        default = default_label if spellings or not kind.has_labels else None  # set by setup, if labels are counted
        self.full_task = Task(kind, tuple(part_columns), tuple(spellings), default, loader.form, *words, pictures)
        if mixture:
            self._require_mixture()
        self.counts = Counts()
        self._read: dict[str, tuple[str, Any]] = {}  # split to (source, (number of examples, hash))

    def settle_labels(self, labels: Sequence[str], default_label: str | None) -> None:
        """Set the labels and default label of the task, which were counted in the data or read from a model."""
        self.full_task = replace(self.full_task, labels=tuple(labels), default_label=default_label)

    @property
    def path(self) -> Any:
        """The path of the source, or its rows in memory."""
        return self.source.path

    @property
    def task(self) -> Task:
        """The task as the model sees it, with the parts of ``partial`` only."""
        full = self.full_task
        if not self.partial or self.loader.replaces_parts:
            return full
        parts = tuple(self.partial.split("+"))
        return replace(full, parts=parts, pictures=tuple(part for part in full.pictures if part in parts))

    @property
    def sides(self) -> tuple[str, ...]:
        """Names of the inputs for evaluations of one part alone: all pictures joined by "+", then each other part."""
        pictures = self.task.pictures
        joined = ("+".join(pictures),) if pictures else ()
        return (*joined, *(part for part in self.task.parts if part not in pictures))

    @property
    def evaluated(self) -> str:
        """Name of the validation set: its splits joined by "+", or "fold-<k>", or "validation" with ``hold_out``."""
        if self.fold is not None:
            return f"fold-{self.fold}"
        if self.hold_out is not None:
            return "validation"
        return "+".join(self.splits_evaluated) or Path(self._source_splits("validation")[0]).stem

    @property
    def splits_evaluated(self) -> tuple[str, ...]:
        """Names of the validation splits, as in the meta column ``split``; empty if there is only one such split."""
        names = self._source_splits("validation")
        return tuple(self._split_name("validation", name) for name in names) if len(names) > 1 else ()

    @property
    def regime(self) -> str:
        """Name of the training regime: plain, counterfactual, mixture, partial-<part> or inoculation-<n>.

        With folds, the suffix -fold-<k> is added. If the loader names a mixture of control examples, the name is
        added, as in mixture-2L1S.
        """
        settings = self.partial, self.augment, self.inoculation.n, self.fold
        return regime_name(*settings, bool(self.mixture), self.loader.control)

    def without_examples(self, name: str) -> Self:
        """Return a copy, named ``name``, with no validation examples, for evaluations that load their own examples."""
        empty = self.with_arguments()
        empty.name, empty.seed = name, self.seed
        empty.pool = ExamplesBuilder(self.task.parts).finish()
        return empty

    def setup(self, stage: str, seed: int | None = None) -> None:
        """Read the validation examples and, for "fit", the training examples; idempotent.

        Args:
            stage: "fit" or "validate".
            seed: The seed of the run, which chooses samples; None for no change.

        Raises:
            HeedfulError: The data cannot be read, or do not fit the settings.
        """
        if seed is not None and seed != self.seed:
            self.seed = seed
            if self.whole is not None:  # read with another seed
                self.whole = self.pool = self.trained = self.train_examples = None
                self.counts = Counts()
                self.__dict__.pop("_divided", None)
        if self.augment == "counterfactual" and self.default_label is None:
            raise SettingError(
                f"augment counterfactual: {self.name} has no label for unrelated parts. Name one with "
                "data.default_label, such as '(unrelated)'."
            )
        if self.loader.count_labels is not None and not self.full_task.labels and self.pool is None:
            labels = self.loader.count_labels(
                self._source("train"), self._split("train", self._source_splits("train")[0])
            )
            self.settle_labels(labels, self.default_label)
        if self.pool is None:
            prepared = self.loader.prepare(self, self._examples("validation"), False)
            self.whole, self.pool, self.counts.hopeless = prepared.examples, prepared.read, dict(prepared.hopeless)
            require_slices(self.whole, self.slices, self.name)
            self.counts.shortened = self._count_shortened_tables(self.pool)
            self._report_repeats("validation", self.whole)
            self._report_labels("validation", self.whole, self.full_task.labels)
        if stage == "fit" and self.train_examples is None:
            examples = require_gold(self._examples("train"), self.name)
            self._require_apart()
            prepared = self.loader.prepare(self, examples, True)
            self.trained, self.train_examples = prepared.examples, prepared.read
            self.counts.seen = int(overlap(self.whole, self.trained).sum())
            self._report_repeats("training", self.trained)
            self._report_labels("training", self.trained, self._labels_of(self.whole))

    def load(self, role: Role) -> Examples:
        """Load the training or validation examples with all parts, before sampling, inoculation and mixtures."""
        if self.hold_out is None and self.folds is None:
            return self._loaded(role)
        return self._divided[role == "validation"]

    def _examples(self, role: Role) -> Examples:
        """Load the training or validation examples with all parts, after sampling, inoculation and mixtures."""
        if role == "train" and self.augment == "inoculation":
            return self._inoculation()
        examples = self.load(role)
        most = self.max_train if role == "train" else self.max_validation
        if role == "validation":
            self.counts.available = len(examples)
        if most is not None and most < len(examples):
            examples = sample(examples, most, self.seed, f"max_{role}")
        return (
            mixed(examples, self.mixture, self._load_mixture, self.seed)
            if self.mixture and role == "train"
            else examples
        )

    @cached_property
    def _divided(self) -> tuple[Examples, Examples]:
        """The training split, divided by ``hold_out`` or ``folds`` into (training examples, validation examples)."""
        examples = self._loaded("train")
        self.counts.no_gold = examples.no_gold
        if self.hold_out is not None:
            return hold_out(examples, self.hold_out, seed=0)  # the same for all runs
        return fold_out(examples, self.folds, self.fold)

    def _loaded(self, role: Role) -> Examples:
        """Load all examples of the training split, or of all validation splits, in one pool."""
        names = self._source_splits(role)
        if len(names) > 1 and not self.source.has_splits:
            raise DataError(f"data.splits names {' and '.join(names)}, and {self.source.display_name} has no splits.")
        pools = [self.loader.load(self._source(role), self.columns, self._split(role, name)) for name in names]
        for name, pool in zip(names, pools, strict=True):
            self._read[name] = pool.origin, (len(pool), int(pool.content_keys(pool.parts).sum()))
        if no_gold := sum(pool.no_gold for pool in pools):
            rows = agree(no_gold, "row without a gold label is", "rows without a gold label are")
            inform(f"{self.name}: {rows} left out of {' and '.join(names)}.")
        unlabelled = [name for name, pool in zip(names, pools, strict=True) if pool.is_unlabelled]
        if 0 < len(unlabelled) < len(names):
            raise DataError(f"data.splits: only {', '.join(unlabelled)} has no gold labels. Evaluate it alone.")
        if unlabelled:
            column = f" (no column {self.columns.label!r})" if self.columns.label else ""
            inform(
                f"{self.name}: the examples are unlabelled{column}: accuracy and dependent metrics are not measured."
            )
        if role == "validation":
            self.counts.no_gold = no_gold
        if len(pools) == 1:
            return pools[0]
        pairs = zip(self.splits_evaluated, pools, strict=True)
        return Examples.concatenate([pool.with_column(f"meta.{SPLIT}", pa.repeat(n, len(pool))) for n, pool in pairs])

    def _require_apart(self) -> None:
        """Raise DataError if the validation split is the training split or a copy of it."""
        if self.validate_on_train or self.hold_out is not None or self.folds is not None:
            return
        train, *_ = self._source_splits("train")
        for name in self._source_splits("validation"):
            origin, content = self._read.get(name, ("", None))
            trained = self._read.get(train, ("", None))
            is_copy = self.loader.reads_by(load_pairs) and content == trained[1]
            if content and (is_copy or origin and origin == trained[0]):
                raise DataError(
                    f"{self.name}: the splits {name!r} and {train!r} of {self._source('train').display_name} hold the "
                    "same examples. Name another with data.splits '{validation: NAME}', or add data.hold_out N, or "
                    "data.validate_on_train true."
                )

    def _source_splits(self, role: Role) -> list[str]:
        """Return the names of the training split or of the validation splits, as the source names them."""
        names = self.splits[role]
        return [names] if isinstance(names, str) else list(names)

    def _split_name(self, role: Role, name: str) -> str:
        """Return the name of a split in uids, given the name of the split in the source."""
        if self.loader.split_name is not None:
            return self.loader.split_name(name)
        return role if len(self._source_splits(role)) == 1 else Path(name).stem

    def _source(self, role: Role) -> Source:
        return replace(self.source, where=conditions_of(self.where, role))

    def _split(self, role: Role, name: str) -> Split:
        """Return a split of the source, with further names to try; a name that the other role uses is never tried."""
        taken = {split for r in SPLITS if r != role for split in self._source_splits(r)}
        aliases = aliases_of(name, self.loader.aliases) if len(self._source_splits(role)) == 1 else []
        prefix = f"{self.name}/{self._split_name(role, name)}"
        return Split(name, prefix, [alias for alias in aliases if alias not in taken], role == "train")

    def _inoculation(self) -> Examples:
        """Load the challenge examples or perturbed training examples that replace the training set for inoculation."""
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
        if self.full_task.kind.has_spans or self.full_task.pictures:
            raise DataError(f"data.mixture is for texts with labels, which {self.name} is not.")
        if self.augment is not None:
            raise SettingError(f"data.mixture and augment {self.augment} exclude each other. Leave one out.")
        require_mixture(self.mixture, self.full_task.parts, self.full_task.labels)

    def _load_mixture(self, mixture: Mixture) -> Examples:
        """Load all examples of a mixture, from which a sample is mixed into the training set."""
        source = self.source.at(self.path if mixture.path is None else mixture.path)
        aliases = aliases_of(mixture.split, self.loader.aliases)
        split = Split(mixture.split, f"{self.name}/train+{mixture.display_name}", aliases, True)
        return self.loader.load(source, mixture.columns(self.columns), split)

    def _count_shortened_tables(self, examples: Examples) -> int:
        """Count and log the distinct tables that ``keep_rows`` shortens; 0 if the setting is not given."""
        form = self.full_task.form
        if form.keep is None:
            return 0
        contents = [t for part in examples.tables for t in examples.table[f"parts.{part}"].unique().to_pylist()]
        n = sum(form.shortens(Table.decode(content)) for content in contents)
        inform(f"{self.name}: {agree(n, 'table is', 'tables are')} cut to {form.keep} rows.")
        return n

    def _report_repeats(self, role: str, examples: Examples) -> None:
        if n := repeats(examples.content_keys(self.full_task.parts)):
            inform(f"{self.name}: {agree(n, f'{role} example repeats', f'{role} examples repeat')} another's parts.")

    def _report_labels(self, role: str, examples: Examples, labels: Collection[str]) -> None:
        """Log the ``labels`` that no example has; do nothing if examples are unlabelled or may have several labels."""
        if self.full_task.kind.exclusive and not examples.is_unlabelled:
            present = self._labels_of(examples)
            if missing := [label for label in self.full_task.labels if label in labels and label not in present]:
                contrast = ", which validation examples have" if role == "training" else ""
                inform(f"{self.name}: no {role} example has the label {listing(missing)}{contrast}.")

    @staticmethod
    def _labels_of(examples: Examples) -> set[str | None]:
        return {*examples.table["label"].unique().to_pylist()}

    def fingerprints(self) -> dict[str, str]:
        """Hash the validation examples and, if they have been read, the training examples.

        A hash covers uids, labels, the content of every part, the order of the examples, the task with its template,
        and for training examples how counterfactuals are drawn.

        Returns:
            Maps "validation" and "train" to SHA-256 hashes.
        """
        draws = [self.augment, self.swap[:1], Swap.version, self.resample_counterfactuals]
        augmentation = draws if self.augment == "counterfactual" else []
        settings = {"validation": [self.task.as_dict()], "train": [self.task.as_dict(), augmentation]}
        pools = {"validation": self.pool, "train": self.train_examples}
        return {
            split: hashlib.sha256(json.dumps([pool.fingerprint, *settings[split]], sort_keys=True).encode()).hexdigest()
            for split, pool in pools.items()
            if pool is not None
        }

    def training_pool(self) -> Examples:
        """Return the training examples that may be demonstrations in a prompt.

        Examples that are also validation examples are removed and counted in ``counts``.
        """
        examples = require_gold(self._examples("train"), self.name)
        examples, self.counts.evaluated = without_overlap(examples, self.whole)
        self.train_examples = self.loader.prepare(self, examples, True).read if len(examples) else examples
        return self.train_examples

    def announce_evaluation(self, positions: np.ndarray, statistics: Any) -> None:
        """Log how many examples are evaluated, truncated and also in the training set, and the share of unknown tokens.

        Args:
            positions: int64 [examples], positions of the evaluated examples.
            statistics: Statistics of the encoded examples, a
                :class:`~heedful.lightning_modules.predictor.Statistics`.
        """
        total = self.counts.available or len(self.pool)
        limit = f"of {total:,} " if total > len(positions) else ""
        if len(self.pool):
            repeated = agree(self.counts.seen, "is also a training example", "are also training examples")
            seen = f" {repeated}." if self.counts.seen else ""
            n = agree(len(positions), f"{limit}example", f"{limit}examples")
            inform(f"{self.name}: evaluating on {n}.{seen}{describe_reading(statistics)}")
        if self.note:
            inform(f"{self.name}: {self.note}")

    def count_seen(self, examples: int) -> None:
        """Set ``counts.seen``, the number of evaluated examples that the model was trained on."""
        self.counts.seen = examples

    def training_set(self, draw: int = 0) -> Composed:
        """Return the training examples and, with ``augment="counterfactual"``, their counterfactuals.

        Args:
            draw: Number of the random draw of partners; the epoch, if counterfactuals are drawn anew in every epoch.
        """
        if self.augment != "counterfactual":
            return Composed.whole(self.train_examples)
        swap = Swap(self.swap[0], self.task.default_gold)
        partners = counterfactual_partners(self.train_examples, swap, self.seed, draw)
        return with_counterfactuals(self.train_examples, swap, partners)


def describe_reading(statistics: Any) -> str:
    """Describe in sentences how many examples are truncated and how many tokens are unknown; "" if there are none.

    Args:
        statistics: A :class:`~heedful.lightning_modules.predictor.Statistics` of the encoded examples.
    """
    truncated = agree(statistics.truncated, "is too long and is", "are too long and are")
    return (f" {truncated} truncated." if statistics.truncated else "") + (
        f" {percent(statistics.unknown)} of the tokens are unknown to the model." if statistics.unknown else ""
    )
