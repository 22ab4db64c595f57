"""Write a self-contained HTML page about runs: numbers, how to read them, figures and examples."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, zip_longest
from operator import itemgetter
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from heedful.records import RunError, atomic_path, printable
from heedful.records.storage.results import distinct
from heedful.records.storage.schema import VERSION
from heedful.reports.citing import bibtex
from heedful.reports.page.about import About, about_of, in_order
from heedful.reports.page.comparison import Comparison, compared
from heedful.reports.page.examples import cards
from heedful.reports.page.figures import Shown, figures_of
from heedful.reports.page.made import Made, made_of, name_of, summary, without_model_texts, without_places
from heedful.reports.page.moves import Moves, moves_of
from heedful.reports.page.numbers import Number, numbers_of
from heedful.reports.page.sample import sampled
from heedful.reports.page.verdict import Verdict, cautions, least_used, verdicts
from heedful.reports.runs import Run, read_runs, short_names
from heedful.reports.terminal.table import asides_of

REPORT = "report.html"  # in the folder of a run
LARGEST = 2_900_000  # bytes; size of a page
LEAST = 200_000  # bytes; room for the examples of each run on a page that is too large already


@dataclass(frozen=True)
class Section:
    """The content of the section of a page about one evaluation.

    ``explains`` is false if an earlier section of the page has explained the evaluation.
    """

    name: str
    about: About
    explains: bool
    numbers: Sequence[Number]
    moves: Sequence[Moves]
    figures: Sequence[Shown]


@dataclass(frozen=True)
class Part:
    """The content of a page about one run: texts, sections and numbers."""

    name: str
    anchor: str
    run: Run
    summary: str
    least: str
    verdicts: Sequence[Verdict]
    cautions: Sequence[str]
    notes: Sequence[str]
    sections: Sequence[Section]
    more: Sequence[Number]
    origin: Made

    @property
    def headlines(self) -> list[Number]:
        """The main numbers of all evaluations of the run."""
        return [number for section in self.sections for number in section.numbers if number.is_headline]

    @property
    def warnings(self) -> Iterable[str]:
        """The warnings about the numbers of the run, in the order of the page; a warning may occur several times."""
        first: list[Number | Verdict] = [*self.headlines, *self.verdicts]
        for number in (*first, *chain(*(section.numbers for section in self.sections)), *self.more):
            yield from number.warnings


def write_page(folders: Sequence[str | Path], to: str | Path, examples: bool = True) -> Path:
    """Write a page about runs, and return its path.

    Args:
        folders: Folders of runs or of evaluations.
        to: The file.
        examples: Whether to include texts and pictures of examples, and answers of the model.

    Raises:
        HeedfulError: A folder has no results, its files were changed, ``to`` does not end in .html, or the page cannot
            be written.
    """
    if Path(to).suffix.lower() not in (".html", ".htm"):  # a page replaces the file
        raise RunError(f"output {to} is no name of a page. Name a file that ends in .html.")
    runs = _runs(distinct([str(folder) for folder in folders]))
    text = _page(
        runs if examples else [replace(run, results=without_model_texts(run.results)) for run in runs], examples
    )
    with atomic_path(to) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # an id may hold any bytes
    return Path(to)


def _runs(folders: Sequence[str]) -> list[Run]:
    """Read the runs in folders, with unique labels that hold no paths of the machine."""
    runs = read_runs(folders)
    labels = [name_of(run) for run in runs]
    if len(set(labels)) < len(labels):
        short = short_names([run.folder for run in runs])
        labels = [f"{label} ({without_places(name)})" for label, name in zip(labels, short, strict=True)]
    return [replace(run, label=label) for run, label in zip(runs, labels, strict=True)]


def _page(runs: Sequence[Run], with_examples: bool) -> str:
    """Build the HTML of a page. Examples are added until the page reaches its largest size in bytes."""
    environment = _environment()
    samples = [sampled(run.rows, run.results["seed"]) for run in runs] if with_examples else []
    explained: set[str] = set()
    parts = [_part(run, k, runs, explained) for k, run in enumerate(runs)]
    comparison = compared(runs) if len(runs) > 1 else None
    render = partial(_rendered, environment, parts, comparison, total=sum(sample.total for sample in samples))
    bare = render([""])
    room = max(LARGEST - len(bare.encode("utf-8", "backslashreplace")), LEAST * len(runs)) // len(runs)
    html = partial(environment.get_template("card.html").render, several=len(runs) > 1)
    by_run = [cards(run, sample, room, html) for run, sample in zip(runs, samples, strict=False)]
    in_turn = [pair for pairs in zip_longest(*by_run) for pair in pairs if pair is not None]
    return render([card for _, card in sorted(in_turn, key=itemgetter(0))])


def _part(run: Run, number: int, runs: Sequence[Run], explained: set[str]) -> Part:
    """Build the content of the page about one run, the run with index ``number``.

    ``explained`` holds the titles of the evaluations that the page has explained so far; titles of this run are added.
    """
    sections = []
    for name in in_order(run):
        about, numbers = about_of(run, name), numbers_of(run, name)
        figures = list(figures_of(run, name, f"r{number}-{name}"))
        if numbers or figures:
            sections.append(Section(name, about, about.title not in explained, numbers, moves_of(run, name), figures))
            explained.add(about.title)
    return Part(
        run.label,
        f"run-{number}",
        run,
        without_places(summary(run)),
        least_used(run),
        verdicts(run, [each for each in runs if each is not run]),
        list(cautions(run)),
        asides_of(run.results),
        sections,
        numbers_of(run, ""),
        made_of(run),
    )


def _environment() -> Environment:
    loader = PackageLoader("heedful.reports.page", ".")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["printable"] = printable
    return environment


def _rendered(
    environment: Environment, parts: Sequence[Part], comparison: Comparison | None, html: Sequence[str], total: int
) -> str:
    """Return the HTML of the page. ``html`` holds the cards of examples, which were sampled from ``total`` rows."""
    sources = {name: Path(__file__).with_name(f"page.{name}").read_text(encoding="utf-8") for name in ("css", "js")}
    warnings = dict.fromkeys(warning for part in parts for warning in part.warnings)
    names_by_caution: dict[str, list[str]] = {}
    for part in parts:
        for caution in part.cautions:
            names_by_caution.setdefault(caution, []).append(part.name)
    sets = dict.fromkeys(f"{part.run.data}, {part.run.split}" for part in parts)
    return environment.get_template("page.html").render(
        parts=parts,
        comparison=comparison,
        places={warning: place for place, warning in enumerate(warnings, 1)},
        cautions=names_by_caution,
        cards=html,
        total=total,
        heading=f"{parts[0].name if len(parts) == 1 else f'{len(parts)} runs'} on {'; '.join(sets)}",
        bibtex=bibtex({"rows": {name: "" for part in parts for name in part.run.results["rows"]}}),
        version=VERSION,
        script_hash=base64.b64encode(hashlib.sha256(sources["js"].encode()).digest()).decode(),
        **sources,
    )
