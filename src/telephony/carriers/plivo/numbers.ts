import { encodeUrlText } from '../../../base/url-text.js';
import { ParleyError } from '../../../base/errors.js';
import type { NumberOffer } from '../carrier.js';
import type { NumberDesk } from '../media-socket/account-numbers.js';
import { isRefusal, objectsIn, type RestApi } from '../media-socket/rest.js';
import { isNotThere, type PlivoApiOptions, plivoRest } from './api.js';
import { plivoNumber } from './xml.js';

export interface PlivoNumbersOptions extends PlivoApiOptions {
  /** The name of the application for own numbers; letters, digits, `-` and `_`. */
  applicationName: string;
  /** URLs for the instructions and the ends of calls to own numbers. */
  answerUrl: string;
  hangupUrl: string;
}

/** Plivo's maximum page size. */
const PAGE = 20;
/** The problem is the account, not the number. */
const ACCOUNT_STATUSES = new Set<unknown>([401, 402, 403, 429]);
const MOST_PAGES = 50;

/**
 * Numbers for sale and numbers of the account. Calls to a number go to its application, which names the address to ask:
 * parley creates its own on first use. Its requests throw like those of `PlivoApi`.
 * @see https://docs.plivo.com/docs/numbers/api/phone-number, …/account-phone-number and
 * https://docs.plivo.com/docs/account/api/application (2026-11-22)
 */
export class PlivoNumbers implements NumberDesk {
  readonly #options: PlivoNumbersOptions;
  readonly #api: RestApi;
  /** Serialises the lookups of the application, so that it is created only once. */
  #asking: Promise<unknown> = Promise.resolve();

  constructor(options: PlivoNumbersOptions) {
    this.#options = options;
    this.#api = plivoRest(options);
  }

  /** Voice numbers for sale, with monthly prices; none for a country that Plivo does not know. */
  async search(
    country: string,
    areaCode: string | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<NumberOffer[]> {
    const offers: NumberOffer[] = [];
    for (let page = 0; offers.length < limit && page < MOST_PAGES; page++) {
      const query = new URLSearchParams({ country_iso: country, type: 'local', services: 'voice' });
      if (areaCode !== undefined && areaCode !== '') query.set('pattern', areaCode);
      query.set('limit', String(PAGE));
      query.set('offset', String(page * PAGE));
      const found = await this.#page(`/PhoneNumber/?${query.toString()}`, signal);
      for (const one of found) {
        const dollars = Number(one['monthly_rental_rate']);
        const monthlyCents = Number.isFinite(dollars) ? Math.round(dollars * 100) : 0;
        offers.push({ number: `+${this.#api.textIn(one, 'number')}`, country, monthlyCents });
      }
      if (found.length < PAGE) break;
    }
    return offers.slice(0, limit);
  }

  async findNumber(number: string, signal: AbortSignal): Promise<string | null> {
    const id = plivoNumber(number);
    try {
      await this.#api.ask({ method: 'GET', path: `/Number/${id}/` }, signal);
      return id;
    } catch (error) {
      if (isNotThere(error)) return null;
      throw error;
    }
  }

  async buyNumber(number: string, signal: AbortSignal): Promise<void> {
    const app_id = await this.#application(signal);
    const path = `/PhoneNumber/${plivoNumber(number)}/`;
    let bought: Readonly<Record<string, unknown>> | undefined;
    try {
      const { body } = await this.#api.patiently({ method: 'POST', path, json: { app_id } }, signal);
      bought = objectsIn(body, 'numbers')[0];
    } catch (error) {
      if (!isRefusal(error) || ACCOUNT_STATUSES.has(error.details['status'])) throw error;
      throw new ParleyError('NUMBER_UNAVAILABLE', { number }, { cause: error });
    }
    // Some countries require documents first: the order stays pending.
    if (bought?.['status'] === 'pending') {
      throw new ParleyError('CARRIER_SILENT', {
        carrier: 'plivo',
        reason: `it requires documents for ${number} first`,
      });
    }
  }

  async direct(id: string, signal: AbortSignal): Promise<void> {
    const app_id = await this.#application(signal);
    await this.#api.ask({ method: 'POST', path: `/Number/${id}/`, json: { app_id } }, signal);
  }

  /** Releases a number. A missing number counts as released. */
  async releaseNumber(id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.ask({ method: 'DELETE', path: `/Number/${id}/` }, signal);
    } catch (error) {
      if (!isNotThere(error)) throw error;
    }
  }

  /** The id of parley's application, created if missing. */
  #application(signal: AbortSignal): Promise<string> {
    const id = this.#asking.then(() => this.#upToDateApplication(signal));
    this.#asking = id.catch(() => undefined);
    return id;
  }

  async #upToDateApplication(signal: AbortSignal): Promise<string> {
    const { applicationName: app_name, answerUrl, hangupUrl } = this.#options;
    const urls = { answer_url: answerUrl, answer_method: 'POST', hangup_url: hangupUrl, hangup_method: 'POST' };
    const found = await this.#applicationNamed(app_name, signal);
    if (found === null) {
      const { body } = await this.#api.ask(
        { method: 'POST', path: '/Application/', json: { app_name, ...urls } },
        signal,
      );
      return this.#api.textIn(body, 'app_id');
    }
    const id = this.#api.textIn(found, 'app_id');
    if (Object.entries(urls).some(([name, value]) => found[name] !== value)) {
      await this.#api.ask({ method: 'POST', path: `/Application/${encodeUrlText(id)}/`, json: urls }, signal);
    }
    return id;
  }

  async #applicationNamed(name: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>> | null> {
    for (let page = 0; page < MOST_PAGES; page++) {
      // Matches names with this prefix.
      const query = new URLSearchParams({ app_name: name, limit: String(PAGE), offset: String(page * PAGE) });
      const { body } = await this.#api.ask({ method: 'GET', path: `/Application/?${query.toString()}` }, signal);
      const applications = objectsIn(body, 'objects');
      const found = applications.find((one) => one['app_name'] === name);
      if (found !== undefined) return found;
      if (applications.length < PAGE) break;
    }
    return null;
  }

  /** Numbers for sale; none if the country or the search is unknown. */
  async #page(path: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>[]> {
    try {
      return objectsIn((await this.#api.ask({ method: 'GET', path }, signal)).body, 'objects');
    } catch (error) {
      if (isRefusal(error) && (error.details['status'] === 400 || error.details['status'] === 404)) return [];
      throw error;
    }
  }
}
