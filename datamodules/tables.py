"""Tables with hypotheses about them: folders like that of InfoTabS (Gupta et al., 2020)."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from heedful.datamodules.base.inoculation import Challenges
from heedful.datamodules.base.splits import by_hash, groups_of
from heedful.datamodules.base.transforms import Change, Reader, Split
from heedful.datamodules.sources.hub_and_local import to_examples
from heedful.datamodules.sources.readers import read
from heedful.datamodules.sources.table_pairs import PREMISE, TABLE, TablePairs, short_split
from heedful.datamodules.sources.tabprobe import challenge_file, load_counterfactuals
from heedful.datamodules.text import PairedText
from heedful.interventions import DIRECTIONS, KINDS, PerturbHypothesis, Source, best_analyser
from heedful.records import DataError, Example, Examples, SettingError, Table, TableForm, generator, inform

PERTURBED = "#perturbed"  # the end of uids
NAMES_OF_IDS = ("table_id", "Table ID", "original_tableid")


class PairedTables(PairedText):
    """Tables with hypotheses about them, from ``data.path`` alone; partners never come from the same table.

    The columns are those of the files, and premise (the table), table (its id) and category. Inoculation takes the
    modified tables of TabProbe's annotated counterfactuals, or a file of pairs on tables of ``data.path``.

    Args:
        table_style: How a model reads a table: "paragraph" (a sentence for each row), "structure" (keys with their
            values) or "cells".
        keep_rows: Of each table, keep this many rows, those that share most words with the hypothesis; without it, what
            is longer than the model reads is cut at the end.
        without_tables: A csv or tsv file that names tables (column table_id, Table ID or original_tableid): none of
            them is trained on.
        **kwargs: As for :class:`PairedText`.
    """

    local = TablePairs
    in_memory = None
    only_local = "Name its folder with data.path: data/ of github.com/infotabs/infotabs."

    def __init__(
        self,
        table_style: Literal["paragraph", "structure", "cells"] = "paragraph",
        keep_rows: int | None = None,
        without_tables: str | None = None,
        **kwargs: Any,
    ) -> None:
        if keep_rows is not None and keep_rows < 1:
            raise SettingError(f"data.keep_rows {keep_rows} is less than 1.")
        self.form = TableForm(table_style, keep_rows)
        super().__init__(**kwargs)
        self.without_tables = without_tables
        if without_tables is not None:
            self.load_transforms.append(Change(self._leave_out, "train"))
        self.inputs.append(self._count_shortened)
        self.columns = replace(
            self.columns,
            groups=tuple(dict.fromkeys((TABLE, *self.columns.groups))),
            meta=tuple(dict.fromkeys((TABLE, *self.columns.meta))),
            kinds={part: "table" for part, column in self.columns.parts.items() if column == PREMISE},
        )

    @property
    def challenges(self) -> Challenges:
        return Challenges(self._challenge, self._perturbed)

    def _challenge(self, path: str) -> Examples:
        prefix = f"{self.name}/challenge"
        if file := challenge_file(path, "data.inoculation.path"):
            return load_counterfactuals(file, prefix, self.columns.labels, parts=self.columns.parts)[1]
        rows = self._source(self.path).with_tables(read(Path(path), self.quoting), path)
        examples, self.counts.no_gold["train"] = to_examples(rows, path, prefix, self.columns)
        return examples

    def _perturbed(self, n: int, by_group: bool) -> Examples:
        """Hypotheses of the training set in the order of their hashes, each with one change of all that it allows.

        Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), §4 and §7.

        Raises:
            HeedfulError: The parts are not a table and a text, the labels are others, or fewer than ``n`` can be
                changed.
        """
        table, hypothesis = self._table_and_text()
        if missing := [label for label in ("entailment", "contradiction") if label not in self.columns.labels]:
            raise DataError(
                f"data.inoculation.perturbed needs the label {missing[0]!r}, and {self.name} has "
                f"{', '.join(self.columns.labels)}."
            )
        examples = self.load("train")
        source = Source(examples, best_analyser(), hypothesis, table)
        kinds = [kind for kind in KINDS if kind != "entities" or source.analyser.knows_entities]
        changes = [PerturbHypothesis(kind, way, source) for kind in kinds for way in DIRECTIONS]
        perturbed: list[Example] = []
        for i in by_hash(examples, self.seed, "inoculation", groups_of(examples) if by_group else None):
            uid = examples.uid(i)
            made = [c.example for change in changes for c in change.apply(examples, uid, 0, self.seed)]
            if made:
                example = made[int(generator(self.seed, "inoculation", "perturbed", uid).integers(len(made)))]
                perturbed.append(replace(example, uid=f"{uid}{PERTURBED}"))
            if len(perturbed) == n:
                flipped = sum(e.label != examples.value("label", examples.position(_base(e.uid))) for e in perturbed)
                inform(
                    f"{self.name}: {n} hypotheses of the training set are perturbed, {flipped} of them to the opposite "
                    f"label, in {', '.join(kinds)} ({source.analyser.name})."
                )
                return Examples.of(perturbed)
        raise DataError(
            f"Only {len(perturbed)} hypotheses of the training set can be perturbed, and data.inoculation.n is {n}."
        )

    def _table_and_text(self) -> tuple[str, str]:
        """The part that is the table, and the hypothesis, where there is one of each."""
        parts = list(self.columns.parts)
        tables = list(self.columns.kinds)
        texts = [part for part in parts if part not in tables]
        if (len(tables), len(texts)) != (1, 1):
            raise DataError(
                "data.inoculation.perturbed needs one part that is a table and one that is a text, and data.parts "
                f"has {', '.join(f'{part} ({self.columns.parts[part]})' for part in parts)}. Take the table from the "
                f"column {PREMISE}."
            )
        return tables[0], texts[0]

    def _count_shortened(self, read: Reader, split: Split) -> Examples:
        examples = read(split)
        contents = [t for part in examples.tables for t in examples.table[f"parts.{part}"].unique().to_pylist()]
        n = sum(self.form.shortens(Table.decode(content)) for content in contents)
        self.counts.shortened[split] = n
        self.counts.say(split, f"Tables with more than {self.form.keep} rows, which lose the others: {{:,}}.", n)
        return examples

    def _leave_out(self, examples: Examples) -> Examples:
        file = Path(self.without_tables)
        names = set()
        for row, columns in read(file):
            ids = [str(columns[name]).strip() for name in NAMES_OF_IDS if name in columns]
            if not ids:
                raise DataError(
                    f"{file}, row {row}: there is no column {' or '.join(NAMES_OF_IDS)}. The columns are "
                    f"{', '.join(columns)}."
                )
            names.add(ids[0])
        stays = np.array([table not in names for table in examples.column(f"meta.{TABLE}")])
        absent = sorted(names.difference(examples.column(f"meta.{TABLE}")))
        if len(absent) == len(names):
            raise SettingError(
                f"data.without_tables {file} names no table of the training set, but {absent[0]!r} and the like. Name "
                f"tables as it does: {examples.value(f'meta.{TABLE}', 0)!r}."
            )
        if not stays.any():
            raise DataError(f"data.without_tables {file} names every table of the training set. Name fewer.")
        others = f"; of those, not in the training set: {len(absent):,} of {len(names):,}" if absent else ""
        inform(
            f"{self.name}: {len(stays) - stays.sum():,} training examples are left out, on tables that {file} names"
            f"{others}."
        )
        return examples.take(np.flatnonzero(stays))

    def _called(self, split: Split, name: str) -> str:
        return short_split(name)


def _base(uid: str) -> str:
    return uid.removesuffix(PERTURBED)
