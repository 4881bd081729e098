/** Wait for what is to happen, rather than for some time. */

/** Milliseconds after which what was waited for is missing; only what never comes takes so long. */
const TIMEOUT = 240_000;

export interface Observable<State> {
  readonly state: State;
  subscribe(listener: () => void): () => void;
}

/** Return the state of a store as soon as it fulfils a condition. */
export function waitFor<State>(store: Observable<State>, condition: (state: State) => boolean): Promise<State> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      unsubscribe();
      settle();
    };
    const check = () => {
      if (condition(store.state)) finish(() => resolve(store.state));
    };
    const late = () => reject(new Error(`did not happen; the state is ${JSON.stringify(store.state).slice(-1500)}`));
    const timer = setTimeout(() => finish(late), TIMEOUT);
    let unsubscribe = () => {};
    unsubscribe = store.subscribe(check);
    check();
  });
}

/** Return the first events of a stream. */
export async function take<Event>(stream: AsyncGenerator<Event>, count: number): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
    if (events.length >= count) break;
  }
  return events;
}
