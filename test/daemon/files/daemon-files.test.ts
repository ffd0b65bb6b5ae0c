import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { readLog } from '../../../src/replay/read-log.js';
import type { CallHistoryItem } from '../../../src/session/record/call-history.js';
import type { Settings } from '../../../src/settings/settings.js';
import { S3Double } from '../../vendors/s3.js';
import { House, PRIVATE_KEY } from '../house.js';

const CALLER = '+12025550153';
const headers = { authorization: PRIVATE_KEY };
let double: S3Double;
let house: House;

beforeEach(async () => {
  double = await S3Double.start();
});

afterEach(async () => {
  await house.close();
  await double.close();
  expect(house.faults).toEqual([]);
});

async function open(more = '', settings: Partial<Settings> = {}): Promise<void> {
  house = await House.open({ ...double.settings('parley', more), ...settings });
  await house.daemon.warmUp();
}

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  if (body === undefined) return house.ask(path, { method, headers });
  const typed = { ...headers, 'content-type': 'application/json' };
  return house.ask(path, { method, headers: typed, body: JSON.stringify(body) });
}

/** Somebody calls the baker, who records the call, until it times out. */
async function called(): Promise<CallHistoryItem> {
  const bought = await ask('POST', '/phones/purchase', { country: 'US', area_code: '415' });
  const number = (bought.body as { id: string }).id;
  await ask('POST', `/phones/${number}/set_agent`, { agent_id: 'baker' });
  await ask('POST', `/phones/${number}/agent-config-override`, {
    agent_config_override: { session_timeout: { max_duration: 2 }, call_settings: { enable_recording: true } },
  });
  await ask('POST', `/phones/${number}/simulate_call`, { caller: CALLER });
  const latest = async (): Promise<CallHistoryItem | undefined> =>
    ((await ask('GET', '/call-logs?limit=1')).body as { histories: CallHistoryItem[] }).histories[0];
  await expect.poll(async () => (await latest())?.call_status, { timeout: 20_000 }).toBe('timeout');
  return (await latest()) as CallHistoryItem;
}

const here = (folder: string): string[] => {
  const path = join(house.dataDir, folder);
  return existsSync(path) ? readdirSync(path) : [];
};

/** Resolves when the disk has no file of a call any more. */
async function moved(): Promise<void> {
  await expect.poll(() => [...here('recordings'), ...here('traces')], { timeout: 20_000 }).toEqual([]);
}

describe('a daemon with a store for files', { timeout: 60_000 }, () => {
  it('moves recordings and traces there, and reads them from there', async () => {
    await open();
    const { session_id: id, recording } = await called();
    await moved();
    expect([...double.objects.keys()].sort()).toEqual([`parley/recordings/${id}.wav`, `parley/traces/${id}.jsonl`]);
    const stored = double.objects.get(`parley/recordings/${id}.wav`)?.body ?? Buffer.alloc(0);
    expect(decodeWav(stored).channels).toHaveLength(2);

    const whole = await fetch(recording?.recording_url ?? '');
    expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'audio/wav']);
    expect(Buffer.from(await whole.arrayBuffer()).equals(stored)).toBe(true);
    const part = await house.request(`/call-logs/${id}/recording`, { headers: { ...headers, range: 'bytes=40-' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([
      206,
      `bytes 40-${String(stored.length - 1)}/${String(stored.length)}`,
    ]);
    expect(Buffer.from(await part.arrayBuffer()).equals(stored.subarray(40))).toBe(true);
    const none = await house.request(`/call-logs/${id}/recording`, {
      headers: { ...headers, range: 'bytes=99999999-' },
    });
    expect(none.status).toBe(416);
    const head = await house.request(`/call-logs/${id}/recording`, { method: 'HEAD', headers });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(stored.length)]);
    const trace = await house.request(`/call-logs/${id}/trace`, { headers });
    expect(readLog(await trace.text()).start.sessionId).toBe(id);
    const made = await ask('POST', '/evals/cases/from-call', { call_id: id, audio: true });
    expect(made.status).toBe(200);

    const metrics = await (await house.request('/metrics', { headers })).text();
    expect(metrics).toContain('parley_files_sent_total 2');
    expect(metrics).toContain('parley_files_waiting 0');
    expect((await ask('DELETE', `/call-logs/${id}`)).status).toBe(200);
    expect(double.objects.size).toBe(0);
  });

  it('redirects to the store if it is told to', async () => {
    await open('&redirect=1');
    const { session_id: id, recording } = await called();
    await moved();
    const reply = await fetch(recording?.recording_url ?? '', { redirect: 'manual' });
    expect(reply.status).toBe(307);
    const link = reply.headers.get('location') ?? '';
    expect(link).toContain(`${double.endpoint}/calls/parley/recordings/${id}.wav?`);
    const followed = await fetch(link, { headers: { range: 'bytes=0-3' } });
    expect([followed.status, await followed.text()]).toEqual([206, 'RIFF']);
    const direct = await fetch(`${recording?.recording_url ?? ''}&redirect=0`, { redirect: 'manual' });
    expect([direct.status, (await direct.text()).slice(0, 4)]).toEqual([200, 'RIFF']);
    expect(followed.headers.get('content-disposition')).toBe(`inline; filename="${id}.wav"`);
  });

  it('goes on without it, and moves the files once it is back', async () => {
    double.fault = () => 'reset';
    await open();
    const { session_id: id } = await called();
    expect([here('recordings'), here('traces')]).toEqual([[`${id}.wav`], [`${id}.jsonl`]]);
    const reply = await house.request(`/call-logs/${id}/recording`, { headers });
    expect([reply.status, (await reply.arrayBuffer()).byteLength > 1000]).toEqual([200, true]);
    double.fault = () => null;
    await moved();
    double.fault = () => 'reset';
    const away = await ask('GET', `/call-logs/${id}/recording`);
    expect(away).toMatchObject({
      status: 503,
      body: { detail: expect.stringMatching(/^The file store s3:\/\/calls\/parley failed: /) as string },
    });
  });

  it('erases a number also while the store is away', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-erased-'));
    await open('', { dataDir });
    await called();
    await moved();
    expect(double.objects.size).toBe(2);
    double.fault = () => 'reset';
    expect((await ask('POST', '/erase', { phone: CALLER })).body).toMatchObject({
      erased: { calls: 1, recordings: 1, traces: 1 },
    });
    expect(double.objects.size).toBe(2);
    double.fault = () => null;
    await house.daemon.close();
    await open('', { dataDir });
    await expect.poll(() => double.objects.size, { timeout: 20_000 }).toBe(0);
  });
});
