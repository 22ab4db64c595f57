"""The pages of the site: commands and flags exist, Python compiles, links lead to pages and anchors."""

import ast
import re
import shlex
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from inspect import getsourcefile, signature
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
import yaml
from pytorch_lightning import Trainer

from heedful.callbacks import Attentiveness
from heedful.cli.command import COMMANDS, main
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder
from heedful.parser import class_parser

import fork_runs
from registered import restored_registries

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
SITE = [page for page in PAGES if page.is_relative_to(DOCS)]
EVALUATED = sorted(page for page in (DOCS / "evaluations").glob("*.md") if page.stem != "index")
FENCE = re.compile(r"(?:<!-- (run(?:: slow)?) -->\n)?^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)
COMMAND = re.compile(r"^(?:\S*/)?(?:python (train|evaluate)\.py|heedful (\w+)|python -m heedful (\w+))\b(.*)")


def blocks(page: Path, language: str) -> list[tuple[str | None, str]]:
    """Blocks of a language with their marks."""
    return [
        (mark or None, textwrap.dedent(text)) for mark, _, of, text in FENCE.findall(page.read_text()) if of == language
    ]


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Each command of a page: its name, and what stands behind it; with lines that a backslash continues."""
    prose = FENCE.sub("", page.read_text())
    texts = [text for _, text in blocks(page, "bash")] + [textwrap.dedent(text) for text in INDENTED.findall(prose)]
    for text in texts:
        for line in re.sub(r"\\\n\s*", " ", text).splitlines():
            if match := COMMAND.match(line.strip().removeprefix("$ ")):
                names = [name for name in match.groups()[:3] if name]
                yield names[0], re.split(r"\s{3,}|\s#", match[4])[0] if "'" not in match[4] else match[4]


@pytest.fixture(scope="module")
def hooks() -> dict[str, Any]:
    """The names of docs/hooks.py."""
    return run_path(str(DOCS / "hooks.py"))


@pytest.fixture(scope="module")
def settings(hooks) -> set[str]:
    """Settings of all parsers, and the short forms, as flags."""
    known = {prefix + name[2:] for _, prefix, kind in hooks["sections"]() for name in class_parser(kind, "x").names}
    short = {"data", "model", "partial", "slices", "endpoint", "config", "allow_package", "checkpoint", "augment"}
    short |= {"output", "init_from", "resume", "ckpt_path", "print_config", "seed", "help"}
    return {f"--{name}" for name in known | short}


def flags_of_help(name: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    for words in ([name, "--help"], [name, "partial", "--help"])[: 1 + (name == "figure")]:
        with suppress(SystemExit):  # argparse ends with it
            main(words)
    return set(re.findall(r"--[\w.]+", capsys.readouterr().out))


def is_setting(flag: str, settings: set[str]) -> bool:
    """Whether it is a setting, one of Lightning's trainer, or below a setting that is a dictionary."""
    parents = [flag.rsplit(".", n)[0] for n in range(flag.count("."))]
    if flag.startswith("--endpoint."):
        flag = flag.replace("endpoint", "model")
        parents = [flag]
    if flag.startswith("--trainer."):
        return flag.split(".")[1] in signature(Trainer.__init__).parameters
    return any(parent in settings for parent in parents or [flag])


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_commands_of_the_pages_name_flags_that_exist(name, settings, capsys):
    own = flags_of_help(name, capsys)
    unknown = [
        (page.name, flag)
        for page in PAGES
        for command, words in commands(page)
        if command == name
        for flag in re.findall(r"(?<!\S)--[\w.]+", words)
        if flag not in own
        and not (name in ("train", "evaluate") and is_setting(flag, settings))
        and not flag.endswith((".help", "--print_config"))
    ]
    assert not unknown


def test_the_pages_name_commands_and_no_others():
    named = {name for page in PAGES for name, _ in commands(page)}
    assert {"train", "evaluate", "compare", "measure", "rank", "suite"} <= named
    assert named <= set(COMMANDS)


def test_a_flag_that_does_not_exist_is_seen(settings):
    assert is_setting("--data.path", settings)
    assert is_setting("--data.inoculation.path", settings)
    assert is_setting("--trainer.callbacks.monitor", settings)
    assert not is_setting("--trainer.epochs", settings)
    assert not is_setting("--data.paht", settings)
    assert not is_setting("--attentivness.draws", settings)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_and_yaml_of_a_page_can_be_read(page):
    for _, text in blocks(page, "python"):
        ast.parse(text)
    for _, text in blocks(page, "yaml"):
        assert yaml.safe_load(text)
    for _, text in blocks(page, "bash"):
        assert shlex.split(text, comments=True)


def test_fenced_blocks_have_a_language():
    bare = [page.name for page in SITE if any(not of for _, _, of, _ in FENCE.findall(page.read_text()))]
    assert not bare


def anchors(text: str) -> set[str]:
    """Anchors of headings, as Python-Markdown makes them."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_pictures_and_anchors_of_a_page_exist(page, hooks):
    require_links(page.parent, FENCE.sub("", page.read_text()), page.name, hooks["PAGES"])


def test_generated_pages_link_to_pages_that_exist(hooks):
    for path in set(hooks["PAGES"]) - {"reference/settings.md"}:  # which has no links
        file = DOCS / path
        require_links(file.parent, FENCE.sub("", hooks["PAGES"][path]()), file.name, hooks["PAGES"])


def require_links(folder: Path, text: str, own: str, generated: Mapping[str, Callable[[], str]]) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        linked = (folder / (name or own)).resolve()
        path = linked.relative_to(DOCS).as_posix() if linked.is_relative_to(DOCS) else ""
        assert linked.is_file() or path in generated, target
        assert not anchor or anchor in anchors(generated[path]() if path in generated else linked.read_text()), target


def test_every_page_stands_in_the_navigation_once(hooks):
    text = (ROOT / "mkdocs.yml").read_text()
    named = re.findall(r"([\w/]+\.md)$", text[text.index("\nnav:") :], re.MULTILINE)
    assert sorted(named) == sorted([*hooks["PAGES"], *(page.relative_to(DOCS).as_posix() for page in SITE)])


def test_every_evaluation_has_a_page():
    from heedful.callbacks import EVALUATIONS

    assert {page.stem for page in EVALUATED} == set(EVALUATIONS)


@pytest.mark.parametrize("page", EVALUATED, ids=lambda page: page.stem)
def test_a_page_of_an_evaluation_has_a_command_its_output_a_figure_and_its_limits(page):
    assert blocks(page, "bash")
    assert any("[95 %]" in text for _, text in blocks(page, "text"))
    assert f"({page.stem}.png)" in page.read_text()
    assert (page.parent / f"{page.stem}.png").stat().st_size < 60_000
    assert {"command", "how-to-read-it", "limits", "paper"} <= anchors(page.read_text())


def test_the_site_has_the_files_of_configs(hooks):
    for path, kind in (("reference/data.md", "data"), ("reference/models.md", "model")):
        listed = re.findall(r"^\| `([\w.-]+)` \|", hooks["PAGES"][path](), re.MULTILINE)
        assert sorted(listed) == sorted(file.stem for file in (ROOT / "configs" / kind).glob("*.yaml"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_an_empty_line_ends_each_table_of_a_page(page):
    """Without it, Markdown makes rows of the text behind."""
    assert not re.findall(r"^\|.*\n(?=[^|\n])", FENCE.sub("", page.read_text()), re.MULTILINE)


@pytest.mark.parametrize("picture", sorted((DOCS / "figures").glob("*.svg")), ids=lambda path: path.stem)
def test_no_text_of_a_figure_is_small(picture):
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', picture.read_text())]
    assert sizes
    assert min(sizes) >= 12
    assert re.search(r'<svg [^>]*width="(\d+)"[^>]*viewBox="0 0 \1 ', picture.read_text())  # drawn in its own size


def test_the_reading_path_from_train_py_to_a_number_is_short():
    text = (DOCS / "design.md").read_text()
    (most,) = re.findall(r"^These files lead .* in at most (\d+) lines:", text, re.MULTILINE)
    names = re.findall(r"^\d+\. `([\w/.]+)`", text, re.MULTILINE)
    assert (names[0], names[-1], len(names)) == ("train.py", "heedful/metrics/attentiveness.py", 24)
    lines = sum(len((ROOT / name).read_text().splitlines()) for name in names)
    assert int(most) - 200 <= lines <= int(most)
    for kind in (Encoder, Planted, Attentiveness):
        files = {Path(str(getsourcefile(base))).resolve() for base in kind.__mro__ if "heedful." in base.__module__}
        assert files - {ROOT / name for name in names} == {ROOT / "heedful" / "records" / "arguments.py"}


def test_the_complete_example_of_a_measured_function_runs():
    (text,) = [text for mark, text in blocks(DOCS / "your_model.md", "python") if mark == "run"]
    with restored_registries():
        exec(text, {"__name__": "notebook"})


MARKED = [page for page in SITE if any(mark == "run: slow" for mark, _ in blocks(page, "bash"))]


SMALL = {  # MiniLM takes minutes otherwise, and no number of a page is asked for
    "train": ["--trainer.max_epochs", "1", "--data.n_train", "64", "--data.n_validation", "64"],
    "evaluate": ["--attributions.samples", "16"],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A folder to work in, and the commands that have run there."""
    return tmp_path_factory.mktemp("docs"), set()


@pytest.mark.slow
@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_marked_commands_run(page, runs, monkeypatch):
    """Each once, but for TensorBoard, which does not end."""
    folder, done = runs
    monkeypatch.chdir(folder)
    for mark, text in blocks(page, "bash"):
        for line in text.replace("\\\n", " ").splitlines() if mark == "run: slow" else ():
            program, *words = shlex.split(line)
            if program == "tensorboard" or line in done:
                continue
            done.add(line)
            if program == "heedful":
                main(words)
                continue
            command = words[0].removesuffix(".py")
            job = {
                "command": command,
                "argv": [*words[1:], *SMALL[command]],
                "log": "log",
                "env": {"TOKENIZERS_PARALLELISM": "false"},
            }
            assert fork_runs.run(job) == [0], Path("log").read_text()
