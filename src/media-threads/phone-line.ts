import type { AgentLineElsewhere } from '../carriers/sip/agent-line.js';
import type { CallLineEvents } from '../carriers/sip/line.js';
import type { RtpMediaOptions } from '../rtp/media.js';
import type { PortPair } from '../rtp/ports.js';
import type { AgreedMedia } from '../rtp/session.js';
import type { DatagramSocket } from '../rtp/socket.js';
import type { LineStats, TransferOutcome, Transport } from '../transports/transport.js';
import { PhoneMedia } from './phone-media.js';
import type { MediaThread } from './media-thread.js';
import type { CallFacts } from './protocol.js';
import { ThreadLine } from './thread-line.js';
import { toWire } from './wire-error.js';

export const NO_FACTS: CallFacts = {
  ...{ digitsSent: '', digitsReceived: '', media: null },
  line: {
    ...{ received: 0, lost: 0, late: 0, duplicate: 0, reordered: 0, jitterMs: 0, patienceMs: 0, sent: 0 },
    reportedLoss: null,
  },
};

type Transfer = NonNullable<Transport['transfer']>;

/** The main thread's end of a phone call's line in a media thread: its signalling is here, its sockets and sound are there. */
export class PhoneLine extends ThreadLine implements AgentLineElsewhere {
  readonly name = 'sip';
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  /** Resolves when what is known at the end is known here. */
  readonly frozen: Promise<void>;
  readonly #events: CallLineEvents;
  #facts = NO_FACTS;
  #media: PhoneMedia | null = null;
  #transferBy: Transfer | null = null;
  #isTransferring = false;
  /** What the line's end waits for: that the outcome of a transfer is told. */
  #late: (() => void) | null = null;
  #isFrozen = false;
  #isLost: Error | null = null;
  #onFrozen!: () => void;

  constructor(id: string, thread: MediaThread, rateHz: number, events: CallLineEvents) {
    super(id, thread);
    this.inputRateHz = rateHz;
    this.outputRateHz = rateHz;
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

  /** As far as its thread has said; it does at the end. */
  get facts(): CallFacts {
    return this.#facts;
  }

  lineStats(): LineStats {
    return this.#facts.line;
  }

  async received(): Promise<number> {
    const { line } = await this.thread.factsOf(this.id, false).catch(() => this.#facts);
    return line.received;
  }

  readonly openSocket = async (address: string, port: number): Promise<DatagramSocket> => {
    const opened = await this.thread.openSocket(this.id, address, port);
    let closing: Promise<void> | null = null;
    return {
      port: opened,
      listen: () => undefined,
      send: () => undefined,
      close: () => (closing ??= this.thread.closeSocket(this.id, opened)),
    };
  };

  async openMedia(
    pair: PortPair,
    { codecs, listener, totals }: Pick<RtpMediaOptions, 'codecs' | 'listener' | 'totals'>,
  ): Promise<AgreedMedia> {
    const sockets = { rtp: pair.rtp.port, rtcp: pair.rtcp.port };
    await this.thread.openMedia(this.id, sockets, codecs);
    const media = new PhoneMedia({ thread: this.thread, line: this, pair, listener, totals });
    this.#media = media;
    if (this.#isLost !== null) media.lost(this.#isLost);
    return media;
  }

  /** Over there the media have been attached as soon as they were open. */
  attach(): void {}

  keys(keys: string): void {
    this.thread.tell('lineKeys', { line: this.id, keys });
  }

  freeze(): void {
    if (this.#isFrozen) return;
    this.#isFrozen = true;
    void this.#learn(true).then(() => (this.#media === null ? this.close() : undefined));
  }

  gone(error?: Error): void {
    // A far end that was handed on stays, but its agent's part is over.
    if (!this.#isFrozen) void this.#learn(false);
    const end = (): void => this.thread.tell('lineGone', { line: this.id, error: error ? toWire(error) : null });
    if (this.#isTransferring) this.#late ??= end;
    else end();
  }

  override transferringBy(transfer: Transfer): Transport {
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
    if (!outcome.ok) this.#late?.(); // else whoever waits for this has nothing more to say
    return outcome;
  }

  override sessionOver(): void {
    // The call may go on without its agent: `freeze` comes at its end.
  }

  /** @param isLast nothing more will be known */
  async #learn(isLast: boolean): Promise<void> {
    // Where its thread has gone, what it said last is the last that is known.
    const facts = await this.thread.factsOf(this.id, isLast).catch(() => null);
    if (facts !== null) this.#facts = facts;
    this.#onFrozen();
  }

  /** The agent's side has been closed. */
  left(facts: CallFacts): void {
    this.#facts = facts;
    this.#events.onClosed();
  }

  mediaLost(error: Error): void {
    this.#media?.lost(error);
  }

  lost(error: Error): void {
    this.#isLost = error;
    this.#onFrozen();
    this.#media?.lost(error);
  }
}
