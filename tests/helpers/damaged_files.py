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


@dataclasses.dataclass
class Text:
    """The pieces of a text file, as :func:`lines_of` has them, and the index of the row to damage."""

    form: str
    lines: list[bytes]
    k: int

    @property
    def delimited(self) -> bool:
        return self.form in ("csv", "tsv")

    def whole(self) -> bytes:
        return joined(self.form, self.lines)


def text_case(damage: str, form: str, rng: random.Random) -> Case:
    """A damaged csv, tsv, json or jsonl file."""
    rows = some_rows(rng)
    text = Text(form, lines_of(form, rows, rng), rng.randrange(len(rows)))
    case = Case(damage, f"a.{form}", b"", rows)
    case.content = TEXT[damage](case, text, rng)
    return case


def _within_a_row(case: Case, text: Text, rng: random.Random) -> bytes:
    """One byte in a row, or in the header, is another, or there is one more or one less."""
    k = rng.randrange(-1 if text.delimited else 0, len(case.rows))
    line = bytearray(text.lines[k + 1])
    at = rng.randrange(len(line))
    if case.damage == "byte":
        line[at] = rng.choice([line[at] ^ 1 << rng.randrange(8), rng.choice(MARKS)])
    elif case.damage == "insert":
        line[at:at] = bytes(rng.choices(MARKS, k=rng.choice([1, 1, 2])))
    elif case.damage == "delete" or b'"' not in line:
        del line[at]
    else:
        del line[rng.choice([i for i, c in enumerate(line) if c == ord('"')])]
    text.lines[k + 1] = bytes(line)
    case.free = k if k >= 0 else None
    return text.whole()


def _cut(case: Case, text: Text, rng: random.Random) -> bytes:
    whole = text.whole()
    at = rng.randrange(len(whole))
    case.may_end = True
    if text.form == "json":
        case.outcome = "refused"
    else:
        ends = [len(joined(text.form, text.lines[: i + 2])) for i in range(len(case.rows))]
        case.free = sum(end <= at for end in ends)
        case.rows = case.rows[: case.free + 1]
    return whole[:at]


def _line_ends(case: Case, text: Text, rng: random.Random) -> bytes:
    """Other ends of lines, and a mark in front: nothing that changes a row."""
    ends = {"newlines": [b"\n", b"\r\n", b"\r\r\n"], "crlf": [b"\r\n"], "blank lines": [b"\n", b"\n\n", b"\r\n\n"]}
    lines = text.lines[1:] if text.form == "jsonl" else text.lines
    content = b"".join(line + rng.choice(ends.get(case.damage, [b"\n"])) for line in lines)
    if text.form == "json":
        content = b"[" + b",\r\n \n".join(text.lines[1:]) + b"]\n"
    if case.damage == "no last newline":
        content = content.rstrip(b"\r\n")
    if case.damage == "byte order mark":
        content = b"\xef\xbb\xbf" + content
    case.outcome = "loads"
    return content


def _join(case: Case, text: Text, rng: random.Random) -> bytes:
    """The line end between two rows is gone."""
    k = rng.randrange(1, len(text.lines) - 1)
    gap = rng.choice([b"", b" ", b"\0"])
    text.lines[k : k + 2] = [text.lines[k] + gap + text.lines[k + 1]]
    # behind a quote that is a character within a field, a line end that was within quotes may be that of a row
    case.rewritten = text.delimited and b'"' in text.lines[k]
    case.outcome = "either" if case.rewritten else "refused"
    return text.whole()


def _header(case: Case, text: Text, rng: random.Random) -> bytes:
    lines, after = text.lines, text.k + 1
    case.outcome = "refused"
    if not text.delimited:
        lines[after] = lines[after].replace(b'"premise"', b'"label"')  # a key twice
        case.row = after if text.form == "jsonl" else None
        return text.whole()
    how = rng.randrange(3)
    if how == 0:
        lines[0] = lines[0].replace(b"premise", b"hypothesis")  # a name twice
    elif how == 1:
        del lines[0]
    else:
        lines.insert(after, lines[0])
        case.row = after
    return text.whole()


def _ragged(case: Case, text: Text, rng: random.Random) -> bytes:
    """A row with another number of columns."""
    case.outcome, case.row = "refused", text.k + 1
    line = text.lines[text.k + 1]
    if text.delimited:
        separator = b"\t" if text.form == "tsv" else b","
        line = rng.choice([line + separator + b"x", separator + line, b"x", separator * 4])
    else:
        row = {c: v for c, v in case.rows[text.k].items() if c != rng.choice(READ)}
        line = rng.choice([json.dumps(row).encode(), b"[]", b"1", b'"x"', b"null", b"{}"])
        case.outcome = "either" if "extra" in row and len(row) == len(COLUMNS) else "refused"
    text.lines[text.k + 1] = line
    return text.whole()


def _encoding(case: Case, text: Text, rng: random.Random) -> bytes:
    case.outcome = "refused"
    how = rng.choice(["latin-1", "utf-16", "utf-16-le", "utf-32", "one row", "surrogate"])
    one_row = {"one row": b"\xe9", "surrogate": b"\xed\xa0\xbd"}
    if how not in one_row:
        return text.whole().decode().replace("\\u00e9", "é").encode(how, "replace")
    line = text.lines[text.k + 1]
    text.lines[text.k + 1] = line.replace("é".encode(), one_row[how]).replace(b"\\u00e9", one_row[how])
    return text.whole()


def _nul(case: Case, text: Text, rng: random.Random) -> bytes:
    case.outcome = "refused"
    return text.whole() + bytes(rng.choice([1, 7, 4096]))


def _empty(case: Case, text: Text, rng: random.Random) -> bytes:
    case.outcome = "refused"
    header = text.lines[0]
    return rng.choice([b"", b"\n", b"\n \n", b"\xef\xbb\xbf", b"\0", header, header + b"\n\n"])


def _concatenated(case: Case, text: Text, rng: random.Random) -> bytes:
    case.outcome = "refused"
    if text.form == "json":
        return text.whole() * 2
    again = text.lines if text.delimited else text.lines[1:]
    return joined(text.form, text.lines + again)


TEXT: dict[str, Callable[[Case, Text, random.Random], bytes]] = {
    **dict.fromkeys(("byte", "insert", "delete", "quote"), _within_a_row),
    "cut": _cut,
    **dict.fromkeys(("newlines", "crlf", "blank lines", "no last newline", "byte order mark"), _line_ends),
    "join": _join,
    "header": _header,
    "ragged": _ragged,
    "encoding": _encoding,
    "nul": _nul,
    "empty": _empty,
    "concatenated": _concatenated,
}


@dataclasses.dataclass
class Values:
    """Rows as they are written, and which value of them is not what it should be.

    Attributes:
        rows: The rows.
        gold: The indices of those with gold.
        k: The index of one of these.
        column: A column that is read.
        is_json: Whether values may be other than texts.
    """

    rows: list[Row]
    gold: list[int]
    k: int
    column: str
    is_json: bool


def _some_values(damage: str, form: str, rng: random.Random) -> tuple[Case, Values]:
    """Rows that are still whole, and a case that is refused for one of them."""
    rows = some_rows(rng)
    gold = [i for i, row in enumerate(rows) if row["label"] not in ("-", "")]
    k = rng.choice(gold)
    written = Values([dict(row) for row in rows], gold, k, rng.choice(READ), form in ("jsonl", "json"))
    return Case(damage, f"a.{form}", b"", rows, "refused", row=k + 1), written


def value_case(damage: str, form: str, rng: random.Random) -> Case:
    """A file that is well formed, one value of which is not what it should be."""
    case, written = _some_values(damage, form, rng)
    (VALUE | JSON)[damage](case, written, rng)
    case.content = joined(form, lines_of(form, written.rows, rng))
    return case


def _label(case: Case, written: Values, rng: random.Random) -> None:
    wrong = ["neutra", "3", "entail", "x" * 10_000, "neutral\0", "a\nb", "1.5", "nullx"]
    written.rows[written.k]["label"] = rng.choice(wrong)


def _no_label(case: Case, written: Values, rng: random.Random) -> None:
    none = ["", "-", " ", "-1", "none", "NaN"]
    if written.is_json:
        none += [None, -1, float("nan")]
    written.rows[written.k]["label"] = rng.choice(none)
    case.rows[written.k]["label"] = "-"
    case.outcome = "loads" if len(written.gold) > 1 else "either"


def _spelling(case: Case, written: Values, rng: random.Random) -> None:
    number = {"entailment": 0, "neutral": 1, "contradiction": 2}
    name = rng.choice([*LABELS])
    spellings = [f" {name} ", f"{number[name]}.0", f"{number[name]} "]
    if written.is_json:
        spellings += [float(number[name]), number[name]]
    written.rows[written.k]["label"] = rng.choice(spellings)
    case.rows[written.k]["label"] = name
    case.outcome = "loads"


def _same_id(case: Case, written: Values, rng: random.Random) -> None:
    one, other = sorted(rng.sample(written.gold, 2))
    written.rows[other]["id"] = written.rows[one]["id"]
    case.row = other + 1


def _nothing(case: Case, written: Values, rng: random.Random) -> None:
    nothing = ["", " ", "\u2028"]
    if written.is_json:
        nothing += [None, float("nan")]
    written.rows[written.k][written.column] = rng.choice(nothing)
    if written.column == "label":
        case.rows[written.k]["label"] = "-"
        case.outcome = "loads" if len(written.gold) > 1 else "either"


def _huge(case: Case, written: Values, rng: random.Random) -> None:
    column = rng.choice(["premise", "extra"])
    case.rows[written.k][column] = written.rows[written.k][column] = "é, " * rng.randint(100_000, 700_000)
    case.outcome = "loads"


def _number(case: Case, written: Values, rng: random.Random) -> None:
    column = rng.choice(["premise", "hypothesis", "id", "doc", "extra"])
    number = rng.choice([12, -7, 0.5, 10**30])
    written.rows[written.k][column] = number
    case.rows[written.k][column] = str(number)
    case.outcome = "loads"


def _type(case: Case, written: Values, rng: random.Random) -> None:
    value = rng.choice([[], ["a"], {}, {"a": 1}, True, ["x" * 9999], {"a": {"b": []}}])
    if written.column == "label" and value is True:
        value = False  # true would be 1, the number of a label
    written.rows[written.k][written.column] = value


Writer = Callable[[Case, Values, random.Random], None]
VALUE: dict[str, Writer] = {
    "label": _label,
    "no label": _no_label,
    "spelling": _spelling,
    "same id": _same_id,
    "nothing": _nothing,
    "huge": _huge,
    "number": _number,
}
JSON: dict[str, Writer] = {"type": _type}


def digits_case(damage: str, form: str, rng: random.Random) -> Case:
    """A json file with a number of more digits than Python reads."""
    case, written = _some_values(damage, form, rng)
    lines = lines_of(form, written.rows, rng)
    lines[written.k + 1] = lines[written.k + 1][:-1] + b', "more": ' + b"9" * 5000 + b"}"
    case.content = joined(form, lines)
    case.row = written.k + 1 if form == "jsonl" else None
    return case


def plain_case(damage: str, form: str, rng: random.Random) -> Case:
    """Quotes as plain characters: read as such, every row is there."""
    rows = some_rows(rng, tabs_and_lines=False)
    rows = [{c: v.replace(",", ";").replace("\t", " ") for c, v in row.items()} for row in rows]
    for row in rng.sample(rows, 2):  # one field begins with a quote, and another ends with one
        row["premise"] = rng.choice(['"' + row["premise"], row["premise"] + '"', '"' + row["premise"] + '"'])
    content = joined(form, lines_of(form, rows, rng, quoting=False))
    return Case(damage, f"a.{form}", content, rows, "loads", quoting=False)


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


Columns = dict[str, pa.Array]


def parquet_case(damage: str, form: str, rng: random.Random) -> Case:
    """A parquet file with checksums that is changed, or whose columns are of other types."""
    rows = some_rows(rng)
    gold = [i for i, row in enumerate(rows) if row["label"] not in ("-", "")]
    k = rng.choice(gold)
    case = Case(damage, "a.parquet", b"", rows, "refused", row=k + 1)
    columns = {c: pa.array([row[c] for row in rows]) for c in rng.sample(COLUMNS, len(COLUMNS))}
    column = rng.choice(READ)
    if damage in PARQUET_COLUMNS:
        PARQUET_COLUMNS[damage](case, columns, column, rng)
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
    # without checksums a changed letter is a letter; that rows are neither lost nor added is seen all the same
    case.rewritten = damage == "parquet without checksums"
    case.content = file.getvalue()
    if damage in PARQUET_BYTES:
        case.content = _changed_bytes(damage, bytearray(case.content), rng)
        case.outcome = "refused" if damage == "parquet cut" else "either"
        case.row = None
    return case


def _changed_bytes(damage: str, content: bytearray, rng: random.Random) -> bytes:
    """A parquet file that is cut, or of which a bit is another, or 64 bytes are zero."""
    if damage == "parquet cut":
        return bytes(content[: rng.randrange(len(content))])
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    at = rng.randrange(footer, len(content)) if damage == "parquet footer" else rng.randrange(4, footer)
    if damage == "parquet zeros":
        content[at : at + 64] = bytes(min(64, len(content) - at))
    else:
        content[at] ^= 1 << rng.randrange(8)
    return bytes(content)


def _parquet_null(case: Case, columns: Columns, column: str, rng: random.Random) -> None:
    k = case.row - 1
    gold = [row["label"] for row in case.rows if row["label"] not in ("-", "")]
    values = [row[column] for row in case.rows]
    values[k] = None
    columns[column] = pa.array(values, pa.string())
    if column == "label":
        case.rows[k]["label"] = "-"
        case.outcome = "loads" if len(gold) > 1 else "either"


def _parquet_type(case: Case, columns: Columns, column: str, rng: random.Random) -> None:
    wrong = {
        "list": ([["a"]], None),
        "struct": ([{"a": 1}], None),
        "bool": ([True], None),
        "bytes": ([b"a"], None),
        "date": ([7], pa.date32()),
        "nothing": ([None], pa.null()),
        "map": ([[("a", 1)]], pa.map_("str", "int8")),
    }
    values, kind = wrong[rng.choice(sorted(wrong))]
    columns[column] = pa.array(values * len(case.rows), kind)
    case.row = None


def _parquet_kin(case: Case, columns: Columns, column: str, rng: random.Random) -> None:
    """A type that is read as text all the same."""
    column = rng.choice(["premise", "id", "doc"])
    kinds = [pa.dictionary(pa.int8(), pa.string()), pa.large_string(), pa.string_view(), pa.int64(), pa.float64()]
    kind = rng.choice(kinds)
    if kind in (pa.int64(), pa.float64()):
        values = [i + 0.5 if kind == pa.float64() else i for i in range(len(case.rows))]
        columns[column] = pa.array(values, kind)
        for row, value in zip(case.rows, values, strict=True):
            row[column] = str(value)
    else:
        columns[column] = columns[column].cast(kind)
    case.outcome = "loads"


def _parquet_not_utf_8(case: Case, columns: Columns, column: str, rng: random.Random) -> None:
    values = [row[column].encode() for row in case.rows]
    values[case.row - 1] = b"\xff" + values[case.row - 1]
    made = pa.array(values, pa.binary())
    columns[column] = pa.Array.from_buffers(pa.string(), len(values), made.buffers())
    case.row = None


def _parquet_column(case: Case, columns: Columns, column: str, rng: random.Random) -> None:
    del columns[column]
    case.row = 1


def _parquet_no_rows(case: Case, columns: Columns, column: str, rng: random.Random) -> None:
    columns.update({c: array[:0] for c, array in columns.items()})
    case.row = None


PARQUET_COLUMNS: dict[str, Callable[[Case, Columns, str, random.Random], None]] = {
    "parquet null": _parquet_null,
    "parquet type": _parquet_type,
    "parquet kin": _parquet_kin,
    "parquet not utf-8": _parquet_not_utf_8,
    "parquet column": _parquet_column,
    "parquet no rows": _parquet_no_rows,
}
PARQUET_BYTES = ("parquet page", "parquet footer", "parquet zeros", "parquet cut", "parquet without checksums")
GZIP = ("gzip cut", "gzip byte", "gzip tail", "gzip members", "not gzip", "not named gzip")
PARQUET = (  # the number of a case follows from this order
    *("parquet page", "parquet footer", "parquet zeros", "parquet cut", "parquet null", "parquet type", "parquet kin"),
    *("parquet without checksums", "parquet not utf-8", "parquet column", "parquet no rows"),
)
MAKERS: list[tuple[str, str, Callable[[str, str, random.Random], Case]]] = [
    *((damage, form, text_case) for damage in TEXT for form in FORMS),
    *((damage, form, value_case) for damage in VALUE for form in FORMS),
    *((damage, form, value_case) for damage in JSON for form in ("jsonl", "json")),
    *(("digits", form, digits_case) for form in ("jsonl", "json")),
    ("plain quotes", "tsv", plain_case),
    *((damage, form, gzip_case) for damage in GZIP for form in FORMS),
    *((damage, "parquet", parquet_case) for damage in PARQUET for _ in range(3)),
]


def damaged(number: int) -> Case:
    """The case of a number: kinds of damage take turns, and the rest follows from the number."""
    damage, form, make = MAKERS[number % len(MAKERS)]
    return make(damage, form, random.Random(number))
