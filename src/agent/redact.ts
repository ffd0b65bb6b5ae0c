import type { AgentConfig } from './agent.js';
import { InvalidConfigError, type Location, type ValidationIssue } from '../schema/issues.js';

/** Replaces a secret in what is shown. */
export const REDACTED = '***';

/** Query parameters with such names carry secrets. */
const SECRET_PARAMETER = /key|token|secret|sig|pass|auth|credential|^code$/i;
/** A parameter of a query: what precedes its value, its name, its value. */
const PARAMETER = /([?&]([^=&#]*)=)([^&#]*)/g;

/**
 * A copy that may be shown and kept in records: header values, credentials of app functions, and what stands in a
 * query under a name like `token` are `***`. The rest of an address is shown, so secrets do not belong in its path.
 */
export function redactAgentConfig(config: AgentConfig): AgentConfig {
  return mapSecrets(config, () => ({ url: redactUrl, values: redactValues }));
}

/**
 * A configuration that a client sends back, with the stored secrets where it says `***`. Functions are matched by
 * name; a renamed one is known by its address. A secret is put back only where its address still leads to the same
 * host: who may change an agent may not thereby learn its secrets.
 * @param stored null where there is none yet; every `***` is a fault then
 * @param location goes before each fault's location, such as `['body', 'config']`
 * @throws InvalidConfigError naming every `***` that stands for nothing stored, or whose address has changed.
 */
export function restoreSecrets(changed: AgentConfig, stored: AgentConfig | null, location: Location = []): AgentConfig {
  const issues: ValidationIssue[] = [];
  const restored = mapSecrets(changed, (holder) => {
    const was = stored === null ? undefined : counterpart(stored, holder);
    return restoring(was, holder.url, (place, msg) => {
      issues.push({ loc: [...location, ...holder.place, ...place], msg, type: 'value_error' });
    });
  });
  if (issues.length > 0) throw new InvalidConfigError(issues);
  return restored;
}

type Values = Record<string, string>;
type Webhook = string | { url: string; headers?: Values | null | undefined };

/** A part of a configuration that may hold secrets. */
interface Holder {
  readonly place: Location;
  /** Of a function. */
  readonly name?: string;
  readonly url: string | null;
  readonly values?: Readonly<Values> | null | undefined;
}

/** What becomes of a holder's secrets. Places count from the holder. */
interface Change {
  url(url: string, place: Location): string;
  values(values: Readonly<Values>, place: Location): Values;
}

const WEBHOOKS = ['custom_llm_websocket', 'session_data_webhook', 'extra_prompt_webhook'] as const;

/** The one list of where secrets are. */
function mapSecrets(config: AgentConfig, changeOf: (holder: Holder) => Change): AgentConfig {
  const mapped: AgentConfig = { ...config };
  if (config.tools != null) {
    mapped.tools = config.tools.map((tool, index) => {
      const { name, webhook, header } = tool;
      const change = changeOf({ place: ['tools', index], name, url: webhook ?? null, values: header });
      const changed = { ...tool };
      if (webhook != null) changed.webhook = change.url(webhook, ['webhook']);
      if (header != null) changed.header = change.values(header, ['header']);
      return changed;
    });
  }
  if (config.app_functions != null) {
    mapped.app_functions = config.app_functions.map((app, index) => {
      const { name, credentials } = app;
      if (credentials == null) return app;
      const change = changeOf({ place: ['app_functions', index], name, url: null, values: credentials });
      return { ...app, credentials: change.values(credentials, ['credentials']) };
    });
  }
  if (config.call_settings?.background != null) {
    const { background } = config.call_settings;
    const change = changeOf({ place: ['call_settings', 'background'], url: background.url });
    const url = change.url(background.url, ['url']);
    mapped.call_settings = { ...config.call_settings, background: { ...background, url } };
  }
  for (const field of WEBHOOKS) {
    const webhook: Webhook | null | undefined = config[field];
    if (webhook != null) mapped[field] = mapWebhook(webhook, [field], changeOf);
  }
  return mapped;
}

function mapWebhook(webhook: Webhook, place: Location, changeOf: (holder: Holder) => Change): Webhook {
  if (typeof webhook === 'string') return changeOf({ place, url: webhook }).url(webhook, []);
  const { url, headers } = webhook;
  const change = changeOf({ place, url, values: headers });
  const changed = { ...webhook, url: change.url(url, ['url']) };
  if (headers != null) changed.headers = change.values(headers, ['headers']);
  return changed;
}

/** The part of a stored configuration that a part of a changed one was. */
function counterpart(stored: AgentConfig, { place, name, url }: Holder): Holder | undefined {
  const [field] = place;
  const holders: Holder[] = [];
  mapSecrets(stored, (holder) => {
    if (holder.place[0] === field) holders.push(holder);
    return { url: (same) => same, values: (same) => ({ ...same }) };
  });
  if (name === undefined) return holders[0];
  const isSameAddress = (holder: Holder): boolean =>
    holder.url !== null && redactUrl(holder.url) === redactUrl(url ?? '');
  return holders.find((holder) => holder.name === name) ?? holders.find(isSameAddress);
}

/** Puts back the secrets of one holder. Names of values count as headers do: in any case of letters. */
function restoring(was: Holder | undefined, now: string | null, fault: (place: Location, msg: string) => void): Change {
  const isOtherOrigin = was !== undefined && originOf(was.url) !== originOf(now);
  const secret = (known: string | undefined, place: Location): string => {
    if (known !== undefined && !isOtherOrigin) return known;
    fault(
      place,
      known === undefined
        ? `${REDACTED} stands for a stored value, and there is none`
        : `${REDACTED} stands for a value that was stored for another host: give it again`,
    );
    return REDACTED;
  };
  const values = new Map(Object.entries(was?.values ?? {}).map(([key, value]) => [key.toLowerCase(), value]));
  const parameters = new Map<string, string>();
  for (const [, , name = '', value = ''] of (was?.url ?? '').matchAll(PARAMETER)) parameters.set(name, value);
  return {
    url: (url, place) =>
      url.replace(PARAMETER, (whole, before: string, name: string, value: string) =>
        value === REDACTED ? before + secret(parameters.get(name), place) : whole,
      ),
    values: (changed, place) =>
      mapValues(changed, (value, key) =>
        value === REDACTED ? secret(values.get(key.toLowerCase()), [...place, key]) : value,
      ),
  };
}

/** Scheme, host and port; what is no address has none. */
function originOf(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

/** A copy of an address that may be shown. A value that is a variable and nothing else is no secret. */
export function redactUrl(url: string): string {
  return url.replace(PARAMETER, (whole, before: string, name: string, value: string) =>
    SECRET_PARAMETER.test(name) && value !== '' && !/^\{[^{}]*\}$/.test(value) ? before + REDACTED : whole,
  );
}

function redactValues(values: Readonly<Values>): Values {
  return mapValues(values, (value) => (value === '' ? '' : REDACTED));
}

function mapValues(values: Readonly<Values>, change: (value: string, key: string) => string): Values {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value, key)]));
}
