/** What became of an unrouted message, in a word. */

import type { UnroutedMessage } from "@gatepost/client";

export function LetterState({ letter }: { letter: UnroutedMessage }) {
  if (letter.replayedAt !== null) return <span class="badge accent">replayed</span>;
  if (letter.discardedAt !== null) return <span class="badge">discarded</span>;
  return <span class="badge warn">{letter.reason === "no_target" ? "nobody there" : letter.reason === "missing_metadata" ? "incomplete" : "no rule"}</span>;
}
