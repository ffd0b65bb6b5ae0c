import type { Api } from './http/api.js';

/**
 * A part of the daemon. Each folder of `src/daemon` has a function that makes its module. The daemon calls the methods of
 * all modules in the order of its list; a module leaves out those that it has no use for.
 */
export interface DaemonModule {
  readonly name: string;
  /** Adds endpoints, pages and sockets to the server. */
  routes?(api: Api): void;
  /**
   * Settles what an earlier process left, before the server listens. Modules recover one after the other, the last of the
   * list first.
   */
  recover?(): Promise<void> | void;
  /**
   * Loads what the first call would otherwise wait for, at the same time as all other modules.
   * @returns in words, what could not be reached
   */
  warmUp?(): Promise<readonly string[] | void>;
  /** All modules are warm: goes on with what an earlier process left. */
  resume?(): void;
  /** The daemon closes: begins nothing new. */
  stop?(): void;
  /** Ends what runs and frees what it holds. Called once, when the modules before it in the list are closed. */
  close?(): Promise<void> | void;
}
