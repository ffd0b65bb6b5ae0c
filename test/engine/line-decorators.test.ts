import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { msToSamples } from '../../src/audio/frame.js';
import { decodeWav, encodeWav } from '../../src/audio/files/wav.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { resolveAgent } from '../../src/agent/resolve.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions, SessionRequest } from '../../src/engine/options.js';
import type { SttProvider } from '../../src/providers/stt/stt.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { FileTransport } from '../../src/transports/file.js';
import { noise, toSamples } from '../audio/signals.js';
import { httpServer, type LocalServer } from '../net/local-server.js';
import { recording } from '../session/support.js';

let folder: string;
let server: LocalServer;
let asked = 0;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-sound-'));
  asked = 0;
  server = await httpServer((request, response) => {
    asked++;
    if (request.url === '/hum.wav') response.end(encodeWav(new Int16Array(48_000).fill(900), 48_000));
    else response.writeHead(404).end();
  });
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface Called {
  report: SessionReport;
  line: Int16Array;
}

/** A call with one question, in virtual time. */
async function call(
  agent: AgentConfig,
  options: EngineOptions = {},
  user = USER,
  stt = STT,
  own: Pick<SessionRequest, 'extensions' | 'llm'> = {},
): Promise<Called> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock, recordings: folder, allowUrls: [server.origin], ...options });
  try {
    const transport = new FileTransport({ samples: user, sampleRateHz: 16_000, ticker: engine.ticker });
    const session = await engine.createSession({
      agent: { first_message: 'Hello there.', ...agent },
      transport,
      id: 'call',
      vad: energyVad(),
      stt,
      llm: functionLlm(() => 'That is fine.'),
      tts: toneTts(),
      ...own,
    });
    let report: SessionReport | undefined;
    void session.run().then((done) => (report = done));
    await clock.runUntil(() => report !== undefined, 60_000);
    if (report === undefined) throw new Error('the session did not end');
    return { report, line: transport.recording() };
  } finally {
    await engine.close();
  }
}

const STT = promptedStt({ lines: ['can you help me please'] });
const USER = recording(6000, [2000, 3000]);

describe('enable_recording', () => {
  it('keeps both sides on the time of the session, to the sample', async () => {
    const { report } = await call({ call_settings: { enable_recording: true } });
    expect(report.recording).toBe(join(folder, 'call.wav'));
    const { channels, sampleRateHz, warnings } = decodeWav(readFileSync(report.recording ?? ''));
    expect([sampleRateHz, channels.length, warnings]).toEqual([16_000, 2, []]);
    const [user = new Int16Array(), agent = new Int16Array()] = channels;
    expect(user.subarray(0, USER.length)).toEqual(USER);
    // The tone of the voice begins with a zero.
    const answerAt = msToSamples(report.turns[0]?.audioStartMs ?? 0, 16_000);
    expect(agent.subarray(msToSamples(2500, 16_000), answerAt + 1).every((sample) => sample === 0)).toBe(true);
    expect(agent[answerAt + 1]).not.toBe(0);
    expect(agent.length).toBeCloseTo(msToSamples(report.durationMs, 16_000), -3);
  });

  it('is off by default, and where the agent opts out of data collection', async () => {
    expect((await call({})).report.recording).toBeNull();
    const settings = { call_settings: { enable_recording: true } };
    expect(resolveAgent(settings).sound.recording).toBe(true);
    const optedOut = { ...settings, privacy_settings: { opt_out_data_collection: true } };
    expect(resolveAgent(optedOut).sound.recording).toBe(false);
  });

  it('is silence while the model pauses it', async () => {
    const asked: string[] = [];
    const llm = functionLlm(({ messages, tools }) => {
      const last = messages.at(-1);
      if (last?.role !== 'user') return 'All right.';
      asked.push(last.content);
      const name = last.content.includes('card') ? 'pause_recording' : 'resume_recording';
      return tools.some((tool) => tool.name === name) ? { calls: [{ name, arguments: '{}' }] } : 'That is fine.';
    });
    const user = recording(14_000, [2000, 3000], [6000, 8000], [11_000, 12_000]);
    const stt = promptedStt({ lines: ['i pay by card', 'four two four two', 'thank you'] });
    const agent = { call_settings: { enable_recording: true } };
    const extensions = { recording: { pause: { enabled: true } } };
    const { report } = await call(agent, {}, user, stt, { llm, extensions });
    expect(asked).toEqual(['i pay by card', 'four two four two', 'thank you']);
    const [heard = new Int16Array()] = decodeWav(readFileSync(report.recording ?? '')).channels;
    const part = (samples: Int16Array, fromMs: number, toMs: number): Int16Array =>
      samples.subarray(msToSamples(fromMs, 16_000), msToSamples(toMs, 16_000));
    expect(part(heard, 0, 3000)).toEqual(part(user, 0, 3000));
    expect(part(heard, 5000, 8000).every((sample) => sample === 0)).toBe(true);
    expect(part(heard, 11_000, 12_000)).toEqual(part(user, 11_000, 12_000));
  });

  it('is refused by an engine that has no place for it', async () => {
    const work = call({ call_settings: { enable_recording: true } }, { recordings: undefined as never });
    await expect(work).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: /enable_recording/ });
  });

  it('costs the call nothing but a counted fault where it fails', async () => {
    const sink = { open: () => Promise.reject(new Error('no disk')) };
    const broken = await call({ call_settings: { enable_recording: true } }, { recordings: sink });
    const plain = await call({});
    const reported = { faults: { 'recording.failed': 1 }, faultReasons: { 'recording.failed': 'no disk' } };
    expect(broken.report).toEqual({ ...plain.report, ...reported });
  });
});

describe('background', () => {
  it('is under the whole call at its volume, and in the recording', async () => {
    const call_settings = { enable_recording: true, background: { url: `${server.origin}/hum.wav`, volume: 0.5 } };
    const { report, line } = await call({ call_settings });
    const plain = await call({});
    expect(report).toEqual({ ...plain.report, recording: join(folder, 'call.wav') });
    const [from, to] = [16_000, 5 * 16_000];
    const difference = line.map((sample, at) => sample - (plain.line[at] ?? 0)).subarray(from, to);
    // The resampler's ripple and the seam aside, that is half of 900.
    const median = difference.sort()[difference.length >> 1];
    expect(median).toBeGreaterThan(430);
    expect(median).toBeLessThan(470);
    const [, agent = new Int16Array()] = decodeWav(readFileSync(report.recording ?? '')).channels;
    expect(agent.subarray(from, to)).toEqual(line.subarray(from, to));
  });

  it('is fetched once, whatever the number of calls, where there is a folder for it', async () => {
    const call_settings = { background: { url: `${server.origin}/hum.wav` } };
    const options = { mediaCacheDir: join(folder, 'media') };
    await call({ call_settings }, options);
    await call({ call_settings }, options);
    expect(asked).toBe(1);
  });

  it('is missing with a counted fault where it cannot be had', async () => {
    const plain = await call({});
    const gone = await call({ call_settings: { background: { url: `${server.origin}/gone.wav` } } });
    const faultReasons = { 'background.failed': expect.any(String) as string };
    expect(gone.report).toEqual({ ...plain.report, faults: { 'background.failed': 1 }, faultReasons });
    expect(gone.line).toEqual(plain.line);
    const call_settings = { background: { url: `${server.origin}/hum.wav` } };
    const refused = await call({ call_settings }, { allowUrls: [] });
    expect(refused.report.faults).toEqual({ 'background.failed': 1 });
  });

  it('is not even asked for at volume 0', async () => {
    await call({ call_settings: { background: { url: `${server.origin}/hum.wav`, volume: 0 } } });
    expect(asked).toBe(0);
  });
});

describe('voice.settings', () => {
  it.each([{ rate: 3 }, { pitch: 0.4 }, { volume: 5 }, { stability: 0.5 }])('of flite refuse %j', async (settings) => {
    const engine = new Engine({ clock: new VirtualClock() });
    const agent: AgentConfig = { voice: { provider: 'flite', voice_id: 'slt', settings } };
    await expect(engine.checkAgent({ agent })).rejects.toMatchObject({ code: 'TTS_SETTING_INVALID' });
    await engine.close();
  });
});

describe('denoise', () => {
  /** What the recogniser was given of the last second of a call in hiss. */
  async function heard(speech_to_text: AgentConfig['speech_to_text']): Promise<number> {
    const hiss = toSamples(noise(3 * 16_000, 300, 5));
    const given: number[] = [];
    const stt: SttProvider = {
      ...STT,
      open: async (options, events) => {
        const stream = await STT.open(options, events);
        stream.push = (samples) => void given.push(...samples);
        return stream;
      },
    };
    await call({ speech_to_text }, {}, hiss, stt);
    const second = given.slice(2 * 16_000, 3 * 16_000 - 1000);
    return Math.sqrt(second.reduce((sum, value) => sum + value * value, 0) / second.length);
  }

  it('takes noise out before recognition, as strongly as is asked for, and where it is asked for', async () => {
    const asItIs = await heard({});
    expect(asItIs).toBeGreaterThan(250);
    expect(await heard({ denoise: true })).toBeLessThan(asItIs / 4);
    const half = await heard({ denoise: true, denoiser: { settings: { strength: 0.5 } } });
    expect(half).toBeLessThan(0.7 * asItIs);
    expect(half).toBeGreaterThan(0.3 * asItIs);
    expect(await heard({ denoise: true, denoiser: { settings: { applies_to: 'vad' } } })).toBeCloseTo(asItIs, 0);
    expect(await heard({ denoise: true, denoiser: { settings: { strength: 0 } } })).toBeCloseTo(asItIs, 0);
    expect(await heard({ denoise: false, denoiser: { settings: { strength: 1 } } })).toBeCloseTo(asItIs, 0);
  });

  it.each([{ strength: 2 }, { applies_to: 'agent' }])('refuses the settings %j', async (settings) => {
    const speech_to_text = { denoise: true, denoiser: { settings } } as AgentConfig['speech_to_text'];
    await expect(call({ speech_to_text })).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: /denoiser/ });
  });
});
