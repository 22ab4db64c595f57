"""Pairs of texts from files, from the hub or from memory. They need neither Lightning nor torch."""

import filecmp
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from heedful.datamodules.base.inoculation import Challenges
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.splits import ALIASES, aliases_of, hold_out
from heedful.datamodules.base.transforms import Change, Divided, RowTransform, Split, Transform, composed
from heedful.datamodules.mixture import Mixture, mixed, require_mixture
from heedful.datamodules.sources.hub_and_local import Columns, Hub, Local, to_examples
from heedful.datamodules.sources.in_memory import InMemory
from heedful.datamodules.sources.row_filter import ANY_SPLIT, SPLITS, RowFilter, conditions_of
from heedful.datamodules.sources.values import Rows
from heedful.records import SOFT, SPAN, DataError, Examples, SettingError, inform
from heedful.records.arguments import IN_MEMORY
from heedful.records.errors import guess
from heedful.records.rows import SPLIT
from heedful.records.storage.folder_names import regime_name

LABEL = "label"  # the default column of gold labels


class TextPairs(Pairs):
    """Sentence pairs: natural language inference, paraphrase detection and the like.

    Args:
        name: Name of the data set.
        parts: Part name to column, in reading order.
        labels: Label name to its spellings in the sources, in label order.
        label: Column of the label; null for examples without gold labels, which can be evaluated, but not trained on.
            A column of the default name may be missing, too, unless another column has nearly that name.
        hub: Where on the hub.
        path: Local files instead: a folder with one file per split, one file, or a save_to_disk folder. In Python, rows
            in memory as well: a frame of pandas or polars, a table of pyarrow, a data set of datasets, a list of
            dictionaries, or a dictionary with one of these for each split.
        splits: Which split or file of the source is ``train``, and which ``validation``. The latter may be a list: then
            they are evaluated together, in this order, and the meta column ``split`` tells them apart.
        hold_out: Take this many training examples for validation, where the source has no such split; by a hash of
            their parts, so that the order of the file does not matter, and equal examples stay together.
        validate_on_train: Validate on the training rows themselves, which measures memorisation, and
            is refused unless it is asked for.
        uid: Column of a unique id; without one, examples are named by a hash of their label and parts.
        groups: Columns whose equal values make two examples related, so that they are never partners.
        meta: Columns that go along into the rows, as text; they may be empty. Columns of ``slices`` are added.
        cluster: The clusters of intervals, by default the first of ``groups``: a part, a group, or one
            of ``meta``, which does not keep examples from being partners. ``hold_out`` and ``folds`` split none.
        quoting: Whether fields of csv and tsv files may be double-quoted.
        columns: Names of all columns, of csv, tsv and txt files without a header, and of json files whose rows are
            lists.
        several: Several labels of an example may be right, and each is worth 1: "list" where the column of the label
            holds lists of names, else the text that stands between them, such as ", ".
        where: Column to the value or the list of values of the rows to read, as {heuristic: subsequence}; the others
            are left out and counted. {train: {...}} and {validation: {...}} hold for that split alone.
        mixture: Other rows that replace a share of the training examples, as [{path: FILE, share: 0.02}].
        distractors: Parts that must not matter: another example's does not change the right answer, and attentiveness
            counts how often the answer stays. They are not swapped otherwise.
        **kwargs: As for :class:`Pairs`.

    Attributes:
        aliases: What files of a split may be called.
        local: The source that ``path`` names.
        in_memory: The source that rows in memory are; None where data need more files than one.
        needs_gold: Whether examples without a gold label cannot be evaluated either.
        only_local: What ``path`` should name, as a sentence, where there is no other source; "" where there may be.
        row_transforms: Transforms of the rows of a source.
        load_transforms: Transforms of the examples of a source, in :meth:`load`.
    """

    aliases = ALIASES
    local: type[Local] = Local
    in_memory: type[InMemory] | None = InMemory
    needs_gold = False
    only_local = ""

    def __init__(
        self,
        name: str,
        parts: dict[str, str],
        labels: dict[str, list[str | int]],
        label: str | None = LABEL,
        hub: Hub | None = None,
        path: str | None = None,
        splits: dict[str, str | list[str]] | None = None,
        hold_out: int | None = None,
        validate_on_train: bool = False,
        uid: str | None = None,
        groups: Sequence[str] = (),
        meta: Sequence[str] = (),
        cluster: str | None = None,
        quoting: bool = True,
        columns: Sequence[str] = (),
        several: str | None = None,
        where: Mapping[str, Any] | None = None,
        mixture: Sequence[Mixture] = (),
        distractors: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        if several is not None:
            self.kind = SOFT
        if distractors and kwargs.get("swap") is None:
            kwargs["swap"] = [part for part in parts if part not in distractors][:1]
        super().__init__(name, tuple(parts), tuple(labels), **kwargs)
        self._keep_distractors(distractors, self.full_task.parts)
        if several == "":
            raise SettingError("data.several is empty. Write list, or what stands between two labels, such as ', '.")
        if hold_out is not None and self.folds is not None:
            raise SettingError(
                "data.hold_out and data.folds both say what to validate on. Leave one of the two out; data.hold_out "
                "null switches it off."
            )
        if label is None and self.needs_gold:
            raise SettingError(f"data.label null: {name} is not evaluated without gold labels.")
        _require_columns(parts, label, columns)
        added = (SPLIT,) if len(_listed((splits or {}).get("validation", ""))) > 1 else ()  # to each of several splits
        further = tuple(column for column in self.slices if column not in (*meta, *added))
        self.columns = Columns(
            parts,
            label,
            labels,
            uid,
            tuple(groups),
            (*meta, *further),
            slices=further,
            several=several,
            cluster=cluster,
        )
        self.hub = hub
        self.path = path
        self.hold_out = hold_out
        self.quoting = quoting
        self.header = tuple(columns)
        self.where = dict(where or {})
        self.mixture = tuple(mixture)
        for split in SPLITS:
            conditions_of(self.where, split)
        self._add_mixture()
        self.validate_on_train = validate_on_train
        self.control: str | None = None  # the short form of the mixture, where there is one
        self.row_transforms: list[RowTransform] = [self._asked]
        self.load_transforms: list[Transform] = [] if hold_out is None else [Divided(self._hold_out, self.counts)]
        self.splits = {"train": "train", "validation": "validation"} | (splits or {})
        for split, names in self.splits.items():
            if not isinstance(names, str):
                self._check_several(split, names)
                self.splits[split] = names if len(names) > 1 else names[0]
        self._require_no_other_validation()

    def _keep_distractors(self, distractors: Sequence[str], parts: Sequence[str]) -> None:
        """Keep the parts that must not matter, which are some of ``parts``."""
        for part in distractors:
            if part not in parts:
                raise SettingError(
                    f"data.distractors {part}: {self.name} has no such part that may be one. "
                    f"{guess(part, parts) if parts else 'Leave it out, for there are none.'}"
                )
            if any(part in joined.split("+") for joined in self.swap):
                raise SettingError(
                    f"data.swap {part} must change the answer, and {part} is among data.distractors. Leave one of "
                    "the two out."
                )
        if len(distractors) == len(self.full_task.parts):
            raise SettingError("data.distractors names every part. Leave one out that matters.")
        self.distractors = () if self.partial else tuple(dict.fromkeys(distractors))

    @property
    def regime(self) -> str:
        settings = self.partial, self.augment, self.inoculation.n, self.fold
        return regime_name(*settings, bool(self.mixture), self.control)

    @property
    def evaluated(self) -> str:
        if self.fold is not None:
            return f"fold-{self.fold}"
        if self.hold_out is not None:
            return "validation"
        return "+".join(self.splits_evaluated) or Path(self.splits["validation"]).stem

    def _add_mixture(self) -> None:
        if not self.mixture:
            return
        if self.kind is SPAN or self.pictures:
            raise DataError(f"data.mixture is for texts with labels, which {self.name} is not.")
        if self.augment is not None:
            raise SettingError(
                f"data.mixture and augment {self.augment} both change the training set. Leave one of the two out."
            )
        require_mixture(self.mixture, self.full_task.parts, self.full_task.labels)
        self.transforms.append(Change(self._mixed, "train"))

    @property
    def splits_evaluated(self) -> tuple[str, ...]:
        names = self.splits["validation"]
        return () if isinstance(names, str) else tuple(self._called("validation", name) for name in names)

    def _check_several(self, split: str, names: list[str]) -> None:
        if split != "validation" or not names:
            raise SettingError(
                f"data.splits: {split} is {'a list' if names else 'an empty list'}. Name one split; for validation, "
                "one or several."
            )
        called = [self._called("validation", name).casefold() for name in names]
        if twice := [name for name, short in zip(names, called, strict=True) if called.count(short) > 1]:
            raise SettingError(f"data.splits: validation names one split twice, as {' and '.join(twice)}.")
        if len(names) > 1 and SPLIT in self.columns.meta:
            raise SettingError(
                f"data.meta names {SPLIT!r}, the column that tells several splits apart. Leave it out, or rename the "
                "column in the files."
            )

    def _require_no_other_validation(self) -> None:
        """Refuse another set to validate on where some of the training set is; its usual name alone says nothing."""
        if not (flags := [flag for flag in ("hold_out", "folds", "fold") if getattr(self, flag) is not None]):
            return
        names = _listed(self.splits["validation"])
        usual = {"validation": self.aliases["validation"]}
        reasons = []
        if len(names) > 1 or names[0] != self.splits["train"] and not aliases_of(names[0], usual):
            reasons.append(f"data.splits names {', '.join(names)}")
        if isinstance(self.where.get("validation"), Mapping):
            reasons.append("data.where chooses rows of the validation split")
        if reasons:
            off = " ".join(f"data.{flag} null" for flag in flags)
            raise SettingError(
                f"data.{flags[0]} {getattr(self, flags[0])} (given, or the default of {self.name}) validates on "
                f"training examples, and {' and '.join(reasons)}. Leave one of the two out; {off} switches it off."
            )

    def load(self, split: Split) -> Examples:
        return composed(self._read, self.load_transforms)(split)

    def _hold_out(self, examples: Examples) -> tuple[Examples, Examples]:
        return hold_out(examples, self.hold_out, seed=0)  # the same in every run

    @property
    def challenges(self) -> Challenges:
        return Challenges(self._challenge)

    def _challenge(self, path: str) -> Examples:
        where, rows = self._source(path).rows("train", self.aliases["train"])
        return self._examples(rows, where, f"{self.name}/challenge", "train")

    def require_apart(self) -> None:
        """Refuse to validate on training examples.

        Raises:
            HeedfulError: Both come from one file or split, or from files with the same content.
        """
        kept_apart = self.hold_out is not None or self.folds is not None or self.augment == "inoculation"
        if kept_apart or self.validate_on_train:
            return
        source = self._source(self.path)
        remedies = "or add data.hold_out N or data.validate_on_train true"
        if not source.has_splits:
            raise DataError(f"{source.named} has no splits to train and to validate on. {source.remedy}, {remedies}.")
        train, *validation = (
            self._place(source, split, name)
            for split in ("train", "validation")
            for name in _listed(self.splits[split])
        )
        for place, name in zip(validation, _listed(self.splits["validation"]), strict=True):
            if self._same(train, place):
                both = f"the splits {self.splits['train']!r} and {name!r} are {train}"
                same = both if train == place else f"{place} is a copy of {train}"
                raise DataError(
                    f"{self.name} validates on what it trains on: {same}. Name another with data.splits "
                    f"'{{validation: NAME}}', {remedies}."
                )

    def _same(self, first: str, second: str) -> bool:
        """Whether two places are one, or hold the same: two files, or two splits in memory."""
        source = self._source(self.path)
        if first == second or isinstance(source, InMemory) and source.same(first, second):
            return True
        files = Path(first), Path(second)
        return all(file.is_file() for file in files) and filecmp.cmp(*files, shallow=False)

    def _place(self, source: Local | Hub | InMemory, split: Split, name: str) -> str:
        """The file of a split, or its name in another source."""
        if isinstance(source, Hub):
            return f"{name} of {source.id}"
        return source.rows(name, self._aliases(split) if isinstance(self.splits[split], str) else ())[0]

    def _aliases(self, split: Split) -> list[str]:
        """Further names of a split, without names of other splits."""
        taken = {name for other in self.splits if other != split for name in _listed(self.splits[other])}
        return [a for a in aliases_of(self.splits[split], self.aliases) if a not in taken]

    def _source(self, path: Any) -> Local | Hub | InMemory:
        """Where rows come from: a path or rows in memory, or else the hub."""
        if isinstance(path, str) and path == IN_MEMORY:
            raise DataError(
                f"The rows of {self.name} were in the memory of a Python program, and no file holds them. Name a file "
                "of them with data.path, or give data= in Python."
            )
        if isinstance(path, str | Path):
            return self.local(Path(path), self.quoting, self.header)
        if path is not None:
            if self.in_memory is None:
                raise SettingError(
                    f"data.path is of the type {type(path).__name__}, and {self.name} is read from several files. "
                    f"{self.only_local}"
                )
            return self.in_memory(path)
        if self.only_local:
            raise SettingError(f"{self.name} is not read from the hub. {self.only_local}")
        if self.hub is None:
            raise SettingError(f"{self.name} has neither a path nor a hub id. Name its files with data.path.")
        return self.hub

    def _called(self, split: Split, name: str) -> str:
        """The name of a split in uids, by its name in the source."""
        return split if isinstance(self.splits[split], str) else Path(name).stem

    def _read(self, split: Split) -> Examples:
        names = self.splits[split]
        source = self._source(self.path)
        self.counts.begin(split)
        if isinstance(names, str):
            return self._read_one(source, split, names, self._aliases(split))
        if not source.has_splits:
            raise DataError(f"{source.named} has no splits, and data.splits names {', '.join(names)}. {source.remedy}.")
        several = [
            self._read_one(source, split, name, ()).with_meta(SPLIT, self._called(split, name)) for name in names
        ]
        self._require_labels_alike(names, several)
        return Examples.concatenate(several)

    def _require_labels_alike(self, names: Sequence[str], several: Sequence[Examples]) -> None:
        """Refuse splits with and without gold labels together: accuracy would cover only a part of them."""
        bare = [name for name, examples in zip(names, several, strict=True) if examples.is_unlabelled]
        if 0 < len(bare) < len(names):
            raise DataError(
                f"data.splits: {', '.join(bare)} has no gold labels, and other splits of {self.name} have. Evaluate "
                "it alone, or all of them without, with data.label null."
            )

    def _read_one(self, source: Local | Hub | InMemory, split: Split, name: str, aliases: Sequence[str]) -> Examples:
        """The examples of a split, by its name in the source."""
        where, rows = source.rows(name, aliases)
        return self._examples(rows, where, f"{self.name}/{self._called(split, name)}", split)

    def _examples(self, rows: Rows, where: str, prefix: str, split: Split) -> Examples:
        """Make examples of the rows of a source, and count the rows that are left out."""
        for transform in self.row_transforms:
            rows = transform(rows, where, split)
        if split == "train" and self.columns.label is None:
            raise DataError(
                f"data.label null says that {where} has no gold labels, and it is read as the training split. Name "
                "its column to train; leave data.hold_out and data.folds out to evaluate all of it."
            )
        examples, no_gold = self.made(rows, where, prefix, split)
        self.counts.add_no_gold(split, no_gold)
        if examples.is_unlabelled:
            column = self.columns.label
            why = "" if column is None else f"there is no column {column!r}, and the setting label names no other, so "
            inform(f"{self.name}: {why}the examples are unlabelled: accuracy and what rests on it are not measured.")
        return examples

    def made(self, rows: Rows, where: str, prefix: str, split: Split) -> tuple[Examples, int]:
        """Examples of rows, and how many rows have no gold label: as :func:`to_examples`."""
        return to_examples(rows, where, prefix, self.columns, self._may_lack_label(split))

    def _may_lack_label(self, split: Split) -> bool:
        """Whether the column of the label may be missing: where it is only evaluated, and has its default name."""
        return split == "validation" and self.columns.label == LABEL and not self.needs_gold

    def _asked(self, rows: Rows, where: str, split: Split) -> Rows:
        """The rows that data.where asks for; the others are counted."""
        asked = RowFilter(conditions_of(self.where, split))
        yield from asked.rows(rows, where)
        self.counts.add_filtered(split, asked.left_out, asked.seen)

    def _mixed(self, examples: Examples) -> Examples:
        places: dict[str, str] = {}
        examples, self.counts.mixed = mixed(examples, self.mixture, partial(self._ingredient, places), self.seed)
        return examples

    def _ingredient(self, places: dict[str, str], mixture: Mixture) -> tuple[str, Examples]:
        """The place that a mixture takes from, and all its examples; ``places`` are those before, by their names."""
        where, rows = self._source(self.path if mixture.path is None else mixture.path).rows(
            mixture.split, aliases_of(mixture.split, self.aliases)
        )
        if places.setdefault(mixture.called, where) != where:
            raise DataError(
                f"data.mixture: {where} and {places[mixture.called]} are both called {mixture.called}. Give one of "
                "them another name."
            )
        rows = RowFilter(conditions_of(mixture.where, ANY_SPLIT)).rows(rows, where)
        prefix = f"{self.name}/train+{mixture.called}"
        examples, no_gold = to_examples(rows, where, prefix, mixture.columns(self.columns))
        self.counts.add_no_gold("train", no_gold)
        return next(place for place in places.values() if self._same(place, where)), examples


def reads(data: Pairs, source: type[Local]) -> bool:
    """Whether the ``path`` of data is read as by a source, which knows a form of files."""
    return isinstance(data, TextPairs) and issubclass(data.local, source)


def _require_columns(parts: Mapping[str, str], label: str | None, columns: Sequence[str]) -> None:
    """Check that the parts and the label are columns of their own, and that columns are named once.

    Args:
        parts: Part to column.
        label: Column of the label; None for none.
        columns: Names of all columns, where the data have no header.
    """
    if len(set(columns)) < len(columns) or not all(columns):
        raise DataError(
            f"data.columns [{', '.join(columns)}] has an empty name, or one name twice. Give each column a name of "
            "its own."
        )
    for part, column in parts.items():
        if column == label:
            raise SettingError(
                f"data.parts: {part} is the column {column!r}, which is the label as well. Name the column of the "
                "part, and the column of the label with data.label."
            )
        if twin := next((p for p, c in parts.items() if c == column and p != part), None):
            raise SettingError(f"data.parts: {part} and {twin} are one column, {column!r}. Name one for each.")


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names
