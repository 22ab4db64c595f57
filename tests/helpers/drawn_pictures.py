"""Small data sets of drawn pictures, in the schemas of those on the hub."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw

COLORS = ("red", "blue", "green", "black")
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
PERSON = pa.struct([("answer", pa.string()), ("answer_confidence", pa.string()), ("answer_id", pa.int64())])


def png(color: str, place: int = 4) -> bytes:
    """A square of a color on white; its place makes pictures of one color differ."""
    picture = Image.new("RGB", (32, 32), "white")
    ImageDraw.Draw(picture).rectangle((place, place, place + 12, place + 12), fill=color)
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def people(*answers: str) -> list[dict[str, Any]]:
    """What ten people answered; the last answer is that of all who are left."""
    given = [*answers, *[answers[-1]] * (10 - len(answers))]
    return [{"answer": a, "answer_confidence": "yes", "answer_id": i + 1} for i, a in enumerate(given)]


def vqa_rows(pictures: int, first: int = 0) -> list[dict[str, Any]]:
    """Two questions about each picture: its color, which some see otherwise, and whether it is red."""
    rows = []
    for i in range(first, first + pictures):
        color = COLORS[i % 4]
        image = {"bytes": png(color, i % 19), "path": f"COCO_{i:012}.png"}
        shared = {"image_id": i, "image": image, "question_type": "is the"}
        yes = "yes" if color == "red" else "no"
        rows += [
            shared
            | {"question": f"what color is square {i} ?", "question_id": 1000 * i, "answer_type": "other"}
            | {
                "answers": people("The white.", f"dark {color}", f"dark {color}", color),
                "multiple_choice_answer": color,
            },
            shared
            | {"question": f"is square {i} red ?", "question_id": 1000 * i + 1, "answer_type": "yes/no"}
            | {"answers": people("maybe", yes), "multiple_choice_answer": yes},
        ]
    return rows


def write_parquet(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Rows as the hub keeps them: pictures are structs of bytes and path."""
    kinds = {"image": IMAGE, "image0": IMAGE, "image1": IMAGE}
    if isinstance(rows[0].get("answers", [""])[0], dict):
        kinds["answers"] = pa.list_(PERSON)
    arrays = {name: pa.array([row[name] for row in rows], kinds.get(name)) for name in rows[0]}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(arrays), path)
    return path


def write_vqa(folder: Path, training: int = 24, validation: int = 12) -> Path:
    """A folder with both splits, so many pictures in each; answers to training questions are texts and no objects."""
    rows = vqa_rows(training)
    for row in rows:
        row["answers"] = [person["answer"] for person in row["answers"]]
    write_parquet(folder / "train.parquet", rows)
    write_parquet(folder / "validation.parquet", vqa_rows(validation, first=100))
    return folder


def nlvr2_rows(sets: int, split: str) -> list[dict[str, Any]]:
    """Two pairs of pictures in each set, and two sentences about each pair."""
    rows = []
    for s in range(sets):
        for pair in range(2):
            left, right = COLORS[(s + pair) % 4], COLORS[(s + 2 * pair) % 4]
            images = {"image0": png(left, 2 * s % 19), "image1": png(right, (2 * s + pair) % 19)}
            for k, holds in enumerate((left == right, left != right)):
                said = f"the squares {s} are {'not ' if k else ''}of one color ."
                row = {"identifier": f"{split}-{s}-{pair}-{k}", "sentence": said, "label": str(holds)}
                rows.append(row | {name: {"bytes": data, "path": None} for name, data in images.items()})
    return rows


def write_nlvr2(folder: Path, training: int = 10, validation: int = 6) -> Path:
    """A folder with both splits, so many sets of pictures in each."""
    write_parquet(folder / "train.parquet", nlvr2_rows(training, "train"))
    write_parquet(folder / "validation.parquet", nlvr2_rows(validation, "dev"))
    return folder
