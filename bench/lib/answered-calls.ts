import { levelOf } from '../../dist/audio/dsp/level.js';
import { Switchboard } from '../../dist/telephony/calls/switchboard.js';
import { SimulatedNetwork } from '../../dist/telephony/carriers/simulated/network.js';
import { networkSchema } from '../../dist/telephony/carriers/simulated/script.js';
import { SoundLibrary } from '../../dist/telephony/carriers/simulated/sounds.js';
import { VirtualClock } from '../../dist/base/virtual-clock.js';
import type { CallReport } from '../../dist/telephony/calls/agent-call.js';
import { Engine } from '../../dist/engine/engine.js';
import { functionLlm } from '../../dist/testing/doubles/function-llm.js';
import type { Answerer } from './answerers.js';

/** What a call came to. Times are milliseconds since the answer; null = it did not happen. */
export interface AnsweredCall {
  /** What the core found: traces with their times. */
  traces: readonly { name: string; data: Readonly<Record<string, unknown>>; atMs: number }[];
  status: CallReport['status'];
  durationMs: number;
  /** The agent's sound at the far end, in stretches without a pause of half a second. */
  heard: readonly { fromMs: number; toMs: number }[];
  /** What the far end's script noted, and when. */
  notes: ReadonlyMap<string, number>;
  heardText: string;
}

export type Voicemail = { action: 'hangup' | 'message'; message?: string; continue_on_voice_activity?: boolean } | null;

export const MESSAGE = 'This is Anna of the flower shop. Your order is ready. Please call us back. Thank you, goodbye!';
const FROM = '+12025550199';
const TO = '+12025550100';
const LOUD_DBFS = -45;
const PAUSE_MS = 500;
const LINES = [{}, { jitterMs: 40, loss: 0.02 }, { codec: 'alaw', jitterMs: 60, loss: 0.05, noiseDbfs: -52 }] as const;

const clock = new VirtualClock();
const engine = new Engine({ clock });
const sounds = new SoundLibrary(
  (text, voiceId) => engine.speech({ text, provider: 'flite', voiceId, signal: AbortSignal.timeout(20_000) }),
  new URL('file:///'),
);

/** Calls somebody in virtual time. The seed chooses the line (clean, lossy, worse), and what is lost on it. */
export async function callAnswerer(answerer: Answerer, voicemail: Voicemail, seed: number): Promise<AnsweredCall> {
  const frames: boolean[] = [];
  const notes = new Map<string, number>();
  const traces: AnsweredCall['traces'][number][] = [];
  const { name, voice, steps } = answerer;
  const { numbers } = networkSchema.parse({
    numbers: [
      {
        number: TO,
        name: 'called',
        does: name.slice(0, 300),
        ringMs: 500,
        voice,
        steps,
        line: LINES[seed % LINES.length],
      },
    ],
  });
  const network = new SimulatedNetwork({
    clock,
    ticker: engine.ticker,
    numbers,
    sounds,
    owned: [FROM],
    seed,
    tap: (call, { far }) => {
      frames.push(far !== null && levelOf(far).rmsDbfs > LOUD_DBFS);
      for (const note of call.notes) if (!notes.has(note)) notes.set(note, frames.length * 20);
    },
    onError: (error) => console.error(error),
  });
  const switchboard = new Switchboard({ engine, carrier: network });
  try {
    const call = await switchboard.place({
      from: FROM,
      to: TO,
      agent: {
        prompt: 'You are Anna of the flower shop. You call people to tell them that their order is ready.',
        first_message:
          'Hello, this is Anna of the flower shop. I am calling about your order, it is ready. Will you come today?',
        flow: { voicemail },
      },
      llm: functionLlm(() => 'I am calling about your order. Is that all right with you?'),
      log: (entry) => {
        if (entry.kind === 'effect' && entry.effect.type === 'trace') {
          traces.push({ name: entry.effect.name, data: entry.effect.data, atMs: entry.t });
        }
      },
    });
    let report: CallReport | undefined;
    void call.finished.then((done) => (report = done));
    await clock.runUntil(() => report !== undefined, clock.nowMs() + 180_000);
    if (report === undefined) throw new Error(`the call to "${name}" did not end`);
    const heardText = report.session?.messages.map(({ role, content }) => `${role}: ${content}`).join(' / ') ?? '';
    return {
      traces,
      status: report.status,
      durationMs: report.session?.durationMs ?? 0,
      heard: stretches(frames),
      notes,
      heardText,
    };
  } finally {
    await network.close();
  }
}

export function closeCalls(): Promise<void> {
  return engine.close();
}

function stretches(frames: readonly boolean[]): { fromMs: number; toMs: number }[] {
  const found: { fromMs: number; toMs: number }[] = [];
  frames.forEach((isLoud, index) => {
    if (!isLoud) return;
    const last = found.at(-1);
    if (last !== undefined && index * 20 - last.toMs <= PAUSE_MS) last.toMs = index * 20 + 20;
    else found.push({ fromMs: index * 20, toMs: index * 20 + 20 });
  });
  return found;
}
