"""
What is wrong with the words of a command, in one sentence, and what was probably meant.

A word that is no command may be misspelt, may be a verb without its noun (`gatepost push`), or may be the word that
another program has for it (`ls`, `delete`). An option may have one hyphen, or a long dash that an editor has made of
two.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

import click

from gatepost.errors import Invalid, quote_value

#: words that mean the same; of a set, the first one that a noun has is suggested
_SYNONYMS: Final = (
    ("list", "topics", "status", "ls", "all"),
    ("show", "get", "view", "info", "describe", "cat"),
    ("add", "create", "set", "ask", "register", "install", "new", "make"),
    ("set", "revise", "update", "change", "edit", "modify"),
    ("delete", "retire", "revoke", "withdraw", "discard", "uninstall", "remove", "rm", "del"),
    ("post", "push", "send", "write", "say"),
    ("read", "drain", "peek", "receive", "messages"),
    ("join", "add-member", "invite"),
    ("event", "resolve", "done", "start", "complete", "finish", "close", "block", "report"),
    ("verify", "check", "prove"),
    ("messages", "show", "log"),
    ("person", "people", "persons", "user", "users", "human", "humans"),
    ("send", "mail", "email"),
    ("inbox", "message", "messages", "event", "events"),
    ("work", "task", "tasks", "phase", "stage", "project"),
    ("note", "comment"),
    ("up", "start", "serve", "server", "run", "gateway"),
    ("doctor", "health", "status", "check"),
    ("trigger", "webhook", "webhooks"),
    ("config", "settings", "configure"),
)
_MAX_SUGGESTIONS: Final = 3
_DASHES: Final = ("\N{EN DASH}", "\N{EM DASH}", "\N{MINUS SIGN}", "\N{HORIZONTAL BAR}")


def explain(error: click.ClickException, words: Sequence[str]) -> tuple[str, str]:
    """Return the sentence and the hint for an error of click; `words` are those of the whole command."""
    context = getattr(error, "ctx", None)
    help_hint = f"`{context.command_path} --help` explains it" if context is not None else ""
    match error:
        case click.exceptions.NoSuchCommand() if context is not None:
            return f"no such command {quote_value(error.command_name)}", _suggest_command(
                error.command_name, context, words
            )
        case click.NoSuchOption() if context is not None:
            name = _restore_option(error.option_name, words)
            return f"no such option {quote_value(name)}", _suggest_option(name, context) or help_hint
        case click.MissingParameter(param=click.Argument() as argument):
            return f"{(argument.metavar or argument.human_readable_name).partition('|')[0]} is missing", help_hint
        case click.MissingParameter(param=click.Option() as option):
            return f"{option.opts[0]} is missing", f"give {option.opts[0]} {option.metavar}"
        case click.BadOptionUsage() if "requires an argument" in error.message:
            return f"{error.option_name} needs a value", help_hint
        case click.BadOptionUsage() if "does not take a value" in error.message:
            return f"{error.option_name} takes no value", f"write {error.option_name} alone"
    message = error.format_message()
    _, is_extra, extra = message.rstrip(").").partition("extra argument")
    if is_extra:
        noun, _, value = extra.partition(" (")
        hint = "options begin with --, and text with spaces needs quotes"
        return f"this command does not take the argument{noun} {quote_value(value)}", hint
    return message[:1].lower() + message[1:].rstrip("."), help_hint


def check_dashes(words: Iterable[str], options: Iterable[str]) -> None:
    """Refuse an option that begins with a long dash; it would pass for an argument."""
    known_options = set(options)
    for word in words:
        name = f"--{word.lstrip('-').lstrip(''.join(_DASHES)).partition('=')[0]}"
        if word.lstrip("-").startswith(_DASHES) and name in known_options:
            raise Invalid(f"{quote_value(word)} begins with a long dash", hint=f"write {name}, with two hyphens")


def _suggest_command(name: str, context: click.Context, words: Sequence[str]) -> str:
    group = context.command
    assert isinstance(group, click.Group)
    commands = group.list_commands(context)
    path = context.command_path
    if context.parent is None and name in ("help", "version"):
        nouns = [word for word in words[words.index(name) + 1 :] if word in commands]
        return f"write `{' '.join([path, *nouns[:1], f'--{name}'])}`"
    if context.parent is not None and group.invoke_without_command and _find_match(name, ["up"]):
        return f"`{path}` alone starts it"
    verbs = _find_verbs(name, group, context) if context.parent is None else []
    if len(verbs) != 1 and (match := _find_match(name, commands)):
        return f"did you mean `{path} {match}`?"
    if verbs:
        if len(verbs) > _MAX_SUGGESTIONS:
            return f"say first what it is about, as in `{verbs[0]}`"
        return f"did you mean {' or '.join(f'`{verb}`' for verb in verbs)}?"
    if len(commands) == 1:
        return f"did you mean `{path} {commands[0]}`?"
    if context.parent is None:
        return f"`{path} --help` lists the commands"
    naming = f"; `{path} --as NAME` names an agent or a person" if group.invoke_without_command else ""
    return f"there are {', '.join(commands)}{naming}"


def _find_match(word: str, names: Sequence[str]) -> str | None:
    """Return the name that was probably meant: a synonym, or else one that is written alike."""
    close = get_close_matches(word.lower(), names, 1)
    synonyms = [name for group in _SYNONYMS if word.lower() in group for name in group if name in names]
    return next(iter(synonyms + close), None)


def _find_verbs(word: str, root: click.Group, context: click.Context) -> list[str]:
    """Return the commands with this verb, such as `gatepost inbox push`."""
    groups = [(noun, root.get_command(context, noun)) for noun in root.list_commands(context)]
    return [
        f"{context.command_path} {noun} {word}"
        for noun, group in groups
        if isinstance(group, click.Group) and word in group.list_commands(context)
    ]


def _restore_option(name: str, words: Sequence[str]) -> str:
    """Return the option as it was typed: click takes `-to` for `-t -o`."""
    if name.startswith("--"):
        return name
    groups = (word.partition("=")[0] for word in words if word[:1] == "-" and word[:2] != "--")
    return next((word for word in groups if name[1:] in word), name)


def _suggest_option(name: str, context: click.Context) -> str | None:
    if context.parent is None and name in ("-v", "-V"):
        return "did you mean --version?"
    if context.parent is None and name == "--home":
        return "name the home in GATEPOST_HOME"
    parameters = context.command.get_params(context)
    options = [option for parameter in parameters for option in parameter.opts if option[:1] == "-"]
    arguments = [argument.make_metavar(context) for argument in parameters if isinstance(argument, click.Argument)]
    if name.strip("-").upper() in [metavar.strip("[]").partition("|")[0] for metavar in arguments]:
        return f"leave out {name}, and write `{context.command_path} {' '.join(arguments)}`"
    if name == "--to" and isinstance(context.command, click.Group) and "--as" in options:
        return "did you mean --as?"
    close = get_close_matches(f"--{name.lstrip('-')}".lower(), options, 1, cutoff=0.75)
    if close and len(name) > 2:
        return f"did you mean {close[0]}?"
    if len(name) > 2 and not name.startswith("--"):
        return "options begin with --, and a text that begins with - is written after --"
    return "write options after the command, as in `gatepost agent list --json`" if context.parent is None else None
