/** An address of a recipient: an entity, or a team. */

import { displayName, findEntity } from "../data/live.js";
import { buildPath } from "../router.js";
import { Line } from "../ui/parts.js";
import { canOpen } from "../views.js";

export function AddressLink({ address }: { address: string }) {
  const kind = findEntity(address)?.kind;
  const team = /^team:([^/]+)/.exec(address)?.[1];
  const href = kind === "agent" ? buildPath("agents", address) : kind === "human" ? buildPath("inbox", address) : team === undefined ? undefined : `/agents?team=${encodeURIComponent(team)}`;
  if (href === undefined || !canOpen(href)) return <Line text={kind === undefined ? address : displayName(address)} />;
  return (
    <a class="link address-link" href={href}>
      <Line text={kind === undefined ? address : displayName(address)} />
    </a>
  );
}
