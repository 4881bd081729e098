"""
Take a screenshot of every view of the demo: light and dark, on a desktop and on a phone.

    python -m tools.screenshots               all views
    python -m tools.screenshots home inbox    only these

All of them go to build/screenshots, as PNG. The few that the docs show go to docs/screenshots as well, as WebP. The
demo (`demo.py`) has a store and a gateway of its own, which end with it.
"""

import asyncio
import base64
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx2

from gatepost import app, settings
from gatepost.client import SyncClient
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.ledger.hedera.network.node import HederaNetwork
from tests.page.chromium import DESKTOP, PHONE, Chromium, Page, sign_in
from tests.residents.model_server import ModelServer
from tests.support.gateways.gateway_process import GatewayProcess, run_gateway_process
from tools import demo, demo_outside
from tools.demo_script import DemoScript
from tools.node import ROOT, require_node

ALL: Final = ROOT / "build" / "screenshots"
DOCS: Final = ROOT / "docs" / "screenshots"
MODES: Final = {
    f"{device}-{theme}": {"viewport": size, "deviceScaleFactor": scale, "colorScheme": theme, "reducedMotion": "reduce"}
    for device, size, scale in (("desktop", DESKTOP, 1), ("phone", PHONE, 2))
    for theme in ("light", "dark")
}
#: the screenshots that docs/page.md and the README show
SHOWN: Final = (
    "home-desktop-light",
    "inbox-desktop-dark",
    "space-desktop-light",
    "run-desktop-light",
    "plans-desktop-light",
    "cost-desktop-light",
    "decisions-phone-light",
    "conversation-phone-dark",
)
#: bytes of one of these
MAX_SIZE: Final = 100_000

#: until no part of the view was loading for some frames, and the fonts and images are there
SETTLE: Final = """async () => {
  for (let frames = 0; frames < 12; frames += 1) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    if (document.querySelector(".skeleton")) frames = 0;
  }
  await document.fonts.ready;
  await Promise.all([...document.images].map((image) => image.decode().catch(() => undefined)));
}"""
TO_WEBP: Final = """async (png) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.9).split(",")[1];
}"""


def find_addresses(gateway: GatewayProcess) -> dict[str, str]:
    """Return the address of every view by its name; those of one item, run and so on are looked up."""
    with httpx2.Client(base_url=gateway.url, headers={"x-secret-key": gateway.admin_key}) as client:

        def get(path: str, **query: Any) -> list[dict[str, Any]]:
            return list(client.get(f"/api{path}", params=query).raise_for_status().json()["items"])

        item = next(item for item in get("/inbox/admin", newestFirst="true") if item["subject"] == "Q4 draft")
        run = max(get("/agents/buyer/runs"), key=lambda run: run["steps"])
        decision = get("/decisions", asker="builder")[0]
        plan = next(plan for plan in get("/plans") if plan["name"] == "Morning numbers")
        entry = next(entry for entry in get("/shared-inbox", channel="telegram") if "Huila" in entry["content"])
        topic = max(get("/ledger/topics"), key=lambda topic: topic["messages"])
    return {
        "home": "/",
        "inbox": "/inbox",
        "item": f"/inbox/admin/{item['eventId']}",
        "mail": "/mail",
        "decisions": "/decisions",
        "decisions-ended": "/decisions?show=ended",
        "decision": f"/decisions/{decision['id']}",
        "gates": "/gates",
        "agents": "/agents",
        "agent": "/agents/analyst",
        "agent-mind": "/agents/analyst/mind",
        "agent-memories": "/agents/analyst/memories",
        "agent-plans": "/agents/analyst/plans",
        "agent-about": "/agents/analyst/about",
        "runs": "/runs",
        "run": f"/runs/{run['id']}",
        "spaces": "/spaces",
        "space": "/spaces/sales",
        "space-thinking": "/spaces/operations",
        "plans": "/plans",
        "plan": f"/plans/{plan['id']}",
        "triggers": "/triggers",
        "trigger": "/triggers/shop",
        "trigger-test": "/triggers/shop/test",
        "routes": "/routes",
        "unrouted": "/unrouted",
        "channels": "/channels",
        "channel-sessions": "/channels/sessions",
        "pairing": "/channels/pairing",
        "chat": "/chat",
        "conversation": "/chat/web-main",
        "shared": "/shared",
        "shared-entry": f"/shared/{entry['id']}",
        "cost": "/cost",
        "ledger": "/ledger",
        "topic": f"/ledger/{topic['id']}",
        "health": "/health",
        "settings": "/settings",
        "settings-integrations": "/settings/integrations",
        "settings-values": "/settings/values",
        "items": "/items",
    }


#: views of a gateway on a public ledger
LEDGER_ADDRESSES: Final = {"connections": "/ledger/connections"}


def take_screenshots(chromium: Chromium, gateway: GatewayProcess, addresses: Mapping[str, str]) -> list[str]:
    """Write the files, and return what went wrong in the pages."""
    problems = []
    cookie = sign_in(gateway.url, gateway.admin_key)
    for mode, options in MODES.items():
        with chromium.open_page(gateway.url, cookie=cookie, **options) as page:
            for name, address in addresses.items():
                page.open(address)
                page.evaluate(SETTLE)
                page.call("screenshot", {"path": str(ALL / f"{name}-{mode}.png")})
                if page.evaluate("() => document.documentElement.scrollWidth > innerWidth"):
                    problems.append(f"{name}-{mode}: wider than the screen")
                problems += [f"{name}-{mode}: {error}" for error in page.take_log().errors]
    return problems


def write_shown(page: Page, name: str) -> None:
    """Write a screenshot for the docs."""
    png = base64.b64encode((ALL / f"{name}.png").read_bytes()).decode()
    content = base64.b64decode(page.evaluate(TO_WEBP, png))
    assert len(content) <= MAX_SIZE, f"{name} has {len(content):,} bytes"
    (DOCS / f"{name}.webp").write_bytes(content)


def run(home: Path, names: list[str]) -> list[str]:
    script = DemoScript()
    configuration = settings.load({"GATEPOST_HOME": str(home)})
    with app.prepare_store(configuration):
        pass
    with ModelServer(script) as server, Chromium.start(require_node()) as chromium:
        asyncio.run(demo.fill_store(configuration.settings.store.url, server.url))
        problems = take_main_screenshots(chromium, home, script, names)
        script.pause.open()
        problems += take_ledger_screenshots(chromium, home, names)
        with chromium.open_page("about:blank") as page:
            for name in SHOWN:
                if not names or name.rsplit("-", 2)[0] in names:
                    write_shown(page, name)
    return problems


def take_main_screenshots(chromium: Chromium, home: Path, script: DemoScript, names: list[str]) -> list[str]:
    """Take those of a gateway with a Telegram bot, while an agent is thinking."""
    with TelegramServer() as telegram, run_gateway_process(home, GATEPOST_TELEGRAM__API=telegram.url) as gateway:
        with SyncClient(gateway.url, key=gateway.admin_key) as client:
            demo_outside.add_telegram(client, telegram)
            demo.add_live_events(gateway.url, client)
        asyncio.run(script.pause.wait_until_reached())
        return take_screenshots(chromium, gateway, choose(find_addresses(gateway), names))


def take_ledger_screenshots(chromium: Chromium, home: Path, names: list[str]) -> list[str]:
    """Take those of the same gateway on a public ledger."""
    addresses = choose(LEDGER_ADDRESSES, names)
    if not addresses:
        return []
    with HederaNetwork() as network:
        environ = demo_outside.build_ledger_settings(network, home.parent)
        with run_gateway_process(home, **environ) as gateway:
            with SyncClient(gateway.url, key=gateway.admin_key) as client:
                demo_outside.add_connections(client, network)
            return take_screenshots(chromium, gateway, addresses)


def choose(addresses: Mapping[str, str], names: list[str]) -> dict[str, str]:
    return {name: address for name, address in addresses.items() if not names or name in names}


def main(names: list[str]) -> int:
    for folder in (ALL, DOCS):
        folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as temporary:
        problems = run(Path(temporary) / "home", names)
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"the screenshots are in {ALL.relative_to(ROOT)} and {DOCS.relative_to(ROOT)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
