"""A tiny twin of each data set of configs/data, in the files of the real one: python tests/data/make_twins.py FOLDER.

The folder is that of this file, by default. Texts are made up; which of them stand together follows from a seed.
"""

import gzip
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "helpers"))

import tiny_data  # noqa: E402

SEED = 64
NLI = ("entailment", "neutral", "contradiction")
TRAINING, VALIDATION = 12, 6  # examples
Rows = Sequence[dict[str, Any]]


def pairs(rng: random.Random, n: int, columns: Sequence[str], labels: Sequence[Any], **more: Any) -> Rows:
    """Rows of two sentences with a label, and further columns whose value goes on from row to row."""
    rows = []
    for i in range(n):
        people, places = rng.sample(tiny_data.PEOPLE, 2), rng.sample(tiny_data.PLACES, 2)
        texts = [f"The {person} was in the {place} ." for person, place in zip(people, places, strict=True)]
        row = dict(zip(columns, texts, strict=True)) | {"label": labels[i % len(labels)]}
        rows.append(row | {name: values(i) if callable(values) else values for name, values in more.items()})
    return rows


def renamed(rows: Rows, old: str, new: str) -> Rows:
    return [{new if name == old else name: value for name, value in row.items()} for row in rows]


def packed(path: Path, rows: Rows) -> None:
    """jsonl.gz, the same bytes at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0))


def splits(names: Iterable[str], write: Callable[[str, int], Any]) -> None:
    for name, n in zip(names, (TRAINING, *[VALIDATION] * 9), strict=False):
        write(name, n)


def anli(folder: Path, rng: random.Random) -> None:
    columns = ("premise", "hypothesis")
    splits(
        ("train_r3", "dev_r1", "dev_r2", "dev_r3"),
        lambda name, n: tiny_data.write_lines(folder / f"{name}.jsonl", pairs(rng, n, columns, (0, 1, 2), reason="")),
    )


def mnli(folder: Path, rng: random.Random) -> None:
    splits(
        ("train", "validation_matched", "validation_mismatched"),
        lambda name, n: tiny_data.write_lines(
            folder / f"{name}.jsonl", pairs(rng, n, ("premise", "hypothesis"), NLI, origin=name)
        ),
    )


def snli(folder: Path, rng: random.Random) -> None:
    splits(
        ("train", "validation"),
        lambda name, n: tiny_data.write_lines(
            folder / f"{name}.jsonl", pairs(rng, n, ("premise", "hypothesis"), (*NLI, "-"))
        ),
    )


def qqp(folder: Path, rng: random.Random) -> None:
    splits(
        ("train", "validation"),
        lambda name, n: tiny_data.write_lines(
            folder / f"{name}.jsonl", pairs(rng, n, ("question1", "question2"), (0, 1), idx=lambda i: 7 * i)
        ),
    )


def rte(folder: Path, rng: random.Random) -> None:
    splits(
        ("train", "validation"),
        lambda name, n: tiny_data.write_table(
            folder / f"{name}.tsv", pairs(rng, n, ("sentence1", "sentence2"), (0, 1), idx=lambda i: i)
        ),
    )


def paws(folder: Path, rng: random.Random) -> None:
    def write(name: str, n: int) -> None:
        rows = pairs(rng, n, ("sentence1", "sentence2"), (0, 1), id=lambda i: 10 + i)
        tiny_data.write_table(folder / f"{name}.tsv", rows)

    splits(("train", "validation"), write)


def wanli(folder: Path, rng: random.Random) -> None:
    rows = pairs(rng, TRAINING + VALIDATION, ("premise", "hypothesis"), NLI, id=lambda i: 100 + i)
    tiny_data.write_lines(folder / "train.jsonl", renamed(rows, "label", "gold"))


def help_(folder: Path, rng: random.Random) -> None:
    columns = ("ori_sentence", "new_sentence")
    rows = pairs(rng, TRAINING + VALIDATION, columns, NLI[:2], determiner='"no"', monotonicity="downward")
    _without_quotes(folder / "pmb_train_v1.0.tsv", renamed(rows, "label", "gold_label"))


def med(folder: Path, rng: random.Random) -> None:
    rows = pairs(rng, TRAINING + VALIDATION, ("sentence1", "sentence2"), NLI[:2], genre='paper "A"', label1="")
    _without_quotes(folder / "MED.tsv", renamed(rows, "label", "gold_label"))


def _without_quotes(path: Path, rows: Rows) -> None:
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    path.write_text("".join(f"{line}\n" for line in lines))


def hans(folder: Path, rng: random.Random) -> None:
    columns, labels = ("premise", "hypothesis"), ("entailment", "non-entailment")

    def write(name: str, n: int) -> None:
        heuristics = ("lexical_overlap", "subsequence", "constituent")
        told = {"heuristic": lambda i: heuristics[i % 3], "subcase": lambda i: f"s{i % 4}"}
        packed(folder / f"{name}.jsonl.gz", pairs(rng, n, columns, labels, **told, template=lambda i: f"temp{i % 6}"))

    splits(("train", "evaluation"), write)


def infotabs(folder: Path, rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as made:
        shutil.copytree(tiny_data.write_tables(Path(made)) / "infotabs", folder, dirs_exist_ok=True)
    train = folder / "maindata" / "infotabs_train.tsv"
    train.write_text("".join(train.read_text().splitlines(keepends=True)[: 1 + 20]))  # the others are those of dev
    tables = sorted(path.stem for path in (folder / "tables" / "json").iterdir())
    categories = [{"table_id": table, "category": ("Album", "Song")[i % 2]} for i, table in enumerate(tables)]
    tiny_data.write_table(folder / "tables" / "table_categories.tsv", categories)


def msgs(folder: Path, rng: random.Random) -> None:
    tiny_data.write_msgs(folder)
    for path in [*folder.glob("*/*.jsonl")]:
        packed(path.with_suffix(".jsonl.gz"), [*map(json.loads, path.read_text().splitlines())])
        path.unlink()


def nlixy(folder: Path, rng: random.Random) -> None:
    contexts = [
        (f"{'No' if i % 2 else 'A'} x was in the {tiny_data.PLACES[i]} .", ("up", "down")[i % 2]) for i in range(8)
    ]
    words = [*zip(tiny_data.PEOPLE[:6], tiny_data.PEOPLE[6:12], ("leq", "geq", "none") * 2, strict=True)]
    for name, some in (("train", contexts[:4]), ("dev", contexts[4:])):
        tiny_data.write_nlixy(folder / name, some, words)


def squad2(folder: Path, rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as made:
        squad = json.loads(tiny_data.write_squad(Path(made) / "squad.json", 3).read_text())
    for name, articles in (("train-v2.0", squad["data"][:2]), ("dev-v2.0", squad["data"][2:])):
        (folder / f"{name}.json").write_text(json.dumps(squad | {"data": articles}))


def newsqa(folder: Path, rng: random.Random) -> None:
    """As MRQA has it: a header, then a text a line."""

    def write(name: str, n: int) -> None:
        lines: list[dict[str, Any]] = [{"header": {"dataset": "NewsQA", "split": name}}]
        for i in range(n // 2):
            people, places = rng.sample(tiny_data.PEOPLE, 2), rng.sample(tiny_data.PLACES, 2)
            text = " ".join(f"The {a} in the {b} ." for a, b in zip(people, places, strict=True))
            asked = []
            for k, (person, place) in enumerate(zip(people, places, strict=True)):
                start = text.index(f"the {place}") + 4
                spans = [{"text": place, "char_spans": [[start, start + len(place) - 1]], "token_spans": [[0, 0]]}]
                question = {"qid": f"{name}{i}{k}", "question": f"where is the {person} ?", "answers": [place]}
                asked.append(question | {"detected_answers": spans})
            lines.append({"context": text, "qas": asked})
        packed(folder / f"{name}.jsonl.gz", lines)

    splits(("train", "validation"), write)


def duorc(folder: Path, rng: random.Random) -> None:
    def write(name: str, n: int) -> None:
        rows = []
        for i in range(n):
            person, place = rng.choice(tiny_data.PEOPLE), rng.choice(tiny_data.PLACES)
            row = {"plot_id": f"/m/{i // 2}", "plot": f"The {person} hid in the {place} .", "title": f"Film {i // 2}"}
            row |= {"question_id": f"{name}-{i}", "question": f"Where does the {person} hide?"}
            rows.append(row | {"answers": [place] if i % 4 else [], "no_answer": i % 4 == 0})
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")

    splits(("train", "validation"), write)


def rag(folder: Path, rng: random.Random) -> None:
    tiny_data.write_passages(folder)


def easy_vqa(folder: Path, rng: random.Random) -> None:
    (folder / "answers.txt").write_text("\n".join([*tiny_data.COLORS, "yes", "no"]) + "\n")

    def write(name: str, n: int) -> None:
        (folder / name / "images").mkdir(parents=True)
        rows: list[list[Any]] = []
        for i in range(n // 2):
            color = rng.choice(tiny_data.COLORS)
            (folder / name / "images" / f"{i}.png").write_bytes(tiny_data.png(color, i + 9 * (name == "test")))
            rows += [
                ["what color is the shape?", color, i],
                ["is the shape red?", "yes" if color == "red" else "no", i],
            ]
        (folder / name / "questions.json").write_text(json.dumps(rows))

    splits(("train", "test"), write)


def nlvr(folder: Path, rng: random.Random) -> None:
    """A line a sentence, and pictures of the same boxes in other orders."""

    def write(name: str, n: int) -> None:
        split, rows = name.partition("_")[0], []
        for i in range(n // 2):
            colors = rng.sample(tiny_data.COLORS, 2)
            place = folder / name / "images" / str(i % 2)
            place.mkdir(parents=True, exist_ok=True)
            for k, color in enumerate(colors):
                (place / f"{split}-{i}-0-{k}.png").write_bytes(tiny_data.png(color, i + 9 * (split == "dev")))
            row = {"sentence": f"There is a {colors[0]} box .", "label": ("true", "false")[i % 2]}
            rows.append(row | {"identifier": f"{i}-0", "directory": str(i % 2)})
        file = folder / name / (f"{name}.jsonl" if split == "train" else f"{name}.json")
        tiny_data.write_lines(file, rows)

    splits(("train_sample", "dev"), write)


def nlvr2(folder: Path, rng: random.Random) -> None:
    tiny_data.write_nlvr2(folder, 3, 2)


def vqa2(folder: Path, rng: random.Random) -> None:
    tiny_data.write_vqa(folder, TRAINING // 2, VALIDATION // 2)


def _with_edits(rows: Rows, part: str, labels: Sequence[Any], edits: int = 2) -> Rows:
    """The rows with ids, each followed by edited rows that name it as their original."""
    made: list[dict[str, Any]] = []
    for i, row in enumerate(rows):
        made.append(row | {"id": f"{i}", "original": "", "kind": None})
        for k in range(1, edits + 1):
            edit = {"id": f"{i}-{k}", "original": f"{i}", "kind": ("tense", "order")[k % 2]}
            made.append(row | edit | {part: f"{row[part]} Then {k} came .", "label": labels[(i + k) % len(labels)]})
    return made


def boolq(folder: Path, rng: random.Random) -> None:
    rows = _with_edits(pairs(rng, 6, ("passage", "question"), ("TRUE", "FALSE")), "question", ("FALSE", "TRUE", ""))
    tiny_data.write_lines(folder / "boolq.jsonl", rows)


def matres(folder: Path, rng: random.Random) -> None:
    labels = ("before", "after", "simultaneous", "vague")
    rows = _with_edits(pairs(rng, 6, ("text", "other"), labels), "text", labels)
    tiny_data.write_lines(folder / "matres.jsonl", rows)


def perspectrum(folder: Path, rng: random.Random) -> None:
    rows = pairs(rng, TRAINING, ("original_claim", "perspective"), ("pos", "neg", "unk"))
    other = {"pos": "neg", "neg": "pos", "unk": "unk"}
    edited = [{"contrast_claim": f"Not : {row['original_claim']}", "contrast_stance_label": other[row["label"]]}
              for row in rows]  # fmt: skip
    rows = [row | edit for row, edit in zip(renamed(rows, "label", "original_stance_label"), edited, strict=True)]
    tiny_data.write_table(folder / "perspectrum.csv", rows)


def monli(folder: Path, rng: random.Random) -> None:
    def write(name: str, n: int) -> None:
        rows = pairs(rng, n // 2, ("sentence1", "sentence2"), NLI[:1])
        turned = [{"sentence1": row["sentence2"], "sentence2": row["sentence1"], "label": NLI[1]} for row in rows]
        tiny_data.write_lines(folder / f"{name}.jsonl", renamed([*rows, *turned], "label", "gold_label"))

    splits(("nmonli_train", "nmonli_test"), write)


def condaqa(folder: Path, rng: random.Random) -> None:
    ids = {"PassageID": lambda i: i // 8, "QuestionID": lambda i: f"q{i // 4}", "PassageEditID": lambda i: i % 4}
    rows = pairs(rng, 16, ("sentence1", "sentence2"), ("YES", "NO", "DON'T KNOW"), SampleID=lambda i: i, **ids)
    tiny_data.write_lines(folder / "condaqa.jsonl", rows)


def conflictqa(folder: Path, rng: random.Random) -> None:
    rows = pairs(rng, TRAINING, ("question", "passage"), ("memory",), other_label="counter", id=lambda i: i)
    others = pairs(rng, TRAINING, ("other_passage", "memory"), ("",), counter=lambda i: f"It was {i} .")
    tiny_data.write_lines(folder / "conflictqa.jsonl", [b | a for a, b in zip(rows, others, strict=True)])


def rgb(folder: Path, rng: random.Random) -> None:
    rows = []
    for i in range(TRAINING):
        person, *places = rng.choice(tiny_data.PEOPLE), *rng.sample(tiny_data.PLACES, 2)
        names = zip(("passages", "false_passages"), places, strict=True)
        row = {name: f"The {person} hid in the {place} ." for name, place in names}
        row |= {"id": i, "question": f"Where does the {person} hide?"}
        rows.append(row | {"answers": [places[0], f"the {places[0]}"], "false_answers": [places[1]]})
    tiny_data.write_lines(folder / "rgb.jsonl", rows)


def cad_nli(folder: Path, rng: random.Random) -> None:
    def write(name: str, n: int) -> None:
        rows = pairs(
            rng, n, ("premise", "hypothesis"), NLI, idx=lambda i: f"{i // 3}-{('orig', 'cf-0', 'cf-1')[i % 3]}"
        )
        tiny_data.write_lines(folder / f"{name}.jsonl", rows)

    splits(("train", "validation"), write)


TWINS: dict[str, Callable[[Path, random.Random], None]] = {
    made.__name__.rstrip("_"): made
    for made in (anli, duorc, easy_vqa, hans, help_, infotabs, med, mnli, msgs, newsqa, nlixy, nlvr, nlvr2)
} | {made.__name__: made for made in (paws, qqp, rag, rte, snli, squad2, vqa2, wanli)}
COUNTERPARTS = boolq, cad_nli, condaqa, conflictqa, matres, monli, perspectrum, rgb
TWINS |= {made.__name__: made for made in COUNTERPARTS}


def make_twins(folder: Path) -> None:
    """Write each twin anew."""
    for name, write in TWINS.items():
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
        write(folder / name, random.Random(f"{SEED} {name}"))


if __name__ == "__main__":
    make_twins(Path(sys.argv[1]) if sys.argv[1:] else HERE)
