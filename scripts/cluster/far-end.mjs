/** The carrier's side of a cluster's trunks: people who are called, people who call, and what each of them heard. */
import { openTrunk, ticker } from '../sip/rig.mjs';

const LOUD = 300;
/** Whoever has heard the agent and then nothing for so long hangs up. */
const QUIET_FRAMES = 125;
/** A daemon that sends no packet for so long is dead. */
const DEAD_FRAMES = 40;
/** Nobody stays longer, ms. */
const LONGEST_MS = 20_000;
const FRAME_MS = 20;

/**
 * @typedef {{ number: string, direction: 'in' | 'out', startMs: number, answeredMs: number | null, endMs: number | null,
 *   loud: number, lost: number, end: string | null }} Heard what somebody at the far end knows of a call. `loud`: frames
 *   with the agent's voice. `end`: who ended it and why
 */

export class FarEnd {
  /** @type {Heard[]} in the order of their start */
  calls = [];
  /** The most calls of the daemons' own at one time, without those whose daemon sends nothing any more. */
  mostAtOnce = 0;
  /** The daemons' own calls that go on. */
  #live = new Set();
  #trunk;
  #callers;

  /**
   * @param {import('../../dist/telephony/carriers/sip/carrier.js').SipCarrier} trunk
   * @param {import('../../dist/telephony/carriers/sip/carrier.js').SipCarrier} callers
   * @param {(number: string) => boolean} isBusy
   */
  constructor(trunk, callers, isBusy) {
    this.#trunk = trunk;
    this.#callers = callers;
    trunk.receiveCalls((call) => {
      const heard = this.#follow(call, 'out');
      if (isBusy(call.to)) return call.hangUp('declined');
      call.answer();
      heard.answeredMs = performance.now();
    });
  }

  /**
   * @param {{ port: number, daemons: number[], callerPort: number, proxyPort: number, numbers: string[],
   *   callers: string[], isBusy: (number: string) => boolean }} of `daemons`: ports of their SIP sockets
   */
  static async open({ port, daemons, callerPort, proxyPort, numbers, callers, isBusy }) {
    const udp = (/** @type {number} */ to) => ({ protocol: /** @type {const} */ ('UDP'), port: to });
    const options = { domain: '127.0.0.1' };
    const [trunk, calling] = await Promise.all([
      openTrunk({ port, servers: daemons.map(udp), options: { ...options, numbers, owned: numbers } }),
      openTrunk({
        port: callerPort,
        servers: [udp(proxyPort)],
        options: { ...options, numbers: callers, owned: callers },
      }),
    ]);
    return new FarEnd(trunk, calling, isBusy);
  }

  /**
   * Somebody calls the cluster's number through its SIP proxy.
   * @param {string} from
   * @param {string} to
   */
  call(from, to) {
    return this.#follow(this.#callers.placeCall({ from, to, ringTimeoutMs: 15_000 }), 'in');
  }

  /** The calls that have not ended. */
  get open() {
    return this.calls.filter(({ endMs }) => endMs === null).length;
  }

  async close() {
    await Promise.all([this.#trunk.close(), this.#callers.close()]);
  }

  /**
   * Listens until the agent has spoken and is silent, then hangs up.
   * @param {import('../../dist/telephony/carriers/carrier.js').CarrierCall} call
   * @param {'in' | 'out'} direction
   */
  #follow(call, direction) {
    /** @type {Heard} */
    const heard = {
      number: direction === 'out' ? call.to : call.from,
      direction,
      startMs: performance.now(),
      answeredMs: null,
      endMs: null,
      loud: 0,
      lost: 0,
      end: null,
    };
    this.calls.push(heard);
    let quiet = 0;
    let frames = 0;
    let received = 0;
    const silence = new Int16Array(160);
    if (direction === 'out') this.#live.add(heard);
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#live.size);
    call.line.start({
      audio: (samples) => {
        if (!samples.some((sample) => Math.abs(sample) > LOUD)) return;
        heard.loud++;
        quiet = 0;
      },
      digits: () => undefined,
      text: () => undefined,
      formResult: () => undefined,
      closed: () => undefined,
    });
    const stop = ticker.subscribe(() => {
      call.line.play(silence);
      if (++frames % DEAD_FRAMES === 0) {
        const now = call.record().packets.received;
        if (now === received) this.#live.delete(heard);
        received = now;
      }
      const isHeard = heard.loud > 0 && ++quiet > QUIET_FRAMES;
      if (isHeard || frames > LONGEST_MS / FRAME_MS) call.hangUp();
    });
    call.onState((state) => {
      if (state === 'answered') heard.answeredMs ??= performance.now();
      if (state !== 'ended') return;
      stop();
      this.#live.delete(heard);
      heard.endMs = performance.now();
      heard.lost = call.record().packets.receivedLost;
      heard.end = `${call.end?.by ?? ''}: ${call.end?.reason ?? ''}`;
    });
    return heard;
  }
}
