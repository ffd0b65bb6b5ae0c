import { expect, it } from 'vitest';
import { scheduleChange } from '../../../../src/web/console/campaigns/schedule-change.js';

it('a schedule is changed where it was touched, and what was emptied is the operator’s again', () => {
  const loaded = { calls_per_minute: 10, max_attempts: 4, timezone: 'UTC', retries: { busy: [300], failed: [] } };
  const draft = { calls_per_minute: 5, timezone: 'UTC', retries: { failed: [60] } };
  expect(scheduleChange(loaded, draft, new Set(['calls_per_minute', 'max_attempts', 'retries']))).toEqual({
    calls_per_minute: 5,
    max_attempts: null,
    retries: { busy: null, failed: [60] },
  });
  expect(scheduleChange(loaded, { timezone: 'UTC' }, new Set(['retries']))).toEqual({ retries: null });
});
