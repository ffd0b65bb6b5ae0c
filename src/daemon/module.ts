import type { Api } from './http/api.js';

/**
 * A part of the daemon. Each folder of `src/daemon` has a function that makes its module. The daemon calls the methods
 * of all modules in the order of its list. A module leaves out methods that it does not need.
 */
export interface DaemonModule {
  readonly name: string;
  /** Adds endpoints, pages and sockets to the server. */
  routes?(api: Api): void;
  /**
   * Recovers the state of an earlier process before the server listens. Modules recover one after the other, in the
   * reverse order of the list.
   */
  recover?(): Promise<void> | void;
  /**
   * Loads everything that the first call needs. All modules do so at the same time.
   * @returns sentences about services that could not be reached
   */
  warmUp?(): Promise<readonly string[] | void>;
  /** All modules are warm: continues the work of an earlier process. */
  resume?(): void;
  /** The daemon takes no new calls. Running ones continue. Called once, before `stop`. */
  drain?(): void;
  /** A node has died: ends what it has left. May be called again for the same node. Modules do so in the order of `recover`. */
  takeOver?(nodeId: string): Promise<void>;
  /** Other nodes took this one for dead and have closed its calls: ends their lines, because others may call again. */
  disown?(): void;
  /** The daemon is about to close: starts nothing new. */
  stop?(): void;
  /** Ends its work and frees its resources. Called once, after the modules before it in the list have closed. */
  close?(): Promise<void> | void;
}
