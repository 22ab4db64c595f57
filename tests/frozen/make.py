"""Make the frozen runs anew: small run folders that every later version has to read.

    python tests/frozen/make.py CHECKOUT FOLDER

Runs train.py and evaluate.py of a checkout in an empty folder, with tiny models and data that are made here; takes
nothing else from the checkout. README.md beside this file says what comes out of it, and when it is to be run.
"""

import csv
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

HELPERS = Path(__file__).parents[1] / "helpers"
sys.path.insert(0, str(HELPERS))

from commands import QUIET  # noqa: E402
from fake_server import FakeServer, answer_or_refusal  # noqa: E402

LEARN = ["--model.backbone", "models/bert", "--model.max_length", "64", "--model.learning_rate", "0.003"]
LEARN += ["--data.batch_size", "16", "--trainer.max_epochs", "2", "--attentiveness.draws", "2"]
PLANTED = ["--data.n_train", "480", "--data.n_validation", "40"]
TABLES = ["--data", "infotabs", "--data.path", "data/infotabs", "--data.table_style", "structure"]
CONTEXTS = [("A x ran.", "up"), ("No x ran.", "down"), ("A x sat here.", "up"), ("No x sat here.", "down")]
PAIRS = [("dog", "animal", "leq"), ("boy", "child", "leq"), ("cat", "child", "none"), ("tree", "plant", "leq")]


def write_models(folder: Path, text: str) -> None:
    """A BERT of two layers, and one with a head, of random weights, that know the words of a text, and letters."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = sorted(set(re.findall(r"[a-z]+", text.lower())))
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *".,:?|;-", *letters, *(f"##{c}" for c in letters)]
    vocab = list(dict.fromkeys(vocab))
    for name in ("bert", "classifier"):
        BertTokenizer(vocab={token: i for i, token in enumerate(vocab)}).save_pretrained(folder / name)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    sizes["initializer_range"] = 1.5  # so that predictions differ
    sizes |= {"vocab_size": len(vocab), "max_position_embeddings": 64}
    BertModel(BertConfig(**sizes)).save_pretrained(folder / "bert")
    labels = dict(enumerate(("entailment", "neutral", "contradiction")))
    names = {"id2label": labels, "label2id": {name: i for i, name in labels.items()}}
    BertForSequenceClassification(BertConfig(**sizes, **names)).save_pretrained(folder / "classifier")


def write_tables(folder: Path) -> None:
    """Twelve tables with four claims about each, in the files of InfoTabS."""
    (folder / "maindata").mkdir(parents=True)
    (folder / "tables" / "json").mkdir(parents=True)
    genres, rows = ("rock", "jazz", "pop"), []
    for i in range(12):
        table = {"title": [f"Album {i}"], "Genre": [genres[i % 3], genres[(i + 1) % 3]], "Year": [str(1990 + i)]}
        table |= {"Label": ["XL"]} if i % 2 else {"Producer": ["Ann"], "Length": [f"{i}:00"]}
        (folder / "tables" / "json" / f"T{i}.json").write_text(json.dumps(table))
        rows += [(f"T{i}", f"The genre is {genres[i % 3]}.", "E"), (f"T{i}", f"The year is {1980 + i}.", "C")]
        rows += [(f"T{i}", "It was sold in Rome.", "N"), (f"T{i}", f"It was made in {1990 + i}.", "E")]
    for split, of_split in {"infotabs_train": rows[:32], "infotabs_dev": rows[32:]}.items():
        with (folder / "maindata" / f"{split}.tsv").open("w", newline="") as opened:
            writer = csv.writer(opened, delimiter="\t")
            writer.writerow(["annotater_id", "table_id", "hypothesis", "label"])
            writer.writerows(("GW1", *row) for row in of_split)


def write_nlixy(folder: Path) -> None:
    """Contexts and pairs of words, in the files of NLI-XY."""
    folder.mkdir(parents=True)
    rows = [f"{text}\t{slope}\t{'no' if slope == 'down' else ''}\tx\t\t\n" for text, slope in CONTEXTS]
    (folder / "contexts.tsv").write_text("context\tmonotonicity\toperator\tsingular\tmass\tplural\n" + "".join(rows))
    rows = [f"s\t{x}\t{y}\ts\t{relation}\n" for x, y, relation in PAIRS]
    (folder / "insertions.tsv").write_text("x_grammar\tx\ty\ty_grammar\tinsertion_rel\n" + "".join(rows))


@contextmanager
def answering() -> Iterator[dict[str, str]]:
    """The environment of a command that asks the server."""
    with FakeServer(answer_or_refusal) as fake:
        yield {"OPENAI_BASE_URL": fake.url, "OPENAI_API_KEY": "none"}


def command(checkout: Path, *argv: str, **env: str) -> None:
    """Run train.py or evaluate.py of the checkout in this folder, to its end."""
    program, *rest = argv
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "COLUMNS": "80", **env}
    subprocess.run([sys.executable, str(checkout / program), *rest, *QUIET], check=True, env=settings)


def killed(checkout: Path, *argv: str) -> None:
    """Start a training run, and end it by SIGKILL in the middle of its second epoch."""
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen([sys.executable, str(checkout / "train.py"), *argv, *QUIET], env=settings)
    last = Path("runs/killed/checkpoints/last.ckpt")
    while process.poll() is None:
        time.sleep(0.005)
        try:
            state = torch.load(last, weights_only=True)
        except (OSError, RuntimeError, EOFError):
            continue
        if state["epoch"] == 1 and 35 < state["global_step"] < 55:
            process.send_signal(signal.SIGKILL)
            process.wait()
            print("killed at step", state["global_step"])
            return
    raise SystemExit("The run ended before it could be killed: try again.")


def anonymous(folder: Path) -> None:
    """Take names of this machine and of this folder out of run.json, config.yaml and the names of TensorBoard files."""
    for path in folder.rglob("run.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"host": "host"}, indent=2, sort_keys=True) + "\n")
    for path in [*folder.rglob("events.out.tfevents.*")]:
        path.rename(path.with_name(path.name.replace(socket.gethostname(), "host")))
    for path in folder.rglob("config.yaml"):
        path.write_text(path.read_text().replace(f"{Path.cwd()}/", ""))
    unread = [path for path in folder.rglob("events.out.tfevents.*") if "killed" not in path.parts]
    for path in [
        *folder.rglob("figures"),
        *folder.rglob("report.html"),
        *folder.rglob(".lock*"),
        *unread,
    ]:  # which no later version reads
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def main(checkout: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    os.chdir(folder)
    planted = next(checkout.glob("**/datamodules/planted.yaml")).read_text()
    write_models(Path("models"), f"{planted} the in album genre year label producer length made sold rome was it is")
    write_tables(Path("data/infotabs"))
    write_nlixy(Path("data/nlixy"))
    for name, more in {"plain": [], "counterfactual": ["--augment", "counterfactual"]}.items():
        command(checkout, "train.py", *LEARN, *PLANTED, *more, "--output", f"runs/{name}")
    command(checkout, "evaluate.py", "--checkpoint", "runs/plain", "--attentiveness.draws", "2")
    only = ["--evaluations", "accuracy,attentiveness,table_rows", "--table_rows.operations", "[delete, insert]"]
    pretrained = ["--model", "models/classifier", "--model.max_length", "64", "--output"]
    command(checkout, "evaluate.py", *TABLES, *only, *pretrained, "runs/tables")
    logic = ["--evaluations", "natural_logic", "--natural_logic.path", "data/nlixy"]
    command(checkout, "evaluate.py", *logic, *pretrained, "runs/natural_logic")
    asked = ["--endpoint", "org/tiny", "--data.n_validation", "20", "--attentiveness.draws", "2"]
    with answering() as env:
        command(
            checkout, "evaluate.py", *asked, "--endpoint.cache", "answers.sqlite", "--output", "runs/endpoint", **env
        )
    stopped = [*LEARN, *PLANTED, "--checkpoint.last_every_n_steps", "1"]  # so that it can be killed anywhere
    command(checkout, "train.py", *stopped, "--output", "runs/whole")
    killed(checkout, *stopped, "--output", "runs/killed")
    for name in ("checkpoints", "figures"):  # what the one that was killed has to come to is in results.json and rows/
        shutil.rmtree(Path("runs/whole") / name, ignore_errors=True)
    anonymous(Path())


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
