"""Templates of inputs, for models that read one text.

A template has the names of parts in braces, mostly after a key, a word with a colon:
``mnli hypothesis: {hypothesis} premise: {premise}``. Doubled braces are literal.
"""

import re
from collections.abc import Iterable, Mapping

PART = re.compile(r"(?<!\{)\{([^{}]*)\}(?!\})")
KEYED = re.compile(rf"(?:(?<!\S)\S*:\s+)?{PART.pattern}\s*")
FILLED = re.compile(rf"{PART.pattern}|\{{\{{|\}}\}}")


def plain_template(parts: Iterable[str], name: str = "") -> str:
    """The default template, in the form of T5's training tasks.

    Example:
        >>> plain_template(["premise", "hypothesis"], "mnli")
        'mnli hypothesis: {hypothesis} premise: {premise}'
    """
    return " ".join(filter(None, [name, *(f"{part}: {{{part}}}" for part in sorted(parts))]))


def parts_of(template: str) -> list[str]:
    """Names of the parts in a template, in order.

    Example:
        >>> parts_of("rte sentence1: {sentence1} sentence2: {sentence2}")
        ['sentence1', 'sentence2']
    """
    return PART.findall(template)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Fill the parts into a template, and reduce doubled braces.

    Example:
        >>> filled('{text} Answer as in {{"label": "yes"}}:', {"text": "It rains."})
        'It rains. Answer as in {"label": "yes"}:'
    """
    return FILLED.sub(lambda match: match[0][0] if match[1] is None else values[match[1]], template)


def keep_parts(template: str, parts: Iterable[str]) -> str:
    """Remove all other parts, with their keys, from a template.

    Example:
        >>> keep_parts("mnli hypothesis: {hypothesis} premise: {premise}", ["premise"])
        'mnli premise: {premise}'
    """
    parts = set(parts)
    return KEYED.sub(lambda match: match[0] if match[1] in parts else "", template).strip()


def rename_parts(template: str, names: Mapping[str, str]) -> str:
    """Rename parts in a template; keys stay.

    Example:
        >>> rename_parts("rte sentence1: {sentence1}", {"sentence1": "premise"})
        'rte sentence1: {premise}'
    """
    return PART.sub(lambda match: f"{{{names.get(match[1], match[1])}}}", template)
