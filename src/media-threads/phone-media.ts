import { type CodecFacts, CODECS } from '../rtp/codecs.js';
import type { RtpMediaOptions, RtpStats } from '../rtp/media.js';
import type { Agreement } from '../rtp/negotiation.js';
import type { PortPair } from '../rtp/ports.js';
import type { AgreedMedia } from '../rtp/session.js';
import type { SrtpKey } from '../rtp/srtp-keys.js';
import type { Transport } from '../transports/transport.js';
import type { PhoneLine } from './phone-line.js';
import type { MediaThread } from './media-thread.js';

export interface PhoneMediaOptions {
  thread: MediaThread;
  line: PhoneLine;
  pair: PortPair;
  listener: RtpMediaOptions['listener'] | undefined;
  totals: RtpMediaOptions['totals'] | undefined;
}

const NO_MEDIA = {
  ...{ concealedMs: 0, strangers: 0, forged: 0, junk: 0, unknownTypes: 0, undecodable: 0, early: 0 },
  ...{ roundTripMs: null, reportedLoss: null, reportedJitterMs: null },
} as const;

/** The main thread's end of a call's media in a media thread. What is agreed upon is told there; nothing is waited for. */
export class PhoneMedia implements AgreedMedia {
  readonly #options: PhoneMediaOptions;
  #agreement: Agreement | null = null;
  #isHeld = false;
  #closing: Promise<void> | null = null;

  constructor(options: PhoneMediaOptions) {
    this.#options = options;
    options.totals?.opened();
  }

  get line(): Transport {
    return this.#options.line;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  agree(agreement: Agreement): void {
    if (this.#closing !== null) return;
    const { thread, line, listener } = this.#options;
    this.#agreement = agreement;
    thread.tell('agree', { line: line.id, agreement: plainAgreement(agreement) });
    if (agreement.sends !== this.#isHeld) return;
    this.#isHeld = !agreement.sends;
    listener?.held?.(this.#isHeld);
  }

  answered(): void {
    this.#options.thread.tell('answered', this.#options.line.id);
  }

  /** As far as the thread has said; the codec is known here. */
  stats(): RtpStats {
    const { line } = this.#options;
    const facts = { codec: this.#agreement?.codec.facts.name ?? null, isSecure: this.#agreement?.srtp != null };
    return { ...NO_MEDIA, ...line.lineStats(), ...line.facts.media, ...facts };
  }

  lost(error: Error): void {
    this.#options.listener?.lost?.(error);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { thread, line, pair, totals } = this.#options;
    const last = await thread.closeMedia(line.id).catch(() => this.stats());
    totals?.closed(last);
    await pair.close();
    await line.close();
  }
}

/** Keys without the pool of Node's that they may lie in: it would cross over with them. */
function plainAgreement({ srtp, ...agreement }: Agreement): Agreement {
  const own = ({ suite, key, salt }: SrtpKey): SrtpKey => ({
    ...{ suite, key: new Uint8Array(key), salt: new Uint8Array(salt) },
  });
  return { ...agreement, srtp: srtp === null ? null : { send: own(srtp.send), receive: own(srtp.receive) } };
}

/**
 * What has crossed over, with this thread's codecs: a codec that stays is known by being the same. Read for each packet:
 * what is spread comes last, see docs/design.md.
 */
export function ownAgreement({ codec, codecs, ...rest }: Agreement): Agreement {
  const own = ({ name }: CodecFacts): CodecFacts => CODECS[name];
  return {
    codec: { payloadType: codec.payloadType, facts: own(codec.facts) },
    codecs: new Map([...codecs].map(([type, facts]) => [type, own(facts)])),
    ...rest,
  };
}
