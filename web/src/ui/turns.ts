/**
 * What takes a while is done in turns, so that the page answers meanwhile: at once as long as a frame has time for it,
 * otherwise later, a little in each frame, and only for elements that are seen.
 */

/** Milliseconds of a frame: for what is done at once, and for what is done later. */
const TIME_AT_ONCE = 40;
const TIME_LATER = 10;

const waiting = new Map<Element, () => void>();
const seen = new Set<Element>();
let spent = 0;
let isScheduled = false;

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting && waiting.has(target)) seen.add(target);
    else seen.delete(target);
  }
  if (seen.size > 0) schedule();
});

/** Do something for an element when it is its turn; return the function that gives the turn up. */
export function takeTurn(element: Element, task: () => void): () => void {
  if (spent < TIME_AT_ONCE) {
    run(task);
    schedule();
    return () => undefined;
  }
  waiting.set(element, task);
  observer.observe(element);
  return () => forget(element);
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    spent = 0;
    for (const element of seen) {
      if (spent >= TIME_LATER) break;
      const task = waiting.get(element);
      forget(element);
      if (task !== undefined) run(task);
    }
    if (seen.size > 0) schedule();
  });
}

function run(task: () => void): void {
  const start = performance.now();
  task();
  spent += performance.now() - start;
}

function forget(element: Element): void {
  waiting.delete(element);
  seen.delete(element);
  observer.unobserve(element);
}
