import { levelOf } from '../../src/audio/dsp/level.js';
import { sipTrunks } from '../../src/telephony/carriers/sip/open.js';
import type { CarrierCall } from '../../src/telephony/carriers/carrier.js';
import type { AgentLine, CallMediaHost } from '../../src/telephony/carriers/sip/call-media-host.js';
import { LocalCallMedia } from '../../src/telephony/carriers/sip/local-call-media.js';
import type { SipCall } from '../../src/telephony/carriers/sip/call.js';
import type { SipCarrier } from '../../src/telephony/carriers/sip/carrier.js';
import { DEFAULT_SIP, type SipSettings } from '../../src/settings/carriers/sip.js';
import { Engine } from '../../src/engine/engine.js';
import type { Direction } from '../../src/transports/rtp/sdp.js';
import type { OpenedMedia, RtpStats } from '../../src/transports/rtp/session.js';
import type { LineStats, TransferOutcome, TransportSink } from '../../src/transports/transport.js';

/** Loud enough to be somebody's. */
const HEARD_DBFS = -40;
const TONE_HZ = 700;

/** Somebody at the far end of a trunk, on the test's own thread: hears, says a tone, presses keys. */
export class FarPhone implements TransportSink {
  readonly call: CarrierCall;
  keys = '';
  /** Frames with sound in them. */
  loud = 0;
  isOver = false;
  readonly #engine: Engine;
  #stop: () => void = () => undefined;

  constructor(call: CarrierCall, engine: Engine) {
    this.call = call;
    this.#engine = engine;
    call.line.start(this);
  }

  /** As a call on its trunk, whose media and messages can be had. */
  get sip(): SipCall {
    return this.call as SipCall;
  }

  /** Offers its media anew (a re-INVITE), in another direction. */
  async turn(direction: Direction): Promise<void> {
    this.sip.media?.offer(direction);
    if ((await this.sip.leg?.reoffer()) !== true) throw new Error(`${direction} was refused`);
  }

  /** How many packets come while so many frames of 20 ms pass. */
  packetsIn(frames: number): Promise<number> {
    const received = (): number => this.sip.media?.stats().received ?? 0;
    const before = received();
    let left = frames;
    return new Promise((resolve) => {
      const stop = this.#engine.ticker.subscribe(() => {
        if (--left > 0) return;
        stop();
        resolve(received() - before);
      });
    });
  }

  /** Says a tone until it is hushed. */
  speak(): void {
    const { line } = this.call;
    const length = line.outputRateHz / 50;
    let at = 0;
    this.#stop = this.#engine.ticker.subscribe(() => {
      const step = (2 * Math.PI * TONE_HZ) / line.outputRateHz;
      const frame = Int16Array.from({ length }, () => 6_000 * Math.sin(step * at++));
      line.play(frame);
    });
  }

  hush(): void {
    this.#stop();
  }

  async press(keys: string): Promise<void> {
    await this.call.line.sendDigits?.(keys, new AbortController().signal);
  }

  audio(samples: Int16Array): void {
    if (levelOf(samples).rmsDbfs > HEARD_DBFS) this.loud++;
  }

  digits(keys: string): void {
    this.keys += keys;
  }

  text(): void {
    // A telephone sends none.
  }

  formResult(): void {
    // A telephone shows none.
  }

  closed(): void {
    this.isOver = true;
    this.#stop();
  }
}

/** The other end of a daemon's trunk: phones over real sockets. */
export class FarPhones {
  readonly carrier: SipCarrier;
  /** Those that were called. */
  readonly called: FarPhone[] = [];
  /** What those do who are called. */
  take: (call: CarrierCall) => void = (call) => call.answer();
  readonly #engine: Engine;
  readonly #close: () => Promise<void>;
  readonly #sound: { port: number | null };

  private constructor(carrier: SipCarrier, engine: Engine, sound: { port: number | null }, close: () => Promise<void>) {
    this.#sound = sound;
    this.carrier = carrier;
    this.#engine = engine;
    this.#close = close;
    carrier.receiveCalls((call) => {
      const heard = call as CarrierCall;
      this.called.push(new FarPhone(heard, engine));
      this.take(heard);
    });
  }

  /**
   * @param port of ours; `theirs` is the daemon's
   * @param manner how they speak. Default: as a trunk does by default
   */
  static async open(
    port: number,
    theirs: number,
    numbers: readonly string[],
    manner: Partial<Pick<SipSettings, 'codecs' | 'srtp'>> = {},
  ): Promise<FarPhones> {
    const engine = new Engine();
    const sound: { port: number | null } = { port: null };
    const local = new LocalCallMedia(engine);
    const soundPorts = new Map<AgentLine, number>();
    const mediaHost: CallMediaHost = {
      openLine: (rateHz, events) => {
        if (sound.port === null) return local.openLine(rateHz, events);
        const line = silentLine(rateHz);
        soundPorts.set(line, sound.port);
        return line;
      },
      openMedia: (line, ports, options) => {
        const port = soundPorts.get(line);
        return port === undefined ? local.openMedia(line, ports, options) : Promise.resolve(mediaAt(port));
      },
      bridge: (first, second) => local.bridge(first, second),
    };
    const trunks = await sipTrunks({
      engine,
      password: null,
      openCallMedia: () => Promise.resolve(mediaHost),
      owned: numbers,
      settings: {
        ...DEFAULT_SIP,
        servers: [`sip:127.0.0.1:${String(theirs)}`],
        listen: [`udp:127.0.0.1:${String(port)}`],
        keepAliveS: 0,
        numbers: [...numbers],
        rtpPorts: [30_000, 30_199],
        ...manner,
      },
    });
    const [carrier] = trunks.carriers;
    if (carrier === undefined) throw new Error('there is no trunk');
    return new FarPhones(carrier, engine, sound, async () => {
      await trunks.close();
      await engine.close();
    });
  }

  call(from: string, to: string): FarPhone {
    const call = this.carrier.placeCall({ from, to, ringTimeoutMs: 20_000 });
    return new FarPhone(call as CarrierCall, this.#engine);
  }

  /** A call whose sound goes to a port of the caller's own. */
  callWithSoundAt(port: number, from: string, to: string): CarrierCall {
    this.#sound.port = port;
    const call = this.carrier.placeCall({ from, to, ringTimeoutMs: 20_000 });
    this.#sound.port = null;
    return call as CarrierCall;
  }

  close(): Promise<void> {
    return this.#close();
  }
}

const NO_STATS: LineStats = {
  received: 0,
  lost: 0,
  late: 0,
  duplicate: 0,
  reordered: 0,
  jitterMs: 0,
  patienceMs: 0,
  sent: 0,
  reportedLoss: null,
};
const nothing = (): void => undefined;
const done = (): Promise<void> => Promise.resolve();

/** A line that says and hears nothing. */
function silentLine(rateHz: number): AgentLine {
  const failed = (): Promise<TransferOutcome> => Promise.resolve({ ok: false, reason: 'unsupported' });
  return {
    name: 'sip',
    inputRateHz: rateHz,
    outputRateHz: rateHz,
    digitsSent: '',
    digitsReceived: '',
    start: nothing,
    play: nothing,
    send: nothing,
    close: done,
    sendDigits: done,
    transfer: failed,
    keys: nothing,
    freeze: nothing,
    gone: nothing,
    lineStats: () => NO_STATS,
    received: () => Promise.resolve(0),
  };
}

/** Media that are at a port of somebody else's. */
function mediaAt(port: number): OpenedMedia {
  const stats: RtpStats = {
    ...NO_STATS,
    codec: null,
    roundTripMs: null,
    concealedMs: 0,
    isSecure: false,
    strangers: 0,
    forged: 0,
    reportedJitterMs: null,
    junk: 0,
    unknownTypes: 0,
    undecodable: 0,
    early: 0,
  };
  const media = { line: null, isHeld: false, agree: nothing, answered: nothing, close: done, stats: () => stats };
  return { media, port, rtcpPort: port };
}
