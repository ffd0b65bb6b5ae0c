import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Recording, type RecordingFile, type RecordingSink } from '../../../src/session/record/recording.js';
import { recordingFolder, recordingLeftIn } from '../../../src/session/record/recording-folder.js';
import type { TransportSink } from '../../../src/transports/transport.js';
import { MemoryTransport } from '../../../src/transports/memory.js';

const DEAF: TransportSink = {
  audio: () => undefined,
  digits: () => undefined,
  text: () => undefined,
  formResult: () => undefined,
  closed: () => undefined,
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-recordings-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A line whose two sides are written by hand, at chosen moments. */
class Rig {
  readonly clock = new VirtualClock();
  readonly faults: string[] = [];
  readonly memory: MemoryTransport;
  readonly recording: Recording;

  constructor(sink: RecordingSink = recordingFolder(folder), rateHz = 16_000) {
    this.memory = new MemoryTransport({ sampleRateHz: rateHz });
    this.recording = new Recording({
      sink,
      sessionId: 's1',
      transport: this.memory,
      clock: this.clock,
      onFault: (reason) => this.faults.push(reason),
    });
    this.recording.line.start(DEAF);
  }

  async user(atMs: number, ...values: number[]): Promise<void> {
    await this.clock.advanceTo(atMs);
    for (const value of values) this.memory.pushAudio(new Int16Array(320).fill(value));
  }

  async agent(atMs: number, value: number | null): Promise<void> {
    await this.clock.advanceTo(atMs);
    this.recording.line.play(value === null ? null : new Int16Array(320).fill(value));
  }

  async close(): Promise<void> {
    await closed(this.recording, this.clock);
  }

  async result(): Promise<{ user: Run[]; agent: Run[]; samples: number }> {
    await this.close();
    const wav = decodeWav(readFileSync(this.recording.path ?? ''));
    expect(wav.warnings).toEqual([]);
    const [user = new Int16Array(), agent = new Int16Array()] = wav.channels;
    return { user: runs(user), agent: runs(agent), samples: user.length };
  }
}

async function closed(recording: Recording, clock: VirtualClock): Promise<void> {
  let done = false;
  void recording.close().then(() => (done = true));
  await clock.runUntil(() => done);
}

type Run = [value: number, from: number, to: number];

/** Where which value stands, silence left out. */
function runs(samples: Int16Array): Run[] {
  const found: Run[] = [];
  samples.forEach((value, at) => {
    const last = found.at(-1);
    if (last !== undefined && last[0] === value && last[2] === at) last[2] = at + 1;
    else if (value !== 0) found.push([value, at, at + 1]);
  });
  return found;
}

describe('a recording', () => {
  it('has the user on the left up to now and the agent on the right from now on, to the sample', async () => {
    const rig = new Rig();
    await rig.user(20, 1);
    await rig.agent(20, null);
    await rig.user(40, 2);
    await rig.agent(40, 7);
    await rig.agent(60, 8);
    expect(await rig.result()).toEqual({
      user: [
        [1, 0, 320],
        [2, 320, 640],
      ],
      agent: [
        [7, 640, 960],
        [8, 960, 1280],
      ],
      samples: 1280,
    });
  });

  it('puts a frame that comes early where it is heard, and the next ones right behind it', async () => {
    const rig = new Rig();
    await rig.agent(20, null);
    await rig.agent(27, 1); // hurried: a tick early, and one silent tick is left out for it
    await rig.agent(40, 2);
    await rig.agent(60, 3);
    await rig.agent(100, null);
    await rig.agent(140, 4);
    expect((await rig.result()).agent).toEqual([
      [1, 432, 752],
      [2, 752, 1072],
      [3, 1072, 1392],
      [4, 2240, 2560],
    ]);
  });

  it('does not tear what comes late and is made up, and keeps real gaps', async () => {
    const rig = new Rig();
    await rig.agent(20, 1);
    await rig.agent(71, 2); // two late ticks at once
    await rig.agent(71, 3);
    await rig.agent(300, 4); // ticks were skipped: the line had nothing
    await rig.user(320, 1); // the first sound ever, so its place is known
    await rig.user(400, 2); // jitter
    await rig.user(1000, 3); // a gap
    const { user, agent } = await rig.result();
    expect(agent).toEqual([
      [1, 320, 640],
      [2, 640, 960],
      [3, 960, 1280],
      [4, 4800, 5120],
    ]);
    expect(user).toEqual([
      [1, 4800, 5120],
      [2, 5120, 5440],
      [3, 15_680, 16_000],
    ]);
  });

  it('takes a stalled line for no gap once what it had kept back arrives', async () => {
    const rig = new Rig();
    await rig.user(20, 1);
    await rig.user(520, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26);
    const { user } = await rig.result();
    // All but the tolerated last of it lies where it would have been without the stall.
    expect(user.at(-1)?.[2]).toBeLessThanOrEqual(8320 + 640);
    expect(user.map(([value]) => value)).toEqual(Array.from({ length: 26 }, (_, at) => at + 1));
  });

  it('brings two rates together without shifting either', async () => {
    const memory = new MemoryTransport({ sampleRateHz: 8000 });
    Object.defineProperty(memory, 'outputRateHz', { value: 16_000 });
    const clock = new VirtualClock();
    const recording = new Recording({
      sink: recordingFolder(folder),
      sessionId: 's1',
      transport: memory,
      clock,
      onFault: (reason) => expect.fail(reason),
    });
    recording.line.start(DEAF);
    // A pulse at 10 ms after each whole second on both sides.
    for (let tick = 1; tick <= 400; tick++) {
      await clock.advanceTo(20 * tick);
      const user = new Int16Array(160);
      if ((tick - 1) % 50 === 0) user.fill(8000, 70, 90);
      memory.pushAudio(user);
      const agent = new Int16Array(320);
      if (tick % 50 === 0) agent.fill(8000, 140, 180);
      recording.line.play(agent);
    }
    await closed(recording, clock);
    const { channels, sampleRateHz } = decodeWav(readFileSync(recording.path ?? ''));
    expect(sampleRateHz).toBe(16_000);
    const centre = (samples: Int16Array | undefined, second: number): number => {
      const part = samples?.subarray(second * 16_000, (second + 1) * 16_000) ?? [];
      let [weight, sum] = [0, 0];
      part.forEach((value, at) => {
        weight += value;
        sum += value * at;
      });
      return sum / weight;
    };
    for (const second of [1, 4, 7]) {
      expect(Math.abs(centre(channels[0], second) - centre(channels[1], second))).toBeLessThan(1);
    }
  });

  it('never overwrites another one', async () => {
    expect(recordingLeftIn(folder, 's1')).toBeNull();
    for (const name of ['s1.wav', 's1-2.wav', 's1-3.wav']) {
      const rig = new Rig();
      await rig.agent(20, 1);
      await rig.close();
      expect(recordingLeftIn(folder, 's1')).toBe(join(folder, name));
    }
    expect(readdirSync(folder).toSorted()).toEqual(['s1-2.wav', 's1-3.wav', 's1.wav']);
    expect(statSync(join(folder, 's1-2.wav')).mode & 0o777).toBe(0o600);
  });

  it('makes no file for a line that never opened', async () => {
    const [memory, clock] = [new MemoryTransport(), new VirtualClock()];
    const recording = new Recording({
      sink: recordingFolder(folder),
      sessionId: 's1',
      transport: memory,
      clock,
      onFault: (reason) => expect.fail(reason),
    });
    await closed(recording, clock);
    await closed(recording, clock);
    expect(recording.path).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('lets no fault of the disk through to the line', async () => {
    const file: RecordingFile = {
      path: 'somewhere.wav',
      write: () => Promise.reject(new Error('the disk is full')),
      close: () => Promise.resolve(),
    };
    const full = new Rig({ open: () => Promise.resolve(file) });
    for (let tick = 1; tick < 400; tick++) await full.agent(20 * tick, 1);
    await full.close();
    expect(full.faults).toEqual(['the disk is full']);

    writeFileSync(join(folder, 'no-folder'), '');
    const nowhere = new Rig(recordingFolder(join(folder, 'no-folder')));
    await nowhere.agent(20, 1);
    await nowhere.close();
    expect(nowhere.faults).toEqual([expect.stringMatching(/^Cannot write .*no-folder.s1\.wav: /)]);
    expect(nowhere.recording.path).toBeNull();
  });

  it('gives up a disk that hangs, and does not wait for it at the end', async () => {
    // Real time by its look: the recording may not wait for a disk then.
    class LiveClock extends VirtualClock {
      override readonly virtual = false as true;
      override settle<T>(work: Promise<T>): Promise<T> {
        return work;
      }
    }
    const clock = new LiveClock();
    const faults: string[] = [];
    const memory = new MemoryTransport();
    const recording = new Recording({
      sink: { open: () => new Promise<RecordingFile>(() => undefined) },
      sessionId: 's1',
      transport: memory,
      clock,
      onFault: (reason) => faults.push(reason),
    });
    recording.line.start(DEAF);
    for (let tick = 1; tick <= 1500; tick++) {
      await clock.advanceTo(20 * tick);
      recording.line.play(null);
    }
    expect(faults).toEqual(['the disk is too slow']);
    const closing = recording.close();
    await clock.advanceBy(5000);
    await closing;
    expect(faults).toEqual(['the disk is too slow', 'still not closed after 5000 ms']);
  });

  it('is readable after a crash', { timeout: 30_000 }, async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', CRASHING], {
      cwd: new URL('../../..', import.meta.url).pathname,
      env: { ...process.env, FOLDER: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    expect(said.toString()).toBe('recorded\n');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const { channels, warnings, sampleRateHz } = decodeWav(readFileSync(join(folder, 'crash.wav')));
    expect(warnings).toEqual([]);
    expect(sampleRateHz).toBe(16_000);
    // Ten seconds were spoken; the last three had not settled, or not all of them when the end came.
    const [user, agent] = channels.map(({ length }) => length / 16_000);
    expect(user).toBe(agent);
    expect([7, 8, 9, 10]).toContain(user);
    expect(channels[1]?.at(-1)).toBe(5);
  });
});

/** Ten seconds of a call in a process that then stands still, once its disk has what is due. */
const CRASHING = `
  import { VirtualClock } from './dist/base/virtual-clock.js';
  import { Recording } from './dist/session/record/recording.js';
  import { recordingFolder, recordingLeftIn } from './dist/session/record/recording-folder.js';
  import { MemoryTransport } from './dist/transports/memory.js';
  const clock = new VirtualClock();
  const transport = new MemoryTransport();
  const folder = recordingFolder(process.env.FOLDER);
  let pieces = 0;
  const sink = {
    async open(of) {
      const file = await folder.open(of);
      return {
        path: file.path,
        close: () => file.close(),
        async write(user, agent) {
          await file.write(user, agent);
          if (++pieces === 7) process.stdout.write('recorded\\n');
        },
      };
    },
  };
  const recording = new Recording({ sink, sessionId: 'crash', transport, clock, onFault: console.error });
  const none = () => undefined;
  recording.line.start({ audio: none, digits: none, text: none, formResult: none, closed: none });
  for (let tick = 1; tick <= 500; tick++) {
    await clock.advanceTo(20 * tick);
    recording.line.play(new Int16Array(320).fill(5));
  }
  setInterval(none, 1000);
`;
