"""Pictures with texts: questions about them, sentences that are true of them or not (CAT, §4)."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from heedful.datamodules.base.transforms import Split
from heedful.datamodules.sources.image_files import STARRED, PictureFolder, Pictures, filled, is_pattern
from heedful.datamodules.sources.values import UNPACKED_WHOLE, Rows, brief, is_empty, plain, reason
from heedful.datamodules.text import PairedText
from heedful.records import DataError, SettingError, inform, open_file
from heedful.records.errors import guess

PICTURES = ("image",)  # the parts that are pictures, by default


class PairedImages(PairedText):
    """One or several pictures with a text, from files, from parquet or from the hub.

    Pictures that stand in the same file or byte for byte elsewhere are one content, and never partners.

    Args:
        name: Name of the data set.
        parts: Part name to column, in reading order. A picture's column holds a path or its bytes; instead of a column
            there may be a pattern of file names: ``images/{id}.png``. In the file name, ``*`` stands for letters and
            digits, and every file that matches makes an example of its own, with the uid ``<uid>-<what * stands for>``.
        pictures: Which parts are pictures.
        labels: Label name to its spellings in the sources, in label order.
        answers: Instead of ``labels``, a file that lists them: a line for each (.txt), or json, as a list or under
            ``id2label``; it is looked for in ``path`` first.
        default_label: The label of parts that have nothing to do with each other; where it is none of ``answers``, it
            is added to them.
        image_folder: Where paths and patterns begin, if not at the file that names them.
        groups: Columns, or patterns as those of file names, whose equal values make two examples related.
        swap: As for :class:`PairedData`; by default the pictures together, then each text.
        **kwargs: As for :class:`PairedText`.
    """

    local = PictureFolder

    def __init__(
        self,
        name: str,
        parts: dict[str, str],
        pictures: Sequence[str] = PICTURES,
        labels: dict[str, list[str | int]] | None = None,
        answers: str | None = None,
        default_label: str | None = None,
        image_folder: str | None = None,
        swap: list[str] | None = None,
        path: str | None = None,
        **kwargs: Any,
    ) -> None:
        if unknown := [part for part in pictures if part not in parts]:
            raise SettingError(f"data.pictures {unknown[0]} is not a part of {name}. {guess(unknown[0], parts)}")
        if (ordered := [part for part in parts if part in pictures]) != list(pictures):
            raise SettingError(
                f"data.pictures [{', '.join(pictures)}] is not in the order of data.parts, or names a part twice. "
                f"Write [{', '.join(ordered)}]."
            )
        if not pictures:
            raise SettingError(f"data.pictures names no part of {name}. Name at least one.")
        if (labels is None) == (answers is None):
            raise SettingError(
                f"{name} takes its labels either from data.labels or from the file data.answers. Give one of the two."
            )
        if labels is None:
            labels = {answer: [] for answer in with_default(listed(answers, path), default_label, name)}
        sides = ["+".join(pictures), *(part for part in parts if part not in pictures)]
        swap = sides if swap is None else swap
        self.pictures = tuple(pictures)
        super().__init__(name, parts, labels, path=path, swap=swap, default_label=default_label, **kwargs)
        self.answers = answers
        columns = {part: parts[part] for part in pictures}
        self.picture_source = Pictures(columns, self.columns.uid, Path(image_folder) if image_folder else None)
        starred = (
            any(is_pattern(column) and "*" in column for column in columns.values()) and self.columns.uid is not None
        )
        self.columns = replace(
            self.columns, kinds=dict.fromkeys(pictures, "picture"), uid=STARRED if starred else self.columns.uid
        )
        self.row_transforms.append(self._with_pictures)

    @property
    def sides(self) -> tuple[str, ...]:
        task = self.task
        joined = ("+".join(task.pictures),) if task.pictures else ()
        return (*joined, *(part for part in task.parts if part not in task.pictures))

    def _refuse_without_default(self, more: str = "") -> NoReturn:
        super()._refuse_without_default(" '(unrelated)', which is added to the answers" if self.answers else more)

    def _with_pictures(self, rows: Rows, where: str, split: Split) -> Rows:
        """The rows with their pictures, and with the groups that are patterns."""
        patterns = [group for group in self.columns.groups if is_pattern(group)]
        for row, values in self.picture_source.rows(rows, where):
            yield row, values | {pattern: filled(pattern, values, f"{where}, row {row}") for pattern in patterns}


def with_default(answers: Sequence[str], default_label: str | None, name: str) -> list[str]:
    """The labels that are answers, and the default label, which may be none of them."""
    if default_label is None or default_label in answers:
        return list(answers)
    inform(f"{name}: {default_label!r} is a label beside the {len(answers):,} answers.")
    return [*answers, default_label]


def listed(answers: str, path: Any) -> list[str]:
    """The labels in a file; see :class:`PairedImages`. A number is taken as text, and blank lines are not lines.

    Raises:
        HeedfulError: The file does not exist or cannot be read, it lists no label, one twice, or something that is not
            a label, or it leaves a number out.
    """
    file = _answers_file(answers, path)
    listing = _listing(file)
    if isinstance(listing, dict) and "id2label" in listing:
        listing = listing["id2label"]
    if isinstance(listing, dict):
        listing = _in_order(listing, file)
    if not isinstance(listing, list) or not listing:
        raise DataError(f"data.answers {file} holds {brief(listing)}, not labels. Write a list of labels.")
    for label in listing:
        if is_empty(label) or isinstance(label, bool) or not isinstance(label, str | int | float):
            raise DataError(f"data.answers {file} lists {brief(label)}, which is not a label. Write a text there.")
    labels = [label.strip() if isinstance(label, str) else plain(label) for label in listing]
    if twice := [label for label, n in Counter(labels).items() if n > 1]:
        raise SettingError(f"data.answers {file} lists {twice[0]!r} twice.")
    return labels


def _answers_file(answers: str, path: Any) -> Path:
    """The file of the answers: in the folder of the data, if they have one, else where it is named from."""
    file = Path(answers)
    in_files = isinstance(path, str | Path)
    if in_files and (Path(path) / answers).is_file():
        file = Path(path) / answers
    if not file.is_file():
        hint = "" if in_files else "Check the path; data.path names the folder of the data."
        raise DataError(f"The file data.answers {answers} does not exist. {hint}")
    return file


def _listing(file: Path) -> Any:
    """The content of a json file, the lines of another that are not blank."""
    with open_file(file, f"data.answers {file}") as opened:
        content = opened.read(UNPACKED_WHOLE + 1)
    if len(content) > UNPACKED_WHOLE:
        raise DataError(
            f"data.answers {file} has more than {UNPACKED_WHOLE >> 20} MiB. Check that it is the file that you mean."
        )
    try:
        text = content.decode("utf-8-sig")
        if file.suffix == ".json":
            return json.loads(text)
        return [line for line in text.splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise DataError(f"data.answers {file} is not UTF-8. Save it as UTF-8, or correct it there.") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"data.answers {file} is not JSON: {reason(error)}. Take a whole copy of it.") from None


def _in_order(by_number: dict[str, Any], file: Path) -> list[Any]:
    """The labels in the order of their numbers, which are 0, 1 and so on."""
    numbers = [str(i) for i in range(len(by_number))]
    if wrong := [key for key in by_number if key not in numbers]:
        raise DataError(
            f"data.answers {file} has a label of the number {brief(wrong[0])}. Number the labels from 0 to "
            f"{len(by_number) - 1}."
        )
    return [by_number[number] for number in numbers]
