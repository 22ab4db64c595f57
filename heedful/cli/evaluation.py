"""The command line of evaluate.py."""

from collections.abc import Sequence

from heedful.assembly import evaluation
from heedful.assembly.prompting import Requests
from heedful.assembly.starts import is_first
from heedful.assembly.trainers import allowing
from heedful.cli.words import arguments_of, split_options
from heedful.records.parser import dump
from heedful.reports.in_context.tables import print_summary


def main(words: Sequence[str]) -> None:
    """Evaluate a model with the settings on the command line."""
    options, settings = split_options(True, words)
    with allowing(options.allow_package):
        job = evaluation.job_of(arguments_of(options), options.config, settings, checkpoint=options.checkpoint)
        if options.print_config:
            print(dump(job.record), end="")
            return
        results = evaluation.run(job)
    if not is_first():
        return
    if isinstance(results, Requests):
        print(results)
        return
    of_prompts = results if isinstance(results, list) else [results]
    if len(of_prompts) > 1 and not any(each.content["counts"].get("unlabelled") for each in of_prompts):
        print_summary([str(each.folder) for each in of_prompts])
    else:
        for each in of_prompts:
            each.show()
