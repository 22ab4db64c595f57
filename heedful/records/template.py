"""Templates that join the parts of an input, for models that read a single text.

A template has the names of parts in braces, often after a word with a colon (the key of the part):
``mnli hypothesis: {hypothesis} premise: {premise}``. Doubled braces are literal braces.
"""

import re
from collections.abc import Iterable, Mapping

PART = re.compile(r"(?<!\{)\{([^{}]*)\}(?!\})")
KEYED = re.compile(rf"(?:(?<!\S)\S*:\s+)?{PART.pattern}\s*")
FILLED = re.compile(rf"{PART.pattern}|\{{\{{|\}}\}}")


def plain_template(parts: Iterable[str], name: str = "") -> str:
    """Return the default template, as of T5's training tasks: the name of the task, then each part after its key, in
    alphabetical order.

    Example:
        >>> plain_template(["premise", "hypothesis"], "mnli")
        'mnli hypothesis: {hypothesis} premise: {premise}'
    """
    return " ".join(filter(None, [name, *(f"{part}: {{{part}}}" for part in sorted(parts))]))


def parts_of(template: str) -> list[str]:
    """The names of the parts in a template, in order of appearance."""
    return PART.findall(template)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Fill a template: replace each part's name in braces by its text, and doubled braces by single braces.

    Example:
        >>> filled('{text} Answer as in {{"label": "yes"}}:', {"text": "It rains."})
        'It rains. Answer as in {"label": "yes"}:'
    """
    return FILLED.sub(lambda match: match[0][0] if match[1] is None else values[match[1]], template)


def keep_parts(template: str, parts: Iterable[str]) -> str:
    """Restrict a template to the given parts: all other parts are removed together with their keys.

    Example:
        >>> keep_parts("mnli hypothesis: {hypothesis} premise: {premise}", ["premise"])
        'mnli premise: {premise}'
    """
    parts = set(parts)
    return KEYED.sub(lambda match: match[0] if match[1] in parts else "", template).strip()


def rename_parts(template: str, names: Mapping[str, str]) -> str:
    """Rename parts in the braces of a template, from old to new names; the words before the braces do not change.

    Example:
        >>> rename_parts("rte sentence1: {sentence1}", {"sentence1": "premise"})
        'rte sentence1: {premise}'
    """
    return PART.sub(lambda match: f"{{{names.get(match[1], match[1])}}}", template)
