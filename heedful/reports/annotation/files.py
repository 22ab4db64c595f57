"""Annotation sheets as files: TSV, which people fill in, and HTML, which shows them the pictures."""

import base64
import csv
import html
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heedful.records import DataError, open_file, printable
from heedful.reports.annotation.choice import Case, Content

QUESTION = "is this label now wrong?"
NUMBER = "number"
UID = "uid"
PART = "swapped"
LABEL = "label"
ANSWER = "now_wrong"
PARTNER = "lent_by"
RUN = "run"
YES = {"yes", "y", "1", "true"}
NO = {"no", "n", "0", "false"}
LARGEST = 2**26  # bytes of a sheet that is read
STYLE = """body{font:16px/1.45 sans-serif;max-width:56em;margin:2em auto;padding:0 1em;color:#222}
article{border-top:1px solid #ccc;padding:.8em 0}dl{display:grid;grid-template-columns:9em 1fr;gap:.3em 1em;margin:0}
dt{color:#666}dd{margin:0;white-space:pre-wrap}.swapped{color:#c1121f}img{max-width:24em;max-height:20em}
.uid{color:#999;font-size:.8em}"""


def tsv(cases: Sequence[Case], run: str) -> str:
    """A sheet for a spreadsheet: one line for each case, with an empty cell for the answer.

    Args:
        cases: All with the same parts.
        run: The folder whose rows they are of, where the scores are looked up.
    """
    parts = list(cases[0].contents)
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow([NUMBER, UID, PART, *parts, LABEL, ANSWER, PARTNER, RUN])
    for k, case in enumerate(cases, 1):
        contents = [c if isinstance(c, str) else "(picture, in the HTML)" for c in case.contents.values()]
        writer.writerow([k, case.uid, case.part, *contents, case.label, "", case.partner, run])
    return text.getvalue()


def page(cases: Sequence[Case], heading: str) -> str:
    """A sheet to read, with pictures in it: one file that needs no other."""
    head = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{_text(heading)}</title>'
    blocks = [head, f"<style>{STYLE}</style>", f"<h1>{_text(heading)}</h1>"]
    blocks.append(f"<p>For each input: {QUESTION} Write yes or no into the column {ANSWER} of the TSV file.</p>")
    for k, case in enumerate(cases, 1):
        entries = []
        for name, content in case.contents.items():
            kind = ' class="swapped"' if name in case.part.split("+") else ""
            entries.append(f"<dt>{_text(name)}</dt><dd{kind}>{_content(content)}</dd>")
        entries.append(f"<dt>label</dt><dd><b>{_text(case.label)}</b>: {QUESTION}</dd>")
        blocks.append(f"<article><h2>{k}</h2><dl>{''.join(entries)}</dl><p class=uid>{_text(case.uid)}</p></article>")
    return "\n".join([*blocks, "</html>\n"])


def _text(text: str) -> str:
    return html.escape(printable(text))


def _content(content: Content) -> str:
    if isinstance(content, str):
        return "<br>".join(map(_text, content.splitlines()))
    return f'<img alt="picture" src="data:image/png;base64,{base64.b64encode(_png(content)).decode()}">'


def _png(picture: np.ndarray) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(picture).save(file, format="PNG")
    return file.getvalue()


def read_tsv(path: str | Path) -> list[dict[str, str]]:
    """The lines of a sheet that was filled in, by column.

    Raises:
        HeedfulError: It is not one, an answer is neither yes nor no, nor empty, or a case stands there twice.
    """
    with open_file(path) as file:
        content = file.read(LARGEST)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8. Save the sheet as text with tabs, in UTF-8.") from None
    lines = list(csv.DictReader(io.StringIO(text, newline=""), delimiter="\t", restval=""))
    needed = (UID, PART, LABEL, ANSWER)
    if missing := [name for name in needed if not lines or name not in lines[0]]:
        raise DataError(f"{path} has no column {missing[0]!r}. Name a sheet that heedful sheet wrote, saved with tabs.")
    cases: dict[tuple[str, str], int] = {}
    for k, line in enumerate(lines, 2):
        if (first := cases.setdefault((line[UID], line[PART]), k)) < k:
            raise DataError(f"{path}, row {k}: the case {line[UID]} stands in row {first} already.")
        said = (line[ANSWER] or "").strip().lower()
        if said and said not in YES | NO:
            raise DataError(f"{path}, row {k}: {ANSWER} is {said!r}. Write yes or no.")
        if said:
            line[ANSWER] = "yes" if said in YES else "no"
        else:
            line[ANSWER] = ""
    return lines
