/**
 * Hooks over the stores, for any library that has the hooks of React: `react.ts` and `preact.ts` pass in theirs.
 *
 * A hook returns the state of its store, and the functions that change it; those stay the same between renders.
 */

import type { GatepostClient } from "./client.js";
import type { Feed } from "./feed.js";
import { AgentsStore, type AgentsOptions, type AgentsState } from "./stores/agents.js";
import { DecisionsStore, type DecisionsOptions, type DecisionsState } from "./stores/decisions.js";
import { InboxStore, type InboxOptions, type InboxState } from "./stores/inbox.js";
import { SpaceStore, type SpaceOptions, type SpaceState } from "./stores/space.js";
import type { Store, StoreState } from "./stores/store.js";

/** What the hooks here are made of. */
export interface HookLibrary {
  useEffect(effect: () => () => void, dependencies: readonly unknown[]): void;
  useMemo<Value>(create: () => Value, dependencies: readonly unknown[]): Value;
  useState<Value>(initial: Value): [Value, (value: Value) => void];
}

export type UseSpace = SpaceState & Pick<SpaceStore, "send" | "resend" | "discard" | "loadOlder" | "markRead">;
type InboxMethods = "loadMore" | "complete" | "completeMany" | "undo" | "discard" | "discardMany" | "replay" | "snooze" | "unsnooze" | "refresh";
export type UseInbox = InboxState & Pick<InboxStore, InboxMethods>;
export type UseAgents = AgentsState & Pick<AgentsStore, "refresh">;
export type UseDecisions = DecisionsState & Pick<DecisionsStore, "answer" | "refresh">;

export interface GatepostHooks {
  /** The messages of a space, those being written and those being sent. */
  useSpace(client: GatepostClient, id: string, options?: SpaceOptions): UseSpace;
  /** The items of an inbox. */
  useInbox(client: GatepostClient, name: string, options?: InboxOptions): UseInbox;
  /** The agents, and which of them think now. */
  useAgents(client: GatepostClient, options?: AgentsOptions): UseAgents;
  /** The decisions that the caller may see. */
  useDecisions(client: GatepostClient, options?: DecisionsOptions): UseDecisions;
}

export function createHooks({ useEffect, useMemo, useState }: HookLibrary): GatepostHooks {
  /** Return the state of a store and some of its methods; another store is made when a dependency changes. */
  function useStore<Kind extends Store<StoreState>, Name extends keyof Kind>(
    create: () => Kind,
    names: readonly Name[],
    dependencies: readonly unknown[],
  ): Kind["state"] & Pick<Kind, Name> {
    const [store, methods] = useMemo(() => {
      const newStore = create();
      return [newStore, bindMethods(newStore, names)] as const;
    }, dependencies);
    const [, setState] = useState(store.state);
    useEffect(() => {
      const update = () => setState(store.state);
      const unsubscribe = store.subscribe(update);
      update();
      return unsubscribe;
    }, [store]);
    return { ...store.state, ...methods };
  }

  return {
    useSpace(client, id, options = {}) {
      const create = () => new SpaceStore(client, id, options);
      const names = ["send", "resend", "discard", "loadOlder", "markRead"] as const;
      return useStore(create, names, [client, id, ...listDependencies(options)]);
    },
    useInbox(client, name, options = {}) {
      const create = () => new InboxStore(client, name, options);
      const names = ["loadMore", "complete", "completeMany", "undo", "discard", "discardMany", "replay", "snooze", "unsnooze", "refresh"] as const;
      return useStore(create, names, [client, name, ...listDependencies(options)]);
    },
    useAgents(client, options = {}) {
      const create = () => new AgentsStore(client, options);
      return useStore(create, ["refresh"], [client, ...listDependencies(options)]);
    },
    useDecisions(client, options = {}) {
      const create = () => new DecisionsStore(client, options);
      return useStore(create, ["answer", "refresh"], [client, ...listDependencies(options)]);
    },
  };
}

function bindMethods<Kind extends object, Name extends keyof Kind>(store: Kind, names: readonly Name[]) {
  const entries = names.map((name) => [name, (store[name] as (...values: unknown[]) => unknown).bind(store)]);
  return Object.fromEntries(entries) as Pick<Kind, Name>;
}

/** Return what options depend on: a feed by its identity, the others by their values. */
function listDependencies({ feed, ...others }: { feed?: Feed }): unknown[] {
  return [feed, JSON.stringify(others)];
}
