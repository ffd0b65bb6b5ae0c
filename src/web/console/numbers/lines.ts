import { el } from '../../shared/elements.js';
import type { ConsoleApi } from '../api.js';
import { Loaded } from '../view.js';
import { shortTime } from '../words.js';
import { type TrunkAnswer, trunkState } from './trunk-state.js';

/** An account with a carrier, from `GET /carriers`. */
interface Account {
  name: string;
  numbers: readonly string[];
  calls: number;
  refused: readonly { reason: string; count: number }[];
}

/** Trunks change by themselves: they register, fail and recover. */
const REFRESH_MS = 5000;

/** The state of trunks and carriers. */
export class Lines {
  readonly element: HTMLElement;
  readonly #list: Loaded;
  #numbers: ReadonlySet<string> = new Set();
  #timer = 0;
  #isClosed = false;

  /** @param onKnown called after each check with whether there are any */
  constructor(api: ConsoleApi, onKnown: (hasAny: boolean) => void) {
    this.#list = new Loaded('Loading trunks', async () => {
      const [trunks, accounts] = await Promise.all([
        api.get<TrunkAnswer[]>('/trunks'),
        api.get<Account[]>('/carriers'),
      ]);
      onKnown(trunks.length + accounts.length > 0);
      this.#numbers = new Set([...trunks, ...accounts].flatMap(({ numbers }) => numbers));
      this.#again();
      if (trunks.length + accounts.length === 0) return [el('p', { class: 'soft' }, NONE)];
      return [el('ol', { class: 'calls' }, ...trunks.map(trunkItem), ...accounts.map(accountItem))];
    });
    this.element = this.#list.element;
  }

  /** Whether a trunk or an account has an imported number now. */
  async has(number: string): Promise<boolean> {
    await this.#list.refresh();
    return this.#numbers.has(number);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #again(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#list.refresh(), REFRESH_MS);
  }
}

const NONE =
  'No SIP trunk and no carrier account: numbers are on the simulated phone network, which no real phone reaches. ' +
  'The settings sip, twilio, telnyx and plivo connect real ones.';

function trunkItem(trunk: TrunkAnswer): HTMLElement {
  const { name, numbers, calls, registration, servers, refused } = trunk;
  const [state, look] = trunkState(trunk);
  const refusals = refused.map(({ status, count }) => `${String(count)} with ${String(status)}`);
  return el(
    'li',
    { class: 'item' },
    el('div', {}, el('b', {}, name === 'default' ? 'SIP trunk' : `SIP trunk ${name}`)),
    el('span', { class: `pill ${look}` }, state),
    el(
      'div',
      { class: 'item-lines' },
      ...(registration?.reason == null ? [] : [el('p', { class: 'fault' }, registration.reason)]),
      ...servers.map((server) => el('p', { class: 'soft' }, serverWords(server))),
      el('p', { class: 'soft' }, factsOf(numbers, calls, refusals)),
    ),
  );
}

function accountItem({ name, numbers, calls, refused }: Account): HTMLElement {
  const refusals = refused.map(({ reason, count }) => `${String(count)} ${reason}`);
  return el(
    'li',
    { class: 'item' },
    el('div', {}, el('b', {}, name.charAt(0).toUpperCase() + name.slice(1))),
    el('span', { class: 'pill' }, 'account'),
    el('p', { class: 'soft' }, factsOf(numbers, calls, refusals)),
  );
}

function serverWords({
  address,
  answers,
  last_answer_at: at,
  last_status: status,
}: TrunkAnswer['servers'][number]): string {
  if (answers === null) return `${address}: not checked yet`;
  const last = at === null ? '' : ` last ${String(status)} at ${shortTime(at, Date.now())}`;
  return answers ? `${address}: answers,${last}` : `${address}: no answer${last === '' ? '' : `,${last}`}`;
}

function factsOf(numbers: readonly string[], calls: number, refusals: readonly string[]): string {
  const facts = [
    numbers.length === 0 ? 'no imported number' : numbers.join(', '),
    calls === 1 ? '1 call in progress' : `${String(calls)} calls in progress`,
    ...(refusals.length === 0 ? [] : [`refused since the start: ${refusals.join(', ')}`]),
  ];
  return facts.join(' · ');
}
