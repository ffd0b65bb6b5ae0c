import type { Clock } from '../../../base/clock.js';
import { waitAtMost } from '../../../base/deadlines.js';
import { parseJson } from '../../../base/json.js';
import { Deadlines } from '../../deadlines.js';
import { failed } from '../../wire/vendor-error.js';
import { VendorHttp, type VendorHttpOptions } from '../../wire/vendor-http.js';
import type { TtsVoice } from '../tts.js';

/** A vendor's request for the voices of the operator's account. */
export interface VoiceListing {
  http: Omit<VendorHttpOptions, 'provider'>;
  /** Below the root, with its query. */
  path: string;
  /** Reads a page, without invalid entries. `next` is the path of the next page; null or omitted = none. */
  read(page: unknown): { voices: readonly ListedVoice[]; next?: string | null };
}

export type ListedVoice = Pick<TtsVoice, 'id' | 'name' | 'language'>;

export interface AccountVoicesOptions {
  provider: string;
  listing: VoiceListing;
  sampleRateHz: number;
  clock: Clock;
}

/** The list is refreshed after this time; until then the old one is returned. */
const FRESH_MS = 600_000;
/** Wait after a failed request. */
const REST_MS = 60_000;
/** Maximum wait for the first list. */
const PATIENCE_MS = 1_500;
/** All pages together. */
const LISTING_MS = 10_000;
const MAX_PAGES = 20;
const MAX_VOICES = 2_000;
const MAX_PAGE_BYTES = 8_388_608;

/**
 * The voices of the operator's account with a vendor, requested on demand and cached. If the vendor does not answer,
 * the caller gets the previous list, or an empty one, after a short wait and no error.
 */
export class AccountVoices {
  readonly #options: AccountVoicesOptions;
  readonly #http: VendorHttp;
  readonly #closing = new AbortController();
  #voices: readonly TtsVoice[] = [];
  /** Time of the next request. */
  #dueMs = -Infinity;
  #asking: Promise<void> | null = null;

  /** @throws ParleyError CONFIG_INVALID for an invalid address */
  constructor(options: AccountVoicesOptions) {
    this.#options = options;
    this.#http = new VendorHttp({ ...options.listing.http, provider: options.provider, maxConnections: 1 });
  }

  /** Never rejects. */
  async list(): Promise<readonly TtsVoice[]> {
    const { clock } = this.#options;
    if (this.#closing.signal.aborted || clock.nowMs() < this.#dueMs) return this.#voices;
    this.#asking ??= this.#ask().finally(() => (this.#asking = null));
    if (this.#voices.length === 0) await waitAtMost(clock, PATIENCE_MS, this.#asking);
    return this.#voices;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#http.close();
  }

  async #ask(): Promise<void> {
    const { provider, clock } = this.#options;
    const deadlines = new Deadlines(clock, provider, this.#closing.signal);
    deadlines.within(LISTING_MS);
    try {
      this.#voices = await this.#pages(deadlines.signal);
      this.#dueMs = clock.nowMs() + FRESH_MS;
    } catch {
      this.#dueMs = clock.nowMs() + REST_MS;
    } finally {
      deadlines.end();
    }
  }

  async #pages(signal: AbortSignal): Promise<TtsVoice[]> {
    const { listing, sampleRateHz } = this.#options;
    const voices = new Map<string, TtsVoice>();
    let path: string | null = listing.path;
    for (let page = 0; path !== null && page < MAX_PAGES && voices.size < MAX_VOICES; page++) {
      const { voices: found, next = null } = listing.read(await this.#page(path, signal));
      for (const voice of found) {
        if (voice.id !== '' && voices.size < MAX_VOICES) voices.set(voice.id, { ...voice, sampleRateHz });
      }
      path = next;
    }
    return [...voices.values()];
  }

  async #page(path: string, signal: AbortSignal): Promise<unknown> {
    const reply = await this.#http.send({ method: 'GET', path, headers: { accept: 'application/json' }, signal });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of reply.body) {
      size += chunk.length;
      if (size > MAX_PAGE_BYTES) throw failed(this.#options.provider, 'its list of voices is too long');
      chunks.push(chunk);
    }
    return parseJson(Buffer.concat(chunks).toString('utf8'));
  }
}
