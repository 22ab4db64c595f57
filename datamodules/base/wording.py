"""The names of parts and labels, and the words around them for models that read and write text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.records import SettingError, parts_of, plain_template
from heedful.records.errors import guess

RESERVED = "+/{}"  # + joins parts, / the names of metrics, and braces stand in templates


def require_names(parts: Sequence[Any], labels: Sequence[Any]) -> None:
    """Check what a YAML file calls the parts and the labels.

    Raises:
        HeedfulError: A name is not text, is empty, or cannot be told from another or printed; or there are no parts, or
            one label alone.
    """
    for flag, names in (("data.parts", parts), ("data.labels", labels)):
        for name in names:
            _require_name(flag, name)
        twice = [name for name, n in Counter(name.casefold() for name in names).items() if n > 1]
        if twice:
            same = " and ".join(repr(name) for name in names if name.casefold() == twice[0])
            raise SettingError(f"{flag}: the names {same} differ in case alone. Rename or merge them.")
    if not parts:
        raise SettingError("data.parts names no part. Name each with its column.")
    if reserved := [part for part in parts if set(RESERVED) & set(part)]:
        raise SettingError(f"data.parts: the name {reserved[0]!r} holds one of {' '.join(RESERVED)}. Choose another.")
    if "majority" in labels:
        raise SettingError("data.labels: 'majority' is the baseline beside the labels. Rename it.")
    if len(labels) == 1:
        raise SettingError(f"data.labels names {labels[0]!r} alone. Name two or more.")


def _require_name(flag: str, name: Any) -> None:
    """Check one name by itself."""
    if not isinstance(name, str):
        raise SettingError(
            f"{flag}: {name!r} is not a text. Put it in quotes: YAML reads yes, no, on, off, null, ~ and numbers as "
            "something else."
        )
    if not name or name != name.strip() or not name.isprintable():
        raise SettingError(
            f"{flag}: the name {name!r} is empty, begins or ends with a blank, or cannot be printed. Choose another."
        )


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
        raise SettingError(
            f"data.template {template!r} does not name each of the parts {', '.join(parts)} once, in braces. Name "
            "each once; null stands for the usual words."
        )
    if unknown := [label for label in verbalisers if label not in labels]:
        raise SettingError(f"data.verbalisers {unknown[0]} is not a label of {name}. {guess(unknown[0], labels)}")
    texts = [verbalisers.get(label, label).strip() for label in labels]
    if "" in texts or len(set(texts)) < len(texts):
        raise SettingError(
            f"data.verbalisers makes the labels {', '.join(labels)} the texts {', '.join(map(repr, texts))}. Give "
            "each label a text of its own."
        )
    return template, verbalisers
