"""One page of HTML that needs no other file: what runs have measured, how to read it, and examples."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from operator import itemgetter
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from heedful.records import atomic_path, printable
from heedful.records.storage.results import distinct
from heedful.records.version import VERSION
from heedful.reports.citing import bibtex
from heedful.reports.page.about import About, about_null_control, abouts
from heedful.reports.page.comparison import Comparison, compared
from heedful.reports.page.examples import shown
from heedful.reports.page.figures import figures_of
from heedful.reports.page.made import Made, made_of, name_of, without_places
from heedful.reports.page.moves import Moves, moves_of
from heedful.reports.page.numbers import Number, numbers_of
from heedful.reports.page.run import Run, in_order
from heedful.reports.page.sample import sampled
from heedful.reports.page.svg import Drawn
from heedful.reports.page.verdict import Verdict, cautions, least_heeded, verdicts
from heedful.reports.runs import measured, short_names
from heedful.reports.terminal.table import asides_of

REPORT = "report.html"  # in the folder of a run
LARGEST = 2_900_000  # bytes of a page
LEAST = 200_000  # bytes of the examples of a run, however large the rest is


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
    notes: Sequence[str]
    sections: Sequence[Section]
    others: Sequence[Number]
    made: Made
    bibtex: str

    @property
    def headlines(self) -> list[Number]:
        """The numbers that a reader looks at first."""
        return [number for section in self.sections for number in section.numbers if number.is_headline]

    @property
    def warnings(self) -> Iterable[str]:
        """The warnings of its numbers, in the order of the page; some several times."""
        first: list[Number | Verdict] = [*self.headlines, *self.verdicts]
        for number in (*first, *chain(*(of.numbers for of in self.sections)), *self.others):
            yield from number.warnings


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
    environment = _environment()
    samples = [sampled(run.rows, run.results["seed"]) for run in runs] if with_examples else []
    parts = [_shown(run, k, runs) for k, run in enumerate(runs)]
    comparison = compared(runs) if len(runs) > 1 else None
    of = sum(sample.of for sample in samples)
    bare = _rendered(environment, parts, comparison, [""], of)
    room = max(LARGEST - len(bare.encode("utf-8", "backslashreplace")), LEAST * len(runs)) // len(runs)
    html = partial(environment.get_template("card.html").render, several=len(runs) > 1)
    of_runs = [shown(run, sample, room, html) for run, sample in zip(runs, samples, strict=False)]
    in_turn = [pair for pairs in zip_longest(*of_runs) for pair in pairs if pair is not None]
    cards = [card for _, card in sorted(in_turn, key=itemgetter(0))]
    return _rendered(environment, parts, comparison, cards, of)


def _shown(run: Run, number: int, runs: Sequence[Run]) -> Shown:
    others = [other for other in runs if other is not run]
    sections = []
    for name in in_order(run):
        ids = f"r{number}-{name}"
        section = Section(
            name, _about(run, name), numbers_of(run, name), moves_of(run, name), list(figures_of(run, name, ids))
        )
        if section.numbers or section.figures:
            sections.append(section)
    texts = verdicts(run, others), list(cautions(run)), asides_of(run.results)
    own = least_heeded(run), *texts, sections, numbers_of(run, ""), made_of(run), bibtex(run.results)
    return Shown(run.name, f"run-{number}", run, *own)


def _about(run: Run, name: str) -> About:
    """What people must know of an evaluation of a run; little is known of those that others register."""
    families = {number.family for number in run.numbers if run.evaluation_of(number) == name}
    if run.is_unlabelled and families == {"null"}:
        return about_null_control()
    return abouts().get(name) or About(name.replace("_", " "), (name,), "", {}, "", "", "")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("heedful.reports.page", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["printable"] = printable
    return environment


def _rendered(
    environment: Environment, parts: Sequence[Shown], comparison: Comparison | None, cards: Sequence[str], of: int
) -> str:
    """Render the page.

    Args:
        environment: Loads the templates.
        parts: The runs.
        comparison: The runs side by side; None for one run.
        cards: HTML of the examples.
        of: Number of examples to choose from.
    """
    sources = {name: Path(__file__).with_name(f"page.{name}").read_text(encoding="utf-8") for name in ("css", "js")}
    script_hash = base64.b64encode(hashlib.sha256(sources["js"].encode()).digest()).decode()
    warnings = dict.fromkeys(warning for part in parts for warning in part.warnings)
    cautions: dict[str, list[str]] = {}
    for part in parts:
        for caution in part.cautions:
            cautions.setdefault(caution, []).append(part.name)
    return environment.get_template("page.html").render(
        parts=parts,
        comparison=comparison,
        places={warning: place for place, warning in enumerate(warnings, 1)},
        cautions=cautions,
        cards=cards,
        of=of,
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
