import { expect, test } from 'vitest';
import { FollowedPair, type Pair, type Ways } from '../../../src/transports/webrtc/werift-peer.js';

const [WAITING, CHECKED] = [1, 3];

/** The ways used in each second of a minute; from the tenth second on the other end checks `better` alone. */
function usedWith(better: Pair & { requestsReceived: number }): Pair[] {
  const [first, never] = [
    { requestsReceived: 1, state: CHECKED },
    { requestsReceived: 0, state: CHECKED },
  ];
  const ways: Ways<Pair> = { candidatePairs: [first, never, better], nominated: first };
  const followed = new FollowedPair<Pair>();
  const used: Pair[] = [];
  for (let second = 0; second < 60; second++) {
    if (second < 10) first.requestsReceived++;
    if (second >= 10 && second < 40 && second % 5 === 0) better.requestsReceived++;
    followed.look(ways, second * 1_000);
    if (ways.nominated !== undefined) used.push(ways.nominated);
  }
  return used;
}

test('where the other end uses another way, so do we; where it uses none, we stay', () => {
  const better = { requestsReceived: 0, state: CHECKED };
  const used = usedWith(better);
  expect(used[16]).not.toBe(better);
  expect(used[17]).toBe(better);
  expect(new Set(used.slice(17))).toEqual(new Set([better]));
});

test('a pair that does not answer our own check is not followed: anyone may pretend to be the other end', () => {
  const pretended = { requestsReceived: 0, state: WAITING };
  expect(usedWith(pretended)).not.toContain(pretended);
});
