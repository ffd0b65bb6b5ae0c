import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../base/clock.js';
import { ParleyError } from '../base/errors.js';
import { PcmReader, pcmBytes } from './pcm.js';
import type { Transport, TransportMessage, TransportSink } from './transport.js';

/** Programs that record the microphone and play to the loudspeaker: raw 16 kHz mono PCM on their pipes. */
export interface SoundPrograms {
  record: readonly [command: string, ...args: string[]];
  play: readonly [command: string, ...args: string[]];
}

/** Candidates in order: ALSA's tools, then sox. */
export const SOUND_PROGRAMS: readonly SoundPrograms[] = [
  {
    record: ['arecord', '-q', '-t', 'raw', '-f', 'S16_LE', '-r', '16000', '-c', '1', '--buffer-time=80000'],
    play: ['aplay', '-q', '-t', 'raw', '-f', 'S16_LE', '-r', '16000', '-c', '1', '--buffer-time=80000'],
  },
  {
    record: ['rec', '-q', '-t', 'raw', '-e', 'signed', '-b', '16', '-L', '-r', '16000', '-c', '1', '-'],
    play: ['play', '-q', '-t', 'raw', '-e', 'signed', '-b', '16', '-L', '-r', '16000', '-c', '1', '-'],
  },
];

export interface SoundDeviceOptions {
  programs: SoundPrograms;
  /** Times the close: programs that do not exit are killed. */
  clock: Clock;
  onMessage?: (message: TransportMessage) => void;
}

const SILENCE = Buffer.alloc(640);
/** Maximum audio that waits for the loudspeaker, in bytes (300 ms); more is dropped. */
const MAX_WAITING_BYTES = 9600;

/** Deadline for the player to finish and the recorder to stop. */
const CLOSE_TIMEOUT_MS = 2000;

/** The machine's microphone and loudspeaker. */
export class SoundDeviceTransport implements Transport {
  readonly name = 'sound device';
  readonly inputRateHz = 16_000;
  readonly outputRateHz = 16_000;
  readonly #options: SoundDeviceOptions;
  #sink: TransportSink | null = null;
  #recorder: ChildProcess | null = null;
  #player: ChildProcess | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: SoundDeviceOptions) {
    this.#options = options;
  }

  start(sink: TransportSink): void {
    this.#sink = sink;
    if (this.#closing !== null) {
      this.#gone();
      return;
    }
    const pcm = new PcmReader();
    const { record, play } = this.#options.programs;
    this.#recorder = this.#spawn(record, ['ignore', 'pipe', 'pipe']);
    this.#recorder.stdout?.on('data', (chunk: Buffer) => {
      this.#sink?.audio(pcm.read(chunk));
    });
    this.#player = this.#spawn(play, ['pipe', 'ignore', 'pipe']);
    this.#player.stdin?.on('error', () => undefined); // the exit code tells
  }

  play(frame: Int16Array | null): void {
    const stdin = this.#player?.stdin;
    if (stdin == null || stdin.writableLength > MAX_WAITING_BYTES) return;
    stdin.write(frame === null ? SILENCE : pcmBytes(frame)); // a player without data would underrun and click
  }

  send(message: TransportMessage): void {
    this.#options.onMessage?.(message);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const children = [this.#recorder, this.#player].filter((child) => child !== null);
    this.#gone();
    this.#recorder?.kill();
    this.#player?.stdin?.end(); // lets it finish playing
    const { clock } = this.#options;
    const cancel = clock.schedule(clock.nowMs() + CLOSE_TIMEOUT_MS, () => {
      for (const child of children) child.kill('SIGKILL');
    });
    await Promise.all(children.map(exited));
    cancel();
  }

  #spawn([command, ...args]: SoundPrograms['record'], stdio: ('pipe' | 'ignore')[]): ChildProcess {
    const child = spawn(command, args, { stdio });
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(-500);
    });
    child.once('error', (error) => {
      this.#fail(command, error.message);
    });
    child.once('exit', (code) => {
      if (this.#closing === null) this.#fail(command, said.trim() || `it ended with code ${String(code)}`);
    });
    return child;
  }

  #fail(command: string, reason: string): void {
    this.#gone(new ParleyError('SOUND_DEVICE_FAILED', { command, reason }));
    void this.close();
  }

  #gone(error?: Error): void {
    const sink = this.#sink;
    this.#sink = null;
    sink?.closed(error);
  }
}

function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
}
