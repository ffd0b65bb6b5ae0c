import { chmodSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RealClock } from '../../../../src/base/real-clock.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import {
  findPocketSphinx,
  parseSegments,
  PocketSphinx,
  type PocketSphinxFiles,
} from '../../../../src/providers/stt/embedded/pocketsphinx.js';
import type { Hypothesis } from '../../../../src/providers/stt/embedded/protocol.js';
import { EmbeddedStt } from '../../../../src/providers/stt/embedded/provider.js';
import { SecondRecogniser } from '../../../../src/providers/stt/embedded/second-recogniser.js';
import { FliteTts } from '../../../../src/providers/tts/flite/flite.js';
import { Listener, speak } from './support.js';

let folder: string;
const open: { close(): Promise<void> }[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-sphinx-'));
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/**
 * A double of pocketsphinx_batch: it reads names from /dev/stdin and audio from /proc/self, and writes a line of
 * `-hypseg` for each. `decode` is shell, with the number of bytes of audio in `$bytes`.
 */
function double(decode: string): PocketSphinxFiles {
  const program = join(mkdtempSync(join(folder, 'bin-')), 'pocketsphinx_batch');
  const lines = [
    '#!/bin/sh',
    'while read file from to id; do',
    '  bytes=$(wc -c < /proc/self/$file)',
    `  ${decode}`,
    'done < /dev/stdin',
  ];
  writeFileSync(program, lines.join('\n'));
  chmodSync(program, 0o755);
  return { program, models: folder };
}

const ECHO = 'echo "$id S 0 T -9 A -7 L -2 0 -100 0 <s> 30 -400 -20 bytes 50 -300 -10 $bytes 80 -100 0 </s> 90"';

function sphinx(decode: string, clock?: VirtualClock): PocketSphinx {
  const one = new PocketSphinx(double(decode), clock);
  open.push(one);
  return one;
}

describe('PocketSphinx', () => {
  it('is found where the program and all models are', () => {
    const models = join(folder, 'models');
    mkdirSync(join(models, 'en-us'), { recursive: true });
    const { program } = double(ECHO);
    const path = `/nowhere::${program.replace(/\/[^/]*$/, '')}`;
    writeFileSync(join(models, 'en-us.lm.bin'), '');
    expect(findPocketSphinx(path, models)).toBeNull();
    writeFileSync(join(models, 'cmudict-en-us.dict'), '');
    expect(findPocketSphinx(path, models)).toEqual({ program, models });
    expect(findPocketSphinx('/nowhere', models)).toBeNull();
    expect(findPocketSphinx('', models)).toBeNull();
  });

  it('reads words, scores and times, without fillers and numbers of pronunciations', () => {
    const line =
      '7 S 0 T -5 A -4 L -1 0 -11 0 <s> 6 -80 -33 for(2) 63 -29 -52 <sil> 77 -32 -68 queen 104 -9 0 </s> 194';
    expect(parseSegments(line, 7)).toMatchObject([
      { text: 'for', startFrame: 6, endFrame: 62 },
      { text: 'queen', startFrame: 77, endFrame: 103 },
    ]);
    const [first, last] = parseSegments(line, 7) ?? [];
    expect(first?.acoustic).toBeCloseTo(-80 * Math.log(1.0001), 9);
    expect(first?.language).toBeCloseTo((-33 * 1024 * Math.log(1.0001)) / 6.5, 9);
    // The end of the sentence is likely or not, too.
    const { language } = parseSegments(line.replace('-9 0 </s>', '-9 -50 </s>'), 7)?.[1] ?? {};
    expect(language).toBeCloseTo(((-68 - 50) * 1024 * Math.log(1.0001)) / 6.5, 9);
    expect(last?.language).toBeGreaterThan(language ?? 0);
    expect(parseSegments(line, 8)).toBeNull();
    expect(parseSegments('', 7)).toBeNull();
    expect(parseSegments('7 S 0 T -5 A -4 L -1 0 -11 0 <s> 194', 7)).toEqual([]);
  });

  it('decodes one utterance after the other', async () => {
    const one = sphinx(ECHO);
    const decoded = await Promise.all([800, 16_000, 1].map((length) => one.decode(new Int16Array(length), null)));
    expect(decoded.map((words) => words?.map(({ text }) => text).join(' '))).toEqual([
      'bytes 1600',
      'bytes 32000',
      'bytes 2',
    ]);
    expect(await one.decode(new Int16Array(0), null)).toBeNull();
  });

  it('leaves no file of the audio', async () => {
    const one = sphinx(ECHO);
    await one.decode(new Int16Array(800), null);
    const audio = readlinkSync(`/proc/${String(one.pid)}/fd/3`);
    expect(audio).toMatch(/ \(deleted\)$/);
  });

  it('gives up on what is late, and goes on with the next', async () => {
    const clock = new VirtualClock();
    const one = sphinx(
      'if [ $bytes = 2 ]; then read never < /dev/null; while [ -d /proc/$PPID ] && [ ! -e ' +
        `${folder}/go ]; do sleep 0.01; done; fi; ${ECHO}`,
      clock,
    );
    const late = one.decode(new Int16Array(1), 500);
    const dropped = one.decode(new Int16Array(2), 500);
    const next = one.decode(new Int16Array(3), null);
    await clock.advanceBy(500);
    expect(await late).toBeNull();
    expect(await dropped).toBeNull();
    writeFileSync(join(folder, 'go'), '');
    expect((await next)?.map(({ text }) => text)).toEqual(['bytes', '6']);
  });

  it('lets nobody wait while it is busy with what is late', async () => {
    const clock = new VirtualClock();
    const one = sphinx('while true; do sleep 1; done', clock);
    const late = one.decode(new Int16Array(1), 500);
    await clock.advanceBy(500);
    expect(await late).toBeNull();
    expect(await one.decode(new Int16Array(1), 500)).toBeNull();
  });

  it('says how its process ended, and starts another after a pause', async () => {
    const clock = new VirtualClock();
    const one = sphinx(`if [ $bytes = 2 ]; then kill -SEGV $$; fi; ${ECHO}`, clock);
    const dies = one.decode(new Int16Array(1), null);
    const waits = one.decode(new Int16Array(2), null);
    await expect(dies).rejects.toMatchObject({
      code: 'PROVIDER_FAILED',
      message: expect.stringContaining('code 139') as string,
    });
    await expect(waits).rejects.toMatchObject({ code: 'PROVIDER_FAILED' });
    expect(await one.decode(new Int16Array(2), null)).toBeNull();
    expect(one.pid).toBeNull();
    await clock.advanceBy(30_000);
    expect(await one.decode(new Int16Array(2), null)).toHaveLength(2);
    await clock.advanceBy(5_000);
    await expect(one.decode(new Int16Array(1), null)).rejects.toMatchObject({ code: 'PROVIDER_FAILED' });
    expect(await one.decode(new Int16Array(2), null)).toHaveLength(2);
  });

  it('ends a process that hangs', async () => {
    const clock = new VirtualClock();
    const one = sphinx('while true; do sleep 1; done', clock);
    const hangs = one.decode(new Int16Array(1), null);
    const refused = expect(hangs).rejects.toMatchObject({
      message: expect.stringContaining('no answer within 60 s') as string,
    });
    await clock.advanceBy(60_000);
    await refused;
    expect(one.pid).toBeNull();
  });

  it('is not there where the program cannot start, and after close', async () => {
    const none = new PocketSphinx({ program: join(folder, 'none'), models: folder });
    open.push(none);
    await expect(none.decode(new Int16Array(1), null)).rejects.toMatchObject({ code: 'PROVIDER_FAILED' });
    const one = sphinx(ECHO);
    const cut = expect(one.decode(new Int16Array(1), null)).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    await one.close();
    await one.close();
    await cut;
    expect(await one.decode(new Int16Array(1), null)).toBeNull();
  });
});

/** A double that hears `text`, whatever is said. */
function hears(text: string): string {
  const words = text.split(' ').map((word, at) => `${String(10 + 20 * at)} -100 -20 ${word}`);
  return `echo "$id S 0 T -9 A -7 L -2 0 -100 0 <s> ${words.join(' ')} 90 -100 0 </s> 99"`;
}

const REFUSED: Hypothesis = { text: 'for her', understood: false, confidence: 0.1, words: [] };

describe('the second recogniser', () => {
  const ask = async (first: Hypothesis, decode: string, scores: readonly number[] | null, samples = 16_000) => {
    const clock = new VirtualClock();
    const second = new SecondRecogniser(new PocketSphinx(double(decode)));
    open.push(second);
    const faults: string[] = [];
    const asked: (readonly (readonly string[])[])[] = [];
    const answer = second.improve(first, {
      audio: [new Int16Array(samples)],
      clock,
      score: (sentences) => {
        asked.push(sentences);
        return Promise.resolve(scores);
      },
      onFault: (reason) => faults.push(reason),
    });
    await clock.advanceBy(2000);
    return { best: await answer, asked, faults };
  };

  it('stands in for what was refused, if the grammar finds its words probable', async () => {
    const { best, asked } = await ask(REFUSED, hears('four people'), [-6, -60]);
    expect(best).toMatchObject({ text: 'four people', understood: true });
    expect(best.words).toMatchObject([
      { text: 'four', startSample: 1600, endSample: 4800 },
      { text: 'people', startSample: 4800, endSample: 14_400 },
    ]);
    expect(asked).toEqual([[['four', 'people'], []]]);
    expect((await ask(REFUSED, hears('air flow'), [-60, -60])).best).toBe(REFUSED);
    // The same for each word is too little for one alone.
    expect((await ask(REFUSED, hears('there are five of us'), [-27, -60])).best.understood).toBe(true);
    expect((await ask(REFUSED, hears('five'), [-9, -60])).best).toBe(REFUSED);
  });

  it('replaces what was doubted by what is more probable', async () => {
    const doubted = { ...REFUSED, understood: true, confidence: 0.7 };
    expect((await ask(doubted, hears('four'), [-4, -20])).best.text).toBe('four');
    expect((await ask(doubted, hears('four'), [-4, -1])).best).toBe(doubted);
  });

  it('is not asked about what was understood, nor about what takes too long', async () => {
    const sure = { ...REFUSED, understood: true, confidence: 0.95 };
    expect(await ask(sure, hears('four'), [-4, -20])).toMatchObject({ best: sure, asked: [] });
    expect((await ask(REFUSED, hears('four'), [-4, -20], 16_000 * 6)).asked).toEqual([]);
    // Neither in real time: nobody waits for it.
    const second = new SecondRecogniser(new PocketSphinx(double('sleep 60')));
    open.push(second);
    const clock = new RealClock();
    const startMs = clock.nowMs();
    const score = (): Promise<null> => Promise.resolve(null);
    const audio = [new Int16Array(16_000 * 6)];
    expect(await second.improve(REFUSED, { audio, clock, score, onFault: () => undefined })).toBe(REFUSED);
    expect(clock.nowMs() - startMs).toBeLessThan(1000);
  });

  it('changes nothing where it hears nothing, the session is over, or it fails', async () => {
    const nothing = 'echo "$id S 0 T -9 A -7 L -2 0 -100 0 <s> 90"';
    expect(await ask(REFUSED, nothing, [-4, -20])).toMatchObject({ best: REFUSED, asked: [], faults: [] });
    expect((await ask(REFUSED, hears('four'), null)).best).toBe(REFUSED);
    const { best, faults } = await ask(REFUSED, 'exit 3', [-4, -20]);
    expect(best).toBe(REFUSED);
    expect(faults).toEqual([expect.stringContaining('its process ended with code 3')]);
  });
});

describe('in a session', () => {
  const tts = new FliteTts();
  afterAll(() => tts.close());

  const heard = async (files: PocketSphinxFiles, text: string): Promise<Listener> => {
    const stt = new EmbeddedStt({ pocketSphinx: files });
    open.push(stt);
    const listener = await new Listener().open(stt);
    await listener.silence(400);
    await listener.speech(await speak(tts, text));
    await listener.clock.advanceBy(2000);
    return listener;
  };

  it('gives one final transcript, the better one, and goes on alone where the process dies', async () => {
    const foreign = 'Quantum entanglement.';
    const helped = await heard(double(hears('a table for two')), foreign);
    expect(helped.finals).toMatchObject([{ text: 'a table for two', understood: true }]);
    const alone = await heard(double('kill -SEGV $$'), foreign);
    expect(alone.finals).toHaveLength(1);
    expect(alone.finals[0]?.text).not.toBe('a table for two');
    expect(alone.errors).toEqual([]);
    expect(alone.faults).toEqual([expect.stringContaining('code 139')]);
    expect((await heard(double('exit 1'), 'a table for two')).faults).toEqual([]);
  });

  const installed = findPocketSphinx();
  it.skipIf(installed === null)('understands with the real program what the grammar lacks', async () => {
    const { finals, errors, faults } = await heard(installed as PocketSphinxFiles, 'No, there are four of us.');
    expect([errors, faults]).toEqual([[], []]);
    expect(finals).toHaveLength(1);
    const sphinx = new PocketSphinx(installed as PocketSphinxFiles);
    open.push(sphinx);
    const audio = await speak(tts, 'Can you hear me?');
    const twice = [await sphinx.decode(audio, null), await sphinx.decode(audio, null)];
    expect(twice[0]?.map(({ text }) => text).join(' ')).toContain('you hear me');
    expect(twice[1]).toEqual(twice[0]);
  });
});
