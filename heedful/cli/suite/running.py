"""Runs the steps of a suite, each once: what is finished is not done again."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path

from heedful.cli.suite.plan import EVALUATE, FIGURES, RANK, TRAIN, Step
from heedful.records import MetricName, RunError, read_json, stopping, write_json
from heedful.records.launchers import without_launcher
from heedful.records.storage.claim import claim
from heedful.records.storage.results import RESULTS, file_hash, read_results, read_run

COMMANDS = {  # what Python is to run, by the kind of a step
    TRAIN: ("-m", "heedful", "train"),
    EVALUATE: ("-m", "heedful", "evaluate"),
    RANK: ("-m", "heedful", "rank"),
}
IMPORTED_FROM = str(Path(sys.modules["heedful"].__file__).parents[1])
RECORD = ".files.json"
TAIL = 4000  # bytes at the end of a log in which its last line stands


def is_trained(run: Path) -> bool:
    """Whether train.py has finished a run."""
    return "finished" in read_run(run)


def is_done(step: Step) -> bool:
    """Whether the results of a step are there, of the same settings, the same files and the same model.

    Raises:
        HeedfulError: They are of others; the message says what differs.
    """
    if step.kind == RANK:
        return False
    about = read_run(step.folder)
    if not about:
        return False
    _, *words = about.get("command", []) or [""]
    _require_same(step, words[1:] if words[:1] == [step.kind] else words)  # behind the name of the program
    if step.needs is not None and about.get("started", "") < read_run(step.needs).get("finished", ""):
        raise RunError(f"{step.folder} was begun before its model was trained ({step.needs}). Move one of them away.")
    if step.kind == TRAIN and not is_trained(step.folder):
        return False  # and what goes on compares its examples itself
    _require_same_files(step)
    if step.kind == EVALUATE and len({*filter(None, map(_weights, (step.folder, step.needs)))}) > 1:
        raise RunError(f"{step.folder} was measured with other weights than {step.needs} has. Move one of them away.")
    return True


def _weights(run: Path | None) -> str | None:
    """The hash of the weights that the results of a run are of, where it is known."""
    return read_results(run).get("weights") if run is not None and (run / RESULTS).is_file() else None


def _record(step: Step) -> Path:
    """The file beside the folder of a step that says of which files its results are."""
    return step.folder.with_name(f"{step.folder.name}{RECORD}")


def files_of(step: Step) -> dict[str, str]:
    """Path to hash of everything on disk that a step is about: what its settings name, and checkpoints of its model.

    A setting names a file, or a folder by a path with a "/" in it; files in a folder count with their names.
    """
    values = [value for text in step.settings for value in (text, *re.split(r"[=,\[\]\s\"']+", text)) if value]
    paths = {Path(value) for value in values if Path(value).is_file() or ("/" in value and Path(value).is_dir())}
    if step.needs is not None:
        paths.add(step.needs / "checkpoints")
    return {str(path): _digest(path) for path in sorted(paths) if path.exists()}


def _digest(path: Path) -> str:
    """The sha256 of a file, or of the names and the sha256 of all files in a folder, without hidden ones."""
    if path.is_file():
        return _hash(path)
    inside = sorted(file for file in path.rglob("*") if file.is_file())
    inside = [file for file in inside if not any(part.startswith(".") for part in file.relative_to(path).parts)]
    return sha256("\n".join(f"{file.relative_to(path)} {_hash(file)}" for file in inside).encode()).hexdigest()


def _hash(path: Path) -> str:
    stat = path.stat()
    return _hash_of(path, stat.st_size, stat.st_mtime_ns)


@cache  # many steps read the same data
def _hash_of(path: Path, size: int, modified: int) -> str:
    return file_hash(path)


def _require_same_files(step: Step) -> None:
    """Refuse results of files that have changed since; those of earlier versions, which recorded none, count as of now.

    Raises:
        HeedfulError: A file has changed.
    """
    now = files_of(step)
    if not _record(step).is_file():
        write_json(_record(step), now)
    for path, before in read_json(_record(step)).items():
        if now.get(path) != before:
            changed = "has changed since" if path in now else "is not there any more"
            raise RunError(
                f"{step.folder} was made of {path}, which {changed}. Move the folder away, or name another with output."
            )


def _require_same(step: Step, command: Sequence[str]) -> None:
    """Refuse what other settings have left in the folder of a step."""
    for old, new in zip_longest(_flags(command), _flags(_settings(step))):
        if old != new:
            raise RunError(
                f"{step.folder} was made with {_said(old)}, and the suite has {_said(new)}. Move the folder away, or "
                "name another with output."
            )


def _flags(command: Sequence[str]) -> list[tuple[str, ...]]:
    """The flags of a command with their values, but for those that name the folder."""
    flags: list[list[str]] = []
    for text in command:
        if text.startswith("--") or not flags:
            flags.append([text])
        else:
            flags[-1].append(text)
    return [tuple(flag) for flag in flags if flag[0] not in ("--output", "--ckpt_path")]


def _said(flag: tuple[str, ...] | None) -> str:
    return "nothing in its place" if flag is None else " ".join(flag)


def _settings(step: Step) -> list[str]:
    """The settings of a step with the run that it needs."""
    if step.needs is None:
        return list(step.settings)
    return ["--checkpoint" if step.kind == EVALUATE else "--init_from", str(step.needs), *step.settings]


def run(steps: Sequence[Step], all_steps: Sequence[Step]) -> None:
    """Run the steps that are not done yet, with a line on the terminal for each, and a log file beside its folder.

    Args:
        steps: Those that are asked for.
        all_steps: All of the suite, which the ranking is about.

    Raises:
        HeedfulError: A step fails, needs a run that is not trained, or has the results of other settings.
    """
    waiting = _waiting(steps, all_steps)
    for number, step in enumerate(steps, 1):
        line = f"[{number}/{len(steps)}] {step.kind} {step.name}"
        if step not in waiting:
            print(f"{line}: done before{_result(step)}", flush=True)
            continue
        if step.needs is not None and not is_trained(step.needs):
            raise RunError(
                f"{step.kind} {step.name} needs the model {step.needs}, which is not trained yet. Add {TRAIN} to "
                "--only."
            )
        print(line, end="", flush=True)
        began = time.monotonic()
        files = files_of(step)
        try:
            _run(step, all_steps)
            if step.kind != RANK:
                write_json(_record(step), files)
        finally:
            print(f": {time.monotonic() - began:,.0f} s{_result(step)}", flush=True)


def _waiting(steps: Sequence[Step], all_steps: Sequence[Step]) -> list[Step]:
    """The steps that are not done; all are looked at before the first one runs."""
    waiting = [step for step in steps if not is_done(step)]
    anew = {step.folder for step in waiting if step.kind == TRAIN}
    for step in steps:
        if step.needs in anew and read_run(step.folder):
            raise RunError(f"{step.folder} is of a model that is not there ({step.needs}). Move it away, too.")
    if any(step.kind == RANK for step in waiting):
        for step in all_steps:
            if step.kind == EVALUATE and step not in steps and not is_done(step):
                raise RunError(f"The ranking needs {step.folder}, which has not been measured. Run the whole suite.")
    return waiting


def _result(step: Step) -> str:
    """The accuracy that an evaluation found, as the end of a line."""
    if step.kind != EVALUATE or not (step.folder / "results.json").is_file():
        return ""
    results = read_results(step.folder)
    measured = results["metrics"].get(str(MetricName("accuracy", results["data"])))
    return f", accuracy {100 * measured['value']:.2f} %" if measured and measured["value"] is not None else ""


def _run(step: Step, all_steps: Sequence[Step]) -> None:
    log = step.folder.parent / f"{step.folder.name}.log" if step.kind != RANK else step.folder / "ranking.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    if step.kind == TRAIN:
        _wait([*_settings(step), "--output", str(step.folder), "--ckpt_path", "last"], step, log)
    elif step.kind == EVALUATE:
        begun = step.folder.parent / f".{step.folder.name}"  # what is complete alone has its name
        claim(begun, f"evaluate {step.name}")  # what an earlier suite began outlives it where that was killed
        shutil.rmtree(begun, ignore_errors=True)
        _wait([*_settings(step), "--output", str(begun)], step, log)
        begun.replace(step.folder)
    else:
        log.unlink(missing_ok=True)
        figures = ["--figures", str(step.folder / FIGURES)]
        _wait([*step.settings, *figures, *_sets(all_steps)], step, log)
        print(f"\n\n{log.read_text(encoding='utf-8')}", end="")


def _sets(steps: Sequence[Step]) -> list[str]:
    """The folders of all evaluations, set by set, as heedful rank takes them."""
    sets: dict[str, list[str]] = {}
    for step in steps:
        if step.kind == EVALUATE:
            sets.setdefault(step.folder.parent.name, []).append(str(step.folder))
    return [text for name, folders in sets.items() for text in ("--set", f"{name}={','.join(folders)}")]


def _wait(arguments: list[str], step: Step, log: Path) -> None:
    """Run the command of a step; a signal that ends this process ends it first, so that it saves what it has.

    The step is a command of its own: it is not one of the processes that a launcher such as srun has started.

    Raises:
        HeedfulError: It fails.
    """
    paths = os.pathsep.join([IMPORTED_FROM, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = without_launcher(os.environ) | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": paths}
    command = [sys.executable, *COMMANDS[step.kind], *arguments]
    with log.open("ab") as output:
        child = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
        try:
            status = child.wait()
        except (KeyboardInterrupt, stopping.Stopped):
            child.terminate()  # on SIGTERM a training writes a checkpoint between two steps
            child.wait()
            raise
    if status:
        raise RunError(
            f"{step.kind} {step.name} ended with status {status}: {_last_line(log)}. Read {log}; the same command goes "
            "on from there."
        )


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return next((line.strip().rstrip(".") for line in reversed(lines) if line.strip()), "it said nothing")
