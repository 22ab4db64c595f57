"""What counterfactual pictures cost: each is decoded and encoded once, however many draws there are.

python -m benchmarks.pictures --data DIR/easy_vqa --examples 1000

(0)  Base predictions and the null control alone.
(1)  With one draw for each example.
(5)  With five.
(n)  Five draws as one would write them without Heedful: every picture of every example is decoded, resized and encoded.

Every variant begins with nothing decoded. "Forward" is the share of the wall time within the networks; "decode" within
Pillow; what is left are tokens, batches, rows, metrics and files.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from benchmarks import ours
from benchmarks.measure import Spread, arguments, interleave, machine_line, parse, quiet, ratio, save, table, verdict
from heedful.callbacks import Accuracy, Attentiveness
from heedful.lightning_modules import LateFusion

NAMES = {"0": "(0) no draws", "1": "(1) one draw", "5": "(5) five draws", "n": "(n) five, each anew"}


class Watch:
    """Counts and times the calls of networks and of the decoder."""

    def __init__(self) -> None:
        self.pictures = 0
        self.seconds = {"forward": 0.0, "decode": 0.0}
        self._began = 0.0

    def network(self, network: nn.Module, pictures: bool) -> None:
        """Watch a network; of one for pictures, count them."""

        def before(_: nn.Module, given: tuple[Any, ...]) -> None:
            self.pictures += len(given[0]) if pictures else 0
            self._began = time.perf_counter()

        def after(*_: Any) -> None:
            self.seconds["forward"] += time.perf_counter() - self._began

        self._handles = [*getattr(self, "_handles", []), network.register_forward_pre_hook(before)]
        self._handles.append(network.register_forward_hook(after))

    def decoder(self, module: LateFusion) -> None:
        """Watch the decoder of a model."""
        store = module.processor.store
        decode = store._decode

        def watched(numbers: Sequence[int]) -> list[Any]:
            start = time.perf_counter()
            found = decode(numbers)
            self.seconds["decode"] += time.perf_counter() - start
            return found

        store._decode = watched

    def close(self) -> None:
        """Watch no longer."""
        for handle in self._handles:
            handle.remove()


@dataclass
class Run:
    """One evaluation: seconds of all, of forward passes and of decoding; pictures that were decoded and encoded."""

    whole: float
    forward: float
    decode: float
    decoded: int
    encoded: int


class Anew(LateFusion):
    """Keeps neither pixels nor features."""

    def _encoded(self, numbers: list[int]) -> torch.Tensor:
        return self._encode(numbers).to(self.device)

    def on_validation_start(self) -> None:
        pass


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print, and return what was measured."""
    parser = arguments(__doc__.splitlines()[0], 1000, 3, "easy_vqa")
    parser.add_argument("--size", type=int, default=224, help="height and width of the resized pictures")
    options = parse(parser, argv)
    data = ours.questions(options.data, max_validation=options.examples, max_train=1)
    data.setup("validate")
    size = [options.size, options.size]

    def run(draws: int, kind: type[LateFusion] = LateFusion) -> Run:
        torch.manual_seed(0)
        module = ours.fusion(options.model, image_size=size)
        if kind is Anew:
            module.__class__, module.cache = Anew, 0.0
        ours.ready(module, data)
        watch = Watch()
        watch.network(module.network, False)
        watch.network(module.network.vision, True)
        watch.decoder(module)
        evaluations = [Accuracy(), *([Attentiveness(draws)] if draws else [])]
        _, seconds = ours.evaluate(module, data, evaluations)
        watch.close()
        return Run(seconds["whole"], *watch.seconds.values(), module.processor.store.decoded, watch.pictures)

    with quiet():
        variants = {"0": lambda: run(0), "1": lambda: run(1), "5": lambda: run(5), "n": lambda: run(5, Anew)}
        runs = interleave(variants, options.repeats)
    distinct = len(set(data.pool.column("groups.image")))
    rows = [["", "decoded", "encoded", "seconds", "forward", "decode"]]
    found: dict[str, Any] = {"examples": len(data.pool), "pictures": distinct, "variants": {}}
    for name, made in runs.items():
        share = {what: Spread.of([getattr(r, what) / r.whole for r in made]) for what in ("forward", "decode")}
        whole = Spread.of([r.whole for r in made])
        counts = {"decoded": made[0].decoded, "encoded": made[0].encoded}
        found["variants"][name] = {"whole": whole, **counts, **share}
        shares = [f"{100 * share[what].median:.0f} %" for what in share]
        rows.append([NAMES[name], *(f"{n:,}" for n in counts.values()), whole.text(1), *shares])
    times = {name: ratio([r.whole for r in runs[name]], [r.whole for r in runs["5"]]) for name in ("0", "n")}
    print(machine_line())
    print(table(f"{len(data.pool):,} questions about {distinct:,} pictures, {options.size} x {options.size}", rows))
    print(f"(n) takes {times['n'].text()} times as long as (5), and (0) {times['0'].text()} times.")
    more = runs["5"][0].decoded - runs["0"][0].decoded
    print(verdict("pictures decoded for five draws beyond those of none", more, 0, at_least=False))
    return save(options, found | {"ratios": times})


if __name__ == "__main__":
    main()
