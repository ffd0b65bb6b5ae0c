import { type ErrorCode, type ErrorDetails, ParleyError } from '../../base/errors.js';

const CAMPAIGN = { campaign: 'Spring offer' };
const NUMBER = { number: '+12025550123' };

/** Values for the placeholders of messages. */
const DETAILS: Partial<Record<ErrorCode, ErrorDetails>> = {
  AGENT_IN_USE: { agent: 'baker', phone: NUMBER.number },
  AUTH_FORBIDDEN: { reason: 'it is a public key' },
  CALLS_STOPPED: { reason: 'the operator has stopped them' },
  CALL_FORBIDDEN: { ...NUMBER, reason: 'it is an emergency number' },
  CALL_GOES_ON: { id: 'b0f1c2' },
  CALL_NOT_ALLOWED: { ...NUMBER, allowed: '+44, +49' },
  CAMPAIGN_FINISHED: CAMPAIGN,
  CAMPAIGN_NOT_READY: { ...CAMPAIGN, reason: 'it has no records' },
  CAMPAIGN_RUNNING: CAMPAIGN,
  CAMPAIGN_TOO_MANY_RECORDS: { limit: 10_000 },
  CARRIER_CLOSED: { carrier: 'twilio' },
  CARRIER_SILENT: { carrier: 'twilio', reason: 'nothing for 50 s' },
  DO_NOT_CALL: NUMBER,
  KEY_OF_ENVIRONMENT: { variable: 'PARLEY_API_KEY' },
  KNOWLEDGE_FILE_IN_USE: { agent: 'baker', id: 'f1' },
  KNOWLEDGE_FILE_TOO_LARGE: { name: 'menu.pdf', limit: 20_971_520 },
  KNOWLEDGE_FULL: { limit: 1_000 },
  LIMIT_CALLS_PER_MINUTE: { limit: 60, retryAfterS: 12 },
  LIMIT_CONCURRENT_CALLS: { limit: 50 },
  LIMIT_DESTINATION_PER_DAY: { limit: 10, retryAfterS: 3_600 },
  LIMIT_DESTINATION_PER_MINUTE: { limit: 2, retryAfterS: 30 },
  LIMIT_MINUTES_PER_DAY: { limit: 600, retryAfterS: 3_600 },
  LINK_INVALID: { reason: 'it has expired' },
  NUMBER_INACTIVE: NUMBER,
  NUMBER_NONE_FOR_SALE: { where: 'US 415' },
  NUMBER_NOT_OWNED: NUMBER,
  NUMBER_UNAVAILABLE: NUMBER,
  PROVIDER_FAILED: { provider: 'openai', reason: 'status 500' },
  PROVIDER_REFUSED: { provider: 'openai', reason: 'the key is not valid' },
  PROVIDER_TIMEOUT: { provider: 'openai', timeoutMs: 10_000 },
  RATE_LIMITED: { seconds: 3 },
  RECORD_BEING_CALLED: NUMBER,
  REGISTRATIONS_FULL: { limit: 1_000 },
  RTP_PORTS_FULL: { range: '40000 to 40100' },
  SESSIONS_FULL: { limit: 100 },
  STREAMS_FULL: { limit: 100 },
  TTS_ENGINE_MISSING: { provider: 'espeak', reason: 'there is no program espeak-ng on PATH' },
  VOICE_IN_USE: { agent: 'baker', voice: 'ann' },
};

/** An error as an operation may answer it. @param path as OpenAPI writes it: what is not there is what it names last */
export function errorExample(code: ErrorCode, path: string): { detail: string; code: ErrorCode; request_id: string } {
  const named = [...path.matchAll(/\{(\w+?)(?:_id)?\}/g)].at(-1)?.[1] ?? 'agent';
  const details = code === 'NOT_FOUND' ? { what: named, id: 'nobody' } : DETAILS[code];
  return { detail: new ParleyError(code, details ?? {}).message, code, request_id: 'req-1' };
}
