"""Make the accounts, topics and profiles that entities and work items lack on a public ledger."""

import json
from hashlib import sha256

from gatepost.directory.entity import Entity
from gatepost.jobs.job import Job
from gatepost.ledger import profile_actions as ledger_profiles
from gatepost.ledger.hcs import hcs11_profiles as hcs11
from gatepost.ledger.ledger_step_background import LedgerSteps
from gatepost.ledger.message_encoding import LedgerFile
from gatepost.ledger.public_ledger import UpdateAccount
from gatepost.ledger.topic import LedgerId, TopicKind
from gatepost.mail.work_item import WorkItem


class ProfilePublisher:
    def __init__(self, steps: LedgerSteps) -> None:
        self._steps = steps
        self._store = steps.store

    async def run_job(self, job: Job) -> None:
        match await self._store.read(ledger_profiles.find_target, job.payload):
            case Entity() as entity:
                await self._sync_entity(entity)
            case WorkItem() as item:
                await self._steps.ensure_work_topic(item)
            case _:
                await self._steps.ensure_single(TopicKind.BROADCAST)
                await self._steps.ensure_single(TopicKind.DEFINITIONS)

    async def _sync_entity(self, entity: Entity) -> None:
        await self._steps.ensure_inbound(entity)
        await self._steps.ensure_outbound(entity)
        view = await self._store.read(ledger_profiles.find_profile, self._steps.network, entity)
        if view is not None and view.profile is not None and not view.is_published:
            await self._publish(entity, view.profile, LedgerId.parse(view.account))

    async def _publish(self, entity: Entity, profile: dict[str, object], account: LedgerId) -> None:
        """
        Publish a profile: as a file that the memo of the account names, and on the topic of the definitions. The steps
        have the hash of the profile in their names, so another profile is another publication.
        """
        steps = self._steps
        content = json.dumps(profile, ensure_ascii=False, separators=(",", ":")).encode()
        publication = sha256(content).hexdigest()[:16]
        name = f"profile/{entity.name}/{publication}"
        file = await steps.put_file(name, LedgerFile(content, "application/json"), entity, account)
        memo = UpdateAccount(account=account, memo=hcs11.build_account_memo(file))
        await steps.perform(f"{name}/memo", account, memo, signers=(entity.name,))
        definitions = (await steps.ensure_single(TopicKind.DEFINITIONS)).ledger_id
        definition = hcs11.build_definition(entity.name, entity.display, profile)
        await steps.submit(f"{name}/definition", definitions, definition, payer=account, signer=entity.name)
        await self._store.run(
            ledger_profiles.save_profile,
            *(steps.network, entity, profile, file),
            publication=publication,
            lane="ledger",
        )
