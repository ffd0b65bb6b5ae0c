import { describe, expect, it } from 'vitest';
import { dialOutcome, endOf } from '../../../../src/telephony/carriers/plivo/call-control.js';

function end(fields: Record<string, string>, direction: 'inbound' | 'outbound' = 'outbound', wasAnswered = false) {
  const { cause, by } = endOf(new URLSearchParams(fields), direction, wasAnswered);
  return `${cause} by ${by}`;
}

describe("what Plivo's word of an end means", () => {
  it.each([
    ['completed', '4000', 'Callee', 'hangup by remote'],
    ['busy', '3010', 'Carrier', 'busy by remote'],
    ['busy', '', 'Carrier', 'busy by remote'],
    ['busy', '3020', 'Carrier', 'rejected by remote'],
    ['failed', '3020', 'Carrier', 'rejected by remote'],
    ['no-answer', '3000', 'Carrier', 'no-answer by network'],
    ['timeout', '6010', 'Plivo', 'no-answer by network'],
    ['timeout', '', 'Carrier', 'failed by network'],
    ['cancel', '', 'API Request', 'canceled by network'],
    ['completed', '1000', 'API Request', 'canceled by network'],
    ['failed', '2000', 'Carrier', 'failed by network'],
    ['failed', '1010', 'Plivo', 'failed by network'],
    ['something new', '', '', 'failed by network'],
  ])('%s with %s from %s, unanswered: %s', (CallStatus, HangupCauseCode, HangupSource, meant) => {
    expect(end({ CallStatus, HangupCauseCode, HangupSource })).toBe(meant);
  });

  it('is a hangup of whoever did it where the two have talked', () => {
    expect(end({ CallStatus: 'completed', HangupSource: 'Callee' }, 'outbound', true)).toBe('hangup by remote');
    expect(end({ CallStatus: 'completed', HangupSource: 'Carrier' }, 'outbound', true)).toBe('hangup by remote');
    expect(end({ CallStatus: 'completed', HangupSource: 'Plivo' }, 'outbound', true)).toBe('hangup by network');
    expect(end({ CallStatus: 'completed', HangupSource: 'Caller' }, 'inbound')).toBe('hangup by remote');
  });

  it('is reported in the words of Plivo', () => {
    const form = new URLSearchParams({ CallStatus: 'busy', HangupCauseCode: '3010', HangupCauseName: 'Busy Line' });
    expect(endOf(form, 'outbound', false).reason).toBe('Busy Line (3010)');
    expect(endOf(new URLSearchParams({ CallStatus: 'failed' }), 'outbound', false).reason).toBe('failed');
  });
});

describe('what Plivo’s Dial came to', () => {
  it.each([
    ['completed', 'NORMAL_CLEARING', { ok: true }],
    ['busy', 'USER_BUSY', { ok: false, reason: 'busy' }],
    ['busy', 'CALL_REJECTED', { ok: false, reason: 'rejected' }],
    ['no-answer', 'NO_ANSWER', { ok: false, reason: 'no-answer' }],
    ['timeout', 'NO_ANSWER', { ok: false, reason: 'no-answer' }],
    ['timeout', 'RECOVERY_ON_TIMER_EXPIRE', { ok: false, reason: 'failed' }],
    ['failed', 'UNALLOCATED_NUMBER', { ok: false, reason: 'failed' }],
  ])('%s, %s', (DialStatus, DialHangupCause, outcome) => {
    expect(dialOutcome(new URLSearchParams({ DialStatus, DialHangupCause }))).toEqual(outcome);
  });
});
