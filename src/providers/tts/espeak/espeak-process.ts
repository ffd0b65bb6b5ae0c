import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { baseLanguage } from '../../../base/language.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { Mailbox } from '../../mailbox.js';
import type { EngineAudio } from '../speech.js';
import { WavStream } from '../shared/wav-stream.js';

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

/** The voices that the program has. */
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
