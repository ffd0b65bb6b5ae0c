import { describe, expect, it } from 'vitest';
import { whyNoRecording, whyNoTrace } from '../../../../src/web/console/calls/absence.js';
import { filtersOf, NO_FILTERS, queryOf, searchOf, mergedCalls } from '../../../../src/web/console/calls/filters.js';
import { listTimes } from '../../../../src/web/console/calls/list-times.js';
import { STATUS_NAMES, statusWords } from '../../../../src/web/console/statuses.js';
import { clock, endsOf } from '../../../../src/web/console/words.js';

const times = (p50: number, p95: number, turns: number) => ({
  call_metrics: {
    utterance_latency: turns === 0 ? null : { avg: p50, p50, p95, p99: p95 },
    turns,
  },
});

describe('filters', () => {
  it('stand in the address and come back from it', () => {
    const filters = { agent: 'a b', status: 'FAILED', campaign: 'c1', number: '+1202*', from: '2026-11-01', to: '' };
    expect(filtersOf(searchOf(filters))).toEqual(filters);
    expect(searchOf(NO_FILTERS)).toBe('');
  });

  it('are what the daemon is asked; days are whole and local', () => {
    expect(queryOf(NO_FILTERS)).toEqual({});
    expect(queryOf({ ...NO_FILTERS, number: ' 0103 ', status: 'busy', from: '2026-11-21', to: '2026-11-21' })).toEqual({
      phone_number: '0103',
      call_status: 'busy',
      start_time: new Date(2026, 10, 21).getTime() / 1000,
      end_time: (new Date(2026, 10, 22).getTime() - 1) / 1000,
    });
    expect(queryOf({ ...NO_FILTERS, from: 'yesterday' })).toEqual({});
  });
});

describe('the response time of a list', () => {
  it('counts each call once for each of its turns', () => {
    expect(listTimes([times(100, 200, 8), times(900, 1000, 2), times(1, 1, 0)])).toEqual({
      answers: 10,
      calls: 2,
      p50: 100,
      p95: 1000,
    });
  });

  it('is none where nobody was answered', () => {
    expect(listTimes([])).toBeNull();
    expect(listTimes([times(0, 0, 0)])).toBeNull();
  });
});

describe('a list that is followed', () => {
  it('has each call once, the newest first, in its latest state', () => {
    const call = (session_id: string, ts: number, at = '') => ({ session_id, ts, at });
    const known = [call('b', 2, 'old'), call('a', 1)];
    expect(mergedCalls(known, [call('c', 3), call('b', 2, 'new')])).toEqual([
      call('c', 3),
      call('b', 2, 'new'),
      call('a', 1),
    ]);
  });
});

describe('what is missing', () => {
  const call = { recording: null, agent_config: { call_settings: { enable_recording: true } } };
  it.each([
    ['chat_completion', 'chat', 'chats'],
    ['busy', 'not answered', 'not answered'],
    ['in-progress', 'over', 'not begun'],
    ['user-ended', 'recordingRetentionDays', 'recordingRetentionDays'],
  ])('is explained: %s', (call_status, recording, trace) => {
    expect(whyNoRecording({ ...call, call_status })).toContain(recording);
    expect(whyNoTrace({ ...call, call_status })).toContain(trace);
  });

  it('is the agent’s setting before anything else', () => {
    const ended = { recording: null, call_status: 'user-ended' };
    expect(whyNoRecording({ ...ended, agent_config: {} })).toContain('enable_recording');
    const optOut = { privacy_settings: { opt_out_data_collection: true, do_not_call_detection: false } };
    expect(whyNoRecording({ ...ended, agent_config: optOut })).toContain('opts out');
    expect(whyNoRecording({ ...ended, agent_config: {}, recording: { recording_url: '/x' } })).toBeNull();
  });
});

it('every status has words', () => {
  for (const status of STATUS_NAMES) expect(statusWords(status).why).toMatch(/\.$/);
  expect(statusWords('new-one')).toEqual({ label: 'new-one', group: 'other', why: 'new-one' });
});

it('says who was on the other end', () => {
  const voip = { from: '+1', to: '+2', direction: 'outbound' };
  expect(endsOf({ voip, call_status: 'busy' })).toEqual({ direction: 'outbound', who: '+2', ours: '+1' });
  expect(endsOf({ voip: { ...voip, direction: 'inbound' }, call_status: 'busy' }).who).toBe('+1');
  expect(endsOf({ voip: null, call_status: 'user-ended' }).who).toBe('browser');
  expect(endsOf({ voip: null, call_status: 'chat_completion' }).who).toBe('chat');
});

it('shows times as clocks do', () => {
  expect([7.9, 751, 3765].map(clock)).toEqual(['0:07', '12:31', '1:02:45']);
});
