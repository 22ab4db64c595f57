"""Loader of InfoTabS (Gupta et al., 2020): hypotheses about tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from heedful.datamodules.base.splits import by_hash, groups_of
from heedful.datamodules.loaders.pairs import Columns, to_examples
from heedful.datamodules.loaders.table_files import TableFolder
from heedful.datamodules.loaders.tabprobe import LABELS, challenge_file, load_counterfactuals
from heedful.datamodules.sources.readers import read
from heedful.datamodules.sources.source import Source, Split, stem
from heedful.datamodules.sources.values import Rows, listed, require_column
from heedful.interventions import DIRECTIONS, KINDS, PerturbHypothesis, best_analyser
from heedful.interventions import Source as Hypotheses
from heedful.records import DataError, Example, Examples, SettingError, agree, generator, inform

PAIRS, TABLES, CATEGORIES = "maindata", "tables/json", "tables/table_categories.tsv"
PREMISE = "premise"  # added column with the table
TABLE = "table"  # added column with the id of the table
PREFIXES = ("", "infotabs_", "infotabs_test_")  # file names start with one of these
PERTURBED = "#perturbed"  # suffix of the uid of a perturbed example
NAMES_OF_IDS = ("table_id", "Table ID", "original_tableid")
COLUMNS = Columns(
    {PREMISE: PREMISE, "hypothesis": "hypothesis"},
    "label",
    LABELS,
    groups=(TABLE,),
    meta=(TABLE, "category"),
    kinds={PREMISE: "table"},
)


def load_tables(
    source: Source | str | Path,
    columns: Columns = COLUMNS,
    split: Split | str = "train",
    without: str | None = None,
) -> Examples:
    """Load the examples of a split, sorted by uid.

    Args:
        source: A folder with ``maindata/<split>.tsv``, ``tables/json/<table>.json`` and
            ``tables/table_categories.tsv``.
        columns: Roles of the columns of the file and of the added columns premise (the table), table (its id) and
            category.
        split: "train", "dev", "alpha1", ..., with or without the prefix of the file name; uids are
            ``infotabs/<split>/<hash>``.
        without: File with the ids of tables to exclude from training.

    Raises:
        DataError: The split does not exist, or a file is broken.
    """
    source = source if isinstance(source, Source) else Source(source)
    split = split if isinstance(split, Split) else Split(split, f"infotabs/{short_split(split)}")
    for folder in (PAIRS, TABLES):
        if not (source.folder / folder).is_dir():
            raise DataError(f"data.path {source.folder} has no folder {folder}. Name one with {PAIRS}/ and {TABLES}/.")
    files = [prefix + name for name in split.names for prefix in PREFIXES]
    where, rows = source.at(source.folder / PAIRS).rows(replace(split, name=files[0], aliases=files[1:]))
    edited = {} if columns.counterpart is None else columns.counterpart.parts
    ids = [column for part, column in edited.items() if part in columns.kinds]
    rows = source.select(_with_tables(rows, where, source.folder, ids), where)
    examples = to_examples(rows, where, columns, split)
    if without is not None and split.training:
        return _without(examples, Path(without), split.prefix)
    return examples


def short_split(split: str) -> str:
    """Return the name of a split without prefix and suffix of the file: "alpha1" for "infotabs_test_alpha1.tsv"."""
    return stem(split).removeprefix("infotabs_").removeprefix("test_")


def challenge_tables(source: Source, columns: Columns, split: Split, path: str) -> Examples:
    """Load a challenge set for inoculation (training on a few challenge examples).

    Args:
        source: The InfoTabS folder, which has the tables.
        columns: Roles of the columns.
        split: The split, whose prefix starts the uids.
        path: TabProbe's counterfactual tables (a folder, or its tsv file); or a file of hypotheses about the tables of
            ``source``.
    """
    if file := challenge_file(path):
        return load_counterfactuals(file, split.prefix, columns.labels or {}, columns.parts)[1]
    rows = _with_tables(read(Path(path), source.quoting), path, source.folder)
    return to_examples(rows, path, columns, split)


def _with_tables(rows: Rows, where: str, folder: Path, edited: Sequence[str] = ()) -> Rows:
    """Add the columns premise (the table), table (its id) and category; tables replace ids in ``edited`` columns."""
    tables = TableFolder(folder / TABLES)
    categories = _categories(folder / CATEGORIES)
    unknown = set()
    for row, columns in rows:
        require_column("table_id", columns, f"{where}, row {row}")
        name = str(columns["table_id"]).strip()
        if categories is not None and name not in categories:
            unknown.add(name)
        added = {PREMISE: tables.table(name, f"{where}, row {row}"), TABLE: name}
        for column in edited:
            require_column(column, columns, f"{where}, row {row}")
            new = str(columns[column]).strip()
            added[column] = tables.table(new, f"{where}, row {row}") if new else None
        yield row, {**columns, **added, "category": (categories or {}).get(name, "")}
    if unknown:
        inform(f"{folder / CATEGORIES}: tables of {where} without a category: {len(unknown)}.")


def _categories(file: Path) -> dict[str, str] | None:
    """Return a mapping of table ids to categories, read from a file; None if the file does not exist."""
    if not file.is_file():
        inform(f"There is no {file}, so that tables have no category.")
        return None
    category_of: dict[str, str] = {}
    for row, columns in read(file):
        for name in ("table_id", "category"):
            require_column(name, columns, f"{file}, row {row}")
        name = columns["table_id"].strip()
        category = columns["category"].strip()
        if category_of.setdefault(name, category) != category:
            before = category_of[name]
            raise DataError(
                f"{file}, row {row}: the table {name!r} has the category {category!r}, and before {before!r}."
            )
    return category_of


def _without(examples: Examples, file: Path, name: str) -> Examples:
    """Drop the training examples about the tables whose ids are in a file."""
    names = set()
    for row, columns in read(file):
        ids = [str(columns[column]).strip() for column in NAMES_OF_IDS if column in columns]
        if not ids:
            raise DataError(f"{file}, row {row}: there is no column {' or '.join(NAMES_OF_IDS)}. {listed(columns)}")
        names.add(ids[0])
    stays = np.array([table not in names for table in examples.column(f"meta.{TABLE}")])
    absent = sorted(names.difference(examples.column(f"meta.{TABLE}")))
    if len(absent) == len(names):
        usual = examples.value(f"meta.{TABLE}", 0)
        raise SettingError(f"data.without_tables {file} names {absent[0]!r} and no training table, such as {usual!r}.")
    if not stays.any():
        raise DataError(f"data.without_tables {file} names every table of the training set. Name fewer.")
    unused = f"; not in the training set: {len(absent):,} of {len(names):,} tables" if absent else ""
    inform(f"{name}: {agree(int((~stays).sum()), 'example is', 'examples are')} left out by {file}{unused}.")
    selected = examples.take(np.flatnonzero(stays))
    selected.no_gold, selected.origin = examples.no_gold, examples.origin
    return selected


def perturbed_hypotheses(
    examples: Examples, labels: Mapping[str, object], n: int, by_group: bool, seed: int, name: str
) -> Examples:
    """Sample ``n`` training examples by hash, and change each hypothesis by a random applicable perturbation.

    Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), sections 4 and 7.

    Args:
        examples: The training set.
        labels: The labels, which must include entailment and contradiction.
        n: Number of perturbed examples.
        by_group: Whether to use all examples of a table before the next table.
        seed: The run's seed.
        name: Name of the data set, for messages.

    Raises:
        DataError: The examples are not pairs of a table and a text, or fewer than ``n`` can be perturbed.
    """
    texts = [part for part in examples.parts if part not in examples.tables]
    if (len(examples.tables), len(texts)) != (1, 1):
        parts = ", ".join(examples.parts)
        raise DataError(f"data.inoculation.perturbed needs one part that is a table and one text; there are {parts}.")
    if missing := [label for label in ("entailment", "contradiction") if label not in labels]:
        has = ", ".join(labels)
        raise DataError(f"data.inoculation.perturbed needs the label {missing[0]!r}, and {name} has {has}.")
    hypotheses = Hypotheses(examples, best_analyser(), texts[0], examples.tables[0])
    kinds = [kind for kind in KINDS if kind != "entities" or hypotheses.analyser.knows_entities]
    changes = [PerturbHypothesis(kind, way, hypotheses) for kind in kinds for way in DIRECTIONS]
    perturbed: list[Example] = []
    flipped = 0
    for i in by_hash(examples, seed, "inoculation", groups_of(examples) if by_group else None):
        uid = examples.uid(i)
        variants = [c.example for change in changes for c in change.apply(examples, uid, 0, seed)]
        if variants:
            example = variants[int(generator(seed, "inoculation", "perturbed", uid).integers(len(variants)))]
            flipped += example.label != examples.value("label", i)
            perturbed.append(replace(example, uid=f"{uid}{PERTURBED}"))
        if len(perturbed) == n:
            inform(
                f"{name}: {n} hypotheses of the training set are perturbed ({flipped} to the opposite label), in "
                f"{', '.join(kinds)} ({hypotheses.analyser.name})."
            )
            return Examples.of(perturbed)
    raise DataError(f"data.inoculation.n is {n}, and only {len(perturbed)} hypotheses can be perturbed.")
