import { availableParallelism } from 'node:os';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { RealClock } from '../../base/real-clock.js';
import { Deadlines } from '../deadlines.js';
import { Mailbox } from '../mailbox.js';
import { Slots } from './slots.js';
import { espeakPhonemes } from './text/phonemes.js';
import { withPhonemes } from './text/spoken-words.js';
import { speak, type EngineAudio, ESPEAK_LATENCY, parseVoiceSettings, type VoiceSettings } from './speech.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice } from './tts.js';
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { baseLanguage } from '../../base/language.js';
import { WavStream } from './shared/wav-stream.js';

export interface EspeakOptions {
  /** The program. Default: `espeak-ng` where PATH has it. */
  program?: string;
  /** How many processes may run at once. Default: the machine's cores. */
  processes?: number;
  /** The longest wait for the next piece of audio, queueing included, in milliseconds. Default 5000. */
  timeoutMs?: number;
}

const SAMPLE_RATE_HZ = 22_050;
const WORDS_PER_MINUTE = 175;
/** The variants that espeak-ng ships for every language: `de+f2`. */
const VARIANT = /^\+[mf][1-5]$/;

/**
 * Debian's espeak-ng as a child process for each clause: some hundred languages in a robot's voice. It is under the
 * GPL, so it is never linked and not part of this package: the operator installs it.
 */
export class EspeakTts implements TtsProvider {
  readonly name = 'espeak-ng';
  readonly virtualTime = true;
  readonly #program: string | undefined;
  readonly #slots: Slots;
  readonly #timeoutMs: number;
  readonly #closing = new AbortController();
  #listing: Promise<readonly EspeakVoice[]> | undefined;
  #voices: readonly EspeakVoice[] = [];

  constructor(options: EspeakOptions = {}) {
    this.#program = options.program ?? findEspeak();
    this.#slots = new Slots(Math.max(1, options.processes ?? availableParallelism()));
    this.#timeoutMs = options.timeoutMs ?? 5000;
  }

  /** Whether the program is on this machine. */
  get available(): boolean {
    return this.#program !== undefined;
  }

  /** Asks the program for its voices. */
  async warmUp(): Promise<void> {
    await this.#known();
  }

  /** Whether it has a voice for a language of the interface. */
  async speaks(language: string): Promise<boolean> {
    return this.available && espeakVoiceFor(language, await this.#known()) !== undefined;
  }

  /**
   * @throws ParleyError TTS_ENGINE_MISSING, TTS_VOICE_UNKNOWN, TTS_SETTING_INVALID, TTS_LANGUAGE_UNSUPPORTED,
   * PROVIDER_FAILED, PROVIDER_TIMEOUT, SESSION_CLOSED
   */
  async *synthesize(request: TtsRequest): AsyncGenerator<TtsAudio> {
    const settings = parseVoiceSettings(this.name, request.settings);
    const program = this.#installed();
    const voice = voiceOf(request, await this.#known());
    yield* speak(request, settings, {
      provider: this.name,
      latency: ESPEAK_LATENCY,
      timeoutMs: this.#timeoutMs,
      takesPhonemes: true,
      pronounce: (word) => word.replaceAll('[[', ''),
      speakClause: (text) => {
        const said = withPhonemes(text, (_word, ipa) => `[[${espeakPhonemes(ipa, request.language)}]]`);
        return this.#speakClause(program, { text: said, voice, ...speedAndPitch(settings) });
      },
    });
  }

  /** @throws ParleyError TTS_SETTING_INVALID */
  checkSettings(settings: TtsRequest['settings']): void {
    parseVoiceSettings(this.name, settings);
  }

  /** Empty before `warmUp` or the first request. */
  voices(): readonly TtsVoice[] {
    return this.#voices.map(({ id, name }) => ({ id, name, language: id, sampleRateHz: SAMPLE_RATE_HZ }));
  }

  /** Kills what runs. May be called twice. */
  close(): Promise<void> {
    const closed = new ParleyError('SESSION_CLOSED');
    this.#slots.close(closed);
    this.#closing.abort(closed);
    return Promise.resolve();
  }

  #installed(): string {
    if (this.#program === undefined) {
      throw new ParleyError('TTS_ENGINE_MISSING', {
        provider: this.name,
        reason: 'the program espeak-ng is not on PATH; install it (Debian: apt-get install espeak-ng)',
      });
    }
    return this.#program;
  }

  /** The list is requested once; after a failure the next caller retries. */
  #known(): Promise<readonly EspeakVoice[]> {
    this.#listing ??= this.#list().catch((error: unknown) => {
      this.#listing = undefined;
      throw error;
    });
    return this.#listing;
  }

  /** On real time even in a virtual session: the list says nothing about what is decided when. */
  async #list(): Promise<readonly EspeakVoice[]> {
    const program = this.#installed();
    const deadlines = new Deadlines(new RealClock(), this.name, this.#closing.signal);
    deadlines.within(this.#timeoutMs);
    try {
      this.#voices = await listEspeakVoices(program, deadlines.signal);
      return this.#voices;
    } finally {
      deadlines.end();
    }
  }

  #speakClause(program: string, speech: EspeakSpeech): Mailbox<EngineAudio> {
    const left = new AbortController();
    const mailbox = new Mailbox<EngineAudio>(() => {
      left.abort();
    });
    void this.#run(program, speech, mailbox, left.signal);
    return mailbox;
  }

  async #run(program: string, speech: EspeakSpeech, out: Mailbox<EngineAudio>, left: AbortSignal): Promise<void> {
    let slot: number | undefined;
    try {
      slot = await this.#slots.take(left);
      const source = runEspeak(program, speech);
      const end = (): void => void source.return();
      const stop = AbortSignal.any([left, this.#closing.signal]);
      if (stop.aborted) end();
      stop.addEventListener('abort', end, { once: true });
      for await (const block of source) out.push(block);
      stop.throwIfAborted();
      out.close();
    } catch (error) {
      out.fail(error);
    } finally {
      if (slot !== undefined) this.#slots.give(slot);
    }
  }
}

function voiceOf({ voiceId, language }: TtsRequest, known: readonly EspeakVoice[]): string {
  if (voiceId === null) {
    const voice = espeakVoiceFor(language, known);
    if (voice !== undefined) return voice;
    throw new ParleyError('TTS_LANGUAGE_UNSUPPORTED', { language, reason: 'espeak-ng has no voice for it' });
  }
  const [base, variant] = splitVariant(voiceId);
  const voice = known.find(({ id }) => id === base);
  // Behind some codes, `fr-fr` among them, espeak-ng leaves a variant out.
  if (voice !== undefined && (variant === '' || VARIANT.test(variant)))
    return variant === '' ? base : voice.file + variant;
  throw new ParleyError('TTS_VOICE_UNKNOWN', {
    provider: 'espeak-ng',
    voice: voiceId.slice(0, 100),
    known: `${known.map(({ id }) => id).join(', ')}; each also with +m1 to +m5 and +f1 to +f5`,
  });
}

function splitVariant(voiceId: string): [base: string, variant: string] {
  const plus = voiceId.indexOf('+');
  return plus < 0 ? [voiceId, ''] : [voiceId.slice(0, plus), voiceId.slice(plus)];
}

/** espeak-ng's scales: words a minute, and 0 to 99 for about an octave down to an octave up. */
function speedAndPitch({ rate, pitch }: VoiceSettings): Pick<EspeakSpeech, 'wordsPerMinute' | 'pitch'> {
  return {
    wordsPerMinute: Math.round(WORDS_PER_MINUTE * rate),
    pitch: Math.min(99, Math.round(50 + 50 * Math.log2(pitch))),
  };
}

/**
 * Languages of the interface whose espeak-ng voice has another code than theirs in lower case. What is not here is
 * looked up as it is, then without its region.
 */
const ALIASES: Readonly<Record<string, string>> = {
  'en-AU': 'en-gb',
  'en-IN': 'en-gb',
  'en-NZ': 'en-gb',
  en: 'en-us',
  multi: 'en-us',
  fr: 'fr-fr',
  'fr-CA': 'fr-fr',
  'de-CH': 'de',
  zh: 'cmn',
  'zh-TW': 'cmn',
  no: 'nb',
  nn: 'nb',
  mo: 'ro',
};

export interface EspeakVoice {
  /** espeak-ng's code of the language, such as `en-us` or `cmn`: what `-v` takes. */
  id: string;
  name: string;
  /** The same as the name of its file, such as `gmw/en-US`: what `-v` takes with a variant behind it. */
  file: string;
}

/** The table that `espeak-ng --voices` prints: priority, language, age and sex, name, file, others. */
export function parseEspeakVoices(table: string): EspeakVoice[] {
  const voices: EspeakVoice[] = [];
  for (const line of table.split('\n').slice(1)) {
    const [, id, , name, file] = line.trim().split(/\s+/);
    if (id === undefined || name === undefined || file === undefined) continue;
    voices.push({ id, name: name.replaceAll('_', ' '), file });
  }
  return voices;
}

/** espeak-ng's voice for a language of the interface, if it has one. */
export function espeakVoiceFor(language: string, voices: readonly EspeakVoice[]): string | undefined {
  const candidates = [ALIASES[language], language.toLowerCase(), baseLanguage(language)];
  return candidates.find((id) => id !== undefined && voices.some((voice) => voice.id === id));
}

/** Audio is handed over in blocks of this length, whatever pieces the pipe delivers. */
const BLOCK_MS = 80;
const MAX_ERROR_CHARS = 300;
const MAX_TABLE_BYTES = 1_000_000;

export interface EspeakSpeech {
  text: string;
  /** espeak-ng's code, checked by the caller. */
  voice: string;
  /** Words a minute, 80 to 450. */
  wordsPerMinute: number;
  /** 0 to 99; 50 is the voice's own. */
  pitch: number;
}

/** The program's path, or undefined where it is not installed. */
export function findEspeak(searchPath: string | undefined = process.env['PATH']): string | undefined {
  for (const folder of (searchPath ?? '').split(delimiter)) {
    if (folder === '') continue;
    const path = join(folder, 'espeak-ng');
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not in this folder
    }
  }
  return undefined;
}

/**
 * Starts espeak-ng for one clause. The text goes in by standard input, so that nothing in it is an option or reaches
 * a shell. Leaving the mailbox kills the process.
 */
export function runEspeak(program: string, speech: EspeakSpeech): Mailbox<EngineAudio> {
  const { voice, wordsPerMinute, pitch } = speech;
  const options = [
    '-v',
    voice,
    '-s',
    String(wordsPerMinute),
    '-p',
    String(pitch),
    '-b',
    '1',
    '-z',
    '--stdin',
    '--stdout',
  ];
  const child = spawn(program, options, { stdio: 'pipe' });
  const mailbox = new Mailbox<EngineAudio>(() => child.kill('SIGKILL'));
  const fail = (reason: string): void => {
    child.kill('SIGKILL');
    mailbox.fail(new ParleyError('PROVIDER_FAILED', { provider: 'espeak-ng', reason }));
  };
  const wav = new WavStream();
  const blocks = new Blocks((samples) => {
    mailbox.push({ samples, sampleRateHz: wav.sampleRateHz });
  });
  let complaint = '';
  child.stderr.on('data', (data: Buffer) => {
    complaint = (complaint + data.toString()).slice(0, MAX_ERROR_CHARS);
  });
  child.stdout.on('data', (data: Buffer) => {
    try {
      blocks.push(wav.push(data), (wav.sampleRateHz * BLOCK_MS) / 1000);
    } catch (error) {
      fail(reasonOf(error));
    }
  });
  child.on('error', (error) => {
    fail(reasonOf(error));
  });
  child.on('close', (code) => {
    if (code !== 0) {
      fail(complaint.trim() || `it ended with code ${String(code)}`);
      return;
    }
    try {
      wav.end();
      blocks.flush();
      mailbox.close();
    } catch (error) {
      fail(reasonOf(error));
    }
  });
  child.stdin.on('error', () => undefined); // it ended before it had read all: `close` says why
  child.stdin.end(`${speech.text}\n`);
  return mailbox;
}

export function listEspeakVoices(program: string, signal: AbortSignal): Promise<EspeakVoice[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['--voices'], { stdio: ['ignore', 'pipe', 'ignore'], signal, killSignal: 'SIGKILL' });
    let table = '';
    child.stdout.on('data', (data: Buffer) => {
      if (table.length < MAX_TABLE_BYTES) table += data.toString();
    });
    child.on('error', (error) => {
      const reason = reasonOf(error);
      reject(
        signal.aborted
          ? (signal.reason as Error)
          : new ParleyError('PROVIDER_FAILED', { provider: 'espeak-ng', reason }),
      );
    });
    child.on('close', () => {
      resolve(parseEspeakVoices(table));
    });
  });
}

/** Cuts a stream into blocks of equal length. */
class Blocks {
  readonly #give: (samples: Int16Array) => void;
  #held = new Int16Array(0);

  constructor(give: (samples: Int16Array) => void) {
    this.#give = give;
  }

  push(samples: Int16Array, blockSamples: number): void {
    const all = new Int16Array(this.#held.length + samples.length);
    all.set(this.#held);
    all.set(samples, this.#held.length);
    const size = Math.max(1, Math.floor(blockSamples));
    let at = 0;
    for (; at + size <= all.length; at += size) this.#give(all.slice(at, at + size));
    this.#held = all.slice(at);
  }

  flush(): void {
    if (this.#held.length > 0) this.#give(this.#held);
    this.#held = new Int16Array(0);
  }
}
