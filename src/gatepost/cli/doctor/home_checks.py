"""Checks of a home, without its store: what is in it, and what the settings name outside of it."""

import asyncio
import io
import os
import shutil
import wave
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from gatepost import app
from gatepost.channels.speech.transcriber import Transcriber
from gatepost.cli.doctor.finding import Finding
from gatepost.cli.gateway_or_store import find_gateway, get_folder
from gatepost.errors import GatepostError
from gatepost.guests.host_settings import hook_entries, installation, mcp_entries
from gatepost.guests.host_settings.entry_format import EntryFormat
from gatepost.guests.host_settings.mcp_entries import McpFormat
from gatepost.settings import Configuration, find_near_misses, gateway_files, mask_passwords
from gatepost.settings.gateway_files import Exposure

_MODEL_HINT: Final = "let this machine reach Hugging Face, or name a folder with a model in speech.model"


def check_home(configuration: Configuration) -> Iterator[Finding]:
    home = configuration.home
    if home.exists() and not home.is_dir():
        yield Finding("home", False, f"{home} is not a folder", "remove it, or name another home in GATEPOST_HOME")
        return
    detail = f"{home} ({configuration.home_origin})"
    yield _build_exposure_finding("home", detail, gateway_files.find_shared_folder(home))


def check_settings(configuration: Configuration) -> Iterator[Finding]:
    yield Finding("settings", True, str(configuration.file) if configuration.file else "no file: the defaults apply")
    for near_miss in find_near_misses(os.environ):
        yield Finding("settings", False, near_miss, "rename the variable, or unset it")


def check_key(configuration: Configuration) -> Iterator[Finding]:
    """Check the key of the administrator."""
    key = configuration.home / gateway_files.ADMIN_KEY
    if not os.path.lexists(key):
        yield Finding("key", True, "no file yet: `gatepost up` makes one")
        return
    gateway_files.read_admin_key(configuration.home)
    yield _build_exposure_finding("key", str(key), gateway_files.find_exposed_file(key))


def check_secrets(configuration: Configuration) -> Iterator[Finding]:
    """Check who can read the other private keys: those of entities on a ledger, and that of the operator."""
    operator_key = configuration.settings.hedera.operator_key_file
    files = [*(configuration.home / app.KEYS_FOLDER).rglob("*.key"), *([Path(operator_key)] if operator_key else [])]
    exposures = [exposure for file in files if (exposure := gateway_files.find_exposed_file(file)) is not None]
    for exposure in exposures:
        yield _build_exposure_finding("secrets", str(exposure.path), exposure)
    if files and not exposures:
        yield Finding("secrets", True, "only this user can read the keys for the ledger")


def _build_exposure_finding(check: str, detail: str, exposure: Exposure | None) -> Finding:
    if exposure is None:
        return Finding(check, True, detail)
    return Finding(check, False, f"{detail}: {exposure.problem}", exposure.fix)


def check_gateway(configuration: Configuration) -> Iterator[Finding]:
    """Check that the gateway of this home, if one runs, is on the store that commands here would use."""
    url = find_gateway(configuration)
    yield Finding("gateway", True, f"runs at {url}" if url else "none runs in this home")


def describe_missing_store(configuration: Configuration) -> Finding:
    """Return the finding for a store that was not made yet, and whether it can be."""
    store = configuration.settings.store.url
    folder = app.parse_sqlite_path(store).parent if store.startswith("sqlite:") else configuration.home
    if folder == configuration.home or folder.is_dir():
        return Finding("store", True, f"{mask_passwords(store)}: none yet, `gatepost init` makes it")
    hint = f"mkdir -p {quote(str(folder))}, or change the setting `store`"
    return Finding("store", False, f"{store}: there is no such folder", hint)


def check_transport(configuration: Configuration) -> Iterator[Finding]:
    """Check that the driver of the transport is installed; `socket:` needs none."""
    if not configuration.settings.transport.startswith("socket:"):
        app.build_transport(configuration)
        yield Finding("transport", True, str(configuration.values["transport"]))


def check_ledger(configuration: Configuration) -> Iterator[Finding]:
    """Check that a public ledger has its driver and an operator, whose key can be read."""
    ledger = configuration.settings.ledger.url
    if ledger.startswith("hedera:"):
        app.build_ledger(configuration)
        app.read_ledger_key(configuration, Path(str(configuration.settings.hedera.operator_key_file)))
        yield Finding("ledger", True, f"{ledger}, as {configuration.settings.hedera.operator_id}")


def check_speech(configuration: Configuration) -> Iterator[Finding]:
    """Check that what transcribes voice messages can be used; that on this machine transcribes a second of silence."""
    speech = configuration.settings.speech
    transcriber = app.build_transcriber(configuration, os.environ)
    if transcriber is None:
        return
    detail = str(configuration.values["speech.url"])
    if speech.url != "local:":
        has_key = speech.key_variable in os.environ
        detail += "" if has_key else f", without a key: {speech.key_variable} is not set"
        yield Finding("speech", True, detail)
        return
    try:
        asyncio.run(_transcribe_silence(transcriber))
    except GatepostError as error:
        yield Finding("speech", False, f"{detail} does not work: {error.message}", _MODEL_HINT)
    else:
        yield Finding("speech", True, f"{detail}, a second of silence was transcribed")


async def _transcribe_silence(transcriber: Transcriber) -> None:
    recording = io.BytesIO()
    with wave.open(recording, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(bytes(2 * 16_000))
    try:
        await transcriber.transcribe(recording.getvalue(), "audio/wav")
    finally:
        await transcriber.close()


def check_hooks(_: Configuration) -> Iterator[Finding]:
    """Check that our entries in the settings of agent programs, here and of this user, run a program that exists."""
    programs: set[str] = set()
    is_broken = False
    for (file, form), command in _list_entry_files().items():
        document = installation.read_document(file)
        file_programs = {entry.program for entry in form.list_commands(document)}
        programs |= file_programs
        for program in sorted(file_programs):
            if shutil.which(program) is None:
                is_broken = True
                yield Finding("hooks", False, f"{file} runs {program}, and there is no such program", command)
    if programs and not is_broken:
        yield Finding("hooks", True, f"they run {', '.join(sorted(programs))}")


def _list_entry_files() -> dict[tuple[Path, EntryFormat], str]:
    """Return the settings files of agent programs with the form of our entries, and the command that writes these."""
    project = get_folder()
    commands: dict[tuple[Path, EntryFormat], str] = {}  # a project in the user's home folder has the same file
    for host in hook_entries.HOSTS:
        for scope in hook_entries.SCOPES if host == "claude" else hook_entries.SCOPES[:2]:
            file = hook_entries.locate_settings(host, scope, environ=os.environ, project=project)
            commands.setdefault(
                (file, hook_entries.get_form(host)), f"gatepost hooks install --host {host} --scope {scope}"
            )
    for host in mcp_entries.HOSTS:
        for scope in mcp_entries.list_scopes(host):
            file = mcp_entries.locate_settings(host, scope, environ=os.environ, project=project)
            commands.setdefault((file, McpFormat(host)), f"gatepost mcp install --host {host} --scope {scope}")
    return commands
