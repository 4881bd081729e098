"""Why a bot does not work is noted until it works again, without its token."""

from pathlib import Path

from gatepost.channels import conversation_actions as conversations
from gatepost.channels.conversation import ChannelStatus
from gatepost.channels.triggers import actions as triggers
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.channel_setup import ChannelSetup, open_channel_setup


def show_status(setup: ChannelSetup) -> ChannelStatus:
    return setup.store.read_sync(conversations.list_statuses)[-1]


async def test_an_error_is_noted_until_the_bot_works(tmp_path: Path) -> None:
    with TelegramServer(has_limits=False) as server:
        async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db") as setup:
            await server.wait_until(server.is_polling)
            old_token = server.token
            new_token = server.revoke_token()
            server.advance(60)  # the poll ends
            await setup.wait_until(lambda: show_status(setup).error is not None)

            status = show_status(setup)
            assert (status.name, status.active) == ("helper", True)
            assert old_token not in repr(status)
            assert setup.store.read_sync(conversations.count_failing) == 1
            await setup.store.run(triggers.change, "helper", {"secret": new_token})
            await server.wait_until(server.is_polling)
            server.advance(60)
            await setup.wait_until(lambda: show_status(setup).error is None)
            assert setup.store.read_sync(conversations.count_failing) == 0
