import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { WebSocketServer } from 'ws';
import { loadOpus } from '../../dist/audio/codecs/opus.js';
import { RealClock } from '../../dist/base/real-clock.js';
import { Engine } from '../../dist/engine/engine.js';
import type { VadProvider } from '../../dist/providers/vad/vad.js';
import { vadProvider } from '../../dist/providers/vad/registry.js';
import { SileroVad } from '../../dist/providers/vad/silero/silero.js';
import { RtpPorts } from '../../dist/transports/rtp/ports.js';
import { openRtpSession, type RtpSession } from '../../dist/transports/rtp/session.js';
import { TalkSocketTransport } from '../../dist/transports/talk-socket.js';
import type { Transport } from '../../dist/transports/transport.js';
import { WebRtcTransport } from '../../dist/transports/webrtc/webrtc-transport.js';
import { WeriftPeer } from '../../dist/transports/webrtc/werift-peer.js';
import { Callers, requestFor } from './callers.js';
import type { CapacityCase, VadName } from './capacity-case.js';
import { collector } from './collector.js';
import { FrameLateness, type Lateness } from './frame-lateness.js';
import { ON_LOOPBACK } from './loopback.js';
import { type Methods, type Remote, remoteThread } from './remote.js';
import { cpuTimes, threadTimes } from './threads.js';

/** What one thread with sessions says of a stretch of time. */
interface Seen {
  lateness: Lateness[];
  loopP99: number;
  loopMax: number;
  answers: number;
  keptBytes: number;
}

/** What the process says of it. */
export interface HostSeen extends Seen {
  processMs: number;
  threadMs: number;
  waitedMs: number;
  rssBytes: number;
}

/**
 * Descriptions are exchanged line by line as each way has them: WebRTC's callers offer, RTP's sessions do, and who calls
 * the talk socket needs its port.
 */
export type HostMethods = {
  /** Loads what all sessions share. Resolves to what that takes. */
  prepare: (nothing: null) => Promise<{ keptBytes: number; rssBytes: number }>;
  /** @param offers of the callers, empty where they have none. Resolves to what they receive */
  open: (offers: string[]) => Promise<string[]>;
  /** @param answers to what they received, empty where there is none */
  begin: (answers: string[]) => Promise<void>;
  measure: (ms: number) => Promise<HostSeen>;
} & Methods;

/** How finely the event loop's delay is sampled. */
const LOOP_MS = 20;

/** The sessions of one thread. */
export class SessionThread {
  readonly #case: CapacityCase;
  readonly #clock = new RealClock();
  readonly #engine = new Engine({ clock: this.#clock });
  readonly #lateness = new FrameLateness(this.#engine.ticker, () => this.#clock.nowMs());
  readonly #rtp: RtpSession[] = [];
  readonly #kept = collector();
  #callers: Callers | null = null;
  #answers = 0;
  #started: Promise<void>[] = [];

  constructor(of: CapacityCase) {
    this.#case = of;
  }

  async prepare(): Promise<{ keptBytes: number; rssBytes: number }> {
    if (this.#case.engines === 'embedded') await this.#engine.warmUp();
    else await vadOf(this.#case.vad).warmUp();
    return { keptBytes: this.#kept(), rssBytes: process.memoryUsage().rss };
  }

  async open(offers: readonly string[]): Promise<string[]> {
    const { way } = this.#case;
    if (way === 'talk') return this.#openTalk(offers);
    if (way === 'rtp' || way === 'rtp-cn') return this.#openRtp(offers, way === 'rtp-cn');
    if (way === 'webrtc') return this.#openWebRtc(offers);
    this.#callers = new Callers(this.#engine, this.#case.conduct, this.#case.engines, {
      vad: vadOf(this.#case.vad),
      watch: (line) => this.#lateness.watch(line),
    });
    for (let n = 0; n < offers.length; n++) await this.#callers.add(n / offers.length);
    return [...offers];
  }

  async begin(answers: readonly string[]): Promise<void> {
    for (const [n, session] of this.#rtp.entries()) {
      session.accept(answers[n] ?? '');
      session.answered();
      await this.#begin(session.line);
    }
    await Promise.all(this.#started);
  }

  async measure(ms: number): Promise<Seen> {
    const loop = monitorEventLoopDelay({ resolution: LOOP_MS });
    const before = this.#heard;
    this.#lateness.start();
    loop.enable();
    await new Promise((resolve) => setTimeout(resolve, ms));
    loop.disable();
    const lateness = this.#lateness.stop();
    const [loopP99, loopMax] = [loop.percentile(99), loop.max].map((ns) => Math.max(0, ns / 1e6 - LOOP_MS));
    return {
      lateness: [lateness],
      loopP99: loopP99 ?? 0,
      loopMax: loopMax ?? 0,
      answers: this.#heard - before,
      keptBytes: this.#kept(),
    };
  }

  get #heard(): number {
    return this.#answers + (this.#callers?.answers ?? 0);
  }

  async #begin(transport: Transport): Promise<void> {
    const session = await this.#engine.createSession({
      ...(await requestFor(this.#case.engines)),
      vad: vadOf(this.#case.vad),
      transport: this.#lateness.watch(transport),
      observe: (event) => void (event.type === 'answered' && this.#answers++),
    });
    void session.run();
  }

  async #openTalk(offers: readonly string[]): Promise<string[]> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
    server.on('connection', (socket) => void this.#begin(new TalkSocketTransport(socket, { clock: this.#clock })));
    await once(server, 'listening');
    return offers.map(() => String((server.address() as AddressInfo).port));
  }

  async #openRtp(offers: readonly string[], comfortNoise: boolean): Promise<string[]> {
    const ports = new RtpPorts({ clock: this.#clock, localAddress: '127.0.0.1', portRange: null });
    const { ticker } = this.#engine;
    for (const _ of offers) {
      this.#rtp.push(
        await openRtpSession({ clock: this.#clock, ticker, ports, codecs: ['PCMU'], srtp: 'off', comfortNoise }),
      );
    }
    return this.#rtp.map((session) => session.offer());
  }

  async #openWebRtc(offers: readonly string[]): Promise<string[]> {
    const opus = await loadOpus();
    const answers: string[] = [];
    for (const offer of offers) {
      const peer = new WeriftPeer(ON_LOOPBACK, this.#clock);
      const transport = new WebRtcTransport({ peer, opus, clock: this.#clock });
      answers.push(await peer.answer(offer));
      const started = transport.connected.then(() => this.#begin(transport));
      started.catch(() => undefined); // `begin` tells
      this.#started.push(started);
    }
    return answers;
  }
}

/** The process of sessions: on its main thread, or on threads beside it. */
export class CapacityHost {
  readonly #own: SessionThread | null;
  readonly #threads: Remote<HostMethods>[];

  constructor(of: CapacityCase) {
    this.#own = of.threads === 0 ? new SessionThread(of) : null;
    const args = [`--session-thread=${JSON.stringify(of)}`];
    this.#threads = Array.from({ length: of.threads }, () => remoteThread<HostMethods>(args));
  }

  async prepare(): Promise<{ keptBytes: number; rssBytes: number }> {
    const ready = await this.#all(
      (own) => own.prepare(),
      (thread) => thread.ask('prepare', null),
    );
    return {
      keptBytes: ready.reduce((sum, { keptBytes }) => sum + keptBytes, 0),
      rssBytes: process.memoryUsage().rss,
    };
  }

  async open(offers: string[]): Promise<string[]> {
    const reported = await this.#all(
      (own) => own.open(offers),
      (thread, n) => thread.ask('open', this.#share(offers, n)),
    );
    return offers.map((_, n) => reported[n % reported.length]?.[Math.floor(n / reported.length)] ?? '');
  }

  async begin(answers: string[]): Promise<void> {
    await this.#all(
      (own) => own.begin(answers),
      (thread, n) => thread.ask('begin', this.#share(answers, n)),
    );
  }

  async measure(ms: number): Promise<HostSeen> {
    const [cpu, threads, beganMs] = [cpuTimes(), threadTimes(), performance.now()];
    const seen = this.#all(
      (own) => own.measure(ms),
      (thread) => thread.ask('measure', ms),
    );
    await new Promise((resolve) => setTimeout(resolve, ms - 5)); // collections that follow do not count
    const [cpuAfter, threadsAfter] = [cpuTimes(), threadTimes()];
    const seconds = (performance.now() - beganMs) / 1000;
    const each = [...threadsAfter].map(([id, time]) => ({
      ran: time.ranMs - (threads.get(id)?.ranMs ?? 0),
      waited: time.waitedMs - (threads.get(id)?.waitedMs ?? 0),
    }));
    const busiest = each.reduce((most, one) => (one.ran > most.ran ? one : most), { ran: 0, waited: 0 });
    const all = await seen;
    return {
      lateness: all.flatMap(({ lateness }) => lateness),
      loopP99: Math.max(...all.map(({ loopP99 }) => loopP99)),
      loopMax: Math.max(...all.map(({ loopMax }) => loopMax)),
      answers: all.reduce((sum, { answers }) => sum + answers, 0),
      keptBytes: all.reduce((sum, { keptBytes }) => sum + keptBytes, 0),
      processMs: (cpuAfter.processMs - cpu.processMs) / seconds,
      threadMs: busiest.ran / seconds,
      waitedMs: busiest.waited / seconds,
      rssBytes: process.memoryUsage().rss,
    };
  }

  #share(lines: readonly string[], thread: number): string[] {
    return lines.filter((_, n) => n % this.#threads.length === thread);
  }

  async #all<T>(
    own: (thread: SessionThread) => Promise<T>,
    theirs: (thread: Remote<HostMethods>, n: number) => Promise<unknown>,
  ): Promise<T[]> {
    if (this.#own !== null) return [await own(this.#own)];
    return Promise.all(this.#threads.map(theirs)) as Promise<T[]>;
  }
}

const vads = new Map<VadName, VadProvider>();

function vadOf(name: VadName): VadProvider {
  const made = vads.get(name) ?? (name === 'silero-wasm' ? new SileroVad({ kernel: 'wasm' }) : vadProvider(name));
  vads.set(name, made);
  return made;
}
