/**
 * Errors of the gateway, as RFC 9457 problems.
 *
 *     try {
 *       await client.postMessage({ id: "q4-report", content: "Hello" });
 *     } catch (error) {
 *       if (error instanceof GatepostError && error.is("conflict")) ...
 *     }
 */

import type { Problem } from "./models.js";

const TYPE_PREFIX = "urn:gatepost:problem:";

/** An error that the gateway explains; `status` is 0 if there is no answer of a gateway. */
export class GatepostError extends Error {
  override readonly name = "GatepostError";
  /** Stable, such as `urn:gatepost:problem:unknown-address`. */
  readonly type: string;
  readonly status: number;
  /** One sentence. */
  readonly detail: string;
  /** How to fix it, if that is known. */
  readonly hint: string | undefined;
  /** For a caller that came late: how it ended before, by whom and when. */
  readonly answer: Problem["answer"];

  constructor(problem: Partial<Problem> & { status: number; detail: string }, options?: ErrorOptions) {
    super(problem.hint ? `${problem.detail} (hint: ${problem.hint})` : problem.detail, options);
    this.type = problem.type ?? "about:blank";
    this.status = problem.status;
    this.detail = problem.detail;
    this.hint = problem.hint;
    this.answer = problem.answer;
  }

  /** Return true if the type ends with this name: `not-found`, `unauthorized`, `refused`, `late`, `unavailable`, ... */
  is(name: string): boolean {
    return this.type === TYPE_PREFIX + name;
  }
}

/** Return the error that a gateway, or a proxy in front of it, answered with. */
export function buildError(status: number, body: string): GatepostError {
  let problem: Partial<Problem> = {};
  try {
    const document: unknown = JSON.parse(body);
    if (typeof document === "object" && document !== null) problem = document;
  } catch {
    // an answer of a proxy
  }
  return new GatepostError({ ...problem, status, detail: problem.detail ?? `the gateway answered ${status}` });
}

/** Return the error of a request that did not reach the gateway, or whose answer did not come. */
export function buildConnectionError(cause: unknown): GatepostError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const reason = inner instanceof Error ? inner.message : String(inner);
  return new GatepostError(
    {
      type: `${TYPE_PREFIX}unavailable`,
      status: 0,
      detail: `the gateway cannot be reached: ${reason}`,
      hint: "`gatepost up` starts one",
    },
    { cause },
  );
}

/** Return the error of a stream that the gateway ended, and that cannot go on. */
export function buildRefusal(reason: string): GatepostError {
  return new GatepostError({ type: `${TYPE_PREFIX}refused`, status: 403, detail: reason });
}
