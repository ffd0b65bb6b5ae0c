import { afterEach, beforeEach, expect, it } from 'vitest';
import { delay } from '../../src/base/clock.js';
import { RealClock } from '../../src/base/real-clock.js';
import type { ModelRoute } from '../../src/settings/models.js';
import { Engine } from '../../src/engine/engine.js';
import type { LogEntry } from '../../src/session/record/event-log.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { OpenAiDouble, finishChunk, stream, textChunk, usageChunk } from '../providers/llm/openai-double.js';
import { assemblyAiDouble } from '../vendors/stt/assemblyai.js';
import { deepgramDouble } from '../vendors/stt/deepgram.js';
import { SocketDouble } from '../vendors/stt/socket-double.js';
import { silence, spoken } from '../vendors/stt/spoken-words.js';
import { CartesiaDouble } from '../vendors/tts/cartesia.js';
import { RimeDouble } from '../vendors/tts/rime.js';
import { KEY } from '../vendors/tts/speech-double.js';

/** An answer that takes longer hangs. A session apologises after nine seconds, and `said` would show that. */
const PATIENCE_MS = 40_000;
const FRAME = 320;

const clock = new RealClock();
const deepgram = new SocketDouble(deepgramDouble(KEY));
const assemblyAi = new SocketDouble(assemblyAiDouble(KEY));
const cartesia = new CartesiaDouble();
const rime = new RimeDouble();
const main = new OpenAiDouble();
const spare = new OpenAiDouble();
let engine: Engine;

beforeEach(async () => {
  const access = (baseUrl: string) => ({ apiKey: KEY, baseUrl, region: null });
  const route = (baseUrl: string): ModelRoute => ({ provider: 'openai', baseUrl, apiKey: null, model: 'm' });
  engine = new Engine({
    clock,
    vendors: {
      deepgram: access(await deepgram.listen()),
      assemblyai: access(await assemblyAi.listen()),
      cartesia: access((await cartesia.open()).url),
      rime: access((await rime.open()).url),
    },
    models: new Map([
      ['main', route(await main.listen())],
      ['spare', route(await spare.listen())],
    ]),
    failover: {
      stt: [{ provider: 'assemblyai' }],
      llm: ['spare'],
      tts: [{ provider: 'rime', voiceId: 'luna' }],
    },
    speculation: false,
  });
});

afterEach(async () => {
  await engine.close();
  await Promise.all([deepgram, assemblyAi, cartesia, rime, main, spare].map((double) => double.close()));
});

/** A caller who speaks in real time, and listens. */
class Caller {
  readonly line: MemoryTransport;
  #queue: Int16Array[] = [];
  #stopped = false;
  readonly said: string[] = [];
  #heardLoud: () => void = () => undefined;
  #spokenOut: () => void = () => undefined;

  constructor() {
    this.line = new MemoryTransport({
      sampleRateHz: 16_000,
      onFrame: (frame) => {
        if (frame?.some((sample) => Math.abs(sample) > 500) === true) this.#heardLoud();
      },
    });
  }

  /** Sends a frame every 20 ms until `hangUp`: silence where there is nothing to say. */
  async run(): Promise<void> {
    let dueMs = clock.nowMs();
    while (!this.#stopped) {
      const frame = this.#queue.shift() ?? new Int16Array(FRAME);
      this.line.pushAudio(frame);
      if (this.#queue.length === 0) this.#spokenOut();
      dueMs += 20;
      await delay(clock, Math.max(0, dueMs - clock.nowMs()));
    }
  }

  /** Says it, and resolves when the answer is heard. */
  async ask(text: string): Promise<void> {
    const samples = spoken(text);
    for (let at = 0; at < samples.length; at += FRAME) this.#queue.push(samples.slice(at, at + FRAME));
    await new Promise<void>((resolve) => (this.#spokenOut = resolve));
    await new Promise<void>((resolve, reject) => {
      const cancel = clock.schedule(clock.nowMs() + PATIENCE_MS, () => reject(new Error(`no answer to "${text}"`)));
      this.#heardLoud = () => {
        cancel();
        resolve();
      };
    });
    this.#heardLoud = () => undefined;
  }

  hangUp(): void {
    this.#stopped = true;
    this.line.hangUp();
  }
}

it('answers without an apology although each vendor stalls in the middle of the call', async () => {
  main.answer = (response) => stream(response, [textChunk('Main model.'), finishChunk('stop'), usageChunk]);
  spare.answer = (response) => stream(response, [textChunk('Spare model.'), finishChunk('stop'), usageChunk]);
  const caller = new Caller();
  const log: LogEntry[] = [];
  const said: string[] = [];
  let agentSaid: () => void = () => undefined;
  const session = await engine.createSession({
    agent: {
      language: 'en-US',
      speech_to_text: { provider: 'deepgram' },
      llm: { model: 'main' },
      voice: { provider: 'cartesia', voice_id: 'anne' },
    },
    transport: caller.line,
    vad: energyVad(),
    log: (entry: LogEntry) => log.push(entry),
    observe: (event) => {
      if (event.type === 'user') said.push(`user: ${event.text.toLowerCase().replace('.', '')}`);
      if (event.type === 'agent') {
        // A filler may bridge the wait.
        said.push(`agent: ${event.text.replaceAll(/(Let me see|One moment, please|Just a second)\. /g, '')}`);
        agentSaid();
      }
    },
  });
  const report: Promise<SessionReport> = session.run();
  const running = caller.run();
  /** Until the answer is over and the line is quiet again. */
  const turn = async (text: string): Promise<void> => {
    const answered = new Promise<void>((resolve) => (agentSaid = resolve));
    await caller.ask(text);
    await answered;
    for (let at = 0; at < silence(600).length; at += FRAME) await delay(clock, 20);
  };

  await turn('a table for two');
  deepgram.faults.stalled = true;
  await turn('no stop');
  main.answer = () => undefined;
  await turn('for tonight');
  cartesia.faults = { stall: true };
  await turn('yes thanks');
  main.answer = (response) =>
    stream(response, [textChunk('The main model says so much again.'), finishChunk('stop'), usageChunk]);
  cartesia.faults = {};
  rime.faults = { stopAfter: 'stall', pieces: 4 };
  await turn('no thanks');

  caller.hangUp();
  await running;
  const { faults, usage } = await report;
  expect(said).toEqual([
    'user: a table for two',
    'agent: Main model.',
    'user: no stop',
    'agent: Main model.',
    'user: for tonight',
    'agent: Spare model.',
    'user: yes thanks',
    'agent: Spare model.',
    // Its voice fell silent in the middle: another said it again, and it was said once.
    'user: no thanks',
    'agent: The main model says so much again.',
  ]);
  expect(faults).toMatchObject({ 'stt.fallback': 1, 'tts.fallback': 2 });
  expect(faults['llm.fallback']).toBeGreaterThanOrEqual(2);
  // Each by what it did: the costs name who answered.
  expect(usage.stt.map(({ provider }) => provider)).toEqual(['deepgram', 'assemblyai']);
  expect(usage.stt.every(({ seconds }) => seconds > 1)).toBe(true);
  expect(usage.llm).toMatchObject([{ model: 'main' }, { model: 'spare' }]);
  expect(usage.tts.map(({ provider }) => provider)).toEqual(['cartesia', 'rime']);
  const trace = JSON.stringify(log);
  expect(trace).toContain('deepgram -> assemblyai: no final words within');
  expect(trace).toContain('openai main -> openai spare: nothing within');
  expect(trace).toContain('cartesia -> rime: nothing within');
  expect(trace).toContain('rime -> cartesia: in the middle of a sentence');
  expect([deepgram.violations, assemblyAi.violations, cartesia.violations, rime.violations]).toEqual([[], [], [], []]);
}, 240_000);
