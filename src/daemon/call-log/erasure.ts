import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import { CallPages } from '../../store/call-pages.js';
import { CampaignRecordStore } from '../../store/campaign-records.js';
import { CallStore } from '../../store/calls.js';
import { LeftoverStore } from '../../store/leftovers.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import { phonePattern } from '../../store/phone-pattern.js';
import type { CallFiles } from '../files/call-files.js';
import type { Api } from '../http/api.js';

/** Deletes the data of one part of the daemon about a number. Returns counts by kind. */
export type Eraser = (number: string) => Promise<Readonly<Record<string, number>>>;

/** Calls that one transaction deletes. */
const BATCH = 10;

/** Deletes all data about a phone number. The do-not-call list keeps the number, because it protects the person. */
export class Erasure {
  readonly #database: SqlDatabase | null;
  readonly #erasers: readonly Eraser[];
  readonly #running = new Set<Promise<unknown>>();

  /** @param database null = there is nothing to erase from */
  constructor(database: SqlDatabase | null, erasers: readonly Eraser[]) {
    this.#database = database;
    this.#erasers = erasers;
  }

  /**
   * Returns counts of the deleted items by kind.
   * @throws ParleyError NUMBER_INVALID for a part of a number
   */
  async erase(phone: string): Promise<Record<string, number>> {
    const work = this.#erase(phone);
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }

  /** Resolves when all running deletions are complete. Close the database only after that. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #erase(phone: string): Promise<Record<string, number>> {
    const pattern = phonePattern(phone);
    if (pattern.kind !== 'whole') throw new ParleyError('NUMBER_INVALID', { number: phone });
    const erased: Record<string, number> = {};
    for (const eraser of this.#erasers) {
      for (const [what, count] of Object.entries(await eraser(pattern.number))) {
        erased[what] = (erased[what] ?? 0) + count;
      }
    }
    // Last: deleted content must remain neither in the write-ahead log nor in free pages.
    await this.#database?.scrub();
    return erased;
  }
}

/**
 * Deletes calls from and to a number with their transcripts, recordings, traces, memories, webhook messages and the
 * messages stored for later sessions. It only counts calls that have not ended.
 */
export function callEraser(database: SqlDatabase, files: CallFiles): Eraser {
  const store = new CallStore(database);
  const pages = new CallPages(database);
  const leftovers = new LeftoverStore(database);
  return async (number) => {
    const erased = {
      calls: 0,
      going_on: 0,
      recordings: 0,
      traces: 0,
      memories: 0,
      sessions: 0,
      deliveries: 0,
      dials: 0,
    };
    const add = (counts: Readonly<Partial<typeof erased>>): void => {
      for (const [what, count] of Object.entries(counts)) erased[what as keyof typeof erased] += count;
    };
    let beforeUs: number | null = null;
    do {
      const page: Awaited<ReturnType<CallPages['page']>> = await pages.page({ phone: number }, BATCH, beforeUs);
      const ended = page.calls.filter(({ endedUs }) => endedUs !== null);
      add({ going_on: page.calls.length - ended.length });
      for (const call of ended) add({ ...(await files.remove(call)) });
      add(await leftovers.eraseSessions(ended.map(({ sessionId }) => sessionId)));
      add({ calls: await store.remove(ended) });
      beforeUs = page.nextUs;
    } while (beforeUs !== null);
    add(await leftovers.eraseNumber(number));
    return erased;
  };
}

/** Deletes the records and refusals of a number in all campaigns, except records with a call in progress. */
export function campaignEraser(database: SqlDatabase): Eraser {
  const records = new CampaignRecordStore(database);
  return async (number) => ({ campaign_records: await records.erase(number) });
}

const number = z.strictObject({ phone: z.string().min(1).max(100).describe('The whole number, such as +12025550103') });

/** Deletes the data of a person. */
export function erasureRoutes(api: Api, erasure: Erasure): void {
  api.add({
    id: 'erasePhone',
    method: 'POST',
    scope: 'admin',
    path: '/erase',
    tag: 'privacy',
    summary: 'Delete all data about a phone number',
    description:
      'Deletes its calls with transcripts, recordings and traces, memories, stored messages for later sessions, webhook ' +
      'messages and campaign records. Only counts calls in progress (`going_on`). The do-not-call list keeps the number.',
    body: number,
    answer: z
      .strictObject({ success: z.boolean(), erased: z.record(z.string(), z.int()).describe('Counts by kind') })
      .meta({ id: 'Erased' }),
    errors: ['NUMBER_INVALID'],
    examples: () => ({
      body: { phone: '+12025550103' },
      answer: { success: true, erased: { calls: 2, going_on: 0, recordings: 1, traces: 1, memories: 1, dials: 2 } },
    }),
    handle: async ({ body: { phone } }) => ({ success: true, erased: await erasure.erase(phone) }),
  });
}
