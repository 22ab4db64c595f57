"""The command that evaluates: evaluate.py says how it is used."""

import sys

from heedful.assembly.evaluation import evaluated
from heedful.assembly.prompting import Requests
from heedful.assembly.starts import is_first
from heedful.cli.app import HeedfulCLI
from heedful.cli.model_forms import with_run
from heedful.cli.runs import with_packages
from heedful.cli.short_forms import expand


def main(argv: list[str] | None = None) -> None:
    job = HeedfulCLI(True, expand(with_run(with_packages(sys.argv[1:] if argv is None else argv)))).job
    results = evaluated(job)
    if not is_first():
        return
    if isinstance(results, Requests):
        print(results)
    else:
        results.show()
