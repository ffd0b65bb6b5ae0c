import type { Clock } from '../../base/clock.js';
import type { Param } from '../../agent/function.js';
import type { GuardedClient } from '../../net/guarded-client.js';
import type { Arguments } from '../arguments.js';
import type { ToolResult } from '../tool.js';

/** A function of somebody else's service that agents get by its name. A file of this folder and a line of the registry. */
export interface App {
  /** Name of the function, as `app_functions` gives it. */
  readonly name: string;
  /** Whose API it is: the operator overrides its root by this name. */
  readonly service: string;
  readonly baseUrl: string;
  /** Names of what `credentials` has to hold. */
  readonly credentials: readonly string[];
  /** What else it may hold. */
  readonly optionalCredentials: readonly string[];
  /** What the model is told, for an agent with these credentials and this time zone. */
  describe(account: AppAccount): { description: string; params: readonly Param[] };
  /** Runs with arguments that have been checked. Rejects where the service cannot be reached. */
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
  /** Without a slash at its end. */
  baseUrl: string;
  signal: AbortSignal;
}
