"""``heedful.Endpoint``: create a model that sends requests to a server."""

from typing import Any

from heedful.lightning_modules import Endpoint as EndpointModel
from heedful.lightning_modules.prompted.requests.client import Address
from heedful.records import SettingError
from heedful.records.parser import construct
from heedful.records.prompts import Wording


def Endpoint(  # has the name of the class that it returns
    url: str | None = None,
    model: str | None = None,
    prompt: str | Wording | None = None,
    key: str | None = None,
    **settings: Any,
) -> EndpointModel:
    """Create a model behind a server that speaks the OpenAI protocol, such as vLLM, SGLang or ``transformers serve``.

    ``evaluate.py --endpoint`` measures the same models. No file, log or message contains the address or the key.

    Args:
        url: Base URL of the server; by default the environment variable OPENAI_BASE_URL, or else OpenAI.
        model: Name of the model at the server.
        prompt: The question as a template, such as "{premise} Is it true that {hypothesis}?"; literal braces are
            doubled. "Answer with one of: ..." precedes a question that does not name all labels. A
            ``heedful.records.prompts.Wording`` may also map labels to other texts. By default the first prompt
            of the data, or else generic words.
        key: API key; by default the environment variable OPENAI_API_KEY, which a local server does not need. "" for
            none.
        **settings: Further settings of ``heedful.lightning_modules.Endpoint``, such as ``max_requests=5000``.

    Returns:
        The model, for ``heedful.measure`` and ``heedful.evaluate``. No request has been sent.

    Raises:
        HeedfulError: The model is missing, or a setting is unknown or of another type.

    Examples:
        >>> endpoint = Endpoint("http://localhost:8000/v1", "qwen", "{premise} Is it true that {hypothesis}?", seed=1)
        >>> endpoint.name
        'qwen'
    """
    for name, value in (("url", url), ("model", model), ("key", key)):
        if not isinstance(value, str | None):
            raise SettingError(f"{name} is a {type(value).__name__}, and not a text.")  # the value may be a key
    if not model or "name" in settings:
        raise SettingError("model is missing: give the name of the model at the server.")
    of_model = {"name": model} | ({} if prompt is None else {"prompt": prompt})
    endpoint: EndpointModel = construct(EndpointModel, "Endpoint", {**of_model, **settings})
    return endpoint.at(Address(url, key, ("url", "key")))
