import { type Clock, delay } from '../../../base/clock.js';
import { encodeUrlText } from '../../../base/url-text.js';
import { ParleyError } from '../../../base/errors.js';
import { type CallRefusal, isBusyTone, type NumberOffer } from '../carrier.js';
import type { NumberDesk } from '../media-socket/account-numbers.js';
import { type Rest, type RestRequest, isRefusal, objectsIn, RestApi } from '../media-socket/rest.js';
import { TELNYX_CODECS, type TelnyxCodec } from './media-messages.js';

export interface TelnyxApiOptions {
  clock: Clock;
  rest: Rest;
  /** The Voice API application of the calls. */
  connectionId: string;
  /** The webhook address for the application. */
  webhookUrl: string;
  codec: TelnyxCodec;
}

/**
 * `detect` reports who answered, `greeting_end` also the end of a machine's greeting, `premium` both with better
 * accuracy.
 */
export type TelnyxDetection = 'detect' | 'greeting_end' | 'premium';

export interface TelnyxDial {
  from: string;
  to: string;
  /** 5 to 600. */
  ringS: number;
  /** Returned with every webhook about the call. */
  state: string;
  webhookUrl: string;
  stream: TelnyxStream;
  detection: TelnyxDetection | null;
  headers: Readonly<Record<string, string>>;
}

export interface TelnyxStream {
  /** wss, with a token. */
  url: string;
  /** Sent with the upgrade as `x-telnyx-streaming-auth-token`. */
  authToken: string;
}

export interface TelnyxTransfer {
  target: string;
  /** The number that the target sees. */
  from: string;
  ringS: number;
  /** Returned with webhooks about parley's leg, and about the target's. */
  state: string;
  targetState: string;
  webhookUrl: string;
}

/** Delays after which an unanswered command is repeated, with the same command id. */
const REPEATS_AFTER_MS: readonly number[] = [500, 2_000];
const ORDER_POLL_MS = 1_000;
const ORDER_POLLS = 30;

/**
 * The used parts of Telnyx's REST API, under https://api.telnyx.com/v2. All methods may throw CARRIER_UNREACHABLE,
 * CARRIER_SILENT or CARRIER_REFUSED (with Telnyx's message) in addition to the documented errors. Unanswered commands
 * are repeated: Telnyx executes a command with the same `command_id` once within 60 s.
 * @see https://developers.telnyx.com/docs/voice/programmable-voice/command-retries (2026-11-22), and Telnyx's OpenAPI
 * description (github.com/team-telnyx/openapi)
 */
export class TelnyxApi implements NumberDesk {
  readonly #options: TelnyxApiOptions;
  readonly #api: RestApi;

  constructor(options: TelnyxApiOptions) {
    const { clock, rest } = options;
    this.#options = options;
    this.#api = new RestApi({
      clock,
      rest,
      carrier: 'telnyx',
      refusal: (body) => {
        const [first] = objectsIn(body, 'errors');
        const words = [first?.['title'], first?.['detail']].filter((one) => typeof one === 'string');
        const code = first?.['code'];
        return { words: words.join(': '), code: typeof code === 'string' ? code : undefined };
      },
    });
  }

  /**
   * Places a call. Without any answer it is unknown whether the call exists (CARRIER_SILENT).
   * @returns the id for commands
   */
  async dial(call: TelnyxDial, commandId: string, signal: AbortSignal): Promise<string> {
    const { from, to, ringS, state, webhookUrl, stream, detection, headers } = call;
    const dial: Record<string, unknown> = {
      connection_id: this.#options.connectionId,
      from,
      to,
      timeout_secs: ringS,
      // Each alternative route to the number would ring that long.
      retry_on_timeout: false,
      client_state: base64(state),
      webhook_url: webhookUrl,
      webhook_url_method: 'POST',
      ...this.#streaming(stream),
      send_silence_when_idle: true,
      ...headerFields(headers),
    };
    if (detection !== null) dial['answering_machine_detection'] = detection;
    const body = await this.#command('/calls', dial, commandId, signal);
    return this.#api.textIn(objectIn(body, 'data'), 'call_control_id');
  }

  /** Answers an inbound call, with its stream; without one if the codec must be named first. */
  async answer(
    id: string,
    { state, webhookUrl, streamUrl }: { state: string; webhookUrl: string; streamUrl: string | null },
    commandId: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { codec } = this.#options;
    const stream = streamUrl !== null && {
      stream_url: streamUrl,
      stream_track: 'inbound_track',
      stream_codec: codec,
      stream_bidirectional_mode: 'rtp',
      stream_bidirectional_codec: codec,
      stream_bidirectional_target_legs: 'self',
    };
    const body = { client_state: base64(state), webhook_url: webhookUrl, webhook_url_method: 'POST', ...stream };
    await this.#action(id, 'answer', { ...body, send_silence_when_idle: true }, commandId, signal);
  }

  /** Refuses an inbound call with a busy tone or another signal. An ended call counts as refused. */
  async reject(id: string, refusal: CallRefusal, commandId: string, signal: AbortSignal): Promise<void> {
    const cause = isBusyTone(refusal) ? 'USER_BUSY' : 'CALL_REJECTED';
    await unlessOver(this.#action(id, 'reject', { cause }, commandId, signal));
  }

  /** Ends a leg in any state. An unknown or ended leg counts as ended. */
  async hangUp(id: string, commandId: string, signal: AbortSignal): Promise<void> {
    await unlessOver(this.#action(id, 'hangup', {}, commandId, signal));
  }

  /** Starts (or restarts) the stream of a leg. */
  async startStream(id: string, stream: TelnyxStream, commandId: string, signal: AbortSignal): Promise<void> {
    await this.#action(id, 'streaming_start', this.#streaming(stream), commandId, signal);
  }

  async stopStream(id: string, commandId: string, signal: AbortSignal): Promise<void> {
    await unlessOver(this.#action(id, 'streaming_stop', {}, commandId, signal));
  }

  /**
   * Connects the far end to a target when the target answers; before, otherwise, and after the target has left, the far
   * end stays on this leg.
   */
  async transfer(id: string, transfer: TelnyxTransfer, commandId: string, signal: AbortSignal): Promise<void> {
    const { target, from, ringS, state, targetState, webhookUrl } = transfer;
    const body = {
      to: target,
      from,
      timeout_secs: ringS,
      client_state: base64(state),
      target_leg_client_state: base64(targetState),
      park_after_unbridge: 'self',
      webhook_url: webhookUrl,
      webhook_url_method: 'POST',
    };
    await this.#action(id, 'transfer', body, commandId, signal);
  }

  /** Connects two legs; the end of one ends the other. */
  async bridge(id: string, other: string, commandId: string, signal: AbortSignal): Promise<void> {
    await this.#action(id, 'bridge', { call_control_id: other }, commandId, signal);
  }

  /** Presses keys, each 100 ms long; `w` waits half a second, `W` a second. */
  async pressKeys(id: string, digits: string, commandId: string, signal: AbortSignal): Promise<void> {
    await this.#action(id, 'send_dtmf', { digits, duration_millis: 100 }, commandId, signal);
  }

  /** Whether a leg exists; false if Telnyx does not know it. */
  async isAlive(id: string, signal: AbortSignal): Promise<boolean> {
    try {
      const { body } = await this.#api.ask({ method: 'GET', path: `/calls/${encodeUrlText(id)}` }, signal);
      return objectIn(body, 'data')['is_alive'] === true;
    } catch (error) {
      if (isOver(error)) return false;
      throw error;
    }
  }

  /** Voice numbers for sale, with monthly prices; none for a country that Telnyx does not know. */
  async searchNumbers(
    country: string,
    areaCode: string | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<NumberOffer[]> {
    const query = new URLSearchParams({
      'filter[country_code]': country,
      'filter[features][]': 'voice',
      'filter[limit]': String(limit),
    });
    if (areaCode !== undefined && areaCode !== '') query.set('filter[national_destination_code]', areaCode);
    try {
      const { body } = await this.#api.ask(
        { method: 'GET', path: `/available_phone_numbers?${query.toString()}` },
        signal,
      );
      return objectsIn(body, 'data')
        .map((one) => {
          const dollars = Number(objectIn(one, 'cost_information')['monthly_cost']);
          const monthlyCents = Number.isFinite(dollars) ? Math.round(dollars * 100) : 0;
          return { number: this.#api.textIn(one, 'phone_number'), country, monthlyCents };
        })
        .slice(0, limit);
    } catch (error) {
      if (isRefusal(error) && [400, 404, 422].includes(Number(error.details['status']))) return [];
      throw error;
    }
  }

  /** Telnyx's id of a number of the account; null = not found. */
  async findNumber(number: string, signal: AbortSignal): Promise<string | null> {
    // Digits only: with the plus nothing is found. Longer numbers that contain them are found, too.
    const query = new URLSearchParams({ 'filter[phone_number]': number.slice(1), 'page[size]': '250' });
    const { body } = await this.#api.ask({ method: 'GET', path: `/phone_numbers?${query.toString()}` }, signal);
    const found = objectsIn(body, 'data').find((one) => one['phone_number'] === number && one['status'] !== 'deleted');
    return found === undefined ? null : this.#api.textIn(found, 'id');
  }

  /**
   * Buys a number, and routes its calls to the application and to parley; resolves when the number is active.
   * @throws ParleyError NUMBER_UNAVAILABLE
   */
  async buyNumber(number: string, signal: AbortSignal): Promise<void> {
    const { clock, connectionId } = this.#options;
    await this.#listen(signal);
    const json = { connection_id: connectionId, phone_numbers: [{ phone_number: number }] };
    let order: Readonly<Record<string, unknown>>;
    try {
      const { body } = await this.#api.patiently({ method: 'POST', path: '/number_orders', json }, signal);
      order = objectIn(body, 'data');
    } catch (error) {
      // A problem with the account does not mean that the number is unavailable.
      const isAccount = isRefusal(error) && [401, 402, 403, 429].includes(Number(error.details['status']));
      if (!isRefusal(error) || isAccount) throw error;
      throw new ParleyError('NUMBER_UNAVAILABLE', { number }, { cause: error });
    }
    const id = this.#api.textIn(order, 'id');
    for (let polls = 0; order['status'] === 'pending' && polls < ORDER_POLLS; polls++) {
      await delay(clock, ORDER_POLL_MS, signal);
      const { body } = await this.#api.ask({ method: 'GET', path: `/number_orders/${encodeUrlText(id)}` }, signal);
      order = objectIn(body, 'data');
    }
    if (order['status'] === 'success') return;
    if (order['status'] === 'failure') throw new ParleyError('NUMBER_UNAVAILABLE', { number });
    // Some countries require documents first: the order stays pending.
    throw new ParleyError('CARRIER_SILENT', { carrier: 'telnyx', reason: `its order ${id} is not done yet` });
  }

  /** Routes the calls of a number of the account to the application and to parley. */
  async direct(id: string, signal: AbortSignal): Promise<void> {
    await this.#listen(signal);
    const json = { connection_id: this.#options.connectionId };
    await this.#api.ask({ method: 'PATCH', path: `/phone_numbers/${encodeUrlText(id)}`, json }, signal);
  }

  /** Releases a number. A missing number counts as released. */
  async releaseNumber(id: string, signal: AbortSignal): Promise<void> {
    await unlessOver(this.#api.ask({ method: 'DELETE', path: `/phone_numbers/${encodeUrlText(id)}` }, signal));
  }

  /** Sets the application's webhook address and version; other settings stay. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { connectionId, webhookUrl } = this.#options;
    const path = `/call_control_applications/${encodeUrlText(connectionId)}`;
    const { body } = await this.#api.ask({ method: 'GET', path }, signal);
    const application = objectIn(body, 'data');
    if (application['webhook_event_url'] === webhookUrl && application['webhook_api_version'] === '2') return;
    const application_name = this.#api.textIn(application, 'application_name');
    const json = { application_name, webhook_event_url: webhookUrl, webhook_api_version: '2' };
    await this.#api.ask({ method: 'PATCH', path, json }, signal);
  }

  #streaming({ url, authToken }: TelnyxStream): object {
    const { codec } = this.#options;
    return {
      stream_url: url,
      stream_auth_token: authToken,
      stream_track: 'inbound_track',
      stream_codec: codec,
      stream_bidirectional_mode: 'rtp',
      stream_bidirectional_codec: codec,
      stream_bidirectional_sampling_rate: TELNYX_CODECS[codec].sampleRateHz,
      stream_bidirectional_target_legs: 'self',
    };
  }

  #action(id: string, action: string, body: object, commandId: string, signal: AbortSignal): Promise<object> {
    return this.#command(`/calls/${encodeUrlText(id)}/actions/${action}`, body, commandId, signal);
  }

  /**
   * If a repetition is refused although the first try may have succeeded, the refusal says nothing: throws the timeout.
   */
  async #command(
    path: string,
    body: object,
    commandId: string,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>> {
    const request: RestRequest = { method: 'POST', path, json: { ...body, command_id: commandId } };
    let silence: ParleyError | null = null;
    for (const waitMs of [...REPEATS_AFTER_MS, null]) {
      try {
        return (await this.#api.patiently(request, signal)).body;
      } catch (error) {
        if (silence !== null && isRefusal(error)) throw silence;
        if (!(error instanceof ParleyError) || error.code !== 'CARRIER_SILENT') throw error;
        silence = error;
      }
      if (waitMs !== null) await delay(this.#options.clock, waitMs, signal);
    }
    throw silence ?? new ParleyError('CARRIER_SILENT', { carrier: 'telnyx', reason: 'no answer' });
  }
}

/** 404, and 90018: the call has ended. */
function isOver(error: unknown): boolean {
  return isRefusal(error) && (error.details['status'] === 404 || error.details['vendorCode'] === '90018');
}

async function unlessOver(asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    if (!isOver(error)) throw error;
  }
}

/** Headers of the INVITE: custom headers, and User-to-User, which has its own list. */
function headerFields(headers: Readonly<Record<string, string>>): object {
  const all = Object.entries(headers).map(([name, value]) => ({ name, value }));
  const own = all.filter(({ name }) => /^x-/i.test(name));
  const uui = all.filter(({ name }) => /^user-to-user$/i.test(name)).map((one) => ({ ...one, name: 'User-to-User' }));
  const fields: { custom_headers?: typeof own; sip_headers?: typeof uui } = {};
  if (own.length > 0) fields.custom_headers = own;
  if (uui.length > 0) fields.sip_headers = uui;
  return fields;
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

function objectIn(body: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  const value = body[name];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
