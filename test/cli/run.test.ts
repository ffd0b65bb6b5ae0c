import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { levelOf } from '../../src/audio/dsp/level.js';
import { resample } from '../../src/audio/dsp/resample.js';
import { decodeWav, encodeWav } from '../../src/audio/files/wav.js';
import { encodeG711 } from '../../src/audio/codecs/g711.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { httpServer } from '../net/local-server.js';
import { utterancesOf } from './played.js';
import { DEMO_AGENT, fixture, inFolder, parley, type Ran } from './support.js';

const TRACK = fixture('booking/slt/track.wav');
const SENTENCE = fixture('booking/rms/table.wav');

/** The demo agent with a book of its own, so that runs side by side do not share one. */
let book: { bookings: unknown[]; args: string[]; close: () => Promise<void> };

beforeAll(async () => {
  const bookings: unknown[] = [];
  const server = await httpServer((_request, response, body) => {
    bookings.push(JSON.parse(body));
    response.setHeader('content-type', 'application/json').end('{"reference":"R7"}');
  });
  const folder = await mkdtemp(join(tmpdir(), 'parley-run-'));
  const agent = (await readFile(DEMO_AGENT, 'utf8')).replaceAll('http://127.0.0.1:8089', server.origin);
  await writeFile(join(folder, 'agent.json'), agent);
  book = {
    bookings,
    args: ['run', '--agent', join(folder, 'agent.json'), '--allow', server.origin, '--now', '2026-11-21T12:00:00Z'],
    close: async () => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

afterAll(() => book.close());

interface Output extends Ran {
  report: SessionReport;
  wav: Buffer;
  trace: string;
}

/** Runs the demo agent over a recording; everything that it writes. */
async function runDemo(recording: string, more: readonly string[] = []): Promise<Output> {
  return inFolder(async (path) => {
    const files = ['--in', recording, '--out', path('reply.wav'), '--trace', path('t.jsonl')];
    const ran = await parley([...book.args, '--speed', 'max', '--json', ...files, ...more]);
    if (ran.code !== 0) throw new Error(ran.err);
    const [wav, trace] = await Promise.all([readFile(path('reply.wav')), readFile(path('t.jsonl'), 'utf8')]);
    return { ...ran, report: JSON.parse(ran.out) as SessionReport, wav, trace };
  });
}

describe('a booking from a recording', () => {
  let first: Output;
  beforeAll(async () => {
    first = await runDemo(TRACK);
  }, 60_000);

  it('is completed with the right arguments', () => {
    const booking = { party: 4, date: '2026-11-22', time: '20:00', name: 'Miller' };
    expect(book.bookings).toEqual([{ ...booking, session_id: 'run' }]);
    expect(first.report.functionCalls).toEqual([
      {
        name: 'book_table',
        arguments: JSON.stringify(booking),
        ok: true,
        result: '{"reference":"R7"}',
        tookMs: 100,
        runAfterCall: false,
      },
    ]);
    expect(first.report).toMatchObject({ status: 'agent-ended', faults: {} });
    expect(first.report.turns.length).toBeGreaterThanOrEqual(4);
    expect(first.report.latency.responseMs?.p50).toBeGreaterThan(0);
  });

  it('comes out the same to the bit a second time', { timeout: 60_000 }, async () => {
    const second = await runDemo(TRACK);
    expect(second.wav.equals(first.wav)).toBe(true);
    expect(second.trace).toBe(first.trace);
    expect(second.out).toBe(first.out);
  });

  it('has in the audio what the history says that the agent said, when it said it', () => {
    const { samples, sampleRateHz } = decodeWav(first.wav);
    const at = (ms: number): number => Math.round((ms * sampleRateHz) / 1000);
    const heardWhole: string[] = [];
    const sounding: [fromMs: number, toMs: number][] = [];
    for (const { text, fromMs, toMs, whole } of utterancesOf(first.trace)) {
      sounding.push([fromMs, toMs]);
      if (!whole) continue;
      heardWhole.push(text);
      // Speech of its length: no voice says more than 28 characters a second.
      expect(levelOf(samples.subarray(at(fromMs), at(toMs))).rmsDbfs, text).toBeGreaterThan(-40);
      expect((toMs - fromMs) / text.length, text).toBeGreaterThan(35);
    }
    const said = first.report.messages.filter(({ role, content }) => role === 'assistant' && content !== '');
    expect(heardWhole.join(' ')).toBe(said.map(({ content }) => content).join(' '));
    // Whatever else there is in the file is silence.
    let cursor = 0;
    for (const [fromMs, toMs] of [...sounding, [samples.length, 0]]) {
      expect(samples.subarray(at(cursor), at(fromMs ?? 0)).every((sample) => sample === 0)).toBe(true);
      cursor = toMs ?? 0;
    }
  });

  it('prints a table for people', { timeout: 60_000 }, async () => {
    const { code, out } = await parley([...book.args, '--speed', 'max', '--in', SENTENCE]);
    expect(code).toBe(0);
    expect(out).toMatch(/user {3}.*table for four/);
    expect(out).toMatch(/agent {2}\S/);
    expect(out).toMatch(/ended: user-ended after .*response time median \d+ ms/);
  });
});

describe('other recordings', () => {
  it('may be lively: somebody who says "mm-hm", interrupts and thinks again', { timeout: 60_000 }, async () => {
    const { report, trace } = await runDemo(fixture('booking/rms/lively.wav'));
    expect(report.functionCalls.map((call) => JSON.parse(call.arguments) as unknown)).toEqual([
      { party: 5, date: '2026-11-22', time: '20:00', name: 'Miller' },
    ]);
    expect(report.status).toBe('agent-ended');
    // It was held, and went on.
    expect(trace).toContain('"type":"playout.resume"');
  });

  it.each([
    ['8 kHz mu-law', (samples: Int16Array) => muLawWav(resample(samples, 16_000, 8000), 8000), 8000],
    ['48 kHz', (samples: Int16Array) => encodeWav(resample(samples, 16_000, 48_000), 48_000), 48_000],
  ])('may be %s', { timeout: 90_000 }, async (_name, encode, rateHz) => {
    await inFolder(async (path) => {
      const { samples } = decodeWav(await readFile(SENTENCE));
      await writeFile(path('in.wav'), encode(samples));
      const { report, wav } = await runDemo(path('in.wav'), ['--hang-up-after', '2']);
      expect(decodeWav(wav).sampleRateHz).toBe(rateHz);
      expect(report.turns[0]?.heard).toMatch(/table/);
    });
  });

  it('may be 44.1 kHz stereo, of which one side is the user', { timeout: 60_000 }, async () => {
    await inFolder(async (path) => {
      const samples = resample(decodeWav(await readFile(SENTENCE)).samples, 16_000, 44_100);
      const noise = samples.map((_sample, index) => ((index * 7919) % 20_000) - 10_000);
      await writeFile(path('in.wav'), stereoWav(noise, samples, 44_100));
      const { report, wav } = await runDemo(path('in.wav'), ['--channel', '1', '--hang-up-after', '2']);
      expect(decodeWav(wav).sampleRateHz).toBe(44_100);
      expect(report.turns[0]?.heard).toMatch(/table for four/);
    });
  });

  it('may hold nothing at all', async () => {
    await inFolder(async (path) => {
      await writeFile(path('in.wav'), encodeWav(new Int16Array(0), 16_000));
      const { report } = await runDemo(path('in.wav'), ['--hang-up-after', '1']);
      expect(report.status).toBe('user-ended');
      expect(report.messages).toHaveLength(1);
    });
  });
});

describe('a recording that is no WAV', () => {
  it('is read through ffmpeg', { timeout: 60_000 }, async () => {
    await inFolder(async (path) => {
      const tone = ['-f', 'lavfi', '-i', 'sine=duration=1', path('in.mp3')];
      execFileSync('ffmpeg', ['-loglevel', 'error', ...tone]);
      const flags = ['--speed', 'max', '--in', path('in.mp3'), '--hang-up-after', '1', '--json'];
      const { code, out, err } = await parley([...book.args, ...flags]);
      expect([code, err]).toEqual([0, '']);
      expect(JSON.parse(out)).toMatchObject({ status: 'user-ended' });
    });
  });
});

describe('what cannot be', () => {
  const silence = encodeWav(new Int16Array(1600), 16_000);

  it.each<[string, Uint8Array | string, RegExp]>([
    ['no WAV', Buffer.from('this is no sound at all, it is text'), /AUDIO_WAV_INVALID/],
    ['an empty file', Buffer.alloc(0), /AUDIO_WAV_INVALID/],
    ['a header cut off', silence.subarray(0, 30), /AUDIO_WAV_INVALID/],
    ['no file', '', /FILE_NOT_READABLE/],
  ])('is reported: %s', async (_name, bytes, words) => {
    await inFolder(async (path) => {
      if (typeof bytes !== 'string') await writeFile(path('in.wav'), bytes);
      const { code, out, err } = await parley([...book.args, '--speed', 'max', '--in', path('in.wav')]);
      expect([code, out]).toEqual([1, '']);
      expect(err).toMatch(words);
    });
  });

  it('is a WAV that says it is longer than it is: what is there is played, and it is said', async () => {
    await inFolder(async (path) => {
      const lying = Buffer.from(silence);
      lying.writeUInt32LE(4_000_000, lying.indexOf('data') + 4);
      await writeFile(path('in.wav'), lying.subarray(0, 2001));
      const { code, err } = await parley([
        ...book.args,
        '--speed',
        'max',
        '--in',
        path('in.wav'),
        '--hang-up-after',
        '1',
      ]);
      expect(code).toBe(0);
      expect(err).toMatch(/in\.wav: /);
    });
  });

  it.each([
    ['agent that is not there', ['--agent', '/nowhere/agent.json', '--in', TRACK], /agent\.json/],
    [
      'folder to write to that is not there',
      ['--agent', DEMO_AGENT, '--in', TRACK, '--out', '/nowhere/r.wav'],
      /FILE_NOT_WRITABLE/,
    ],
    [
      'trace that cannot be written',
      ['--agent', DEMO_AGENT, '--in', TRACK, '--trace', '/nowhere/t.jsonl'],
      /FILE_NOT_WRITABLE/,
    ],
  ])('is a %s', async (_name, args, words) => {
    const { code, err } = await parley(['run', '--speed', 'max', ...args]);
    expect(code).toBe(1);
    expect(err).toMatch(words);
  });

  it.each([
    [{ llm: { model: 'gpt-4o' } }, { OPENAI_API_KEY: 'sk-test' }, /PROVIDER_REMOTE_IN_VIRTUAL_TIME.*|--speed real/],
    [{ llm: { model: 'gpt-4o' } }, {}, /PROVIDER_UNKNOWN/],
    [{ llm: { model: 'hal-9000' } }, {}, /scripted/],
    [{ voice: { provider: 'bark', voice_id: 'x' } }, {}, /flite/],
    [{ speech_to_text: { provider: 'shazam' } }, {}, /embedded/],
    [{ prompt: 'x', colour: 'red' }, {}, /colour/],
  ])('is an agent with %j', async (config, env, words) => {
    await inFolder(async (path) => {
      await writeFile(path('agent.json'), JSON.stringify({ name: 'Odd', config }));
      const ran = await parley(['run', '--speed', 'max', '--agent', path('agent.json'), '--in', TRACK], { env });
      expect([ran.code, ran.out]).toEqual([1, '']);
      expect(ran.err).toMatch(words);
    });
  });
});

describe('Ctrl-C', () => {
  it('ends the conversation in order, writes what there is and exits with 130', { timeout: 60_000 }, async () => {
    await inFolder(async (path) => {
      const stop = new AbortController();
      const args = [...book.args, '--in', TRACK, '--out', path('r.wav'), '--json'];
      // The bar on the terminal moves: the conversation has begun.
      const onOutput = (text: string): void => {
        if (text.includes('playing')) stop.abort(new Error('SIGINT'));
      };
      const { code, out } = await parley(args, { signal: stop.signal, terminal: true, onOutput });
      expect(code).toBe(130);
      expect((JSON.parse(out) as SessionReport).status).toBe('api-ended');
      expect(decodeWav(await readFile(path('r.wav'))).sampleRateHz).toBe(16_000);
    });
  });

  it('may come before anything has begun', async () => {
    const signal = AbortSignal.abort(new Error('SIGINT'));
    expect(await parley([...book.args, '--in', TRACK], { signal })).toEqual({ code: 130, out: '', err: '' });
  });
});

function muLawWav(samples: Int16Array, rateHz: number): Buffer {
  return wav(7, 1, rateHz, 8, Buffer.from(encodeG711('mulaw', samples)));
}

function stereoWav(left: Int16Array, right: Int16Array, rateHz: number): Buffer {
  const data = Buffer.alloc(left.length * 4);
  for (let at = 0; at < left.length; at++) {
    data.writeInt16LE(left[at] ?? 0, at * 4);
    data.writeInt16LE(right[at] ?? 0, at * 4 + 2);
  }
  return wav(1, 2, rateHz, 16, data);
}

function wav(format: number, channels: number, rateHz: number, bits: number, data: Buffer): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + data.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(format, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rateHz, 24);
  header.writeUInt32LE((rateHz * channels * bits) / 8, 28);
  header.writeUInt16LE((channels * bits) / 8, 32);
  header.writeUInt16LE(bits, 34);
  header.write('data', 36);
  header.writeUInt32LE(data.length, 40);
  return Buffer.concat([header, data]);
}
