/** A component that is not rendered again while its properties stay the same. */

import { Component, createElement, type ComponentChildren, type FunctionComponent } from "preact";

export function memo<Props extends object>(inner: (props: Props) => ComponentChildren): FunctionComponent<Props> {
  class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const names = Object.keys(next) as (keyof Props)[];
      return names.some((name) => next[name] !== this.props[name]);
    }

    override render(): ComponentChildren {
      return createElement(inner as FunctionComponent<Props>, this.props as Props);
    }
  }
  return Memo as unknown as FunctionComponent<Props>;
}
