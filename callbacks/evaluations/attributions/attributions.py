"""The evaluation "attributions": contributions of words to a prediction (Singhal et al. 2023, §3)."""

import re
from typing import Literal

from heedful.callbacks.engine.evaluation import NEEDS_GOLD, Evaluation, Nothing, Plan, Setting, require_number
from heedful.callbacks.engine.inquiry import Subwords
from heedful.callbacks.evaluations.attributions.attribution_inquiry import AttributionInquiry
from heedful.interventions import Swap
from heedful.lightning_modules.outputs import Scale
from heedful.metrics import METRICS
from heedful.metrics.attributions.attribution import GRADIENTS
from heedful.metrics.attributions.methods import METHODS
from heedful.metrics.attributions.metric import AttributionSettings
from heedful.records import SettingError
from heedful.records.errors import suggestion
from heedful.records.rows import SPLIT


class Attributions(Evaluation):
    """Contribution (phi) of every word to the probability of the prediction, computed by masking words or by gradients.

    The examples are the same for every model. The evaluation runs only if ``--evaluations`` names it. results.json
    counts three kinds of examples:

    - "without_label": there is no label to explain, and the example is omitted;
    - "truncated": phi of a truncated word is 0 up to the error of the method;
    - "shap_scarce": ``samples`` is less than twice the words and separators, and SHAP shrinks phi towards equal values.

    Args:
        methods: lime, shap, owen, gradients, or several.
        samples: Largest number of masks for each example and method.
        examples: Number of examples to explain; null for all.
        steps: Number of integration points for gradients, each a forward and backward pass.
        explain: Explain the probability of the prediction, or of the gold label.
        scale: Explain a probability, or its log-odds.
        hide: Replace every token of a hidden word by the mask token (mask), or delete the word (delete).
        subwords: How the gradients of the tokens of a word are combined.
        shown: Number of examples that are also explained with a swapped part; the page shows up to ten pairs.
    """

    metric = METRICS["attributions"]
    by_default = False

    def __init__(
        self,
        methods: list[str] | str = "shap",
        samples: int = 256,
        examples: int | None = 100,
        steps: int = 32,
        explain: Literal["prediction", "gold"] = "prediction",
        scale: Scale = "probability",
        hide: Literal["mask", "delete"] = "mask",
        subwords: Subwords = "sum",
        shown: int = 10,
    ) -> None:
        all_methods = (*METHODS, GRADIENTS)
        methods = re.findall(r"[^\s,]+", methods) if isinstance(methods, str) else methods
        if unknown := [name for name in methods if name not in all_methods]:
            raise SettingError(
                f"attributions.methods {unknown[0]} does not exist. {suggestion(unknown[0], all_methods)}"
            )
        require_number("attributions.samples", samples, least=2)
        require_number("attributions.examples", examples)
        require_number("attributions.steps", steps)
        require_number("attributions.shown", shown, least=0)
        if hide == "delete" and GRADIENTS in methods:
            raise SettingError(
                "attributions.hide delete makes inputs shorter, and gradients go from masked words to the words. "
                "Leave gradients out, or take mask."
            )
        self.methods = tuple(dict.fromkeys(methods))
        self.samples = samples
        self.examples = examples
        self.steps = steps
        self.explain = explain
        self.scale = scale
        self.hide = hide
        self.subwords = subwords
        self.shown = shown

    def plan(self, setting: Setting) -> Plan | Nothing:
        if not self.methods:
            return Nothing("needs attributions.methods")
        data = setting.data
        if not (data.task.kind.has_labels and data.task.kind.exclusive) or data.task.pictures:
            return Nothing("explains classifiers of texts")
        if self.explain == "gold" and data.pool.is_unlabelled:
            return Nothing(f"{NEEDS_GOLD}: attributions.explain gold")
        within = SPLIT if data.splits_evaluated else None
        swaps = tuple(Swap(part, None, 1, within=within) for part in data.swap)
        inquiry = AttributionInquiry(
            methods=tuple(sorted(self.methods)),
            samples=self.samples,
            steps=self.steps,
            limit=self.examples,
            shown=self.shown if swaps else 0,
            swaps=swaps,
            gold=self.explain == "gold",
            scale=self.scale,
            delete=self.hide == "delete",
            subwords=self.subwords,
        )
        return Plan(data.pool, settings=AttributionSettings(self.scale), inquiry=inquiry)
