"""Loaders of TabProbe (Gupta et al., 2022): counterfactual tables, and annotations of the relevant rows of tables."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heedful.datamodules.loaders.pairs import Columns, to_examples
from heedful.datamodules.loaders.table_files import TableFolder, cell_text
from heedful.datamodules.sources.readers import read
from heedful.datamodules.sources.source import Split
from heedful.datamodules.sources.values import brief, require_column
from heedful.records import DataError, Examples, Table, inform
from heedful.records.example import content_id

LABELS = {"entailment": ["E"], "neutral": ["N"], "contradiction": ["C"]}
PARTS = {"premise": "premise", "hypothesis": "hypothesis"}
ORIGINALS, MODIFIED = "tables_json", "tables_mod_json"
COUNTERFACTUAL = [f"{side}_{what}" for side in ("original", "modified") for what in ("tableid", "hypothesis", "label")]
ANNOTATED = ("Table ID", "Hypothesis", "Truth Label", "Majority Label", "JSON")
NONE = "none"  # key of the last bit of an annotation: no row is relevant


def challenge_file(path: str | Path) -> Path | None:
    """Return the tsv file of TabProbe's counterfactual tables.

    Args:
        path: The tsv file, or its folder, which also has tables_json/ and tables_mod_json/.

    Returns:
        None for a file in a folder without tables_mod_json/, which is another kind of challenge set.

    Raises:
        DataError: ``path`` does not exist, or is a folder without these contents.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path} does not exist.")
    folder = path if path.is_dir() else path.parent
    if path.is_file():
        return path if (folder / MODIFIED).is_dir() else None
    files = sorted(folder.glob("*.tsv"))
    if len(files) != 1 or not all((folder / name).is_dir() for name in (ORIGINALS, MODIFIED)):
        held = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) or "nothing"
        raise DataError(
            f"{path} is not a folder of TabProbe's counterfactuals; it holds {held}. Name a folder with one .tsv file, "
            f"{ORIGINALS}/ and {MODIFIED}/."
        )
    return files[0]


def load_counterfactuals(
    path: str | Path,
    prefix: str | None = None,
    labels: Mapping[str, Sequence[str | int]] = LABELS,
    parts: Mapping[str, str] = PARTS,
) -> tuple[Examples, Examples]:
    """Load examples about original tables, and for each example a counterpart about a modified table.

    Pairs in which neither table nor hypothesis differs are dropped and logged.

    Args:
        path: A folder with one tsv file, tables_json/ and tables_mod_json/, or the tsv file.
        prefix: Start of uids, by default ``counterfactuals/<folder>``.
        labels: Maps label names to spellings.
        parts: Maps each part name to "premise", which is the table, or to "hypothesis".

    Returns:
        (Originals, counterparts), in the same order and with the same uids, ``<prefix>/<hash of original and
        counterpart>``. The group and the meta column ``table`` are the id of the original table; the meta column
        ``modified`` is the id of the modified table.

    Raises:
        DataError: A file is missing or broken, or a row has no label.
    """
    file = challenge_file(path)
    if file is None:
        raise DataError(f"{path} is not in a folder with {MODIFIED}/.")
    where = str(file)
    folders = [TableFolder(file.parent / name) for name in (ORIGINALS, MODIFIED)]
    sides: tuple[list[tuple[int, dict[str, Any]]], ...] = ([], [])
    unchanged: list[int] = []
    repeats: Counter[str] = Counter()
    for row, columns in read(file):
        for name in COUNTERFACTUAL:
            require_column(name, columns, f"{where}, row {row}")
        pair = [
            {
                "premise": folder.table(str(columns[f"{side}_tableid"]).strip(), f"{where}, row {row}"),
                "hypothesis": columns[f"{side}_hypothesis"],
                "label": columns[f"{side}_label"],
                "table": str(columns["original_tableid"]).strip(),
                "modified": str(columns["modified_tableid"]).strip(),
            }
            for side, folder in zip(("original", "modified"), folders, strict=True)
        ]
        if all(pair[0][name] == pair[1][name] for name in ("premise", "hypothesis")):
            unchanged.append(row)
            continue
        uid = _pair_id(pair)
        repeats[uid] += 1
        for side_rows, values in zip(sides, pair, strict=True):
            side_rows.append((row, values | {"pair": f"{uid}#{repeats[uid]}" if repeats[uid] > 1 else uid}))
    kinds = {part: "table" for part, column in parts.items() if column == "premise"}
    roles = Columns(parts, "label", labels, "pair", ("table",), ("table", "modified"), kinds)
    prefix = prefix or f"counterfactuals/{file.parent.name}"
    originals, modified = (to_examples(iter(side), where, roles, Split("", prefix)) for side in sides)
    if n := originals.no_gold + modified.no_gold:
        raise DataError(f"{where}: {n} labels are missing. Give each row both labels.")
    if unchanged:
        listed = f"{len(unchanged)} (row {', '.join(map(str, unchanged[:5]))}{', ...' if len(unchanged) > 5 else ''})"
        inform(f"{where}: pairs without a change of table or hypothesis, left out: {listed}.")
    return originals, modified


def _pair_id(pair: Sequence[Mapping[str, Any]]) -> str:
    """Return a hash of the contents of an original example and its counterpart, given their values by column."""
    content = [value.encode() if isinstance(value, Table) else value for values in pair for value in values.values()]
    return content_id(json.dumps(content))[:16]


def load_evidence(path: str | Path, examples: Examples) -> tuple[dict[str, tuple[str, ...]], dict[str, int]]:
    """Load the table rows that the majority of annotators found relevant to a hypothesis.

    An annotation has one bit per row of the table and a last bit for "none". It belongs to the example with the same
    table and the same hypothesis.

    Args:
        path: A csv file with the columns Table ID, Hypothesis, Truth Label, Majority Label (the majority's bits) and
            JSON (an object that maps keys to bits).
        examples: The annotated split, from :func:`~heedful.datamodules.load_tables`.

    Returns:
        Maps the uid of an example to the keys of the relevant rows, in the order of the table; and maps a reason to the
        number of dropped annotations: "neutral" (the gold label), "no relevant row", and "relevant rows and none" (the
        majority marks rows and "none").

    Raises:
        DataError: A column is missing, an annotation matches no example or has another label, or its bits contradict
            the table.
    """
    names = zip(*(examples.column(c) for c in ("meta.table", "parts.hypothesis")), strict=True)
    positions = {name: i for i, name in reversed(list(enumerate(names)))}  # the first, if examples are equal
    spellings = {letter: name for name, letters in LABELS.items() for letter in letters}
    evidence: dict[str, tuple[str, ...]] = {}
    left_out = Counter(dict.fromkeys(("neutral", "no relevant row", "relevant rows and none"), 0))
    for row, columns in read(Path(path)):
        where = f"{path}, row {row}"
        for name in ANNOTATED:
            require_column(name, columns, where)
        table, hypothesis, label, majority, marks = (str(columns[name]) for name in ANNOTATED)
        if (table, hypothesis) not in positions:
            raise DataError(f"{where}: no example has the hypothesis {brief(hypothesis)} and the table {table!r}.")
        example = examples[positions[table, hypothesis]]
        if spellings.get(label) != example.label:
            raise DataError(f"{where}: the label is {brief(label)}, but {example.label!r} in {example.uid}.")
        keys = example.parts["premise"].keys
        _require_rows(majority, marks, keys, where)
        relevant = tuple(key for key, bit in zip(keys, majority, strict=False) if bit == "1")
        if example.label == "neutral":
            left_out["neutral"] += 1
        elif not relevant:
            left_out["no relevant row"] += 1
        elif majority[-1] == "1":
            left_out["relevant rows and none"] += 1
        else:
            evidence[example.uid] = relevant
    return evidence, dict(left_out)


def _require_rows(majority: str, marks: str, keys: Sequence[str], where: str) -> None:
    """Raise DataError unless an annotation, as bits and as an object of keys to bits, fits the keys of its table."""
    if not re.fullmatch(f"[01]{{{len(keys) + 1}}}", majority):
        raise DataError(f"{where}: {brief(majority)} is not {len(keys) + 1} bits: one per table row, one for none.")
    try:
        marked = [(cell_text(key, where), bit) for key, bit in json.loads(marks, object_pairs_hook=list)]
    except (ValueError, TypeError, RecursionError):
        raise DataError(f"{where}: JSON is {brief(marks)}, not an object of key to bit.") from None
    expected = list(zip((*keys, NONE), majority, strict=True))
    if marked != expected:
        wrong = next((pair for pair in marked if pair not in expected), marked[-1:])
        raise DataError(f"{where}: JSON has {brief(wrong)}, which contradicts the rows or Majority Label.")
