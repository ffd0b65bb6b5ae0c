import { FRAME_MS, frameSamples, HEARING_RATE_HZ, joinedSamples, msToSamples } from '../../audio/frame.js';
import { dbToGain, levelOf, SILENCE_DBFS } from '../../audio/dsp/level.js';
import { resample } from '../../audio/dsp/resample.js';
import { dialTones } from '../../audio/tones/dtmf.js';
import type { Cancel } from '../../base/clock.js';
import type { Random } from '../../base/random.js';
import type { Ticker } from '../../base/ticker.js';
import { PhonePath } from '../../telephony/carriers/simulated/path.js';
import { LineInput } from '../../transports/line-input.js';
import type { TransferOutcome, Transport, TransportMessage, TransportSink } from '../../transports/transport.js';
import type { CallerAudio } from '../caller/caller.js';
import type { LineConditions } from '../suite/suite-schema.js';
import type { CallerLine, CallerLineEvents, CallerWords } from './caller-line.js';
import type { LineCodecs } from './line-codec.js';
import { type NoiseSource, pinkNoise, repeatedNoise, whiteNoise } from './noise.js';

/** Level of the caller's speech, without its pauses. */
const SPEECH_DBFS = -20;
/** Louder frames of the agent are its voice. */
const QUIET_DBFS = -45;
const MUMBLED_DB = -10;
/** Quieter parts of speech than this below its loudest are pauses. */
const SPEECH_RANGE_DB = 25;
const ECHO_DELAY_MS = 120;
/** A pause in the agent's voice is not its end before this long. */
const AGENT_PAUSE_TICKS = 10;
const FULL_SCALE = 32_768;

export interface VoiceLineOptions {
  ticker: Ticker;
  random: Random;
  conditions: LineConditions;
  codecs: LineCodecs;
  /** The noise of `conditions.noise.file`. */
  noise: CallerAudio | null;
  /** Keeps both sides for a recording. */
  records: boolean;
}

/**
 * A line for speech, in ticks of 20 ms: the caller's voice, with noise and echo, through a codec, loss, delay and jitter,
 * to the agent, and the agent's back the same way.
 */
export class VoiceLine implements CallerLine, Transport {
  readonly name = 'simulated caller';
  readonly transport = this;
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  /** What the agent and the caller heard, 20 ms a piece. */
  readonly recorded: { caller: Int16Array[]; agent: Int16Array[] } | null;
  readonly #options: VoiceLineOptions;
  readonly #events: CallerLineEvents;
  readonly #input = new LineInput();
  readonly #toAgent: PhonePath;
  readonly #toCaller: PhonePath;
  readonly #frame: number;
  readonly #noise: NoiseSource | null;
  readonly #noisePeak: number;
  /** The agent's frames that return as echo, oldest first. */
  readonly #echo: (Int16Array | null)[];
  readonly #fromAgent: (Int16Array | null)[] = [];
  /** Whether what is under way to the caller is the agent's voice, frame by frame. */
  readonly #voiced: boolean[];
  readonly #backgrounds = new WeakSet<Int16Array>();
  #speech: { samples: Int16Array; at: number; done: () => void } | null = null;
  #stopTicks: Cancel | null = null;
  #agentQuietTicks = AGENT_PAUSE_TICKS;
  /** The agent has left; ticks until its last words have arrived. */
  #draining: number | null = null;

  constructor(options: VoiceLineOptions, events: CallerLineEvents) {
    const { conditions, codecs, random, records } = options;
    this.#options = options;
    this.#events = events;
    const { loss, delay_ms: delayMs = 40, jitter_ms: jitterMs = 0, buffer_ms: bufferMs = 60, noise, echo } = conditions;
    const quality = { loss: loss ?? 0, delayMs, jitterMs, bufferMs };
    this.#toAgent = new PhonePath(quality, random, codecs.toAgent);
    this.#toCaller = new PhonePath(quality, random, codecs.toCaller);
    this.#voiced = Array.from({ length: this.#toCaller.delayFrames }, () => false);
    this.inputRateHz = codecs.toAgent.sampleRateHz;
    this.outputRateHz = this.inputRateHz;
    this.#frame = frameSamples(this.inputRateHz);
    this.#noise = this.#noiseSource(noise);
    this.#noisePeak = FULL_SCALE * dbToGain(SPEECH_DBFS - (noise?.snr_db ?? 0));
    const echoFrames = echo === undefined ? 0 : Math.max(1, Math.round((echo.delay_ms ?? ECHO_DELAY_MS) / 20));
    this.#echo = Array.from({ length: echoFrames }, () => null);
    this.recorded = records ? { caller: [], agent: [] } : null;
  }

  #noiseSource(noise: LineConditions['noise']): NoiseSource | null {
    const { random, noise: file } = this.#options;
    if (noise === undefined) return null;
    if (file !== null) return repeatedNoise(resample(file.samples, file.sampleRateHz, this.inputRateHz));
    return noise.kind === 'white' ? whiteNoise(random) : pinkNoise(random);
  }

  // The agent's end.

  start(sink: TransportSink): void {
    this.#input.start(sink);
  }

  play(frame: Int16Array | null, isBackground = false): void {
    // A background is heard, but it is not the agent's voice.
    if (isBackground && frame !== null) this.#backgrounds.add(frame);
    if (this.#draining === null) this.#fromAgent.push(frame);
  }

  send(message: TransportMessage): void {
    this.#events.onMessage(message);
  }

  transfer(target: string): Promise<TransferOutcome> {
    return this.#events.onTransfer(target);
  }

  sendDigits(digits: string): Promise<void> {
    this.#events.onDigits(digits);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#draining ??= this.#toCaller.delayFrames + this.#fromAgent.length + 1;
    this.#input.end();
    return Promise.resolve();
  }

  // The caller's end.

  connect(): void {
    this.#stopTicks ??= this.#options.ticker.subscribe(() => this.#tick());
  }

  say({ audio, text }: CallerWords): Promise<void> {
    if (audio === null) throw new Error(`there is no audio for ${JSON.stringify(text)}`);
    return this.#send(resample(audio.samples, audio.sampleRateHz, this.inputRateHz));
  }

  async press(keys: string): Promise<void> {
    for (const key of keys) {
      await this.#send(new Int16Array(dialTones(key, this.inputRateHz).length));
      if (key !== 'w') this.#input.digits(key);
    }
  }

  hangUp(): void {
    this.#over();
    this.#input.end();
  }

  #send(samples: Int16Array): Promise<void> {
    if (this.#input.isOver) return Promise.resolve();
    return new Promise((done) => {
      this.#speech?.done();
      this.#speech = { samples, at: 0, done };
    });
  }

  #over(): void {
    this.#stopTicks?.();
    this.#stopTicks = null;
    if (this.#agentQuietTicks < AGENT_PAUSE_TICKS) this.#events.onAgentSpeaks(false, 0);
    this.#agentQuietTicks = AGENT_PAUSE_TICKS;
    this.#speech?.done();
    this.#speech = null;
  }

  #tick(): void {
    const sent = this.#fromAgent.shift() ?? null;
    this.#voiced.push(sent !== null && !this.#backgrounds.has(sent));
    const heard = this.#toCaller.pass(sent);
    this.#listen(this.#voiced.shift() === true ? heard : null);
    const said = this.#toAgent.pass(this.#said(heard));
    this.recorded?.caller.push(said ?? new Int16Array(this.#frame));
    this.recorded?.agent.push(heard ?? new Int16Array(this.#frame));
    if (!this.#input.isOver) this.#input.audio(said ?? new Int16Array(this.#frame));
    if (this.#draining !== null && --this.#draining <= 0) this.#over();
  }

  #listen(heard: Int16Array | null): void {
    const isLoud = heard !== null && levelOf(heard).rmsDbfs > QUIET_DBFS;
    const begins = isLoud && this.#agentQuietTicks >= AGENT_PAUSE_TICKS;
    this.#agentQuietTicks = isLoud ? 0 : this.#agentQuietTicks + 1;
    if (begins) this.#events.onAgentSpeaks(true, 0);
    else if (this.#agentQuietTicks === AGENT_PAUSE_TICKS) {
      this.#events.onAgentSpeaks(false, (AGENT_PAUSE_TICKS - 1) * FRAME_MS);
    }
  }

  /** The next frame of the caller: speech, noise and echo. */
  #said(heard: Int16Array | null): Int16Array | null {
    const echo = this.#echoed(heard);
    const speech = this.#speech;
    if (speech === null && this.#noise === null && echo === null) return null;
    const gain = dbToGain(this.#options.conditions.echo?.level_db ?? 0);
    const frame = new Int16Array(this.#frame);
    for (let i = 0; i < frame.length; i++) {
      const sample =
        (speech?.samples[speech.at + i] ?? 0) +
        (this.#noise === null ? 0 : this.#noise() * this.#noisePeak) +
        (echo === null ? 0 : (echo[i] ?? 0) * gain);
      frame[i] = Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, Math.round(sample)));
    }
    if (speech !== null) {
      speech.at += frame.length;
      if (speech.at >= speech.samples.length) {
        this.#speech = null;
        speech.done();
      }
    }
    return frame;
  }

  #echoed(heard: Int16Array | null): Int16Array | null {
    if (this.#echo.length === 0) return null;
    this.#echo.push(heard);
    return this.#echo.shift() ?? null;
  }
}

/** Speech at the caller's level, however loud its voice is, without the silence before and after it. */
export function atCallerLevel({ samples, sampleRateHz }: CallerAudio, mumbled = false): CallerAudio {
  const frame = frameSamples(sampleRateHz);
  const parts = Array.from({ length: Math.ceil(samples.length / frame) }, (_, at) =>
    samples.subarray(at * frame, (at + 1) * frame),
  );
  const levels = parts.map((part) => levelOf(part).rmsDbfs);
  const pauseDbfs = Math.max(...levels) - SPEECH_RANGE_DB;
  let squares = 0;
  let count = 0;
  for (const [index, part] of parts.entries()) {
    if ((levels[index] ?? SILENCE_DBFS) <= Math.max(pauseDbfs, SILENCE_DBFS)) continue;
    for (const sample of part) squares += sample * sample;
    count += part.length;
  }
  if (count === 0) return { samples, sampleRateHz };
  const isSpeech = (level: number): boolean => level > pauseDbfs;
  const spoken = samples.subarray(levels.findIndex(isSpeech) * frame, (levels.findLastIndex(isSpeech) + 1) * frame);
  const target = FULL_SCALE * dbToGain(SPEECH_DBFS + (mumbled ? MUMBLED_DB : 0));
  const gain = target / Math.sqrt(squares / count);
  const scale = (sample: number): number => Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, Math.round(sample * gain)));
  return { samples: spoken.map(scale), sampleRateHz };
}

/** Pieces of speech with silence between them. */
export function joinedSpeech(pieces: readonly CallerAudio[], pauseMs: number): CallerAudio {
  const sampleRateHz = pieces[0]?.sampleRateHz ?? HEARING_RATE_HZ;
  const pause = new Int16Array(msToSamples(pauseMs, sampleRateHz));
  const parts = pieces.flatMap(({ samples }, index) => (index === 0 ? [samples] : [pause, samples]));
  return { samples: joinedSamples(parts), sampleRateHz };
}
