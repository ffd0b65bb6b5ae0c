import { describe, expect, it } from 'vitest';
import { endReason, unconnected } from '../../../src/session/record/end-reason.js';

const fine = { status: 'user-ended', faults: {} } as const;

describe('why a call ended badly', () => {
  it.each([
    ['busy', null, null, 'The line was busy. Call again later.'],
    ['no-answer', null, null, 'Nobody answered. Call again later, or let it ring for longer.'],
    [
      'failed',
      '404 Not Found',
      { end: { cause: 'failed', by: 'network', reason: '404 Not Found' } },
      'The call was not connected: 404 Not Found. Check the number.',
    ],
    [
      'failed',
      'The agent was not ready within 10 s',
      { end: { cause: 'hangup', by: 'agent', reason: 'hung up' } },
      'The call was not connected: The agent was not ready within 10 s.',
    ],
    [
      'failed',
      '488 Not Acceptable Here: no media',
      { direction: 'inbound', end: { cause: 'failed', by: 'network', reason: '488 Not Acceptable Here: no media' } },
      'The call was not connected: 488 Not Acceptable Here: no media.',
    ],
    ['user-ended', null, null, null],
    ['canceled', null, null, null],
    ['chat_completion', 'the model was slow', null, 'the model was slow'],
  ])('%s, %s', (status, error, carrier, reported) => {
    expect(endReason(fine, { status, error, carrier })).toBe(reported);
    expect(unconnected({ status, error, carrier })).toBe(reported);
  });

  it.each([
    ['503 Service Unavailable', 'The carrier or the network had a fault. Call again later.'],
    ['603 Decline', 'The other side declined the call; it may accept a later one.'],
    ['403 Forbidden', 'Check the account with the carrier, and what it may call from.'],
    ['488 Not Acceptable Here', 'Check the codecs and the encryption of the trunk.'],
    ['21211 Invalid number', 'Check the number, and the account with the carrier.'],
  ])('a refusal of the carrier, %s, with what helps', (error, remedy) => {
    const carrier = { end: { cause: 'failed', by: 'network', reason: error } };
    expect(unconnected({ status: 'failed', error, carrier })).toBe(`The call was not connected: ${error}. ${remedy}`);
  });

  it.each([
    ['failed', /^A network announcement said that the number is not in service\./],
    ['busy', /^An announcement said that all lines are busy\./],
    ['no-answer', /^An announcement said that the person cannot be reached\./],
  ] as const)('an answered call that an announcement ended as %s', (status, reported) => {
    expect(endReason({ status, faults: {} }, { status, error: null, carrier: null })).toMatch(reported);
  });

  it.each([
    [
      { 'llm.failed': 3 },
      { 'llm.failed': '401 wrong key.' },
      /^The language model did not answer: 401 wrong key\. Check/,
    ],
    [{ 'tts.failed': 3, 'tool.failed': 1 }, {}, /^The voice could not speak\. Check/],
    [
      { 'ears.failed': 1, 'llm.failed': 1 },
      { 'ears.failed': 'no memory' },
      /^Speech recognition was lost: no memory\./,
    ],
    [{ 'transport.failed': 1 }, { 'transport.failed': 'ECONNRESET' }, /^The line broke: ECONNRESET\. .* made again\.$/],
    [{ 'tool.failed': 2 }, {}, /^The session broke off: tool\.failed\. Its trace/],
    [{}, {}, /^The session broke off\. Its trace/],
  ])('a session with %j', (faults, faultReasons, reported) => {
    expect(endReason({ status: 'error', faults, faultReasons }, null)).toMatch(reported);
  });
});
