import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasTool } from '../../scripts/system-tools.mjs';
import { finishChunk, OpenAiDouble, stream, textChunk } from '../providers/llm/openai-double.js';
import { deepgramDouble } from '../vendors/stt/deepgram.js';
import { SocketDouble } from '../vendors/stt/socket-double.js';
import { ElevenLabsDouble } from '../vendors/tts/elevenlabs.js';
import { KEY } from '../vendors/tts/speech-double.js';
import { archiveOf, ASR, Mirror } from './models/mirror.js';
import { inFolder, parley } from './support.js';

const opened: { close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const settingsIn = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

describe('without a network and without keys', () => {
  it('says what cannot be had, checks what is embedded, and writes the settings', async () => {
    await inFolder(async (path) => {
      const env = { PARLEY_DATA_DIR: path('data') };
      const { code, out } = await parley(['setup', '--yes', '--offline', '--config', path('p.json')], { env });
      expect(code).toBe(0);
      expect(out).toContain('no downloads: you chose --offline');
      expect(out).toMatch(
        /recogniser +embedded \(embedded, .*PocketSphinx.*; nothing better, because models cannot be downloaded\)/,
      );
      expect(out).toMatch(/language model +scripted \(follows the rules of agent files; no key and no Ollama\)/);
      expect(out).toMatch(/heard +we have a table for two at seven o'clock this evening/);
      expect(out).toMatch(/^Memory: \d{2,4} MB/m);
      expect(out).toMatch(/^Delay: words \d+ ms .*first sound \d+ ms; together \d+ ms/m);
      expect(out).toContain(`npx parley serve --config ${path('p.json')}`);
      expect(settingsIn(path('p.json'))).toEqual({ language: 'en-US' });
      expect(existsSync(path('parley.env'))).toBe(false);
    });
  });

  it('changes no file that exists, except with --overwrite, and keeps its other members and its old text', async () => {
    await inFolder(async (path) => {
      const before = '// mine\n{ "port": 8123, "stt": "deepgram" }\n';
      writeFileSync(path('p.json'), before);
      const env = { PARLEY_DATA_DIR: path('data') };
      const refused = await parley(['setup', '--yes', '--offline', '--config', path('p.json')], { env });
      expect([refused.code, refused.out]).toEqual([1, '']);
      expect(refused.err).toContain('it exists; --overwrite changes it [FILE_NOT_WRITABLE]');
      expect(readFileSync(path('p.json'), 'utf8')).toBe(before);
      const args = ['setup', '--yes', '--overwrite', '--offline', '--config', path('p.json')];
      expect((await parley(args, { env })).code).toBe(0);
      expect(settingsIn(path('p.json'))).toEqual({ port: 8123, language: 'en-US' });
      expect(readFileSync(path('p.json.bak'), 'utf8')).toBe(before);
    });
  });

  it('writes nothing after a no, at the end of the input, and with --dry-run', async () => {
    await inFolder(async (path) => {
      const env = { PARLEY_DATA_DIR: path('data') };
      const args = ['setup', '--offline', '--config', path('p.json')];
      const no = await parley(args, { env, stdin: ['', 'n'] });
      expect(no).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was changed.') as string });
      expect((await parley(args, { env })).code).toBe(1);
      expect((await parley([...args, '--dry-run'], { env })).out).toMatch(/^Proposal$/m);
      expect(existsSync(path('p.json'))).toBe(false);
    });
  });

  it.each([
    [['--stt', 'nonsense'], '--stt nonsense: there is no such vendor with a key, and no such model'],
    [['--voice', 'piper-en-amy'], '--voice piper-en-amy: models cannot be downloaded'],
    [['--llm-model', 'gpt-4o'], '--llm-model gpt-4o: there is no such model here'],
    [['--language', 'xx'], '--language must be a code'],
    [['--mirror', 'ftp://a'], '--mirror must be an http'],
  ])('refuses %j', async (args, reason) => {
    await inFolder(async (path) => {
      const env = { PARLEY_DATA_DIR: path('data') };
      const ran = await parley(['setup', '--yes', '--offline', '--config', path('p.json'), ...args], { env });
      expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(reason)]);
      expect(existsSync(path('p.json'))).toBe(false);
    });
  });
});

describe('with keys', () => {
  it('asks for them, uses the vendors, leaves out one that does not hear, and keeps keys from others', async () => {
    const voice = await new ElevenLabsDouble().open();
    const recogniser = new SocketDouble(deepgramDouble(KEY));
    await recogniser.listen();
    const model = new OpenAiDouble();
    opened.push(voice, recogniser, model);
    model.answer = (response) => stream(response, [textChunk('ready'), finishChunk('stop')]);
    const urls = {
      ELEVENLABS_BASE_URL: voice.url,
      DEEPGRAM_BASE_URL: recogniser.url,
      OPENAI_BASE_URL: await model.listen(),
    };
    await inFolder(async (path) => {
      const { code, out, err } = await parley(['setup', '--offline', '--config', path('p.json')], {
        env: { PARLEY_DATA_DIR: path('data'), ...urls },
        stdin: ['deepgram, ElevenLabs openai nope', KEY, KEY, KEY, 'y'],
      });
      expect(err).toContain('nope is not in the list: left out.');
      expect(out).toMatch(/recogniser +deepgram \(your key\)/);
      expect(err).toMatch(/deepgram: .*The embedded one takes its place/);
      expect(out).toMatch(/voice +elevenlabs\n/);
      expect(out).toMatch(/first word of the answer \d+ ms/);
      expect([voice.violations, recogniser.violations]).toEqual([[], []]);
      expect(model.requests.at(-1)?.headers.authorization).toBe(`Bearer ${KEY}`);
      expect(settingsIn(path('p.json'))).toEqual({ language: 'en-US', tts: 'elevenlabs', llmModel: 'gpt-4o-mini' });
      const keys = readFileSync(path('parley.env'), 'utf8');
      expect(keys).toBe(`DEEPGRAM_API_KEY='${KEY}'\nELEVENLABS_API_KEY='${KEY}'\nOPENAI_API_KEY='${KEY}'\n`);
      expect(statSync(path('parley.env')).mode & 0o777).toBe(0o600);
      expect(`${out}${err}${readFileSync(path('p.json'), 'utf8')}`).not.toContain(KEY);
      expect(code).toBe(0);
    });
  });
});

describe('with a network', { skip: !hasTool('bzip2') }, () => {
  let mirror: Mirror;
  let url: string;
  beforeEach(async () => {
    mirror = new Mirror();
    url = await mirror.listen();
    opened.push(mirror);
    const voices = ASR.replace('asr-models', 'tts-models');
    const recogniser = archiveOf('made-streaming');
    mirror.files.set(`${ASR}/sherpa-onnx-streaming-zipformer-en-20M-2023-02-17.tar.bz2`, recogniser);
    mirror.files.set(`${voices}/vits-piper-en_US-amy-medium-int8.tar.bz2`, archiveOf('made-voice'));
  });

  it('downloads a voice and uses it, and leaves out a recogniser that does not understand', async () => {
    await inFolder(async (path) => {
      const env = { PARLEY_DATA_DIR: path('data'), PARLEY_MODELS_URL: url };
      const args = ['setup', '--yes', '--config', path('p.json'), '--voice', 'piper-en-amy', '--turn', 'none'];
      const { code, out, err } = await parley(args, { env });
      expect(out).toContain('models can be downloaded');
      expect(out).toMatch(/recogniser +zipformer-en-small \(streaming, .*122 MB, Apache-2.0\)/);
      expect(err).toMatch(/zipformer-en-small: ".*" was heard as ".*"\. The embedded one takes its place\./);
      expect(settingsIn(path('p.json'))).toEqual({ language: 'en-US', tts: 'sherpa', voiceId: 'piper-en-amy' });
      expect(existsSync(path('data/models/piper-en-amy/parley-model.json'))).toBe(true);
      expect(code).toBe(0);
    });
  }, 60_000);

  it('exits with 1 where a model that was asked for cannot be had', async () => {
    mirror.files.clear();
    await inFolder(async (path) => {
      const env = { PARLEY_DATA_DIR: path('data'), PARLEY_MODELS_URL: url };
      const args = ['setup', '--yes', '--config', path('p.json'), '--voice', 'piper-en-amy', '--stt', 'embedded'];
      const { code, err } = await parley(args, { env });
      expect(err).toMatch(/piper-en-amy: .* no longer exists.*The embedded one takes its place/);
      expect(settingsIn(path('p.json'))).toEqual({ language: 'en-US' });
      expect(code).toBe(1);
    });
  }, 60_000);
});
