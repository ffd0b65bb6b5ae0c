import { describe, expect, it } from 'vitest';
import { type CampaignSchedule, DEFAULT_CAMPAIGN_SCHEDULE } from '../../../src/settings/campaign-schedule.js';
import { settle, type Tried } from '../../../src/daemon/campaigns/settlement.js';

const SCHEDULE: CampaignSchedule = {
  ...DEFAULT_CAMPAIGN_SCHEDULE,
  timezone: 'UTC',
  maxAttempts: 4,
  retryBusyS: [300, 900, 3600],
  retryNoAnswerS: [3600],
};
const over = (callStatus: string, tried: Partial<Tried> = {}, schedule: Partial<CampaignSchedule> = {}) =>
  settle({ attempts: 1, retried: {}, ...tried }, { callStatus, error: null }, { ...SCHEDULE, ...schedule }, 1_000_000);

describe('what comes of a record when its call is over', () => {
  it.each(['user-ended', 'agent-ended', 'timeout', 'api-ended', 'voicemail-message'])('%s: finished', (status) => {
    expect(over(status)).toEqual({ status: 'finished', reason: null });
  });

  it('busy: called again after the first wait, then the second', () => {
    expect(over('busy')).toEqual({ status: 'started', dueMs: 1_300_000, retried: { busy: 1 }, reason: 'busy' });
    expect(over('busy', { attempts: 2, retried: { busy: 1 } })).toMatchObject({
      dueMs: 1_900_000,
      retried: { busy: 2 },
    });
  });

  it('counts what it was called again for reason by reason', () => {
    const tried = { attempts: 2, retried: { busy: 1 } };
    expect(over('no-answer', tried)).toMatchObject({ dueMs: 4_600_000, retried: { busy: 1, noAnswer: 1 } });
  });

  it('has failed when the waits are used up', () => {
    expect(over('no-answer', { attempts: 2, retried: { noAnswer: 1 } })).toEqual({
      status: 'failed',
      reason: 'no-answer',
    });
  });

  it('has failed after the most attempts, whatever waits are left', () => {
    expect(over('busy', { attempts: 4, retried: { busy: 1 } })).toMatchObject({ status: 'failed' });
  });

  it('failed: not again by default, again where the schedule says so', () => {
    expect(over('failed')).toMatchObject({ status: 'failed' });
    expect(over('failed', {}, { retryFailedS: [60] })).toMatchObject({ status: 'started', dueMs: 1_060_000 });
  });

  it('error, such as after a crash: once more by default', () => {
    expect(over('error')).toMatchObject({ status: 'started' });
    expect(over('error', { attempts: 2, retried: { error: 1 } })).toMatchObject({ status: 'failed' });
  });

  it('a mailbox that was hung up on: finished, or called again where the schedule says so', () => {
    expect(over('voicemail-hangup')).toEqual({ status: 'finished', reason: 'voicemail-hangup' });
    expect(over('voicemail-hangup', {}, { retryVoicemailS: [60] })).toMatchObject({ status: 'started' });
    const last = over('voicemail-hangup', { attempts: 2, retried: { voicemail: 1 } }, { retryVoicemailS: [60] });
    expect(last).toMatchObject({ status: 'finished' });
  });

  it('a call that somebody gave up is not made again', () => {
    expect(over('canceled')).toEqual({ status: 'failed', reason: 'canceled' });
  });

  it('says what went wrong', () => {
    const error = 'there is no such number';
    expect(settle({ attempts: 1, retried: {} }, { callStatus: 'failed', error }, SCHEDULE, 0)).toEqual({
      status: 'failed',
      reason: 'failed: there is no such number',
    });
  });
});
