"""How many examples a study needs, and what they cost: planned from a pilot that was measured."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console

from heedful.assembly.numbers import words_of_name
from heedful.assembly.prompting import CHARACTERS, Requests
from heedful.assembly.results import Results
from heedful.lightning_modules.prompted.endpoint import LABEL_TOKENS
from heedful.lightning_modules.prompted.requests.meter import cost
from heedful.metrics import METRICS
from heedful.metrics.attentiveness import headline_of, parts_of
from heedful.metrics.hits import hits
from heedful.metrics.statistics import study_size as statistics
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.metrics.statistics.paired import Share, recording
from heedful.metrics.statistics.study_size import OFTEN, Pilot, Told, Width, examples_needed, require_aim
from heedful.records import Context, MetricName, RunError, SettingError, printable
from heedful.records.rows import BASE, cluster_of, where
from heedful.records.storage.results import read_results, read_run
from heedful.reports.alike import CHANGES, DATA, DEFAULT, EXAMPLES, GROUPS, Basis, basis, require_alike
from heedful.reports.runs import PROMPT, measured, settings
from heedful.reports.tables import Cells, bounds, percents, print_cells

ATTENTIVENESS, NULL = "attentiveness", "null"
SCORED = {"accuracy": "accuracy", "answers": "exact_match"}  # evaluation to the family of its score
TOGETHER = "all of these"


@dataclass(frozen=True)
class Need:
    """The study that one number needs.

    Attributes:
        name: The number, such as "attentiveness premise".
        draws: Counterfactuals of an example; None of a number without any.
        pilot: What was seen of it.
        aim: What its interval must be; None where the pilot saw no difference, and nobody names one.
        examples: How many; None where the pilot does not say.
        inputs: Of the models, for each example.
    """

    name: str
    draws: int | None
    pilot: Pilot
    aim: Width | Told | None
    examples: int | None
    inputs: float

    @property
    def title(self) -> str:
        """The name with the draws."""
        return _title(self.name, self.draws)


@dataclass(frozen=True)
class Cost:
    """The costs of a study of all numbers.

    Attributes:
        draws: Counterfactuals of an example; None where nothing is drawn.
        examples: How many, of the number that needs most.
        forwards: Inputs of the models.
    """

    draws: int | None
    examples: int
    forwards: int


@dataclass(frozen=True)
class StudyPlan:
    """How many examples a study needs.

    Attributes:
        folders: The pilot, of two models one for each.
        needs: What each number needs, with one draw and with those of the pilot.
        shared: Inputs of the models for an example, whatever is measured.
        examples: How many the pilot has.
        clusters: In how many clusters they are.
        available: How many the data have.
        width: That the intervals must have; None where models are told apart.
        tokens: That a request reads, and writes at most; None where no server is asked.
        prices: US dollars for a million tokens of each kind; None where nobody says.
        notes: What a reader must know.
    """

    folders: tuple[str, ...]
    needs: tuple[Need, ...]
    shared: float
    examples: int
    clusters: int
    available: int
    width: float | None
    tokens: tuple[float, float] | None = None
    prices: tuple[float, float] | None = None
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def costs(self) -> list[Cost]:
        """The costs of a study of all numbers, for each number of draws of which all are known."""
        all_costs = []
        for draws in dict.fromkeys(need.draws for need in self.needs if need.draws) or [None]:
            here = [need for need in self.needs if need.draws in (None, draws)]
            examples = [need.examples for need in here if need.examples is not None]
            if examples and len(examples) == len(here):
                inputs = self.shared + sum(need.inputs - self.shared for need in here)
                all_costs.append(Cost(draws, max(examples), round(max(examples) * inputs)))
        return all_costs

    @property
    def best(self) -> Cost | None:
        """The study of the fewest forwards, of those for which the data have enough examples; None without any."""
        fitting = [one for one in self.costs if one.examples <= self.available]
        return min(fitting, key=lambda one: one.forwards, default=None)

    def dollars(self, forwards: float) -> float | None:
        """The price of so many requests; None where no server is asked, or nobody says a price."""
        if self.tokens is None or self.prices is None:
            return None
        return cost(forwards * self.tokens[0], forwards * self.tokens[1], self.prices)

    def show(self) -> None:
        """Print what is needed, and what it rests on."""
        console = Console()
        print_cells(self._sizes(), console)
        if self.tokens is not None:
            print_cells(self._prices(), console)
        for text in self._explained():
            console.print(printable(text), highlight=False, markup=False)

    def _amounts(self) -> Iterator[tuple[str, str, int | None, float]]:
        """The lines of a table: a title, what was seen in the pilot, examples, and inputs for each."""
        sign = "+" if len(self.folders) == 2 else ""
        for need in self.needs:
            value = need.pilot.value()
            seen = "undefined" if np.isnan(value) else f"{percents(value, sign)} {bounds(need.pilot.bounds(), sign)}"
            yield need.title, seen, need.examples, need.inputs
        for one in self.costs if len(self.needs) > 1 else ():
            yield _title(TOGETHER, one.draws), "", one.examples, one.forwards / one.examples

    def _sizes(self) -> Cells:
        rows = []
        for title, seen, examples, inputs in self._amounts():
            if examples is None:
                rows.append([title, seen, "n/a", "n/a"])
            else:
                more = " (a)" if examples > self.available else ""
                rows.append([title, seen, f"{examples:,}{more}", f"{examples * inputs:,.0f}"])
        what = "to tell the second model from the first"
        if self.width is not None:
            of = "difference" if len(self.folders) == 2 else "number"
            what = f"for 95 % intervals of each {of} of {percents(self.width)} points in all"
        return Cells(f"Examples {what}", ["number", "pilot [95 %]", "examples", "forwards"], rows)

    def _prices(self) -> Cells:
        assert self.tokens is not None
        rows = []
        for title, _, examples, inputs in self._amounts():
            if examples is not None:
                dollars = self.dollars(examples * inputs)
                tokens = (f"{examples * inputs * each:,.0f}" for each in self.tokens)
                rows.append([title, *tokens, *([] if dollars is None else [f"{dollars:,.2f}"])])
        usd = [] if self.prices is None else ["USD"]
        return Cells("About as many tokens", ["number", "read", "written, at most", *usd], rows)

    def _explained(self) -> Iterator[str]:
        often = f"{100 * OFTEN:.0f} of 100"
        if self.width is not None:
            yield f"In {often} studies of this size the interval is so narrow, or narrower."
        else:
            aims = {need.name: need.aim.difference for need in self.needs if isinstance(need.aim, Told)}
            told = ", ".join(f"{percents(difference, '+')} ({name})" for name, difference in aims.items())
            if told:
                yield f"{often} studies of this size tell the models apart if they differ by {told} points."
        if any(need.examples is not None and need.examples > self.available for need in self.needs):
            yield f"(a) more than the data have: {self.available:,}."
        if any(need.examples is None for need in self.needs):
            yield "n/a: nothing counts in the pilot, or it saw no difference."
        in_clusters = f", in {self.clusters:,} clusters" if self.clusters < self.examples else ""
        yield f"Pilot: {self.examples:,} examples{in_clusters}; that its numbers are uncertain is counted."
        models = " of both models together" if len(self.folders) == 2 else ""
        yield f"Forwards{models}: each example, its null control, and its changes where they count."
        yield from self.notes


def plan_study(
    pilot: str | PathLike[str] | Results | Sequence[str | PathLike[str] | Results],
    *,
    width: float | None = None,
    difference: float | None = None,
    tokens: tuple[float, float] | None = None,
    prices: Sequence[float] | None = None,
) -> StudyPlan:
    """Plan a study from a pilot: how many examples accuracy and attentiveness to each part need.

    Args:
        pilot: Results, or their folder; two of the same examples where a model is told from another.
        width: How wide a 95 % interval may be, from its low end to its high end; of two models, that of their
            difference.
        difference: Of two models, the smallest difference that must be told; by default that of the pilot.
        tokens: Of a server, how many tokens a request reads, and how many it writes at most; by default as the first
            example of the pilot has them.
        prices: US dollars for a million tokens that are read, and that are written.

    Returns:
        The plan. Of studies of that size four of five reach the aim; that the pilot is small is counted.

    Raises:
        HeedfulError: A setting makes no sense, the results are damaged, or two are not of the same examples.
    """
    given = [pilot] if isinstance(pilot, str | PathLike | Results) else list(pilot)
    folders = tuple(str(one.folder) if isinstance(one, Results) else fspath(one) for one in given)
    require_aim(len(folders), width, difference)
    runs = [basis(measured([folder])[0], [ATTENTIVENESS, *SCORED]) for folder in folders]
    require_alike(runs, (DATA, EXAMPLES, GROUPS, DEFAULT, CHANGES))
    scores, parts = _score(runs), _parts(runs)
    if not scores and not parts:
        raise RunError(f"{folders[0]} has rows neither of accuracy nor of attentiveness. Evaluate with both.")
    first = next(iter([*scores.values(), *parts.values()]))
    shared = sum(1 + _nulls(run) for run in runs)
    needs = [_need(name, None, seen, shared, width, difference) for name, seen in scores.items()]
    for name, seen in parts.items():
        changed = _changed(runs, name)
        for draws in dict.fromkeys([1, seen.draws]):
            needs.append(_need(name, draws, seen, shared + draws * changed, width, difference))
    tokens = tokens or _tokens(folders)
    if prices is not None and tokens is None:
        raise SettingError("price_in changes nothing: the model is not behind a server. Leave the prices out.")
    return StudyPlan(
        folders,
        tuple(needs),
        shared,
        first.examples,
        len(first.sums),
        _available(folders[0], first.examples),
        width,
        tokens,
        _pair(prices) or _prices_of(folders),
        tuple(_notes(folders, needs, width, difference)),
    )


def at_worst(pilot: Requests, width: float) -> str:
    """The most that a study would ask of a server, if shares are near one half, by what its pilot asks.

    Args:
        pilot: The requests of a pilot.
        width: Of the intervals.
    """
    examples = statistics.at_worst(width)
    base, _ = pilot.totals[BASE]
    requests, tokens = (amount * examples / base for amount in pilot.totals["together"])
    told = f"At worst {examples:,} examples: {requests:,.0f} requests, about {tokens:,.0f} tokens to read"
    if pilot.prices is None:
        return f"{told}."
    return f"{told}, {cost(tokens, requests * (pilot.most_written or 0), pilot.prices):,.2f} USD."


def _title(name: str, draws: int | None) -> str:
    return name if draws is None else f"{name}, {draws} draw{'s' if draws > 1 else ''}"


def _need(
    name: str, draws: int | None, pilot: Pilot, inputs: float, width: float | None, difference: float | None
) -> Need:
    value = pilot.value()
    aim: Width | Told | None
    if width is not None:
        aim = Width(width)
    elif difference is not None:
        aim = Told(difference if not value < 0 else -difference)
    else:
        aim = Told(value) if value and not np.isnan(value) else None
    examples = None if aim is None else examples_needed(pilot, aim, draws or 1)
    return Need(name, draws, pilot, aim, examples, inputs)


def _sums(cluster: np.ndarray, draw: np.ndarray, hit: np.ndarray, of: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The sums of hits and of how many, in each cluster and draw: float64 [clusters, draws, 2]."""
    at = cluster * shape[1] + draw
    size = shape[0] * shape[1]
    return np.stack([np.bincount(at, values, size) for values in (hit, of)], axis=1).reshape(*shape, 2)


def _score(runs: Sequence[Basis]) -> dict[str, Pilot]:
    """Accuracy, or exact match, of each run, by what it is called; nothing without gold labels."""
    for evaluation, family in SCORED.items():
        each = [_entries(run, evaluation, family) for run in runs]
        defined = [sums for sums in each if sums is not None]
        if len(defined) == len(runs):
            rows, _ = runs[0].rows[evaluation]
            return {
                family.replace("_", " "): Pilot(np.stack(defined, axis=2), int(where(rows, intervention=BASE).sum()))
            }
    return {}


def _entries(run: Basis, evaluation: str, family: str) -> np.ndarray | None:
    """The sums of a score, float64 [clusters, 1, 2]; None where it was not measured."""
    if evaluation not in run.rows:
        return None
    rows, about = run.rows[evaluation]
    context = Context.of(about["context"])
    with recording():
        number = METRICS[evaluation].numbers(rows, context).get(MetricName(family, context.data))
    if not isinstance(number, Share):
        return None
    (cluster,) = number.entries.ways
    shape = int(cluster_of(rows).max()) + 1, 1
    return _sums(cluster, np.zeros_like(cluster), number.entries.hits, number.entries.of, shape)


def _parts(runs: Sequence[Basis]) -> dict[str, Pilot]:
    """Attentiveness to each part, by what it is called."""
    if not all(ATTENTIVENESS in run.rows for run in runs):
        return {}
    rows, about = runs[0].rows[ATTENTIVENESS]
    context = Context.of(about["context"])
    examples = int(where(rows, intervention=BASE).sum())
    return {
        words_of_name(headline_of(part, context)): Pilot(
            _stacked([_of_part(*run.rows[ATTENTIVENESS], part) for run in runs]), examples
        )
        for part in parts_of(context)
    }


def _stacked(sums: Sequence[np.ndarray]) -> np.ndarray:
    """The sums of several models: float64 [clusters, draws, models, 2]; a model that nothing counts of has no draws."""
    draws = max(of.shape[1] for of in sums)
    return np.stack([np.pad(of, ((0, 0), (0, draws - of.shape[1]), (0, 0))) for of in sums], axis=2)


def _of_part(rows: pa.Table, about: Mapping[str, Any], part: str) -> np.ndarray:
    """The sums of attentiveness to a part: float64 [clusters, draws, 2]."""
    swaps = hits(rows, part, Context.of(about["context"]))
    cluster, draw = cluster_of(rows), rows["draw"].to_numpy()
    counted = swaps.counted
    shape = int(cluster.max()) + 1, int(draw.max()) + 1 if (draw >= 0).any() else 1
    return _sums(cluster[counted], draw[counted].astype(np.int64), swaps.hit[counted], np.ones(counted.sum()), shape)


def _changed(runs: Sequence[Basis], name: str) -> float:
    """How many changed inputs each example gives the models in one draw."""
    total = 0.0
    for run in runs:
        rows, about = run.rows[ATTENTIVENESS]
        context = Context.of(about["context"])
        part = next(part for part in parts_of(context) if words_of_name(headline_of(part, context)) == name)
        swaps = where(rows, intervention="swap", part=part)
        draws = max(1, len(np.unique(rows["draw"].to_numpy()[swaps])))
        total += swaps.sum() / draws / where(rows, intervention=BASE).sum()
    return float(total)


def _nulls(run: Basis) -> float:
    """How many inputs of the null control there are for each example."""
    counts = [
        (where(rows, intervention=NULL).sum(), where(rows, intervention=BASE).sum()) for rows, _ in run.rows.values()
    ]
    return max((float(nulls / base) for nulls, base in counts if base), default=0.0)


def _available(folder: str, examples: int) -> int:
    """How many examples the data have."""
    counts = read_results(folder)["counts"]
    return examples + int(counts.get("not_predicted") or 0)


def _settings_of_model(folder: str) -> Mapping[str, Any]:
    return settings(Path(folder)).get("model", {})


def _tokens(folders: Sequence[str]) -> tuple[float, float] | None:
    """The tokens that a request reads and writes, by what the first example is; None where no server was asked."""
    abouts = [read_run(folder) for folder in folders]
    if not any("server" in about for about in abouts):
        return None
    sent = [json.dumps((about.get(PROMPT) or {}).get("sent", "")) for about in abouts]
    most = [_settings_of_model(folder).get("max_tokens") or LABEL_TOKENS for folder in folders]
    return sum(map(len, sent)) / len(sent) / CHARACTERS, sum(most) / len(most)


def _prices_of(folders: Sequence[str]) -> tuple[float, float] | None:
    """The prices that the models were measured with; None where they differ, or nobody has said."""
    pairs = {_pair(_settings_of_model(folder).get("prices")) for folder in folders}
    return pairs.pop() if len(pairs) == 1 else None


def _pair(prices: Sequence[float] | None) -> tuple[float, float] | None:
    return None if prices is None else (float(prices[0]), float(prices[1]))


def _notes(
    folders: Sequence[str], needs: Sequence[Need], width: float | None, difference: float | None
) -> Iterator[str]:
    """Notes on the pilot for the reader."""
    for folder in folders:
        metrics = read_results(folder)["metrics"].values()
        if any(NOT_ABOVE_MAJORITY in m["flags"] for m in metrics):
            yield f"{folder}: accuracy is not above the majority share; a high attentiveness is no merit there."
    if width is None and difference is None:
        unsure = {need.name for need in needs if need.pilot.bounds()[0] <= 0 <= need.pilot.bounds()[1]}
        if unsure:
            told = ", ".join(sorted(unsure))
            more = "the true difference may be smaller, or the other way round. Name the smallest that matters."
            yield f"The pilot does not tell the models apart in {told}: {more}"
