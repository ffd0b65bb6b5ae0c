import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RealtimeDouble } from '../realtime/double.ts';
import { silence, spoken } from '../stt/spoken-words.ts';
import { madeSpeech } from '../tts/made-speech.ts';
import { KEY } from '../tts/speech-double.ts';
import { tlsFront } from './tls-front.mjs';

const FORMAT = { type: 'audio/pcm', rate: 24_000 };
let double;
let front;
let realtime;
let events;

beforeEach(async () => {
  double = await new RealtimeDouble().open();
  front = await tlsFront(double.url);
  realtime = new OpenAIRealtimeWS({ model: 'gpt-realtime' }, new OpenAI({ apiKey: KEY, baseURL: front.url }));
  events = [];
  realtime.on('event', (event) => events.push(event));
  realtime.on('error', () => undefined);
  await new Promise((resolve, reject) => {
    realtime.socket.on('open', resolve);
    realtime.socket.on('error', reject);
  });
});

afterEach(async () => {
  realtime.close();
  front.close();
  await double.close();
});

const of = (type) => events.filter((event) => event.type === type);
const until = (type, count = 1) => expect.poll(() => of(type).length, { timeout: 5000 }).toBe(count);

/** At the rate of the API: three samples for every two. */
function say(text, silenceMs = 0) {
  const given = [...spoken(text), ...silence(silenceMs)];
  const pcm = Buffer.alloc(given.length * 3);
  for (let at = 0; at < (given.length * 3) / 2; at++) pcm.writeInt16LE(given[Math.floor((at * 2) / 3)], at * 2);
  for (let at = 0; at < pcm.length; at += 4800) {
    const audio = pcm.subarray(at, at + 4800).toString('base64');
    realtime.send({ type: 'input_audio_buffer.append', audio });
  }
}

function setUp(turn_detection) {
  const input = { format: FORMAT, turn_detection, transcription: { model: 'gpt-transcribe', language: 'en' } };
  realtime.send({
    type: 'session.update',
    session: {
      type: 'realtime',
      output_modalities: ['audio'],
      audio: { input, output: { format: FORMAT, voice: 'marin' } },
    },
  });
}

it('holds a conversation by hand: a commit, an answer, its cut, a tool and its result', async () => {
  setUp(null);
  say('a table for two');
  realtime.send({ type: 'input_audio_buffer.commit' });
  realtime.send({ type: 'response.create' });
  await until('response.done');
  await until('conversation.item.input_audio_transcription.completed');
  expect(of('conversation.item.input_audio_transcription.completed')[0].transcript).toBe('a table for two');
  const audio = Buffer.concat(of('response.output_audio.delta').map(({ delta }) => Buffer.from(delta, 'base64')));
  expect(audio).toEqual(madeSpeech('You said: a table for two.', 24_000).bytes);
  const words = of('response.output_audio_transcript.delta').map(({ delta }) => delta);
  expect(words.join('')).toBe('You said: a table for two.');
  const [done] = of('response.done');
  expect(done.response.usage.input_token_details.audio_tokens).toBeGreaterThan(0);
  const { item_id } = of('response.output_audio.delta')[0];
  realtime.send({ type: 'conversation.item.truncate', item_id, content_index: 0, audio_end_ms: 200 });
  await until('conversation.item.truncated');
  expect(double.violations).toEqual([]);
  realtime.send({ type: 'conversation.item.truncate', item_id, content_index: 0, audio_end_ms: 20_000 });
  await until('error');
  expect(double.violations).toHaveLength(1);
  double.violations.length = 0;
  double.brain = ({ items }) =>
    items.at(-1).kind === 'result' ? { say: 'Booked.' } : { calls: [{ name: 'book', arguments: { seats: 2 } }] };
  realtime.send({ type: 'response.create' });
  await until('response.function_call_arguments.done');
  await until('response.done', 2);
  const [{ call_id }] = of('response.function_call_arguments.done');
  const item = { type: 'function_call_output', call_id, output: '{"ok":true}' };
  realtime.send({ type: 'conversation.item.create', item });
  realtime.send({ type: 'response.create' });
  await until('response.done', 3);
  expect(double.violations).toEqual([]);
});

it('detects turns where it is asked to: speech begins and ends, is committed and answered', async () => {
  setUp({ type: 'server_vad', silence_duration_ms: 300 });
  say('a table', 500);
  await until('input_audio_buffer.speech_started');
  await until('input_audio_buffer.speech_stopped');
  await until('input_audio_buffer.committed');
  await until('response.done');
  expect(of('input_audio_buffer.speech_stopped')[0].item_id).toBe(of('input_audio_buffer.committed')[0].item_id);
  expect(of('response.done')[0].response.status).toBe('completed');
  double.faults = { stopAfter: 'stall', pieces: 4 };
  say('for two', 500);
  await until('response.created', 2);
  await expect.poll(() => double.stalled, { timeout: 5000 }).toBe(1);
  say('no stop', 0);
  await until('response.done', 2);
  expect(of('response.done')[1].response.status_details).toMatchObject({ reason: 'turn_detected' });
  expect(double.violations).toEqual([]);
});

it('says what is wrong: nothing to commit, a second answer at once, an item that is not there', async () => {
  setUp(null);
  const codes = () => of('error').map(({ error }) => error.code);
  realtime.send({ type: 'input_audio_buffer.commit' });
  await until('error');
  double.faults = { stall: true };
  const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] };
  realtime.send({ type: 'conversation.item.create', item: user });
  realtime.send({ type: 'response.create' });
  realtime.send({ type: 'response.create' });
  await until('error', 2);
  realtime.send({ type: 'response.cancel' });
  await until('response.done');
  realtime.send({ type: 'response.cancel' });
  realtime.send({ type: 'conversation.item.delete', item_id: 'nobody' });
  await until('error', 4);
  expect(codes()).toEqual([
    'input_audio_buffer_commit_empty',
    'conversation_already_has_active_response',
    'response_cancel_not_active',
    'item_delete_invalid_item_id',
  ]);
});
