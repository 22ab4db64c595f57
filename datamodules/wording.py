"""What a data set says to models that read and write text."""

from collections.abc import Mapping, Sequence

from records import HeedError, parts_of, plain_template


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
        HeedError: The template does not name each part once, or the labels do not have a text each.
    """
    template, verbalisers = template or plain_template(parts, name), dict(verbalisers or {})
    if sorted(parts_of(template)) != sorted(parts):
        raise HeedError(
            f"--data.template {template!r} must name each of the parts {', '.join(parts)} once, in braces; null stands "
            "for the usual words."
        )
    if unknown := [label for label in verbalisers if label not in labels]:
        raise HeedError(f"--data.verbalisers {unknown[0]}: the labels are {', '.join(labels)}.")
    texts = [verbalisers.get(label, label).strip() for label in labels]
    if "" in texts or len(set(texts)) < len(texts):
        raise HeedError(f"--data.verbalisers must give each label a text of its own, and give {', '.join(texts)}.")
    return template, verbalisers
