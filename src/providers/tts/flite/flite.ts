import { availableParallelism } from 'node:os';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { pronounceEnglish } from '../text/english.js';
import { flitePhones } from '../text/phonemes.js';
import { withPhonemes } from '../text/spoken-words.js';
import { speak, FLITE_LATENCY, parseVoiceSettings, type VoiceSettings, type EngineAudio } from '../speech.js';
import {
  DEFAULT_FLITE_VOICE,
  FIXED_PITCH_VOICES,
  FLITE_VOICES,
  PITCHED_FLITE_VOICE,
  type FliteVoiceId,
  isFliteVoice,
  speaksEnglish,
} from './voices.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice } from '../tts.js';
import { Worker } from 'node:worker_threads';
import { workerFile } from '../../../package-files.js';
import { madeUpWord, type FliteSpeech, type TokenTime } from './flite-engine.js';
import type { FliteJob, FliteReply, FliteWorkerData } from './flite-worker.js';
import { Mailbox } from '../../mailbox.js';
import { Slots } from '../slots.js';
import type { WasmModule } from '../../../base/webassembly.js';

export interface FliteOptions {
  /** Threads that synthesise, 1 to the machine's cores. Default 1: one speaks some fifty times faster than real time. */
  workers?: number;
  /** The longest wait for the next piece of audio, queueing included, in milliseconds. Default 5000. */
  timeoutMs?: number;
  /** The threads' code. Default the package's own; tests put a faulty one here. */
  workerEntry?: URL;
}

/**
 * The embedded voice: CMU Flite as WebAssembly in worker threads. English only. Needs no key, no network and no
 * program on the machine. Word times are the engine's own.
 */
export class FliteTts implements TtsProvider {
  readonly name = 'flite';
  readonly virtualTime = true;
  readonly wordTimes = true;
  readonly #pool: FlitePool;
  readonly #timeoutMs: number;

  constructor(options: FliteOptions = {}) {
    const workers = Math.max(1, Math.min(options.workers ?? 1, availableParallelism()));
    this.#pool = new FlitePool(workers, options.workerEntry);
    this.#timeoutMs = options.timeoutMs ?? 5000;
  }

  get stats(): FlitePoolStats {
    return this.#pool.stats;
  }

  /** Starts the threads, and speaks once in each default voice so that the first call finds compiled code. */
  async warmUp(): Promise<void> {
    await this.#pool.warmUp();
    const warm = { text: 'Good morning, how may I help you?', voice: DEFAULT_FLITE_VOICE, rate: 1, pitch: 1 };
    const runs = Array.from({ length: this.#pool.stats.workers }, async () => {
      for await (const _ of this.#pool.speak(warm));
    });
    await Promise.all(runs);
  }

  /**
   * @throws ParleyError TTS_VOICE_UNKNOWN, TTS_SETTING_INVALID, TTS_LANGUAGE_UNSUPPORTED, PROVIDER_FAILED,
   * PROVIDER_TIMEOUT, SESSION_CLOSED
   */
  synthesize(request: TtsRequest): AsyncIterable<TtsAudio> {
    const settings = this.checkSettings(request.settings, request.voiceId);
    const voice = voiceOf(request, settings);
    const language = speaksEnglish(request.language) && request.language !== 'multi' ? request.language : 'en-US';
    return speak({ ...request, language }, settings, {
      provider: this.name,
      latency: FLITE_LATENCY[voice],
      timeoutMs: this.#timeoutMs,
      takesPhonemes: true,
      pronounce: pronounceEnglish,
      speakClause: (text) =>
        this.#pool.speak({ ...fliteText(text), voice, rate: settings.rate, pitch: settings.pitch }),
    });
  }

  speaks(language: string): Promise<boolean> {
    return Promise.resolve(speaksEnglish(language));
  }

  /** @throws ParleyError TTS_SETTING_INVALID, TTS_VOICE_UNKNOWN */
  checkSettings(given: TtsRequest['settings'], voiceId: string | null): VoiceSettings {
    const settings = parseVoiceSettings(this.name, given);
    const voice = voiceId === null ? defaultVoice(settings) : known(voiceId);
    if (settings.pitch !== 1 && FIXED_PITCH_VOICES.has(voice)) {
      const reason = `the voice ${voice} has one pitch only`;
      throw new ParleyError('TTS_SETTING_INVALID', { provider: this.name, setting: 'pitch', reason });
    }
    return settings;
  }

  voices(): readonly TtsVoice[] {
    return FLITE_VOICES;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** A clause with a made-up word for each word that has phonemes, which flite is then told. */
function fliteText(clause: string): Pick<FliteSpeech, 'text' | 'phones'> {
  const phones: string[] = [];
  const text = withPhonemes(clause, (_word, ipa) => {
    const said = flitePhones(ipa).join(' ');
    if (!phones.includes(said)) phones.push(said);
    return madeUpWord(phones.indexOf(said));
  });
  return { text, phones };
}

function defaultVoice({ pitch }: VoiceSettings): FliteVoiceId {
  return pitch === 1 ? DEFAULT_FLITE_VOICE : PITCHED_FLITE_VOICE;
}

function voiceOf({ voiceId, language }: TtsRequest, settings: VoiceSettings): FliteVoiceId {
  if (!speaksEnglish(language)) {
    throw new ParleyError('TTS_LANGUAGE_UNSUPPORTED', { language, reason: 'flite speaks English only' });
  }
  return voiceId === null ? defaultVoice(settings) : known(voiceId);
}

function known(voiceId: string): FliteVoiceId {
  if (isFliteVoice(voiceId)) return voiceId;
  const names = FLITE_VOICES.map((voice) => voice.id).join(', ');
  throw new ParleyError('TTS_VOICE_UNKNOWN', { provider: 'flite', voice: voiceId.slice(0, 100), known: names });
}

export interface FlitePoolStats {
  /** Threads that are up. */
  workers: number;
  /** Clauses that wait for a thread. */
  waiting: number;
  /** Clauses that were begun. */
  clauses: number;
  /** Threads that ended without being asked to. */
  crashes: number;
  /** The engines' memories together, as last reported. */
  memoryBytes: number;
}

interface Lane {
  readonly worker: Worker;
  readonly ready: Promise<void>;
  readonly failReady: (error: ParleyError) => void;
  readonly stop: Int32Array;
  running: { id: number; mailbox: Mailbox<EngineAudio>; tokens: readonly TokenTime[]; release: () => void } | undefined;
  memoryBytes: number;
}

/**
 * Worker threads with a flite each. A clause that is aborted before it starts is dropped; a running one is stopped
 * within 80 ms of audio. A thread that dies fails the clause it ran; the next clause starts a new thread.
 */
export class FlitePool {
  readonly #entry: URL;
  readonly #lanes: (Lane | undefined)[];
  readonly #slots: Slots;
  readonly #closing = new AbortController();
  #module: WasmModule | null = null;
  #nextId = 1;
  #crashes = 0;

  constructor(workers: number, entry: URL = workerFile('providers/tts/flite/flite-worker')) {
    this.#entry = entry;
    this.#lanes = Array.from({ length: workers }, () => undefined);
    this.#slots = new Slots(workers);
  }

  get stats(): FlitePoolStats {
    const lanes = this.#lanes.filter((lane) => lane !== undefined);
    return {
      workers: lanes.length,
      waiting: this.#slots.waiting,
      clauses: this.#nextId - 1,
      crashes: this.#crashes,
      memoryBytes: lanes.reduce((sum, lane) => sum + lane.memoryBytes, 0),
    };
  }

  /** Starts the threads that are not up, one after the other: the first compiles for all. */
  async warmUp(): Promise<void> {
    this.#closing.signal.throwIfAborted();
    for (const slot of this.#lanes.keys()) await (this.#lanes[slot] ?? this.#start(slot)).ready;
  }

  /** Speaks one clause. Leaving the mailbox aborts it. */
  speak(speech: FliteSpeech): Mailbox<EngineAudio> {
    const left = new AbortController();
    const mailbox = new Mailbox<EngineAudio>(() => {
      left.abort();
    });
    void this.#run(speech, mailbox, left.signal);
    return mailbox;
  }

  /** Ends all threads; clauses that wait or run fail with SESSION_CLOSED. May be called twice. */
  async close(): Promise<void> {
    const closed = new ParleyError('SESSION_CLOSED');
    this.#closing.abort(closed);
    this.#slots.close(closed);
    const lanes = this.#lanes.splice(0).filter((lane) => lane !== undefined);
    for (const lane of lanes) {
      lane.failReady(closed);
      this.#release(lane, closed);
    }
    await Promise.all(lanes.map((lane) => lane.worker.terminate()));
  }

  async #run(speech: FliteSpeech, mailbox: Mailbox<EngineAudio>, left: AbortSignal): Promise<void> {
    let slot: number | undefined;
    try {
      slot = await this.#slots.take(left);
      left.throwIfAborted();
      this.#begin(slot, speech, mailbox, left);
    } catch (error) {
      if (slot !== undefined) this.#slots.give(slot);
      mailbox.fail(error);
    }
  }

  #begin(slot: number, speech: FliteSpeech, mailbox: Mailbox<EngineAudio>, left: AbortSignal): void {
    const lane = this.#lanes[slot] ?? this.#start(slot);
    const id = this.#nextId++;
    lane.worker.postMessage({ id, ...speech } satisfies FliteJob);
    lane.worker.ref();
    const release = (): void => {
      this.#slots.give(slot);
    };
    lane.running = { id, mailbox, tokens: [], release };
    left.addEventListener('abort', () => Atomics.store(lane.stop, 0, id), { once: true });
  }

  #start(slot: number): Lane {
    this.#closing.signal.throwIfAborted();
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const workerData: FliteWorkerData = { module: this.#module, stop: stop.buffer };
    const worker = new Worker(this.#entry, { workerData, execArgv: [] });
    let becomeReady: () => void = () => undefined;
    let failReady: (error: ParleyError) => void = () => undefined;
    const ready = new Promise<void>((resolve, reject) => {
      becomeReady = resolve;
      failReady = reject;
    });
    ready.catch(() => undefined); // callers that wait for the thread get the error; there may be none
    const lane: Lane = { worker, ready, failReady, stop, running: undefined, memoryBytes: 0 };
    this.#lanes[slot] = lane;

    const died = (reason: string): void => {
      if (this.#lanes[slot] !== lane) return;
      this.#lanes[slot] = undefined;
      this.#crashes++;
      const error = new ParleyError('PROVIDER_FAILED', { provider: 'flite', reason });
      failReady(error);
      this.#release(lane, error);
    };
    worker.on('error', (error) => {
      died(reasonOf(error));
    });
    worker.on('exit', (code) => {
      died(`its thread ended with code ${code}`);
    });
    worker.on('message', (reply: FliteReply) => {
      if (reply.type === 'ready') {
        this.#module = reply.module;
        becomeReady();
        if (lane.running === undefined) worker.unref();
      } else {
        this.#onReply(lane, reply);
      }
    });
    return lane;
  }

  #onReply(lane: Lane, reply: Exclude<FliteReply, { type: 'ready' }>): void {
    const { running } = lane;
    if (running?.id !== reply.id) return;
    switch (reply.type) {
      case 'tokens':
        running.tokens = reply.tokens;
        break;
      case 'audio':
        running.mailbox.push({ samples: reply.samples, sampleRateHz: reply.sampleRateHz, tokens: running.tokens });
        break;
      case 'failed':
        this.#release(lane, new ParleyError('PROVIDER_FAILED', { provider: 'flite', reason: reply.reason }));
        break;
      case 'done':
        lane.memoryBytes = reply.memoryBytes;
        this.#release(lane);
        break;
    }
  }

  /** The thread is free again; an idle thread does not keep the process up. */
  #release(lane: Lane, error?: ParleyError): void {
    const { running } = lane;
    if (running === undefined) return;
    lane.running = undefined;
    lane.worker.unref();
    if (error === undefined) running.mailbox.close();
    else running.mailbox.fail(error);
    running.release();
  }
}
