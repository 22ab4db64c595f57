"""Answers that people gave to one question: when two are the same, and what each is worth.

Source: Antol et al. (2015), VQA, and the rules at visualqa.org/evaluation.html. The script that is published there
departs from the rules in details: a blank beside one punctuation mark changes what becomes of others, and answers on
which all people agree stay as they are.
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
ENDINGS = {  # of contractions, and the words that they follow; "well" and "its" are words of their own
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
    """An answer in lower case, with digits for number words, the apostrophes of contractions, and without articles.

    Punctuation but apostrophes and colons becomes blanks; the comma within a number and the period that is no decimal
    point go. Where nothing would be left ("a"), articles stay, and else what there was.

    Example:
        >>> normalised("The  Two T-shirts, and 1,000.5 more."), normalised("DONT"), normalised("A")
        ("2 t shirts and 1000.5 more", "don't", 'a')
    """
    text = PERIOD.sub("", PUNCTUATION.sub(" ", COMMA_IN_NUMBER.sub("", answer.lower())))
    words = [CONTRACTIONS.get(word, DIGITS.get(word, word)) for word in text.split()]
    without_articles = [word for word in words if word not in ARTICLES] or words or answer.lower().split()
    return " ".join(without_articles)


def worth(given: Iterable[str]) -> dict[str, float]:
    """The worth of each answer of those that people gave to a question, by the accuracy of VQA.

    An answer is right by a third for each of three people who gave it; the mean over leaving out one person in turn. Of
    ten people, one makes 0.3, two make 0.6, three 0.9, and four or more 1.

    Args:
        given: The answer of each person, normalised; "" is none. One answer alone is worth 1.

    Returns:
        Answer to worth, by the alphabet.
    """
    answers = list(given)
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
    """The ``n`` most frequent answers, or all there are; of equals, the first by the alphabet."""
    return sorted(counts.keys() - {""}, key=lambda answer: (-counts[answer], answer))[:n]


def spelled(labels: Sequence[str]) -> dict[str, list[str]]:
    """Normalised answer to the labels that it is; of labels from another source, several may be the same answer."""
    labels_of: dict[str, list[str]] = {}
    for label in labels:
        labels_of.setdefault(normalised(label), []).append(label)
    return labels_of
