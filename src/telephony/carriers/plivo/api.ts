import type { Clock } from '../../../base/clock.js';
import { encodeUrlText } from '../../../base/url-text.js';
import { type Rest, isRefusal, RestApi } from '../media-socket/rest.js';
import { plivoNumber } from './xml.js';

export interface PlivoApiOptions {
  clock: Clock;
  authId: string;
  rest: Rest;
}

export interface PlivoCallRequest {
  from: string;
  to: string;
  /** Ring time in seconds. */
  ringS: number;
  /** URLs for instructions at the answer, for ringing and for the end. */
  answerUrl: string;
  ringUrl: string;
  hangupUrl: string;
  /** URL for the result of machine detection; null = no detection. */
  machineUrl: string | null;
  /** `X-PH-…` headers, of letters and digits. */
  headers: Readonly<Record<string, string>>;
}

/** Plivo's maximum call duration, in seconds; parley limits calls itself. */
const LONGEST_S = 86_400;
const HEADER = /^x-ph-([a-z0-9]{1,48})$/i;

/**
 * The used parts of Plivo's API for calls. All methods may throw CARRIER_UNREACHABLE, CARRIER_SILENT or CARRIER_REFUSED
 * (with Plivo's message) in addition to the documented errors.
 * @see https://docs.plivo.com/docs/voice/api/call/make-a-call (2026-11-22), and npm plivo 4.79.0,
 * dist/resources/call.js
 */
export class PlivoApi {
  readonly #api: RestApi;

  constructor(options: PlivoApiOptions) {
    this.#api = plivoRest(options);
  }

  /**
   * Requests a call once: without an answer it is unknown whether the call exists (CARRIER_SILENT).
   * @returns the id of the request; callbacks have the call's id
   */
  async createCall(call: PlivoCallRequest, signal: AbortSignal): Promise<string> {
    const { machineUrl } = call;
    const headers = Object.entries(call.headers).flatMap(([name, value]) => {
      const ours = HEADER.exec(name)?.[1];
      return ours === undefined || !/^[a-z0-9]{1,200}$/i.test(value) ? [] : [`${ours}=${value}`];
    });
    const json: Record<string, unknown> = {
      from: plivoNumber(call.from),
      to: plivoNumber(call.to),
      answer_url: call.answerUrl,
      answer_method: 'POST',
      ring_url: call.ringUrl,
      ring_method: 'POST',
      hangup_url: call.hangupUrl,
      hangup_method: 'POST',
      ring_timeout: call.ringS,
      time_limit: LONGEST_S,
    };
    if (machineUrl !== null) {
      json['machine_detection'] = 'true';
      json['machine_detection_url'] = machineUrl;
      json['machine_detection_method'] = 'POST';
    }
    if (headers.length > 0) json['sip_headers'] = headers.join(',');
    const { body } = await this.#api.patiently({ method: 'POST', path: '/Call/', json }, signal);
    return this.#api.textIn(body, 'request_uuid');
  }

  /** Makes a call ask an address for instructions. */
  async transfer(callId: string, url: string, signal: AbortSignal): Promise<void> {
    const json = { legs: 'aleg', aleg_url: url, aleg_method: 'POST' };
    await this.#api.patiently({ method: 'POST', path: callPath(callId), json }, signal);
  }

  /** Ends a call in any state. An unknown or ended call counts as ended. */
  async hangUp(callId: string, signal: AbortSignal): Promise<void> {
    await this.#delete(callPath(callId), signal);
  }

  /** Cancels the request for a call, whether it is queued or ringing. */
  async cancel(requestId: string, signal: AbortSignal): Promise<void> {
    const isDone = await this.#delete(callPath(requestId), signal);
    if (!isDone) await this.#delete(`/Request/${encodeUrlText(requestId)}/`, signal);
  }

  /** Whether a call exists, ringing or answered. */
  async isLive(callId: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#api.ask({ method: 'GET', path: `${callPath(callId)}?status=live` }, signal);
      return true;
    } catch (error) {
      if (isNotThere(error)) return false;
      throw error;
    }
  }

  /** False = it did not exist. */
  async #delete(path: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#api.patiently({ method: 'DELETE', path }, signal);
      return true;
    } catch (error) {
      if (!isNotThere(error)) throw error;
      return false;
    }
  }
}

/** The account's part of Plivo's API. */
export function plivoRest({ clock, rest, authId }: PlivoApiOptions): RestApi {
  return new RestApi({
    clock,
    rest,
    carrier: 'plivo',
    root: `/v1/Account/${authId}`,
    refusal: ({ error }) => ({
      words: typeof error === 'string' ? error : error === undefined ? '' : JSON.stringify(error),
    }),
  });
}

export function isNotThere(error: unknown): boolean {
  return isRefusal(error) && error.details['status'] === 404;
}

function callPath(callId: string): string {
  return `/Call/${encodeUrlText(callId)}/`;
}
