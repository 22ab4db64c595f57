"""Sentences of a page about the main numbers of a run, and cautions about all of its numbers."""

from collections.abc import Iterator, Sequence

from heedful.metrics.attentiveness import parts_of
from heedful.metrics.statistics.draws import is_known
from heedful.records import MetricName, percent
from heedful.reports.figures.partial_inputs import partial_of
from heedful.reports.page.about import About, about_of, evaluation_of, in_order
from heedful.reports.page.numbers import QUALITIES, Entry, quoted
from heedful.reports.runs import ATTENTIVENESS, UNKNOWN_WORTH, Run

SPANS = "answers"  # evaluation of answers in a text


def sentences_of(run: Run, runs: Sequence[Run] = ()) -> dict[str, str]:
    """Return a sentence on each main number of a run by name of the metric; ``runs`` may have a partial-input model."""
    sentences = {}
    for evaluation in in_order(run):
        about = about_of(run, evaluation)
        for name, m in run.numbers.items():
            is_main = name.family == about.families[0] and not name.slice
            if is_main and evaluation_of(run, name) == evaluation and name.statistic in about.says:
                sentences[str(name)] = _sentence(run, name, m, about, runs)
    return sentences


def _sentence(run: Run, name: MetricName, m: Entry, about: About, runs: Sequence[Run]) -> str:
    """Return a sentence of ``about`` with its placeholders filled, or why the number is undefined."""
    part = name.part.replace("+", " and ")
    is_attentiveness = name.family == ATTENTIVENESS
    if m["value"] is None:
        topic = about.title.lower() + (f" ({name.statistic})" if name.statistic else "")
        topic += f" to the {part}" if is_attentiveness else f", {part}" if part else ""
        return f"Nothing can be said of {topic}: {m['reason']}."
    if not is_known(m):
        return f"{f'Another {part}' if is_attentiveness else about.title}: only {m['n']:,} predictions count."
    kind = name.statistic
    if is_attentiveness and not kind:
        kind = "span" if SPANS in run.results["rows"] else "" if _default(run) else "no default"
    sentence = about.says[kind].format(value=quoted(m), part=part, data=name.data, title=about.title)
    return f"{sentence} ({_sample_size(run, name, m)}){_to_default(run, name)}{_comparison(run, name, runs)}."


def _default(run: Run) -> str | None:
    context = run.contexts.get(ATTENTIVENESS)
    return None if context is None else context.default_answer


def _sample_size(run: Run, name: MetricName, m: Entry) -> str:
    """Describe the sample of a number: how many of the examples count, and the number of draws."""
    text = f"{m['n']:,} examples"
    eligible = run.numbers.get(name._replace(statistic="eligible"))
    if name.family == ATTENTIVENESS and eligible and eligible["value"] is not None and _default(run):
        kind = "that get an answer" if SPANS in run.results["rows"] else f"not predicted as “{_default(run)}”"
        text = f"{m['n']:,} of {eligible['n']:,} examples count, those {kind}"
    noun = "replacements" if name.family in (ATTENTIVENESS, "default_label") else "changes"
    return text + (f", each with {m['draws']} {noun}" if m["draws"] and m["draws"] > 1 else "")


def _to_default(run: Run, name: MetricName) -> str:
    """Return the end of a sentence on the changes to the default label; "" if they are unknown, or all changes."""
    m = run.numbers.get(name._replace(statistic="to_default"))
    if name.family != ATTENTIVENESS or m is None or not is_known(m) or m["value"] == run.numbers[name]["value"]:
        return ""
    is_joint = "+" in name.part  # after a joint swap, the lent parts may determine another answer
    return f"; {quoted(m)} become “{_default(run)}”" + ("" if is_joint else ", the right answer then")


def _comparison(run: Run, name: MetricName, runs: Sequence[Run]) -> str:
    """Return the end of a sentence: the majority baseline of a score, the accuracy on the other parts alone."""
    if name.family in QUALITIES:
        return _majority(run, name)
    if name.family != ATTENTIVENESS or name.statistic:
        return ""
    names = run.other_parts(name.part) or ""
    parts = names.replace("+", " and ")
    alone = partial_of(run, name.part, runs)
    if alone is not None and alone.score is not None and is_known(alone.score):
        text = f"; a model trained on the {parts} alone reaches {quoted(alone.score)} accuracy"
        return text + (f", one constant answer {percent(alone.majority['value'])}" if alone.majority else "")
    m = run.numbers.get(MetricName("naive_partial", run.data, names, "accuracy"))
    if m is None or not is_known(m):
        return ""
    return f"; shown the {parts} alone, this model reaches {quoted(m)} accuracy{_majority(run, name)}"


def _majority(run: Run, name: MetricName) -> str:
    """Return the end of a sentence, with the score of the majority baseline; "" if it is unknown."""
    family = name.family if name.family in QUALITIES else "accuracy"
    m = run.numbers.get(MetricName(family, name.data, statistic="majority"))
    return "" if m is None or m["value"] is None else f"; one constant answer would reach {quoted(m)}"


def least_used(run: Run) -> str:
    """Return a sentence on the part with the lowest attentiveness; "" for fewer than two parts."""
    parts = {part: m for part, m in run.attentiveness().items() if is_known(m) and m["ci95"] and "+" not in part}
    if len(parts) < 2:
        return ""
    least, *parts_above = sorted(parts, key=lambda part: parts[part]["value"])
    if parts[least]["ci95"][1] >= min(parts[part]["ci95"][0] for part in parts_above):
        return "No part is clearly used less than the others: the intervals overlap."
    return f"Of the parts of its input, the model uses the {least} least."


def cautions_of(run: Run) -> Iterator[str]:
    """Yield sentences that warn readers of a page about all numbers of a run."""
    if how_far := run.results.get("unfinished"):
        yield f"Do not take these numbers for the finished model: the run had not ended ({how_far})."
    if run.unlabelled:
        yield f"Do not read attentiveness as a merit: without gold labels, {UNKNOWN_WORTH}."
    for name, m in run.numbers.items():
        if name.family == "null" and name.statistic == "flips" and m["value"]:
            yield f"Do not read differences below {quoted(m)}: as many predictions flip without any change."
    if context := run.contexts.get(ATTENTIVENESS):
        replaced = {part for several in parts_of(context) for part in several.split("+")}
        if parts := " and the ".join(part for part in context.parts if part not in replaced):
            yield f"Do not read attentiveness to the {parts} into these numbers: only other parts were replaced."
    if note := run.results.get("note"):
        yield f"{note[:1].upper()}{note[1:]}"
