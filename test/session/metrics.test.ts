import { describe, expect, it } from 'vitest';
import { latencySummary, percentiles, TurnClock, type TurnMetrics } from '../../src/session/record/session-metrics.js';

describe('percentiles', () => {
  it('are values that occurred, by nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentiles(hundred)).toEqual({ avg: 50.5, p50: 50, p95: 95, p99: 99 });
    expect(percentiles([7])).toEqual({ avg: 7, p50: 7, p95: 7, p99: 7 });
    expect(percentiles([3, 1])).toEqual({ avg: 2, p50: 1, p95: 3, p99: 3 });
    expect(percentiles([])).toBeNull();
  });
});

function clock(): { turns: TurnClock; answered: TurnMetrics[] } {
  const answered: TurnMetrics[] = [];
  return { turns: new TurnClock((metrics) => answered.push(metrics)), answered };
}

/** A turn that ends at `endMs` and is decided, thought over, begun and heard at the given times after it. */
function answer(turns: TurnClock, turn: number, endMs: number, after: number[]): void {
  const [decided = 0, first = 0, sentence = 0, audio = 0, audible = 0] = after.map((ms) => endMs + ms);
  turns.decided(turn, `heard ${String(turn)}`, endMs, decided);
  turns.asked(turn);
  turns.modelSpoke(turn, first);
  turns.spoken(turn, sentence);
  turns.firstAudio(turn, audio);
  turns.audible(turn, audible);
}

describe('the clock of turns', () => {
  it('takes each stage from the one before, and the response from the end of speech', () => {
    const { turns, answered } = clock();
    answer(turns, 1, 1000, [300, 420, 430, 500, 510]);
    turns.said(1, 'Yes.');
    turns.said(1, 'Of course.');
    expect(turns.turns).toEqual([
      {
        turn: 1,
        heard: 'heard 1',
        said: 'Yes. Of course.',
        speechEndMs: 1000,
        endOfTurnMs: 300,
        llmFirstMs: 120,
        firstSentenceMs: 130,
        ttsFirstMs: 70,
        responseMs: 510,
        audioStartMs: 1510,
        interrupted: false,
        speculative: false,
      },
    ]);
    expect(answered).toHaveLength(1);
  });

  it('counts no answer to a machine, and keeps those that a person has heard', () => {
    const { turns, answered } = clock();
    answer(turns, 1, 1000, [300, 420, 430, 500, 510]);
    turns.decided(2, 'leave a message', 5000, 5300);
    turns.unanswered();
    turns.spoken(2, 8000);
    turns.audible(2, 8100);
    expect(turns.turns.map(({ turn }) => turn)).toEqual([1]);
    expect(answered).toHaveLength(1);
    answer(turns, 3, 9000, [300, 420, 430, 500, 510]);
    turns.unanswered();
    expect(turns.turns.map(({ turn, responseMs }) => [turn, responseMs])).toEqual([
      [1, 510],
      [3, 510],
    ]);
  });

  it('takes nothing for a stage of an answer that was begun before the decision', () => {
    const { turns } = clock();
    turns.asked(5, true);
    turns.prepared(6);
    turns.modelSpoke(5, 1100);
    turns.firstAudio(6, 1200);
    turns.decided(1, 'early', 1000, 1300);
    turns.confirmed(5);
    turns.spoken(6, 1300);
    turns.audible(6, 1320);
    expect(turns.turns[0]).toMatchObject({ speculative: true, llmFirstMs: 0, ttsFirstMs: 0, responseMs: 320 });
  });

  it('remembers nothing of answers that were given up, spoken or confirmed, however long the call', () => {
    const { turns } = clock();
    for (let id = 0; id < 1000; id += 2) {
      turns.modelSpoke(id + 5000, id); // asked by nobody: the opening's, say
      turns.firstAudio(id + 5000, id);
      turns.asked(id, true);
      turns.prepared(id + 1);
      turns.modelSpoke(id, id);
      turns.firstAudio(id + 1, id);
      if (id % 4 === 0) {
        turns.givenUp(id);
        turns.unspoken(id + 1);
        continue;
      }
      turns.decided(id, 'heard', id, id);
      turns.confirmed(id);
      turns.spoken(id + 1, id);
    }
    expect(turns.undecided).toBe(0);
  });

  it('counts a typed turn from when it was taken', () => {
    const { turns } = clock();
    turns.decided(1, 'typed', null, 2000);
    turns.spoken(1, 2100);
    turns.audible(1, 2200);
    expect(turns.turns[0]).toMatchObject({ speechEndMs: null, endOfTurnMs: null, llmFirstMs: null, responseMs: 200 });
  });

  it('replaces a turn that went on, and leaves out what belongs to no turn', () => {
    const { turns, answered } = clock();
    turns.modelSpoke(9, 10);
    turns.spoken(9, 10);
    turns.firstAudio(9, 10);
    turns.audible(9, 10);
    turns.said(9, 'greeting');
    turns.interrupted();
    turns.decided(1, 'a table', 1000, 1300);
    answer(turns, 1, 2000, [300, 310, 320, 330, 340]);
    turns.audible(77, 5000);
    turns.modelSpoke(77, 5000);
    turns.interrupted();
    expect(turns.turns).toHaveLength(1);
    expect(turns.turns[0]).toMatchObject({ heard: 'heard 1', responseMs: 340, interrupted: true });
    expect(answered).toHaveLength(1);
  });

  it('is summed up by stage', () => {
    const { turns } = clock();
    answer(turns, 1, 1000, [300, 400, 410, 480, 500]);
    answer(turns, 2, 9000, [500, 700, 710, 800, 900]);
    turns.decided(3, 'never answered', null, 20_000);
    const { responseMs, endOfTurnMs, llmFirstMs } = latencySummary(turns.turns);
    expect(responseMs).toEqual({ avg: 700, p50: 500, p95: 900, p99: 900 });
    expect(endOfTurnMs).toMatchObject({ avg: 400 });
    expect(llmFirstMs).toMatchObject({ p50: 100, p99: 200 });
    expect(latencySummary([]).ttsFirstMs).toBeNull();
  });
});
