"""Why a bot does not work is noted until it works again, without its token."""

from pathlib import Path

from gatepost.channels import conversation_actions as conversations
from gatepost.channels.conversation import ChannelStatus
from gatepost.channels.triggers import actions as triggers
from tests.telegram.channel_office import ChannelOffice, open_office
from tests.telegram.server import TelegramServer


def show_status(office: ChannelOffice) -> ChannelStatus:
    return office.store.read_sync(conversations.list_statuses)[-1]


async def test_an_error_is_noted_until_the_bot_works(tmp_path: Path) -> None:
    with TelegramServer(has_limits=False) as server:
        async with open_office(server, f"sqlite:///{tmp_path}/gatepost.db") as office:
            await server.wait_until(server.is_polling)
            old_token = server.token
            new_token = server.revoke_token()
            server.advance(60)  # the poll ends
            await office.wait_until(lambda: show_status(office).error is not None)

            status = show_status(office)
            assert (status.name, status.active) == ("helper", True)
            assert old_token not in repr(status)
            assert office.store.read_sync(conversations.count_failing) == 1
            await office.store.run(triggers.change, "helper", {"secret": new_token})
            await server.wait_until(server.is_polling)
            server.advance(60)
            await office.wait_until(lambda: show_status(office).error is None)
            assert office.store.read_sync(conversations.count_failing) == 0
