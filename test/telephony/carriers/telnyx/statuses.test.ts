import { describe, expect, it } from 'vitest';
import { endOf, transferOutcome } from '../../../../src/telephony/carriers/telnyx/statuses.js';

const hangup = (cause: string, sip = '', source = 'unknown') => ({ cause, sip, source });

describe("the end that Telnyx's hangup means", () => {
  it.each([
    ['user_busy', '486', 'busy', 'remote'],
    ['user_busy', '603', 'rejected', 'remote'],
    ['call_rejected', '603', 'rejected', 'remote'],
    ['timeout', '', 'no-answer', 'network'],
    ['no_answer', '487', 'no-answer', 'network'],
    ['not_found', '404', 'failed', 'network'],
    ['normal_clearing', '200', 'hangup', 'remote'],
    ['originator_cancel', '', 'canceled', 'agent'],
    ['unspecified', '600', 'busy', 'remote'],
    ['unspecified', '480', 'no-answer', 'network'],
    ['unspecified', '607', 'rejected', 'remote'],
    ['unspecified', '503', 'failed', 'network'],
    ['a_new_word', '', 'failed', 'network'],
  ])('%s, SIP %s, before the answer: %s', (cause, sip, end, by) => {
    expect(endOf(hangup(cause, sip), 'outbound', false)).toMatchObject({ cause: end, by });
  });

  it('is a hanging up after the answer, and whose it was', () => {
    expect(endOf(hangup('normal_clearing', '', 'callee'), 'outbound', true).by).toBe('remote');
    expect(endOf(hangup('normal_clearing', '', 'caller'), 'outbound', true).by).toBe('network');
    expect(endOf(hangup('normal_clearing', '', 'caller'), 'inbound', true).by).toBe('remote');
    expect(endOf(hangup('time_limit'), 'inbound', true)).toMatchObject({ cause: 'hangup', by: 'network' });
    expect(endOf(hangup('originator_cancel'), 'inbound', false)).toMatchObject({ cause: 'hangup', by: 'remote' });
  });

  it('tells what a transfer came to', () => {
    expect(transferOutcome(hangup('normal_clearing'))).toEqual({ ok: true });
    expect(transferOutcome(hangup('unspecified', '486'))).toEqual({ ok: false, reason: 'busy' });
    expect(transferOutcome(hangup('originator_cancel'))).toEqual({ ok: false, reason: 'failed' });
  });
});
