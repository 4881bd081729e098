/** The name of somebody. If it looks like that of somebody else, the unique name is beside it. */

import { findEntity, isAmbiguous } from "../data/live.js";
import { Line } from "./parts.js";

interface NameProps {
  /** The unique name; null for who is no entity here, such as a service or a user of a bot. */
  name: string | null;
  /** The name that people see, if it is known. */
  label?: string | null | undefined;
  /** What somebody without a unique name is: "a service". */
  outside?: string;
  limit?: number;
  class?: string;
}

export function Name({ name, label, outside = "not a member", limit = 60, class: className = "" }: NameProps) {
  const text = label ?? (name === null ? "somebody" : (findEntity(name)?.displayName ?? name));
  if (text === name || !isAmbiguous(name, text)) return <Line text={text} limit={limit} class={className} />;
  return (
    <span class="name">
      <Line text={text} limit={limit} class={className} />
      <Line text={name === null ? outside : `@${name}`} limit={limit} class="unique-name" />
    </span>
  );
}
