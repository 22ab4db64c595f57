"""Pilots of planned studies: what is measured before ``heedful plan`` says how many examples are enough."""

from argparse import Namespace
from pathlib import Path
from typing import NamedTuple

from heedful.assembly.evaluation import evaluated
from heedful.assembly.planning import StudyPlan, at_worst, plan_study
from heedful.assembly.prompting import Requests
from heedful.assembly.results import Results
from heedful.assembly.starts import is_first
from heedful.cli.app import HeedfulCLI
from heedful.cli.model_forms import with_run
from heedful.cli.runs import take, with_packages
from heedful.cli.short_forms import ENDPOINT, expand
from heedful.records import SPAN, RunError
from heedful.records.storage.run_files import CONFIG

BATCH = 64  # inputs at most


class Batches(NamedTuple):
    """Whole batches of a pilot.

    Example:
        >>> Batches.of(200), Batches.of(200, 64), Batches.of(1)
        (Batches(size=50, count=4), Batches(size=64, count=4), Batches(size=1, count=1))
    """

    size: int
    count: int

    @classmethod
    def of(cls, examples: int, size: int | None = None) -> "Batches":
        """As few as hold so many examples, of this size or of one that leaves few over."""
        size = size or -(-examples // -(-examples // BATCH))
        return cls(size, -(-examples // size))

    @property
    def words(self) -> list[str]:
        """The settings that have as many examples measured: a random sample, whose swaps are those of all data."""
        return ["--data.eval_batch_size", str(self.size), "--trainer.limit_val_batches", str(self.count)]


def plan(options: Namespace, words: list[str]) -> None:
    """Measure a pilot where there is none yet, and print what a study needs.

    Args:
        options: Of the command.
        words: Further ones, which are those of ``heedful evaluate``.

    Raises:
        HeedfulError: A setting makes no sense, or the pilot cannot be measured.
    """
    _plan(options, words)


def _plan(options: Namespace, words: list[str]) -> None:
    if options.runs or (options.compare and not words):
        _planned(options, options.runs or options.compare).show()
        return
    size, words = take(words, "--data.eval_batch_size")
    fixed = int(size) if size and size.isdecimal() else None
    batches = Batches.of(int(options.pilot[0]), fixed)
    models = [[]] if not options.compare else [_model(one) for one in options.compare]
    words = [*words, *batches.words]
    requests = _evaluated([*words, "--dry_run"]) if _asks_server(words) else None
    if isinstance(requests, Requests) and requests.prompts > 1:
        raise RunError("A study is planned for one prompt. Name one with prompt.names.")
    if isinstance(requests, Requests) and not options.yes:
        _print_prices(options, requests.at(_prices(options)))
        return
    pilots = [_measured([*model, *words]) for model in models]
    if is_first():
        plan = _planned(options, pilots, None if requests is None else requests.each)
        plan.show()
        _print_settings(plan, fixed)


def _asks_server(words: list[str]) -> bool:
    return any(word.partition("=")[0] == ENDPOINT for word in words)


def _model(model: str) -> list[str]:
    """The words that name one of two models: a run, or a model that was never trained here."""
    return ["--checkpoint" if (Path(model) / CONFIG).is_file() or model.endswith(".ckpt") else "--model", model]


def _prices(options: Namespace) -> tuple[float, float] | None:
    return None if options.price_in is None else (options.price_in, options.price_out)


def _planned(
    options: Namespace, pilots: list[str] | list[Results], tokens: tuple[float, float] | None = None
) -> StudyPlan:
    aim = {"width": options.width, "difference": options.difference}
    return plan_study(pilots, **aim, tokens=tokens, prices=_prices(options))


def _print_prices(options: Namespace, requests: Requests) -> None:
    """Print what a pilot asks a server for, and what a study does at worst."""
    print(f"The pilot: {requests}")
    if options.width is not None:
        print(at_worst(requests, options.width))
    print("Add --yes to measure the pilot, which says how many are enough.")
    print("Its answers are kept, and not asked for again by the study.")


def _measured(words: list[str]) -> Results:
    results = _evaluated(words)
    if not isinstance(results, Results) or results.each:
        raise RunError("A study is planned for one prompt. Name one with prompt.names.")
    return results


def _evaluated(words: list[str]) -> Results | Requests:
    """Evaluate as these words say, accuracy and attentiveness alone."""
    job = HeedfulCLI(True, expand(with_run(with_packages(words)))).job
    if job.settings.evaluations is None:
        score = "answers" if job.data.full_task.kind is SPAN else "accuracy"
        job.settings.evaluations = [score, "attentiveness"]
    return evaluated(job)


def _print_settings(plan: StudyPlan, size: int | None) -> None:
    """Print with which settings the cheapest study is measured."""
    best = plan.best
    if best is None:
        return
    draws = [] if best.draws is None else ["--attentiveness.draws", str(best.draws)]
    print(f"Fewest forwards, {best.forwards:,}: heedful evaluate with")
    score = "accuracy" if any(need.name == "accuracy" for need in plan.needs) else "answers"
    print(" ", *Batches.of(best.examples, size).words, *draws)
    print("  --evaluations", f"{score},attentiveness")
