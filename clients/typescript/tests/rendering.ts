/**
 * Render a hook with Preact, on as much of a DOM as Preact needs. Every change is rendered by itself and at once: Preact
 * may render two changes as one, and a test that looks for the first would depend on when the events come.
 */

import { type ComponentChild, h, options, render } from "preact";
import { useLayoutEffect } from "preact/hooks";

import type { Observable } from "./waiting.js";

class FakeNode {
  readonly childNodes: FakeNode[] = [];
  readonly localName: string;
  parentNode: FakeNode | null = null;
  namespaceURI = "http://www.w3.org/1999/xhtml";
  data = "";

  constructor(localName: string, data = "") {
    this.localName = localName;
    this.data = data;
  }

  get ownerDocument() {
    return fakeDocument;
  }

  get nodeType(): number {
    return this.localName === "#text" ? 3 : 1;
  }

  get firstChild(): FakeNode | null {
    return this.childNodes[0] ?? null;
  }

  get nextSibling(): FakeNode | null {
    const siblings = this.parentNode?.childNodes ?? [];
    return siblings[siblings.indexOf(this) + 1] ?? null;
  }

  get textContent(): string {
    return this.data + this.childNodes.map((child) => child.textContent).join("");
  }

  insertBefore(node: FakeNode, reference: FakeNode | null): FakeNode {
    node.remove();
    const index = reference === null ? this.childNodes.length : this.childNodes.indexOf(reference);
    this.childNodes.splice(index, 0, node);
    node.parentNode = this;
    return node;
  }

  appendChild(node: FakeNode): FakeNode {
    return this.insertBefore(node, null);
  }

  removeChild(node: FakeNode): FakeNode {
    node.remove();
    return node;
  }

  remove(): void {
    const siblings = this.parentNode?.childNodes ?? [];
    if (siblings.includes(this)) siblings.splice(siblings.indexOf(this), 1);
    this.parentNode = null;
  }

  contains(): boolean {
    return true;
  }

  setAttribute(): void {}
  removeAttribute(): void {}
  addEventListener(): void {}
}

const fakeDocument = {
  createElement: (name: string) => new FakeNode(name),
  createElementNS: (_: string, name: string) => new FakeNode(name),
  createTextNode: (text: string) => new FakeNode("#text", text),
};
Object.assign(globalThis, { document: fakeDocument });
options.debounceRendering = (renderAll) => renderAll();

/** A hook in a component that is rendered; `state` is what the hook returned last. */
export class RenderedHook<State> implements Observable<State> {
  readonly #root = new FakeNode("main");
  readonly #listeners = new Set<() => void>();
  #state: State | undefined;
  renderCount = 0;

  /** `view` returns what the component shows. */
  constructor(useHook: () => State, view: (state: State) => ComponentChild = () => null) {
    const Component = () => {
      const state = useHook();
      this.#state = state;
      this.renderCount += 1;
      useLayoutEffect(() => [...this.#listeners].forEach((listener) => listener()));
      return view(state);
    };
    render(h(Component, null), this.#root as unknown as Element);
  }

  get state(): State {
    return this.#state!;
  }

  get text(): string {
    return this.#root.textContent;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  unmount(): void {
    render(null, this.#root as unknown as Element);
  }
}
