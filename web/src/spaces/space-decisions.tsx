/** What the agents of a space ask the person who reads it: the same cards as elsewhere. */

import "../decisions/decisions.css";

import { ownDecisions } from "../data/live.js";
import type { SpaceEntry } from "../data/spaces.js";
import { DecisionCard } from "../decisions/card.js";

export function SpaceDecisions({ space }: { space: SpaceEntry }) {
  const names = new Set(space.members.map(({ name }) => name));
  const asked = ownDecisions.value.filter((decision) => names.has(decision.asker));
  if (asked.length === 0) return null;
  return (
    <section class="space-decisions stack gap-2" aria-label="Decisions for you" tabIndex={0}>
      {asked.map((decision) => (
        <DecisionCard key={decision.id} decision={decision} />
      ))}
    </section>
  );
}
