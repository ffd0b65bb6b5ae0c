import { once } from 'node:events';
import { WebSocket } from 'ws';
import { HEARING_RATE_HZ } from '../../dist/audio/frame.js';
import { loadOpus } from '../../dist/audio/codecs/opus.js';
import { serialiseRtp } from '../../dist/transports/rtp/packet.js';
import { type DatagramSocket, openUdpSocket } from '../../dist/transports/rtp/socket.js';
import { pcmBytes } from '../../dist/transports/pcm.js';
import { WeriftCaller } from '../../dist/transports/webrtc/werift-caller.js';
import { soundOf } from './caller-sound.js';
import type { CapacityCase } from './capacity-case.js';
import { ON_LOOPBACK } from './loopback.js';
import { answerOf, cut, pcmuPayloads } from './pcmu-caller.js';
import type { Methods } from './remote.js';

export type CallerMethods = {
  /** The callers' offers; empty ones where the way has none. */
  offer: (nothing: null) => Promise<string[]>;
  /** Connects, and begins to send. @param reported by the sessions. Resolves to the answers, empty where there is none */
  connect: (reported: string[]) => Promise<string[]>;
  /** Processor time so far, ms. */
  cpuMs: (nothing: null) => Promise<number>;
} & Methods;

const FRAME_MS = 20;
const FRAMES_A_CYCLE = 500;
/** Callers are in groups that send one after the other, as calls do that know nothing of each other. */
const GROUPS = 20;
/** Callers over WebRTC that connect at the same time. */
const CONNECTING = 10;

/** Sends its frame of the cycle; the n-th since the beginning. */
type Send = (n: number) => void;

/** Many callers in a process that has nothing else; they listen to nothing. */
export class CapacityCallers {
  readonly #case: CapacityCase;
  #webRtc: WeriftCaller[] = [];

  constructor(of: CapacityCase) {
    this.#case = of;
  }

  async offer(): Promise<string[]> {
    const { way, sessions } = this.#case;
    if (way !== 'webrtc') return Array.from({ length: sessions }, () => '');
    this.#webRtc = Array.from({ length: sessions }, () => new WeriftCaller(ON_LOOPBACK));
    const offers: string[] = [];
    for (const caller of this.#webRtc) offers.push(await caller.offer());
    return offers;
  }

  async connect(reported: readonly string[]): Promise<string[]> {
    const { way } = this.#case;
    const answers = reported.map(() => '');
    const sends: Send[] = [];
    if (way === 'talk') sends.push(...(await this.#talk(reported)));
    if (way === 'webrtc') sends.push(...(await this.#connectWebRtc(reported)));
    if (way === 'rtp' || way === 'rtp-cn') {
      // Nobody reads it: waking somebody for each frame would be done, and counted, in the time of those who send it. The
      // system drops them at the socket.
      const socket = await openUdpSocket('127.0.0.1', 0);
      sends.push(...this.#rtp(reported, socket));
      answers.fill(answerOf(socket.port, way === 'rtp-cn'));
    }
    everyFrame((n, group) => {
      for (let at = group; at < sends.length; at += GROUPS) {
        sends[at]?.(n + Math.floor((at / sends.length) * FRAMES_A_CYCLE));
      }
    });
    return answers;
  }

  cpuMs(): Promise<number> {
    const { user, system } = process.cpuUsage();
    return Promise.resolve((user + system) / 1000);
  }

  async #talk(ports: readonly string[]): Promise<Send[]> {
    const frames = cut(soundOf(this.#case.conduct), HEARING_RATE_HZ).map((frame) => Buffer.from(pcmBytes(frame)));
    return Promise.all(
      ports.map(async (port) => {
        const client = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
        await once(client, 'open');
        return (n: number) => client.send(frames[n % FRAMES_A_CYCLE] ?? '');
      }),
    );
  }

  #rtp(offers: readonly string[], socket: DatagramSocket): Send[] {
    const payloads = pcmuPayloads(this.#case.conduct);
    return offers.map((offer, caller) => {
      const port = Number(/^m=audio (\d+)/m.exec(offer)?.[1]);
      return (n) => {
        const payload = payloads[n % FRAMES_A_CYCLE] ?? new Uint8Array();
        const numbers = { sequence: n & 0xffff, timestamp: (n * 160) >>> 0, ssrc: 1000 + caller };
        socket.send(serialiseRtp({ payloadType: 0, marker: false, ...numbers, payload }), '127.0.0.1', port);
      };
    });
  }

  async #connectWebRtc(answers: readonly string[]): Promise<Send[]> {
    const encoder = (await loadOpus()).encoder({ sampleRateHz: HEARING_RATE_HZ, dtx: false });
    const packets = cut(soundOf(this.#case.conduct), HEARING_RATE_HZ).map((frame) => encoder.encode(frame).slice());
    for (let at = 0; at < this.#webRtc.length; at += CONNECTING) {
      const some = this.#webRtc.slice(at, at + CONNECTING);
      await Promise.all(some.map((caller, n) => caller.accept(answers[at + n] ?? '')));
      await Promise.all(some.map(({ connected }) => connected));
    }
    return this.#webRtc.map(
      (caller) => (frame) => caller.sendAudio(packets[frame % FRAMES_A_CYCLE] ?? new Uint8Array(), frame * 960),
    );
  }
}

/** Calls `tick` for each group every 20 ms, without drift. */
function everyFrame(tick: (n: number, group: number) => void): void {
  const beganMs = performance.now();
  let steps = 0;
  setInterval(() => {
    while (performance.now() - beganMs >= (steps * FRAME_MS) / GROUPS) {
      tick(Math.floor(steps / GROUPS), steps % GROUPS);
      steps++;
    }
  }, FRAME_MS / GROUPS);
}
