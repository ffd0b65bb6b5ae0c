import { describe, expect, it } from 'vitest';
import { SocketDouble } from '../../../vendors/stt/socket-double.js';
import { Caller } from './caller.js';
import { CASES, KEY } from './cases.js';

type Close = [code: number, reason: string];

/** What vendors say when something is wrong in the middle of a stream, and what it is for a session. */
const ERRORS: readonly [vendor: string, message: object | string | null, close: Close | undefined, code: string][] = [
  ['deepgram', null, [1008, 'DATA-0000'], 'PROVIDER_REFUSED'],
  ['deepgram', null, [1011, 'NET-0001'], 'PROVIDER_FAILED'],
  ['deepgram', { type: 'Error', description: `not with ${KEY}` }, undefined, 'PROVIDER_FAILED'],
  ['deepgram flux', { type: 'Error', code: 'INTERNAL_SERVER_ERROR', description: 'x' }, undefined, 'PROVIDER_FAILED'],
  [
    'deepgram flux',
    { type: 'Error', code: 'UNPARSABLE_CLIENT_MESSAGE', description: 'x' },
    undefined,
    'PROVIDER_REFUSED',
  ],
  ['openai', { type: 'error', error: { type: 'server_error', message: 'x' } }, undefined, 'PROVIDER_FAILED'],
  [
    'openai',
    { type: 'error', error: { type: 'invalid_request_error', code: 'session_expired', message: 'x' } },
    undefined,
    'PROVIDER_FAILED',
  ],
  [
    'openai',
    { type: 'error', error: { type: 'invalid_request_error', code: 'invalid_model', message: `x ${KEY}` } },
    undefined,
    'PROVIDER_REFUSED',
  ],
  ['openai', { type: 'error', error: { type: 'insufficient_quota', message: 'x' } }, undefined, 'PROVIDER_REFUSED'],
  [
    'openai',
    {
      type: 'conversation.item.input_audio_transcription.failed',
      item_id: 'i',
      error: { type: 'transcription_error', code: 'audio_unintelligible', message: 'x' },
    },
    undefined,
    'PROVIDER_FAILED',
  ],
  ['assemblyai', { type: 'Error', error_code: 4001, error: `Not authorized: ${KEY}` }, undefined, 'PROVIDER_REFUSED'],
  ['assemblyai', { type: 'Error', error_code: 3005, error: 'x' }, undefined, 'PROVIDER_FAILED'],
  ['assemblyai', null, [4002, 'Insufficient funds'], 'PROVIDER_REFUSED'],
  ['assemblyai', null, [4029, 'Rate limited'], 'PROVIDER_FAILED'],
  ['soniox', { error_code: 402, error_message: 'no balance' }, undefined, 'PROVIDER_REFUSED'],
  ['soniox', { error_code: 429, error_message: 'x' }, undefined, 'PROVIDER_FAILED'],
  ['soniox', { error_code: 503, error_message: 'Cannot continue request' }, undefined, 'PROVIDER_FAILED'],
  ['speechmatics', { message: 'Error', type: 'not_authorised', reason: 'x' }, undefined, 'PROVIDER_REFUSED'],
  ['speechmatics', { message: 'Error', type: 'quota_exceeded', reason: 'x' }, undefined, 'PROVIDER_FAILED'],
  ['speechmatics', null, [1003, 'protocol_error'], 'PROVIDER_REFUSED'],
  ['speechmatics', null, [1011, 'internal_error'], 'PROVIDER_FAILED'],
  ['speechmatics', null, [4001, 'not_authorised'], 'PROVIDER_REFUSED'],
  ['speechmatics', null, [4003, 'not_allowed'], 'PROVIDER_REFUSED'],
  ['speechmatics', null, [4004, 'invalid_model'], 'PROVIDER_REFUSED'],
  ['speechmatics', null, [4005, 'quota_exceeded'], 'PROVIDER_FAILED'],
  ['speechmatics', null, [4006, 'timelimit_exceeded'], 'PROVIDER_FAILED'],
  ['speechmatics', null, [4013, 'job_error'], 'PROVIDER_FAILED'],
  ['elevenlabs', { message_type: 'auth_error', error: KEY }, undefined, 'PROVIDER_REFUSED'],
  ['elevenlabs', { message_type: 'rate_limited', error: 'x' }, undefined, 'PROVIDER_FAILED'],
  ['elevenlabs', { message_type: 'insufficient_audio_activity', error: 'x' }, undefined, 'PROVIDER_FAILED'],
  ['gladia', { type: 'error', data: { message: 'x' } }, undefined, 'PROVIDER_FAILED'],
  // The session is over; another may be asked for.
  ['gladia', null, [4403, 'the session has ended'], 'PROVIDER_FAILED'],
  ['gladia', null, [4500, 'internal error'], 'PROVIDER_FAILED'],
  [
    'azure',
    'X-RequestId:1\r\nPath:speech.phrase\r\n\r\n{"RecognitionStatus":"Error","Offset":0,"Duration":0}',
    undefined,
    'PROVIDER_FAILED',
  ],
  ...['TooManyRequests', 'BadRequest', 'Forbidden'].map((status): [string, string, undefined, string] => [
    'azure',
    `X-RequestId:1\r\nPath:speech.phrase\r\n\r\n{"RecognitionStatus":"${status}","Offset":0,"Duration":0}`,
    undefined,
    status === 'TooManyRequests' ? 'PROVIDER_FAILED' : 'PROVIDER_REFUSED',
  ]),
  ['azure', null, [1007, 'Could not parse the message'], 'PROVIDER_REFUSED'],
  ['talkscriber', { status: 'ERROR', message: 'UNAUTHORIZED' }, undefined, 'PROVIDER_REFUSED'],
  ['talkscriber', { status: 'WAIT', info: 3 }, undefined, 'PROVIDER_FAILED'],
  ['talkscriber', { message: 'DISCONNECT' }, undefined, 'PROVIDER_FAILED'],
];

describe.each(ERRORS)('%s, which says %j and closes with %j', (vendor, message, close, code) => {
  it(`is ${code}`, async () => {
    const found = CASES.find(({ name }) => name === vendor);
    const double = found?.double();
    if (found === undefined || !(double instanceof SocketDouble)) throw new Error(`no socket of ${vendor}`);
    const stt = found.make({ baseUrl: await double.listen(), apiKey: KEY, finalTimeoutMs: 2000 });
    const caller = new Caller();
    try {
      await caller.open(stt);
      double.interject(message, close);
      await caller.until(() => caller.errors.length > 0, 'an error');
      expect(caller.errors).toMatchObject([{ code, retryable: code === 'PROVIDER_FAILED' }]);
      expect(JSON.stringify([caller.errors[0]?.message, caller.errors[0]])).not.toContain(KEY);
    } finally {
      await stt.close();
      await double.close();
    }
  });
});
