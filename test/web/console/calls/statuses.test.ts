import { expect, it } from 'vitest';
import { endWords } from '../../../../src/web/console/statuses.js';

it('says where a call was transferred to, where the transfer worked', () => {
  const ended = (transfer: unknown, call_status = 'agent-ended') =>
    endWords({ call_status, voip: { from: null, to: null, direction: 'inbound', transfer } });
  expect(ended({ to: '+12025550103', ok: true })).toMatchObject({
    label: 'transferred to +12025550103',
    why: 'The agent handed the call on to +12025550103.',
  });
  for (const none of [
    ended({ to: '+12025550103', ok: false }),
    ended(null),
    endWords({ call_status: 'agent-ended', voip: null }),
  ])
    expect(none.label).toBe('agent hung up');
  expect(ended({ to: '+12025550103', ok: true }, 'user-ended').label).toBe('user hung up');
});
