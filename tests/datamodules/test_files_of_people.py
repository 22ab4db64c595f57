"""Files and rows as people have them: each works, or ends in one DataError with the file, the row and what to do."""

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import heedful
from heedful.cli.measure import settings_of
from heedful.datamodules import PairedImages, PairedText
from heedful.datamodules.loaders.pictures import thumbnail
from heedful.records import DataError

from refusals import refused

NAMES = ["premise", "hypothesis", "label"]
NLI: dict[str, Any] = {
    "name": "own",
    "parts": {"premise": "premise", "hypothesis": "hypothesis"},
    "labels": {"yes": [1], "no": [0]},
}
HEADER = ",".join(NAMES) + "\n"
PLAIN = HEADER + "a,b,yes\nc,d,no\n"
PLAIN_ROWS = [("a", "b", "yes"), ("c", "d", "no")]
OPEN_QUOTE = HEADER + 'a,b,yes\n"c,d,no\ne,f,yes\n'
LONG = "x" * 300_000
GAP = 20_000  # rows before the first text of a column


def rows(labels: Sequence[Any] = (1, 0), **more: Any) -> list[dict[str, Any]]:
    return [{"premise": f"p{i}", "hypothesis": "h", "label": label} | more for i, label in enumerate(labels)]


def lines(held: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in held)


def labelled(*labels: str) -> list[tuple[str, str, str]]:
    return [(f"p{i}", "h", label) for i, label in enumerate(labels)]


def of_dictionaries() -> pa.Table:
    columns = {"premise": ["a", "c"], "hypothesis": ["b", "d"], "label": ["yes", "no"]}
    return pa.table({name: pa.array(values).dictionary_encode() for name, values in columns.items()})


def parquet(table: pa.Table) -> bytes:
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def zst(text: str) -> bytes:
    return pa.compress(text.encode(), codec="zstd", asbytes=True)


DATASET = datasets.Dataset.from_list(rows())
FRAME = pd.DataFrame(rows())
# what it is: (name of a file or None for rows in memory, content, settings, examples or the facts of a DataError)
FILES: dict[str, tuple[str | None, Any, dict[str, Any], list[Any]]] = {
    "BOM": ("a.csv", "\ufeff" + PLAIN, {}, PLAIN_ROWS),
    "BOM, a quoted header": ("a.csv", '\ufeff"premise",hypothesis,label\na,b,yes\n', {}, PLAIN_ROWS[:1]),
    "BOM, no header": ("a.csv", "\ufeff" + PLAIN.removeprefix(HEADER), {"columns": NAMES}, PLAIN_ROWS),
    "BOM, jsonl": ("a.jsonl", "\ufeff" + lines(rows()), {}, labelled("yes", "no")),
    "BOM, json": ("a.json", "\ufeff" + json.dumps(rows()), {}, labelled("yes", "no")),
    "CRLF, csv": ("a.csv", PLAIN.replace("\n", "\r\n"), {}, PLAIN_ROWS),
    "CRLF, tsv": ("a.tsv", PLAIN.replace("\n", "\r\n").replace(",", "\t"), {}, PLAIN_ROWS),
    "CRLF, jsonl": ("a.jsonl", lines(rows()).replace("\n", "\r\n"), {}, labelled("yes", "no")),
    "an open quote": ("a.csv", OPEN_QUOTE, {}, ["a.csv, row 2", "data.quoting false", "in measure, set quoting false"]),
    "an open quote, a character": (
        "a.csv",
        OPEN_QUOTE,
        {"quoting": False},
        [*PLAIN_ROWS[:1], ('"c', "d", "no"), "..."],
    ),
    "a long field": ("a.csv", f"{HEADER}{LONG},b,yes\n", {}, [(LONG, "b", "yes")]),
    "a long field in quotes": ("a.tsv", f'premise\thypothesis\tlabel\n"{LONG}"\tb\tyes\n', {}, [(LONG, "b", "yes")]),
    "U+2028": ("a.jsonl", lines([rows()[0] | {"premise": "a\u2028b"}]), {}, [("a\u2028b", "h", "yes")]),
    "labels of types": (None, rows([1, "1", 1.0]), {}, labelled("yes", "yes", "yes")),
    "labels of types, jsonl": ("a.jsonl", lines(rows([1, "1", 1.0])), {}, labelled("yes", "yes", "yes")),
    "labels of types, frame": (None, pd.DataFrame(rows([1, "1", 1.0])), {}, labelled("yes", "yes", "yes")),
    "true among numbers": ("a.jsonl", lines(rows([1, True])), {}, ["a.jsonl, row 2", "True", "data.labels"]),
    "true that is declared": (
        "a.jsonl",
        lines(rows([1, True])),
        {"labels": {"yes": [1, True], "no": []}},
        labelled("yes", "yes"),
    ),
    "-1 and null": ("a.jsonl", lines(rows([1, -1, None])), {}, labelled("yes")),
    "-1 alone": ("a.jsonl", lines(rows([-1, -1])), {}, ["a.jsonl", "2 without", "data.label null"]),
    "null, then text": ("a.jsonl", lines([*rows([1] * GAP, n=None), *rows([0], n="t")]), {"meta": ["n"]}, [GAP + 1]),
    "null, then text, frame": (None, pd.DataFrame([*rows([1] * GAP, n=None), *rows([0], n="t")]), {}, [GAP + 1]),
    "list-valued text": (None, rows(premise=["a", "b"]), {}, ["the list, row 1", "'premise'", "['a', 'b']"]),
    "texts like nothing": (
        "a.csv",
        HEADER + "null,NA,1\nnan,None,0\n",
        {},
        [("null", "NA", "yes"), ("nan", "None", "no")],
    ),
    "frame, NaN label": (None, pd.DataFrame(rows([1, np.nan])), {}, labelled("yes")),
    "frame, NaN text": (None, FRAME.assign(premise=["a", np.nan]), {}, ["the frame, row 2", "'premise'", "Fill it in"]),
    "dictionary columns": ("a.parquet", parquet(of_dictionaries()), {}, PLAIN_ROWS),
    "dictionary columns in memory": (None, of_dictionaries(), {}, PLAIN_ROWS),
    "torch": (None, DATASET.with_format("torch"), {}, labelled("yes", "no")),
    "numpy": (None, DATASET.with_format("numpy"), {}, labelled("yes", "no")),
    "pandas": (None, DATASET.with_format("pandas"), {}, labelled("yes", "no")),
    "gz": ("a.csv.gz", gzip.compress(PLAIN.encode()), {}, PLAIN_ROWS),
    "zst": ("a.csv.zst", zst(PLAIN), {}, PLAIN_ROWS),
    "zst, jsonl": ("a.jsonl.zst", zst(lines(rows())), {}, labelled("yes", "no")),
    "zst, cut": ("a.csv.zst", zst(PLAIN)[:-9], {}, ["a.csv.zst", "row 0", "whole copy"]),
    "zst, nothing of it": ("a.csv.zst", PLAIN, {}, ["a.csv.zst", "row 0", "whole copy"]),
    "blanks in the header": (
        "a.csv",
        PLAIN.replace(",h", ", h"),
        {},
        ["row 1", "premise, ' hypothesis', label. Do you"],
    ),
    "tabs in a csv file": ("a.csv", PLAIN.replace(",", "\t"), {}, ["a.csv", "by tabs in tsv"]),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_works_or_is_refused_by_its_row(case: str, tmp_path: Path) -> None:
    name, content, settings, expected = FILES[case]
    if name is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        content = str(tmp_path / name)
    data = PairedText(**NLI | settings, path=content)
    if isinstance(expected[0], str):
        with refused(DataError, *expected):
            data.setup("validate")
        return
    data.setup("validate")
    found = [(*example.parts.values(), example.label) for example in data.pool]
    if expected[-1] == "...":
        assert set(expected[:-1]) < set(found)
    else:
        assert len(found) == expected[0] if isinstance(expected[0], int) else sorted(found) == sorted(expected)


def test_the_advice_about_quotes_works_in_measure(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "".join(f'"p{i},h{i % 5},{"yes" if i % 2 else "no"}\n' for i in range(30)))
    with refused(DataError, "row 1", "in measure, set quoting false"):
        heedful.measure(answer, tmp_path / "a.csv", NAMES[:2])
    result = heedful.measure(answer, tmp_path / "a.csv", NAMES[:2], quoting=False)
    assert settings_of({"quoting": "false"}, ["quoting"]) == {"quoting": False}
    assert next(value for key, value in result.numbers.items() if key.family == "accuracy")["n"] == 30


def answer(inputs: list[dict[str, str]]) -> list[str]:
    return ["yes" if len(row["premise"]) % 2 else "no" for row in inputs]


def picture(kind: str) -> bytes:
    """A picture of 4 by 2 pixels, white at the left and black at the right."""
    grey = Image.fromarray(np.repeat(np.uint8([[255, 255, 0, 0]]), 2, axis=0))
    saved: dict[str, tuple[Image.Image, dict[str, Any]]] = {
        "palette, transparent": (grey.convert("P"), {"format": "PNG", "transparency": 0}),
        "CMYK": (grey.convert("CMYK"), {"format": "TIFF"}),
        "animated": (grey, {"format": "GIF", "save_all": True, "append_images": [grey.rotate(180)]}),
    }
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    saved["turned"] = grey.rotate(90, expand=True), {"format": "PNG", "exif": exif}
    held = io.BytesIO()
    saved[kind][0].save(held, **saved[kind][1])
    return held.getvalue()


@pytest.mark.parametrize("kind", ["palette, transparent", "CMYK", "turned", "animated"])
def test_a_picture_is_what_people_see(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    data = PairedImages(
        "own",
        {"image": "image", "text": "text"},
        labels={"yes": [], "no": []},
        path=[{"image": picture(kind), "text": "t", "label": "yes"}],
    )
    with caplog.at_level("INFO"):
        data.setup("validate")
    shown = thumbnail(data.pool[0].parts["image"])
    assert shown[:, :, 0].tolist() == [[255, 255, 0, 0]] * 2
    said = "1 picture is animated, and the first frame is read."
    assert any(said in message for message in caplog.messages) == (kind == "animated")
