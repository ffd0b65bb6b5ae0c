import { STT } from '@livekit/agents-plugin-deepgram';
import { TTS } from '@livekit/agents-plugin-elevenlabs';
import { Engine, FileTransport, RealClock, Ticker } from '@parley-voice/parley';
import { expect, it } from 'vitest';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../../src/testing/doubles/function-llm.js';
import { deepgramDouble } from '../../../test/vendors/stt/deepgram.js';
import { SocketDouble } from '../../../test/vendors/stt/socket-double.js';
import { joined, silence, spoken } from '../../../test/vendors/stt/spoken-words.js';
import { ElevenLabsDouble } from '../../../test/vendors/tts/elevenlabs.js';
import { KEY } from '../../../test/vendors/tts/speech-double.js';
import { LiveKitStt, LiveKitTts } from '../src/index.js';

it('a whole call, in real time: a recogniser and a voice of different plug-ins', async () => {
  const ears = new SocketDouble(deepgramDouble(KEY));
  const baseUrl = (await ears.listen()).replace('http', 'ws');
  const voice = await new ElevenLabsDouble().open();
  const clock = new RealClock();
  const engine = new Engine({ clock });
  const session = await engine.createSession({
    agent: { first_message: 'Hello, how can I help?' },
    transport: new FileTransport({
      samples: joined([silence(3500), spoken('a table for two'), silence(1000)]),
      sampleRateHz: 16_000,
      ticker: new Ticker(clock),
      hangUpAfterMs: 1500,
    }),
    vad: energyVad(),
    stt: new LiveKitStt({ stt: ({ language }) => new STT({ apiKey: KEY, baseUrl, language }) }),
    tts: new LiveKitTts({ tts: () => new TTS({ apiKey: KEY, baseURL: `${voice.url}/v1` }) }),
    llm: functionLlm(() => 'Gladly. At what time?'),
  });
  const { messages, status } = await session.run();
  expect(messages.map(({ content }) => content)).toEqual([
    'Hello, how can I help?',
    'a table for two',
    'Gladly. At what time?',
  ]);
  expect(status).toBe('user-ended');
  expect([...ears.violations, ...voice.violations]).toEqual([]);
  await engine.close();
  await ears.close();
  await voice.close();
}, 30_000);
