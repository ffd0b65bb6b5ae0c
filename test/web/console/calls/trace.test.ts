import { beforeAll, describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../../src/session/record/event-log.js';
import type { SessionReport } from '../../../../src/session/record/session-report.js';
import { decision } from '../../../../src/web/console/decisions.js';
import { LANES, type CallTimeline, timelineOf } from '../../../../src/web/console/calls/timeline.js';
import { parseTrace } from '../../../../src/web/console/calls/trace.js';
import { turnStories } from '../../../../src/web/console/calls/turns.js';
import { waterfall } from '../../../../src/web/console/calls/bars.js';
import { recordedSession } from './recorded-session.js';

describe('the trace of a session', () => {
  let text: string;
  let entries: readonly LogEntry[];
  let timeline: CallTimeline;
  let report: SessionReport;

  beforeAll(async () => {
    ({ text, report } = await recordedSession());
    entries = parseTrace(text).entries;
    timeline = timelineOf(entries);
  }, 60_000);

  it('is read whole, cut off and damaged', () => {
    expect(parseTrace(text).problem).toBeNull();
    const cut = parseTrace(text.slice(0, -10));
    expect(cut.entries).toHaveLength(entries.length - 1);
    expect(cut.problem).toContain('breaks off');
    expect(parseTrace(`${text}{"t":1,"kind":"note","name":"trace.full","data":{}}\n`).problem).toContain('limit');
    expect(parseTrace('').entries).toEqual([]);
    expect(parseTrace('nonsense\n[1]\n').problem).toContain('2 lines');
  });

  it('has the same response times as the session measured, stage by stage', () => {
    const stories = turnStories(entries);
    expect(stories.length).toBeGreaterThan(1);
    expect(
      stories.map(({ responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs, said }) => ({
        responseMs,
        endOfTurnMs,
        llmFirstMs,
        firstSentenceMs,
        ttsFirstMs,
        said,
      })),
    ).toEqual(
      report.turns.map(({ responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs, said }) => ({
        responseMs,
        endOfTurnMs,
        llmFirstMs,
        firstSentenceMs,
        ttsFirstMs,
        said,
      })),
    );
  });

  it('shows every answer that was begun early, with what became of it', () => {
    const attempts = turnStories(entries).flatMap((turn) => turn.attempts);
    expect(attempts.filter(({ droppedFor }) => droppedFor === null)).toHaveLength(report.speculation.confirmed);
    expect(attempts.filter(({ droppedFor }) => droppedFor !== null)).toHaveLength(report.speculation.dropped);
    expect(attempts.length).toBeGreaterThan(0);
  });

  it('becomes waterfalls whose stages add up to the response time', () => {
    for (const turn of turnStories(entries)) {
      const bars = waterfall(turn).filter(({ look }) => look !== 'early' && look !== 'dropped');
      if (turn.responseMs === null) continue;
      expect(bars.at(-1)?.toMs).toBeCloseTo(turn.responseMs, 6);
      for (const [at, bar] of bars.entries()) expect(bar.fromMs).toBeCloseTo(bars[at - 1]?.toMs ?? 0, 6);
    }
  });

  it('becomes a timeline in order, within the call, with all that took part', () => {
    const { spans, durationMs } = timeline;
    // The call has no tools, and its agent no flow.
    for (const lane of LANES)
      if (lane !== 'tools' && lane !== 'steps')
        expect(
          spans.some((span) => span.lane === lane),
          lane,
        ).toBe(true);
    for (const { fromMs, toMs } of spans) {
      expect(fromMs).toBeGreaterThanOrEqual(0);
      expect(toMs).toBeGreaterThanOrEqual(fromMs);
      expect(toMs).toBeLessThanOrEqual(durationMs);
    }
    expect(spans.map(({ fromMs }) => fromMs)).toEqual(spans.map(({ fromMs }) => fromMs).toSorted((a, b) => a - b));
    // A turn that went on after all is decided twice.
    const decided = spans.flatMap(({ label }) => (/^turn \d+$/.test(label) ? [label] : []));
    expect(new Set(decided).size).toBe(report.turns.length);
  });

  it('says why turns were decided as they were', () => {
    const turn = timeline.spans.find(({ label }) => label === 'turn 1');
    expect(turn?.about).toMatch(/^Turn 1 is over: .+\. “.+”$/);
  });

  it('may be empty, or of a session that broke off', () => {
    expect(timelineOf([])).toEqual({ spans: [], durationMs: 0 });
    const half = entries.slice(0, Math.floor(entries.length / 2));
    const last = half.at(-1)?.t ?? 0;
    for (const { toMs } of timelineOf(half).spans) expect(toMs).toBeLessThanOrEqual(last);
    expect(() => turnStories(half)).not.toThrow();
  });
});

describe('decisions in words', () => {
  it.each([
    [
      { completeness: 0.85, dictating: false, final: true, judged: null, waitMs: 245 },
      '85 % complete, final words: ends after 245 ms of silence',
    ],
    [
      { completeness: 0, dictating: true, final: false, judged: 0.4, waitMs: 1800 },
      '0 % complete, words may change, by its sound 40 % over, the user is dictating: ends after 1800 ms of silence',
    ],
  ])('has the reasons of a wait', (data, words) => {
    expect(decision('turn.scored', data)).toEqual({ text: words, weight: 'minor' });
  });

  it('shows what it does not know as it is', () => {
    expect(decision('something.new', { a: 1, b: null })).toEqual({
      text: 'something.new, a 1, b null',
      weight: 'minor',
    });
  });

  it('gives weight to what went wrong', () => {
    expect(decision('reply.failed', { reason: 'gone' }).weight).toBe('trouble');
    expect(decision('tool.result', { ok: false }).weight).toBe('trouble');
    expect(decision('interruption', {}).weight).toBe('turn');
  });
});
