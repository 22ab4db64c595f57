"""Small data sets of every kind, in the files of the real ones, written without Heedful."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

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
MSGS = {  # words of: (linguistic, surface) label to a sentence
    "training": {(1, 1): "the {0} is {1}ing dogs that ran.", (0, 0): "every {0} {1}s dogs that were running."},
    "test": {(1, 0): "every {0} is {1}ing cats that sat.", (0, 1): "the {0} {1}s cats that were sitting."},
    "control": {(1, 0): "every {0} was {1}ing dogs that ran.", (0, 1): "the {0} {1}s all dogs that were running."},
}


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """A JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A csv file with a header, or a tsv file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


def pairs(n: int, first: int = 0) -> list[dict[str, str]]:
    """Sentence pairs of three labels, of which every third premise stands twice."""
    rows = []
    for i in range(first, first + n):
        k = i - 1 if i % 3 == 2 else i
        person, verb, thing = PEOPLE[k % 64], VERBS[k % 10], THINGS[(k // 3) % 10]
        place, other = PLACES[(7 * k) % 30], PLACES[(7 * i + 11) % 30]
        claim = (f"a {person} {verb} {thing}", f"the {person} in the {other} {verb}", f"a {person} never {verb}")
        rows.append(
            {"id": f"p{i}", "premise": f"The {person} {verb} the {thing} in the {place} .", "kind": "ab"[i % 2]}
        )
        rows[-1] |= {"hypothesis": f"{claim[i % 3]} .", "label": ("entailment", "neutral", "contradiction")[i % 3]}
    return rows


def write_pairs(folder: Path) -> Path:
    """Folders of pairs: csv with labels, csv without any, of two classes, of several labels, and as HANS has them."""
    train, validation = pairs(96), pairs(48, 96)
    for split, rows in {"train": train, "validation": validation}.items():
        write_table(folder / "csv" / f"{split}.csv", rows)
        bare = [{name: value for name, value in row.items() if name != "label"} for row in rows]
        write_table(folder / "unlabelled" / f"{split}.csv", bare)
        two = [
            {"sentence1": r["premise"], "sentence2": r["hypothesis"], "label": int(i % 3 > 0)}
            for i, r in enumerate(rows)
        ]
        write_table(folder / "two" / f"{split}.tsv", two)
        gold = [["entailment"], ["entailment", "neutral"], ["neutral", "contradiction"], ["contradiction"]]
        write_lines(folder / "several" / f"{split}.jsonl", [r | {"label": gold[i % 4]} for i, r in enumerate(rows)])
    write_table(folder / "more.csv", pairs(24, 200))
    for split, rows in {"train": train, "evaluation": validation}.items():
        hans = [
            {"premise": r["premise"], "hypothesis": r["hypothesis"], "heuristic": ("overlap", "subsequence")[i % 2]}
            | {"label": ("entailment", "non-entailment")[i % 3 > 0], "subcase": f"s{i % 4}", "template": f"t{i % 8}"}
            for i, r in enumerate(rows)
        ]
        write_lines(folder / "hans" / f"{split}.jsonl", hans)
    return folder


def write_msgs(folder: Path, task: str = "main_verb_lexical_content_the") -> Path:
    """A folder of one task of MSGS: 50 paradigms to train on and 20 others."""

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
    """A folder as of NLI-XY from (sentence, monotonicity) and (x, y, relation); every word fits everywhere."""
    folder.mkdir(parents=True)
    rows = [f"{text}\t{slope}\t{'no' if slope == 'down' else ''}\tx\t\t\n" for text, slope in contexts]
    (folder / "contexts.tsv").write_text("context\tmonotonicity\toperator\tsingular\tmass\tplural\n" + "".join(rows))
    rows = [f"s\t{x}\t{y}\ts\t{relation}\n" for x, y, relation in insertions]
    (folder / "insertions.tsv").write_text("x_grammar\tx\ty\ty_grammar\tinsertion_rel\n" + "".join(rows))
    return folder


def write_squad(path: Path, articles: int) -> Path:
    """A file as SQuAD 2.0 has it, of so many articles with two texts and five questions about each.

    Who is where is said in three sentences of a text; of two questions nobody knows the answer.
    """
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
    """Questions with the passage that answers them and one that does not."""
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
    """A folder of pictures of one coloured square, with questions about them, a file for each split, and data.yaml."""
    colours = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230), "white": (250, 250, 250)}
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for split, n in (("train", train), ("validation", validation)):
        rows = []
        for i in range(n):
            colour, asked = list(colours)[i % 4], list(colours)[(i // 4) % 4]
            picture = Image.new("RGB", (20, 16), colours[colour])
            picture.putpixel((i % 20, i // 20 % 16), (i % 256, len(split), 0))  # no two are byte for byte the same
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
    """Twelve tables with claims as InfoTabS has them, and annotated rows and counterfactual tables as TabProbe."""
    made, genres, tables = folder / "infotabs", ("rock", "jazz", "pop"), {}
    (made / "maindata").mkdir(parents=True)
    for i in range(12):
        table = {"title": [f"Album {i}"], "Genre": [genres[i % 3], genres[(i + 1) % 3]], "Year": [str(1990 + i)]}
        table |= {"Label": ["XL"]} if i % 2 else {"Producer": ["Ann"], "Length": [f"{i}:00"]}
        tables[f"T{i}"] = table
    claims = []
    for i, name in enumerate(tables):
        claims += [(name, f"The genre is {genres[i % 3]}.", "E"), (name, f"The year is {1980 + i}.", "C")]
        claims += [(name, "It was sold in Rome.", "N"), (name, f"Album {i} has over {i + 2} songs.", "E")]
        claims += [(name, f"Album {i} was not made in {1990 + i}.", "C")]
    for split, part in {
        "infotabs_train": claims,
        "infotabs_dev": claims[20:],
        "infotabs_test_alpha1": claims[40:],
    }.items():
        rows = [{"annotater_id": "GW1", "table_id": t, "hypothesis": h, "label": label} for t, h, label in part]
        write_table(made / "maindata" / f"{split}.tsv", rows)
    marked = []
    for name, hypothesis, label in claims[::2]:
        keys = [key for key in tables[name] if key != "title"]
        bits = ["1" if key.lower() in hypothesis else "0" for key in keys]
        bits.append("0" if "1" in bits else "1")
        row = {"Table ID": name, "Hypothesis": hypothesis, "Truth Label": label, "Labels": f"['{''.join(bits)}']"}
        marks = json.dumps(dict(zip([*keys, "none"], bits, strict=True)))
        marked.append(row | {"Majority Label": "".join(bits), "JSON": marks})
    write_table(folder / "relevant.csv", marked)
    changed = {
        f"{name}_mod": table | {"Genre": [genres[(i + 2) % 3]]} for i, (name, table) in enumerate(tables.items())
    }
    for where, those in {
        made / "tables" / "json": tables,
        folder / "flips" / "tables_json": tables,
        folder / "flips" / "tables_mod_json": changed,
    }.items():
        where.mkdir(parents=True)
        for name, table in those.items():
            (where / f"{name}.json").write_text(json.dumps(table))
    flips = [
        {"original_tableid": t, "original_hypothesis": h, "original_label": "E"}
        | {"modified_tableid": f"{t}_mod", "modified_hypothesis": h, "modified_label": "C"}
        for t, h, label in claims
        if "genre" in h
    ]
    write_table(folder / "flips" / "flips.tsv", flips)
    return folder
