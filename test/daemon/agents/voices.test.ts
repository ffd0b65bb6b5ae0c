import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { findEspeak } from '../../../src/providers/tts/espeak.js';
import { House, PRIVATE_KEY } from '../house.js';

const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(async () => {
  expect(house.faults).toEqual([]);
  await house.close();
});

interface Voice {
  provider: string;
  voice_id: string;
  preview_url: string;
  base_voice_id: string;
  custom: boolean;
}

async function voices(query = ''): Promise<Voice[]> {
  return (await house.ask(`/voices${query}`, { headers })).body as Voice[];
}

function send(method: 'POST' | 'DELETE', body: unknown): Promise<{ status: number; body: unknown }> {
  return house.ask('/voices/custom', { method, headers, body: JSON.stringify(body) });
}

async function lengthS(previewUrl: string): Promise<number> {
  const response = await fetch(previewUrl);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('audio/wav');
  const { channels, sampleRateHz } = decodeWav(new Uint8Array(await response.arrayBuffer()));
  const [samples = new Int16Array()] = channels;
  expect(samples.some((sample) => Math.abs(sample) > 3_000)).toBe(true);
  return samples.length / sampleRateHz;
}

describe('GET /voices', () => {
  it('lists the voices of every provider that can be used here', async () => {
    const all = await voices();
    expect(all).toContainEqual(expect.objectContaining({ provider: 'flite', voice_id: 'slt', language: 'en-US' }));
    expect(all.some(({ provider }) => provider === 'espeak-ng')).toBe(findEspeak() !== undefined);
    expect(new Set(all.map(({ provider, voice_id: id }) => `${provider}/${id}`)).size).toBe(all.length);
  });

  it('finds those of a provider and a language', async () => {
    expect((await voices('?provider=flite&language=en')).length).toBe(5);
    expect((await voices('?provider=flite&language=en-gb')).map(({ voice_id: id }) => id)).toEqual(['awb']);
    expect(await voices('?provider=nobody')).toEqual([]);
  });

  it('has a preview of each, which opens without a key and for this voice alone', async () => {
    const [voice] = await voices('?provider=flite&language=en-US');
    const url = voice?.preview_url ?? '';
    expect(url.startsWith(`${house.address}/voices/flite/slt/preview?`)).toBe(true);
    expect(await lengthS(url)).toBeGreaterThan(1);
    for (const bad of [
      url.replace('/slt/', '/rms/'),
      url.replace(/expires=\d+/, 'expires=9999999999'),
      url.split('?')[0],
    ]) {
      expect((await fetch(bad ?? '')).status).toBe(403);
    }
  });
});

describe('custom voices', () => {
  const quick = { provider: 'flite', voice_id: 'anna', base_voice_id: 'slt', name: 'Anna', settings: { rate: 2 } };

  it('are kept, listed with a preview that plays, and used by agents', async () => {
    const { status, body } = await send('POST', { ...quick, category: 'own', language: 'en-US', multiplier: 1.5 });
    expect(status).toBe(200);
    const { preview_url: url, ...rest } = body as Voice;
    expect(rest).toEqual({
      provider: 'flite',
      voice_id: 'anna',
      name: 'Anna',
      model: null,
      settings: { rate: 2 },
      language: 'en-US',
      category: 'own',
      multiplier: 1.5,
    });
    const { body: list } = await house.ask('/voices/custom', { headers });
    expect(list).toEqual([expect.objectContaining(rest)]);
    const slt = (await voices()).find(({ voice_id: id }) => id === 'slt');
    const [ours, plain] = await Promise.all([lengthS(url), lengthS(slt?.preview_url ?? '')]);
    expect(ours / plain).toBeCloseTo(0.5, 1);
    expect((await voices()).find(({ voice_id: id }) => id === 'anna')).toMatchObject({
      custom: true,
      base_voice_id: 'slt',
    });
  });

  it('change where they are added again', async () => {
    await send('POST', { ...quick, settings: { pitch: 1.2 } });
    const { body } = await house.ask('/voices/custom', { headers });
    expect(body).toEqual([expect.objectContaining({ settings: { pitch: 1.2 }, multiplier: 1, category: null })]);
  });

  it('outlive the daemon', async () => {
    const first = await House.open();
    const { dataDir } = first;
    await first.ask('/voices/custom', { method: 'POST', headers, body: JSON.stringify(quick) });
    await first.daemon.close();
    const second = await House.open({ dataDir });
    const { body } = await second.ask('/voices/custom', { headers });
    expect(body).toEqual([expect.objectContaining({ voice_id: 'anna', settings: { rate: 2 } })]);
    await second.close();
  });

  it.each<[string, object, unknown[]]>([
    ['a provider that is not here', { provider: 'elevenlabs' }, ['body', 'provider']],
    ['a voice that the provider does not have', { base_voice_id: 'nobody' }, ['body', 'base_voice_id']],
    ['the same without a name of its own', { base_voice_id: null, voice_id: 'nobody' }, ['body', 'voice_id']],
    ['a setting that it does not take', { settings: { rate: 9 } }, ['body', 'settings', 'rate']],
    ["the name of the provider's own voice", { voice_id: 'rms' }, ['body', 'voice_id']],
    ['a language that it does not speak', { language: 'de' }, ['body', 'language']],
    ['a multiplier below nothing', { multiplier: -1 }, ['body', 'multiplier']],
    ['an unknown member', { preview_url: 'x' }, ['body', 'preview_url']],
  ])('with %s are refused', async (_what, change, loc) => {
    const { status, body } = await send('POST', { ...quick, voice_id: 'other', ...change });
    expect({ status, body }).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
  });

  it('may be what agents are made with, and stay as long as one needs them', async () => {
    const config = { voice: { provider: 'flite', voice_id: 'anna' }, llm: { model: 'scripted' } };
    const made = await house.ask('/agents', {
      method: 'POST',
      headers,
      body: JSON.stringify({ name: 'Shop', config }),
    });
    expect(made.status).toBe(200);
    expect(await send('DELETE', { provider: 'flite', voice_id: 'anna' })).toMatchObject({ status: 409 });
    const { id } = made.body as { id: string };
    await house.ask(`/agents/${id}`, { method: 'DELETE', headers: { authorization: PRIVATE_KEY } });
    expect(await send('DELETE', { provider: 'flite', voice_id: 'anna' })).toEqual({
      status: 200,
      body: { success: true },
    });
    expect(await send('DELETE', { provider: 'flite', voice_id: 'anna' })).toMatchObject({ status: 404 });
    expect((await house.ask('/voices/custom', { headers })).body).toEqual([]);
  });
});

describe('POST /voices/say', () => {
  const say = (body: unknown): Promise<{ status: number; body: unknown }> =>
    house.ask('/voices/say', { method: 'POST', headers, body: JSON.stringify(body) });
  const pronunciation = { words: [{ word: 'Siobhan', ipa: 'ʃɪˈvɔːn' }] };

  it('shows what is said, and lets it be heard with its pause', async () => {
    const text = 'Ask Siobhan.<break time="2s"/> It is $5.';
    const { body } = await say({ text, pronunciation, voice_id: 'kal16' });
    expect(body).toMatchObject({ text: 'Ask Siobhan. It is $5.', spoken: 'Ask shi-vawn. It is five dollars.' });
    const wav = decodeWav(Buffer.from((body as { audio: string }).audio, 'base64'));
    const [samples = new Int16Array()] = wav.channels;
    expect(samples.length / wav.sampleRateHz).toBeGreaterThan(3);
  });

  it('synthesises nothing where only the words are asked for', async () => {
    const { body } = await say({ text: 'um 1:05 Uhr', language: 'de', audio: false });
    expect(body).toEqual({ text: 'um 1:05 Uhr', spoken: 'um ein Uhr fünf', audio: null });
  });

  it('names the faults of a dictionary at their places', async () => {
    const words = [{ word: 'a', respelling: 'b' }, { word: 'Siobhan' }, { word: 'x', ipa: '5%' }];
    const { status, body } = await say({ text: 'Hi', pronunciation: { words, region: 'gb' }, audio: false });
    expect(status).toBe(422);
    const places = (body as { detail: { loc: unknown[] }[] }).detail.map(({ loc }) => loc.join('.'));
    expect(places).toEqual([
      'body.pronunciation.words.1.word',
      'body.pronunciation.words.2.ipa',
      'body.pronunciation.region',
    ]);
  });
});
