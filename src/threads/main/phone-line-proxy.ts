import type { SpecialInformation } from '../../audio/tones/special-information-tones.js';
import type {
  CallLineControl,
  CallLineEvents,
  CallMediaOptions,
} from '../../telephony/carriers/sip/call-media-host.js';
import type { RtpMediaOptions, RtpStats } from '../../transports/rtp/media.js';
import type { PortPair, RtpPorts } from '../../transports/rtp/ports.js';
import type { AgreedMedia, OpenedMedia } from '../../transports/rtp/session.js';
import type { DatagramSocket } from '../../transports/rtp/socket.js';
import { type LineStats, NO_LINE_STATS, type TransferOutcome, type Transport } from '../../transports/transport.js';
import { type LineFacts, plainAgreement } from '../wire/protocol.js';
import { LineProxy, type LineChannel } from './line-proxy.js';
import { toWire } from '../wire/rpc.js';
import type { Agreement } from '../../transports/rtp/negotiation.js';

export interface PhoneMediaProxyOptions {
  thread: LineChannel;
  line: PhoneLineProxy;
  pair: PortPair;
  listener: RtpMediaOptions['listener'] | undefined;
  totals: RtpMediaOptions['totals'] | undefined;
}

const NO_MEDIA = {
  concealedMs: 0,
  strangers: 0,
  forged: 0,
  junk: 0,
  unknownTypes: 0,
  undecodable: 0,
  early: 0,
  roundTripMs: null,
  reportedLoss: null,
  reportedJitterMs: null,
} as const;

/**
 * The main thread's proxy of a call's media in a media thread. It sends the negotiated values and waits for nothing.
 */
export class PhoneMediaProxy implements AgreedMedia {
  readonly line = null;
  readonly #options: PhoneMediaProxyOptions;
  #agreement: Agreement | null = null;
  #isHeld = false;
  #closing: Promise<void> | null = null;

  constructor(options: PhoneMediaProxyOptions) {
    this.#options = options;
    options.totals?.opened();
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

  /** As last reported by the thread; the codec is known here. */
  stats(): RtpStats {
    const { line } = this.#options;
    const facts = { codec: this.#agreement?.codec.facts.name ?? null, isSecure: this.#agreement?.srtp != null };
    return { ...NO_MEDIA, ...line.lineStats(), ...line.facts.media, ...facts };
  }

  lost(error: Error): void {
    this.#options.listener?.lost?.(error);
  }

  announced(what: SpecialInformation): void {
    this.#options.listener?.announced?.(what);
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

const NO_FACTS: LineFacts = {
  digitsSent: '',
  digitsReceived: '',
  media: null,
  line: NO_LINE_STATS,
};

type Transfer = NonNullable<Transport['transfer']>;

/**
 * The main thread's proxy of a phone call's line in a media thread: signalling is here, sockets and audio are there.
 */
export class PhoneLineProxy extends LineProxy implements CallLineControl {
  readonly name = 'sip';
  /** Resolves when the final facts are known here. */
  readonly frozen: Promise<void>;
  readonly #events: CallLineEvents;
  #facts = NO_FACTS;
  #media: PhoneMediaProxy | null = null;
  #transferBy: Transfer | null = null;
  #isTransferring = false;
  /** The end of the line waits for the outcome of a transfer. */
  #late: (() => void) | null = null;
  #isFrozen = false;
  #isLost: Error | null = null;
  #onFrozen!: () => void;

  constructor(id: string, thread: LineChannel, rateHz: number, events: CallLineEvents) {
    super(id, thread);
    this.#events = events;
    this.frozen = new Promise((resolve) => (this.#onFrozen = resolve));
    thread.tell('openCall', { line: id, rateHz });
  }

  get digitsSent(): string {
    return this.#facts.digitsSent;
  }

  get digitsReceived(): string {
    return this.#facts.digitsReceived;
  }

  /** As last reported by its thread, which reports at the end. */
  get facts(): LineFacts {
    return this.#facts;
  }

  lineStats(): LineStats {
    return this.#facts.line;
  }

  async received(): Promise<number> {
    const { line } = await this.thread.factsOf(this.id, false).catch(() => this.#facts);
    return line.received;
  }

  /** Opens a socket in the thread; it can only be closed here. */
  readonly #openSocket = async (address: string, port: number): Promise<DatagramSocket> => {
    const opened = await this.thread.openSocket(this.id, address, port);
    let closing: Promise<void> | null = null;
    return {
      port: opened,
      listen: () => undefined,
      send: () => undefined,
      close: () => (closing ??= this.thread.closeSocket(this.id, opened)),
    };
  };

  /** Opens sockets and media in the thread. */
  async openMedia(ports: RtpPorts, { codecs, listener, totals }: CallMediaOptions): Promise<OpenedMedia> {
    const pair = await ports.open(this.#openSocket);
    const [port, rtcpPort] = [pair.rtp.port, pair.rtcp.port];
    try {
      await this.thread.openMedia(this.id, { rtp: port, rtcp: rtcpPort }, codecs);
    } catch (error) {
      await pair.close();
      throw error;
    }
    const media = new PhoneMediaProxy({ thread: this.thread, line: this, pair, listener, totals });
    this.#media = media;
    if (this.#isLost !== null) media.lost(this.#isLost);
    return { media, port, rtcpPort };
  }

  keys(keys: string): void {
    this.thread.tell('lineKeys', { line: this.id, keys });
  }

  freeze(): void {
    if (this.#isFrozen) return;
    this.#isFrozen = true;
    void this.#learn(true).then(() => (this.#media === null ? this.close() : undefined));
  }

  gone(error?: Error): void {
    // After a transfer the line stays open, but the agent's part is over.
    if (!this.#isFrozen) void this.#learn(false);
    const end = (): void => this.thread.tell('lineGone', { line: this.id, error: error ? toWire(error) : null });
    if (this.#isTransferring) this.#late ??= end;
    else end();
  }

  override transferringBy(transfer: Transfer): this {
    this.#transferBy = transfer;
    return this;
  }

  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    return this.#events.onTransfer(target, signal);
  }

  override async transferTo(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    if (this.#transferBy === null) return this.transfer(target, signal);
    this.#isTransferring = true;
    const outcome = await this.#transferBy(target, signal);
    this.#isTransferring = false;
    if (!outcome.ok) this.#late?.(); // after a success nothing more is to be reported
    return outcome;
  }

  override sessionOver(): void {
    // The call may continue without its agent: `freeze` comes at its end.
  }

  /** @param isLast the facts are final */
  async #learn(isLast: boolean): Promise<void> {
    // If the thread has ended, its last report is final.
    const facts = await this.thread.factsOf(this.id, isLast).catch(() => null);
    if (facts !== null) this.#facts = facts;
    this.#onFrozen();
  }

  /** The agent's side has closed. */
  left(facts: LineFacts): void {
    this.#facts = facts;
    this.#events.onClosed();
  }

  mediaLost(error: Error): void {
    this.#media?.lost(error);
  }

  mediaAnnounced(what: SpecialInformation): void {
    this.#media?.announced(what);
  }

  lost(error: Error): void {
    this.#isLost = error;
    this.#onFrozen();
    this.#media?.lost(error);
  }
}
