import { DeepgramClient } from '@deepgram/sdk';
import { expect, it } from 'vitest';
import { DeepgramDouble } from '../tts/deepgram.ts';
import { madeSpeech } from '../tts/made-speech.ts';
import { KEY } from '../tts/speech-double.ts';

it('drives the double of Deepgram: an utterance, a clear, the end', async () => {
  const double = await new DeepgramDouble().open();
  try {
    const socketUrl = double.url.replace('http', 'ws');
    const environment = { base: double.url, production: socketUrl, agent: socketUrl, agentRest: double.url };
    const client = new DeepgramClient({ apiKey: KEY, environment });
    const connection = await client.speak.v1.connect({
      ...{ model: 'aura-2-thalia-en', encoding: 'linear16', sample_rate: 16_000, reconnectAttempts: 0 },
    });
    const audio = [];
    const types = [];
    connection.on('message', (message) => {
      const isAudio = message instanceof Blob || message instanceof ArrayBuffer || ArrayBuffer.isView(message);
      if (isAudio) audio.push(message);
      else types.push(typeof message === 'string' ? message : message.type);
    });
    connection.connect();
    await connection.waitForOpen();
    connection.sendText({ type: 'Speak', text: 'A table for two.' });
    connection.sendFlush({ type: 'Flush' });
    await expect.poll(() => types, { timeout: 5000 }).toContain('Flushed');
    const bytes = await Promise.all(audio.map(async (part) => Buffer.from(await new Blob([part]).arrayBuffer())));
    expect(Buffer.concat(bytes)).toEqual(madeSpeech('A table for two.', 16_000).bytes);
    connection.sendClear({ type: 'Clear' });
    await expect.poll(() => types, { timeout: 5000 }).toContain('Cleared');
    connection.sendClose({ type: 'Close' });
    expect(double.violations).toEqual([]);
    connection.close();
  } finally {
    await double.close();
  }
});
