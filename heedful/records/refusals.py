"""The codes of refusals: what each one means, why Heedful does not go on, and what to do.

``make refusals`` writes them into the tables of docs/refusals.md.
"""

import re
from pathlib import Path
from typing import NamedTuple

SETTING = re.compile(r"§([a-z_]+(?:\.[a-z_]+)*)")


class Refusal(NamedTuple):
    """What one code stands for.

    Attributes:
        refused: What is refused.
        otherwise: What would happen if it were not.
        do: What to do: the end of each message that does not say it more exactly.
    """

    refused: str
    otherwise: str
    do: str


SETTINGS = {
    "bad-setting": Refusal(
        "a setting with a value of another type, or outside of what makes sense",
        "it is cut to something else, or fails late",
        "Give it another value.",
    ),
    "unknown-setting": Refusal(
        "a setting that does not exist, on the command line or in a file, or that is not written out (`§resum`)",
        "the default is used, or another run takes the place of the one that was meant",
        "See §help for all settings.",
    ),
    "unknown-name": Refusal(
        "a name that stands for nothing: of data, models, evaluations, metrics, labels, parts, kinds, methods",
        "something else is measured, or nothing",
        "Take a name that is known.",
    ),
    "repeated-name": Refusal(
        "one name twice in a list, or for two things",
        "one of the two is lost, or counts twice",
        "Name each once.",
    ),
    "bad-name": Refusal(
        "a name that is empty, cannot be printed, has a meaning of its own, is not a text in YAML (`no`, `null`, 1), "
        "names a folder elsewhere, or differs from another in case alone",
        'a label called "None", or files in another place',
        "Choose another name, in quotes where YAML reads it as something else than text.",
    ),
    "missing-setting": Refusal(
        "a command that lacks a setting without which the rest has no meaning",
        "it would have to be guessed",
        "Add the setting.",
    ),
    "clashing-settings": Refusal(
        "two settings that say different things of one matter",
        "one of them wins in silence",
        "Leave one of the two out.",
    ),
    "idle-setting": Refusal(
        "a setting that changes nothing: of an evaluation that does not run, of training in evaluate.py, of a head or "
        "a template that the model does not have",
        "the folder is named after what was not done",
        "Leave it out.",
    ),
    "bad-yaml": Refusal(
        "settings that are not valid YAML, in which a key stands twice, or of more than 4 MiB",
        "a key that stands twice counts once",
        "Mend the file at the line that is named.",
    ),
    "unfit-trainer": Refusal(
        "a Trainer that cannot do this: `ddp_spawn`, `ddp_fork`, `fsdp`, an accelerator that is not there, callbacks "
        "that find a learning rate or a batch size, training without an end",
        "folders and evaluations that do not work; a config.yaml that does not say what was done",
        "Change the settings of the Trainer.",
    ),
    "bad-monitor": Refusal(
        "a checkpoint or a stop by a metric that nobody measures, or by a loss of which the highest is the best",
        "best.ckpt is the worst epoch, or there is none",
        "Name a metric that this run measures.",
    ),
    "unfit-checkpoints": Refusal(
        "checkpoints between measurements, or a last.ckpt of weights alone",
        "best.ckpt is not what was measured; a stopped run cannot go on",
        "Leave the setting out, or measure more often with §trainer.val_check_interval.",
    ),
    "missing-package": Refusal(
        "what needs a package that is not installed",
        "a traceback",
        "Install it with pip.",
    ),
}

DATA = {
    "missing-file": Refusal(
        "a file or folder that does not exist, or one where the other should be",
        "it would count as empty",
        "Check the path.",
    ),
    "unreadable-file": Refusal(
        "a file that the system does not let us read",
        "a traceback",
        "Check its permissions and its disk.",
    ),
    "unwritable-file": Refusal(
        "a full disk or a folder that cannot be written to; what stood there stays whole",
        "half a file",
        "Make room, or name another folder.",
    ),
    "damaged-file": Refusal(
        "a file that is cut short, or does not follow its format: no row of it is skipped",
        "numbers on other data than you think",
        "Take a whole copy of it.",
    ),
    "unknown-format": Refusal(
        "a file or a picture of a format that is not read",
        "its content would be guessed",
        "Save it in one of the formats that are read.",
    ),
    "too-large": Refusal(
        "files that unpack to more than 1 GiB and 200 times their size, pictures of too many pixels, endless lines",
        "kilobytes fill the memory",
        "Check that it is the file that you mean.",
    ),
    "outside-path": Refusal(
        "paths in the files of data that lead out of their folder, by links as well",
        "your other files become data",
        "Name a path within the folder.",
    ),
    "bad-text": Refusal(
        "text that is not UTF-8, or with NUL characters, halves of surrogate pairs, or carriage returns as line ends",
        "readers swallow rows, or show other characters",
        "Save it as UTF-8, or mend it there.",
    ),
    "bad-header": Refusal(
        "a header with an empty or a repeated column, or none at all",
        "the first row is lost, or a column stands for another",
        "Mend the header, or name the columns with §data.columns.",
    ),
    "ragged-row": Refusal(
        "a row with more or fewer fields than there are columns, or with quotes that do not close",
        "values stand in the wrong columns",
        "Mend the row.",
    ),
    "missing-column": Refusal(
        "a column that the data do not have",
        "missing values become text",
        "Name a column that is there.",
    ),
    "empty-value": Refusal(
        "an empty cell where a part, an id or a path should stand",
        'all of them are one group, "None"',
        "Fill it in, or leave its row out.",
    ),
    "wrong-value": Refusal(
        "a cell of another type than its column, or that its format does not allow",
        "a list or a number is read as if it were the text",
        "Mend the value.",
    ),
    "unknown-label": Refusal(
        "a label in the data that is not among the labels",
        "its rows count as unlabelled",
        "Name its spelling with §data.labels, or mend the row.",
    ),
    "wrong-gold": Refusal(
        "gold answers that contradict the data: an answer that does not stand in its text, a majority that is not one",
        "right answers count as wrong",
        "Mend the row.",
    ),
    "no-gold": Refusal(
        "no gold labels, where one trains or what is measured rests on them, or a column of labels that is empty",
        "a score of nothing",
        "Take data with gold labels.",
    ),
    "repeated-id": Refusal(
        "two examples of one id",
        "one of them is lost",
        "Give each row an id of its own.",
    ),
    "missing-split": Refusal(
        "a split that is not there, or that several files could be",
        "another split is measured",
        "Name it with §data.splits.",
    ),
    "trained-on": Refusal(
        "validating on what is trained on: one file, one split, a copy, or what §data.hold_out and §data.folds hold "
        "out where the model saw some of it before (`§data.validate_on_train true` asks for it)",
        "what was learnt by heart looks like skill",
        "Name other examples to validate on, or add §data.validate_on_train true.",
    ),
    "nothing-left": Refusal(
        "settings that leave no example, or fewer than are asked for",
        "a number of nothing",
        "Ask for fewer, or select more.",
    ),
    "many-slices": Refusal(
        "slices by a column of more than 50 values",
        "a breakdown of single examples",
        "Name a column with fewer values.",
    ),
    "unfit-data": Refusal(
        "a way of training or measuring that data of this kind do not have",
        "a number that means something else",
        "Take other data, or leave it out.",
    ),
    "no-partner": Refusal(
        "an example for which no other one can lend a part",
        "it would be swapped with a copy of itself",
        "Swap another part, or take more data.",
    ),
    "bad-mixture": Refusal(
        "a mixture with too few rows, with other labels or parts, or of sources that uids cannot tell apart",
        "another share than you think",
        "Change the mixture.",
    ),
    "bad-pattern": Refusal(
        "a pattern of file names that does not fit its rows",
        "other pictures are shown",
        "Change the pattern in §data.parts.",
    ),
    "no-hub": Refusal(
        "data or models of the hub that cannot be loaded (`HF_HUB_OFFLINE=1` takes what is cached)",
        "a traceback",
        "Check the name and the network, or name files with §data.path.",
    ),
    "changed-data": Refusal(
        "files that changed since they were read; processes that read different data; going on with other examples "
        "(`§allow_changed_data true` does; run.json says so)",
        "half of the run is of other data",
        "Give it the same files, or begin a new run.",
    ),
}

MODELS = {
    "unfit-weights": Refusal(
        "weights that lack one of the network, hold one that it has no place for, or have another shape",
        "the network keeps random weights, and is measured",
        "Take all files of one model.",
    ),
    "damaged-weights": Refusal(
        "weights that are NaN or infinite, end in zeros, cannot be loaded, or are not floating-point numbers",
        "a plausible label of each example",
        "Take a whole file, from before it was damaged.",
    ),
    "ambiguous-weights": Refusal(
        "a folder with the whole model and shards of one, or with an adapter beside the weights",
        "another model is measured than the one that is meant",
        "Keep the files of one model.",
    ),
    "untrusted-weights": Refusal(
        "pickle payloads in weights and checkpoints; files that are not those that were published",
        "code of a stranger runs",
        "Take weights as safetensors, from whom you trust.",
    ),
    "foreign-package": Refusal(
        "weights in a Python package that Heedful does not know (`§allow_package NAME`, on the command line alone)",
        "importing it runs its code",
        "If you know it, add §allow_package.",
    ),
    "missing-weights": Refusal(
        "a folder of a model without weights, or without its config.json",
        "random weights are measured",
        "Name the folder of a whole model.",
    ),
    "damaged-model": Refusal(
        "files of a model (config.json, vision.json and the like) that cannot be loaded, contradict themselves or each "
        "other, or make no sense",
        "another model is measured",
        "Take the files of the model anew.",
    ),
    "unfit-adapter": Refusal(
        "a LoRA adapter that lacks some of the weights that it names",
        "the plain model is measured under its name",
        "Take the adapter that was trained for this model.",
    ),
    "untrained-head": Refusal(
        "measuring a head that nobody has trained",
        "its answers are chance",
        "Name a trained model, or train it first.",
    ),
    "unfit-model": Refusal(
        "a model that cannot read these data (other kinds of parts, or of answers, or too many), or that is not of the "
        "architecture that §model names",
        "a part is left out, or a traceback",
        "Take a model of another kind.",
    ),
    "other-parts": Refusal(
        "measuring a model on other parts than it was trained on",
        "a number about a part that it never saw",
        "Name the parts that it was trained on.",
    ),
    "other-labels": Refusal(
        "a model whose outputs have other names than the labels of the data; their order is in its card, or in the "
        "code that trained it",
        "outputs are taken for labels by their position",
        "Say which output is which with §model.labels, or train the model on the data.",
    ),
    "other-question": Refusal(
        "a head that answers another question than the data ask",
        "the answers to one question are scored by another",
        "Train the model on the data.",
    ),
    "fixed-network": Refusal(
        "another `§model.vision`, `§model.image_size` or `§model.hidden` than a trained network has",
        "config.yaml says what was not done",
        "Leave the setting out.",
    ),
    "unfit-tokenizer": Refusal(
        "a tokenizer that knows next to no words, is another model's, or lacks a token or mark that is needed",
        "every text is alike, and attentiveness is 0",
        "Copy the files of the model that its weights come from.",
    ),
    "unknown-words": Refusal(
        "texts of whose tokens more than a fifth are unknown (`§model.max_unknown`)",
        "most texts are alike",
        "Take a model for such text, or raise §model.max_unknown.",
    ),
    "reserved-text": Refusal(
        "texts with the characters of a special token, where the vocabulary cannot read them in another way",
        "a text ends in its middle",
        "Change the text.",
    ),
    "too-long": Refusal(
        "inputs that are longer than the model reads, where they cannot be cut",
        "the end is lost, with the question in it",
        "Lower §prompt.tuples, or set §model.max_length.",
    ),
    "not-finite": Refusal(
        "outputs of a model that are not finite",
        'the label with the index 0 is "predicted"',
        "Try §trainer.precision 32-true, or train with a lower §model.learning_rate.",
    ),
    "shared-prefix": Refusal(
        "a language model that gives other scores where prompts share their beginning, does not take what they share, "
        "or sees fewer tokens at once",
        "answers to another prompt",
        "Add §model.share_prefix false.",
    ),
    "ambiguous-answers": Refusal(
        "answers of labels that the model cannot tell apart, or of which one begins with another",
        "one label is never the less likely",
        "Give the labels other answers with §data.prompts or §data.verbalisers.",
    ),
    "bad-prompt": Refusal(
        "a wording, template or demonstrations that cannot be what is meant",
        "the model is asked something else",
        "Change the wording.",
    ),
    "not-a-checkpoint": Refusal(
        "a file that is not a checkpoint of train.py, or that does not say what it was trained on",
        "its outputs would be guessed",
        "Name a checkpoint that train.py wrote.",
    ),
    "other-checkpoint": Refusal(
        "a checkpoint of another model, of another run, or of weights alone where training should go on",
        "another model is measured under this name",
        "Name the one that the run wrote.",
    ),
    "other-weights": Refusal(
        "measuring other weights than those of the checkpoint, as where a callback exchanges them",
        "results.json is of a model that no file holds",
        "Leave the callback out.",
    ),
    "broken-model": Refusal(
        "a model of your own that returns too few predictions, or other ones than it should",
        "answers stand beside other examples",
        "Return one prediction for each input, in their order.",
    ),
    "failed-function": Refusal(
        "a function of yours that raises, for inputs that the message quotes",
        "a failure would count as an answer",
        "Mend it, or have it return None for no answer.",
    ),
    "unsteady-function": Refusal(
        "a function of yours that answers something else when it is asked the same for the second time",
        "what it does by chance is taken for what a swap did",
        "Take chance out of it, as by a fixed seed.",
    ),
    "missing-answers": Refusal(
        "a file of answers in which inputs have none, or an empty one, a failed request among them",
        "what failed counts as behaviour",
        "Have them answered, or score the others with §partial.",
    ),
    "repeated-answers": Refusal(
        "two answers to one input in files of answers, equal ones as well",
        "whichever comes last wins",
        "Keep one of them.",
    ),
    "foreign-answers": Refusal(
        "answers to inputs that are not among those that were written",
        "answers of another experiment are taken for these",
        "Give the answers to these inputs alone.",
    ),
    "other-inputs": Refusal(
        "answers to another version of the inputs, or a file of inputs that is not what was written",
        "answers stand beside inputs that they are not answers to",
        "Name the file of inputs that was answered, as it was written.",
    ),
}

SERVERS = {
    "bad-address": Refusal(
        "what is not the address of a server, or a redirect to another one (`§model.allow_redirects true`)",
        "another's answers, and the key in other hands",
        "Set the address of the server.",
    ),
    "bad-key": Refusal(
        "a key that is missing, that the server refuses, or that holds a line break, a space or quotes (nothing is "
        "sent then)",
        "a message of the server repeats it",
        "Set the environment variable, or key= in Python, to the key alone.",
    ),
    "no-server": Refusal(
        "a server that cannot be reached, fails, says nothing, or too much",
        "the command waits for ever",
        "Look at the log of the server.",
    ),
    "server-refuses": Refusal(
        "a server that refuses requests, or more of them than may be left out",
        'its refusals count as "no answer"',
        "See what it says, and §model.extra.",
    ),
    "hub-refuses": Refusal(
        "a hub that cannot be reached, refuses a folder, or has a public one where a private one was asked for",
        "a traceback, or somebody's model in public",
        "See what it says.",
    ),
    "server-answers": Refusal(
        "answers that are empty, the same for all, not what was asked for, or none of the labels, which may have other "
        "texts in §data.prompts (`§model.allow_invalid true` goes on)",
        "chance in a table",
        "Look at the log of the server, or take another §model.read.",
    ),
    "other-server-model": Refusal(
        "two models behind one name; a first question that gets another answer than before, of another model or by "
        "chance",
        "two models in one table",
        "Take a name that only one model has, and another file of answers.",
    ),
    "damaged-answers": Refusal(
        "a file of answers that is damaged, of another program or version, or that holds another answer than was kept",
        "made-up answers",
        "Move the file away, or name another with §model.cache.",
    ),
    "request-limit": Refusal(
        "more requests than `§model.max_requests`",
        "more is paid than was meant",
        "Raise §model.max_requests; the answers so far are kept.",
    ),
    "never-trained": Refusal(
        "training a model that is only asked",
        "nothing is learnt",
        "Measure it with evaluate.py.",
    ),
}

RUNS = {
    "not-a-run": Refusal(
        "a folder that is not one of a run",
        "a traceback",
        "Name a folder that train.py or evaluate.py wrote.",
    ),
    "folder-taken": Refusal(
        "two processes in one folder; a folder that holds something else; an evaluation over another one",
        "whoever writes last wins",
        "Name another folder.",
    ),
    "nothing-to-export": Refusal(
        "a card of a model that nobody trained here: a function, a server, a file of answers, a model in context",
        "a folder on the hub without weights, or with those of another model",
        "Name a run of train.py, or an evaluation of one.",
    ),
    "unfinished-run": Refusal(
        "a card, and numbers, of a run that has not ended",
        "others take a model for what it will never be",
        "Wait for its end; where it was stopped, go on with it: §resume.",
    ),
    "missing-run-file": Refusal(
        "a folder of a run without a file that the run wrote",
        "another model, or other settings, under this name",
        "Copy the whole folder of the run.",
    ),
    "changed-run-file": Refusal(
        "files of a run that are not those that it wrote: checkpoint, backbone, config.yaml, results.json",
        "permuted words, or another model under this name",
        "Bring the file back that was written, or begin a new run.",
    ),
    "finished-run": Refusal(
        "any change to a finished run",
        "it is no longer what its results are of",
        "Begin a new run.",
    ),
    "resumed-setting": Refusal(
        "going on with another learning rate, seed, backbone, monitor and the like, which the checkpoint has",
        "config.yaml says what was not done",
        "Leave it as it was, or begin a new run.",
    ),
    "command-line-only": Refusal(
        "folders, packages and other data sets that a file of settings names, where only the command line may",
        "a configuration of somebody else writes where it likes",
        "Type it on the command line.",
    ),
    "foreign-class": Refusal(
        "classes in YAML that are not data modules, models, callbacks, loggers, strategies and the like; functions",
        "code that you did not choose runs",
        "Name a class of the kind that the setting takes.",
    ),
    "lost-process": Refusal(
        "waiting for a process that has ended; the others end with one sentence",
        "a traceback, or waiting for ever",
        "Start the command again; a training goes on with §resume RUN.",
    ),
    "missing-engine": Refusal(
        "an evaluation in a Trainer without Engine or without paired data",
        "it does nothing, in silence",
        "Add them: Trainer(callbacks=[Attentiveness(), Engine()]), and a datamodule.",
    ),
    "missing-predictions": Refusal(
        "examples that were not predicted, or twice; changes that were made twice",
        "a mean over other examples",
        "Start again; if it comes back, report it.",
    ),
    "no-labels-for-it": Refusal(
        "an evaluation of labels, or of their probabilities, that the model or the data do not have",
        "causal effects of something else",
        "Leave that evaluation out, or take data with these labels.",
    ),
    "other-hypothesis-model": Refusal(
        "a model of the hypothesis alone that was measured on other examples, or that reads the table",
        "examples are left out by another model",
        "Evaluate that model with the same folders and the same seed.",
    ),
    "bad-suite": Refusal(
        "a file of a suite that contradicts itself, or names a model twice",
        "a ranking of models that were not treated alike",
        "Mend the file.",
    ),
    "other-suite": Refusal(
        "results in the folder of a suite that were made with other settings, files or weights",
        "a ranking of models that were not treated alike",
        "Move the folder away, or name another with §output.",
    ),
    "failed-step": Refusal(
        "going on behind a step of a suite that failed or is missing",
        "a ranking that lacks a model",
        "Mend what its log says; the same command goes on from there.",
    ),
}

RESULTS = {
    "damaged-results": Refusal(
        "a results.json, run.json or file of rows that was not written by Heedful, or with a number that cannot be",
        "a table of nonsense",
        "Bring the file back, or evaluate again.",
    ),
    "other-schema": Refusal(
        "files of a schema that this version does not read",
        "columns are taken for others",
        "Evaluate again, or read them with the version that wrote them.",
    ),
    "damaged-rows": Refusal(
        "rows that the engine cannot have written: another answer than the base row, other counts, probabilities that "
        "do not sum to 1, an order that is none",
        "accuracy 100 % of rows in which the answer is the gold label",
        "Evaluate again.",
    ),
    "other-rows": Refusal(
        "rows that results.json does not name by their sha256: cut, copied in, edited (`§accept_rows` takes them, and "
        "flags all numbers); files of rows beside each other that are not of one evaluation",
        "numbers that no rows support",
        "Evaluate again.",
    ),
    "missing-rows": Refusal(
        "a folder without the rows that a number or a figure needs",
        "an empty table",
        "Evaluate again, with that evaluation among §evaluations.",
    ),
    "not-measured": Refusal(
        "a folder that does not hold the number that is asked for",
        "an empty figure",
        "Evaluate again, with that evaluation among §evaluations.",
    ),
    "several-numbers": Refusal(
        "a few words that name several numbers; results of several prompts where those of one are asked for",
        "the number of another part, or of another prompt",
        "Name the part, the statistic, the slice or the data set as well.",
    ),
    "requirement-missed": Refusal(
        "a requirement that the interval of a number does not meet, though its value may",
        "a model passes by luck",
        "Improve the model, measure on more examples, or require less.",
    ),
    "undecided": Refusal(
        "a requirement on a number that has no interval",
        "a model passes by a value that nobody knows how sure it is",
        "Measure it on more examples, or require another number.",
    ),
    "two-numbers": Refusal(
        "two numbers of one name",
        "a table shows the number of another statistic",
        "Rename the label, part or column in it.",
    ),
    "other-examples": Refusal(
        "comparing runs on different examples, draws, seeds or interventions pair by pair (in a ranking also where a "
        "model writes no label for an example, which is then not explained: attributions/without_label)",
        "a difference of unrelated pairs, with an interval",
        "Evaluate both on the same examples, with the same seed and settings.",
    ),
    "incomparable-runs": Refusal(
        "averaging or ranking runs of different models, default labels, folds or ways of training, or one run twice",
        '"mean of 2 runs 66.50 ± 0.00"',
        "Name runs that differ in their seed alone.",
    ),
    "too-few-runs": Refusal(
        "a report of fewer runs than it needs",
        "an order of one",
        "Name more folders.",
    ),
    "nothing-to-show": Refusal(
        "a sheet, a figure, a table or a ranking of which nothing is left",
        "an empty picture",
        "Name a run that holds more.",
    ),
    "bad-sheet": Refusal(
        "a sheet that people filled in with something else than yes and no, or in which a case stands twice",
        "one annotator agrees with himself",
        "Mend the row.",
    ),
    "other-sheet": Refusal(
        "a sheet that is scored on a run with other predictions or other partners, or beside a sheet of other cases",
        "people judged other inputs",
        "Score it on the run that it was made of.",
    ),
    "broken-factor": Refusal(
        "a factor of your own that cannot be imported, that fails, or that gives something else than a number or None",
        "a correlation over some of the examples",
        "Mend its module, or start beside it.",
    ),
}

SECTIONS = {
    "Settings": SETTINGS,
    "Data": DATA,
    "Models": MODELS,
    "Servers": SERVERS,
    "Runs": RUNS,
    "Results": RESULTS,
}
REFUSALS = {code: refusal for section in SECTIONS.values() for code, refusal in section.items()}


def with_tables(page: str) -> str:
    """A page in Markdown whose headings that are named like sections have the tables of those sections behind them."""
    for section, refusals in SECTIONS.items():
        rows = [f"| `{code}` | {' | '.join(refusal)} |" for code, refusal in refusals.items()]
        table = "\n".join(["| code | refused | since otherwise | what to do |", "|---|---|---|---|", *rows, ""])
        table = SETTING.sub(r"--\1", table.replace("§model.", "§endpoint.") if section == "Servers" else table)
        before = rf"(?<=^## {section}\n\n)(\|.*\n)*"
        page = re.sub(before, table.replace("\\", r"\\"), page, flags=re.MULTILINE)
    return page


def write_page(path: str = "docs/refusals.md") -> None:
    """Write the tables into the page."""
    Path(path).write_text(with_tables(Path(path).read_text()))
