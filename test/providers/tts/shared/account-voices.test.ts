import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import { AccountVoices } from '../../../../src/providers/tts/shared/account-voices.js';
import { ttsProvider } from '../../../../src/providers/tts/registry.js';
import type { TtsProvider } from '../../../../src/providers/tts/tts.js';
import { KEY } from '../../../vendors/tts/speech-double.js';
import {
  azureVoices,
  cartesiaVoices,
  deepgramVoices,
  elevenLabsVoices,
  openAiCompatibleVoices,
  rimeVoices,
  type VoiceList,
} from '../../../vendors/tts/voice-lists.js';

let answer: VoiceList = () => null;
let requests = 0;
let stalled: ServerResponse[] | null = null;
let came: () => void = () => undefined;
const server = createServer((request, response) => {
  requests++;
  came();
  if (stalled !== null) {
    stalled.push(response);
    return;
  }
  const { status, body } = answer(request) ?? { status: 404, body: { detail: 'no such path' } };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
let baseUrl = '';

beforeEach(async () => {
  requests = 0;
  stalled = null;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('an account with', () => {
  let tts: TtsProvider;
  afterEach(() => tts.close());

  it.each([
    ['elevenlabs', elevenLabsVoices, 130, { id: 'cloned-0', name: 'Voice cloned-0', language: 'de' }],
    ['cartesia', cartesiaVoices, 101, { id: 'mine-0', name: 'Voice mine-0', language: 'fr' }],
    ['deepgram', deepgramVoices, 1, { id: 'aura-2-newest-en', name: 'Newest', language: 'en' }],
    ['azure', azureVoices, 1, { id: 'de-DE-KatjaNeural', name: 'Katja', language: 'de-DE' }],
    ['rime', rimeVoices, 2, { id: 'lyra', name: 'Lyra', language: 'en' }],
    ['kokoro', openAiCompatibleVoices, 2, { id: 'af_sky', name: 'af_sky', language: null }],
    ['orpheus', openAiCompatibleVoices, 2, { id: 'af_sky', name: 'af_sky', language: null }],
  ] as const)('%s has its voices', async (name, list, count, first) => {
    answer = list;
    tts = ttsProvider(name, { [name]: { apiKey: KEY, baseUrl, region: null } });
    const voices = (await tts.accountVoices?.()) ?? [];
    expect(voices).toHaveLength(count);
    expect(voices[0]).toMatchObject(first);
  });

  it.each(['elevenlabs', 'cartesia', 'deepgram', 'azure'])('%s whose key is refused has none', async (name) => {
    answer = (request) => elevenLabsVoices(request) ?? cartesiaVoices(request) ?? deepgramVoices(request) ?? null;
    tts = ttsProvider(name, { [name]: { apiKey: 'wrong', baseUrl, region: null } });
    expect(await tts.accountVoices?.()).toEqual([]);
    expect(requests).toBe(1);
  });
});

describe('the list', () => {
  let clock: VirtualClock;
  let voices: AccountVoices;

  beforeEach(() => {
    clock = new VirtualClock();
    answer = () => ({ status: 200, body: ['a', 'b'] });
    voices = new AccountVoices({
      provider: 'one',
      sampleRateHz: 16_000,
      clock,
      listing: {
        http: { baseUrl, headers: {}, secrets: [] },
        path: '/list',
        read: (page) => ({ voices: (page as string[]).map((id) => ({ id, name: id, language: 'en' })) }),
      },
    });
  });

  afterEach(() => voices.close());

  const idsOf = async (): Promise<string[]> => (await voices.list()).map(({ id }) => id);

  it('is kept for ten minutes, and shown while a new one is asked for', async () => {
    expect(await Promise.all([idsOf(), idsOf()])).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    await clock.advanceBy(599_000);
    await idsOf();
    expect(requests).toBe(1);
    answer = () => ({ status: 200, body: ['c'] });
    await clock.advanceBy(2_000);
    expect(await idsOf()).toEqual(['a', 'b']);
    await expect.poll(idsOf).toEqual(['c']);
    expect(requests).toBe(2);
  });

  it('is waited for no longer than 1500 ms, and there the next time', async () => {
    stalled = [];
    const arrived = new Promise<void>((resolve) => (came = resolve));
    const asked = idsOf();
    await arrived;
    await clock.advanceBy(1_500);
    expect(await asked).toEqual([]);
    stalled[0]?.writeHead(200).end('["late"]');
    await expect.poll(idsOf).toEqual(['late']);
    expect(requests).toBe(1);
  });

  it.each([
    ['refused', { status: 401, body: {} }],
    ['no list', { status: 200, body: { oops: true } }],
  ])('that is %s is not asked for again for a minute, and what was known stays', async (_why, reply) => {
    expect(await idsOf()).toEqual(['a', 'b']);
    answer = () => reply;
    await clock.advanceBy(600_000);
    await idsOf();
    await expect.poll(() => requests).toBe(2);
    // The refusal has been read when nobody asks any more.
    await expect.poll(async () => [await idsOf(), requests]).toEqual([['a', 'b'], 2]);
    await clock.advanceBy(61_000);
    await idsOf();
    await expect.poll(() => requests).toBe(3);
  });

  it('is empty after the end', async () => {
    await voices.close();
    await voices.close();
    expect(await idsOf()).toEqual([]);
    expect(requests).toBe(0);
  });
});
