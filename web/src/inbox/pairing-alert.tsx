/** Somebody asks to be let in on a channel: decided where it is shown. The alert goes away when it is. */

import { useState } from "preact/hooks";

import { ApproveDialog } from "../channels/approve-dialog.js";
import { useLoad } from "../data/load.js";
import { client } from "../data/session.js";
import { attempt } from "../ui/toasts.js";

export function PairingAlert({ id }: { id: string }) {
  const [isApproving, setApproving] = useState(false);
  const { value, reload } = useLoad((signal) => findPairing(id, signal), [id]);
  if (value === undefined) return null;
  if (value === null || value.state !== "requested") return <p class="muted">{value === null ? "The request is gone." : `The request is ${value.state}.`}</p>;
  const deny = async () => {
    await attempt(() => client.refusePairing({ code: id }), "Refused");
    reload();
  };
  return (
    <div class="line gap-2 wrap">
      <button class="button primary" onClick={() => setApproving(true)}>
        Let in
      </button>
      <button class="button danger" onClick={() => void deny()}>
        Refuse
      </button>
      {isApproving && <ApproveDialog pairing={value} onClose={() => setApproving(false)} onDone={reload} />}
    </div>
  );
}

async function findPairing(id: string, signal: AbortSignal) {
  for await (const pairing of client.pages(client.listPairings, {}, { signal })) if (pairing.id === id) return pairing;
  return null;
}
