import type { Clock } from '../../../base/clock.js';
import { waitAtMost } from '../../../base/deadlines.js';
import { parseJson } from '../../../base/json.js';
import { Deadlines } from '../../deadlines.js';
import { failed } from '../../wire/vendor-error.js';
import { VendorHttp, type VendorHttpOptions } from '../../wire/vendor-http.js';
import type { TtsVoice } from '../tts.js';

/** How a vendor is asked which voices the operator's account has. */
export interface VoiceListing {
  http: Omit<VendorHttpOptions, 'provider'>;
  /** Below the root, with its query. */
  path: string;
  /** Reads a page: what is no voice is left out. `next` is the path of the page behind it, null or left out = none. */
  read(page: unknown): { voices: readonly ListedVoice[]; next?: string | null };
}

export type ListedVoice = Pick<TtsVoice, 'id' | 'name' | 'language'>;

export interface AccountVoicesOptions {
  provider: string;
  listing: VoiceListing;
  sampleRateHz: number;
  clock: Clock;
}

/** A list is asked for anew after this; the old one is shown meanwhile. */
const FRESH_MS = 600_000;
/** A vendor that could not be asked is not asked again for so long. */
const REST_MS = 60_000;
/** Whoever wants the voices does not wait longer for the first list. */
const PATIENCE_MS = 1_500;
/** All pages together. */
const LISTING_MS = 10_000;
const MAX_PAGES = 20;
const MAX_VOICES = 2_000;
const MAX_PAGE_BYTES = 8_388_608;

/**
 * The voices that the operator's account has with a vendor, asked for when somebody wants them and kept for a while. A
 * vendor that does not answer delays nobody for long, and fails nothing: what was known before is shown, if anything.
 */
export class AccountVoices {
  readonly #options: AccountVoicesOptions;
  readonly #http: VendorHttp;
  readonly #closing = new AbortController();
  #voices: readonly TtsVoice[] = [];
  /** When they are asked for again. */
  #dueMs = -Infinity;
  #asking: Promise<void> | null = null;

  /** @throws ParleyError CONFIG_INVALID for an address that is none */
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
