"""Runs with known rows, and a parser of pages about them."""

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from heedful.assembly.identity import identity_of
from heedful.lightning_modules.predictor import Predictor
from heedful.records import Context, Example
from heedful.records.storage.results import write_results
from heedful.reports.page.contents import Contents, contents_of
from heedful.reports.page.examples import write_examples
from heedful.reports.results import score

import made_rows
import written_results

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context(
    "d", parts=("premise", "hypothesis"), labels=LABELS, default_label="neutral", own={"swap": [["premise", "leaves"]]}
)


def rows(n: int = 30, name: str = "d/validation/#") -> pa.Table:
    """Rows of n examples and of two swapped premises for each example not predicted as neutral; a third of the
    predictions change."""
    base = {name.replace("#", str(i)): (LABELS[i % 3], LABELS[(i // 2) % 3]) for i in range(n)}
    changed = [
        {
            "uid": uid,
            "draw": draw,
            "y2": LABELS[1] if (i + draw) % 3 == 0 else y,
            "partner": name.replace("#", str((i + 1) % n)),
        }
        for i, (uid, (_, y)) in enumerate(base.items())
        for draw in range(2)
        if y != "neutral"
    ]
    return made_rows.make(base, changed, likely=LABELS)


def saved(
    folder: Path,
    table: pa.Table,
    context: Context = CONTEXT,
    accuracy: bool = True,
    text: str = "Premise of #.",
    **config: Any,
) -> Path:
    """Write the results of rows as an evaluation does, with config.yaml if there are settings; returns the folder."""
    about = written_results.about(table, context)
    if context.unlabelled:
        about["run"]["counts"]["unlabelled"] = about["run"]["counts"]["examples"]
    if "model" in config:
        about["run"]["identity"] = identity_of({"checkpoint": None, **config}, Predictor())
    written = {"attentiveness": (table, about)}
    if accuracy:
        base = table.filter(pa.compute.equal(table["intervention"], "base"))
        written["accuracy"] = base, written_results.about(base, context)
    write_results(folder, score(about["run"], written).results, written)
    write_examples(folder, provider(text))
    if config:
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return folder


def provider(text: str = "Premise of #."):
    """A provider of contents: "#" in the text of the premise is replaced by the uid, after a swap by the partner."""

    def of(entries: Sequence[Mapping[str, Any]]) -> list[Contents]:
        found = []
        for entry in entries:
            before = Example(
                entry["uid"], {"premise": text.replace("#", entry["uid"]), "hypothesis": f"Hypothesis {entry['uid']}"}
            )
            after = Example(entry["uid"], {**before.parts, "premise": text.replace("#", entry["partner"] or "nobody")})
            is_base = entry["intervention"] == "base"
            found.append(contents_of(before, None if is_base else after, ("premise", "hypothesis"), not is_base))
        return found

    return of


class Page(HTMLParser):
    """The parsed page: table rows and sentences by metric, ids, headings, scripts, attributes, texts, cards."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: dict[str, list[list[str]]] = {}
        self.sentences: dict[str, str] = {}
        self.ids: list[str] = []
        self.headings: list[int] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._line: list[str] | None = None
        self._sentence = ""
        self._inside = ""
        self.cards: list[str] = []
        self._in_card = False
        self.feed(text)
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self.attributes += [(f"{tag} {name}", value) for name, value in attrs]
        if "id" in own:
            self.ids.append(str(own["id"]))
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.headings.append(int(tag[1]))
        if tag == "article" and own.get("class") == "card":
            self.cards.append("")
            self._in_card = True
        if tag in ("script", "style"):
            self._inside = tag
            self.scripts += [""] * (tag == "script")
        if tag == "tr" and "data-metric" in own:
            self._line = []
            self.lines.setdefault(str(own["data-metric"]), []).append(self._line)
        elif tag in ("th", "td") and self._line is not None:
            self._line.append("")
        elif tag == "li" and "data-metric" in own:
            self._sentence = str(own["data-metric"])
            self.sentences[self._sentence] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr":
            self._line = None
        if tag == "li":
            self._sentence = ""
        if tag == "article":
            self._in_card = False
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif not self._inside:
            self.texts.append(data)
            if self._in_card:
                self.cards[-1] += data
            if self._line:
                self._line[-1] = f"{self._line[-1]}{data}".strip()
            if self._sentence:
                self.sentences[self._sentence] += data
