"""Normal forms of texts: for contents, names of labels, and answers.

The published normalizations are elsewhere, and are only for the published metrics: SQuAD's in
:mod:`heedful.records.answers`, and VQA's in ``datamodules/loaders/vqa_answers.py``.
"""

import re
import unicodedata

ARTICLES = {"a", "an", "the"}
SPELLINGS = str.maketrans(  # straight quotes, one minus and one percent sign; no invisible marks, such as directions
    "\u2018\u2019\u201c\u201d\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d\u066a\ufe6a\uff05",
    "''\"\"-------%%%",
    "\xad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff",
)
SIGN = re.compile(  # a sign or a decimal point before a number, also before a currency
    r"(?<![-.\u066b])(?:-[$\xa2-\xa5\u20a0-\u20cf]?)?[.\u066b]?[\d\xbc-\xbe\u2150-\u215f\u221e]"
)
SUFFIX = re.compile(r"(?<=\w)[-#\u2032\u2033\u2034]$")  # of a grade, an ion, a language or a unit: A-, Cl-, C#, 5 feet
PERCENT = "%\u2030\u2031"
SPACED_PERCENT = re.compile(rf"(?<=\d)\s+(?=[{PERCENT}])")


def canonical(text: str) -> str:
    """Normalize a text for comparison: Unicode NFC, single spaces, no spaces at the ends; case is kept.

    Example:
        >>> canonical(" It\\u00a0 rains. ") == canonical("It rains."), canonical("e\\u0301") == "\\u00e9"
        (True, True)
    """
    return " ".join(composed(text).split())


def composed(text: str) -> str:
    """Convert a text to Unicode NFC, in which letters with accents are single characters where possible."""
    return unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """Lower-case a text, with straight quotes and ASCII minus signs, and without invisible characters."""
    return composed(unicodedata.normalize("NFD", text.translate(SPELLINGS)).casefold())


def normalised_label(name: str) -> str:
    """Normalize the name of a label for comparison: :func:`folded`, without spaces, hyphens and underscores."""
    return composed(re.sub(r"[\s_-]+", "", folded(name)))


def bare(text: str) -> str:
    """Fold an answer, and strip punctuation, quotes and spaces at both ends.

    Punctuation is every character of the Unicode categories P. Vowel signs and other marks, currencies and mathematical
    symbols stay; so do percent signs, the sign or the point before a number, and # and - after a word.

    Example:
        >>> [bare(text) for text in ("**Can\u2019t say!**", "(\u22123.5)", "C#.", "5 %", "<5")]
        ["can't say", '-3.5', 'c#', '5 %', '<5']
    """
    text = folded(text).strip()
    start, end = 0, len(text)
    while start < end and _is_stripped(text[start]) and not SIGN.match(text, start):
        start += 1
    while start < end and _is_stripped(text[end - 1]) and not SUFFIX.search(text, start, end):
        end -= 1
    return text[start:end]


def _is_stripped(character: str) -> bool:
    is_mark = unicodedata.category(character)[0] == "P" and character not in PERCENT
    return is_mark or character.isspace() or character in "`\xb4"


def normal_form(text: str) -> str:
    """Normalize an answer: each word is :func:`bare`, and articles before a word are dropped.

    An answer that has only punctuation keeps it. Based on the normalization of SQuAD 2.0, which removes all ASCII
    punctuation, also within words and before numbers.

    Example:
        >>> [normal_form(text) for text in ("The  Eiffel Tower.", "Vitamin A", "-3.5!", "...")]
        ['eiffel tower', 'vitamin a', '-3.5', '...']
    """
    whole = folded(text).split()
    words = [word for word in whole if word == "-" or bare(word)]  # a dash may be a minus
    form = []
    for word, after in zip(words, [*words[1:], ""], strict=False):
        is_article = bare(word) in ARTICLES and any(map(str.isalnum, after))
        if is_article and not word.endswith(bare(word)):
            form.append(word)  # not an article, such as A in "A, B"
        elif not is_article:
            form.append(bare(word) or word)
    return SPACED_PERCENT.sub("", " ".join(form or whole))
