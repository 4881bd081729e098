/** What the caller of an operation can choose, and what the client knows of an operation. */

/** Of one call. */
export interface CallOptions {
  /** Ends the call, also while it waits to try again. */
  signal?: AbortSignal;
  /** Makes the call the same as an earlier one with this key: both take effect once. By default the key is new. */
  idempotencyKey?: string;
  /** Milliseconds that one try may take, beside the time that the request waits. */
  timeout?: number;
}

/** How a stream is: it opens, it is open, or it waits to open again because of an error. */
export type StreamStatus = "connecting" | "open" | "waiting";

/** A stream that has opened. */
export interface StreamStart {
  /** What is in it, such as `space:q4-report`; undefined if the gateway does not say so. */
  parts: readonly string[] | undefined;
  /** Where it begins; `after` of a stream that is to go on there. */
  id: string;
}

/** Of one stream. */
export interface StreamOptions {
  /** Ends the stream, without an error. */
  signal?: AbortSignal;
  /** The `id` of the last event that was read; by default a stream begins now. */
  after?: string;
  /** Called when the status changes, in order with the events; `error` says why a stream waits. */
  onStatus?: (status: StreamStatus, error?: Error) => void;
  /** Called whenever the stream has opened, before its status is `open`. */
  onConnected?: (connection: StreamStart) => void;
}

/**
 * What a repeat of a request does: nothing ("safe"), nothing if it has the same Idempotency-Key ("keyed") or the same
 * dedup key ("dedup"), or the same again ("never").
 */
export type Repetition = "safe" | "keyed" | "dedup" | "never";

/** The method, the path, what a repeat does, and the statuses from 400 on that are an answer all the same. */
export type Operation = readonly [
  method: string,
  path: string,
  repetition: Repetition,
  answers?: readonly number[],
];
