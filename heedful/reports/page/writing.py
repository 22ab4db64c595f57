"""Write a self-contained HTML page about runs: numbers, differences, examples, how to read them, and figures."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from heedful.metrics.attributions.attribution import attributions
from heedful.records import RunError, atomic_path, printable
from heedful.records.storage.results import distinct
from heedful.records.storage.schema import VERSION
from heedful.reports.citing import bibtex
from heedful.reports.flags import FLAGS
from heedful.reports.page.about import about_of, in_order
from heedful.reports.page.attributions import explained
from heedful.reports.page.examples import cards
from heedful.reports.page.figures import figures_of
from heedful.reports.page.numbers import Axis, differences_of, moves_of, numbers_of, overview
from heedful.reports.page.origin import name_of, origin_of, summary, without_model_texts, without_places
from heedful.reports.page.sample import sampled
from heedful.reports.page.sentences import cautions_of, least_used, sentences_of
from heedful.reports.runs import Run, read_runs, short_names
from heedful.reports.terminal.table import asides_of

REPORT = "report.html"  # in the folder of a run
LARGEST = 2_900_000  # bytes; size of a page
LEAST = 200_000  # bytes; room for the examples of each run on a page that is too large already


def write_page(folders: Sequence[str | Path], to: str | Path, examples: bool = True) -> Path:
    """Write a page about the runs or evaluations in folders, and return its path. Without ``examples``, it has no texts
    and pictures of the data, and no answers of the model. Raises HeedfulError for folders without intact results.
    """
    if Path(to).suffix.lower() not in (".html", ".htm"):  # a page replaces the file
        raise RunError(f"output {to} is no name of a page. Name a file that ends in .html.")
    runs = _runs(distinct([str(folder) for folder in folders]))
    if not examples:
        runs = [replace(run, results=without_model_texts(run.results)) for run in runs]
    text = _page(runs, examples)
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


def environment() -> Environment:
    """Return the environment of the templates; it escapes texts."""
    loader = PackageLoader("heedful.reports.page", ".")
    templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    templates.filters["printable"] = printable
    return templates


def _page(runs: Sequence[Run], with_examples: bool) -> str:
    """Build the HTML of a page. Examples are added until the page reaches its largest size in bytes."""
    templates = environment()
    samples = [sampled(run.rows, run.results["seed"]) for run in runs] if with_examples else []
    variables = _variables(runs) | {"total": sum(sample.total for sample in samples)}
    render = partial(templates.get_template("page.html").render, variables)
    room = max(LARGEST - len(render(cards=[""]).encode("utf-8", "backslashreplace")), LEAST * len(runs)) // len(runs)
    html = partial(templates.get_template("card.html").render, several=len(runs) > 1)
    by_run = [cards(run, sample, room, html) for run, sample in zip(runs, samples, strict=False)]
    in_turn = [pair for pairs in zip_longest(*by_run) for pair in pairs if pair is not None]
    return render(cards=[card for _, card in sorted(in_turn, key=itemgetter(0))])


def _variables(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the variables of the template of the page, except the examples."""
    details = [_detail(run, f"run-{k}", runs) for k, run in enumerate(runs)]
    raised = {flag for run in runs for m in run.numbers.values() for flag in m["flags"]}
    cautions: dict[str, list[str]] = {}
    for run in runs:
        for caution in cautions_of(run):
            cautions.setdefault(caution, []).append(run.label)
    abouts = {section["about"].title: section["about"] for detail in details for section in detail["sections"]}
    sets = "; ".join(dict.fromkeys(f"{run.data}, {run.split}" for run in runs))
    sources = {name: Path(__file__).with_name(f"page.{name}").read_text(encoding="utf-8") for name in ("css", "js")}
    return {
        **sources,
        "script_hash": base64.b64encode(hashlib.sha256(sources["js"].encode()).digest()).decode(),
        "heading": f"{runs[0].label if len(runs) == 1 else f'{len(runs)} runs'} on {sets}",
        "overview": overview(runs),
        "percent_axis": Axis(),
        "differences": differences_of(runs) if len(runs) > 1 else None,
        "details": details,
        "cautions": cautions,
        "warnings": {flag: FLAGS[flag] for flag in FLAGS if flag in raised},
        "abouts": [about for about in abouts.values() if about.reading],
        "bibtex": bibtex({"rows": {name: "" for run in runs for name in run.results["rows"]}}),
        "version": VERSION,
    }


def _detail(run: Run, anchor: str, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the details of one run; its numbers, figures and words are in a section for each evaluation."""
    sections = [_section(run, name, f"{anchor}-{name}") for name in in_order(run)]
    return {
        "run": run,
        "anchor": anchor,
        "summary": without_places(summary(run)),
        "least": least_used(run),
        "sentences": sentences_of(run, [each for each in runs if each is not run]),
        "notes": asides_of(run.results),
        "sections": [section for section in sections if section["numbers"] or section["figures"]],
        "more": numbers_of(run, ""),
        "origin": origin_of(run),
    }


def _section(run: Run, name: str, anchor: str) -> dict[str, Any]:
    figures = list(figures_of(run, name, anchor))
    has_words = name == "attributions" and name in run.rows
    words = explained(attributions(run.rows[name][0], run.contexts[name])) if has_words else []
    numbers, moves = numbers_of(run, name), moves_of(run, name)
    about = about_of(run, name)
    return {"name": name, "about": about, "numbers": numbers, "moves": moves, "figures": figures, "explained": words}
