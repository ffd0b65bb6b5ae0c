/** Deepest nesting of JSON from outside. `JSON.parse` accepts any depth, but `JSON.stringify` and others recurse. */
const MAX_JSON_DEPTH = 64;

/**
 * Parses JSON from outside: bodies of webhooks, messages of custom LLM and MCP servers, a model's arguments.
 * @throws SyntaxError if the text is not JSON or nests deeper than 64 levels
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isDeeperThan(value, MAX_JSON_DEPTH)) {
    throw new SyntaxError(`The JSON is nested deeper than ${String(MAX_JSON_DEPTH)} levels`);
  }
  return value;
}

function isDeeperThan(value: unknown, limit: number): boolean {
  let level = [value];
  for (let depth = 0; depth <= limit; depth++) {
    level = level.flatMap((item) =>
      typeof item === 'object' && item !== null ? (Object.values(item) as unknown[]) : [],
    );
    if (level.length === 0) return false;
  }
  return true;
}
