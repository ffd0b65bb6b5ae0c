import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { expect, it } from 'vitest';
import { RealtimeDouble } from '../realtime/double.ts';
import { madeSpeech } from '../tts/made-speech.ts';
import { OpenAiSpeechDouble } from '../tts/openai.ts';
import { KEY } from '../tts/speech-double.ts';
import { tlsFront } from './tls-front.mjs';

it('drives the double of the speech endpoint: bare PCM, and a wrong key', async () => {
  const double = await new OpenAiSpeechDouble().open();
  try {
    const body = { model: 'gpt-4o-mini-tts', voice: 'coral', input: 'A table for two.', response_format: 'pcm' };
    const client = new OpenAI({ apiKey: KEY, baseURL: double.url });
    const reply = await client.audio.speech.create({ ...body, instructions: 'Kindly.' });
    expect(Buffer.from(await reply.arrayBuffer())).toEqual(madeSpeech('A table for two.', 24_000).bytes);
    expect((await client.models.list()).data).toEqual([]);
    const wrong = new OpenAI({ apiKey: 'wrong', baseURL: double.url, maxRetries: 0 });
    await expect(wrong.audio.speech.create(body)).rejects.toMatchObject({ status: 401 });
    expect(double.violations).toEqual([]);
  } finally {
    await double.close();
  }
});

it('drives the double of the Realtime API: a text read aloud, and a cancel', async () => {
  const double = await new RealtimeDouble().open();
  const front = await tlsFront(double.url);
  try {
    const client = new OpenAI({ apiKey: KEY, baseURL: front.url });
    const realtime = new OpenAIRealtimeWS({ model: 'gpt-realtime' }, client);
    const audio = [];
    const ends = [];
    realtime.on('response.output_audio.delta', ({ delta }) => audio.push(Buffer.from(delta, 'base64')));
    realtime.on('response.done', ({ response }) => ends.push(response.status));
    const created = new Promise((resolve) => {
      realtime.on('response.created', ({ response }) => resolve(response.id));
    });
    await new Promise((resolve, reject) => {
      realtime.socket.on('open', resolve);
      realtime.on('error', reject);
    });
    const output = { format: { type: 'audio/pcm', rate: 24_000 }, voice: 'marin' };
    realtime.send({
      type: 'session.update',
      session: { type: 'realtime', output_modalities: ['audio'], instructions: 'Read aloud.', audio: { output } },
    });
    const ask = (text) => {
      const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }];
      const more = { metadata: {}, output_modalities: ['audio'], instructions: 'Read aloud.' };
      realtime.send({ type: 'response.create', response: { conversation: 'none', input, ...more } });
    };
    ask('A table for two.');
    await expect.poll(() => ends, { timeout: 5000 }).toEqual(['completed']);
    expect(Buffer.concat(audio)).toEqual(madeSpeech('A table for two.', 24_000).bytes);
    await created;
    double.faults = { stall: true };
    let running = '';
    realtime.on('response.created', ({ response }) => (running = response.id));
    ask('Never.');
    await expect.poll(() => running, { timeout: 5000 }).not.toBe('');
    realtime.send({ type: 'response.cancel', response_id: running });
    await expect.poll(() => ends, { timeout: 5000 }).toEqual(['completed', 'cancelled']);
    realtime.close();
    expect(double.violations).toEqual([]);
  } finally {
    front.close();
    await double.close();
  }
});
