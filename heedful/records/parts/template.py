"""Templates: the words around the parts of an input, for models that read one text.

A part stands in a template as its name in braces, between spaces, mostly after its key, which is one word that ends
with a colon: ``mnli hypothesis: {hypothesis} premise: {premise}``. A brace that stands beside another is none of these.
"""

import re
from collections.abc import Iterable, Mapping

PART = re.compile(r"(?<!\{)\{([^{}]*)\}(?!\})")
KEYED = re.compile(rf"(?:(?<!\S)\S*:\s+)?{PART.pattern}\s*")
FILLED = re.compile(rf"{PART.pattern}|\{{\{{|\}}\}}")


def plain_template(parts: Iterable[str], name: str = "") -> str:
    """The template of data that bring none of their own: the form in which T5 learned the tasks of GLUE.

    Example:
        >>> plain_template(["premise", "hypothesis"], "mnli")
        'mnli hypothesis: {hypothesis} premise: {premise}'
    """
    return " ".join(filter(None, [name, *(f"{part}: {{{part}}}" for part in sorted(parts))]))


def parts_of(template: str) -> list[str]:
    """The names of the parts in a template, in reading order.

    Example:
        >>> parts_of("rte sentence1: {sentence1} sentence2: {sentence2}")
        ['sentence1', 'sentence2']
    """
    return PART.findall(template)


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with each part in its place, and one brace for each two that stand together.

    Example:
        >>> filled('{text} Answer as in {{"label": "yes"}}:', {"text": "It rains."})
        'It rains. Answer as in {"label": "yes"}:'
    """
    return FILLED.sub(lambda match: match[0][0] if match[1] is None else values[match[1]], template)


def keep_parts(template: str, parts: Iterable[str]) -> str:
    """The template of inputs that lack some of its parts: a missing part goes, and its key with it.

    Example:
        >>> keep_parts("mnli hypothesis: {hypothesis} premise: {premise}", ["premise"])
        'mnli premise: {premise}'
    """
    parts = set(parts)
    return KEYED.sub(lambda match: match[0] if match[1] in parts else "", template).strip()


def rename_parts(template: str, names: Mapping[str, str]) -> str:
    """The template with other names of parts in its braces; the keys stay, since they are words.

    Example:
        >>> rename_parts("rte sentence1: {sentence1}", {"sentence1": "premise"})
        'rte sentence1: {premise}'
    """
    return PART.sub(lambda match: f"{{{names.get(match[1], match[1])}}}", template)
