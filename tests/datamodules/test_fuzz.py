"""Damaged files: each loads completely, or is refused in one line that names the file and the row."""

import csv
import io
import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.datamodules import Columns, Split, to_examples
from heedful.datamodules.sources.readers import read
from heedful.records import DataError, HeedfulError

LABELS: dict[str, list[str | int]] = {"entailment": ["0"], "neutral": ["1"], "contradiction": ["2"]}
COLUMNS = Columns({"premise": "premise", "hypothesis": "hypothesis"}, "label", LABELS, uid="id", groups=("doc",))
SPELLED = {str(s): name for name, others in LABELS.items() for s in (name, *others)}
PIECES = ["\r\n", "a, b", *"A dog é 🙂 NA null None ' 0 \" \\ { } ; ,".split(), *" \n\u2028\x0c\x85"]
MARKS = b'",\t\n\r\0\\{}[]: \xff\x80\xed'
PLACE = re.compile(r"row \d+|line \d+|row group \d+|footer|header|has no rows?|not rows|not valid JSON|not UTF-8")
Row = dict[str, str]


def some_rows(rng: random.Random) -> list[Row]:
    """Rows with unique ids, of which the first two have gold."""
    rows = []
    for i in range(rng.choice([3, 5, 30])):
        texts = {c: f"é{i} {''.join(rng.choices(PIECES, k=rng.randint(0, 12)))}." for c in ("premise", "hypothesis")}
        label = rng.choice([*LABELS, "0", "1", "2", *(["-", ""] if i > 1 else [])])
        rows.append({"id": f"r{i}", **texts, "label": label, "doc": f"d{i // 2}"})
    return rows


def pieces(form: str, rows: list[Row], rng: random.Random) -> list[bytes]:
    """The header (csv, tsv) or nothing, and then each row, all with their line ends."""
    if form == "jsonl":
        return [b"", *(json.dumps(row, ensure_ascii=rng.random() < 0.5).encode() + b"\n" for row in rows)]
    written, quoting = [], rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    for values in ([*rows[0]], *(row.values() for row in rows)):
        file = io.StringIO()
        separator = "\t" if form == "tsv" else ","
        csv.writer(file, delimiter=separator, lineterminator="\n", quoting=quoting).writerow(values)
        written.append(file.getvalue().encode())
    return written


DAMAGES = dict.fromkeys(("byte", "insert", "cut"), "either") | {"ends": "loads"}
DAMAGES |= dict.fromkeys(("ragged", "latin-1", "twice", "nul"), "refused")  # and what must come of it


def damaged(damage: str, lines: list[bytes], k: int, rng: random.Random) -> bytes:
    """A file of which a row, the ends of lines or the number of rows is not what it was."""
    line, head = lines[k], lines[0]
    at = rng.randrange(1, len(line) - 1)
    marks = bytes(rng.choices(MARKS, k=rng.randint(1, 2)))
    end = [b"\n", b"\r\n", b"\n\n"]
    row = {
        "byte": line[:at] + rng.choice([marks, b""]) + line[at + 1 :],
        "insert": line[:at] + marks + line[at:],
        "cut": line[:at],
        "ragged": rng.choice([b"x\n", line[:-1] + b",\tx\n"] if head else [b"[]\n", b"1\n", b"null\n", b"{}\n"]),
        "latin-1": line.replace("é".encode(), b"\xe9").replace(b"\\u00e9", b"\xe9"),
    }.get(damage, line)
    after = [] if damage == "cut" else lines[k + 1 :]
    after += {"twice": [head, *lines[1:]], "nul": [bytes(rng.choice([1, 7, 4096]))]}.get(damage, [])
    whole = [*lines[:k], row, *after]
    if damage == "ends":
        whole = [rng.choice([b"\xef\xbb\xbf", b""]), *(one[:-1] + rng.choice(end) for one in whole if one)]
    return b"".join(whole)


def loaded(path: Path, content: bytes) -> tuple[set[tuple[str, ...]], int] | HeedfulError:
    """Examples and number of rows without gold, or the error that refuses the file."""
    path.write_bytes(content)
    try:
        examples = to_examples(read(path), str(path), COLUMNS, Split("", "f", training=True))
    except HeedfulError as error:
        return error
    rows = {(e.uid, *map(str, e.parts.values()), str(e.label), e.groups["doc"]) for e in examples}
    return rows, examples.no_gold


def expected(rows: list[Row]) -> tuple[set[tuple[str, ...]], int]:
    gold = [r for r in rows if r["label"] not in ("-", "")]
    found = {(f"f/{r['id']}", r["premise"], r["hypothesis"], SPELLED[r["label"]], r["doc"]) for r in gold}
    return found, len(rows) - len(gold)


@pytest.mark.slow
@settings(max_examples=int(os.environ.get("HEEDFUL_DAMAGED", 600)))
@given(
    rng=st.integers(0, 2**32).map(random.Random),
    damage=st.sampled_from([*DAMAGES]),
    form=st.sampled_from(["csv", "tsv", "jsonl"]),
)
def test_a_damaged_file_loads_completely_or_is_refused_by_name(
    tmp_path_factory: Any, rng: random.Random, damage: str, form: str
) -> None:
    folder = tmp_path_factory.getbasetemp()
    rows, path = some_rows(rng), folder / f"a.{form}"
    k = rng.randrange(len(rows))
    found = loaded(path, damaged(damage, pieces(form, rows, rng), k + 1, rng))
    if isinstance(found, HeedfulError):
        message = str(found)
        assert DAMAGES[damage] != "loads", found
        assert isinstance(found, DataError), message
        assert message.isprintable()
        assert len(message) - len(str(folder)) < 400
        assert path.name in message
        assert PLACE.search(message.replace(path.name, "")), message
        return
    assert DAMAGES[damage] != "refused"
    if damage == "ends":
        assert found == expected(rows)
        return
    intact, none = expected(rows[:k] + ([] if damage == "cut" else rows[k + 1 :]))
    assert intact <= found[0]
    assert len(found[0]) + found[1] - len(intact) - none in ((0, 1) if damage == "cut" else (1,))
