import { expect, it } from 'vitest';
import { MediaOrder } from '../../../../src/telephony/carriers/telnyx/media-messages.js';

const sound = (chunk: number) => `{"event":"media","media":{"chunk":"${String(chunk)}","payload":"AA=="}}`;
const inOrder = (chunks: readonly number[]) => {
  const order = new MediaOrder();
  const passed = chunks.flatMap((chunk) => order.push(sound(chunk)));
  return [...passed, ...order.flush()].map((text) => Number(/"chunk":"(\d+)"/.exec(text)?.[1]));
};

it('puts sound into its order, within 60 ms, each piece once', () => {
  expect(inOrder([1, 2, 3, 5, 4, 6])).toEqual([1, 2, 3, 4, 5, 6]);
  expect(inOrder([1, 4, 3, 2, 5])).toEqual([1, 2, 3, 4, 5]);
  expect(inOrder([1, 2, 2, 1, 3])).toEqual([1, 2, 3]);
  // What does not come is not waited for any longer; what comes after that is too late.
  expect(inOrder([1, 3, 4, 5, 6, 2, 7])).toEqual([1, 3, 4, 5, 6, 7]);
});

it('counts anew where the numbers begin anew, and lets everything else pass', () => {
  expect(inOrder([500, 501, 1, 2, 3])).toEqual([500, 501, 1, 2, 3]);
  expect(inOrder([1, 2, 99_999_999, 3, 4])).toEqual([1, 2, 99_999_999, 3, 4]);
  const order = new MediaOrder();
  order.push(sound(1));
  expect(order.push(sound(3))).toEqual([]);
  expect(order.push('{"event":"dtmf","dtmf":{"digit":"1"}}')).toHaveLength(1);
});
