import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { CartesiaDouble } from '../tts/cartesia.ts';
import { madeSpeech } from '../tts/made-speech.ts';
import { KEY } from '../tts/speech-double.ts';
import { tlsFront } from './tls-front.mjs';

// The ES build of the SDK does not find the package ws, which the SDK needs.
const { Cartesia } = createRequire(import.meta.url)('@cartesia/cartesia-js');

it('drives the double of Cartesia: an utterance with its words, a cancel', async () => {
  const double = await new CartesiaDouble().open();
  const front = await tlsFront(double.url);
  try {
    const client = new Cartesia({ apiKey: KEY, baseURL: front.url });
    const socket = await client.tts.websocket();
    await socket.connect();
    const context = socket.context({
      model_id: 'sonic-3.5',
      voice: { id: 'anne' },
      output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 16_000 },
      add_timestamps: true,
    });
    const [audio, words] = [[], []];
    for await (const event of context.generate({ transcript: 'A table for two.' })) {
      if (event.type === 'chunk') audio.push(Buffer.from(event.data, 'base64'));
      if (event.type === 'timestamps') words.push(...event.word_timestamps.words);
    }
    expect(Buffer.concat(audio)).toEqual(madeSpeech('A table for two.', 16_000).bytes);
    expect(words).toEqual(['A', 'table', 'for', 'two.']);
    double.faults = { stall: true };
    const other = socket.context({ ...context._options, contextId: 'other' });
    await other.send({ transcript: 'Never.' });
    await double.until(() => double.spoken.length === 2, 'the request');
    await other.cancel();
    await double.until(() => double.cancelled === 1, 'the cancel');
    socket.close();
    expect(double.violations).toEqual([]);
  } finally {
    front.close();
    await double.close();
  }
});
