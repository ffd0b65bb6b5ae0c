import { describe, expect, it } from 'vitest';
import { PROSODIC_FEATURES } from '../../../src/audio/dsp/prosody.js';
import { labelledPauses } from '../../../src/cli/turn/turn.js';
import type { ConversationEffect, ConversationEvent } from '../../../src/conversation/events.js';
import type { LogEntry } from '../../../src/session/record/event-log.js';

const position = { utteranceId: null, heardChars: 0 };
const features = Object.fromEntries(PROSODIC_FEATURES.map((name, at) => [name, at]));
const event = (t: number, it: ConversationEvent): LogEntry => ({ t, kind: 'event', event: it, position });
const effect = (t: number, it: ConversationEffect): LogEntry => ({ t, kind: 'effect', effect: it });
const note = (endMs: number): LogEntry => ({
  t: endMs + 100,
  kind: 'note',
  name: 'turn.pause',
  data: { endMs, ...features },
});
const speech = (startMs: number): LogEntry => event(startMs + 100, { type: 'speech.started', startMs });
const closed = (t: number): LogEntry => effect(t, { type: 'stt.endTurn' });
const answered = (t: number): LogEntry[] => [closed(t), effect(t, { type: 'user.said', text: 'hello', turn: 1 })];
const sound = (t: number): LogEntry => event(t, { type: 'utterance.started', utteranceId: 1 });
const trace = (t: number, name: string): LogEntry => effect(t, { type: 'trace', name, data: {} });
const end = (t: number): LogEntry => event(t, { type: 'time' });
const labels = (...entries: LogEntry[]) =>
  labelledPauses({ entries }).map(({ atMs, label, pauseMs }) => [atMs, label, pauseMs]);

describe('labelledPauses', () => {
  it('a turn that is answered and not interrupted was finished', () => {
    expect(labels(note(1000), ...answered(1700), sound(2000), end(4000))).toEqual([[1000, 'finished', null]]);
  });

  it('a user who speaks on before the end of the turn had not finished', () => {
    expect(labels(note(1000), speech(1500), note(2000), ...answered(2700), sound(3000), end(9000))).toEqual([
      [1000, 'continued', 500],
      [2000, 'finished', null],
    ]);
  });

  it('a gap between two words is no pause', () => {
    expect(labels(note(1000), speech(1100), end(9000))).toEqual([]);
  });

  it('a turn that is continued before its answer was heard was not finished', () => {
    const entries = [note(1000), ...answered(1700), speech(2200), trace(2600, 'turn.continued'), note(3000)];
    expect(labels(...entries, ...answered(3700), sound(4000), end(9000))).toEqual([
      [1000, 'continued', 1200],
      [3000, 'finished', null],
    ]);
  });

  it.each([
    [1400, [[1000, 'continued', 2400]]],
    [1600, [[1000, 'finished', null]]],
  ])('an interruption %i ms after the first sound of the answer', (afterMs, expected) => {
    const entries = [note(1000), ...answered(1700), sound(2000), speech(2000 + afterMs), note(4500)];
    expect(labels(...entries, trace(4600, 'interruption'), end(9000))).toEqual(expected);
  });

  it('an acknowledgement over the answer changes nothing', () => {
    const entries = [note(1000), ...answered(1700), sound(2000), speech(2500), note(2800)];
    expect(labels(...entries, trace(3000, 'interruption.falseAlarm'), closed(3600), end(9000))).toEqual([
      [1000, 'finished', null],
    ]);
  });

  it('a pause of which nothing is known is left out', () => {
    expect(labels(note(1000), end(1200))).toEqual([]);
    expect(labels(note(1000), ...answered(1700), end(1800))).toEqual([]);
    expect(labels(note(1000), ...answered(1700), sound(2000), end(2500))).toEqual([]);
    expect(labels(note(1000), closed(1700), sound(2000), end(9000))).toEqual([]);
    const broken: LogEntry = { t: 1100, kind: 'note', name: 'turn.pause', data: { endMs: 1000 } };
    expect(labels(broken, ...answered(1700), sound(2000), end(9000))).toEqual([]);
  });
});
