"""Damaged data files for the fuzz test: valid rows, one damage at a random place, and what may come of it."""

import dataclasses
import gzip
import io
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

LABELS = {"entailment": ["0"], "neutral": ["1"], "contradiction": ["2"]}
COLUMNS = ("id", "premise", "hypothesis", "label", "doc", "extra")
READ = COLUMNS[:-1]
PIECES = [
    "A",
    "dog",
    "runs",
    "é",
    "🙂",
    "NA",
    "null",
    "'",
    "\\",
    "{",
    "}",
    ";",
    "None",
    "0",
    " ",
    "\u2028",
    "\x0c",
    "\x85",
]
MARKS = b'",\t\n\r\0\\{}[]: \xff\x80\xed'
FORMS = ("csv", "tsv", "jsonl", "json")
Row = dict[str, Any]


@dataclasses.dataclass
class Case:
    """A file, and what may come of it.

    Attributes:
        damage: What was done to it.
        name: Its name, by which it is read.
        content: Its bytes.
        rows: The rows that are in it, as they were before the damage.
        outcome: "loads" if it has to be read, "refused" if it must not be, "either" if it may be.
        free: Index of a row of which any columns may have changed (a letter that became another is still a letter).
        may_end: Whether this row may have become no row at all, as the file ends there.
        row: The row that a refusal must name; None for any row or none.
        quoting: As in ``read``.
        rewritten: Whether all rows may have lost their quotes, and only their number is known.
    """

    damage: str
    name: str
    content: bytes
    rows: list[Row]
    outcome: Literal["loads", "refused", "either"] = "either"
    free: int | None = None
    may_end: bool = False
    row: int | None = None
    quoting: bool = True
    rewritten: bool = False


def some_rows(rng: random.Random, tabs_and_lines: bool = True) -> list[Row]:
    """Valid rows with unique ids; at least two have gold, and some have none."""
    pieces = PIECES + ([",", '"', "\n", "\r\n", '"', "a, b"] if tabs_and_lines else ['"', '"x', 'y"'])

    def text(i: int) -> str:
        return f"é{i} " + "".join(rng.choice(pieces) for _ in range(rng.randint(0, 12))) + "."

    rows = []
    for i in range(rng.choice([3, 5, 30])):
        label = rng.choice([*LABELS, "0", "1", "2", "-", ""]) if i > 1 else rng.choice([*LABELS])
        rows.append({c: text(i) for c in COLUMNS} | {"id": f"r{i}", "label": label, "doc": f"d{i // 2}"})
    return rows


def field(value: str, delimiter: str, always: bool) -> str:
    """A field of a csv file as RFC 4180 writes it."""
    needed = any(c in value for c in (delimiter, '"', "\n", "\r"))
    return '"' + value.replace('"', '""') + '"' if needed or always else value


def lines_of(form: str, rows: Sequence[Row], rng: random.Random, quoting: bool = True) -> list[bytes]:
    """Pieces of a file without the line ends between them: the header (csv, tsv), or nothing; then one for each row."""
    if form in ("jsonl", "json"):
        ascii_only = rng.random() < 0.5 or any(
            re.search("[\ud800-\udfff]", str(v)) for row in rows for v in row.values()
        )
        return [b"", *(json.dumps(row, ensure_ascii=ascii_only).encode() for row in rows)]
    delimiter, always = ("\t" if form == "tsv" else ","), rng.random() < 0.3
    columns = rng.sample(COLUMNS, len(COLUMNS))
    write = (lambda v: field(v, delimiter, always)) if quoting else str
    return [delimiter.join(write(v) for v in values).encode() for values in [columns, *map(_in(columns), rows)]]


def _in(columns: Sequence[str]) -> Callable[[Row], list[str]]:
    return lambda row: [str(row[c]) for c in columns]


def joined(form: str, lines: Sequence[bytes], end: bytes = b"\n") -> bytes:
    """The whole file."""
    if form == "json":
        return b"[" + b",\n".join(lines[1:]) + b"]"
    return b"".join(line + end for line in (lines[1:] if form == "jsonl" else lines))


def text_case(damage: str, form: str, rng: random.Random) -> Case:
    """A damaged csv, tsv, json or jsonl file."""
    rows = some_rows(rng)
    lines = lines_of(form, rows, rng)
    k = rng.randrange(len(rows))
    case = Case(damage, f"a.{form}", b"", rows)
    delimited = form in ("csv", "tsv")
    if damage in ("byte", "insert", "delete", "quote"):  # within one row, or within the header
        k = rng.randrange(-1 if delimited else 0, len(rows))
        line, at = bytearray(lines[k + 1]), rng.randrange(len(lines[k + 1]))
        if damage == "byte":
            line[at] = rng.choice([line[at] ^ 1 << rng.randrange(8), rng.choice(MARKS)])
        elif damage == "insert":
            line[at:at] = bytes(rng.choices(MARKS, k=rng.choice([1, 1, 2])))
        elif damage == "delete" or b'"' not in line:
            del line[at]
        else:
            del line[rng.choice([i for i, c in enumerate(line) if c == ord('"')])]
        lines[k + 1] = bytes(line)
        case.free = k if k >= 0 else None
    elif damage == "cut":
        whole = joined(form, lines)
        at = rng.randrange(len(whole))
        before = [len(joined(form, lines[: i + 2])) for i in range(len(rows))]
        case.free = sum(end <= at for end in before) if form != "json" else None
        case.rows = rows[: case.free + 1] if form != "json" else rows
        case.may_end, case.content = True, whole[:at]
        case.outcome = "refused" if form == "json" else "either"
        return case
    elif damage in ("newlines", "crlf", "blank lines", "no last newline", "byte order mark"):
        ends = {"newlines": [b"\n", b"\r\n", b"\r\r\n"], "crlf": [b"\r\n"], "blank lines": [b"\n", b"\n\n", b"\r\n\n"]}
        case.content = b"".join(line + rng.choice(ends.get(damage, [b"\n"])) for line in lines[form == "jsonl" :])
        if form == "json":
            case.content = b"[" + b",\r\n \n".join(lines[1:]) + b"]\n"
        if damage == "no last newline":
            case.content = case.content.rstrip(b"\r\n")
        if damage == "byte order mark":
            case.content = b"\xef\xbb\xbf" + case.content
        case.outcome = "loads"
        return case
    elif damage == "lone cr":
        case.content, case.outcome = joined(form, lines, b"\r"), "loads" if form == "json" else "refused"
        return case
    elif damage == "join":  # the line end between two rows is gone
        k = rng.randrange(1, len(lines) - 1)
        gap = rng.choice([b"", b" ", b"\0"])
        lines[k : k + 2] = [lines[k] + gap + lines[k + 1]]
        case.outcome = "refused"
    elif damage == "header":
        case.outcome = "refused"
        if not delimited:
            lines[k + 1] = lines[k + 1].replace(b'"premise"', b'"label"')  # a key twice
            case.row = k + 1 if form == "jsonl" else None
        elif (how := rng.randrange(3)) == 0:
            lines[0] = lines[0].replace(b"premise", b"hypothesis")  # a name twice
        elif how == 1:
            del lines[0]
        else:
            lines.insert(k + 1, lines[0])
            case.row = k + 1
    elif damage == "ragged":
        case.outcome, case.row = "refused", k + 1
        if delimited:
            separator = b"\t" if form == "tsv" else b","
            lines[k + 1] = rng.choice([lines[k + 1] + separator + b"x", separator + lines[k + 1], b"x", separator * 4])
        else:
            row = {c: v for c, v in rows[k].items() if c != rng.choice(READ)}
            lines[k + 1] = rng.choice([json.dumps(row).encode(), b"[]", b"1", b'"x"', b"null", b"{}"])
            case.outcome = "either" if "extra" in row and len(row) == len(COLUMNS) else "refused"
    elif damage == "encoding":
        how = rng.choice(["latin-1", "utf-16", "utf-16-le", "utf-32", "one row", "surrogate"])
        if how == "one row":
            lines[k + 1] = lines[k + 1].replace("é".encode(), b"\xe9").replace(b"\\u00e9", b"\xe9")
        elif how == "surrogate":
            lines[k + 1] = lines[k + 1].replace("é".encode(), b"\xed\xa0\xbd").replace(b"\\u00e9", b"\xed\xa0\xbd")
        else:
            whole = joined(form, lines).decode().replace("\\u00e9", "é")
            case.content = whole.encode(how, "replace")
        case.outcome = "refused"
        case.content = case.content or joined(form, lines)
        return case
    elif damage == "nul":
        case.content, case.outcome = joined(form, lines) + bytes(rng.choice([1, 7, 4096])), "refused"
        return case
    elif damage == "empty":
        empty = [b"", b"\n", b"\n \n", b"\xef\xbb\xbf", b"\0", lines[0], lines[0] + b"\n\n"]
        case.content, case.outcome = rng.choice(empty), "refused"
        return case
    elif damage == "concatenated":
        lines = lines + lines[:1] + lines[1:] if delimited else lines + lines[1:]
        case.content = joined(form, lines) if form != "json" else joined(form, lines[: len(rows) + 1]) * 2
        case.outcome = "refused"
        return case
    else:
        raise KeyError(damage)
    case.content = joined(form, lines)
    return case


def value_case(damage: str, form: str, rng: random.Random) -> Case:
    """A file that is well formed, one value of which is not what it should be."""
    rows = some_rows(rng)
    gold = [i for i, row in enumerate(rows) if row["label"] not in ("-", "")]
    k = rng.choice(gold)
    case = Case(damage, f"a.{form}", b"", rows, "refused", row=k + 1)
    written = [dict(row) for row in rows]
    column, is_json = rng.choice(READ), form in ("jsonl", "json")
    if damage == "label":
        wrong = ["Neutral", "3", "entail", "x" * 10_000, "neutral\0", "a\nb", "1.5", "nullx"]
        written[k]["label"] = rng.choice(wrong)
    elif damage == "no label":
        written[k]["label"] = rng.choice(["", "-", " ", "-1", "none", "NaN", *([None, -1, float("nan")] * is_json)])
        rows[k]["label"], case.outcome = "-", "loads" if len(gold) > 1 else "either"
    elif damage == "spelling":
        number = {"entailment": 0, "neutral": 1, "contradiction": 2}
        rows[k]["label"] = name = rng.choice([*LABELS])
        others = [float(number[name]), number[name]] if is_json else []
        written[k]["label"] = rng.choice([f" {name} ", f"{number[name]}.0", f"{number[name]} ", *others])
        case.outcome = "loads"
    elif damage == "same id":
        one, other = sorted(rng.sample(gold, 2))
        written[other]["id"], case.row = written[one]["id"], other + 1
    elif damage == "nothing":
        written[k][column] = rng.choice(["", " ", "\u2028", *([None, float("nan")] * is_json)])
        case.outcome = "loads" if column == "label" else "refused"
        rows[k]["label"] = "-" if column == "label" and case.outcome == "loads" else rows[k]["label"]
        if column == "label" and len(gold) == 1:
            case.outcome = "either"
    elif damage == "huge":
        column = rng.choice(["premise", "extra"])
        rows[k][column] = written[k][column] = "é, " * rng.randint(100_000, 700_000)
        case.outcome = "loads"
    elif damage == "number":
        column = rng.choice(["premise", "hypothesis", "id", "doc", "extra"])
        written[k][column] = rng.choice([12, -7, 0.5, 10**30])
        rows[k][column], case.outcome = str(written[k][column]), "loads"
    elif damage == "type":
        written[k][column] = rng.choice([[], ["a"], {}, {"a": 1}, True, float("inf"), ["x" * 9999], {"a": {"b": []}}])
        if column == "label" and written[k][column] is True:
            written[k][column] = False
    elif damage == "half a character":
        written[k][column] = rng.choice(["\ud83d", "x\udc00y", "\udfff\ud800"])
    elif damage == "nesting":
        depth = rng.choice([800, 950, 990, 1000, 5000, 200_000])
        lines = lines_of(form, written, rng)
        deep = b"[" * depth + b"]" * depth
        lines[k + 1] = lines[k + 1][:-1] + rng.choice([b', "more": ' + deep, b', "more": ' + b'{"a":' * depth]) + b"}"
        case.content, case.row = joined(form, lines), None
        case.outcome = "refused" if depth > 2000 or b'{"a":' in lines[k + 1] else "either"
        return case
    elif damage == "digits":
        lines = lines_of(form, written, rng)
        lines[k + 1] = lines[k + 1][:-1] + b', "more": ' + b"9" * 5000 + b"}"
        case.content, case.row = joined(form, lines), k + 1 if form == "jsonl" else None
        return case
    else:
        raise KeyError(damage)
    case.content = joined(form, lines_of(form, written, rng))
    return case


def plain_case(damage: str, form: str, rng: random.Random) -> Case:
    """Quotes as plain characters: read as such, every row is there; read as quotes, none may be swallowed."""
    rows = some_rows(rng, tabs_and_lines=False)
    rows = [{c: v.replace(",", ";").replace("\t", " ") for c, v in row.items()} for row in rows]
    for row in rng.sample(rows, 2):  # one field begins with a quote, and another ends with one
        row["premise"] = rng.choice(['"' + row["premise"], row["premise"] + '"', '"' + row["premise"] + '"'])
    quoting = damage == "plain quotes read as quotes"
    content = joined(form, lines_of(form, rows, rng, quoting=False))
    return Case(
        damage, f"a.{form}", content, rows, "either" if quoting else "loads", None, False, None, quoting, quoting
    )


def gzip_case(damage: str, form: str, rng: random.Random) -> Case:
    """A compressed file that is cut, changed, or not compressed at all."""
    rows = some_rows(rng)
    plain = joined(form, lines_of(form, rows, rng))
    packed = bytearray(gzip.compress(plain, mtime=0))
    case = Case(damage, f"a.{form}.gz", b"", rows, "refused")
    if damage == "gzip cut":
        packed = packed[: rng.randrange(1, len(packed))]
    elif damage == "gzip byte":
        packed[rng.randrange(len(packed))] ^= 1 << rng.randrange(8)
        case.outcome = "either"  # the header holds a time and a name that nobody reads
    elif damage == "gzip tail":
        packed += rng.choice([b"x", b"\x1f\x8b", bytes(3) + b"x", b"\n"])
    elif damage == "gzip members":
        at = rng.randrange(len(plain))
        packed = bytearray(gzip.compress(plain[:at]) + gzip.compress(plain[at:]) + bytes(rng.choice([0, 512])))
        case.outcome = "loads"
    elif damage == "not gzip":
        packed = bytearray(plain)
    else:
        case.name = f"a.{form}"  # compressed, and not named so
    case.content = bytes(packed)
    return case


def parquet_case(damage: str, form: str, rng: random.Random) -> Case:
    """A parquet file with checksums that is changed, or whose columns are of other types."""
    rows = some_rows(rng)
    gold = [i for i, row in enumerate(rows) if row["label"] not in ("-", "")]
    k = rng.choice(gold)
    case = Case(damage, "a.parquet", b"", rows, "refused", row=k + 1)
    columns = {c: pa.array([row[c] for row in rows]) for c in rng.sample(COLUMNS, len(COLUMNS))}
    column = rng.choice(READ)
    if damage == "parquet null":
        values = [row[column] for row in rows]
        values[k] = None
        columns[column] = pa.array(values, pa.string())
        if column == "label":
            rows[k]["label"], case.outcome = "-", "loads" if len(gold) > 1 else "either"
    elif damage == "parquet type":
        wrong = {"list": ([["a"]], None), "struct": ([{"a": 1}], None), "bool": ([True], None), "bytes": ([b"a"], None)}
        wrong |= {
            "date": ([7], pa.date32()),
            "nothing": ([None], pa.null()),
            "map": ([[("a", 1)]], pa.map_("str", "int8")),
        }
        values, kind = wrong[rng.choice(sorted(wrong))]
        columns[column] = pa.array(values * len(rows), kind) if kind else pa.array(values * len(rows))
        case.row = None
    elif damage == "parquet kin":
        column = rng.choice(["premise", "id", "doc"])
        kinds = [pa.dictionary(pa.int8(), pa.string()), pa.large_string(), pa.string_view(), pa.int64(), pa.float64()]
        kind = rng.choice(kinds)
        numbers = kind in (pa.int64(), pa.float64())
        values = [i + 0.5 if kind == pa.float64() else i for i in range(len(rows))] if numbers else None
        for row, value in zip(rows, values or [row[column] for row in rows], strict=True):
            row[column] = str(value)
        columns[column] = pa.array(values, kind) if numbers else columns[column].cast(kind)
        case.outcome = "loads"
    elif damage == "parquet not utf-8":
        values = [row[column].encode() for row in rows]
        values[k] = b"\xff" + values[k]
        made = pa.array(values, pa.binary())
        columns[column] = pa.Array.from_buffers(pa.string(), len(rows), made.buffers())
        case.row = None
    elif damage == "parquet column":
        del columns[column]
        case.row = 1
    elif damage == "parquet same column":
        columns["twice"] = columns[column]
        case.row = None
    elif damage == "parquet no rows":
        columns = {c: a[:0] for c, a in columns.items()}
        case.row = None
    file = io.BytesIO()
    names = [column if c == "twice" else c for c in columns]
    pq.write_table(
        pa.Table.from_arrays(list(columns.values()), names=names),
        file,
        row_group_size=rng.choice([2, 7, 100]),
        compression=rng.choice(["none", "snappy", "zstd"]),
        use_dictionary=rng.random() < 0.5,
        data_page_version=rng.choice(["1.0", "2.0"]),
        data_page_size=rng.choice([64, 2**20]),
        write_page_checksum=damage != "parquet without checksums",
        store_schema="type" not in damage and "utf-8" not in damage,
    )
    content = bytearray(file.getvalue())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # without checksums a changed letter is a letter; that rows are neither lost nor added is seen all the same
    case.rewritten = damage == "parquet without checksums"
    if damage == "parquet cut":
        content, case.row = content[: rng.randrange(len(content))], None
    elif damage in ("parquet page", "parquet without checksums", "parquet footer", "parquet zeros"):
        at = rng.randrange(4, footer) if damage != "parquet footer" else rng.randrange(footer, len(content))
        if damage == "parquet zeros":
            content[at : at + 64] = bytes(min(64, len(content) - at))
        else:
            content[at] ^= 1 << rng.randrange(8)
        case.outcome, case.row = "either", None
    case.content = bytes(content)
    return case


TEXT = (
    *("byte", "insert", "delete", "quote", "cut", "newlines", "crlf", "blank lines", "no last newline"),
    *("byte order mark", "lone cr", "join", "header", "ragged", "encoding", "nul", "empty", "concatenated"),
)
VALUE = ("label", "no label", "spelling", "same id", "nothing", "huge", "number")
JSON = ("type", "half a character", "nesting", "digits")
PLAIN = ("plain quotes", "plain quotes read as quotes")
GZIP = ("gzip cut", "gzip byte", "gzip tail", "gzip members", "not gzip", "not named gzip")
PARQUET = (
    *("parquet page", "parquet footer", "parquet zeros", "parquet cut", "parquet null", "parquet type", "parquet kin"),
    *("parquet without checksums", "parquet not utf-8", "parquet column", "parquet same column", "parquet no rows"),
)
MAKERS: list[tuple[str, str, Callable[[str, str, random.Random], Case]]] = [
    *((damage, form, text_case) for damage in TEXT for form in FORMS),
    *((damage, form, value_case) for damage in VALUE for form in FORMS),
    *((damage, form, value_case) for damage in JSON for form in ("jsonl", "json")),
    *((damage, "tsv", plain_case) for damage in PLAIN),
    *((damage, form, gzip_case) for damage in GZIP for form in FORMS),
    *((damage, "parquet", parquet_case) for damage in PARQUET for _ in range(3)),
]


def damaged(number: int) -> Case:
    """The case of a number: kinds of damage take turns, and the rest follows from the number."""
    damage, form, make = MAKERS[number % len(MAKERS)]
    return make(damage, form, random.Random(number))
