export type Position = 'bottom-right' | 'bottom-left' | 'inline' | 'fill';
export type Theme = 'auto' | 'light' | 'dark';

/** The page's options for a widget. */
export interface WidgetOptions {
  /** Address of the daemon, without a trailing slash. */
  server: string;
  agentId: string;
  publicKey: string;
  position: Position;
  theme: Theme;
  /** The agent's name in the transcript; null = its own. */
  name: string | null;
  /** The consent text before the first call; null = none. */
  consent: string | null;
  /** Address of a page with details. */
  consentUrl: string | null;
  /** Information about the user for the agent. */
  metadata: Readonly<Record<string, unknown>>;
  /** Why calls are impossible, for the page's author; null = they are possible. */
  fault: string | null;
}

/** Attributes of the element. The script uses them with `data-`, the frame's address with `_` for `-`. */
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
 * @param get returns an attribute's value, null if not set
 * @param home the daemon that served the script
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

/** One of the known values; the first for any other. */
function oneOf<T extends string>(known: readonly [T, ...T[]], value: string | null): T {
  return known.find((one) => one === value) ?? known[0];
}

/** Null if it is not a JSON object. */
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
