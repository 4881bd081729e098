"""
What a model needs where it runs: the library of its provider, and its key in a variable.

A model without its library fails in every cycle, and the demo replaces a model without its key. Both would show only
when the agent thinks, so whoever configures it is told before. A server at a `base_url` may need no key.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final, NamedTuple

from gatepost.residents.agent_config import ModelChoice

#: the extra of the package that installs the library of a provider, and the modules it brings
_LIBRARIES: Final = {
    "openai": ("openai", ("openai", "pydantic_ai")),
    "ollama": ("openai", ("openai", "pydantic_ai")),
    "anthropic": ("anthropic", ("anthropic", "pydantic_ai")),
}
PROVIDERS: Final = tuple(_LIBRARIES)
_OLLAMA_URL: Final = "http://127.0.0.1:11434/v1"


class ModelProblem(NamedTuple):
    """What a model lacks, and the command or variable that mends it."""

    message: str
    fix: str


def find_problem(choice: ModelChoice, environ: Mapping[str, str]) -> ModelProblem | None:
    """Return what a model, or else its fallback, lacks in this process and the given environment."""
    if (problem := _find_own_problem(choice, environ)) is not None or choice.fallback is None:
        return problem
    return _find_own_problem(ModelChoice(name=choice.fallback), environ)


def _find_own_problem(choice: ModelChoice, environ: Mapping[str, str]) -> ModelProblem | None:
    if not has_library(choice):
        return ModelProblem(f"{choice.name} needs a library that is not installed", get_install_command(choice))
    if (variable := find_missing_key(choice, environ)) is not None:
        message = f"{variable} is not set, so the demo replaces {choice.name}"
        return ModelProblem(message, f"set {variable} where the gateway runs, and start it again")
    return None


def has_library(choice: ModelChoice) -> bool:
    _, modules = _LIBRARIES.get(get_provider_name(choice), ("", ()))
    return all(find_spec(module) is not None for module in modules)


def get_install_command(choice: ModelChoice) -> str:
    """Return the command that installs the library of a model."""
    return f"pip install 'gatepost[{_LIBRARIES[get_provider_name(choice)][0]}]'"


def find_missing_key(choice: ModelChoice, environ: Mapping[str, str]) -> str | None:
    """Return the variable that should hold the key of the model but is empty; None if it is set or not needed."""
    variable = get_key_variable(choice)
    has_provider = get_provider_name(choice) in PROVIDERS
    is_key_needed = has_provider and (choice.key_env or get_base_url(choice, environ) is None)
    return variable if is_key_needed and not environ.get(variable, "").strip() else None


def get_base_url(choice: ModelChoice, environ: Mapping[str, str]) -> str | None:
    provider = get_provider_name(choice)
    default_url = _OLLAMA_URL if provider == "ollama" else None
    return choice.base_url or environ.get(f"{provider.upper()}_BASE_URL") or default_url


def get_key_variable(choice: ModelChoice) -> str:
    return choice.key_env or f"{get_provider_name(choice).upper()}_API_KEY"


def get_provider_name(choice: ModelChoice) -> str:
    return choice.name.partition(":")[0]
