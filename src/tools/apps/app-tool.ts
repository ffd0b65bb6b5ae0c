import { baseLanguage } from '../../base/language.js';
import type { Clock } from '../../base/clock.js';
import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import type { AppFunction } from '../../agent/function.js';
import type { Param } from '../../agent/param.js';
import { reasonOf } from '../../base/errors.js';
import type { GuardedClient } from '../../net/guarded-client.js';
import type { App, AppAccount } from './app.js';
import { readArguments } from '../arguments.js';
import { functionSpec } from '../function-spec.js';
import { intercepted, type Tool, type ToolContext, type ToolResult, wrongArguments } from '../tool.js';
import { faultOf } from '../../schema/issues.js';
import { bookMeetingSlot, getAvailableMeetingSlots } from './cal-com.js';

export interface AppToolOptions {
  /** The operator's client: it may call the configured API roots. */
  client: GuardedClient;
  clock: Clock;
  /** IANA name of the agent's time zone. */
  timezone: string;
  /** A code of the interface's language list. */
  language: string;
  /** API roots that replace the services' own, by service name. */
  baseUrls: Readonly<Record<string, string>>;
}

/** A built-in function of a third-party service. */
export class AppTool implements Tool {
  readonly spec: ToolSpec;
  readonly maxMs = 10_000;
  readonly #app: App;
  readonly #account: AppAccount;
  readonly #params: readonly Param[];
  readonly #baseUrl: string;
  readonly #options: AppToolOptions;

  /** @throws InvalidConfigError with places in `fn` for an unknown app or wrong credentials */
  constructor(fn: AppFunction, options: AppToolOptions) {
    const { timezone, language, baseUrls } = options;
    this.#options = options;
    this.#app = appOf(fn);
    const spoken = language === 'multi' ? 'en' : baseLanguage(language);
    this.#account = { credentials: fn.credentials ?? {}, timezone, language: spoken };
    const { service, baseUrl } = this.#app;
    this.#baseUrl = ((Object.hasOwn(baseUrls, service) ? baseUrls[service] : undefined) ?? baseUrl).replace(/\/+$/, '');
    const { description, params } = this.#app.describe(this.#account);
    this.#params = params;
    this.spec = functionSpec({ name: fn.name, description, params: [...params] }, new Map());
  }

  async run(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    const { signal } = context;
    signal.throwIfAborted();
    const { name } = this.#app;
    const read = readArguments(this.#params, call.arguments);
    if (!read.ok) return wrongArguments(read.problem, name);
    try {
      const { client, clock } = this.#options;
      const service = { client, clock, baseUrl: this.#baseUrl, signal };
      const run = (): Promise<ToolResult> => this.#app.run(read.values, this.#account, service);
      return await intercepted(context, { name: this.spec.name, arguments: read.values, afterCall: false }, run);
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, content: `${name} failed. ${reasonOf(error)}.` };
    }
  }
}

/** All apps. A new one is a file that exports it, and a line here. */
const APPS: readonly App[] = [getAvailableMeetingSlots, bookMeetingSlot];

/** @throws InvalidConfigError for an unknown app, and for missing or unexpected credentials */
export function appOf({ name, credentials }: AppFunction): App {
  const app = APPS.find((known) => known.name === name);
  if (app === undefined) {
    const known = APPS.map((each) => each.name).join(', ');
    throw faultOf(['name'], `there is no "${name}". Known: ${known}`);
  }
  const given = credentials ?? {};
  const missing = app.credentials.filter((key) => (given[key] ?? '').trim() === '');
  if (missing.length > 0) throw faultOf(['credentials'], `${name} needs the credentials ${missing.join(', ')}`);
  const known = [...app.credentials, ...app.optionalCredentials];
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  if (unknown.length > 0) {
    throw faultOf(
      ['credentials', unknown[0] ?? ''],
      `${name} has no credentials ${unknown.join(', ')}. It has ${known.join(', ')}`,
    );
  }
  return app;
}
