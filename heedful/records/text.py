"""Texts: their normal forms and words; templates that join them; names of labels; phrases of messages.

A template has the names of parts in braces, often after a word with a colon (the key of the part):
``mnli hypothesis: {hypothesis} premise: {premise}``. Doubled braces are literal braces.

The published normalizations are elsewhere, and are only for the published metrics: SQuAD's in
:mod:`heedful.records.answers`, and VQA's in ``datamodules/loaders/vqa_answers.py``.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

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
MANY = 20  # with more labels than this, there are no numbers per label
WORD = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]+")  # letters and digits with inner ' and -, or other characters
PART = re.compile(r"(?<!\{)\{([^{}]*)\}(?!\})")
KEYED = re.compile(rf"(?:(?<!\S)\S*:\s+)?{PART.pattern}\s*")
FILLED = re.compile(rf"{PART.pattern}|\{{\{{|\}}\}}")


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


def bare(text: str) -> str:
    """Fold an answer, and strip punctuation (the Unicode categories P), quotes and spaces at both ends.

    Percent signs, the sign or the point before a number, and # and - after a word stay.

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

    Based on the normalization of SQuAD 2.0, which removes all ASCII punctuation, also within words and before numbers.

    Example:
        >>> [normal_form(text) for text in ("The  Eiffel Tower.", "Vitamin A", "-3.5!", "...")]
        ['eiffel tower', 'vitamin a', '-3.5', '...']
    """
    whole = folded(text).split()
    words = [word for word in whole if word == "-" or bare(word)]  # a dash may be a minus
    form = []
    for word, after in zip(words, [*words[1:], ""], strict=False):
        is_article = bare(word) in ("a", "an", "the") and any(map(str.isalnum, after))
        if is_article and not word.endswith(bare(word)):
            form.append(word)  # not an article, such as A in "A, B"
        elif not is_article:
            form.append(bare(word) or word)
    return re.sub(rf"(?<=\d)\s+(?=[{PERCENT}])", "", " ".join(form or whole))


def words(text: str) -> list[str]:
    """Split a text into words independently of tokenizers, so that attributions of all models refer to the same words.

    Example:
        >>> words("It's late.")
        ["It's", 'late', '.']
    """
    return WORD.findall(text)


def plain_template(parts: Iterable[str], name: str = "") -> str:
    """Return the default template, as of T5's training tasks: "mnli hypothesis: {hypothesis} premise: {premise}"."""
    return " ".join(filter(None, [name, *(f"{part}: {{{part}}}" for part in sorted(parts))]))


def parts_of(template: str) -> list[str]:
    """The names of the parts in a template, in order of appearance."""
    return PART.findall(template)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Fill a template: replace each part's name in braces by its text, and doubled braces by single braces."""
    return FILLED.sub(lambda match: match[0][0] if match[1] is None else values[match[1]], template)


def keep_parts(template: str, parts: Iterable[str]) -> str:
    """Restrict a template to the given parts: all other parts are removed together with their keys."""
    parts = set(parts)
    return KEYED.sub(lambda match: match[0] if match[1] in parts else "", template).strip()


def rename_parts(template: str, names: Mapping[str, str]) -> str:
    """Rename parts in the braces of a template, from old to new names; the words before the braces do not change."""
    return PART.sub(lambda match: f"{{{names.get(match[1], match[1])}}}", template)


def normalised_label(name: str) -> str:
    """Normalize the name of a label for comparison: :func:`folded`, without spaces, hyphens and underscores."""
    return composed(re.sub(r"[\s_-]+", "", folded(name)))


def is_entailment(label: str) -> bool:
    """Whether a label means "entailment", in any spelling."""
    return normalised_label(label) == "entailment"


def listing(labels: Sequence[str]) -> str:
    """Join labels by commas for a message; of more than :data:`MANY` labels, show the first five and their number.

    Example:
        >>> listing(["yes", "no"]), listing([str(i) for i in range(3129)])
        ('yes, no', '0, 1, 2, 3, 4, ... (3,129 in all)')
    """
    if len(labels) <= MANY:
        return ", ".join(labels)
    return f"{', '.join(labels[:5])}, ... ({len(labels):,} in all)"


def percent(share: float) -> str:
    """Format a share in percent with two significant digits.

    Example:
        >>> percent(0.831), percent(0.2), percent(0.00012)
        ('83 %', '20 %', '0.012 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def agree(n: int, singular: str, plural: str) -> str:
    """Format a count, followed by the words in the singular if it is 1, or else in the plural: "3,129 examples are"."""
    return f"{n:,} {singular if n == 1 else plural}"
