"""Normalisation and scores of the answers that people gave to a visual question.

Source: Antol et al. (2015), VQA, and the rules at visualqa.org/evaluation.html. This module follows the rules. The
script on that page deviates from the rules in two points: in the script, a space next to a punctuation mark changes how
other marks are treated; and the script does not normalise unanimous answers. Only the labels and scores of VQA need
this published normalisation; :mod:`heedful.records.text` has the one for all other answers.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

ARTICLES = ("a", "an", "the")
NUMBERS = "zero one two three four five six seven eight nine ten".split()
DIGITS = {"none": "0"} | {word: str(n) for n, word in enumerate(NUMBERS)}
COMMA_IN_NUMBER = re.compile(r"(?<=\d),(?=\d)")
PUNCTUATION = re.compile(r"[]\[;/\"{}()=+\\_<>@`,?!-]")
PERIOD = re.compile(r"\.(?!\d)")
ENDINGS = {  # endings of contractions, and the words before them; "well" and "its" are no contractions
    "n't": "ai are ca could did does do had has have is might must need ought sha should was were wo would",
    "'s": "he she that there what when where how who why someone somebody",
    "'d": "he it they you who there how where",
    "'ll": "it they you who that there what how",
    "'re": "they you what there how why",
    "'ve": "i we they you who could should would might must",
}
CONTRACTIONS = {"im": "i'm", "maam": "ma'am", "oclock": "o'clock", "twas": "'twas", "yall": "y'all"}
CONTRACTIONS |= {word + end.replace("'", ""): word + end for end, words in ENDINGS.items() for word in words.split()}


def normalised(answer: str) -> str:
    """Normalise an answer: lower case, digits for number words, apostrophes in contractions, no articles.

    Punctuation marks become blanks, except apostrophes and colons. Commas within numbers, and periods that are not
    decimal points, are dropped. An answer of articles alone, such as "a", stays.

    Example:
        >>> normalised("The  Two T-shirts, and 1,000.5 more."), normalised("DONT"), normalised("A")
        ('2 t shirts and 1000.5 more', "don't", 'a')
    """
    text = PERIOD.sub("", PUNCTUATION.sub(" ", COMMA_IN_NUMBER.sub("", answer.lower())))
    words = [CONTRACTIONS.get(word, DIGITS.get(word, word)) for word in text.split()]
    without_articles = [word for word in words if word not in ARTICLES] or words or answer.lower().split()
    return " ".join(without_articles)


def answer_scores(answers: Iterable[str]) -> dict[str, float]:
    """Return the VQA accuracy of each answer to a question, as a mapping in alphabetical order of the answers.

    An answer scores a third for each person who gave it, at most 1. The accuracy is the mean of these scores when each
    person in turn is left out: 0.3 if one of ten people gave the answer, 0.6 for two, 0.9 for three, 1 for more.

    Args:
        answers: Normalised answer per person; "" for a person without an answer. A single answer scores 1.
    """
    answers = list(answers)
    if len(answers) == 1:
        return {answer: 1.0 for answer in answers if answer}
    people = len(answers)
    counts = Counter(answers)
    worths = {}
    for answer in sorted(counts.keys() - {""}):
        n = counts[answer]
        thirds = n * min(3, n - 1) + (people - n) * min(3, n)
        worths[answer] = thirds / (3 * people)
    return worths


def most_frequent(counts: Counter[str], n: int) -> list[str]:
    """Return the ``n`` most frequent answers, or all if there are fewer; ties are in alphabetical order.

    Args:
        counts: Maps each answer to its number of occurrences; "" is ignored.
        n: Number of answers.
    """
    return sorted(counts.keys() - {""}, key=lambda answer: (-counts[answer], answer))[:n]


def labels_by_answer(labels: Sequence[str]) -> dict[str, list[str]]:
    """Return a mapping of each normalised answer to the labels with this normal form."""
    labels_of: dict[str, list[str]] = {}
    for label in labels:
        labels_of.setdefault(normalised(label), []).append(label)
    return labels_of
