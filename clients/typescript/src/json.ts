/**
 * JSON without a loss: integers that a number of JavaScript cannot hold are read as a BigInt, and written with all
 * their digits. Programs in other languages use them as ids, so a client that reads data and sends it back must not
 * round them. A platform that does not know the source of a number (Node.js 20) rounds it, as `JSON.parse` does.
 */

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;
type RawJson = (text: string) => unknown;

/** Return the value of a text; raise SyntaxError if it is no JSON. */
export function parseJson(text: string): unknown {
  // Without such a long number the parser of the platform is exact, and fast.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const revive: Reviver = (_key, value, context) => {
    const isRounded = typeof value === "number" && !Number.isSafeInteger(value);
    return isRounded && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context!.source!) : value;
  };
  return JSON.parse(text, revive);
}

/** Return a value as JSON, in lines if they are to be indented; undefined for what JSON has no words for. */
export function writeJson(value: unknown, indent?: number): string | undefined {
  const { rawJSON } = JSON as { rawJSON?: RawJson };
  const replace = (_key: string, part: unknown) => {
    if (typeof part !== "bigint") return part;
    return rawJSON === undefined ? Number(part) : rawJSON(String(part));
  };
  return JSON.stringify(value, replace, indent) as string | undefined;
}
