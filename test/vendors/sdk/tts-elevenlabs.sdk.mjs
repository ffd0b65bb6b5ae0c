import { once } from 'node:events';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { ElevenLabsDouble } from '../tts/elevenlabs.ts';
import { madeSpeech } from '../tts/made-speech.ts';
import { KEY } from '../tts/speech-double.ts';

// The SDK has no multi-context socket, but the messages of one: it writes ours and reads the double's.
const types = (name) => {
  const folder = '@elevenlabs/elevenlabs-js/serialization/types';
  return createRequire(import.meta.url)(`${folder}/${name}.js`)[name];
};
const written = (name, message) => JSON.stringify(types(name).jsonOrThrow(message));

it('drives the double of ElevenLabs: an utterance with the times of its letters, a context that is closed', async () => {
  const double = await new ElevenLabsDouble().open();
  const address = `${double.url.replace('http', 'ws')}/v1/text-to-speech/anne/multi-stream-input`;
  const line = new WebSocket(`${address}?model_id=eleven_flash_v2_5&output_format=pcm_16000&auto_mode=true`, {
    headers: { 'xi-api-key': KEY },
  });
  try {
    await once(line, 'open');
    const messages = [];
    let ended = () => undefined;
    const end = new Promise((resolve) => (ended = resolve));
    line.on('message', (data) => {
      const sent = JSON.parse(data.toString());
      // Throws for a member that the vendor's schema does not have.
      const message = types('isFinal' in sent ? 'FinalOutputMulti' : 'AudioOutputMulti').parseOrThrow(sent);
      messages.push(message);
      if (message.isFinal === true) ended();
    });
    const voiceSettings = { stability: 0.5, similarityBoost: 0.8, useSpeakerBoost: true, speed: 1.1 };
    line.send(written('InitializeConnectionMulti', { text: ' ', contextId: 'one', voiceSettings }));
    line.send(written('SendTextMulti', { text: 'A table for two. ', contextId: 'one', flush: true }));
    line.send(written('CloseContext', { contextId: 'one', closeContext: true }));
    await end;
    const audio = messages.flatMap((message) => ('audio' in message ? [Buffer.from(message.audio, 'base64')] : []));
    expect(Buffer.concat(audio)).toEqual(madeSpeech('A table for two.', 16_000).bytes);
    const letters = messages.flatMap((message) => message.alignment?.chars ?? []);
    expect(letters.join('')).toBe('A table for two.');
    expect(messages.every(({ contextId }) => contextId === 'one')).toBe(true);
    line.send(written('CloseSocket', { closeSocket: true }));
    await once(line, 'close');
    expect(double.violations).toEqual([]);
  } finally {
    line.terminate();
    await double.close();
  }
});
