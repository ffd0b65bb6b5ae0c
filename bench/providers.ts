/**
 * What vendors' providers take of our own processor: a recogniser for each second that it listens (frames into a
 * WebSocket, interim words out of JSON), a voice for each second that it speaks (base64 in JSON, trimmed, words placed), a
 * model for each answer (a request with a history, 40 events of SSE). The vendors are the doubles of the tests, in a
 * process of their own; connections stand before anything is counted.
 *
 *   npm run build && node bench/run.mjs providers [--seconds=120]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { RealClock } from '../dist/base/real-clock.js';
import { OpenAiProvider } from '../dist/providers/llm/vendors/openai.js';
import { sttProvider } from '../dist/providers/stt/registry.js';
import type { SttStream } from '../dist/providers/stt/stt.js';
import { ttsProvider } from '../dist/providers/tts/registry.js';
import { finishChunk, OpenAiDouble, stream, textChunk, usageChunk } from '../test/providers/llm/openai-double.js';
import { assemblyAiDouble } from '../test/vendors/stt/assemblyai.js';
import { deepgramDouble } from '../test/vendors/stt/deepgram.js';
import { SocketDouble } from '../test/vendors/stt/socket-double.js';
import { joined, silence, spoken } from '../test/vendors/stt/spoken-words.js';
import { CartesiaDouble } from '../test/vendors/tts/cartesia.js';
import { DeepgramDouble } from '../test/vendors/tts/deepgram.js';
import { ElevenLabsDouble } from '../test/vendors/tts/elevenlabs.js';
import { KEY, type SpeechDouble } from '../test/vendors/tts/speech-double.js';
import { machine } from './lib/machine.js';
import { markdownTable } from './lib/numbers.js';

const FRAME = 320;
const FRAMES_A_SECOND = 50;
/** Frames that go out between two looks at what has come. */
const BURST = 5;
const TOKENS = 40;
const STT = { deepgram: deepgramDouble, assemblyai: assemblyAiDouble };
const TTS = { cartesia: CartesiaDouble, deepgram: DeepgramDouble, elevenlabs: ElevenLabsDouble };
const SENTENCE = 'Yes, we have a table for two by the window tonight at eight, and the kitchen is open until eleven.';

type Addresses = Record<'stt' | 'tts', Record<string, string>> & { llm: string };

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '120' }, vendors: { type: 'boolean', default: false } },
});
if (values.vendors) await serveVendors();
else await measure(Number(values.seconds));

async function serveVendors(): Promise<void> {
  const addresses: Addresses = { stt: {}, tts: {}, llm: '' };
  for (const [name, protocol] of Object.entries(STT))
    addresses.stt[name] = await new SocketDouble(protocol(KEY)).listen();
  for (const [name, Double] of Object.entries(TTS)) {
    const double: SpeechDouble = new Double();
    addresses.tts[name] = (await double.open()).url;
  }
  const llm = new OpenAiDouble();
  const words = Array.from({ length: TOKENS }, (_, at) => textChunk(`word${String(at)} `));
  llm.answer = (response) => stream(response, [...words, finishChunk('stop'), usageChunk]);
  addresses.llm = await llm.listen();
  process.send?.(addresses);
  process.once('disconnect', () => process.exit(0));
}

async function measure(seconds: number): Promise<void> {
  const vendors = fork(fileURLToPath(new URL('.build/providers.mjs', import.meta.url)), ['--vendors']);
  const [addresses] = (await once(vendors, 'message')) as [Addresses];
  const access = (baseUrl: string) => ({ apiKey: KEY, baseUrl, region: null });
  const rows: string[][] = [];
  for (const [name, url] of Object.entries(addresses.stt)) {
    const stt = sttProvider(name, { [name]: access(url) });
    rows.push([`${name}, recogniser`, 'second heard', await listening(stt, seconds)]);
    await stt.close();
  }
  for (const [name, url] of Object.entries(addresses.tts)) {
    const tts = ttsProvider(name, { [name]: access(url) });
    rows.push([`${name}, voice`, 'second spoken', await speaking(tts, seconds)]);
    await tts.close();
  }
  const llm = new OpenAiProvider({ baseUrl: addresses.llm, apiKey: KEY });
  rows.push(['OpenAI-compatible model', `answer of ${String(TOKENS)} words`, await answering(llm, seconds)]);
  await llm.close();
  vendors.disconnect();
  console.log(`${machine()}\n\n${markdownTable([['provider', 'for each', 'CPU ms'], ...rows])}`);
}

/** Processor time of this process for each of `count`, in milliseconds; the first round is not counted. */
async function costOf(count: number, round: () => Promise<number>): Promise<string> {
  await round();
  const before = process.cpuUsage();
  let done = 0;
  while (done < count) done += await round();
  const { user, system } = process.cpuUsage(before);
  return ((user + system) / 1000 / done).toFixed(2);
}

async function listening(stt: ReturnType<typeof sttProvider>, seconds: number): Promise<string> {
  const speech = joined([silence(600), spoken('a table for two tonight'), silence(1400)]);
  const { signal } = new AbortController();
  let final: () => void = () => undefined;
  const opened: SttStream = await stt.open(
    { language: 'en-US', hints: { phrases: [], texts: [], keywords: new Map() }, clock: new RealClock(), signal },
    {
      onTranscript: ({ isFinal }) => isFinal && final(),
      onError: (error) => {
        throw error;
      },
    },
  );
  let sample = 0;
  const cost = await costOf(seconds, async () => {
    const from = sample;
    opened.speechStarted(from + 600 * 16);
    for (let at = 0; at + FRAME <= speech.length; at += FRAME) {
      opened.push(speech.slice(at, at + FRAME), sample);
      sample += FRAME;
      if ((sample / FRAME) % BURST === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const said = new Promise<void>((resolve) => (final = resolve));
    opened.speechStopped(sample - 1400 * 16);
    await said;
    opened.endTurn();
    return (sample - from) / FRAME / FRAMES_A_SECOND;
  });
  await opened.close();
  return cost;
}

async function speaking(tts: ReturnType<typeof ttsProvider>, seconds: number): Promise<string> {
  const { signal } = new AbortController();
  const request = { text: SENTENCE, language: 'en-US', voiceId: null, model: null, settings: {} };
  return costOf(seconds, async () => {
    let spokenS = 0;
    for await (const { samples, sampleRateHz } of tts.synthesize({ ...request, clock: new RealClock(), signal })) {
      spokenS += samples.length / sampleRateHz;
    }
    return spokenS;
  });
}

async function answering(llm: OpenAiProvider, answers: number): Promise<string> {
  const { signal } = new AbortController();
  const turns = Array.from({ length: 10 }, (_, at) => [
    { role: 'user' as const, content: `Question ${String(at)}: ${SENTENCE}` },
    { role: 'assistant' as const, content: SENTENCE },
  ]).flat();
  const messages = [{ role: 'system' as const, content: 'You are a waiter. '.repeat(200) }, ...turns];
  return costOf(answers, async () => {
    const reply = llm.complete({ model: 'm', messages, tools: [], temperature: 0, clock: new RealClock(), signal });
    for await (const piece of reply) void piece;
    return 1;
  });
}
