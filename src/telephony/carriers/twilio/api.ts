import type { Clock } from '../../../base/clock.js';
import { encodeUrlText } from '../../../base/url-text.js';
import { ParleyError } from '../../../base/errors.js';
import type { NumberDesk } from '../media-socket/account-numbers.js';
import {
  formOf,
  type Rest,
  type RestRequest,
  restWithin,
  isRefusal,
  objectsIn,
  RestApi,
} from '../media-socket/rest.js';

export interface TwilioApiOptions {
  clock: Clock;
  accountSid: string;
  /** The main API, and the pricing API. */
  rest: Rest;
  pricing: Rest;
  /** The webhook address of numbers. */
  voiceUrl: string;
  statusUrl: string;
}

export interface TwilioCallRequest {
  from: string;
  to: string;
  twiml: string;
  /** Ring time in seconds, 5 to 600. */
  ringS: number;
  statusUrl: string;
  machineDetection: { mode: 'Enable' | 'DetectMessageEnd'; url: string } | null;
}

/** In Twilio's terms. */
export interface TwilioCallStatus {
  sid: string;
  status: string;
}

const PRICES_MS = 10_000;
/** The number is invalid, not for sale or taken; other errors keep Twilio's text. */
const NOT_FOR_SALE = new Set<unknown>([21_421, 21_422]);
const PAGE_SIZE = 1_000;

/**
 * The used parts of Twilio's REST API. All methods may throw CARRIER_UNREACHABLE, CARRIER_SILENT or CARRIER_REFUSED
 * (with Twilio's message) in addition to the documented errors.
 * @see https://www.twilio.com/docs/voice/api/call-resource (2026-11-22), and Twilio's OpenAPI description,
 * twilio_api_v2010
 */
export class TwilioApi implements NumberDesk {
  readonly #options: TwilioApiOptions;
  readonly #api: RestApi;

  constructor(options: TwilioApiOptions) {
    const { clock, rest, accountSid } = options;
    this.#options = options;
    this.#api = new RestApi({
      clock,
      rest,
      carrier: 'twilio',
      root: rootOf(accountSid),
      refusal: ({ message, code }) => ({
        words: typeof message === 'string' ? message : '',
        code: typeof code === 'number' ? code : undefined,
      }),
    });
  }

  /** Requests a call once: without an answer it is unknown whether the call exists (CARRIER_SILENT). */
  async createCall(call: TwilioCallRequest, signal: AbortSignal): Promise<string> {
    const { machineDetection } = call;
    const form = formOf({
      To: call.to,
      From: call.from,
      Twiml: call.twiml,
      Timeout: String(call.ringS),
      StatusCallback: call.statusUrl,
      StatusCallbackMethod: 'POST',
      StatusCallbackEvent: ['initiated', 'ringing', 'answered', 'completed'],
      MachineDetection: machineDetection?.mode,
      AsyncAmd: machineDetection === null ? undefined : 'true',
      AsyncAmdStatusCallback: machineDetection?.url,
      AsyncAmdStatusCallbackMethod: machineDetection === null ? undefined : 'POST',
    });
    const { body } = await this.#api.patiently({ method: 'POST', path: '/Calls.json', form }, signal);
    return this.#api.textIn(body, 'sid');
  }

  /** Redirects a call to other TwiML. */
  async redirect(sid: string, twiml: string, signal: AbortSignal): Promise<void> {
    await this.#api.patiently({ method: 'POST', path: callPath(sid), form: formOf({ Twiml: twiml }) }, signal);
  }

  /** Ends a call in any state. An unknown or ended call counts as ended. */
  async end(sid: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.patiently({ method: 'POST', path: callPath(sid), form: formOf({ Status: 'completed' }) }, signal);
    } catch (error) {
      if (!isNotThere(error)) throw error;
    }
  }

  /** Null = the call does not exist. */
  async status(sid: string, signal: AbortSignal): Promise<TwilioCallStatus | null> {
    try {
      const { body } = await this.#api.ask({ method: 'GET', path: callPath(sid) }, signal);
      return { sid: this.#api.textIn(body, 'sid'), status: this.#api.textIn(body, 'status') };
    } catch (error) {
      if (isNotThere(error)) return null;
      throw error;
    }
  }

  /** Voice numbers for sale; none for a country that Twilio does not know. */
  async searchNumbers(
    country: string,
    areaCode: string | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<string[]> {
    const query = new URLSearchParams({ VoiceEnabled: 'true', PageSize: String(Math.min(limit, PAGE_SIZE)) });
    // AreaCode works only for North America; otherwise digits after the country code are searched.
    if (areaCode !== undefined && areaCode !== '') {
      if (country === 'US' || country === 'CA') query.set('AreaCode', areaCode);
      else query.set('Contains', `${areaCode}*`);
    }
    try {
      const path = `/AvailablePhoneNumbers/${encodeUrlText(country)}/Local.json?${query.toString()}`;
      const { body } = await this.#api.ask({ method: 'GET', path }, signal);
      return objectsIn(body, 'available_phone_numbers')
        .map((one) => this.#api.textIn(one, 'phone_number'))
        .slice(0, limit);
    } catch (error) {
      if (isNotThere(error)) return [];
      throw error;
    }
  }

  /** Monthly price of a local number of a country, in US cents; 0 if Twilio does not tell. */
  async monthlyCents(country: string, signal: AbortSignal): Promise<number> {
    const { clock, pricing } = this.#options;
    const request: RestRequest = { method: 'GET', path: `/PhoneNumbers/Countries/${encodeUrlText(country)}` };
    const reply = await restWithin({ rest: pricing, clock, carrier: 'twilio' }, request, PRICES_MS, signal).catch(
      () => null,
    );
    if (reply === null || reply.status !== 200) return 0;
    const local = objectsIn(reply.body, 'phone_number_prices').find(({ number_type: type }) => type === 'local');
    const dollars = Number(local?.['current_price'] ?? local?.['base_price'] ?? 0);
    return Number.isFinite(dollars) ? Math.round(dollars * 100) : 0;
  }

  /** Twilio's id of a number of the account; null = not found. */
  async findNumber(number: string, signal: AbortSignal): Promise<string | null> {
    // The result also has longer numbers with this prefix.
    const query = new URLSearchParams({ PhoneNumber: number, PageSize: String(PAGE_SIZE) });
    const path = `/IncomingPhoneNumbers.json?${query.toString()}`;
    const { body } = await this.#api.ask({ method: 'GET', path }, signal);
    const found = objectsIn(body, 'incoming_phone_numbers').find((one) => one['phone_number'] === number);
    return found === undefined ? null : this.#api.textIn(found, 'sid');
  }

  /** Buys a number and routes its calls to parley. @throws ParleyError NUMBER_UNAVAILABLE */
  async buyNumber(number: string, signal: AbortSignal): Promise<void> {
    const form = formOf({ PhoneNumber: number, ...this.#webhooks });
    try {
      await this.#api.patiently({ method: 'POST', path: '/IncomingPhoneNumbers.json', form }, signal);
    } catch (error) {
      const isGone = isRefusal(error) && NOT_FOR_SALE.has(error.details['vendorCode']);
      throw isGone ? new ParleyError('NUMBER_UNAVAILABLE', { number }, { cause: error }) : error;
    }
  }

  /** Routes the calls of a number of the account to parley. */
  async direct(sid: string, signal: AbortSignal): Promise<void> {
    const path = `/IncomingPhoneNumbers/${encodeUrlText(sid)}.json`;
    await this.#api.ask({ method: 'POST', path, form: formOf(this.#webhooks) }, signal);
  }

  /** Releases a number. A missing number counts as released. */
  async releaseNumber(sid: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.ask({ method: 'DELETE', path: `/IncomingPhoneNumbers/${encodeUrlText(sid)}.json` }, signal);
    } catch (error) {
      if (!isNotThere(error)) throw error;
    }
  }

  get #webhooks(): Record<string, string> {
    const { voiceUrl, statusUrl } = this.#options;
    return { VoiceUrl: voiceUrl, VoiceMethod: 'POST', StatusCallback: statusUrl, StatusCallbackMethod: 'POST' };
  }
}

function rootOf(accountSid: string): string {
  return `/2010-04-01/Accounts/${accountSid}`;
}

function callPath(sid: string): string {
  return `/Calls/${encodeUrlText(sid)}.json`;
}

/** 404, and 21220: the call's state does not allow it, because it is over. */
function isNotThere(error: unknown): boolean {
  return isRefusal(error) && (error.details['status'] === 404 || error.details['vendorCode'] === 21_220);
}
