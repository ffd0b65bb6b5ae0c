import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { delay } from '../../src/base/clock.js';
import { RealClock } from '../../src/base/real-clock.js';
import { decodeWav } from '../../src/audio/files/wav.js';
import { modelRoutes } from '../../src/settings/models.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { packageFile } from '../../src/package-files.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import { RealtimeDouble } from '../vendors/realtime/double.js';
import { KEY } from '../vendors/tts/speech-double.js';
import { type Client, House, PRIVATE_KEY } from './house.js';

const clock = new RealClock();
let double: RealtimeDouble;
let house: House;

beforeEach(async () => {
  double = await new RealtimeDouble().open();
  const settings = { ...DEFAULT_SETTINGS, dataDir: '', openaiApiKey: KEY, openaiBaseUrl: double.url };
  const llm = {
    'gpt-4o-realtime-preview': { prompt: 4, completion: 16, audio: { prompt: 32, cached: 0.4, completion: 64 } },
  };
  house = await House.open({ prices: { llm } }, clock, undefined, { models: modelRoutes(settings) });
});

afterEach(async () => {
  await house.close();
  await double.close();
  expect([house.faults, double.violations]).toEqual([[], []]);
});

async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
  return (await house.ask(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })).body;
}

/** A recording over the socket, at its own pace, and silence behind it. */
async function play(client: Client, name: string): Promise<void> {
  const { samples } = decodeWav(readFileSync(packageFile(`fixtures/audio/booking/rms/${name}.wav`)));
  const all = new Int16Array(samples.length + 16_000);
  all.set(samples, 4800);
  for (let at = 0; at < all.length; at += 320) {
    client.socket.send(Buffer.from(all.buffer, at * 2, Math.min(320, all.length - at) * 2));
    await delay(clock, 20, new AbortController().signal);
  }
}

it('is talked to over the talk socket: greeting, speech, a tool, the end, and a bill by kinds of tokens', async () => {
  double.hears = ['I would like a table for four.'];
  double.brain = ({ items, tools }) => {
    expect(tools).toContain('end_call');
    const said = items.findLast(({ kind, text }) => kind === 'user audio' && text !== '')?.text ?? '';
    return said.startsWith('That is all')
      ? { calls: [{ name: 'end_call', arguments: { message: 'Goodbye then.' } }] }
      : { say: 'For four it is.' };
  };
  const config = {
    first_message: 'The Crooked Fork, hello.',
    llm: { model: 'gpt-4o-realtime-preview' },
    flow: { agent_terminate_call: { enabled: true } },
  };
  const { id } = (await ask('POST', '/agents', { name: 'Fork', config })) as { id: string };
  const client = house.connect();
  await client.initiate({ agent: { agent_id: id } });
  await client.inbox.find(({ data }) => data === 'The Crooked Fork, hello.');
  await client.inbox.heard(20);
  await delay(clock, 700, new AbortController().signal);
  await play(client, 'table');
  await client.inbox.find(({ method, data }) => method === 'ontranscript' && data === 'I would like a table for four.');
  const answer = await client.inbox.find(({ data }) => data === 'For four it is.');
  expect(answer['method']).toBe('onresponsetext');
  const { payload } = (await client.inbox.find(({ method }) => method === 'onmetrics')) as {
    payload: { response_ms: number };
  };
  expect(payload.response_ms).toBeGreaterThan(0);
  double.hears = ['That is all, thank you.'];
  await delay(clock, 600, new AbortController().signal);
  await play(client, 'goodbye');
  await client.inbox.find(({ data }) => data === 'Goodbye then.');
  expect((await house.ended).status).toBe('agent-ended');
  const { histories } = (await ask('GET', '/call-logs')) as { histories: CallHistoryItem[] };
  const [item] = histories;
  const chat = JSON.parse(item?.chat ?? '[]') as unknown[];
  expect(chat.slice(0, 4)).toMatchObject([
    { role: 'assistant', content: 'The Crooked Fork, hello.' },
    { role: 'user', content: 'I would like a table for four.' },
    { role: 'assistant', content: 'For four it is.' },
    { role: 'user', content: 'That is all, thank you.' },
  ]);
  const costs = item?.cost_breakdown ?? [];
  expect(costs.map(({ type, provider }) => `${type} ${provider}`)).toEqual([
    'stt openai_realtime',
    'llm openai_realtime',
    'tts openai_realtime',
  ]);
  const llm = costs.find(({ type }) => type === 'llm');
  if (llm?.type !== 'llm') throw new Error('no model was used');
  const { audio_prompt_tokens: heard = 0, audio_completion_tokens: spoken = 0, credit } = llm;
  expect([llm.model, heard > 0, spoken > 0]).toEqual(['gpt-4o-realtime-preview', true, true]);
  expect(credit * 1e6).toBeGreaterThan(spoken * 64);
}, 30_000);
