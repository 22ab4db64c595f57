"""InfoTabS (Gupta et al., 2020): tables with hypotheses about them, in folders like its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.datamodules.sources.hub_and_local import Columns, Local, to_examples
from heedful.datamodules.sources.readers import SUFFIXES, read
from heedful.datamodules.sources.table_files import TableFolder
from heedful.datamodules.sources.tabprobe import LABELS
from heedful.datamodules.sources.values import Rows
from heedful.records import DataError, Examples, inform

PAIRS, TABLES, CATEGORIES = "maindata", "tables/json", "tables/table_categories.tsv"
PREMISE = "premise"  # the column that the tables are put into
TABLE = "table"  # the column of their ids
PREFIXES = ("", "infotabs_", "infotabs_test_")  # of the files of splits
COLUMNS = Columns(
    {PREMISE: PREMISE, "hypothesis": "hypothesis"},
    "label",
    LABELS,
    groups=(TABLE,),
    meta=(TABLE, "category"),
    kinds={PREMISE: "table"},
)


@dataclass(frozen=True)
class TablePairs(Local):
    """A folder with ``maindata/<split>.tsv``, ``tables/json/<table>.json`` and ``tables/table_categories.tsv``.

    A split may be named as its file, or without ``infotabs_`` and ``test_``.
    """

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Rows]:
        """(File, rows) of a split: its columns, and ``premise`` (a table), ``table`` (its id) and ``category``.

        Raises:
            HeedfulError: The folder is another one, or has no such split.
        """
        for folder in (PAIRS, TABLES):
            if not (self.path / folder).is_dir():
                raise DataError(
                    f"data.path {self.path} has no folder {folder}. Name a folder with {PAIRS}/ and {TABLES}/, as "
                    "data/ of github.com/infotabs/infotabs."
                )
        files = [prefix + name for name in (split, *aliases) for prefix in PREFIXES]
        where, rows = Local(self.path / PAIRS, self.quoting, self.columns).rows(files[0], files[1:])
        return where, self.with_tables(rows, where)

    def with_tables(self, rows: Rows, where: str) -> Rows:
        """Put the table that each row names beside its columns; what is unusual about the tables is said in the end.

        Raises:
            HeedfulError: A row names no table, or one that is not there or cannot be read.
        """
        tables = TableFolder(self.path / TABLES)
        categories = self._categories()
        unknown = set()
        for row, columns in rows:
            if "table_id" not in columns:
                raise DataError(
                    f"{where}, row {row}: there is no column 'table_id'. The columns are {', '.join(columns)}."
                )
            name = str(columns["table_id"]).strip()
            if categories is not None and name not in categories:
                unknown.add(name)
            added = {PREMISE: tables.table(name, f"{where}, row {row}"), TABLE: name}
            yield row, {**columns, **added, "category": (categories or {}).get(name, "")}
        tables.report()
        if unknown:
            inform(f"{self.path / CATEGORIES}: tables of {where} without a category: {len(unknown)}.")

    def _categories(self) -> dict[str, str] | None:
        """Table to category; None where there is no file of them."""
        file = self.path / CATEGORIES
        if not file.is_file():
            inform(f"{self.path} has no {CATEGORIES}, so that tables have no category.")
            return None
        category_of: dict[str, str] = {}
        for row, columns in read(file):
            if missing := [name for name in ("table_id", "category") if name not in columns]:
                raise DataError(
                    f"{file}, row {row}: there is no column {missing[0]!r}. The columns are {', '.join(columns)}."
                )
            name = columns["table_id"].strip()
            category = columns["category"].strip()
            if category_of.setdefault(name, category) != category:
                raise DataError(
                    f"{file}, row {row}: the table {name!r} has the category {category!r}, and {category_of[name]!r} "
                    "before."
                )
        return category_of


def short_split(split: str) -> str:
    """A split without what all files have in their names: "alpha1" for "infotabs_test_alpha1.tsv"."""
    for suffix in SUFFIXES:
        split = split.removesuffix(".gz").removesuffix(f".{suffix}")
    return split.removeprefix("infotabs_").removeprefix("test_")


def load_tables(path: str | Path, split: str) -> Examples:
    """All examples of a split of a folder like InfoTabS'.

    Args:
        path: A folder with maindata/ and tables/json/.
        split: "train", "dev", "alpha1", ...; the uids are ``infotabs/<split>/<hash>``.

    Returns:
        Examples with the parts premise (a table) and hypothesis, the labels "entailment", "neutral" and
        "contradiction", the group table, and the meta columns table and category.

    Raises:
        HeedfulError: There is no such split, or its files are not as they should be.
    """
    where, rows = TablePairs(Path(path)).rows(split, ())
    examples, no_gold = to_examples(rows, where, f"infotabs/{short_split(split)}", COLUMNS)
    if no_gold:
        inform(f"{where}: {no_gold} rows without a gold label were left out.")
    return examples
