import { DtmfDetector, dtmfTones } from '../../dist/audio/tones/dtmf.js';
import { FaxDetector } from '../../dist/audio/tones/fax.js';
import { HEARING_RATE_HZ } from '../../dist/audio/frame.js';
import { decodeG711, encodeG711 } from '../../dist/audio/codecs/g711.js';
import { JitterBuffer } from '../../dist/audio/jitter-buffer.js';
import { LevelMeter } from '../../dist/audio/dsp/level.js';
import { mix } from '../../dist/audio/dsp/mix.js';
import { loadOpus } from '../../dist/audio/codecs/opus.js';
import { LossConcealer } from '../../dist/audio/dsp/plc.js';
import { Resampler } from '../../dist/audio/dsp/resample.js';
import { gather } from '../../dist/base/gathering.js';
import { classifyOverlap } from '../../dist/conversation/turn/acknowledgements.js';
import { completenessOf } from '../../dist/conversation/turn/endpointing.js';
import { DEFAULT_CONVERSATION } from '../../dist/agent/flow/conversation-config.js';
import { Conversation } from '../../dist/conversation/conversation.js';
import { cutSentences } from '../../dist/conversation/speech/sentences.js';
import { vadProvider } from '../../dist/providers/vad/registry.js';
import { SpeechDetector } from '../../dist/providers/vad/speech-detector.js';
import { parseRtp, serialiseRtp } from '../../dist/transports/rtp/packet.js';
import { Hearing } from '../../dist/session/hearing/hearing.js';
import { Playout } from '../../dist/session/speech/playout.js';
import { Stage } from '../../dist/stage/stage.js';
import { callFunctions } from './hot-calls.js';
import { lineFunctions } from './hot-lines.js';
import { sound } from './rivals.js';

export type HotFunction = readonly [name: string, once: () => void];

const ANSWER = 'Yes, I have a table by the window for you. For how many people shall I book it, and at what time?';
const HEARD = 'i would like to book a table for four people tomorrow evening at eight';

/**
 * What runs for every frame, packet, transcript or step of every call, each with an input as calls have it; many at a time
 * where one is too quick for the timer.
 */
export async function hotFunctions(): Promise<HotFunction[]> {
  const media = [...audio(), ...(await voiceActivity()), ...(await codecs()), ...packets(), ...(await callFunctions())];
  return [...media, ...lineFunctions(), ...words(), hearing(), playout(), steps()];
}

function audio(): HotFunction[] {
  const [frame16, frame48] = [sound(320), sound(960)];
  const out = new Int16Array(961);
  const [down, up] = [new Resampler(48_000, 16_000), new Resampler(8_000, 16_000)];
  const frame8 = sound(160);
  const concealer = new LossConcealer(16_000);
  const detector = new DtmfDetector(16_000);
  const digit = new DtmfDetector(16_000);
  const tones = dtmfTones('5', 16_000, { onMs: 20, offMs: 0 });
  const fax = new FaxDetector(8_000);
  const meter = new LevelMeter();
  const mixed = new Int16Array(960);
  return [
    ['resample 48 to 16 kHz', () => void down.processInto(frame48, out)],
    ['resample 8 to 16 kHz', () => void up.processInto(frame8, out)],
    ['loss concealment, 50 frames that arrive', () => times(50, () => concealer.accept(frame16))],
    ['digit detection, sound', () => void detector.push(frame16)],
    ['digit detection, a digit', () => void digit.push(tones)],
    ['fax machines, sound', () => void fax.push(frame8)],
    ['mix of two, 48 kHz', () => mix(mixed, [frame48, mixed], [0.5, 0.5])],
    ['level, 48 kHz', () => meter.push(frame48)],
  ];
}

async function voiceActivity(): Promise<HotFunction[]> {
  const made: HotFunction[] = [];
  for (const name of ['silero', 'webrtc']) {
    const provider = vadProvider(name);
    await provider.warmUp();
    const vad = provider.createDetector();
    const nobody = { onSpeechStart: () => undefined, onSpeechEnd: () => undefined };
    const detector = new SpeechDetector(vad.windowSamples, nobody);
    const window = sound(vad.windowSamples);
    made.push([`${name}, a window`, () => vad.process(window, detector.onWindow)]);
    if (name !== 'silero') continue;
    const streams = Array.from({ length: 16 }, () => provider.createDetector({ mayWait: true }));
    const hear = (): void => {
      for (const stream of streams) stream.process(window, detector.onWindow);
    };
    made.push(['silero, windows of 16 streams together', () => gather(hear)]);
  }
  return made;
}

async function codecs(): Promise<HotFunction[]> {
  const opus = await loadOpus();
  const encoder = opus.encoder({ sampleRateHz: 48_000 });
  const decoder = opus.decoder(16_000);
  const frame = sound(960);
  const packet = encoder.encode(frame).slice();
  const [frame8, bytes, samples] = [sound(160), new Uint8Array(160), new Int16Array(160)];
  const codes = encodeG711('mulaw', frame8);
  return [
    ['Opus, encode', () => void encoder.encode(frame)],
    ['Opus, decode', () => void decoder.decode(packet)],
    ['G.711, 50 frames encoded', () => times(50, () => encodeG711('mulaw', frame8, bytes))],
    ['G.711, 50 frames decoded', () => times(50, () => decodeG711('mulaw', codes, samples))],
  ];
}

function packets(): HotFunction[] {
  const packet = {
    payloadType: 0,
    marker: false,
    sequence: 7,
    timestamp: 1120,
    ssrc: 99,
    payload: new Uint8Array(160),
  };
  const datagram = serialiseRtp(packet);
  const written = new Uint8Array(datagram.length);
  let sequence = 0;
  const buffer = new JitterBuffer({ clockRateHz: 8000 });
  return [
    ['RTP, 50 packets read', () => times(50, () => parseRtp(datagram))],
    ['RTP, 50 packets written', () => times(50, () => serialiseRtp(packet, written))],
    [
      'jitter buffer, 50 packets',
      () =>
        times(50, () => {
          const timestamp = (sequence * 160) >>> 0;
          buffer.push({ sequence: sequence & 0xffff, timestamp, payload: packet.payload }, sequence * 20);
          buffer.poll(sequence * 20);
          sequence++;
        }),
    ],
  ];
}

function words(): HotFunction[] {
  const over = { language: 'en-US', part: 'middle', goesOn: false } as const;
  return [
    ['how complete words are, 10 times', () => times(10, () => completenessOf(HEARD, 'en-US'))],
    ['words over the agent, 10 times', () => times(10, () => classifyOverlap('yes but', over))],
    ['the first sentence of an answer, 10 times', () => times(10, () => cutSentences(ANSWER, true))],
  ];
}

/** A faint hiss on a telephone's line, behind the gate. */
function hearing(): HotFunction {
  const nothing = (): void => undefined;
  const ears = new Hearing(
    { nowMs: () => 0, emit: nothing },
    {
      inputRateHz: 8_000,
      vad: vadProvider('silero-gated').createDetector(),
      vadThreshold: 0.5,
      stt: { push: nothing, speechStarted: nothing, speechStopped: nothing },
    },
  );
  const hiss = Int16Array.from(sound(160), (sample) => sample % 20);
  return ['ears of a silent line, 10 frames', () => times(10, () => ears.audio(hiss))];
}

/** A second of speech, frame by frame. */
function playout(): HotFunction {
  const samples = sound(HEARING_RATE_HZ);
  const nothing = (): void => undefined;
  const events = { onStarted: nothing, onFinished: nothing, onSupply: nothing, onPlayable: nothing };
  const player = new Playout({ outputRateHz: HEARING_RATE_HZ }, events);
  let id = 0;
  return [
    'playout, a second',
    () => {
      id++;
      player.add(id, ANSWER, 0);
      player.append(id, samples);
      player.complete(id);
      for (let frame = 0; frame < 52; frame++) player.pull();
    },
  ];
}

/** Twelve seconds of a conversation: a question, an answer of three sentences, an acknowledgement. */
function steps(): HotFunction {
  const stage = new Stage({});
  stage.model.says('There are three tables. One is by the window, two are outside. Which one would you like?');
  stage.user.says('I would like a table for four people this evening.', { from: 2000, to: 4500 });
  stage.user.says('mm-hm', { from: 8500, to: 9000 });
  const { events } = stage.playTo(12_000).timeline;
  return [
    'conversation, twelve seconds of steps',
    () => {
      const conversation = new Conversation(DEFAULT_CONVERSATION);
      for (const { event, atMs, position } of events) conversation.step(event, atMs, position);
    },
  ];
}

function times(count: number, once: () => unknown): void {
  for (let at = 0; at < count; at++) once();
}
