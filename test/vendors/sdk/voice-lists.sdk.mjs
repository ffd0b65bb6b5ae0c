import { createRequire } from 'node:module';
import { DeepgramClient } from '@deepgram/sdk';
import { ElevenLabsClient } from '@elevenlabs/elevenlabs-js';
import { expect, it } from 'vitest';
import { CartesiaDouble } from '../tts/cartesia.ts';
import { DeepgramDouble } from '../tts/deepgram.ts';
import { ElevenLabsDouble } from '../tts/elevenlabs.ts';
import { KEY } from '../tts/speech-double.ts';

const { Cartesia } = createRequire(import.meta.url)('@cartesia/cartesia-js');

async function using(double, work) {
  await double.open();
  try {
    await work(double.url);
    expect(double.violations).toEqual([]);
  } finally {
    await double.close();
  }
}

it('lists the voices of ElevenLabs, page by page', () =>
  using(new ElevenLabsDouble(), async (baseUrl) => {
    const { voices } = new ElevenLabsClient({ apiKey: KEY, baseUrl });
    const first = await voices.search({ pageSize: 100, includeTotalCount: false });
    expect(first.voices).toHaveLength(100);
    expect(first.voices[0]).toMatchObject({ voiceId: 'cloned-0', labels: { language: 'de' } });
    const second = await voices.search({ pageSize: 100, nextPageToken: first.nextPageToken });
    expect([second.voices.length, second.hasMore]).toEqual([30, false]);
  }));

it('lists the voices of Cartesia, page by page', () =>
  using(new CartesiaDouble(), async (baseURL) => {
    const ids = [];
    for await (const { id } of new Cartesia({ apiKey: KEY, baseURL }).voices.list({ limit: 100 })) ids.push(id);
    expect([ids.length, ids.at(-1)]).toEqual([101, 'mine-100']);
  }));

it('lists the models of Deepgram', () =>
  using(new DeepgramDouble(), async (url) => {
    const client = new DeepgramClient({ apiKey: KEY, environment: { base: url, production: url, agent: url } });
    const { tts } = await client.manage.v1.models.list();
    expect(tts.map(({ canonical_name: name }) => name)).toContain('aura-2-newest-en');
  }));
