import { type Clock, delay } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import { type Rest, type RestReply, type RestRequest, restWithin } from './rest.js';

export interface RestApiOptions {
  clock: Clock;
  carrier: string;
  rest: Rest;
  /** Before every path. Default nothing. */
  root?: string;
  /** What the body of a refusal says, in the carrier's words, and its own code for it. */
  refusal: (body: RestReply['body']) => { words: string; code?: string | number };
}

const REQUEST_MS = 10_000;
/** Carriers take about a call a second by default, and say 429 to more. */
const BUSY_MS = 1_000;
const BUSY_TRIES = 5;

/**
 * A carrier's API, whose answers are bodies or errors: CARRIER_UNREACHABLE, CARRIER_SILENT where nobody knows whether
 * it was done (a 5xx is such an answer), or CARRIER_REFUSED with the carrier's own words. The details of a refusal have
 * `status` and, where it tells one, the carrier's `vendorCode`.
 */
export class RestApi {
  readonly #options: RestApiOptions;

  constructor(options: RestApiOptions) {
    this.#options = options;
  }

  /** Asks once. */
  async ask(request: RestRequest, signal: AbortSignal): Promise<RestReply> {
    const { clock, rest, carrier, root = '', refusal } = this.#options;
    const whole = { ...request, path: root + request.path };
    const reply = await restWithin({ rest, clock, carrier }, whole, REQUEST_MS, signal);
    if (reply.status < 300) return reply;
    const { status, body } = reply;
    const { words, code } = refusal(body);
    throw new ParleyError(status >= 500 ? 'CARRIER_SILENT' : 'CARRIER_REFUSED', {
      carrier,
      status,
      reason: `HTTP ${String(status)}${words === '' ? '' : `: ${words.slice(0, 300)}`}`,
      ...(code !== undefined && { vendorCode: code }),
    });
  }

  /** As `ask`; a refusal because of too many requests (429), which nothing has come of, is tried again. */
  async patiently(request: RestRequest, signal: AbortSignal): Promise<RestReply> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.ask(request, signal);
      } catch (error) {
        if (!isRefusal(error) || error.details['status'] !== 429 || tries >= BUSY_TRIES) throw error;
      }
      await delay(this.#options.clock, BUSY_MS * tries, signal);
    }
  }

  /** @throws ParleyError CARRIER_SILENT where there is none: the answer is not the one that was asked for */
  textIn(body: Readonly<Record<string, unknown>>, name: string): string {
    const value = body[name];
    if (typeof value === 'string' && value !== '') return value;
    throw new ParleyError('CARRIER_SILENT', { carrier: this.#options.carrier, reason: `its answer has no ${name}` });
  }
}

export function isRefusal(error: unknown): error is ParleyError {
  return error instanceof ParleyError && error.code === 'CARRIER_REFUSED';
}

/** The objects of a list; none where it is no list. */
export function objectsIn(body: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>>[] {
  const value = body[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
