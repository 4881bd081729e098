"""Checks of what agents, triggers and rules name: a model that cannot be opened, an address with nobody there."""

import os
from collections.abc import Iterator
from functools import partial
from typing import Final

from gatepost import app
from gatepost.channels import provider_plugins as plugins
from gatepost.channels.background.trigger_readers import find_trigger_token
from gatepost.channels.routing import recipient_choice_actions as recipients, rule_actions as routing_rules
from gatepost.channels.routing.rule import ANY_CHANNEL
from gatepost.channels.triggers import actions as triggers, gatepost_toml_actions as file_triggers
from gatepost.channels.triggers.trigger import DEFAULT_TARGET, USER_AGENT
from gatepost.cli import output
from gatepost.cli.doctor.finding import Finding
from gatepost.cli.gateway_or_store import connect, find_gateway
from gatepost.core.dry_run import dry_run_sync
from gatepost.core.ports import Reader, Store
from gatepost.errors import GatepostError, Unavailable
from gatepost.mail import work_actions as work
from gatepost.residents.agent_api import ListAgents, ShowAgent
from gatepost.settings import FILE, Configuration

_NOTIFY_HINT: Final = (
    "register them with `gatepost agent add NAME` or `gatepost person add NAME`, or change work.notify"
)
#: triggers, rules and agents that are looked at
_LIMIT: Final = 10_000


def check_notify(_: Configuration, store: Store) -> Iterator[Finding]:
    """Check that every rule of `work.notify` names entities."""
    unknown_names = store.read_sync(work.find_unknown_names)
    names = ", ".join(f"{target!r} (for {pattern})" for pattern, target in unknown_names)
    detail = f"no such entity: {names}" if names else "every rule names entities"
    yield Finding("notify", not unknown_names, detail, _NOTIFY_HINT)


def check_triggers(configuration: Configuration, store: Store) -> Iterator[Finding]:
    """Check the triggers of the settings file, and that all others work and reach somebody."""
    in_file = app.build_file_triggers(configuration)
    problems: list[Finding] = []
    for trigger, secret in in_file:
        try:
            dry_run_sync(store, file_triggers.apply, trigger, secret)
        except Unavailable:
            raise
        except GatepostError as error:
            detail = f"{trigger.name} in {FILE} is not used: {error.message}"
            problems.append(Finding("triggers", False, detail, error.hint))
    problems += store.read_sync(_find_broken_triggers, has_gateway=find_gateway(configuration) is not None)
    yield from problems
    if in_file and not problems:
        yield Finding("triggers", True, f"{output.count(len(in_file), 'trigger')} in {FILE}")


def check_voice(configuration: Configuration, store: Store) -> Iterator[Finding]:
    """Say which bots take voice messages that nothing transcribes."""
    bots = [
        trigger.name
        for trigger in store.read_sync(triggers.list_page, limit=_LIMIT)
        if trigger.active and trigger.is_built_in_channel
    ]
    if bots and configuration.settings.speech.url is None:
        detail = f"off: voice messages to {', '.join(bots)} are passed on without their words, until speech.url is set"
        yield Finding("speech", True, detail)


def _find_broken_triggers(tx: Reader, *, has_gateway: bool) -> list[Finding]:
    """
    Return the active triggers that do not work, or whose token is missing, and those whose events nobody would get. A
    gateway that runs has the tokens, and says itself what does not work.
    """
    findings = []
    rules = [rule for rule in routing_rules.list_rules(tx, by=None, limit=_LIMIT) if rule.active]
    for trigger in triggers.list_page(tx, limit=_LIMIT):
        if not trigger.active:
            continue
        targets = [trigger.target] if trigger.target is not None else [USER_AGENT, DEFAULT_TARGET]
        for rule in rules:
            targets += rule.targets if rule.channel in (ANY_CHANNEL, trigger.provider) else ()
        if trigger.error is not None:
            hint = f"see `gatepost trigger show {trigger.name}`"
            findings.append(Finding("triggers", False, f"{trigger.name} does not work: {trigger.error}", hint))
        elif not has_gateway:
            try:
                find_trigger_token(trigger, triggers.read_secret(tx, trigger), partial(app.find_token, os.environ))
            except Unavailable as error:
                findings.append(Finding.of_error("triggers", error))
        if not any(recipients.has_recipients(tx, target) for target in targets):
            target = f"{trigger.target!r}" if trigger.target is not None else f"{USER_AGENT!r} or {DEFAULT_TARGET!r}"
            detail = f"{trigger.name} reaches nobody: there is no {target}, and no rule for it"
            hint = f"name somebody with `gatepost trigger set {trigger.name} --to NAME`"
            findings.append(Finding("triggers", False, detail, hint))
    return findings


def check_routes(_: Configuration, store: Store) -> Iterator[Finding]:
    """Check that every target of an active routing rule has somebody."""

    def find_empty_targets(tx: Reader) -> tuple[int, list[tuple[str, str]]]:
        rules = [rule for rule in routing_rules.list_rules(tx, by=None, limit=_LIMIT) if rule.active]
        pairs = [(rule.name, target) for rule in rules for target in rule.targets]
        return len(rules), [pair for pair in pairs if not recipients.has_recipients(tx, pair[1])]

    count, empty_targets = store.read_sync(find_empty_targets)
    for name, target in empty_targets:
        detail = f"the rule {name} names {target!r}, and nobody is there"
        hint = f"change it with `gatepost trigger route set {name} --to NAME`"
        yield Finding("routes", False, detail, hint)
    if count and not empty_targets:
        yield Finding("routes", True, f"{output.count(count, 'rule')}, and each names somebody")


def check_providers(_: Configuration, store: Store) -> Iterator[Finding]:
    """Check the providers of other packages, if there are any or a trigger needs one."""
    loaded = plugins.load_providers()
    rows = store.read_sync(triggers.list_page, limit=_LIMIT)
    problems = dict(loaded.problems)
    for row in rows:
        if row.active and (problem := plugins.find_problem(row.provider, loaded)) is not None:
            problems[row.provider] = f"{problem}, which the trigger {row.name!r} needs"
    for problem in problems.values():
        yield Finding("providers", False, problem, "install its package where the gateway runs, or disable the trigger")
    if loaded.providers and not problems:
        yield Finding("providers", True, ", ".join(loaded.providers))


def check_models(configuration: Configuration, _: Store) -> Iterator[Finding]:
    """Check that residents have the libraries and keys of their models, where the gateway runs if one does."""
    with connect(configuration) as connection:
        names = [agent.name for agent in connection.list_all(ListAgents(), _LIMIT) if agent.resident]
        agents = [connection.send(ShowAgent(name=name)) for name in names]
    problems = [(agent.name, agent.model_problem) for agent in agents if agent.model_problem is not None]
    for name, problem in problems:
        yield Finding("models", False, f"{name}: {problem.message}", problem.fix)
    if agents and not problems:
        yield Finding("models", True, f"{output.count(len(agents), 'resident')}, and no model lacks anything")
