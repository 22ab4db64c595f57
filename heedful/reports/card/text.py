"""The README.md of a model: metadata that the hub reads, and the numbers with what must be known of them."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from heedful.records import MetricName
from heedful.records.storage.named_configs import names
from heedful.reports.card.source import Source, hub_of
from heedful.reports.citing import bibtex
from heedful.reports.page.made import name_of
from heedful.reports.runs import measured
from heedful.reports.tables import escaped, table_text, too_few
from heedful.reports.terminal.table import cell_text, footnotes, lines_of

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard

REPEATED = {  # settings that change numbers: of the model, and of the data
    "model": ("max_length", "collapse"),
    "data": ("partial", "swap", "slices", "max_validation", "eval_batch_size"),
}
FOLDER = "FOLDER"  # stands for the folder of a card
OF_EVALUATIONS = {"attentiveness": ("draws",), "natural_logic": ("split", "seeds", "paired")}


def card_of(source: Source, name: str | None, saved: Mapping[str, Any]) -> "ModelCard":
    """The model card of a run.

    Args:
        source: The run.
        name: USER/NAME on the hub; None of a folder that is not uploaded.
        saved: The content of config.yaml beside the results.
    """
    from huggingface_hub import ModelCard, ModelCardData

    (of,) = measured([str(source.folder)])
    model = name_of(of)
    title = _last(name) if name else f"{model}-{source.results['data']}"
    data = ModelCardData(
        base_model=source.base_model,
        datasets=source.datasets or None,
        library_name="transformers" if source.is_of_transformers else "heedful",
        pipeline_tag=source.pipeline,
        tags=["heedful", *source.results["rows"]],
        model_name=title,
        eval_results=list(_eval_results(source)),
    )
    text = "\n\n".join(part for part in _parts(source, model, name or FOLDER, saved) if part)
    return ModelCard(f"---\n{data.to_yaml()}\n---\n\n# {escaped(title)}\n\n{text}\n")


def _eval_results(source: Source) -> Iterator["EvalResult"]:
    """Each headline that has a value and rests on enough examples, with n, interval, draws and flags."""
    from huggingface_hub import EvalResult

    results = source.results
    for line in lines_of(results):
        m = results["metrics"].get(line.metric)
        if not line.beside or m is None or m["value"] is None or too_few(m["n"], m["flags"]):
            continue
        metric = MetricName(*results["names"][line.metric])
        hub = (hub_of(source.data) or {}) if metric.data == results["data"] else {}
        splits = source.data.get("splits") or {}
        yield EvalResult(
            task_type=source.task,
            dataset_type=hub.get("id", metric.data),
            dataset_name=metric.data,
            dataset_config=hub.get("subset"),
            dataset_revision=hub.get("revision"),
            dataset_split=str(splits.get(results["split"], results["split"])) if hub else results["split"],
            metric_type=metric.family,
            metric_name=line.label,
            metric_value=m["value"],
            metric_args={key: m[key] for key in ("n", "ci95", "draws", "std", "flags") if m[key] not in (None, [])},
        )


def _parts(source: Source, model: str, place: str, saved: Mapping[str, Any]) -> Iterator[str]:
    """The text below the title, by paragraphs.

    Args:
        source: The run.
        model: What reports call it.
        place: From where it is loaded.
        saved: The content of config.yaml beside the results.
    """
    results = source.results
    most = (saved.get("attentiveness") or {}).get("max_examples") if source.folder == source.run else None
    base = source.base_model or f"weights called {_last(source.began_with)}"
    trained_on = ", ".join(_last(str(one["data"].get("name"))) for one in source.chain if one["trained"])
    yield escaped(
        f"{source.architecture} ({source.family} of Heedful), trained from {base} on {trained_on}. "
        f"It reads {', '.join(source.parts)}, in this order."
    )
    yield f"## Whether it heeds all of its input\n\n{_table(results)}"
    yield "\n".join(f"- {escaped(note)}" for note in footnotes(results))
    yield "All numbers are in `results.json`, and `report.html` shows them with figures and how to read them."
    yield f"## How to load it\n\n```python\n{_loading(source, place)}\n```"
    yield (
        f"## How to repeat the numbers\n\n```\n{_again(source, place, saved)}\n```\n\n"
        "Words in capitals stand for what is yours. On another kind of processor, last bits may differ"
        + (f"; and train changes at most {most:,} examples, evaluate all." if most else ".")
    )
    yield f"## How to cite it\n\n```bibtex\n{bibtex(results)}```"


def _last(place: str) -> str:
    """The last name of a path, which says nothing of where it was."""
    return PurePosixPath(place.replace("\\", "/")).name


def _table(results: Mapping[str, Any]) -> str:
    lines = [line for line in lines_of(results) if not line.text]
    above = ""
    rows = []
    for line in lines:
        above = above if line.level else line.label
        label = f"{above} {line.label}" if line.level else line.label
        rows.append([label, cell_text(results["metrics"][line.metric], line, " ", with_names=True)])
    return table_text(
        ["in percent, but for ratios and losses", "value ± std over draws [95 %] n"], rows, "markdown"
    ).rstrip()


def _loading(source: Source, place: str) -> str:
    """Python that opens the model and asks it once."""
    own = ["import heedful", "", f"model = heedful.load_model({place!r})"]
    if not (source.architecture.endswith("ForSequenceClassification") and len(source.parts) <= 2):
        return "\n".join(own)
    length = f"truncation=True, max_length={source.chain[0]['model'].get('max_length')}"
    return "\n".join(
        [
            "from transformers import AutoModelForSequenceClassification, AutoTokenizer",
            "",
            f"tokenizer = AutoTokenizer.from_pretrained({place!r})",
            f"model = AutoModelForSequenceClassification.from_pretrained({place!r})",
            f'inputs = tokenizer({", ".join(source.parts)}, {length}, return_tensors="pt")',
            "label = model.config.id2label[int(model(**inputs).logits.argmax())]",
        ]
    )


def _again(source: Source, place: str, saved: Mapping[str, Any]) -> str:
    """A command that measures the same."""
    known = source.data.get("name")
    words = ["heedful", "evaluate", "--model", place]
    words += ["--data", str(known) if known in names("data") else "YOUR_DATA.yaml"]
    words += ["--data.path", "PATH"] if source.data.get("path") else []
    words += ["--evaluations", ",".join(source.results["rows"]), "--seed_everything", str(source.results["seed"])]
    own = {"model": source.chain[0]["model"], "data": source.data} | {of: saved.get(of) or {} for of in OF_EVALUATIONS}
    wanted = REPEATED | {of: keys for of, keys in OF_EVALUATIONS.items() if of in source.results["rows"]}
    for of, keys in wanted.items():
        for key in keys:
            if own[of].get(key) not in (None, [], {}):
                words += [f"--{of}.{key}", str(own[of][key])]
    if (precision := source.about.get("precision", "32-true")) != "32-true":
        words += ["--trainer.precision", precision]
    return shlex.join(words)
