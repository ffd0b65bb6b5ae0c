import type { Clock } from '../../base/clock.js';
import type { Param } from '../../agent/param.js';
import type { GuardedClient } from '../../net/guarded-client.js';
import type { Arguments } from '../arguments.js';
import type { ToolResult } from '../tool.js';

/**
 * A function of a third-party service that agents select by name. Each is a file in this folder and a line in the
 * registry.
 */
export interface App {
  /** Name of the function, as `app_functions` gives it. */
  readonly name: string;
  /** Name of the service; the operator can override its API root by this name. */
  readonly service: string;
  readonly baseUrl: string;
  /** Required members of `credentials`. */
  readonly credentials: readonly string[];
  /** Optional members. */
  readonly optionalCredentials: readonly string[];
  /** The function spec for the model, given the agent's credentials and time zone. */
  describe(account: AppAccount): { description: string; params: readonly Param[] };
  /** Runs with validated arguments. Rejects if the service is unreachable. */
  run(values: Arguments, account: AppAccount, call: AppCall): Promise<ToolResult>;
}

export interface AppAccount {
  credentials: Readonly<Record<string, string>>;
  /** IANA name. */
  timezone: string;
  /** ISO 639 code of the conversation's language. */
  language: string;
}

export interface AppCall {
  client: GuardedClient;
  clock: Clock;
  /** Without a trailing slash. */
  baseUrl: string;
  signal: AbortSignal;
}
