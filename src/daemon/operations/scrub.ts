import { SETTING_NAMES } from '../../settings/load-settings.js';
import type { Settings } from '../../settings/settings.js';

/** Keys as parley makes them, and what follows `Bearer`. */
const KEY = /\b(?:sk|pk|st|whsec)[_-][A-Za-z0-9_+/=-]{8,}|\bBearer\s+[^\s"',]+/gi;
/** Phone numbers: with a plus, or so many digits on end that they may be one. */
const NUMBER = /\+\d[\d ().-]{5,}\d|(?<![\w-])\d{10,15}(?![\w-])/g;
/** V8 quotes what it could not parse. */
const QUOTED_JSON = /(?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON/g;
const SHORTEST_SECRET = 6;

/** Takes out of a text what a log must not hold. */
export type Scrub = (text: string) => string;

/** @param settings whose secrets are known by value */
export function scrubber(settings: Settings): Scrub {
  const known = SETTING_NAMES.filter(({ secret }) => secret).flatMap(({ key }): unknown => settings[key]);
  const models = [...Object.values(settings.models), ...Object.values(settings.vendors)].map(({ apiKey }) => apiKey);
  const headers = [...Object.values(settings.serviceWebhooks), ...Object.values(settings.mcpServers)].flatMap(
    (server) => ('headers' in server ? Object.values(server.headers ?? {}) : []),
  );
  const secrets = [...known, ...models, ...headers]
    .filter((value) => typeof value === 'string' && value.length >= SHORTEST_SECRET)
    .toSorted((a, b) => String(b).length - String(a).length) as string[];
  return (text) => {
    const bare = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
    return bare.replace(KEY, '[key]').replace(NUMBER, '[number]').replace(QUOTED_JSON, '"…" is not valid JSON');
  };
}

/** An error as a log may hold it: what it is, what it says and where, not what it carries. */
export interface ScrubbedError {
  type: string;
  code?: string;
  message: string;
  stack?: string;
  cause?: ScrubbedError;
}

export function scrubbedError(error: Error, scrub: Scrub, depth = 0): ScrubbedError {
  const { cause } = error;
  return {
    type: error.name,
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    message: scrub(error.message),
    ...(error.stack !== undefined && { stack: scrub(error.stack) }),
    ...(cause instanceof Error && depth < 4 && { cause: scrubbedError(cause, scrub, depth + 1) }),
  };
}
