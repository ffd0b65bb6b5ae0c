export type Position = 'bottom-right' | 'bottom-left' | 'inline' | 'fill';
export type Theme = 'auto' | 'light' | 'dark';

/** What the page around a widget says of it. */
export interface WidgetOptions {
  /** Address of the daemon, without a slash at the end. */
  server: string;
  agentId: string;
  publicKey: string;
  position: Position;
  theme: Theme;
  /** Who speaks, in the transcript; null = the agent's name. */
  name: string | null;
  /** What the user has to agree to before the first call; null = nothing. */
  consent: string | null;
  /** More about that: an address of a page. */
  consentUrl: string | null;
  /** What the agent knows of the user. */
  metadata: Readonly<Record<string, unknown>>;
  /** Why there can be no call, for who makes the page; null = there can. */
  fault: string | null;
}

/** Attributes of the element. The script has the same with `data-` before, the frame's address with `_` for `-`. */
export const ATTRIBUTES = [
  'agent-id',
  'public-key',
  'server',
  'position',
  'theme',
  'name',
  'consent',
  'consent-url',
  'metadata',
] as const;

/**
 * Reads the options.
 * @param get an attribute's value, null where it is not set
 * @param home the daemon that the script came from
 */
export function readOptions(get: (name: string) => string | null, home: string): WidgetOptions {
  const text = (name: (typeof ATTRIBUTES)[number]): string | null => {
    const value = get(name)?.trim() ?? '';
    return value === '' ? null : value;
  };
  const agentId = text('agent-id');
  const publicKey = text('public-key');
  const metadata = metadataOf(text('metadata'));
  return {
    server: (text('server') ?? home).replace(/\/+$/, ''),
    agentId: agentId ?? '',
    publicKey: publicKey ?? '',
    position: oneOf(['bottom-right', 'bottom-left', 'inline', 'fill'], text('position')),
    theme: oneOf(['auto', 'light', 'dark'], text('theme')),
    name: text('name'),
    consent: text('consent'),
    consentUrl: webAddress(text('consent-url')),
    metadata: metadata ?? {},
    fault:
      agentId === null || publicKey === null
        ? 'it needs an agent-id and a public-key'
        : metadata === null
          ? 'its metadata is no JSON object'
          : null,
  };
}

/** One of the known values; the first where it is none of them. */
function oneOf<T extends string>(known: readonly [T, ...T[]], value: string | null): T {
  return known.find((one) => one === value) ?? known[0];
}

/** Null where it is no JSON object. */
function metadataOf(text: string | null): Record<string, unknown> | null {
  if (text === null) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function webAddress(text: string | null): string | null {
  return text !== null && /^https?:\/\//i.test(text) && URL.canParse(text) ? text : null;
}
