"""
Opens the model that a configuration names.

    demo              the built-in model
    openai:NAME       OpenAI, or any server with its chat-completions protocol, at `base_url`
    anthropic:NAME    Anthropic
    ollama:NAME       Ollama on this machine, or at `base_url`

If the key of a model is missing (`residents/model_requirements.py`), the demo replaces it, and its name says so.
Libraries are imported when they are needed, because that takes most of a second.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import structlog

from gatepost.errors import Invalid, Unavailable
from gatepost.residents import model_requirements as requirements
from gatepost.residents.agent_config import DEMO, ModelChoice
from gatepost.residents.model_port import Model
from gatepost.residents.models.demo import DemoModel

if TYPE_CHECKING:
    import httpx2

log = structlog.get_logger("gatepost.models")

#: seconds to wait for a connection, and for the next bytes of an answer
_CONNECT_TIMEOUT: Final = 10.0
READ_TIMEOUT: Final = 60.0

#: for servers that need no key, because the library requires one
_PLACEHOLDER_KEY: Final = "none"


class OpenModels:
    """The open models of a process: each is opened at its first use, and all are closed together."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._models: dict[ModelChoice, Model] = {}

    async def get(self, choice: ModelChoice) -> Model:
        if choice not in self._models:  # the libraries of models take most of a second to import
            self._models[choice] = model = await asyncio.to_thread(open_model, choice, self._environ)
            if model.name != choice.name:
                log.warning("the demo replaces a model", model=choice.name, demo=model.name)
        return self._models[choice]

    async def close(self) -> None:
        for model in self._models.values():
            await model.close()


def open_model(choice: ModelChoice, environ: Mapping[str, str], *, read_timeout: float = READ_TIMEOUT) -> Model:
    """Return the model, or the demo if its key is missing. This sends no request."""
    if choice.name == DEMO:
        return DemoModel()
    provider, _, name = choice.name.partition(":")
    if provider not in requirements.PROVIDERS or not name:
        raise Invalid(f"{choice.name!r} is not a model", hint="use openai:NAME, anthropic:NAME, ollama:NAME or demo")
    url = requirements.get_base_url(choice, environ)
    if url is not None and not url.startswith(("http://", "https://")):
        raise Invalid(f"the address for {choice.name!r} is not a URL", hint="it begins with http:// or https://")
    if (variable := requirements.find_missing_key(choice, environ)) is not None:
        return DemoModel(f"{DEMO} (no {variable})")
    key = environ.get(requirements.get_key_variable(choice), "").strip() or _PLACEHOLDER_KEY
    open_client = {"openai": _open_openai, "ollama": _open_ollama, "anthropic": _open_anthropic}[provider]
    try:
        return open_client(choice.name, name, url, key, read_timeout)
    except ImportError:
        hint = requirements.get_install_command(choice)
        raise Unavailable(f"{choice.name!r} needs its library", hint=hint) from None


def _open_openai(label: str, name: str, url: str | None, key: str, read_timeout: float) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    from gatepost.residents.models.pydantic_ai_model import PydanticModel

    client = AsyncOpenAI(api_key=key, base_url=url, max_retries=0, timeout=_make_timeout(read_timeout))
    provider = (
        OpenAICompatibleProvider("openai-compatible", openai_client=client)
        if url
        else OpenAIProvider(openai_client=client)
    )
    return PydanticModel(OpenAIChatModel(name, provider=provider), label, has_finish_reason=True, close=client.close)


def _open_ollama(label: str, name: str, url: str | None, key: str, read_timeout: float) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.providers.ollama import OllamaProvider

    from gatepost.residents.models.pydantic_ai_model import PydanticModel

    client = AsyncOpenAI(api_key=key, base_url=url, max_retries=0, timeout=_make_timeout(read_timeout))
    return PydanticModel(OllamaModel(name, provider=OllamaProvider(openai_client=client)), label, close=client.close)


def _open_anthropic(label: str, name: str, url: str | None, key: str, read_timeout: float) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    from gatepost.residents.models.pydantic_ai_model import PydanticModel

    client = AsyncAnthropic(api_key=key, base_url=url, max_retries=0, timeout=_make_timeout(read_timeout))
    model = AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))
    return PydanticModel(model, label, has_finish_reason=True, can_mark_failures=True, close=client.close)


def _make_timeout(read_timeout: float) -> "httpx2.Timeout":
    import httpx2

    return httpx2.Timeout(read_timeout, connect=_CONNECT_TIMEOUT)
