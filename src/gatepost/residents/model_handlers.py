"""The models that residents think with here, and what they lack in this process."""

import os

from gatepost.core.ports import Reader
from gatepost.operations.access import Caller
from gatepost.residents import agent_actions as agents, model_api as api, model_requirements as requirements
from gatepost.residents.agent_config import ModelChoice


@api.ShowModels.handler
def show_models(tx: Reader, request: api.ShowModels, caller: Caller) -> api.ModelsView:
    residents: dict[tuple[str, requirements.ModelProblem | None], list[str]] = {}
    for resident in agents.list_live(tx):
        choice = resident.config.model
        for name in filter(None, (choice.name, choice.fallback)):
            problem = requirements.find_problem(choice if name == choice.name else ModelChoice(name=name), os.environ)
            residents.setdefault((name, problem), []).append(resident.name)
    return api.ModelsView(
        providers=[_view_provider(name) for name in requirements.PROVIDERS],
        in_use=[
            api.ModelInUseView(name=name, agents=names, problem=_view_problem(problem))
            for (name, problem), names in sorted(residents.items(), key=lambda entry: entry[0][0])
        ],
    )


def view_model_problem(choice: ModelChoice) -> api.ModelProblemView | None:
    """Return what a model, or else its fallback, lacks where the answer comes from."""
    return _view_problem(requirements.find_problem(choice, os.environ))


def _view_problem(problem: requirements.ModelProblem | None) -> api.ModelProblemView | None:
    return api.ModelProblemView(message=problem.message, fix=problem.fix) if problem else None


def _view_provider(name: str) -> api.ModelProviderView:
    choice = ModelChoice(name=f"{name}:")
    variable = requirements.get_key_variable(choice)
    needs_key = requirements.get_base_url(choice, os.environ) is None
    return api.ModelProviderView(
        name=name,
        library_installed=requirements.has_library(choice),
        install=requirements.get_install_command(choice),
        key_variable=variable if needs_key else None,
        key_set=bool(os.environ.get(variable, "").strip()),
        base_url=requirements.get_base_url(choice, os.environ),
    )
