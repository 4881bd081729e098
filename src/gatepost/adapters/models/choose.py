"""
Which model a configuration means.

    demo              the built-in one
    openai:NAME       OpenAI, or any server that speaks its chat-completions protocol, at `base_url`
    anthropic:NAME    Anthropic
    ollama:NAME       Ollama on this machine, or at `base_url`

A model whose key is missing is stood in for by the demo, which says so. A server of one's own need not have a key.
Libraries are imported when they are needed, because that takes most of a second.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from gatepost.adapters.models.demo import DemoModel
from gatepost.core.agent import DEMO, ModelChoice
from gatepost.errors import Invalid, Unavailable
from gatepost.ports import Model

if TYPE_CHECKING:
    import httpx2

#: seconds to wait for a connection, and for a server that says nothing at all
_CONNECT: Final = 10.0
SILENCE: Final = 60.0

_PROVIDERS: Final = ("openai", "anthropic", "ollama")
_OLLAMA: Final = "http://127.0.0.1:11434/v1"
#: for servers that ask for no key, where the library insists on one
_NO_KEY: Final = "none"


def open_model(choice: ModelChoice, environ: Mapping[str, str], *, silence: float = SILENCE) -> Model:
    """Open the model, or the demo in its place. Nothing is asked of it yet."""
    if choice.name == DEMO:
        return DemoModel()
    provider, _, name = choice.name.partition(":")
    if provider not in _PROVIDERS or not name:
        raise Invalid(f"{choice.name!r} is not a model", hint="use openai:NAME, anthropic:NAME, ollama:NAME or demo")
    url = _url(choice, environ)
    if url is not None and not url.startswith(("http://", "https://")):
        raise Invalid(f"the address for {choice.name!r} is none", hint="it begins with http:// or https://")
    if (variable := missing_key(choice, environ)) is not None:
        return DemoModel(f"{DEMO} (no {variable})")
    key = environ.get(_variable(choice), "").strip() or _NO_KEY
    try:
        match provider:
            case "openai":
                return _openai(choice.name, name, url, key, silence)
            case "ollama":
                return _ollama(choice.name, name, url, key, silence)
            case _:
                return _anthropic(choice.name, name, url, key, silence)
    except ImportError:
        extra = "anthropic" if provider == "anthropic" else "openai"
        raise Unavailable(f"{choice.name!r} needs its library", hint=f"pip install 'gatepost[{extra}]'") from None


def missing_key(choice: ModelChoice, environ: Mapping[str, str]) -> str | None:
    """The variable that should hold the model's key and does not; None where it does, or none is needed."""
    needed = _provider(choice) in _PROVIDERS and (choice.key_env or _url(choice, environ) is None)
    return _variable(choice) if needed and not environ.get(_variable(choice), "").strip() else None


def _url(choice: ModelChoice, environ: Mapping[str, str]) -> str | None:
    provider = _provider(choice)
    usual = _OLLAMA if provider == "ollama" else None
    return choice.base_url or environ.get(f"{provider.upper()}_BASE_URL") or usual


def _variable(choice: ModelChoice) -> str:
    return choice.key_env or f"{_provider(choice).upper()}_API_KEY"


def _provider(choice: ModelChoice) -> str:
    return choice.name.partition(":")[0]


def _openai(label: str, name: str, url: str | None, key: str, silence: float) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    from gatepost.adapters.models.provider import PydanticModel

    client = AsyncOpenAI(api_key=key, base_url=url, max_retries=0, timeout=_timeout(silence))
    provider = (
        OpenAICompatibleProvider("openai-compatible", openai_client=client)
        if url
        else OpenAIProvider(openai_client=client)
    )
    return PydanticModel(OpenAIChatModel(name, provider=provider), label, finishes=True, close=client.close)


def _ollama(label: str, name: str, url: str | None, key: str, silence: float) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.providers.ollama import OllamaProvider

    from gatepost.adapters.models.provider import PydanticModel

    client = AsyncOpenAI(api_key=key, base_url=url, max_retries=0, timeout=_timeout(silence))
    return PydanticModel(OllamaModel(name, provider=OllamaProvider(openai_client=client)), label, close=client.close)


def _anthropic(label: str, name: str, url: str | None, key: str, silence: float) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    from gatepost.adapters.models.provider import PydanticModel

    client = AsyncAnthropic(api_key=key, base_url=url, max_retries=0, timeout=_timeout(silence))
    model = AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))
    return PydanticModel(model, label, finishes=True, marks_failures=True, close=client.close)


def _timeout(silence: float) -> "httpx2.Timeout":
    import httpx2

    return httpx2.Timeout(silence, connect=_CONNECT)
