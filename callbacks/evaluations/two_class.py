"""The evaluation "two_class": accuracy in the classes entailment and not entailment, on several data sets."""

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting
from heedful.callbacks.evaluations.pools import fitted, require_entailment
from heedful.datamodules.base.pairs import Pairs
from heedful.metrics import METRICS
from heedful.records import DataError, Examples, HeedfulError, SettingError


class TwoClass(Evaluation):
    """Accuracy on further data sets of natural language inference in the classes entailment and not entailment.

    All labels except entailment are one class, so the labels of the model and of a data set may differ.

    Args:
        benchmarks: Maps names of data sets to their paths, or to null for the hub: {snli: null, med: FILE}. All
            examples are predicted; trainer.limit_val_batches does not limit them.
    """

    metric = METRICS["two_class"]
    brings_examples = True

    def __init__(self, benchmarks: dict[str, str | None] | None = None) -> None:
        self.benchmarks = benchmarks or {}

    def plan(self, setting: Setting) -> Plan | Nothing:
        if not self.benchmarks:
            return Nothing("needs two_class.benchmarks, data sets with their paths")
        setting.require_probabilities("two_class.benchmarks")
        modules: dict[str, Pairs] = {}
        for benchmark, path in self.benchmarks.items():
            flag = f"two_class.benchmarks {benchmark}"
            try:
                module = setting.read(benchmark, path)
            except HeedfulError as error:
                raise error.at(flag) from None
            require_entailment(module.task.labels, flag)
            if module.pool.is_unlabelled:
                raise DataError(
                    f"{flag}: its examples have no gold labels, which accuracy needs. Take data with gold labels."
                )
            if modules.setdefault(module.name, module) is not module:
                raise SettingError(
                    f"{flag}: two benchmarks are called {module.name} in their YAML. Rename one of them."
                )
        require_entailment(setting.data.task.labels, "two_class.benchmarks with this model")
        pool = Examples.concatenate([fitted(module.pool, setting.data) for module in modules.values()])
        return Plan(pool, needs_probabilities=True)
