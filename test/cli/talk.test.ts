import { chmod, readFile, writeFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resample } from '../../src/audio/dsp/resample.js';
import { decodeWav, encodeWav } from '../../src/audio/files/wav.js';
import { main } from '../../src/cli/main.js';
import { pcmBytes } from '../../src/transports/pcm.js';
import { House, PRIVATE_KEY } from '../daemon/house.js';
import { httpServer } from '../net/local-server.js';
import { DEMO_AGENT, fixture, inFolder, parley } from './support.js';

describe('parley talk --text', () => {
  it('has a prompt in a terminal, and shows each typed line once', { timeout: 60_000 }, async () => {
    const keyboard = Object.assign(new PassThrough(), { isTTY: true });
    let shown = '';
    let next = 0;
    const steps = [
      { after: /Olive[^]*you {4}$/, types: 'when are you' },
      { after: /when are you$/, types: ' open\r' },
      { after: /five in the evening[^]*you {4}$/, types: '\x04' },
    ];
    const screen = Object.assign(
      new Writable({
        decodeStrings: false,
        write: (chunk: string | Buffer, _encoding, done) => {
          shown += stripVTControlCharacters(String(chunk));
          const step = steps[next];
          if (step?.after.test(shown) === true) {
            next++;
            keyboard.write(step.types);
          }
          done();
        },
      }),
      { isTTY: true },
    );
    const io = { stdin: keyboard, stdout: screen, stderr: screen, signal: new AbortController().signal };
    expect(await main(['talk', '--text'], { ...io, env: { OLLAMA_HOST: 'http://127.0.0.1:9' } })).toBe(0);
    expect(shown.match(/when are you open/g)).toHaveLength(1);
    expect(shown).toMatch(/you {4}when are you open\s+you {4}agent {2}We open/);
    expect(shown).toContain('call over: user-ended');
  });

  it('completes a booking from lines that are piped in', { timeout: 60_000 }, async () => {
    const bookings: unknown[] = [];
    const server = await httpServer((_request, response, body) => {
      bookings.push(JSON.parse(body));
      response.end('{"reference":"R7"}');
    });
    await inFolder(async (path) => {
      const agent = (await readFile(DEMO_AGENT, 'utf8')).replaceAll('http://127.0.0.1:8089', server.origin);
      await writeFile(path('agent.json'), agent);
      await writeFile(path('settings.json'), JSON.stringify({ allowUrls: [server.origin] }));
      const { code, out, err } = await parley(['talk', '--text', '--agent', path('agent.json')], {
        stdin: [
          'I would like a table for four on the first of May at half past seven',
          'Miller',
          'yes please',
          'no, that is all',
        ],
        env: { PARLEY_CONFIG: path('settings.json') },
      });
      expect(code).toBe(0);
      expect(bookings).toEqual([
        expect.objectContaining({
          party: 4,
          date: expect.stringMatching(/-05-01$/) as string,
          time: '19:30',
          name: 'Miller',
        }),
      ]);
      expect(out).toMatch(/^agent {2}Good evening/);
      expect(out).toMatch(/you {4}Miller/);
      expect(err).toMatch(/book_table\(.*\) → \{"reference":"R7"\}/);
      expect(err).toContain('call over: agent-ended');
    });
    await server.close();
  });

  it('says what an agent lacks that has no language model and no script', { timeout: 60_000 }, async () => {
    await inFolder(async (path) => {
      await writeFile(path('agent.json'), JSON.stringify({ name: 'New', config: { prompt: 'You sell cake.' } }));
      const { code, out, err } = await parley(['talk', '--text', '--agent', path('agent.json')], { stdin: ['cake?'] });
      expect(code).toBe(0);
      expect(err).toMatch(/^warning: The agent has no language model and no script.*OPENAI_API_KEY/m);
      expect(out).toMatch(/^agent {2}Hello\. I have no language model and no script/);
      expect(out).toMatch(/^agent {2}I cannot answer that, because I have no language model/m);
    });
  });

  it('takes settings as flags', { timeout: 60_000 }, async () => {
    await inFolder(async (path) => {
      await writeFile(path('agent.json'), JSON.stringify({ name: 'New', config: { prompt: 'You sell cake.' } }));
      await writeFile(
        path('settings.json'),
        JSON.stringify({ models: { mine: { baseUrl: 'http://127.0.0.1:9/v1' } } }),
      );
      const flags = ['--agent', path('agent.json'), '--config', path('settings.json')];
      const warned = await parley(['talk', '--text', ...flags], { stdin: [] });
      expect(warned.err).toContain('PARLEY_LLM_MODEL to one of: mine');
      const named = await parley(['talk', '--text', ...flags, '--llm-model', 'mine'], { stdin: [] });
      expect(named.err).not.toContain('warning:');
    });
  });

  it('hangs up when the lines are over, and on Ctrl-C', { timeout: 60_000 }, async () => {
    const over = await parley(['talk', '--text'], { stdin: ['when are you open'] });
    expect([over.code, over.err.includes('call over: user-ended')]).toEqual([0, true]);
    expect(over.out).toContain('five in the evening');
    const stop = new AbortController();
    const stopped = await parley(['talk', '--text'], {
      stdin: ['when are you open'],
      signal: stop.signal,
      onOutput: (text) => text.includes('you') && stop.abort(new Error('SIGINT')),
    });
    expect(stopped.code).toBe(130);
  });
});

const AGENT = {
  name: 'Short',
  config: { first_message: 'Hi.', flow: { agent_terminate_call: { enabled: true } } },
  script: { greeting: 'Hi.', rules: [{ when: 'yes', say: 'Goodbye then.', end: true }] },
};

/** Sends raw sound from a file at the pace of a microphone, beginning with a second of silence; then only silence. */
const RECORDER = `#!/usr/bin/env node
const sound = require('node:fs').readFileSync(process.env.FAKE_SOUND);
let at = -32000;
const start = performance.now();
setInterval(() => {
  for (const due = (performance.now() - start) * 32 - 32000; at < due; at += 640) {
    process.stdout.write(at >= 0 && at + 640 <= sound.length ? sound.subarray(at, at + 640) : Buffer.alloc(640));
  }
}, 20);
`;
const PLAYER = `#!/usr/bin/env node
process.stdin.pipe(require('node:fs').createWriteStream(process.env.FAKE_PLAYED));
`;

describe('parley talk by voice', () => {
  it('speaks through arecord and aplay', { timeout: 60_000 }, async () => {
    await inFolder(async (path) => {
      const { samples, sampleRateHz } = decodeWav(await readFile(fixture('booking/slt/yes.wav')));
      await writeFile(path('sound.raw'), pcmBytes(resample(samples, sampleRateHz, 16_000)));
      await writeFile(path('agent.json'), JSON.stringify(AGENT));
      await withPrograms(path, { arecord: RECORDER, aplay: PLAYER }, async () => {
        const { code, out, err } = await parley(['talk', '--agent', path('agent.json')]);
        expect([code, err.includes('call over: agent-ended')]).toEqual([0, true]);
        expect(out).toMatch(/agent {2}Hi\.\n(.*\n)*you {4}yes please\nagent {2}Goodbye then\.\n/);
        expect(err).toMatch(/answered after \d+ ms/);
      });
      const played = await readFile(path('played.raw'));
      expect(played.length % 640).toBe(0);
      expect(played.some((byte) => byte !== 0)).toBe(true);
    });
  });

  it('tells that a program fails, and ends', { timeout: 60_000 }, async () => {
    await inFolder(async (path) => {
      await writeFile(path('agent.json'), JSON.stringify(AGENT));
      const broken = '#!/bin/sh\necho "no such device" >&2\nexit 3\n';
      await withPrograms(path, { arecord: broken, aplay: PLAYER }, async () => {
        const { code, err } = await parley(['talk', '--agent', path('agent.json')]);
        expect([code, err.includes('call over: error')]).toEqual([1, true]);
        expect(err).toMatch(/arecord failed: no such device/);
      });
    });
  });
});

/** Puts programs before all others on the PATH while `work` runs. */
async function withPrograms(
  path: (name: string) => string,
  programs: Readonly<Record<string, string>>,
  work: () => Promise<void>,
): Promise<void> {
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(path(name), text);
    await chmod(path(name), 0o755);
  }
  const before = { ...process.env };
  const env = {
    PATH: `${path('.')}${delimiter}${before['PATH'] ?? ''}`,
    FAKE_SOUND: path('sound.raw'),
    FAKE_PLAYED: path('played.raw'),
  };
  Object.assign(process.env, env);
  try {
    await work();
  } finally {
    for (const name of Object.keys(env)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
}

describe('parley talk --url', () => {
  let house: House;
  beforeAll(async () => (house = await House.open()));
  afterAll(() => house.close());

  it('talks to an agent of a running daemon, by its name, into a logged call', { timeout: 60_000 }, async () => {
    const { code, out, err } = await parley(['talk', '--text', '--url', house.address, '--agent', 'BAKER'], {
      stdin: ['Have you any bread?'],
    });
    expect(out).toBe('agent  Hello.\nagent  We have bread.\n');
    expect(err).toMatch(/^Baker: session [\w-]+\ncall over: user-ended\n$/);
    expect(code).toBe(0);
    expect(await house.ended).toMatchObject({ status: 'user-ended' });
  });

  it('takes a recording as the user', { timeout: 60_000 }, async () => {
    await inFolder(async (path) => {
      await writeFile(path('user.wav'), encodeWav(new Int16Array(24_000), 8000));
      const recording = ['--in', path('user.wav'), '--out', path('agent.wav'), '--hang-up-after', '1', '--json'];
      const { code, out } = await parley(['run', '--url', house.address, '--agent', 'baker', ...recording]);
      const { session_id: id, status } = JSON.parse(out) as Record<string, string>;
      expect([code, status]).toEqual([0, 'user-ended']);
      const { sampleRateHz, samples } = decodeWav(await readFile(path('agent.wav')));
      expect(sampleRateHz).toBe(16_000);
      expect(samples.some((sample) => Math.abs(sample) > 1000)).toBe(true);
      const headers = { authorization: PRIVATE_KEY };
      const logged = async () => (await house.ask(`/call-logs/${id ?? ''}`, { headers })).body;
      await expect.poll(logged).toMatchObject({ call_status: 'user-ended', agent_id: 'baker' });
      expect(
        await parley(['run', '--url', house.address, '--agent', 'baker', ...recording, '--speed', 'max']),
      ).toMatchObject({
        code: 2,
      });
    });
  });

  it('says what is wrong', async () => {
    const text = ['talk', '--text', '--agent', 'Bakre'];
    expect(await parley([...text, '--url', house.address])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no agent "Bakre". Did you mean [Bb]aker\?/) as string,
    });
    expect(await parley([...text, '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('no daemon answers at http://127.0.0.1:9') as string,
    });
    expect(await parley(text, { env: { PARLEY_URL: house.address } })).toMatchObject({ code: 1 });
    expect(await parley(text)).toMatchObject({
      code: 2,
      err: expect.stringContaining('no file Bakre; an agent of a running daemon needs --url') as string,
    });
  });
});
