"""The runs of all agents: filters that are in the address, and the way from a run to what it read and back."""

from tests.page.conftest import PageOpener, Scripts
from tests.residents.model_server import Say
from tests.support.gateways.scripted_gateway import ScriptedGateway


def test_runs_are_filtered_by_the_address_and_lead_to_their_events(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    ana, bob = f"ana-{tag}", f"bob-{tag}"
    for name in (ana, bob):
        scripts[name] = lambda _: Say("All is well.")
        gateway.create_resident(name)
    gateway.post("/inbox", to=ana, source="test", content=f"Look at {tag}")
    gateway.post("/mail", to=bob, sender="admin", subject=f"About {tag}", text="Well?")
    [run], _ = gateway.wait_for_runs(ana, 1), gateway.wait_for_runs(bob, 1)

    page = open_page(f"/runs?agent={ana}")
    page.wait_for_count(".run-row", 1)
    page.choose(".run-filters [aria-label=Cause]", "mail")
    page.wait_for_path(f"/runs?agent={ana}&cause=mail")
    page.wait_for(".empty:has-text('No runs match')")
    page.choose(".run-filters [aria-label=Agent]", bob)
    page.wait_for_count(".run-row:has-text('woke for mail')", 1)
    page.choose(".run-filters [aria-label=Status]", "failed")
    page.wait_for(".empty:has-text('No runs match')")
    page.press("Escape")
    page.wait_for_path("/runs")
    page.go(f"/runs?agent={ana}&status=completed&model=no-such-model&within=1h")
    page.wait_for(".empty:has-text('No runs match')")
    page.choose(".run-filters [aria-label=Model]", run["model"])
    page.click(".run-row")
    page.wait_for_path(f"/runs/{run['id']}")
    page.wait_for(f".event-line:has-text('Look at {tag}')")
    page.click(".event-line a")
    page.wait_for(f".inbox-detail:has-text('Look at {tag}')")
    page.click(".inbox-detail a:has-text('a run')")
    page.wait_for_path(f"/runs/{run['id']}")
