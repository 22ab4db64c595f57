"""Where a command writes: into a folder of its own, which it claims, and never over what something else has left."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful.assembly.config import Call, Layer, resolve
from heedful.assembly.named_folder import claim_named, held_in
from heedful.assembly.plan import Plan, checkpoint_of
from heedful.assembly.saved_runs import source_of, tidy
from heedful.assembly.saved_settings import differences
from heedful.callbacks import Evaluation
from heedful.callbacks.checkpoints.files import outline
from heedful.callbacks.outputs.run_folder import new_version
from heedful.records import HeedfulError, RunError, writing
from heedful.records.storage.claim import claim, missing
from heedful.records.storage.folder_names import folder_name
from heedful.records.storage.results import RUN, read_run

LONGEST = 24  # of a value in a name


def run_folder(plan: Plan, *tail: str) -> Path:
    """The folder of the run to be continued, ``output``, or a new ``runs/<data>/<model>/<tail>/version_N``.

    Raises:
        HeedfulError: ``output`` holds something, or another process writes into the folder.
    """
    if named_by_user := claim_named(plan.config):
        tidy(named_by_user.folder)
        return named_by_user.folder
    parent = Path("runs", plan.data.name, plan.model_name, *tail)
    made = missing(parent)
    with writing(parent):
        folder = new_version(parent)
    claim(folder, str(folder), [folder.resolve(), *(path.resolve() for path in made)])
    return folder


def evaluation_folder(plan: Plan) -> Path:
    """The folder for an evaluation of a checkpoint, claimed.

    A plain ``evaluate.py --checkpoint FILE`` has the name of the data, the checkpoint and the evaluations. Whatever
    else was set stands behind that, with a hash of all of it. The same settings and examples have the same folder.

    Raises:
        HeedfulError: Another process writes there, or the folder holds something else.
    """
    checkpoint = Path(str(checkpoint_of(plan.config.run_settings()))).absolute()
    about = identity(plan)
    run = checkpoint.parent.parent
    settings = about["settings"]
    sha256 = about["sha256"]
    unfinished = about.get("unfinished")
    parts = [] if not plan.data.pool else [plan.data.name, plan.data.evaluated]
    parts += [checkpoint.stem, *(e.title for e in _evaluations(plan) if e.own or plan.engine.only or e.title != e.name)]
    parts += ["unfinished"] if unfinished else []
    name = folder_name(*(part for part in parts if part != "best"))
    hashed = "-".join([name, *_words(settings, plan), sha256[:8]])
    elsewhere = checkpoint.parent.name != "checkpoints"
    for folder in [run / "evaluations" / n for n in ([] if settings or elsewhere or unfinished else [name]) + [hashed]]:
        if is_free(folder, sha256):
            claim(folder, str(folder))
            tidy(folder)
            return folder
    raise RunError(
        f"{folder} holds something else than this evaluation. Move it away, or name another folder with output."
    )


def identity(plan: Plan) -> dict[str, Any]:
    """Name the checkpoint, the special settings and the examples of an evaluation, with a hash of them all.

    Of a run that is not finished, a checkpoint of the same name is another one after each epoch: its steps tell.
    Measured then, it does not take the place of what is measured at the end.
    """
    checkpoint = Path(str(checkpoint_of(plan.config.run_settings()))).absolute()
    pools = [plan.data.pool, *(planned.plan.pool for planned in plan.planned.values())]
    about: dict[str, Any] = {"checkpoint": str(checkpoint.relative_to(checkpoint.parent.parent))}
    about |= {"steps": outline(checkpoint).get("global_step"), "settings": special(plan)}
    about |= {"unfinished": plan.unfinished} if plan.unfinished else {}
    about |= {"examples": sorted({pool.fingerprint for pool in pools if pool is not None})}
    return about | {"sha256": hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()}


def special(plan: Plan) -> dict[str, Any]:
    """The settings that a plain ``evaluate.py --checkpoint FILE`` does not have, by their dotted names."""
    source = source_of(str(checkpoint_of(plan.config.run_settings())))
    saved = {"model": source.model, "data": source.data, "natural_logic": source.natural_logic}
    usual = resolve(True, Call(layers=[Layer(saved)])).as_dict()
    return {name: now for name, (_, now) in differences(usual, dict(plan.record)).items()}


def _words(settings: Mapping[str, Any], plan: Plan) -> list[str]:
    """A few of the settings in words for a name: not those that the rest of the name says."""
    said = {"evaluations", *(e.name for e in _evaluations(plan) if e.own)}
    if "data" in plan.config.explicit:
        said.add("data")  # whose file differs from that of the run in much
    words = []
    for name, value in settings.items():
        if name.split(".")[0] not in said and ".splits." not in name:
            text = "" if value is None or isinstance(value, dict | list) else str(value)
            short = len(text) <= LONGEST and re.fullmatch(r"[\w.,-]+", text)
            words.append("_".join([name.rsplit(".", 1)[-1], *([text] if short else [])]))
    return words[:3]


def is_free(folder: Path, sha256: str) -> bool:
    """Whether a folder holds at most what the same evaluation has left."""
    if not folder.is_dir():
        return not folder.exists()
    if set(held_in(folder)) <= {"config.yaml"}:  # killed before it wrote run.json, an evaluation has no results
        return True
    if not (folder / RUN).is_file():  # of several prompts, each has a folder inside
        inside = [folder / name for name in held_in(folder)]
        return all(path.is_dir() and is_free(path, sha256) for path in inside)
    try:
        about = read_run(folder)
    except HeedfulError:
        return False
    evaluation = about.get("evaluation")
    return isinstance(evaluation, dict) and evaluation.get("sha256") == sha256


def _evaluations(plan: Plan) -> list[Evaluation]:
    """Those that have something to do."""
    return [planned.evaluation for planned in plan.planned.values()]
