import { expect, test } from 'vitest';
import { FollowedPair, type Pair, type Ways } from '../../../src/transports/webrtc/followed-pair.js';

test('where the other end uses another way, so do we; where it uses none, we stay', () => {
  const [first, better, never] = [{ requestsReceived: 1 }, { requestsReceived: 0 }, { requestsReceived: 0 }];
  const ways: Ways<Pair> = { candidatePairs: [first, never, better], nominated: first };
  const followed = new FollowedPair<Pair>();
  const used: Pair[] = [];
  for (let second = 0; second < 60; second++) {
    if (second < 10) first.requestsReceived++;
    if (second >= 10 && second < 40 && second % 5 === 0) better.requestsReceived++;
    followed.look(ways, second * 1_000);
    if (ways.nominated !== undefined) used.push(ways.nominated);
  }
  expect(used[16]).toBe(first);
  expect(used[17]).toBe(better);
  expect(new Set(used.slice(17))).toEqual(new Set([better]));
});
