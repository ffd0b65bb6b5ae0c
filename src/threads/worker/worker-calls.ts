import type { SpecialInformation } from '../../audio/tones/special-information-tones.js';
import { loadOpus } from '../../audio/codecs/opus.js';
import { Bridge, CallLine } from '../../telephony/carriers/sip/line.js';
import type { Clock } from '../../base/clock.js';
import type { Ticker } from '../../base/ticker.js';
import { ParleyError } from '../../base/errors.js';
import type { CodecName } from '../../transports/rtp/media-codec.js';
import { RtpMedia, type RtpStats } from '../../transports/rtp/media.js';
import type { Agreement } from '../../transports/rtp/negotiation.js';
import { type DatagramSocket, openUdpSocket } from '../../transports/rtp/socket.js';
import { type LineFacts, type MainMethods, ownAgreement } from '../wire/protocol.js';
import { type Rpc, toWire } from '../wire/rpc.js';

/** The maximum time for asking a target and connecting; sessions have much shorter deadlines. */
export const TRANSFER_MS = 600_000;

interface Call {
  line: CallLine;
  media: RtpMedia | null;
  /** Sockets without media yet, by port. */
  sockets: Map<number, DatagramSocket>;
}

/** The phone calls of a media thread: their lines and media; the signalling is on the main thread. */
export class WorkerCalls {
  readonly #main: Rpc<MainMethods>;
  readonly #clock: Clock;
  readonly #ticker: Ticker;
  readonly #calls = new Map<string, Call>();
  readonly #bridges = new Map<string, Bridge>();

  constructor(main: Rpc<MainMethods>, clock: Clock, ticker: Ticker) {
    this.#main = main;
    this.#clock = clock;
    this.#ticker = ticker;
  }

  open(id: string, rateHz: number): void {
    const main = this.#main;
    const line = new CallLine(rateHz, {
      onClosed: () => {
        if (this.#calls.has(id)) main.tell('lineLeft', { line: id, facts: this.#facts(id) });
      },
      onTransfer: (target, signal) => main.ask('transfer', { line: id, target }, { timeoutMs: TRANSFER_MS, signal }),
    });
    this.#calls.set(id, { line, media: null, sockets: new Map() });
  }

  /** Null if there is no such call. */
  line(id: string): CallLine | null {
    return this.#calls.get(id)?.line ?? null;
  }

  /** @returns its port */
  async openSocket(id: string, address: string, port: number): Promise<number> {
    const { sockets } = this.#call(id);
    const socket = await openUdpSocket(address, port);
    sockets.set(socket.port, socket);
    return socket.port;
  }

  /** No effect if the media own it, or it is gone. */
  async closeSocket(id: string, port: number): Promise<void> {
    const sockets = this.#calls.get(id)?.sockets;
    const socket = sockets?.get(port);
    sockets?.delete(port);
    await socket?.close();
  }

  async openMedia(id: string, ports: { rtp: number; rtcp: number }, codecs: readonly CodecName[]): Promise<void> {
    const opus = codecs.includes('opus') ? await loadOpus() : null;
    const call = this.#call(id);
    const [rtp, rtcp] = [call.sockets.get(ports.rtp), call.sockets.get(ports.rtcp)];
    if (rtp === undefined || rtcp === undefined) throw new ParleyError('SESSION_CLOSED');
    call.sockets.clear();
    const pair = { rtp, rtcp, close: async () => void (await Promise.all([rtp.close(), rtcp.close()])) };
    const listener = {
      lost: (error: Error) => this.#main.tell('mediaLost', { line: id, error: toWire(error) }),
      announced: (what: SpecialInformation) => this.#main.tell('mediaAnnounced', { line: id, what }),
    };
    call.media = new RtpMedia({ clock: this.#clock, ticker: this.#ticker, codecs, listener }, pair, opus);
    call.line.attach(call.media.line);
  }

  agree(id: string, agreement: Agreement): void {
    this.#calls.get(id)?.media?.agree(ownAgreement(agreement));
  }

  answered(id: string): void {
    this.#calls.get(id)?.media?.answered();
  }

  /** @throws ParleyError SESSION_CLOSED */
  facts(id: string, areLast: boolean): LineFacts {
    if (areLast) this.#call(id).line.freeze();
    return this.#facts(id);
  }

  /** @throws ParleyError SESSION_CLOSED */
  async closeMedia(id: string): Promise<RtpStats> {
    const { media } = this.#call(id);
    if (media === null) throw new ParleyError('SESSION_CLOSED');
    await media.close();
    return media.stats();
  }

  /** Relays the audio of two calls to each other. */
  bridge(id: string, first: string, second: string): void {
    const [one, other] = [this.line(first), this.line(second)];
    if (one !== null && other !== null) this.#bridges.set(id, new Bridge(one, other, this.#ticker));
  }

  unbridge(id: string): void {
    this.#bridges.get(id)?.close();
    this.#bridges.delete(id);
  }

  /** Removes the call. May be called twice. */
  async close(id: string): Promise<void> {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (call === undefined) return;
    call.line.gone();
    await Promise.all([call.media?.close(), ...[...call.sockets.values()].map((socket) => socket.close())]);
  }

  async closeAll(): Promise<void> {
    for (const id of Array.from(this.#bridges.keys())) this.unbridge(id);
    await Promise.all([...this.#calls.keys()].map((id) => this.close(id)));
  }

  #facts(id: string): LineFacts {
    const { line, media } = this.#call(id);
    const { digitsSent, digitsReceived } = line;
    return { digitsSent, digitsReceived, line: line.lineStats(), media: media?.stats() ?? null };
  }

  #call(id: string): Call {
    const call = this.#calls.get(id);
    if (call === undefined) throw new ParleyError('SESSION_CLOSED');
    return call;
  }
}
