import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'vitest';
import { delay } from '../../../src/base/clock.js';
import { RealClock } from '../../../src/base/real-clock.js';
import type { AgentConfig } from '../../../src/agent/agent.js';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import { openLog } from '../../../src/daemon/operations/log.js';
import type { EngineOptions } from '../../../src/engine/options.js';
import type { TtsProvider } from '../../../src/providers/tts/tts.js';
import type { CallHistoryItem } from '../../../src/session/record/call-history.js';
import type { LogEntry } from '../../../src/session/record/event-log.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { type Client, House, PRIVATE_KEY } from '../../daemon/house.js';
import { finishChunk, OpenAiDouble, stream, textChunk, usageChunk } from '../../providers/llm/openai-double.js';
import { joined, spoken } from '../stt/spoken-words.js';

const FRAME = 320;
const clock = new RealClock();
/** An answer that does not come by then does not come. */
const ANSWER_MS = 25_000;

export const QUESTION = 'a table for two';
const HALVES = ['a table', 'for two'] as const;

/** What happened in one call, as its caller and its operator see it. */
export interface Driven {
  /** What the agent took the caller to say, the last of it. */
  heard: string;
  /** What the agent said after the question, or before the end that came sooner. */
  said: string[];
  /** Whether there was sound after the question. */
  sounded: boolean;
  status: string;
  errorMessage: string | null;
  /** Names and reasons of faults in the session's trace. */
  faults: string[];
  /** From the end of the question to the first word of an answer, on the clock on the wall. */
  waitedMs: number;
}

/** What is done to a vendor during a call. */
export interface Meddling {
  /** When the line stands and the greeting is over; else, where `early`, before the call. */
  before?: () => void;
  early?: () => void;
  middle?: () => void;
  after?: () => void;
}

/** A daemon with a model that repeats what it hears, calls over its talk socket, and all that it wrote meanwhile. */
export class Drive {
  readonly #house: House;
  readonly #model: OpenAiDouble;
  readonly #output: { text: string };
  readonly #entries = new Map<string, LogEntry[]>();
  /** In place of the agents' own voice. */
  tts: TtsProvider | null = null;

  private constructor(house: House, model: OpenAiDouble, output: { text: string }) {
    this.#house = house;
    this.#model = model;
    this.#output = output;
  }

  static async open(options: Pick<EngineOptions, 'vendors' | 'failover'>): Promise<Drive> {
    const model = new OpenAiDouble();
    model.answer = (response, { method, body }) => {
      if (method !== 'POST') {
        // A request that opens the connection.
        response.writeHead(404).end();
        return;
      }
      const said = (body['messages'] as { content: string }[]).at(-1)?.content ?? '';
      const answer = said === '[inaudible]' ? 'Pardon me?' : `You said: ${said.replace(/\.$/, '')}.`;
      stream(response, [textChunk(answer), finishChunk('stop'), usageChunk]);
    };
    const route = { provider: 'openai', baseUrl: await model.listen(), apiKey: null, model: 'm' } as const;
    const output = { text: '' };
    const sink = new PassThrough();
    sink.on('data', (chunk: Buffer) => (output.text += chunk.toString()));
    const settings = { logLevel: 'debug', logFormat: 'json' } as const;
    const log = openLog(sink, { ...DEFAULT_SETTINGS, ...settings, dataDir: '' });
    const house = await House.open(settings, clock, log, { models: new Map([['echo', route]]), ...options });
    const drive = new Drive(house, model, output);
    const { engine } = house;
    const create = engine.createSession.bind(engine);
    // The doubles' speech is none for a real detector.
    engine.createSession = (request) => {
      const entries: LogEntry[] = [];
      drive.#entries.set(request.agentId ?? '', entries);
      const { tts } = drive;
      const own = { vad: energyVad(), log: (entry: LogEntry) => entries.push(entry) };
      return create({ ...request, ...own, ...(tts !== null && { tts }) });
    };
    return drive;
  }

  /** Calls an agent of this configuration, asks the question, listens to the answer, hangs up. */
  call(name: string, config: AgentConfig, meddling: Meddling): Promise<Driven> {
    return this.#call(name, config, meddling, async (line) => {
      await line.say(spoken(HALVES[0]));
      meddling.middle?.();
      await line.say(spoken(HALVES[1]));
      meddling.after?.();
    });
  }

  /** As `call`, but the question is typed: there is nothing to be heard. */
  callInWriting(name: string, config: AgentConfig, before: () => void): Promise<Driven> {
    return this.#call(name, config, { before }, (line) => line.type(QUESTION));
  }

  async #call(
    name: string,
    config: AgentConfig,
    meddling: Meddling,
    ask: (line: Line) => Promise<void>,
  ): Promise<Driven> {
    const agent = { first_message: 'Hello.', llm: { model: 'echo' }, ...config };
    const { id } = (await this.#ask('POST', '/agents', { name, config: agent })) as { id: string };
    meddling.early?.();
    const client = this.#house.connect();
    await client.initiate({ agent: { agent_id: id } });
    const line = new Line(client);
    try {
      // A line whose ears cannot be had may be over before anybody has said a word.
      await line.until(() => line.texts('onresponsetext').includes('Hello.'));
      await line.quiet();
      meddling.before?.();
      await ask(line);
      const endMs = clock.nowMs();
      const before = line.isOver ? 1 : line.texts('onresponsetext').length;
      const sounds = client.inbox.audio.length;
      // The words are reported when they are heard.
      await line.until(() => line.texts('onresponsetext').length > before || clock.nowMs() > endMs + ANSWER_MS);
      const waitedMs = clock.nowMs() - endMs;
      const heardOutMs = clock.nowMs() + 1200;
      await line.until(() => clock.nowMs() > heardOutMs);
      const said = [...new Set(line.texts('onresponsetext').slice(before))];
      const heard = line.texts('ontranscript').at(-1) ?? '';
      const sounded = client.inbox.audio.length > sounds;
      const refusal = line.refusal;
      if (refusal !== null) {
        return { heard: '', said: [], sounded: false, status: 'refused', errorMessage: refusal, faults: [], waitedMs };
      }
      line.hangUp();
      const { call_status: status, error_message: errorMessage } = await this.#logged(id);
      const faults = (this.#entries.get(id) ?? []).flatMap((entry) =>
        entry.kind === 'note' && typeof entry.data['reason'] === 'string'
          ? [`${entry.name}: ${entry.data['reason']}`]
          : [],
      );
      const plain = heard.toLowerCase().replaceAll('.', '').trim();
      return { heard: plain, said, sounded, status, errorMessage, faults, waitedMs };
    } finally {
      line.hangUp();
    }
  }

  /** Nothing that the daemon wrote, kept, measured or sent shows a key. */
  async expectNoKey(key: string): Promise<void> {
    const metrics = await (await this.#house.request('/metrics', { headers: { authorization: PRIVATE_KEY } })).text();
    expect(metrics).toContain('parley_');
    const logs = JSON.stringify(await this.#ask('GET', '/call-logs'));
    const traces = JSON.stringify([...this.#entries.values()]);
    for (const text of [this.#output.text, metrics, logs, traces]) expect(text.includes(key)).toBe(false);
    const files = readdirSync(this.#house.dataDir, { recursive: true, withFileTypes: true });
    for (const file of files.filter((one) => one.isFile())) {
      expect(readFileSync(join(file.parentPath, file.name)).includes(key), file.name).toBe(false);
    }
  }

  async close(): Promise<void> {
    await this.#house.close();
    await this.#model.close();
    expect(this.#house.faults).toEqual([]);
  }

  /** The item of a call, which comes a moment after its end. */
  async #logged(agentId: string): Promise<CallHistoryItem> {
    for (let tries = 0; tries < 100; tries++) {
      const { histories } = (await this.#ask('GET', `/call-logs?agent_id=${agentId}`)) as {
        histories: CallHistoryItem[];
      };
      if (histories[0] !== undefined && histories[0].call_status !== 'in-progress') return histories[0];
      await delay(clock, 100);
    }
    throw new Error('the call is not in the log');
  }

  async #ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const headers = { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    return (await this.#house.ask(path, request)).body;
  }
}

/** A caller's end of the talk socket: 20 ms of sound after another, silence where there is nothing to say. */
class Line {
  readonly #client: Client;
  #queue: Int16Array[] = [];
  #spoken: () => void = () => undefined;
  #over = false;
  readonly #closed: Promise<unknown>;

  constructor(client: Client) {
    this.#client = client;
    this.#closed = client.inbox.closed.then(() => (this.#over = true));
    void this.#run();
  }

  /** What has come of one kind, the newest last; what replaces itself while it grows is there in each form. */
  texts(method: string): string[] {
    return this.#client.inbox.messages.flatMap((one) => (one['method'] === method ? [String(one['data'])] : []));
  }

  get isOver(): boolean {
    return this.#over;
  }

  async until(isThere: () => boolean): Promise<void> {
    while (!isThere() && !this.#over) await delay(clock, 20);
  }

  /** Resolves when the agent has been heard, and then no more for half a second. */
  async quiet(): Promise<void> {
    const { audio } = this.#client.inbox;
    await this.until(() => audio.length > 0);
    for (let heard = -1; heard !== audio.length && !this.#over;) {
      heard = audio.length;
      await delay(clock, 500);
    }
  }

  /** Why there is no call, where it was refused before it began. */
  get refusal(): string | null {
    const first = this.#client.inbox.messages[0];
    return first?.['method'] === 'onerror' ? String(first['data']) : null;
  }

  async type(text: string): Promise<void> {
    await this.#client.send({ method: 'text', data: text });
  }

  async say(samples: Int16Array): Promise<void> {
    const all = joined([samples]);
    for (let at = 0; at < all.length; at += FRAME) this.#queue.push(all.slice(at, at + FRAME));
    await Promise.race([new Promise<void>((resolve) => (this.#spoken = resolve)), this.#closed]);
  }

  hangUp(): void {
    this.#over = true;
    this.#client.socket.close();
  }

  async #run(): Promise<void> {
    let dueMs = clock.nowMs();
    while (!this.#over) {
      const frame = this.#queue.shift();
      const { socket } = this.#client;
      const sound = frame ?? new Int16Array(FRAME);
      if (socket.readyState === socket.OPEN) socket.send(Buffer.from(sound.buffer, 0, sound.byteLength));
      if (frame !== undefined && this.#queue.length === 0) this.#spoken();
      dueMs += 20;
      await delay(clock, Math.max(0, dueMs - clock.nowMs()));
    }
  }
}
