"""Parts of an example as people can see them."""

from collections.abc import Sequence

from heedful.datamodules.sources.image_files import thumbnail
from heedful.records import Example, Picture, Table, TableForm
from heedful.reports.figures.contact_sheet import Content


def seen(example: Example, parts: Sequence[str], form: TableForm) -> dict[str, Content]:
    """Name to content of some parts of an example: pictures small, tables in words.

    Args:
        example: The example.
        parts: Names of those that are shown.
        form: How tables are put into words; it may leave out rows that share no words with the other parts.
    """
    texts = [part for part in example.parts.values() if isinstance(part, str)]
    contents = {}
    for name in parts:
        part = example.parts[name]
        if isinstance(part, Picture):
            contents[name] = thumbnail(part)
        else:
            contents[name] = form.text(part, texts) if isinstance(part, Table) else part
    return contents
