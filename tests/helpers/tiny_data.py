"""Small data sets of every kind, in the files of the real ones, written without Heedful."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw

PEOPLE = """violinist drummer pianist guitarist cellist flutist trumpeter harpist swimmer sprinter boxer gymnast
cyclist rower skier wrestler carpenter blacksmith potter weaver mason tailor cobbler glazier chemist biologist
physicist geologist astronomer botanist zoologist ecologist mayor senator governor minister ambassador councillor
consul sheriff aunt uncle cousin nephew niece grandfather grandmother sister baker chef confectioner brewer surgeon
dentist pediatrician cardiologist professor tutor lecturer instructor tourist pilgrim backpacker hiker""".split()
PLACES = """kitchen garden market library station harbor museum forest village castle theater hospital garage cellar
attic bakery workshop stadium airport temple vineyard desert valley office prison factory meadow tunnel courtyard
barn""".split()
VERBS = "bought found repaired hid collected washed built kept lifted sold".split()
THINGS = "apples plums hammers trucks coats parrots violins boxes roses letters".split()
MSGS = {  # condition to (linguistic, surface) label to a sentence
    "training": {(1, 1): "the {0} is {1}ing dogs that ran.", (0, 0): "every {0} {1}s dogs that were running."},
    "test": {(1, 0): "every {0} is {1}ing cats that sat.", (0, 1): "the {0} {1}s cats that were sitting."},
    "control": {(1, 0): "every {0} was {1}ing dogs that ran.", (0, 1): "the {0} {1}s all dogs that were running."},
}

COLORS = ("red", "blue", "green", "black")
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
PERSON = pa.struct([("answer", pa.string()), ("answer_confidence", pa.string()), ("answer_id", pa.int64())])


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write a JSON object per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write a csv or tsv file with a header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_msgs(folder: Path, task: str = "main_verb_lexical_content_the") -> Path:
    """A folder of a task of MSGS: 50 paradigms for training and 20 for validation."""

    def rows(conditions: Sequence[str], paradigms: Iterable[int]) -> list[dict[str, Any]]:
        nouns, verbs = ("girl", "boy", "cook"), ("paint", "find", "look", "bark")
        made = []
        for k in paradigms:
            sentences = [(c, labels, text) for c in conditions for labels, text in MSGS[c].items()]
            for i, (condition, (linguistic, surface), text) in enumerate(sentences):
                row = {"sentence": text.format(nouns[k % 3], verbs[k % 4]), "condition": condition}
                row |= {"linguistic_feature_label": linguistic, "surface_feature_label": surface}
                made.append(row | {"sentenceID": 8 * k + i, "paradigmID": k})
        return made

    write_lines(folder / task / "train.jsonl", rows(["training"], range(100, 150)))
    write_lines(folder / task / "control_train.jsonl", rows(["control"], range(100, 150)))
    write_lines(folder / task / "test.jsonl", rows(["training", "test"], range(20)))
    return folder


def write_nlixy(folder: Path, contexts: Sequence[tuple[str, str]], insertions: Sequence[tuple[str, str, str]]) -> Path:
    """A folder like NLI-XY, from (sentence, monotonicity) and (x, y, relation); each word fits into each sentence."""
    folder.mkdir(parents=True)
    rows = [f"{text}\t{slope}\t{'no' if slope == 'down' else ''}\tx\t\t\n" for text, slope in contexts]
    (folder / "contexts.tsv").write_text("context\tmonotonicity\toperator\tsingular\tmass\tplural\n" + "".join(rows))
    rows = [f"s\t{x}\t{y}\ts\t{relation}\n" for x, y, relation in insertions]
    (folder / "insertions.tsv").write_text("x_grammar\tx\ty\ty_grammar\tinsertion_rel\n" + "".join(rows))
    return folder


def write_squad(path: Path, articles: int) -> Path:
    """A file like SQuAD 2.0: each article has two texts with five questions, of which two have no answer."""
    data = []
    for a in range(articles):
        paragraphs = []
        for p in range(2):
            k = 10 * a + 5 * p
            people = [PEOPLE[(k + i) % len(PEOPLE)] for i in range(5)]
            places = [PLACES[(k + 7 * i) % len(PLACES)] for i in range(3)]
            text = " ".join(f"The {x} in the {y} ." for x, y in zip(people, places, strict=False))
            questions = []
            for i, person in enumerate(people):
                answers = [{"text": places[i], "answer_start": text.index(places[i])}] if i < 3 else []
                asked = {"id": f"q{a}{p}{i}", "question": f"the {person} in the", "answers": answers}
                questions.append(asked | {"is_impossible": not answers})
            paragraphs.append({"context": text, "qas": questions})
        data.append({"title": f"Article_{a}", "paragraphs": paragraphs})
    path.write_text(json.dumps({"version": "v2.0", "data": data}))
    return path


def write_passages(folder: Path) -> Path:
    """Questions, each with a passage that answers it and a distractor."""
    for split, first in (("train", 0), ("validation", 40)):
        rows = []
        for i in range(first, first + 24):
            texts = [f"The {PEOPLE[(i + j) % 64]} in the {PLACES[(i + 7 * j) % 30]} ." for j in range(2)]
            answers = [PLACES[i % 30]] if i % 4 else []
            row = {"id": f"r{i}", "article": f"a{i // 3}", "passage": texts[0], "distractor": texts[1]}
            rows.append(row | {"question": f"the {PEOPLE[i % 64]} in the", "answers": answers})
        write_lines(folder / f"{split}.jsonl", rows)
    return folder


def write_squares(folder: Path, train: int = 48, validation: int = 24) -> Path:
    """A folder of one-coloured pictures, with a file of questions for each split, and data.yaml."""
    colours = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230), "white": (250, 250, 250)}
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for split, n in (("train", train), ("validation", validation)):
        rows = []
        for i in range(n):
            colour, asked = list(colours)[i % 4], list(colours)[(i // 4) % 4]
            picture = Image.new("RGB", (20, 16), colours[colour])
            picture.putpixel((i % 20, i // 20 % 16), (i % 256, len(split), 0))  # all pictures differ
            picture.save(folder / "pictures" / f"{split}-{i}.png")
            answer = "yes" if colour == asked else "no"
            rows.append({"id": f"q{i}", "file": f"{split}-{i}.png", "text": f"is it {asked} ?", "answer": answer})
        write_lines(folder / f"{split}.jsonl", rows)
    settings = {"name": "squares", "parts": {"image": "pictures/{file}", "question": "text"}, "pictures": ["image"]}
    settings |= {"labels": {"no": [], "yes": []}, "label": "answer", "default_label": "yes", "uid": "id"}
    settings |= {"swap": ["image", "question"], "path": str(folder)}
    (folder / "data.yaml").write_text(json.dumps({"class_path": "PairedImages", "init_args": settings}))
    return folder


def write_tables(folder: Path) -> Path:
    """Twelve tables with claims like InfoTabS, and annotations and counterfactual tables like TabProbe."""
    genres, tables, claims, marked = ("rock", "jazz", "pop"), {}, [], []
    for i in range(12):
        table = {"title": [f"Album {i}"], "Genre": [genres[i % 3], genres[(i + 1) % 3]], "Year": [str(1990 + i)]}
        table |= {"Label": ["XL"]} if i % 2 else {"Producer": ["Ann"], "Length": [f"{i}:00"]}
        tables[f"T{i}"] = table
    for i, name in enumerate(tables):
        claims += [(name, f"The genre is {genres[i % 3]}.", "E"), (name, f"The year is {1980 + i}.", "C")]
        claims += [(name, "It was sold in Rome.", "N"), (name, f"Album {i} has over {i + 2} songs.", "E")]
        claims += [(name, f"Album {i} was not made in {1990 + i}.", "C")]
    for name, hypothesis, label in claims[::2]:
        bits = ["1" if key.lower() in hypothesis else "0" for key in tables[name] if key != "title"]
        marked.append((name, hypothesis, label, "".join([*bits, "0" if "1" in bits else "1"])))
    splits = {"infotabs_train": claims, "infotabs_dev": claims[20:], "infotabs_test_alpha1": claims[40:]}
    changed = {
        f"{name}_mod": table | {"Genre": [genres[(i + 2) % 3]]} for i, (name, table) in enumerate(tables.items())
    }
    flips = [(table, hypothesis, "E", "C") for table, hypothesis, _ in claims if "genre" in hypothesis]
    return write_table_files(folder, tables, splits, marked, changed, flips)


def write_table_files(
    folder: Path,
    tables: Mapping[str, Any],
    splits: Mapping[str, Iterable[tuple[str, str, str]]],
    marked: Iterable[tuple[str, str, str, str]],
    changed: Mapping[str, Any],
    flips: Iterable[tuple[str, str, str, str]],
) -> Path:
    """A folder as of InfoTabS, and beside it annotations and counterfactual tables as of TabProbe.

    Args:
        folder: The folder of infotabs/, relevant.csv and flips/.
        tables: Maps names to tables.
        splits: Maps splits to (table, hypothesis, label).
        marked: (Table, hypothesis, label, bits of relevant rows and of "none").
        changed: Maps ``<table>_mod`` to changed tables.
        flips: (Table, hypothesis, label, label with the changed table).
    """
    made = folder / "infotabs"
    for split, claims in splits.items():
        rows = [{"annotater_id": "GW1", "table_id": t, "hypothesis": h, "label": label} for t, h, label in claims]
        write_table(made / "maindata" / f"{split}.tsv", rows)
    rows = []
    for name, hypothesis, label, bits in marked:
        keys = [*(key for key in tables[name] if key != "title"), "none"]
        row = {"Table ID": name, "Hypothesis": hypothesis, "Truth Label": label, "Labels": f"['{bits}']"}
        rows.append(row | {"Majority Label": bits, "JSON": json.dumps(dict(zip(keys, bits, strict=True)))})
    write_table(folder / "relevant.csv", rows)
    for where, some in {
        made / "tables" / "json": tables,
        folder / "flips" / "tables_json": tables,
        folder / "flips" / "tables_mod_json": changed,
    }.items():
        where.mkdir(parents=True)
        for name, table in some.items():
            (where / f"{name}.json").write_text(json.dumps(table))
    rows = [
        {"original_tableid": table, "original_hypothesis": hypothesis, "original_label": old}
        | {"modified_tableid": f"{table}_mod", "modified_hypothesis": hypothesis, "modified_label": new}
        for table, hypothesis, old, new in flips
    ]
    write_table(folder / "flips" / "flips.tsv", rows)
    return folder


# drawn pictures, in the schemas of data sets on the hub


def png(color: str, place: int = 4) -> bytes:
    """The bytes of a picture: a coloured square at a place on white."""
    picture = Image.new("RGB", (32, 32), "white")
    ImageDraw.Draw(picture).rectangle((place, place, place + 12, place + 12), fill=color)
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def people(*answers: str) -> list[dict[str, Any]]:
    """The answers of ten people; the last one is repeated."""
    given = [*answers, *[answers[-1]] * (10 - len(answers))]
    return [{"answer": a, "answer_confidence": "yes", "answer_id": i + 1} for i, a in enumerate(given)]


def vqa_rows(pictures: int, first: int = 0) -> list[dict[str, Any]]:
    """Two questions per picture: its color, on which people disagree, and whether it is red."""
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
    """Write rows as on the hub: a picture is a struct of bytes and path."""
    kinds = {"image": IMAGE, "image0": IMAGE, "image1": IMAGE}
    if isinstance(rows[0].get("answers", [""])[0], dict):
        kinds["answers"] = pa.list_(PERSON)
    arrays = {name: pa.array([row[name] for row in rows], kinds.get(name)) for name in rows[0]}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(arrays), path)
    return path


def write_vqa(folder: Path, training: int = 24, validation: int = 12) -> Path:
    """A folder with both splits and a number of pictures in each; training answers are texts, not objects."""
    rows = vqa_rows(training)
    for row in rows:
        row["answers"] = [person["answer"] for person in row["answers"]]
    write_parquet(folder / "train.parquet", rows)
    write_parquet(folder / "validation.parquet", vqa_rows(validation, first=100))
    return folder


def nlvr2_rows(sets: int, split: str) -> list[dict[str, Any]]:
    """Two pairs of pictures per set, and two sentences per pair."""
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
    """A folder with both splits and a number of sets in each."""
    write_parquet(folder / "train.parquet", nlvr2_rows(training, "train"))
    write_parquet(folder / "validation.parquet", nlvr2_rows(validation, "dev"))
    return folder
