import { levelOf } from '../../../src/audio/dsp/level.js';
import type { CallReport } from '../../../src/telephony/calls/agent-call.js';
import { Switchboard } from '../../../src/telephony/calls/switchboard.js';
import type { SimulatedCall } from '../../../src/telephony/carriers/simulated/call.js';
import { SimulatedNetwork } from '../../../src/telephony/carriers/simulated/network.js';
import { readDirectory } from '../../../src/telephony/carriers/simulated/directory.js';
import type { SimulatedNumber } from '../../../src/telephony/carriers/simulated/script.js';
import { SoundLibrary } from '../../../src/telephony/carriers/simulated/sounds.js';
import { type AgentFile, loadAgentFile } from '../../../src/agent/agent-file.js';
import { Engine } from '../../../src/engine/engine.js';
import { packageFile } from '../../../src/package-files.js';
import type { RtpStats } from '../../../src/transports/rtp/session.js';
import type { NetworkQuality } from '../../transports/rtp/udp-network.js';
import { numbersOf } from '../carriers/simulated/support.js';
import { Wire } from '../sip/support.js';
import { SipPath } from './sip-path.js';

const OWN = '+12025550199';
const FRAME = 160;
const LOUD_DBFS = -45;
/** Shorter silences belong to speech. */
const PAUSE_MS = 600;

/** What became of a call. Times are milliseconds since the answer. */
export interface Listened {
  report: CallReport;
  /** What the far end heard, 8 kHz. */
  far: Int16Array;
  /** Stretches of sound in it. */
  heard: readonly { fromMs: number; toMs: number }[];
  /** What the far end's script noted. */
  notes: ReadonlyMap<string, number>;
  /** The core's traces. */
  traces: readonly { name: string; data: Readonly<Record<string, unknown>>; atMs: number }[];
  /** Of the agent's end, where the call went over a trunk. */
  rtp: RtpStats | null;
}

/** A SIP trunk between the agent and the phones. */
export interface RigTrunk {
  quality: NetworkQuality;
  hasNoEvents?: boolean;
}

/** Calls from the example's agent, with the embedded engines in virtual time, to the stock numbers and some more. */
export class EmbeddedRig {
  readonly engine: Engine;
  readonly #wire = new Wire();
  readonly #clock = this.#wire.clock;
  readonly #sounds: SoundLibrary;
  readonly #trunk: RigTrunk | undefined;
  #file: AgentFile | null = null;

  /** @param trunk over which the agent's calls go, SIP and RTP; left out: they do not */
  constructor(trunk?: RigTrunk) {
    this.#trunk = trunk;
    this.engine = new Engine({ clock: this.#clock });
    this.#sounds = new SoundLibrary(
      (text, voiceId) => this.engine.speech({ text, provider: 'flite', voiceId, signal: AbortSignal.timeout(20_000) }),
      packageFile('data/'),
    );
  }

  /**
   * @param flow changes to the agent's `flow`
   * @param more numbers beside the stock ones
   */
  async call(to: string, flow: object = {}, more: readonly Record<string, unknown>[] = []): Promise<Listened> {
    this.#file ??= await loadAgentFile(packageFile('examples/reminder/agent.json').pathname);
    const { config, script } = this.#file;
    const frames: Int16Array[] = [];
    const notes = new Map<string, number>();
    const traces: Listened['traces'][number][] = [];
    const numbers: readonly SimulatedNumber[] = [...(await readDirectory()).numbers, ...numbersOf(...more)];
    const network = new SimulatedNetwork({
      clock: this.#clock,
      ticker: this.engine.ticker,
      numbers,
      sounds: this.#sounds,
      owned: [OWN],
      tap: (call: SimulatedCall, { far }) => {
        if (call.to !== to) return;
        frames.push(far ?? new Int16Array(FRAME));
        for (const note of call.notes) if (!notes.has(note)) notes.set(note, frames.length * 20);
      },
    });
    const { ticker } = this.engine;
    const path =
      this.#trunk === undefined
        ? null
        : await SipPath.open({ ...this.#trunk, wire: this.#wire, ticker, phones: network, own: OWN });
    const switchboard = new Switchboard({ engine: this.engine, carrier: path?.carrier ?? network });
    try {
      const call = await switchboard.place({
        agent: { ...config, flow: { ...config.flow, ...flow } },
        script,
        from: OWN,
        to,
        log: (entry) => {
          if (entry.kind !== 'effect' || entry.effect.type !== 'trace') return;
          traces.push({ name: entry.effect.name, data: entry.effect.data, atMs: entry.t });
        },
      });
      let report: CallReport | undefined;
      void call.finished.then((done) => (report = done));
      await this.#clock.runUntil(() => report !== undefined && network.calls.size === 0, this.#clock.nowMs() + 300_000);
      if (report === undefined) throw new Error('the call did not end');
      const far = new Int16Array(frames.length * FRAME);
      frames.forEach((frame, index) => {
        far.set(frame, index * FRAME);
      });
      return { report, far, heard: stretches(frames), notes, traces, rtp: path?.stats ?? null };
    } finally {
      await switchboard.close();
      await path?.close();
      await network.close();
    }
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}

function stretches(frames: readonly Int16Array[]): { fromMs: number; toMs: number }[] {
  const found: { fromMs: number; toMs: number }[] = [];
  frames.forEach((frame, index) => {
    if (levelOf(frame).rmsDbfs <= LOUD_DBFS) return;
    const last = found.at(-1);
    if (last !== undefined && index * 20 - last.toMs <= PAUSE_MS) last.toMs = index * 20 + 20;
    else found.push({ fromMs: index * 20, toMs: index * 20 + 20 });
  });
  return found;
}
