import { expect, it } from 'vitest';
import { Erasure } from '../../../src/daemon/call-log/erasure.js';

it('an erasure that runs when the daemon closes is waited for: it still needs the database', async () => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const order: string[] = [];
  const erasure = new Erasure(null, [
    async () => {
      await finished;
      order.push('erased');
      return { calls: 1 };
    },
  ]);
  const erasing = erasure.erase('+12025550100');
  const closing = erasure.close().then(() => order.push('closed'));
  finish();
  expect(await erasing).toEqual({ calls: 1 });
  await closing;
  expect(order).toEqual(['erased', 'closed']);
  await erasure.close();
});
