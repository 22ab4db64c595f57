"""How to report results: a paragraph for a paper, and BibTeX of Heedful and of the methods."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from heedful.records import MetricName
from heedful.records.storage.results import named
from heedful.records.version import AUTHORS, TITLE, VERSION
from heedful.reports.terminal.table import about_model, cell_text, explained, lines_of

VERSIONS = {"python": "Python", "torch": "PyTorch", "pytorch-lightning": "Lightning", "transformers": "transformers"}


class Paper(NamedTuple):
    """A paper that a method is from.

    Attributes:
        key: Of its BibTeX entry.
        authors: In their order.
        title: With the capitals of the paper.
        published: Year, venue and the like, as far as the text of the paper names them.
    """

    key: str
    authors: tuple[str, ...]
    title: str
    published: Mapping[str, str] = {}

    @property
    def short(self) -> str:
        """The first author, and that there are others."""
        return f"{self.authors[0].rpartition(' ')[2]} et al."


CAT = Paper(
    "elazar-attentiveness",
    (
        "Yanai Elazar",
        "Bhargavi Paranjape",
        "Hao Peng",
        "Sarah Wiegreffe",
        "Khyathi Raghavi Chandu",
        "Vivek Srikumar",
        "Sameer Singh",
        "Noah A. Smith",
    ),
    "Measuring and Improving Attentiveness to Partial Inputs with Counterfactuals",
)
TABLES = Paper(
    "gupta-tabular-evidence",
    (
        "Vivek Gupta",
        "Riyaz A. Bhat",
        "Atreya Ghosal",
        "Manish Shrivastava",
        "Maneesh Singh",
        "Vivek Srikumar",
    ),
    "Is My Model Using the Right Evidence? Systematic Probes for Examining Evidence-Based Tabular Reasoning",
    {
        "journal": "Transactions of the Association for Computational Linguistics",
        "volume": "10",
        "pages": "659--679",
        "year": "2022",
        "doi": "10.1162/tacl_a_00482",
    },
)
NATURAL_LOGIC = Paper(
    "rozanova-causal-effects",
    ("Julia Rozanova", "Marco Valentino", "André Freitas"),
    "Estimating the Causal Effects of Natural Logic Features in Transformer-Based NLI Models",
)
FEW_EXAMPLES = Paper(
    "singhal-few-examples",
    ("Prasann Singhal", "Jarad Forristal", "Xi Ye", "Greg Durrett"),
    "Assessing Out-of-Domain Language Model Performance from Few Examples",
)
METHODS = {  # evaluation: the paper, and what was measured
    "attentiveness": (
        CAT,
        "Attentiveness is the share of examples, among those that are not predicted as the default answer if there is "
        "one, whose prediction changes when a part of the input is replaced by that of another example of the split",
    ),
    "answers": (CAT, "Where answers are texts, attentiveness is the share of them that become no answer"),
    "default_label": (CAT, "Of examples that are predicted as the default label, we measured how many stay so then"),
    "naive_partial": (CAT, "Naive partial inputs show one part alone to a model that was trained on all of them"),
    "table_rows": (
        TABLES,
        "Single rows of tables were edited; invalid is the share of predictions that change in a way that the edit "
        "does not allow, as a mean over the labels that were predicted before",
    ),
    "evidence": (TABLES, "Rows whose deletion changes the prediction are compared with the rows that people marked"),
    "challenge": (TABLES, "Accuracy on perturbed hypotheses, and on the examples that these were made of"),
    "counterfactual_tables": (TABLES, "Accuracy on counterfactual tables, and on the tables that these were made of"),
    "natural_logic": (
        NATURAL_LOGIC,
        "Causal effects are shares of predictions that change: the total causal effect (TCE) under changes that change "
        "the gold label, the direct causal effect (DCE) under changes that do not",
    ),
    "two_class": (NATURAL_LOGIC, "Labels are entailment and all others together"),
    "attributions": (FEW_EXAMPLES, "Attributions say what each word adds to the probability of the predicted label"),
}


def report_paragraph(content: Mapping[str, Any], run: Mapping[str, Any] | None = None, model: str = "the model") -> str:
    """A paragraph that says what was measured, how, and what came out; it has no percent sign, which LaTeX would hide.

    Args:
        content: Of results.json, as ``read_results`` gives it.
        run: The run.json beside it, for versions and precision.
        model: What to call the model.
    """
    run = run or {}
    shown = [line for line in lines_of(content) if line.beside and line.metric in content["metrics"]]
    methods = [f"{text} ({paper.short})." for name, (paper, text) in METHODS.items() if name in content["rows"]]
    numbers = "; ".join(
        f"{line.label} {cell_text(content['metrics'][line.metric], line, ' ', with_names=True)}" for line in shown
    )
    version = run.get("packages", {}).get("heedful")
    sentences = [
        f"We measured {model} with {' '.join(filter(None, ['Heedful', version]))} on {_examples(content)}.",
        *methods,
        f"In percent, but for ratios: {numbers}." if numbers else "",
        _signs([content["metrics"][line.metric] for line in shown]),
        _intervals(content),
        _null(content),
        *(f"{flag} means: {text}" for flag, text in explained([content], shown)),
        *about_model([content]),
        f"{content['note'].rstrip('.')}." if content["note"] else "",
        _circumstances(content, run),
    ]
    return " ".join(sentence for sentence in sentences if sentence).replace("%", "percent")


def bibtex(content: Mapping[str, Any]) -> str:
    """BibTeX of Heedful and of the paper of each method that was measured.

    Args:
        content: Of results.json, as ``read_results`` gives it.
    """
    papers = dict.fromkeys(METHODS[name][0].key for name in METHODS if name in content["rows"])
    by_key = {paper.key: paper for paper, _ in METHODS.values()}
    own = {"author": f"{{{AUTHORS}}}", "title": f"{{{TITLE}}}", "version": VERSION}
    return "\n".join([_entry("software", "heedful", own), *(_paper(by_key[key]) for key in papers)])


def _paper(paper: Paper) -> str:
    fields = {"author": " and ".join(paper.authors), "title": f"{{{paper.title}}}", **paper.published}
    if paper.published:
        return _entry("article", paper.key, fields)
    missing = "The text of this paper names no year and no venue: add those that you know."
    return f"{missing}\n{_entry('misc', paper.key, fields)}"


def _entry(kind: str, key: str, fields: Mapping[str, str]) -> str:
    lines = (f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@{kind}{{{key},\n{''.join(lines)}}}\n"


def _examples(content: Mapping[str, Any]) -> str:
    n = content["counts"].get("examples")
    of = f"{n:,} examples of " if n else ""
    return f"{of}{content['data']} ({content['split']})"


def _signs(measured: list[Mapping[str, Any]]) -> str:
    """A sentence on ±, brackets and n, as far as they occur."""
    draws = sorted({str(m["draws"]) for m in measured if m["std"] is not None})
    parts = ["here n is the number of examples that a number rests on"] if measured else []
    parts += [f"± is the sample standard deviation over {' or '.join(draws)} draws"] if draws else []
    parts += ["brackets hold 95 percent confidence intervals"] if any(m["ci95"] for m in measured) else []
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _intervals(content: Mapping[str, Any]) -> str:
    """A sentence on how the intervals are made."""
    names = {name.family for name, m in named(content).items() if m["ci95"] is not None}
    if not names:
        return ""
    of = "clusters of examples that share a group or a content"
    parts = [f"Intervals of shares are Clopper and Pearson's at the effective number of examples, over {of}"]
    if "natural_logic" in names:
        parts.append("those of differences and ratios combine the intervals of two shares (MOVER)")
    if "attributions" in names:
        parts.append("those of attributions are Student's t over clusters")
    return f"{'; '.join(parts)}."


def _null(content: Mapping[str, Any]) -> str:
    """A sentence on the null control, where there was one."""
    m = named(content).get(MetricName("null", content["data"], statistic="flips"))
    if m is None or m["value"] is None:
        return ""
    flips = round(m["value"] * m["n"])
    return f"Predicted once more, among other examples, {flips:,} of {m['n']:,} predictions changed (null control)."


def _circumstances(content: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """A sentence on seed, versions and precision, as far as they are known."""
    packages = {**run.get("packages", {}), "python": run.get("python")}
    seed = f"Seed {content['seed']}"
    versions = [f"{name} {packages[key]}" for key, name in VERSIONS.items() if packages.get(key)]
    precision = [f"precision {run['precision']}"] if "precision" in run else []
    return f"{', '.join([seed, *precision, *versions])}."
