"""
The real agent programs, as the tests start them: Claude Code, Codex and Gemini CLI.

Each has a home of its own, talks to the scripted model and to nobody else, asks for no permission and reports nothing.
A prompt is one process (`claude -p`, `codex exec`, `gemini -p`); with `resume` it continues the last session.
"""

import json
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from tests.programs import cache
from tests.support.waits import LAST_RESORT


@dataclass(frozen=True)
class ProgramResult:
    code: int
    out: str
    err: str


@dataclass
class Program(ABC):
    """One program with its settings in `home`, working in `project`."""

    home: Path
    project: Path
    model_url: str
    environ: dict[str, str] = field(default_factory=dict)

    #: what `gatepost hooks --host` calls it
    host: ClassVar[str]

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)
        self.project.mkdir(exist_ok=True)
        inherited = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        node = cache.find_node()
        path = os.pathsep.join(filter(None, (str(node.parent) if node else "", os.environ.get("PATH", os.defpath))))
        self.environ |= inherited | {"PATH": path, "HOME": str(self.home), "NO_PROXY": "127.0.0.1", "NO_COLOR": "1"}
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.configure()
        self.original_settings = self.read_settings()

    @property
    @abstractmethod
    def settings(self) -> Path:
        """The file that `gatepost hooks install` writes to."""

    @abstractmethod
    def configure(self) -> None:
        """Write the settings, and set the variables, that the program needs here."""

    @abstractmethod
    def build_command(self, prompt: str, *, resume: bool) -> Sequence[str]:
        """Return the command line for a prompt."""

    @abstractmethod
    def build_program(self) -> Sequence[str]:
        """Return the words with which every command line begins."""

    def run_command(self, *arguments: str) -> str:
        """Run a command of the program that has to succeed, and return what it prints."""
        result = subprocess.run(
            [*self.build_program(), *arguments],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LAST_RESORT,
            check=False,
        )
        assert result.returncode == 0, result
        return result.stdout

    def read_settings(self) -> bytes | None:
        """Return what the settings file holds, or None if there is none."""
        return self.settings.read_bytes() if self.settings.exists() else None

    def run(self, prompt: str, *, resume: bool = False) -> ProgramResult:
        """Give the program a prompt, and wait until it ends."""
        with self.start(prompt, resume=resume) as process:
            try:
                out, err = process.communicate(timeout=LAST_RESORT)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return ProgramResult(process.returncode, out, err)

    def start(self, prompt: str, *, resume: bool = False) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.build_command(prompt, resume=resume),
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


class ClaudeCode(Program):
    host = "claude"
    #: the folder of a plugin to load
    plugin: Path | None = None

    @property
    def settings(self) -> Path:
        return self.home / ".claude/settings.json"

    def configure(self) -> None:
        self.settings.write_text('{\n  "includeCoAuthoredBy": false\n}\n')
        self.environ |= {
            "ANTHROPIC_BASE_URL": self.model_url,
            "ANTHROPIC_API_KEY": "test-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",  # else it refuses to skip permissions as root
        }

    def build_command(self, prompt: str, *, resume: bool) -> Sequence[str]:
        return [*self._build_base_command(), *(["--continue"] if resume else []), prompt]

    def converse(self, prompts: Sequence[str]) -> Iterator[str]:
        """Give several prompts to one process, each after the answer to the one before; yield the answers."""
        command = [
            *self._build_base_command(),
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
        ]
        with subprocess.Popen(
            command,
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for prompt in prompts:
                message = {"type": "user", "message": {"role": "user", "content": prompt}}
                process.stdin.write(f"{json.dumps(message)}\n")
                process.stdin.flush()
                yield next(event["result"] for event in map(json.loads, process.stdout) if event["type"] == "result")
            process.stdin.close()
            process.stdout.read()
            process.wait(LAST_RESORT)

    def _build_base_command(self) -> list[str]:
        return [*self.build_program(), "-p", "--dangerously-skip-permissions"]

    def build_program(self) -> list[str]:
        program = _find_program("@anthropic-ai/claude-code-*/claude")
        return [program, *([] if self.plugin is None else ["--plugin-dir", str(self.plugin)])]


class Codex(Program):
    host = "codex"

    @property
    def settings(self) -> Path:
        return self.home / ".codex/hooks.json"

    def configure(self) -> None:
        self.settings.with_name("config.toml").write_text(
            f"""\
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{self.model_url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
"""
        )
        self.environ |= {"SCRIPTED_KEY": "test-key", "CODEX_HOME": str(self.home / ".codex")}

    def build_command(self, prompt: str, *, resume: bool) -> Sequence[str]:
        options = [
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
        ]
        return [*self.build_program(), "exec", *(["resume", "--last"] if resume else []), *options, prompt]

    def build_program(self) -> Sequence[str]:
        return [_find_program("@openai/codex-*/vendor/*/bin/codex")]


class GeminiCli(Program):
    host = "gemini"

    @property
    def settings(self) -> Path:
        return self.home / ".gemini/settings.json"

    def configure(self) -> None:
        settings = {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 1},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "model": {"name": "gemini-2.5-pro"},
        }
        self.settings.write_text(json.dumps(settings, indent=2))
        self.environ |= {
            "GEMINI_API_KEY": "test-key",
            "GOOGLE_GEMINI_BASE_URL": self.model_url,
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_SANDBOX": "false",
        }

    def build_command(self, prompt: str, *, resume: bool) -> Sequence[str]:
        options = ["--approval-mode", "yolo", *(["--resume", "latest"] if resume else [])]
        return [*self.build_program(), *options, "-p", prompt]

    def build_program(self) -> Sequence[str]:
        return ["node", _find_program("@google/gemini-cli/bundle/gemini.js")]


class OpenCode(Program):
    host = "opencode"

    @property
    def settings(self) -> Path:
        return self.home / ".config/opencode/plugin/gatepost.js"

    def configure(self) -> None:
        self.settings.parent.rmdir()
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "permission": {"bash": "allow", "edit": "allow"},
            "provider": {
                "scripted": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": f"{self.model_url}/v1", "apiKey": "test-key"},
                    "models": {"scripted": {"limit": {"context": 200_000, "output": 8_000}}},
                }
            },
        }
        (self.home / ".config/opencode/opencode.json").write_text(json.dumps(settings, indent=2))
        self.environ |= {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

    def build_command(self, prompt: str, *, resume: bool) -> Sequence[str]:
        return [*self.build_program(), "run", *(["--continue"] if resume else []), prompt]

    def build_program(self) -> Sequence[str]:
        return [_find_program("opencode-linux-x64/bin/opencode")]


PROGRAMS: Final[Sequence[type[Program]]] = (ClaudeCode, Codex, GeminiCli)


def _find_program(pattern: str) -> str:
    (program,) = (cache.find_folder() / "node_modules").glob(pattern)
    return str(program)
