import { expect, it } from 'vitest';
import { answerTo, backchannelRate, takesOver } from '../../bench/lib/full-duplex/rules.js';

const AGENT = [
  { startMs: 1200, endMs: 1700 },
  { startMs: 4000, endMs: 6500 },
];

it('counts a second of speech as a takeover, and less as a backchannel', () => {
  expect(takesOver(AGENT, 0, 3000)).toBe(false);
  expect(takesOver(AGENT, 0, 4500)).toBe(true);
  expect(takesOver([{ startMs: 100, endMs: 1100 }], 0, 3000)).toBe(true);
  expect(backchannelRate(AGENT, { startMs: 0, endMs: 2000 })).toBe(0.5);
  expect(backchannelRate(AGENT, { startMs: 3000, endMs: 5000 })).toBe(0);
});

it('times an answer from the end of the speech, never below 0', () => {
  expect(answerTo(AGENT, 3500, 3000)).toEqual({ taken: true, latencyMs: 500 });
  expect(answerTo(AGENT, 4300, 3000)).toEqual({ taken: true, latencyMs: 0 });
  expect(answerTo(AGENT, 4300, 4100)).toEqual({ taken: false, latencyMs: null });
});
