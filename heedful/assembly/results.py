"""What a run gives back: numbers with intervals, rows, and the folder that holds them."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pyarrow as pa

from heedful.assembly.numbers import Key, NoSuchNumber, Number, Numbers, words_of_name
from heedful.records import MetricName, RunError, listing, printable, writing
from heedful.records.storage.files import WRITING, write_json
from heedful.records.storage.lock import LOCK
from heedful.records.storage.results import CONFIG, RUN, named, read_evaluation, read_results, write_results
from heedful.reports.compare import paired_differences
from heedful.reports.configs import settings
from heedful.reports.figures.attentiveness import bars_of
from heedful.reports.html.table import image, in_notebook
from heedful.reports.in_context.tables import print_summary
from heedful.reports.page.contents import Provider
from heedful.reports.page.examples import write_examples
from heedful.reports.page.writing import REPORT, write_page
from heedful.reports.results import Evaluated
from heedful.reports.runs import UNKNOWN_WORTH
from heedful.reports.tables import Cells, as_html, emit, number, too_few
from heedful.reports.terminal.table import build, footnotes, lines_of, print_table

NOTHING = "Nothing was measured."


@dataclass(frozen=True)
class Unsaved:
    """The content of a folder of results that is not written.

    Attributes:
        name: Name of the prompt among several; otherwise empty.
        write_config: Writes config.yaml.
        about: Content of run.json.
        rows: Evaluation to its rows and their metadata.
        contents: Says what the examples of rows hold, for the page.
    """

    name: str
    write_config: Callable[[Path], None]
    about: Mapping[str, Any]
    rows: Mapping[str, Evaluated]
    contents: Provider

    def write(self, folder: Path, content: Mapping[str, Any]) -> None:
        """Write the files of the results.

        Args:
            folder: An empty folder.
            content: Content of results.json, but for the hashes of the rows.
        """
        self.write_config(folder / CONFIG)
        write_json(folder / RUN, self.about)
        write_results(folder, content, self.rows)


@dataclass(frozen=True, repr=False)
class Results(Numbers):
    """The results of an evaluation.

    A number is ``result["attentiveness", "premise"].value``; ``Numbers.__getitem__`` says which words name it.

    Attributes:
        folder: Folder of results.json and the rows; None before :meth:`save`, if :func:`heedful.measure` was given no
            ``output``.
        content: Content of results.json, but for the hashes of the rows.
        each: Of a model that was asked by several prompts, the results of each; then ``content`` is empty.
        unsaved: Content of the folder, of results that were measured in memory; has the texts of examples for a page.

    Examples:
        >>> import heedful, tempfile
        >>> rows = [{"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i} moves."} for i in range(40)]
        >>> def predict(inputs):
        ...     return ["entailment" if "1" in x["hypothesis"] else "neutral" for x in inputs]
        >>> quiet = {"enable_progress_bar": False}
        >>> result = heedful.measure(predict, rows, ["premise", "hypothesis"], "neutral", trainer=quiet)
        >>> result["attentiveness", "premise"].value, ("attentiveness", "title") in result
        (0.0, False)
        >>> saved = result.save(tempfile.mkdtemp() + "/saved")
        >>> saved.require("attentiveness premise <= 30 %").rows.column_names[:2]
        ['evaluation', 'uid']
        >>> (result - saved)["attentiveness", "premise"].value
        0.0
    """

    folder: Path | None
    content: Mapping[str, Any]
    each: tuple["Results", ...] = field(default=(), kw_only=True)
    unsaved: Unsaved | None = field(default=None, kw_only=True, compare=False)

    def __repr__(self) -> str:
        if self.each:
            inside = f"{len(self.each)} prompts, see .each"
        elif not self.content:
            inside = NOTHING
        else:
            names = {str(name): name for name in self.numbers}
            heads = [line.metric for line in lines_of(self.content) if line.beside and line.metric in names][:4]
            inside = ", ".join(
                f"{words_of_name(names[text])} {number(self.content['metrics'][text], ci95=True)}" for text in heads
            )
        return f"<{type(self).__name__} {printable(str(self.folder or 'in memory'))}: {printable(inside)}>"

    @property
    def display_name(self) -> str:
        """The folder, or "memory": follows "in" in a table."""
        name = self.unsaved.name if self.unsaved is not None else ""
        return str(self.folder or " ".join(filter(None, ("memory", name))))

    @contextmanager
    def in_folder(self) -> Iterator[Path]:
        """The folder of the results; a temporary one while they are in memory alone."""
        self._require_one()
        if self.folder is not None:
            yield self.folder
            return
        if self.unsaved is None:
            yield self.written  # which says what is missing
            return
        with tempfile.TemporaryDirectory(prefix="heedful-") as temporary:
            self.unsaved.write(Path(temporary), self.content)
            yield Path(temporary)

    @property
    def numbers(self) -> dict[MetricName, dict[str, Any]]:
        """Each measurement by its name: value, n, draws, std, ci95, per_draw, flags, as results.json has them."""
        self._require_one()
        return named(self.content) if self.content else {}

    def _require_one(self) -> None:
        """Refuse what is asked of the results of several prompts."""
        if self.each:
            raise RunError(
                f"{self.display_name}: there are results of {len(self.each)} prompts. Take one, such as .each[0]."
            )

    @property
    def rows(self) -> pa.Table:
        """The rows of all evaluations, with the name of each in a first column, ``evaluation``.

        What only some of them have, as attributions do, is null in the others.

        Raises:
            HeedfulError: The files in the folder are not those that were written, or are of several prompts.
        """
        self._require_one()
        tables = []
        for evaluation in self._evaluations():
            rows = self.rows_of(evaluation)
            rows = rows.cast(pa.schema([_any_length(column) for column in rows.schema]))
            tables.append(
                rows.add_column(0, "evaluation", pa.repeat(pa.scalar(evaluation, pa.string()), rows.num_rows))
            )
        return pa.concat_tables(tables, promote_options="default")

    def rows_of(self, evaluation: str) -> pa.Table:
        """The rows of an evaluation; no others than those that the numbers are computed from.

        Args:
            evaluation: Its name, such as "attentiveness".

        Raises:
            HeedfulError: The files in the folder are not those that were written; or there is no such evaluation
                among the results, which is a KeyError as well.
        """
        self._require_one()
        if self.unsaved is not None:
            read = self.unsaved.rows.get(evaluation)
        else:
            read = read_evaluation(self.written, evaluation)
        if read is None:
            hint = f" It has the rows of {listing(names)}." if (names := self._evaluations()) else ""
            raise NoSuchNumber(f"{self.display_name} has no rows of {evaluation!r}.{hint}")
        return read[0]

    @property
    def written(self) -> Path:
        """The folder of results that are saved.

        Raises:
            RunError: The results were received from rank 0, which has their rows.
        """
        if self.folder is None:
            raise RunError("The rows of these results are in the memory of rank 0. Measure with output=FOLDER.")
        return self.folder

    def _evaluations(self) -> list[str]:
        """The evaluations that have rows."""
        return [*(read_results(self.written)["rows"] if self.unsaved is None else self.unsaved.rows)]

    def show(self) -> None:
        """Show the numbers: as a table in a terminal, in a notebook with a figure of attentiveness; of several prompts
        their summary."""
        contents = {results.display_name: results.content for results in self.each or [self]}
        if not all(contents.values()):
            print(NOTHING)
        elif self.each and not any(content["counts"].get("unlabelled") for content in contents.values()):
            with tempfile.TemporaryDirectory(prefix="heedful-") as temporary:
                saved = self if all(results.folder for results in self.each) else self.save(Path(temporary) / "prompts")
                print_summary([str(results.folder) for results in saved.each])
        elif in_notebook() and not self.each:
            _display(self)
        else:
            print_table(contents)

    def _repr_html_(self) -> str:
        """The table in a notebook, and the figure."""
        if not self.content:
            return as_html(Cells("", [repr(self)], []))
        cells = build({self.display_name: self.content})
        worth = [f"No gold labels: {UNKNOWN_WORTH}."] if self.content["counts"].get("unlabelled") else []
        captions = [*worth, *footnotes(self.content), *([f"in {self.folder}"] if self.folder else [])]
        header = [cells.header[0], f"{self.content['data']}, {self.content['split']}"]
        return as_html(Cells("", header, cells.rows, "\n".join(captions))) + self._figure()

    def _figure(self) -> str:
        """Attentiveness by part as HTML; "" where there is none."""
        data = self.content["data"]
        parts = {
            name.part: m
            for name, m in self.numbers.items()
            if name == MetricName("attentiveness", data, name.part)
            and name.part
            and m["value"] is not None
            and not too_few(m["n"], m["flags"])
        }
        return f"<br>{image(bars_of(parts), 'attentiveness by part')}" if parts else ""

    def save(self, folder: str | PathLike[str]) -> "Results":
        """Write the results into a folder, for every report to read: compare, rescore, ``heedful.load``.

        Args:
            folder: A folder that does not exist or is empty; of several prompts, each gets a folder inside.

        Returns:
            The results in that folder.

        Raises:
            HeedfulError: The folder holds something, or cannot be written; the files are not those that were written.
        """
        to = Path(folder)
        require_writable(to)
        if self.each:
            return Results(
                to,
                {},
                each=tuple(results.save(to / (results.unsaved or results.written).name) for results in self.each),
            )
        if self.folder is not None and to.resolve().is_relative_to(self.folder.resolve()):
            raise RunError(f"{to} lies in {self.folder}, which would be copied into itself. Name another folder.")
        with self.in_folder() as source, writing(to):
            read_results(source)
            if self.folder is None and self.unsaved is not None:
                write_examples(source, self.unsaved.contents)
            to.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as parent:
                complete = Path(parent) / "results"
                complete.mkdir()  # has the rights that new folders have here
                rights = complete.stat().st_mode
                left = shutil.ignore_patterns(LOCK, f"*{WRITING}")
                shutil.copytree(source, complete, ignore=left, symlinks=True, dirs_exist_ok=True)
                complete.chmod(rights)
                complete.replace(to)
        return replace(load(to), unsaved=self.unsaved)

    def page(self, path: str | PathLike[str] | None = None, examples: bool = True) -> Path:
        """Write a page of HTML about the results that needs no other file: numbers, how to read them, examples.

        Args:
            path: The file; by default report.html in the folder of the results, if they are saved.
            examples: With the texts and pictures of examples.

        Returns:
            The file.

        Raises:
            HeedfulError: The folder holds other files than those that were written, or the page cannot be written.
        """
        self._require_one()
        if path is None and self.folder is None:
            raise RunError("These results are not saved. Name a file, as page('report.html'), or save them first.")
        with self.in_folder() as folder:
            if self.folder is None and self.unsaved is not None:
                write_examples(folder, self.unsaved.contents)
            return write_page([folder], folder / REPORT if path is None else Path(path), examples)

    def __sub__(self, other: "Results") -> "Differences":
        """What these results are above others on the same examples, with paired 95 % intervals.

        Raises:
            HeedfulError: They are not of the same examples, or are of several prompts.
        """
        if not isinstance(other, Results):
            return NotImplemented
        numbers, others = self.numbers, other.numbers
        with self.in_folder() as after, other.in_folder() as before:
            changes = paired_differences(before, after)
        differences = {}
        for name in numbers.keys() & others.keys():
            if str(name) in changes:
                flags = dict.fromkeys([*numbers[name]["flags"], *others[name]["flags"]])
                differences[name] = changes[str(name)].as_dict() | {"flags": [*flags]}
        ordered = {name: differences[name] for name in numbers if name in differences}
        without = tuple(name for name in numbers if name in others and name not in differences)
        order = zip((self, other), ("the first", "the second"), strict=True)
        sides = [in_order if one.folder is None else str(one.folder) for one, in_order in order]
        return Differences(ordered, " less ".join(sides), without)


@dataclass(frozen=True, repr=False)
class Differences(Numbers):
    """The numbers of one run less those of another on the same examples, with paired 95 % intervals.

    A difference has the flags of both numbers. It is looked up, required and made a frame as the numbers of
    ``Results`` are.

    ``n`` is the smaller one of both numbers: each attentiveness is over the examples of its own model, of which those
    that both have are paired.

    Attributes:
        found: Each difference by its name, as results.json would have it.
        told: Which runs they are of.
        unpaired: The numbers that both have and that cannot be paired: their swaps are not the same, as with another
            seed, or they are not shares.
    """

    found: Mapping[MetricName, dict[str, Any]]
    told: str
    unpaired: tuple[MetricName, ...] = ()
    _bounds = (-1.0, 1.0)

    def __getitem__(self, key: Key) -> Number:
        """One difference; see ``Numbers.__getitem__``."""
        try:
            return super().__getitem__(key)
        except NoSuchNumber as error:
            if not self.unpaired:
                raise
            missing = listing(sorted({words_of_name(name) for name in self.unpaired}))
            do = f"Measure both with the same seed, draws and default label to pair {missing}."
            raise NoSuchNumber(f"{error} {do}") from None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {printable(self.told)}: {len(self.found)} numbers>"

    @property
    def numbers(self) -> dict[MetricName, dict[str, Any]]:
        """Each difference by its name."""
        return dict(self.found)

    def show(self) -> None:
        """Show the differences: as a table in a terminal, or as one in a notebook."""
        if in_notebook():
            _display(self)
        else:
            emit([self._cells()])

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        cells = self._cells()
        return as_html(Cells("", cells.header, cells.rows, cells.heading))

    def _cells(self) -> Cells:
        """The differences as texts."""
        rows = [
            [words_of_name(name), number(m, "+", ci95=True) + "".join(f" ({flag})" for flag in m["flags"]), str(m["n"])]
            for name, m in self.found.items()
        ]
        return Cells(self.told, ["difference", "points [paired 95 %]", "n"], rows)


@dataclass(frozen=True, repr=False)
class Run(Results):
    """The results of a training run, measured on its best checkpoint.

    Attributes:
        checkpoint: The checkpoint that was measured; None where Lightning ran a few batches to try (fast_dev_run), and
            of a run that was finished before.
        was_finished: Whether the run was finished before, and nothing was trained.
    """

    checkpoint: Path | None = None
    was_finished: bool = False

    @classmethod
    def finished(cls, folder: Path) -> "Run":
        """A run that was finished before."""
        return cls(folder, read_results(folder), was_finished=True)


def require_writable(folder: Path) -> None:
    """Refuse a folder for new results that holds something, or that cannot be made.

    Raises:
        RunError: The folder is one of these.
    """
    with writing(folder):
        if folder.is_symlink() or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
            raise RunError(f"{folder} holds something already. Name another folder.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}."):
            pass


def load(folder: str | PathLike[str]) -> Results:
    """The results in the folder of a run or of an evaluation; neither a model nor data are needed.

    Args:
        folder: The folder.

    Returns:
        The results; of a training run, a ``Run``.

    Raises:
        HeedfulError: There are none, or the files are not those that were written.

    Examples:
        >>> import heedful
        >>> heedful.load("runs/missing")
        Traceback (most recent call last):
        heedful.records.errors.HeedfulError: runs/missing/results.json does not exist. Check the path.
    """
    path = Path(fspath(folder))
    return Run.finished(path) if settings(path).get("trained") else Results(path, read_results(path))


def _display(shown: Results | Differences) -> None:
    from IPython.display import display

    display(shown)  # by its HTML, or as text where no HTML is shown


def _any_length(column: pa.Field) -> pa.Field:
    """A column of probabilities without their number, which differs where evaluations have other labels."""
    fixed = isinstance(column.type, pa.FixedSizeListType)
    return column.with_type(pa.list_(column.type.value_type)) if fixed else column
