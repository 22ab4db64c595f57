"""The names of parts and labels, and the words around them for models that read and write text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.records import HeedfulError, parts_of, plain_template

RESERVED = "+/{}"  # + joins parts, / the names of metrics, and braces stand in templates


def require_names(parts: Sequence[Any], labels: Sequence[Any]) -> None:
    """Check what a YAML file calls the parts and the labels.

    Raises:
        HeedfulError: A name is not text, is empty, or cannot be told from another or printed; or there are no parts, or
            one label alone.
    """
    for flag, names in (("§data.parts", parts), ("§data.labels", labels)):
        for name in names:
            if not isinstance(name, str):
                raise HeedfulError(
                    f"{flag}: {name!r} is not a name. YAML reads yes, no, on, off, null, ~ and numbers as something "
                    "else than text: put such a name in quotes."
                )
            if not name or name != name.strip() or not name.isprintable():
                raise HeedfulError(
                    f"{flag}: the name {name!r} is empty, begins or ends with a blank, or holds what cannot be printed."
                )
        twice = [name for name, n in Counter(name.casefold() for name in names).items() if n > 1]
        if twice:
            same = " and ".join(repr(name) for name in names if name.casefold() == twice[0])
            raise HeedfulError(f"{flag}: the names {same} differ in nothing but case: rename or merge them.")
    if not parts:
        raise HeedfulError("§data.parts names no part: name each with its column.")
    if reserved := [(part, c) for part in parts for c in RESERVED if c in part]:
        raise HeedfulError("§data.parts: {!r} may not be a name, for {} has a meaning of its own.".format(*reserved[0]))
    if "majority" in labels:
        raise HeedfulError("§data.labels: 'majority' names the baseline beside the accuracy of each label: rename it.")
    if len(labels) == 1:
        raise HeedfulError(f"§data.labels names {labels[0]!r} alone, so that there is nothing to tell apart.")


def checked_words(
    name: str,
    template: str | None,
    verbalisers: Mapping[str, str] | None,
    parts: Sequence[str],
    labels: Sequence[str],
) -> tuple[str, dict[str, str]]:
    """The template of a data set, or the plain one, and what is written for its labels.

    Args:
        name: Name of the data set.
        template: The words around the parts, or None.
        verbalisers: Label name to text, where that is not the name.
        parts: Names of the parts.
        labels: Names of the labels.

    Raises:
        HeedfulError: The template does not name each part once, or the labels do not have a text each.
    """
    template = template or plain_template(parts, name)
    verbalisers = dict(verbalisers or {})
    if sorted(parts_of(template)) != sorted(parts):
        raise HeedfulError(
            f"§data.template {template!r} must name each of the parts {', '.join(parts)} once, in braces; null stands "
            "for the usual words."
        )
    if unknown := [label for label in verbalisers if label not in labels]:
        raise HeedfulError(f"§data.verbalisers {unknown[0]}: the labels are {', '.join(labels)}.")
    texts = [verbalisers.get(label, label).strip() for label in labels]
    if "" in texts or len(set(texts)) < len(texts):
        raise HeedfulError(f"§data.verbalisers must give each label a text of its own, and give {', '.join(texts)}.")
    return template, verbalisers
