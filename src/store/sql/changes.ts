import type { Cancel } from '../../base/clock.js';

/** Tables whose changes are reported. `agents` includes their versions, `campaigns` leaves out their pace. */
export type ChangedTable = 'keys' | 'phones' | 'agents' | 'custom_voices' | 'calls_stopped' | 'campaigns';

/** Reports changes of tables, whoever made them. */
export interface Changes {
  /**
   * Calls the listener after each change that is committed, once for changes that come together. Changes of other nodes
   * come at once or, where a notification was lost, within two seconds. The listeners of a table run one after the other,
   * in the order in which they were added: those of live tables first.
   * @param listener reads what it needs. It is called again later if it rejects
   */
  on(table: ChangedTable, listener: () => Promise<void>): Cancel;
  /** Calls the listeners for all changes that were committed before the call. Resolves when they have ended, or it fails. */
  check(): Promise<void>;
}

/** Of a database that only this process changes. */
export const NO_CHANGES: Changes = { on: () => () => undefined, check: () => Promise.resolve() };
