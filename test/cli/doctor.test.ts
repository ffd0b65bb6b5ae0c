import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Check } from '../../src/cli/doctor/check.js';
import { checkMachine } from '../../src/cli/doctor/machine.js';
import { openDatabase } from '../../src/store/database.js';
import { MADE_MODELS } from '../providers/local/made-models.js';
import { parley } from './support.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-doctor-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function examine(env: Record<string, string> = {}): Promise<{ code: number; checks: Map<string, Check> }> {
  const { code, out } = await parley(['doctor', '--json'], {
    env: { PARLEY_DATA_DIR: join(folder, 'data'), PARLEY_PORT: '0', ...env },
  });
  const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: Check[] };
  expect(ok).toBe(code === 0);
  return { code, checks: new Map(checks.map((check) => [check.name, check])) };
}

describe('parley doctor', () => {
  it('finds a fresh machine fit, and says so line by line', async () => {
    const { code, checks } = await examine();
    expect(code).toBe(0);
    expect(checks.get('node')).toMatchObject({ level: 'ok' });
    expect(checks.get('data folder')?.text).toContain('the first start will create');
    expect(checks.get('language model')).toMatchObject({ level: 'hint' });
    const { out } = await parley(['doctor'], { env: { PARLEY_DATA_DIR: join(folder, 'data'), PARLEY_PORT: '0' } });
    expect(out).toMatch(/^. node {11}Node\.js \d+/m);
    expect(out).toMatch(/0 problems, \d+ hints\n$/);
  });

  it('finds a model, a recogniser and a voice that there are not', async () => {
    const model = await examine({ PARLEY_LLM_MODEL: 'gpt-9' });
    expect(model.code).toBe(1);
    expect(model.checks.get('defaults')).toMatchObject({
      level: 'problem',
      text: expect.stringMatching(/PARLEY_LLM_MODEL.*"gpt-9".*ollama pull gpt-9/) as string,
    });
    const keyless = await examine({ PARLEY_LLM_MODEL: 'gpt-4o' });
    expect(keyless.checks.get('defaults')?.text).toContain('set OPENAI_API_KEY');
    expect((await examine({ PARLEY_STT: 'nobody' })).checks.get('defaults')?.text).toContain('nobody');
    expect((await examine({ PARLEY_TTS: 'elevenlabs' })).checks.get('defaults')?.text).toContain('ELEVENLABS_API_KEY');
  });

  it('asks the servers of SIP trunks', async () => {
    const server = createSocket('udp4', (message, { port, address }) => {
      const [first = '', ...lines] = message.toString('latin1').split('\r\n');
      expect(first).toMatch(/^OPTIONS sip:/);
      const kept = lines.filter((line) => /^(?:Via|From|To|Call-ID|CSeq):/i.test(line));
      server.send(['SIP/2.0 404 Not Found', ...kept, 'Content-Length: 0', '', ''].join('\r\n'), port, address);
    });
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    const config = join(folder, 'settings.json');
    const { port } = server.address();
    const silent = { servers: ['sip:127.0.0.1:9'], numbers: ['+12025550198'] };
    const listen = ['udp:127.0.0.1:5060'];
    const sip = {
      servers: [`sip:127.0.0.1:${String(port)}`],
      register: true,
      user: 'acme',
      listen,
      trunks: { silent },
    };
    writeFileSync(config, JSON.stringify({ sip }));
    const { checks } = await examine({ PARLEY_CONFIG: config });
    expect(checks.get('trunk default')).toMatchObject({
      level: 'ok',
      text: `UDP 127.0.0.1:${String(port)} answers OPTIONS with 404`,
    });
    expect(checks.get('trunk silent')).toMatchObject({
      level: 'hint',
      text: 'UDP 127.0.0.1:9 does not answer OPTIONS',
    });
    server.close();
  });

  it('looks whether accounts with carriers have all that they need', async () => {
    const config = join(folder, 'settings.json');
    const twilio = { accountSid: `AC${'0'.repeat(32)}` };
    writeFileSync(
      config,
      JSON.stringify({ publicUrl: 'https://voice.example.com', twilio, plivo: { authId: 'MA0123456789ABCDEFGH' } }),
    );
    const { checks } = await examine({ PARLEY_CONFIG: config, PARLEY_TWILIO_AUTH_TOKEN: 'a-token' });
    expect(checks.get('twilio')).toMatchObject({
      level: 'ok',
      text: expect.stringContaining('/carriers/twilio') as string,
    });
    expect(checks.get('plivo')).toMatchObject({
      level: 'problem',
      text: 'Plivo needs both plivo.authId and plivoAuthToken',
      help: 'see docs/plivo.md',
    });
    expect(checks.has('telnyx')).toBe(false);
  });

  it('looks into the data folder', async () => {
    const data = join(folder, 'data');
    openDatabase(data).close();
    expect((await examine()).checks.get('parley.db')).toMatchObject({ level: 'ok' });
    chmodSync(data, 0o755);
    expect((await examine()).checks.get('data folder')).toMatchObject({ level: 'hint', help: `chmod 700 ${data}` });
    writeFileSync(join(data, 'parley.db'), 'this is no database');
    const { code, checks } = await examine();
    expect(code).toBe(1);
    expect(checks.get('parley.db')).toMatchObject({ level: 'problem', help: 'restore a backup: parley restore FILE' });
    rmSync(data, { recursive: true });
    writeFileSync(data, '');
    expect((await examine()).checks.get('data folder')).toMatchObject({ level: 'problem' });
  });

  it('looks at the models on this machine, and at those that the settings name', async () => {
    const none = await examine();
    expect(none.checks.get('local models')).toMatchObject({
      level: 'hint',
      text: 'sherpa-onnx is installed, but no model',
    });
    const env = { PARLEY_MODELS_DIR: join(folder, 'models') };
    cpSync(MADE_MODELS, env.PARLEY_MODELS_DIR, { recursive: true });
    const { out } = await parley(['doctor'], {
      env: { ...env, PARLEY_DATA_DIR: join(folder, 'data'), PARLEY_PORT: '0' },
    });
    expect(out).toMatch(/^. model {10}made-streaming: streaming transducer$/m);
    expect(out).toMatch(/^. model {10}made-voice: vits; en$/m);
    const all = await examine(env);
    expect(all.code).toBe(0);
    // The only turn model is used without a setting.
    expect(all.checks.get('turn model')).toMatchObject({ level: 'ok', text: 'made-turn, run by onnxruntime-web' });
    const off = await examine({ ...env, PARLEY_TURN_MODEL_PATH: 'none' });
    expect(off.checks.get('turn model')).toBeUndefined();

    const several = await examine({ ...env, PARLEY_STT: 'sherpa' });
    expect(several.checks.get('stt model')).toMatchObject({ level: 'problem' });
    const named = await examine({
      ...env,
      PARLEY_STT: 'sherpa',
      PARLEY_STT_MODEL: 'made-whisper',
      PARLEY_TTS: 'sherpa',
    });
    expect([named.code, named.checks.get('stt model'), named.checks.get('voice model')]).toEqual([
      0,
      undefined,
      undefined,
    ]);
    const wrong = await examine({ ...env, PARLEY_DENOISE_MODEL: 'made-voice', PARLEY_TURN_MODEL_PATH: 'nowhere' });
    expect(wrong.checks.get('denoise model')?.text).toContain('Installed: made-denoiser.');
    expect(wrong.checks.get('turn model')?.text).toContain(
      'No turn model "nowhere" is installed. Installed: made-turn.',
    );
    const voice = join(env.PARLEY_MODELS_DIR, 'made-voice/model.onnx');
    const other = await examine({ ...env, PARLEY_TURN_MODEL_PATH: voice });
    expect(other.checks.get('turn model')).toMatchObject({ level: 'problem' });
    rmSync(join(env.PARLEY_MODELS_DIR, 'made-whisper/made-decoder.onnx'));
    const broken = await examine(env);
    expect(broken.checks.get('model')).toMatchObject({ level: 'problem' });
    expect(broken.checks.get('model')?.text).toBe('made-whisper cannot be used: its decoder is missing');
  });

  it('tells a daemon from something else on its port', async () => {
    let body = '{"status":"ok"}';
    const server = createServer((_request, response) => response.end(body)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect((await examine({ PARLEY_PORT: String(port) })).checks.get('port')).toMatchObject({ level: 'ok' });
    body = 'another';
    const { code, checks } = await examine({ PARLEY_PORT: String(port) });
    expect(code).toBe(1);
    expect(checks.get('port')?.text).toContain('another program listens');
    server.close();
  });

  it('tries keys on who they are for, and shows none', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(request.headers.authorization === 'Bearer sk-good-0123' ? 200 : 401).end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1`;
    const good = await examine({
      OPENAI_BASE_URL: base,
      OPENAI_API_KEY: 'sk-good-0123',
      DEEPGRAM_API_KEY: 'dg-0123456789',
    });
    expect(good.checks.get('openai')).toMatchObject({ level: 'ok' });
    expect(good.checks.get('deepgram')).toMatchObject({ level: 'ok' });
    expect(JSON.stringify([...good.checks])).not.toMatch(/sk-good|dg-0123/);
    const bad = await examine({ OPENAI_BASE_URL: base, OPENAI_API_KEY: 'sk-bad-0123' });
    expect(bad).toMatchObject({ code: 1 });
    expect(bad.checks.get('openai')?.text).toContain('rejects the key');
    server.close();
    server.closeAllConnections();
    const gone = await examine({ OPENAI_BASE_URL: base, OPENAI_API_KEY: 'sk-good-0123' });
    expect(gone.checks.get('openai')?.text).toContain('does not answer');
    expect(seen).toHaveLength(2);
  });

  it('says where browsers give no microphone, and when a certificate runs out', async () => {
    expect((await examine({ PARLEY_HOST: '0.0.0.0' })).checks.get('https')).toMatchObject({ level: 'hint' });
    const [cert, key] = [join(folder, 'a.crt'), join(folder, 'a.key')];
    execFileSync('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '3',
      '-keyout',
      key,
      '-out',
      cert,
      '-subj',
      '/CN=parley',
    ]);
    const tls = { PARLEY_TLS_CERT_PATH: cert, PARLEY_TLS_KEY_PATH: key };
    expect((await examine(tls)).checks.get('https')).toMatchObject({ level: 'hint' });
    mkdirSync(join(folder, 'empty'));
    const { code, checks } = await examine({ ...tls, PARLEY_TLS_KEY_PATH: join(folder, 'empty') });
    expect(code).toBe(1);
    expect(checks.get('https')).toMatchObject({ level: 'problem' });
  });

  it('names settings that cannot be read, and those that are none', async () => {
    const { code, checks } = await examine({ PARLEY_DRAIN_S: 'long' });
    expect(code).toBe(1);
    expect(checks.get('settings')?.text).toContain('PARLEY_DRAIN_S');
    expect((await examine({ PARLEY_POTR: '1' })).checks.get('settings')).toMatchObject({ level: 'hint' });
  });

  it('says what a machine lacks', async () => {
    const found = await checkMachine({
      nodeVersion: '18.20.1',
      hasCommand: () => Promise.resolve(false),
      unixMs: 0,
    });
    const levels = Object.fromEntries(found.map(({ name, level }) => [name, level]));
    expect(levels).toMatchObject({
      node: 'problem',
      clock: 'problem',
      'espeak-ng': 'hint',
      ffmpeg: 'hint',
      microphone: 'hint',
    });
  });
});
