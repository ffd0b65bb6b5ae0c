import { parseJson } from '../../../base/json.js';
import type { Hangup } from './statuses.js';

/** A Telnyx webhook about a call, as far as it is used. */
export interface TelnyxEvent {
  /** Of the event: the same if it is repeated. */
  id: string;
  /** `call.initiated`, `call.hangup` and so on. */
  type: string;
  /** The leg. */
  callControlId: string;
  /** The state that parley gave with the leg; empty = none. */
  state: string;
  isIncoming: boolean;
  from: string;
  to: string;
  streamId: string;
  /** The result of answering machine detection. */
  result: string;
  hangup: Hangup;
  /** Headers of the call, in lower case. */
  headers: Readonly<Record<string, string>>;
}

const MOST_HEADERS = 30;

/**
 * The event in a body; null = not an event about a call.
 * @see https://developers.telnyx.com/docs/voice/programmable-voice/receiving-webhooks (2026-11-22)
 */
export function readEvent(body: Buffer): TelnyxEvent | null {
  let read: unknown;
  try {
    read = parseJson(body.toString('utf8'));
  } catch {
    return null;
  }
  const data = objectIn(read, 'data');
  const payload = objectIn(data, 'payload');
  const callControlId = textIn(payload, 'call_control_id');
  if (!/^[\w:.~-]{1,200}$/.test(callControlId)) return null;
  return {
    id: textIn(data, 'id'),
    type: textIn(data, 'event_type'),
    callControlId,
    state: Buffer.from(textIn(payload, 'client_state'), 'base64').toString('utf8').slice(0, 300),
    isIncoming: textIn(payload, 'direction') === 'incoming',
    from: textIn(payload, 'from'),
    to: textIn(payload, 'to'),
    streamId: textIn(payload, 'stream_id'),
    result: textIn(payload, 'result').slice(0, 40),
    hangup: {
      cause: textIn(payload, 'hangup_cause').slice(0, 60),
      source: textIn(payload, 'hangup_source'),
      sip: /^\d{3}$/.exec(textIn(payload, 'sip_hangup_cause'))?.[0] ?? '',
    },
    headers: headersIn(payload),
  };
}

/** SIP headers that agents may see: custom headers, User-to-User, and who forwarded the call. */
function headersIn(payload: Readonly<Record<string, unknown>>): Record<string, string> {
  const lists = [payload['custom_headers'], payload['sip_headers']];
  const passed: Record<string, string> = {};
  for (const one of lists.flatMap((list): unknown[] => (Array.isArray(list) ? list.slice(0, MOST_HEADERS) : []))) {
    const name = textIn(one, 'name');
    if (/^(x-[a-z0-9-]{1,60}|user-to-user|diversion)$/i.test(name)) {
      passed[name.toLowerCase()] = textIn(one, 'value').slice(0, 1_000);
    }
  }
  return passed;
}

function objectIn(value: unknown, name: string): Readonly<Record<string, unknown>> {
  const found = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : null;
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
}

function textIn(value: unknown, name: string): string {
  const found = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : null;
  return typeof found === 'string' ? found : '';
}
