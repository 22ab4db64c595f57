"""A model behind a server, named in Python alone: where it is, what it is called, and how it is asked."""

from typing import Any

from heedful.lightning_modules import Endpoint as EndpointModel
from heedful.lightning_modules.prompted.requests.client import Address
from heedful.records import SettingError
from heedful.records.parser import construct
from heedful.records.prompts.wording import Wording


def Endpoint(  # named as the class that it makes
    url: str | None = None,
    model: str | None = None,
    prompt: str | Wording | None = None,
    key: str | None = None,
    **settings: Any,
) -> EndpointModel:
    """A model behind a server that speaks the OpenAI protocol, such as vLLM, SGLang or ``transformers serve``.

    It is what evaluate.py takes as ``--endpoint``, with the same results. Address and key are kept with the object
    alone: no file, log or message has them.

    Args:
        url: Base URL of the server; by default the one in OPENAI_BASE_URL, or else that of OpenAI.
        model: Name of the model at the server.
        prompt: The question, with each part as its name in braces; a brace that is meant is written twice. Where it
            does not name all labels, "Answer with one of: ..." stands before it. A
            ``heedful.records.prompts.wording.Wording`` is taken as it is, and says which texts stand for the
            labels. By default the first prompt of the data, or else plain words.
        key: The key; by default the one in OPENAI_API_KEY, which a server on this machine does not need. "" for none.
        **settings: Further settings of ``heedful.lightning_modules.Endpoint``, such as ``max_requests=5000``.

    Returns:
        The model, for ``heedful.assembly.evaluation.evaluate``. Nothing is sent before that.

    Raises:
        HeedfulError: There is no model, or a setting is unknown or of another type.

    Examples:
        >>> made = Endpoint("http://localhost:8000/v1", "qwen", "{premise} Is it true that {hypothesis}?", seed=1)
        >>> made.name, made.seed
        ('qwen', 1)
    """
    _require_texts(url=url, model=model, key=key)
    if not model:
        raise SettingError("model, the name of the model at the server, is not given.")
    if "name" in settings:
        raise SettingError("There is no setting name here. The name of the model is model.")
    own_settings = {"name": model} | ({} if prompt is None else {"prompt": prompt})
    made: EndpointModel = construct(EndpointModel, "Endpoint", {**own_settings, **settings})
    return made.at(Address(url, key, ("url", "key")))


def _require_texts(**arguments: Any) -> None:
    """Refuse what is not a text, without showing it: it may be a key."""
    for name, value in arguments.items():
        if not isinstance(value, str | None):
            raise SettingError(f"{name} is a {type(value).__name__}, and not a text.")
