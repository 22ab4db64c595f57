"""A fixed matrix of small runs and evaluations: has a change moved a number?

    HEEDFUL_MATRIX=before python -m pytest tests/matrix.py        on the code before
    HEEDFUL_MATRIX=after python -m pytest tests/matrix.py         on the code after
    PYTHONPATH=. python tests/matrix.py before after           exit status 1 if they differ

Each case is a training run of a tiny model and an evaluation of it. Of both, a json file keeps the metrics and counts
of results.json, a hash of each column of each rows file, and the hash of the exported weights. The same machine and
versions give the same files. Table evaluations need the real data (``HEEDFUL_DATA``).
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import timm

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train

OUT = os.environ.get("HEEDFUL_MATRIX")
pytestmark = pytest.mark.skipif(OUT is None, reason="HEEDFUL_MATRIX should name the folder of the results")
QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false"]
DRAWS = ["--attentiveness.draws", "3"]
LEARN = ["--model.learning_rate", "0.003", "--data.batch_size", "16", "--trainer.max_epochs", "2"]
CONTEXTS = [("A x ran.", "up"), ("No x ran.", "down"), ("A x sat.", "up"), ("No x sat here.", "down")]
PAIRS = [("dog", "animal", "leq"), ("boy", "child", "leq"), ("cat", "child", "none")]


@pytest.fixture(scope="module", autouse=True)
def without_hub():
    """timm's tiny networks with random weights."""
    create = timm.create_model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timm, "create_model", lambda name, pretrained, **kwargs: create(name, **kwargs))
        yield


@pytest.fixture
def squares(tmp_path: Path, write_squares: Callable[..., Path]) -> list[str]:
    folder = write_squares(tmp_path / "squares", 48, 24)
    config = {
        "class_path": "heedful.datamodules.PairedImages",
        "init_args": {
            "name": "squares",
            "parts": {"image": "pictures/{file}", "question": "text"},
            "pictures": ["image"],
            "labels": {"no": [], "yes": []},
            "label": "answer",
            "default_label": "no",
            "swap": ["image", "question"],
            "uid": "id",
            "path": str(folder),
        },
    }
    path = tmp_path / "squares.yaml"
    path.write_text(json.dumps(config))
    return ["--data", str(path)]


def column_hash(column) -> str:
    """Of the values alone, however they are stored."""
    digest = hashlib.sha256()
    for value in column.to_pylist():
        numbers = isinstance(value, list) and value and isinstance(value[0], float)
        digest.update(np.float32(value).tobytes() if numbers else repr(value).encode())
    return digest.hexdigest()[:16]


def summary(folder: Path) -> dict:
    """What must not move."""
    results = json.loads((folder / "results.json").read_text())
    rows = {
        path.stem: {name: column_hash(column) for name, column in zip(t.column_names, t.columns, strict=True)}
        for path in sorted((folder / "rows").glob("*.parquet"))
        for t in [pq.read_table(path)]
    }
    weights = folder / "checkpoints" / "backbone" / "model.safetensors"
    hashed = hashlib.sha256(weights.read_bytes()).hexdigest() if weights.is_file() else None
    return {"metrics": results["metrics"], "counts": results["counts"], "rows": rows, "weights": hashed}


def command(main: Callable[[], None], argv: Sequence[str | Path]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["heedful.py", *map(str, argv)])
        main()


def run(name: str, tmp_path: Path, training: Sequence[str | Path], evaluation: Sequence[str | Path] = ()) -> None:
    """Train, evaluate, and keep what came out."""
    run, out = tmp_path / "run", Path(OUT)
    draws = [] if "--partial" in training else DRAWS  # one part is not swapped
    command(train.main, [*training, *QUIET, *draws, "--output", run])
    found = {"train": summary(run)}
    checkpoint = run / "checkpoints" / "best.ckpt"
    evaluation = [*evaluation, *draws]
    command(evaluate.main, ["--checkpoint", checkpoint, *evaluation, *QUIET, "--output", tmp_path / "evaluation"])
    found["evaluate"] = summary(tmp_path / "evaluation")
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(found, indent=1, sort_keys=True))


TEXT = ["--model.max_length", "64", "--data.n_train", "160", "--data.n_validation", "60", *LEARN]


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("plain", []),
        ("counterfactual", ["--augment", "counterfactual", "--data.resample_counterfactuals", "true"]),
        ("partial", ["--partial", "hypothesis"]),
        ("folds", ["--data.folds", "4", "--data.fold", "1", "--trainer.accumulate_grad_batches", "3"]),
    ],
)
def test_texts(tmp_path, tiny_bert, write_nlixy, name, argv):
    nlixy = write_nlixy(tmp_path / "nlixy", CONTEXTS, PAIRS)
    more = ["--natural_logic.path", nlixy] if name == "plain" else []
    run(f"text-{name}", tmp_path, ["--model.backbone", tiny_bert, *TEXT, *argv], more)


def test_t5(tmp_path, tiny_t5, write_nlixy):
    nlixy = write_nlixy(tmp_path / "nlixy", CONTEXTS, PAIRS)
    argv = ["--model", "t5", "--model.backbone", tiny_t5, *TEXT]
    run("t5", tmp_path, argv, ["--natural_logic.path", nlixy, "--model.decoding", "greedy"])


@pytest.mark.parametrize("name", ["reader", "writer"])
def test_reading(tmp_path, tiny_bert, tiny_t5, write_squad, name):
    data = ["--data", "squad2", "--data.path", write_squad(tmp_path / "squad.json", 4), "--data.hold_out", "20"]
    short = ["--model.max_length", "24", "--model.overlap", "6", "--model.longest_answer", "4"]
    model = (
        ["--model.backbone", tiny_bert, *short] if name == "reader" else ["--model", "t5", "--model.backbone", tiny_t5]
    )
    only = ["--evaluations", "answers,attentiveness,naive_partial"]
    run(f"reading-{name}", tmp_path, [*data, *model, *LEARN], only)


@pytest.mark.parametrize("name", ["timm", "vilt", "blip"])
def test_pictures(tmp_path, tiny_bert, tiny_vilt, tiny_blip, squares, name):
    backbone = {"timm": tiny_bert, "vilt": tiny_vilt, "blip": tiny_blip}[name]
    model = ["--model", name, "--model.backbone", backbone]
    if name == "timm":
        model += ["--model.sha256", "null", "--model.vision", "test_efficientnet", "--model.image_size", "[32, 32]"]
        model += ["--model.hidden", "16", "--model.max_length", "32"]
    if name == "blip":
        model += ["--model.max_length", "32"]
    run(f"pictures-{name}", tmp_path, [*squares, *model, *LEARN])


def test_tables(tmp_path, tiny_bert, shared_data):
    tables, probes = shared_data / "infotabs", shared_data / "tabprobe"
    annotated = probes / "annotation" / "results" / "remaining_annotations.csv"
    argv = ["--data", "infotabs", "--data.path", tables, "--data.without_tables", annotated, "--data.max_train", "64"]
    argv += ["--data.max_validation", "40", "--data.table_style", "structure"]
    argv += ["--model.backbone", tiny_bert, "--model.max_length", "64", *LEARN]
    splits = ["--data", "infotabs", "--data.path", tables, "--data.splits.validation", "[alpha1, alpha2]"]
    splits += ["--data.max_validation", "150", "--data.table_style", "structure", "--table_rows.max_examples", "8"]
    splits += ["--table_rows.operations", "[delete, insert, update, permute, delete+insert]"]
    splits += ["--evidence.path", annotated, "--challenge.kinds", "[negation, numbers, title]"]
    run("tables", tmp_path, argv, [*splits, "--evaluations", "accuracy,attentiveness,table_rows,evidence,challenge"])


def differences(before: object, after: object, path: str = "") -> list[str]:
    """Where two trees of json differ; what only the second has is new, and no difference."""
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [f"{path}/{key}: gone" for key in before.keys() - after.keys()]
        return gone + [
            d
            for key in sorted(before.keys() & after.keys())
            for d in differences(before[key], after[key], f"{path}/{key}")
        ]
    return [] if before == after else [f"{path}: {str(before)[:60]} -> {str(after)[:60]}"]


def main(before: str, after: str) -> int:
    names = sorted(path.name for path in Path(before).glob("*.json"))
    found = []
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            trees = [json.loads((Path(folder) / name).read_text()) for folder in (before, after)]
            found += [f"{name}{d}" for d in differences(*trees)]
            continue
        found.append(f"{name}: gone")
    print("\n".join(found) or f"{len(names)} cases are the same.")
    return bool(found or not names)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
