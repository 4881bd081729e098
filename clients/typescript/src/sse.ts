/**
 * Parse server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html says. `retry` is ignored:
 * the pauses of a stream grow by themselves.
 */

/** One event as it was sent. `id` is the last one that was sent, with this event or an earlier one. */
export interface ServerSentEvent {
  event: string;
  data: string;
  id: string;
}

/**
 * Parses text that comes in pieces of any length. A line ends with CR, LF or CRLF, also if a piece ends between the
 * two; an event ends with an empty line. What is left when the stream ends is not an event.
 */
export class EventParser {
  #line = "";
  #endedWithCr = false;
  #event = "";
  #data: string[] = [];
  #id = "";

  /** Return the events that end in this piece. A byte order mark is for the decoder to remove. */
  *parse(piece: string): Generator<ServerSentEvent> {
    let start = 0;
    for (let index = 0; index < piece.length; index += 1) {
      const code = piece.charCodeAt(index);
      if (code !== 10 && code !== 13) continue;
      if (code === 10 && index === 0 && this.#endedWithCr) {
        start = 1; // the second half of CRLF
        continue;
      }
      const event = this.#endLine(this.#line + piece.slice(start, index));
      this.#line = "";
      if (code === 13 && piece.charCodeAt(index + 1) === 10) index += 1;
      start = index + 1;
      if (event !== undefined) yield event;
    }
    if (piece !== "") this.#endedWithCr = piece.endsWith("\r");
    this.#line += piece.slice(start);
  }

  #endLine(line: string): ServerSentEvent | undefined {
    if (line === "") return this.#endEvent();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined; // a comment
    const field = colon === -1 ? line : line.slice(0, colon);
    let value = colon === -1 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    switch (field) {
      case "event":
        this.#event = value;
        break;
      case "data":
        this.#data.push(value);
        break;
      case "id":
        if (!value.includes("\0")) this.#id = value;
        break;
    }
    return undefined;
  }

  #endEvent(): ServerSentEvent | undefined {
    const event = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
    const hasData = this.#data.length > 0;
    this.#event = "";
    this.#data = [];
    return hasData ? event : undefined;
  }
}
