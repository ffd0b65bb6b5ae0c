import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { DeepgramClient } from '@deepgram/sdk';
import { ElevenLabsClient } from '@elevenlabs/elevenlabs-js';
import { GladiaClient } from '@gladiaio/sdk';
import { SonioxNodeClient } from '@soniox/node';
import { RealtimeClient } from '@speechmatics/real-time-client';
import { AssemblyAI } from 'assemblyai';
import speech from 'microsoft-cognitiveservices-speech-sdk';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { afterEach, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { encodeWav } from '../../../src/audio/files/wav.ts';
import { Resampler } from '../../../src/audio/dsp/resample.ts';
import { assemblyAiDouble } from '../stt/assemblyai.ts';
import { azureDouble } from '../stt/azure.ts';
import { deepgramDouble } from '../stt/deepgram.ts';
import { elevenLabsDouble } from '../stt/elevenlabs.ts';
import { gladiaDouble } from '../stt/gladia.ts';
import { openAiRealtimeDouble } from '../stt/openai.ts';
import { SocketDouble } from '../stt/socket-double.ts';
import { sonioxDouble } from '../stt/soniox.ts';
import { speechmaticsDouble } from '../stt/speechmatics.ts';
import { joined, silence, spoken } from '../stt/spoken-words.ts';
import { WhisperDouble } from '../stt/whisper.ts';

const KEY = 'key-0123456789abcdef';
const TEXT = 'a table for two';
const SPEECH = joined([silence(300), spoken(TEXT), silence(1500)]);

/** @type {{ close(): Promise<void>, violations: readonly string[] } | undefined} */
let double;

afterEach(async () => {
  // Azure's would take it too, and leave out its key.
  vi.unstubAllGlobals();
  expect(double?.violations).toEqual([]);
  await double?.close();
});

async function open(protocol) {
  const opened = new SocketDouble(protocol(KEY));
  double = opened;
  return { double: opened, url: await opened.listen() };
}

/** Messages of 100 ms. */
function* pieces(samples = SPEECH, samplesEach = 1600) {
  for (let at = 0; at < samples.length; at += samplesEach) {
    const piece = samples.slice(at, at + samplesEach);
    yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
  }
}

/** Resolves to what `start` hands to its argument. */
function first(start) {
  return new Promise((resolve, reject) => {
    Promise.resolve(start(resolve, reject)).catch(reject);
  });
}

/** A TLS server in front of a double, for SDKs that speak nothing else. */
async function withTls(url) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  });
  const { port, hostname } = new URL(url);
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (socket) => {
    const plainSocket = connect(Number(port), hostname);
    socket.pipe(plainSocket).pipe(socket);
    socket.on('error', () => plainSocket.destroy());
    plainSocket.on('error', () => socket.destroy());
  });
  rmSync(folder, { recursive: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  return { url: `https://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

const plain = (text) => text.trim().toLowerCase().replaceAll('.', '');

function deepgram(url) {
  const ws = url.replace('http', 'ws');
  return new DeepgramClient({ apiKey: KEY, environment: { base: url, production: ws, agent: ws, agentRest: url } });
}

it('Deepgram nova', async () => {
  const { url } = await open(deepgramDouble);
  const socket = await deepgram(url).listen.v1.connect({
    ...{ model: 'nova-3', encoding: 'linear16', sample_rate: 16_000, interim_results: 'true' },
  });
  const heard = [];
  const done = first((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (message) => {
      if (message.type !== 'Results' || !message.is_final) return;
      heard.push(message.channel.alternatives[0].transcript);
      if (message.from_finalize) resolve();
    });
  });
  socket.connect();
  await socket.waitForOpen();
  for (const piece of pieces()) socket.sendMedia(piece);
  socket.sendFinalize({ type: 'Finalize' });
  await done;
  socket.close();
  expect(plain(heard.join(' '))).toBe(TEXT);
});

it('Deepgram Flux', async () => {
  const { url } = await open(deepgramDouble);
  const socket = await deepgram(url).listen.v2.connect({
    ...{ model: 'flux-general-en', encoding: 'linear16', sample_rate: 16_000, eager_eot_threshold: 0.5 },
  });
  const events = [];
  const text = first((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (message) => {
      if (message.type !== 'TurnInfo') return;
      events.push(message.event);
      if (message.event === 'EndOfTurn') resolve(message.transcript);
    });
  });
  socket.connect();
  await socket.waitForOpen();
  for (const piece of pieces()) socket.sendMedia(piece);
  expect(plain(await text)).toBe(TEXT);
  socket.close();
  expect(events.filter((event) => event !== 'Update')).toEqual(['StartOfTurn', 'EagerEndOfTurn', 'EndOfTurn']);
});

it('AssemblyAI', async () => {
  const { url } = await open(assemblyAiDouble);
  const tls = await withTls(url);
  const transcriber = new AssemblyAI({ apiKey: KEY }).streaming.transcriber({
    ...{ apiKey: KEY, websocketBaseUrl: `${tls.url.replace('http', 'ws')}/v3/ws`, sampleRate: 16_000 },
    ...{ encoding: 'pcm_s16le', formatTurns: true, speechModel: 'universal-streaming-english' },
  });
  const text = first((resolve, reject) => {
    transcriber.on('error', reject);
    transcriber.on('turn', (turn) => turn.turn_is_formatted && resolve(turn.transcript));
  });
  await transcriber.connect();
  for (const piece of pieces(SPEECH.subarray(0, SPEECH.length - 15_360))) transcriber.sendAudio(piece);
  transcriber.forceEndpoint();
  expect(plain(await text)).toBe(TEXT);
  await transcriber.close();
  tls.close();
});

it('OpenAI realtime', async () => {
  const { url } = await open(openAiRealtimeDouble);
  const client = new OpenAI({ apiKey: KEY, baseURL: url });
  // The SDK speaks TLS only: the connection under it is a plain one.
  const { port, hostname } = new URL(url);
  const createConnection = () => connect(Number(port), hostname);
  const socket = new OpenAIRealtimeWS({ intent: 'transcription', options: { createConnection } }, client);
  const text = first((resolve, reject) => {
    socket.on('error', reject);
    socket.on('conversation.item.input_audio_transcription.completed', ({ transcript }) => resolve(transcript));
    socket.on('session.updated', () => {
      for (const piece of pieces(new Resampler(16_000, 24_000).process(SPEECH), 2400)) {
        socket.send({ type: 'input_audio_buffer.append', audio: piece.toString('base64') });
      }
      socket.send({ type: 'input_audio_buffer.commit' });
    });
    socket.on('session.created', () => {
      const format = { type: 'audio/pcm', rate: 24_000 };
      const input = { format, transcription: { model: 'gpt-live-transcribe', language: 'en' }, turn_detection: null };
      socket.send({ type: 'session.update', session: { type: 'transcription', audio: { input } } });
    });
  });
  expect(plain(await text)).toBe(TEXT);
  socket.close();
});

it('OpenAI transcriptions', async () => {
  const whisper = new WhisperDouble(KEY);
  double = whisper;
  const client = new OpenAI({ apiKey: KEY, baseURL: await whisper.listen() });
  const { text, words } = await client.audio.transcriptions.create({
    ...{ model: 'whisper-1', response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] },
    file: new File([encodeWav(SPEECH, 16_000)], 'speech.wav', { type: 'audio/wav' }),
  });
  expect(plain(text)).toBe(TEXT);
  expect(words.map(({ word }) => word)).toEqual(TEXT.split(' '));
});

it('Soniox', async () => {
  const { url } = await open(sonioxDouble);
  // Node 20 has none of its own.
  if (globalThis.WebSocket === undefined) vi.stubGlobal('WebSocket', WebSocket);
  const client = new SonioxNodeClient({
    ...{ api_key: KEY, stt_ws_url: `${url.replace('http', 'ws')}/transcribe-websocket` },
    realtime: { ws_base_url: `${url.replace('http', 'ws')}/transcribe-websocket` },
  });
  const session = client.realtime.stt({
    ...{ model: 'stt-rt-v5', audio_format: 'pcm_s16le', sample_rate: 16_000, num_channels: 1, language_hints: ['en'] },
  });
  let text = '';
  const done = first((resolve, reject) => {
    session.on('error', reject);
    session.on('token', ({ text: token, is_final: isFinal }) => {
      if (isFinal && !token.startsWith('<')) text += token;
    });
    session.on('finalized', resolve);
  });
  await session.connect();
  for (const piece of pieces()) session.sendAudio(piece);
  session.finalize({ trailing_silence_ms: 1500 });
  await done;
  session.close();
  expect(plain(text)).toBe(TEXT);
});

it('Speechmatics', async () => {
  const { url } = await open(speechmaticsDouble);
  const client = new RealtimeClient({ url: `${url.replace('http', 'ws')}/v2` });
  let text = '';
  const done = first((resolve) => {
    client.addEventListener('receiveMessage', ({ data }) => {
      if (data.message === 'AddTranscript') text += data.metadata.transcript;
      if (data.message === 'EndOfUtterance') resolve();
    });
  });
  await client.start(KEY, {
    audio_format: { type: 'raw', encoding: 'pcm_s16le', sample_rate: 16_000 },
    transcription_config: { language: 'en', model: 'enhanced', enable_partials: true },
  });
  for (const piece of pieces()) client.sendAudio(piece);
  client.forceEndOfUtterance();
  await done;
  await client.stopRecognition();
  expect(plain(text)).toBe(TEXT);
});

it('ElevenLabs', async () => {
  const { url } = await open(elevenLabsDouble);
  const client = new ElevenLabsClient({ apiKey: KEY, baseUrl: url });
  const connection = await client.speechToText.realtime.connect({
    ...{ modelId: 'scribe_v2_realtime', audioFormat: 'pcm_16000', sampleRate: 16_000, includeTimestamps: true },
    ...{ commitStrategy: 'manual', languageCode: 'en' },
  });
  const committed = first((resolve, reject) => {
    connection.on('error', reject);
    connection.on('committed_transcript_with_timestamps', resolve);
    connection.on('session_started', () => {
      for (const piece of pieces()) connection.send({ audioBase64: piece.toString('base64') });
      connection.commit();
    });
  });
  const { text, words } = await committed;
  connection.close();
  expect(plain(text)).toBe(TEXT);
  expect(words.filter(({ type }) => type === 'word').map((word) => word.text)).toEqual(TEXT.split(' '));
});

it('Gladia', async () => {
  const { url } = await open(gladiaDouble);
  const session = new GladiaClient({ apiKey: KEY, apiUrl: url }).liveV2().startSession({
    ...{ encoding: 'wav/pcm', bit_depth: 16, sample_rate: 16_000, channels: 1, model: 'solaria-1', endpointing: 0.2 },
    language_config: { languages: ['en'] },
  });
  const text = first((resolve, reject) => {
    session.on('error', reject);
    session.on('message', ({ type, data }) => {
      if (type === 'transcript' && data.is_final) resolve(data.utterance.text);
    });
    session.once('connected', () => {
      for (const piece of pieces()) session.sendAudio(piece);
    });
  });
  expect(plain(await text)).toBe(TEXT);
  session.stopRecording();
});

it('Azure', async () => {
  const { url } = await open(azureDouble);
  // Which path there is asked for is the SDK's own choice.
  const config = speech.SpeechConfig.fromHost(new URL(url.replace('http', 'ws')), KEY);
  config.speechRecognitionLanguage = 'en-US';
  config.outputFormat = speech.OutputFormat.Detailed;
  config.requestWordLevelTimestamps();
  const stream = speech.AudioInputStream.createPushStream(speech.AudioStreamFormat.getWaveFormatPCM(16_000, 16, 1));
  const recognizer = new speech.SpeechRecognizer(config, speech.AudioConfig.fromStreamInput(stream));
  for (const piece of pieces()) stream.write(piece.buffer.slice(piece.byteOffset, piece.byteOffset + piece.length));
  stream.close();
  const result = await first((resolve, reject) => {
    recognizer.recognized = (_sender, { result: phrase }) => resolve(phrase);
    recognizer.canceled = (_sender, { errorDetails }) => reject(new Error(errorDetails ?? 'cancelled'));
    recognizer.startContinuousRecognitionAsync(undefined, reject);
  });
  recognizer.close();
  expect(result.errorDetails).toBeUndefined();
  expect(plain(result.text)).toBe(TEXT);
  expect(JSON.parse(result.json).NBest[0].Words.map(({ Word }) => Word)).toEqual(TEXT.split(' '));
});
