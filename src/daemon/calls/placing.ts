import { ParleyError } from '../../base/errors.js';
import type { CallGuards } from '../../settings/setting-groups.js';
import { type DialStore, DIALS_LOCK, type Reservation } from '../../store/dials.js';
import { isLiveNode } from '../../store/nodes.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import type { CallBeginning, CallLog } from '../call-log/call-log.js';
import { type CallIds, type CampaignRecordRef, RecordChanged, type RecordStarts } from './dial.js';

export interface CallPlacingOptions {
  database: SqlDatabase;
  dials: DialStore;
  log: CallLog;
  /** Of all campaigns. */
  records: RecordStarts;
  /** This one: on PostgreSQL, it places no calls while others have declared it dead. Default: nobody does. */
  node?: { readonly id: string };
}

/** A call that an agent is about to place. */
export interface PlacedCall {
  reservation: Reservation;
  limits: CallGuards;
  call: CallBeginning;
  /** Null = it is not for a campaign. */
  record: CampaignRecordRef | null;
}

/** Accepts outbound calls, one at a time on all nodes. */
export class CallPlacing {
  readonly #options: CallPlacingOptions;

  constructor(options: CallPlacingOptions) {
    this.#options = options;
  }

  /**
   * Checks the limits, reserves a call, begins the record of its campaign and writes the call into the log: all of it, or
   * nothing.
   * @returns the ids of the call. A repeated request gets those of the first one, and nothing is written
   * @throws ParleyError CALLS_STOPPED, LIMIT_…, IDEMPOTENCY_KEY_REUSED, DATABASE_UNREACHABLE, NODE_DISOWNED;
   * RecordChanged
   */
  place({ reservation, limits, call, record }: PlacedCall): Promise<CallIds> {
    const { database, dials, log, records, node } = this.#options;
    const isWatched = database.dialect === 'postgres';
    const { sessionId } = reservation;
    return log.inOrder(sessionId, async () => {
      const { ids, begun } = await log.beginBy(sessionId, () =>
        database.transaction(function* () {
          if (isWatched && node !== undefined && !(yield* isLiveNode(node.id))) throw new ParleyError('NODE_DISOWNED');
          const reserved = yield* dials.reserve(reservation, limits);
          if (reserved.sessionId !== sessionId) return { ids: reserved, begun: null };
          if (record !== null) {
            const unixMs = (yield* database.nowUs()) / 1000;
            if (!(yield* records.begin(record.seq, sessionId, unixMs))) throw new RecordChanged();
          }
          return { ids: reserved, begun: yield* log.beginning(call) };
        }, DIALS_LOCK),
      );
      if (begun !== null) log.began(begun);
      return ids;
    });
  }
}
