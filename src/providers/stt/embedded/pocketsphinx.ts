import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, closeSync, constants, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Cancel, Clock } from '../../../base/clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { RealClock } from '../../../base/real-clock.js';

/** Debian's packages pocketsphinx (the program) and pocketsphinx-en-us (the models, in one folder). */
export interface PocketSphinxFiles {
  program: string;
  models: string;
}

const PROGRAM = 'pocketsphinx_batch';
const MODELS = '/usr/share/pocketsphinx/model/en-us';
const MODEL_FILES = { acoustic: 'en-us', language: 'en-us.lm.bin', dictionary: 'cmudict-en-us.dict' } as const;

/** Where both packages are installed, their files; else null. */
export function findPocketSphinx(
  searchPath: string | undefined = process.env['PATH'],
  models = MODELS,
): PocketSphinxFiles | null {
  const programs = (searchPath ?? '').split(delimiter).filter((folder) => folder !== '');
  const program = programs.map((folder) => join(folder, PROGRAM)).find((path) => isThere(path, constants.X_OK));
  const isWhole = Object.values(MODEL_FILES).every((file) => isThere(join(models, file), constants.R_OK));
  return program !== undefined && isWhole ? { program, models } : null;
}

function isThere(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** A word of a transcript, in the decoder's frames of 10 ms, both ends inclusive. */
export interface SphinxWord {
  text: string;
  startFrame: number;
  endFrame: number;
  /** Log-likelihood of the sound, and log-probability of the word; the last one's with that of the end after it. */
  acoustic: number;
  language: number;
}

interface Job {
  samples: Int16Array;
  /** When nobody waits any more; null = never. */
  dueMs: number | null;
  resolve: (words: readonly SphinxWord[] | null) => void;
  reject: (error: ParleyError) => void;
}

interface Running {
  child: ChildProcess;
  /** The file that it reads the audio from. */
  audio: number;
  startedMs: number;
  job: Job | null;
  cancelHang: Cancel | null;
}

/** A process that has no answer after this time, its start included, hangs. */
const HANG_MS = 60_000;
/** A process that lived shorter than this is not started again before the pause is over. */
const LIVED_MS = 5_000;
const PAUSE_MS = 30_000;
const NAME = 'PocketSphinx';

/**
 * Debian's pocketsphinx_batch as a child process that all sessions share: it decodes one utterance after the other, as
 * a whole and independently of each other, with a general language model.
 *
 * The audio is in one file without a name, which the process opens as /proc/self/fd/3; names and transcripts go
 * through pipes. (Node's own pipes are sockets, which it cannot open: hence the `cat`s.)
 */
export class PocketSphinx {
  readonly #files: PocketSphinxFiles;
  readonly #clock: Clock;
  readonly #queue: Job[] = [];
  #running: Running | null = null;
  #notBeforeMs = 0;
  #utterance = 0;
  #closed = false;

  constructor(files: PocketSphinxFiles, clock: Clock = new RealClock()) {
    this.#files = files;
    this.#clock = clock;
  }

  /** The process id; null = not running. */
  get pid(): number | null {
    return this.#running?.child.pid ?? null;
  }

  /** Loads the models, unless they are. Later calls report what fails. */
  start(): void {
    if (this.#closed || this.#running !== null || this.#clock.nowMs() < this.#notBeforeMs) return;
    try {
      this.#running = this.#begin();
    } catch {
      this.#notBeforeMs = this.#clock.nowMs() + PAUSE_MS;
    }
  }

  /**
   * The words of an utterance at 16 kHz.
   * @param withinMs how long the answer is of use; null = as long as it takes
   * @returns null = not in time, or the process is not running
   * @throws ParleyError PROVIDER_FAILED if the process dies meanwhile
   */
  decode(samples: Int16Array, withinMs: number | null): Promise<readonly SphinxWord[] | null> {
    this.start();
    if (this.#running === null || samples.length === 0) return Promise.resolve(null);
    // It is still busy with what nobody waits for any more: who asks now would wait in vain, too.
    const busyMs = this.#running.job?.dueMs ?? null;
    if (busyMs !== null && busyMs <= this.#clock.nowMs()) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      let isOver = false;
      let cancel: Cancel | null = null;
      const over = (): boolean => {
        cancel?.();
        return isOver === (isOver = true);
      };
      const dueMs = withinMs === null ? null : this.#clock.nowMs() + withinMs;
      if (dueMs !== null) {
        cancel = this.#clock.schedule(dueMs, () => {
          if (!over()) resolve(null);
        });
      }
      this.#queue.push({
        samples,
        dueMs,
        resolve: (words) => {
          if (!over()) resolve(words);
        },
        reject: (error) => {
          if (!over()) reject(error);
        },
      });
      this.#next();
    });
  }

  /** Ends the process. May be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    const child = this.#running?.child;
    const isOver = child === undefined || child.exitCode !== null || child.signalCode !== null;
    const gone = isOver ? null : new Promise((resolve) => child.once('close', resolve));
    if (gone !== null) child?.ref();
    this.#end(null);
    await gone;
  }

  #begin(): Running {
    const audio = namelessFile();
    try {
      const { program, models } = this.#files;
      const model = (file: keyof typeof MODEL_FILES): string => join(models, MODEL_FILES[file]);
      // Its own exit is not the shell's: `echo` tells it. Calls come first.
      const script = 'cat | { nice -n 5 "$@"; echo "exit $?"; } | cat';
      const options = {
        hmm: model('acoustic'),
        lm: model('language'),
        dict: model('dictionary'),
        ctl: '/dev/stdin',
        cepdir: '/proc/self',
        cepext: '',
        adcin: 'yes',
        hypseg: '/dev/stdout',
        logfn: '/dev/null',
      };
      const given = Object.entries(options).flatMap(([name, value]) => [`-${name}`, value]);
      const child = spawn('/bin/sh', ['-c', script, 'sh', program, ...given], {
        stdio: ['pipe', 'pipe', 'ignore', audio],
        env: { PATH: process.env['PATH'] },
        // A group of its own, so that all of it can be ended.
        detached: true,
      });
      const running: Running = { child, audio, startedMs: this.#clock.nowMs(), job: null, cancelHang: null };
      const died = (reason: string): void => {
        if (running === this.#running) this.#end(reason);
      };
      let text = '';
      child.stdout?.on('data', (data: Buffer) => {
        text += data.toString('latin1');
        const lines = text.split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) if (running === this.#running) this.#onLine(running, line);
      });
      child.stdin?.on('error', () => undefined); // `close` says why
      child.on('error', (error) => {
        died(reasonOf(error));
      });
      child.on('close', () => {
        died('its process ended');
      });
      keepAlive(running, false);
      return running;
    } catch (error) {
      closeSync(audio);
      throw error;
    }
  }

  #next(): void {
    const running = this.#running;
    if (running === null || running.job !== null) return;
    const nowMs = this.#clock.nowMs();
    let job = this.#queue.shift();
    while (job !== undefined && job.dueMs !== null && job.dueMs <= nowMs) job = this.#queue.shift();
    keepAlive(running, job !== undefined);
    if (job === undefined) return;
    running.job = job;
    running.cancelHang = this.#clock.schedule(nowMs + HANG_MS, () => {
      if (running === this.#running) this.#end(`no answer within ${String(HANG_MS / 1000)} s`);
    });
    const { samples } = job;
    try {
      ftruncateSync(running.audio);
      const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
      writeSync(running.audio, bytes, 0, bytes.length, 0);
    } catch (error) {
      this.#end(reasonOf(error));
      return;
    }
    running.child.stdin?.write(`fd/3 0 -1 ${String(++this.#utterance)}\n`);
  }

  #onLine(running: Running, line: string): void {
    const exit = /^exit (\d+)$/.exec(line);
    if (exit !== null) {
      this.#end(`its process ended with code ${exit[1] ?? ''}`);
      return;
    }
    const words = parseSegments(line, this.#utterance);
    if (words === null) return;
    const { job } = running;
    running.cancelHang?.();
    running.job = null;
    job?.resolve(words);
    this.#next();
  }

  /** @param reason null = it is closed */
  #end(reason: string | null): void {
    const running = this.#running;
    this.#running = null;
    const error =
      reason === null
        ? new ParleyError('SESSION_CLOSED')
        : new ParleyError('PROVIDER_FAILED', { provider: NAME, reason });
    if (running !== null) {
      running.cancelHang?.();
      const { pid } = running.child;
      try {
        if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      } catch {
        // it is over
      }
      closeSync(running.audio);
      if (this.#clock.nowMs() - running.startedMs < LIVED_MS) this.#notBeforeMs = this.#clock.nowMs() + PAUSE_MS;
    }
    const waiting = [...(running?.job == null ? [] : [running.job]), ...this.#queue.splice(0)];
    for (const job of waiting) job.reject(error);
  }
}

/** While idle it does not keep the parent process alive. */
function keepAlive({ child }: Running, isBusy: boolean): void {
  for (const part of [child, child.stdin as Socket | null, child.stdout as Socket | null]) {
    if (isBusy) part?.ref();
    else part?.unref();
  }
}

/** A file that ends with its last descriptor, in memory where that can be had: the audio of calls is not kept. */
function namelessFile(): number {
  const shared = '/dev/shm';
  const folder = mkdtempSync(join(isThere(shared, constants.W_OK) ? shared : tmpdir(), 'parley-'));
  try {
    return openSync(join(folder, 'audio'), 'wx+', 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Scores are logarithms to the base 1.0001; those of words in units of 1024, and weighted by 6.5. */
const ACOUSTIC_UNIT = Math.log(1.0001);
const LANGUAGE_UNIT = (1024 * ACOUSTIC_UNIT) / 6.5;

/**
 * The words in a line of `-hypseg`: the utterance, four scores, then the start, scores and text of each word and filler,
 * and the last frame. Null for a line about something else.
 */
export function parseSegments(line: string, utterance: number): SphinxWord[] | null {
  const [id, ...fields] = line.trim().split(/\s+/);
  if (id !== String(utterance) || fields[0] !== 'S') return null;
  const rest = fields.slice(8);
  const words: SphinxWord[] = [];
  for (let at = 0; at + 4 < rest.length; at += 4) {
    const [start = '', acoustic = '', language = '', word = ''] = rest.slice(at, at + 4);
    const last = words.at(-1);
    if (word === '</s>' && last !== undefined) last.language += Number(language) * LANGUAGE_UNIT;
    if (/^[<[+]/.test(word)) continue;
    words.push({
      text: word.replace(/\(\d+\)$/, ''),
      startFrame: Number(start),
      endFrame: Number(rest[at + 4]) - 1,
      acoustic: Number(acoustic) * ACOUSTIC_UNIT,
      language: Number(language) * LANGUAGE_UNIT,
    });
  }
  return words;
}
