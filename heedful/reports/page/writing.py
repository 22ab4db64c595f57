"""One page of HTML that needs no other file: what runs have measured, how to read it, and examples."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from heedful.records import atomic_path, printable
from heedful.records.storage.results import distinct
from heedful.records.version import VERSION
from heedful.reports.citing import bibtex
from heedful.reports.page.about import About, about_null_control, abouts
from heedful.reports.page.comparison import Comparison, compared
from heedful.reports.page.examples import outcome, shown
from heedful.reports.page.figures import figures_of
from heedful.reports.page.made import Made, made_of, name_of, without_places
from heedful.reports.page.moves import Moves, moves_of
from heedful.reports.page.numbers import Number, numbers_of
from heedful.reports.page.run import Run, in_order
from heedful.reports.page.sample import sampled
from heedful.reports.page.svg import Drawn
from heedful.reports.page.verdict import Verdict, cautions, least_heeded, verdicts
from heedful.reports.runs import measured, short_names

REPORT = "report.html"  # in the folder of a run
LARGEST = 2_900_000  # bytes of a page
LEAST = 200_000  # bytes of the examples of a run, however large the rest is
PLAIN = 12  # examples that are there without a script
ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
NAMES, EXAMPLES = "names", "examples"  # in the data of a page


@dataclass(frozen=True)
class Section:
    """One evaluation of a run."""

    name: str
    about: About
    numbers: Sequence[Number]
    moves: Sequence[Moves]
    figures: Sequence[Drawn]


@dataclass(frozen=True)
class Shown:
    """A run as the page shows it."""

    name: str
    anchor: str
    run: Run
    least: str
    verdicts: Sequence[Verdict]
    cautions: Sequence[str]
    sections: Sequence[Section]
    others: Sequence[Number]
    made: Made
    bibtex: str
    of: int


def write_page(
    folders: Sequence[str | Path],
    to: str | Path,
    examples: bool = True,
) -> Path:
    """Write a page about runs.

    Args:
        folders: Of runs or of evaluations, each with its results.
        to: The file.
        examples: With the texts and pictures of examples.

    Returns:
        The file.

    Raises:
        HeedfulError: A folder has no results, or damaged ones; or the file cannot be written.
    """
    names = distinct([str(folder) for folder in folders])
    runs = _runs(names)
    text = _page(runs, examples)
    with atomic_path(to) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # an id may hold any bytes
    return Path(to)


def _runs(folders: Sequence[str]) -> list[Run]:
    """The runs in these folders, with names that tell them apart and name no place."""
    found = measured(folders)
    labels = [name_of(run) for run in found]
    if len(set(labels)) < len(labels):
        short = short_names([run.folder for run in found])
        labels = [f"{label} ({without_places(name)})" for label, name in zip(labels, short, strict=True)]
    return [Run.read(run, label) for run, label in zip(found, labels, strict=True)]


def _page(runs: Sequence[Run], with_examples: bool) -> str:
    """The text of a page: all but the examples first, and then as many of these as there is room for."""
    samples = {k: sampled(run.rows, run.results["seed"]) for k, run in enumerate(runs)} if with_examples else {}
    parts = [_shown(run, k, runs, samples[k].of if samples else 0) for k, run in enumerate(runs)]
    comparison = compared(runs) if len(runs) > 1 else None
    bare = _rendered(parts, comparison, {EXAMPLES: [], NAMES: []})
    room = max(LARGEST - len(bare.encode("utf-8", "backslashreplace")), LEAST * len(runs))
    found: list[dict[str, Any]] = []
    for k, run in enumerate(runs) if with_examples else ():
        room_of_run = room * 3 // 4 // len(runs)  # the first examples stand there twice
        found += shown(run, k, samples[k], room_of_run)
    data = {NAMES: [run.name for run in runs], EXAMPLES: found}
    return _rendered(parts, comparison, data)


def _shown(run: Run, number: int, runs: Sequence[Run], of: int) -> Shown:
    others = [other for other in runs if other is not run]
    sections = []
    for name in in_order(run):
        ids = f"r{number}-{name}"
        section = Section(
            name, _about(run, name), numbers_of(run, name), moves_of(run, name), list(figures_of(run, name, ids))
        )
        if section.numbers or section.figures:
            sections.append(section)
    texts = verdicts(run, others), cautions(run)
    own = least_heeded(run), *texts, sections, numbers_of(run, ""), made_of(run), bibtex(run.results)
    return Shown(run.name, f"run-{number}", run, *own, of)


def _about(run: Run, name: str) -> About:
    """What people must know of an evaluation of a run; little is known of those that others register."""
    families = {number.family for number in run.numbers if run.evaluation_of(number) == name}
    if run.is_unlabelled and families == {"null"}:
        return about_null_control()
    return abouts().get(name) or About(name.replace("_", " "), (name,), "", {}, "", "", "")


def _rendered(parts: Sequence[Shown], comparison: Comparison | None, data: Mapping[str, Any]) -> str:
    """The page with this data for its script."""
    environment = Environment(
        loader=PackageLoader("heedful.reports.page", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["printable"] = printable
    environment.globals["outcome"] = outcome
    environment.tests["contains"] = lambda texts, text: text in texts
    sources = {name: environment.loader.get_source(environment, f"page.{name}")[0] for name in ("css", "js")}
    script_hash = base64.b64encode(hashlib.sha256(sources["js"].encode()).digest()).decode()
    return environment.get_template("page.html").render(
        parts=parts,
        comparison=comparison,
        plain=data[EXAMPLES][:PLAIN],
        shown=len(data[EXAMPLES]),
        of=sum(part.of for part in parts),
        data=for_script(data),
        heading=_heading([part.run for part in parts]),
        version=VERSION,
        script_hash=script_hash,
        **sources,
    )


def _heading(runs: Sequence[Run]) -> str:
    """The heading of a page about these runs."""
    sets = dict.fromkeys(f"{run.results['data']}, {run.results['split']}" for run in runs)
    names = runs[0].name if len(runs) == 1 else f"{len(runs)} runs"
    return f"{names} on {'; '.join(sets)}"


def for_script(data: Any) -> str:
    """Data as JSON that may stand within a script element.

    Example:
        >>> for_script(["</script>"])
        '["\\\\u003c/script\\\\u003e"]'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: ESCAPED[found[0]], text)
