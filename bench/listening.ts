/**
 * How far behind a supervisor hears a call in the console, over WebRTC and over the WebSocket, and whether the call
 * notices: node bench/run.mjs listening [--rounds=20]. Needs Chromium and a build.
 *
 * The caller sends words of a recording over the talk socket, at the pace of speech, with a second of silence between
 * them. The time counts from when the first loud frame goes into the caller's socket until its sound comes out of the
 * browser's jitter buffer, or of its sound graph with the WebSocket. What is not in the browser's jitter buffer is parley's
 * mix (40 ms and a tick), the codec, and the sound graph of the measurement. Everything runs on this machine: add the way of the
 * network, and the delay of the loudspeaker.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { WebSocket } from 'ws';
import { decodeWav } from '../dist/audio/files/wav.js';
import { packageFile } from '../dist/package-files.js';
import { ServedDaemon } from '../test/e2e/served-daemon.js';
import { machine } from './lib/machine.js';
import { median, quantile } from './lib/numbers.js';

const KEY = 'sk_listening_bench';
const FRAME_MS = 20;
const FRAME_SAMPLES = 320;
/** Of the recording: the middle of a word. */
const WORD_FRAMES = 15;
const SILENCE_FRAMES = 50;
const LOUD = 0.01;
const WORD = 'fixtures/audio/booking/slt/table.wav';
const AGENT = {
  name: 'Waiter',
  config: { prompt: 'You wait.', first_message: 'Hello.', llm: { model: 'scripted' } },
  script: { rules: [{ when: 'open', say: 'We are open until eleven.' }] },
};
/** In the page: `onsets` are the times at which sound begins, Unix ms. */
const HEARS = `(() => {
  globalThis.onsets = [];
  const watch = (context, source) => {
    const analyser = new AnalyserNode(context, { fftSize: 256 });
    source.connect(analyser);
    const samples = new Float32Array(256);
    let quietSince = 0;
    setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      const now = performance.timeOrigin + performance.now();
      if (samples.some((sample) => Math.abs(sample) > ${String(LOUD)})) {
        if (now - quietSince > 300) onsets.push(now);
        quietSince = now;
      }
    }, 2);
  };
  const Real = globalThis.RTCPeerConnection;
  if (location.hash.includes('socket')) delete globalThis.RTCPeerConnection;
  else globalThis.RTCPeerConnection = class extends Real {
    constructor(...options) {
      super(...options);
      globalThis.connection = this;
      this.addEventListener('track', ({ track }) => {
        const context = new AudioContext();
        watch(context, context.createMediaStreamSource(new MediaStream([track])));
      });
    }
  };
  const connect = AudioNode.prototype.connect;
  let isWatched = false;
  AudioNode.prototype.connect = function (to, ...rest) {
    const { context } = this;
    if (to !== context.destination) return connect.call(this, to, ...rest);
    const all = (context.all ??= new GainNode(context));
    if (!isWatched) {
      isWatched = true;
      watch(context, all);
      connect.call(all, context.destination);
    }
    return connect.call(this, all);
  };
})()`;

/** In the page, what its jitter buffer has done so far: seconds, and samples that came out of it. */
interface Buffered {
  jitterBufferDelay: number;
  jitterBufferTargetDelay: number;
  jitterBufferEmittedCount: number;
}
const BUFFERED = `(async () => {
  const stats = await globalThis.connection?.getStats();
  return Array.from(stats?.values() ?? []).find(({ type }) => type === 'inbound-rtp') ?? null;
})()`;

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } });
const rounds = Number(values.rounds);
const { samples } = decodeWav(readFileSync(packageFile(WORD)));
const from = samples.findIndex((sample) => Math.abs(sample) > 8_000);
const word = samples.slice(from, from + WORD_FRAMES * FRAME_SAMPLES);

const daemon = await ServedDaemon.start('0', undefined, { PARLEY_API_KEY: KEY });
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'],
});
async function measure(way: string, agent: string): Promise<void> {
  const caller = await Caller.call(agent);
  try {
    const alone = await caller.gaps(5);
    const page = await listening(browser, way, caller.sessionId);
    const before = await page.evaluate<Buffered | null>(BUFFERED);
    const sent = await caller.words();
    const after = await page.evaluate<Buffered | null>(BUFFERED);
    const heard = await page.evaluate<number[]>('globalThis.onsets');
    const delays = sent
      .flatMap((at) => {
        const onset = heard.find((each) => each >= at);
        return onset === undefined || onset - at > 1_000 ? [] : [onset - at];
      })
      .toSorted((one, other) => one - other);
    const at = (share: number): string => quantile(delays, share).toFixed(0);
    const mean = (name: 'jitterBufferDelay' | 'jitterBufferTargetDelay'): string => {
      if (before === null || after === null) return '';
      const count = after.jitterBufferEmittedCount - before.jitterBufferEmittedCount;
      return (((after[name] - before[name]) / count) * 1000).toFixed(0);
    };
    const counts = `${String(delays.length)} of ${String(sent.length)}`;
    const inBuffer = [mean('jitterBufferDelay'), mean('jitterBufferTargetDelay')];
    console.log(`| ${[way, counts, at(0.5), at(0.9), at(1), ...inBuffer].join(' | ')} |`);
    const listened = await caller.gaps(5);
    console.log(
      `  longest gap between the caller's frames while the agent speaks, median of 5 answers: ${alone.toFixed(0)} ms alone, ${listened.toFixed(0)} ms listened to`,
    );
    await page.close();
  } finally {
    caller.close();
  }
}

async function listening(of: Browser, way: string, sessionId: string): Promise<Page> {
  const page = await of.newPage();
  await page.addInitScript({ content: `sessionStorage.setItem('parley.key', '${KEY}')` });
  await page.addInitScript({ content: HEARS });
  await page.goto(`${daemon.address}/console#/active/${sessionId}?${way}`);
  await page.getByRole('button', { name: 'Listen' }).click();
  await page.getByRole('button', { name: 'Stop listening' }).waitFor();
  await page.waitForTimeout(1_000);
  return page;
}

class Caller {
  readonly #socket: WebSocket;
  readonly sessionId: string;
  readonly #sent: number[] = [];
  /** Words that are still to be said, and frames of the current one with its silence. */
  #left = 0;
  #at = 0;
  /** When frames of the agent came, ms. */
  readonly #frames: number[] = [];

  private constructor(socket: WebSocket, sessionId: string) {
    this.#socket = socket;
    this.sessionId = sessionId;
    socket.on('message', (_data, isBinary) => isBinary && this.#frames.push(performance.now()));
  }

  static async call(agent: string): Promise<Caller> {
    const socket = new WebSocket(`${daemon.address.replace('http', 'ws')}/talk`);
    await new Promise((resolve) => socket.once('open', resolve));
    const ready = new Promise<string>((resolve) => {
      socket.on('message', (data: Buffer, isBinary) => {
        if (isBinary) return;
        const { method, payload } = JSON.parse(data.toString()) as { method: string; payload: { session_id: string } };
        if (method === 'onready') resolve(payload.session_id);
      });
    });
    socket.send(JSON.stringify({ method: 'initiate', data: { public_key: 'pk_served', agent: { agent_id: agent } } }));
    const caller = new Caller(socket, await ready);
    void caller.#talk();
    await pause(3_000); // the greeting
    return caller;
  }

  /** Sends the word again and again, and silence before and after it, at the pace of speech. */
  async #talk(): Promise<void> {
    const begun = performance.now();
    for (let count = 0; this.#socket.readyState === this.#socket.OPEN; count++) {
      await pause(begun + count * FRAME_MS - performance.now());
      const frame = new Int16Array(FRAME_SAMPLES);
      const at = this.#left > 0 ? this.#at++ - SILENCE_FRAMES : -1;
      if (at === 0) this.#sent.push(performance.timeOrigin + performance.now());
      if (at >= 0) frame.set(word.subarray(at * FRAME_SAMPLES, (at + 1) * FRAME_SAMPLES));
      if (at === WORD_FRAMES - 1) {
        this.#at = 0;
        this.#left--;
      }
      this.#socket.send(Buffer.from(frame.buffer));
    }
  }

  /** Says the words. @returns when the first frame of each was sent, Unix ms */
  async words(): Promise<number[]> {
    this.#left = rounds;
    await pause(rounds * (WORD_FRAMES + SILENCE_FRAMES) * FRAME_MS + 2_000);
    return this.#sent;
  }

  /** The median of the longest gaps between the frames of answers. */
  async gaps(answers: number): Promise<number> {
    const longest: number[] = [];
    for (let count = 0; count < answers; count++) {
      this.#frames.length = 0;
      this.#socket.send(JSON.stringify({ method: 'text', data: 'When are you open?' }));
      await pause(3_500);
      const gaps = this.#frames.slice(1).map((time, at) => time - (this.#frames[at] ?? time));
      longest.push(Math.max(...gaps.filter((gap) => gap < 400)));
    }
    return median(longest);
  }

  close(): void {
    this.#socket.close();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}

try {
  const made = await fetch(`${daemon.address}/agents`, {
    method: 'POST',
    headers: { authorization: KEY, 'content-type': 'application/json' },
    body: JSON.stringify(AGENT),
  });
  const { id: agent } = (await made.json()) as { id: string };
  console.log(`${machine()}\n`);
  console.log('| way | heard | median, ms | p90, ms | longest, ms | in the jitter buffer, mean, ms | its target, ms |');
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const way of ['webrtc', 'socket']) await measure(way, agent);
} finally {
  await browser.close();
  await daemon.stop();
}
