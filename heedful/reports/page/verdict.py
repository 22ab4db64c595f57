"""The verdict on a run: a sentence for each part and headline, and what must not be read into it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heedful.metrics.attentiveness import parts_of
from heedful.records import MetricName, percent
from heedful.reports.figures.partial_inputs import other_parts, partial_of
from heedful.reports.flags import warnings
from heedful.reports.page.about import abouts
from heedful.reports.page.numbers import Measured, is_known, quoted
from heedful.reports.page.run import Run, in_order
from heedful.reports.runs import UNKNOWN_WORTH
from heedful.reports.tables import too_few


@dataclass(frozen=True)
class Verdict:
    """What was found, and what must not be read into it.

    Attributes:
        sentence: What was found.
        warnings: What must not be read into it, and why.
        metric: The number that it is about.
    """

    sentence: str
    warnings: tuple[str, ...] = ()
    metric: str = ""


def verdicts(run: Run, others: Sequence[Run] = ()) -> list[Verdict]:
    """A verdict for each headline that has a sentence, those of attentiveness first.

    Args:
        run: The run.
        others: Runs that the same page shows, among which a model of one part may be.
    """
    found = []
    for evaluation in in_order(run):
        if evaluation not in abouts():
            continue
        about = abouts()[evaluation]
        for name, m in run.numbers.items():
            is_main = name.family == about.families[0] and not name.slice
            if is_main and run.evaluation_of(name) == evaluation and name.statistic in about.says:
                found.append(_verdict(run, name, m, about.says[name.statistic], others))
    return found


def _verdict(run: Run, name: MetricName, m: Measured, says: str, others: Sequence[Run]) -> Verdict:
    """The sentence about one number; where it has no value, why not."""
    told = warnings(m["flags"])
    about = name.part.replace("+", " and ")
    if name.family == "attentiveness" and not name.statistic and _is_span(run):
        says = 'With another {part}, {value} of the answers become "no answer", as all should'
    elif name.family == "attentiveness" and not name.statistic and _default(run) is None:
        says = "Another {part} changes {value} of the predictions; all count, since no answer is the default one"
    if m["value"] is None:
        topic = f"{abouts()[run.evaluation_of(name)].title.lower()}{f' ({name.statistic})' if name.statistic else ''}"
        topic += f" to the {about}" if name.family == "attentiveness" else f", {about}" if about else ""
        return Verdict(f"Nothing can be said of {topic}: {m['reason']}.", told, str(name))
    if too_few(m["n"], m["flags"]):
        return Verdict(f"Another {about}: only {m['n']:,} predictions count.", told, str(name))
    sentence = says.format(value=quoted(m), part=about, data=name.data)
    more = _to_default(run, name) + _beside(run, name, others)
    return Verdict(f"{sentence} ({_rests_on(run, name, m)}){more}.", told, str(name))


def _is_span(run: Run) -> bool:
    return "answers" in run.results["rows"]


def _default(run: Run) -> str | None:
    context = run.contexts.get("attentiveness")
    return None if context is None else context.default_answer


def _rests_on(run: Run, name: MetricName, m: Measured) -> str:
    """On how many examples a number rests; of attentiveness, of how many, and which do not count."""
    told = f"{m['n']:,} examples"
    share = run.numbers.get(name._replace(statistic="eligible"))
    if name.family == "attentiveness" and share and share["value"] is not None and _default(run):
        told = f"{m['n']:,} of {share['n']:,} examples count, those not predicted as “{_default(run)}”"
        if _is_span(run):
            told = f"{m['n']:,} of {share['n']:,} examples count, those that get an answer"
    draws = f", each with {m['draws']} replacements" if m["draws"] and m["draws"] > 1 else ""
    return told + draws


def _to_default(run: Run, name: MetricName) -> str:
    """How many of the changed predictions are the right answer then, where others are possible."""
    m = run.numbers.get(name._replace(statistic="to_default"))
    if name.family != "attentiveness" or m is None or not is_known(m) or m["value"] == run.numbers[name]["value"]:
        return ""
    return f"; {quoted(m)} become “{_default(run)}”, the right answer then"


def _beside(run: Run, name: MetricName, others: Sequence[Run]) -> str:
    """The number that a reader compares with: of accuracy the majority; of attentiveness the other parts alone."""
    if name.family in ("accuracy", "exact_match", "two_class"):
        return _majority(run, name)
    if name.family != "attentiveness" or name.statistic:
        return ""
    alone = partial_of(run.measured, name.part, [other.measured for other in others])
    kept = (other_parts(run.measured, name.part) or "").replace("+", " and ")
    if alone is not None and alone.score is not None and is_known(alone.score):
        told = f"; a model trained on the {kept} alone reaches {quoted(alone.score)} accuracy"
        return told + (f", one constant answer {percent(alone.majority['value'])}" if alone.majority else "")
    m = run.numbers.get(MetricName("naive_partial", run.results["data"], kept.replace(" and ", "+"), "accuracy"))
    if m is None or not is_known(m):
        return ""
    return f"; shown the {kept} alone, this model reaches {quoted(m)} accuracy{_majority(run, name)}"


def _majority(run: Run, name: MetricName) -> str:
    """The score of the best single answer, in words that follow another number."""
    family = name.family if name.family in ("accuracy", "exact_match", "two_class") else "accuracy"
    m = run.numbers.get(MetricName(family, name.data, statistic="majority"))
    return "" if m is None or m["value"] is None else f"; one constant answer would reach {quoted(m)}"


def least_heeded(run: Run) -> str:
    """Which part is heeded least, where the intervals say so; else ""."""
    parts = {
        part: m for part, m in run.measured.attentiveness().items() if is_known(m) and m["ci95"] and "+" not in part
    }
    if len(parts) < 2:
        return ""
    least, *rest = sorted(parts, key=lambda part: parts[part]["value"])
    if parts[least]["ci95"][1] >= min(parts[part]["ci95"][0] for part in rest):
        return "No part is heeded less than the others beyond doubt: the intervals meet."
    return f"Of the parts of its input, it heeds the {least} least."


def cautions(run: Run) -> Iterator[str]:
    """What must not be read into any number of a run, and why."""
    results = run.results
    if how_far := results.get("unfinished"):
        yield f"Do not take these numbers for those of the finished model: the run had not ended ({how_far})."
    if run.is_unlabelled:
        yield f"Do not read attentiveness as a merit: without gold labels, {UNKNOWN_WORTH}."
    for name, m in run.numbers.items():
        if name.family == "null" and name.statistic == "flips" and m["value"]:
            yield f"Do not read differences below {quoted(m)}: so many predictions flip though nothing changes."
    if left := _not_replaced(run):
        told = " and the ".join(left)
        yield f"Do not read attentiveness to the {told} into these numbers: only other parts were replaced."
    if note := results.get("note"):
        yield f"{note[:1].upper()}{note[1:]}"


def _not_replaced(run: Run) -> list[str]:
    """The parts that the model reads and that the test of attentiveness did not replace."""
    context = run.contexts.get("attentiveness")
    if context is None:
        return []
    replaced = {part for several in parts_of(context) for part in several.split("+")}
    return [part for part in context.parts if part not in replaced]
