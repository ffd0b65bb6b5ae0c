import { describe, expect, it } from 'vitest';
import { lineOver } from '../../../src/session/line-over.js';
import type { TapFrame } from '../../../src/session/tap.js';
import type { Transport } from '../../../src/transports/transport.js';
import { play, type Played, type PlayOptions, recording, saidBy } from '../support.js';

/** A line that sends nothing in silence, as a client with DTX or an embedder that pushes sentences. */
function silentInPauses(line: Transport): Transport {
  return lineOver(line, {
    start: (sink) => {
      line.start({
        audio: (samples) => {
          if (samples.some((sample) => sample !== 0)) sink.audio(samples);
        },
        digits: (digits) => sink.digits(digits),
        text: (text) => sink.text(text),
        formResult: (id, value) => sink.formResult(id, value),
        closed: (error) => sink.closed(error),
      });
    },
  });
}

const SPEECH: [number, number][] = [
  [2000, 3000],
  [8000, 9000],
];
const USER = recording(12_000, ...SPEECH);
const LINES = ['hello to you', 'and good bye'];

function turnEnds({ log }: Played): number[] {
  return log.flatMap((entry) => (entry.kind === 'effect' && entry.effect.type === 'llm.confirm' ? [entry.t] : []));
}

function speechEnds({ log }: Played): number[] {
  return log.flatMap((entry) =>
    entry.kind === 'event' && entry.event.type === 'speech.stopped' ? [Math.round(entry.event.endMs)] : [],
  );
}

describe('a line that brings nothing in silence', () => {
  it('ends turns half a second after its last audio, where that audio ended', async () => {
    const [steady, gaps] = await Promise.all([
      play(USER, { lines: LINES }),
      play(USER, { lines: LINES, wrap: silentInPauses }),
    ]);
    expect(saidBy(gaps)).toEqual(saidBy(steady));
    expect(gaps.report.messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(LINES);
    expect(speechEnds(gaps)).toEqual(speechEnds(steady));
    const notes = gaps.log.flatMap((entry) => (entry.kind === 'note' && entry.name === 'line.gap' ? [entry] : []));
    expect(notes).toMatchObject([{ t: 3500 }, { t: 9500 }]);
    expect(turnEnds(gaps).every((t, index) => t <= (turnEnds(steady)[index] ?? 0) + 500)).toBe(true);
    expect(gaps.pending).toBe(0);
    expect(gaps.report.faults).toEqual({});
  });

  it('has its audio where it was spoken, for taps', async () => {
    const frames: TapFrame[] = [];
    let reading: Promise<void> | undefined;
    const options: PlayOptions = {
      lines: LINES,
      wrap: silentInPauses,
      before: (session) => {
        reading = (async () => {
          for await (const frame of session.tap('user', { maxFrames: 10_000 })) frames.push(frame);
        })();
      },
    };
    await play(USER, options);
    await reading;
    const heard = new Int16Array(USER.length);
    for (const { samples, atSample } of frames) heard.set(samples, atSample);
    expect(heard).toEqual(USER);
  });
});
