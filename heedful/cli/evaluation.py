"""The command line of evaluate.py."""

from collections.abc import Sequence

from heedful.assembly.evaluation import configured, evaluated
from heedful.assembly.prompting import Requests
from heedful.assembly.starts import is_first
from heedful.assembly.trainers import allowing
from heedful.cli.words import split_words
from heedful.records.parser import dump


def main(words: Sequence[str]) -> None:
    """Evaluate a model with the settings on the command line."""
    options, call = split_words(True, words)
    with allowing(options.allow_package):
        config = configured(call, options.config, options.checkpoint)
        if options.print_config:
            print(dump(config.as_dict()), end="")
            return
        results = evaluated(config)
    if not is_first():
        return
    if isinstance(results, Requests):
        print(results)
    else:
        results.show()
