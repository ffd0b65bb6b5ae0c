import type { MediaSocket } from '../../../../src/telephony/carriers/media-socket/media-socket.js';
import type { Rest, RestReply, RestRequest } from '../../../../src/telephony/carriers/media-socket/rest.js';
import { twilioSignature } from '../../../../src/telephony/carriers/twilio/carrier.js';
import { type Clock, delay } from '../../../../src/base/clock.js';
import type { CarrierDouble } from '../carrier-double.js';
import type { Doorway } from '../doorway.js';
import { numbersForSale } from '../numbers-for-sale.js';
import { type Habits, Person } from '../people.js';
import { faulty, noFaults } from '../rest-faults.js';
import { RestOperations } from '../rest-operations.js';
import { SoundTicks } from '../sound-ticks.js';
import { DoubleCall } from './call.js';
import parameters from './parameters.json' with { type: 'json' };

export interface TwilioDoubleOptions {
  clock: Clock;
  authToken: string;
  doorway: Doorway;
  people: Readonly<Record<string, Habits>>;
  /** From a request of REST to its answer. Default none: not even virtual time has to pass. */
  latencyMs?: number;
}

export const ACCOUNT_SID = `AC${'0123456789abcdef'.repeat(2)}`;
const OPERATIONS = new RestOperations(parameters.operations);

/**
 * Twilio's voice API, webhooks and media streams, with people at the far side of its network: stateful, strict about
 * what it is sent (REST against Twilio's OpenAPI description, TwiML, media messages), signing what it sends. From
 * twilio.com/docs/voice/{api/call-resource, twiml, media-streams/websocket-messages} and docs/usage/security
 * (2026-11-22); the signatures are checked against twilio-node 6.2.0 in test/vendors/sdk.
 */
export class TwilioDouble implements CarrierDouble {
  readonly accountSid = ACCOUNT_SID;
  readonly calls = new Map<string, DoubleCall>();
  readonly people = new Map<string, Person>();
  /** Kinds of webhooks: statuses that are reported, `voice`, `redirect`, `dial`, `answer` of a target, `machine`. */
  readonly faults = noFaults();
  /** Requests that Twilio would refuse, and why. */
  readonly violations: string[] = [];
  /** Every request, as `POST /Calls.json`. */
  readonly requests: string[] = [];
  /** Numbers of the account. */
  readonly numbers = new Map<string, { sid: string; VoiceUrl: string; StatusCallback: string }>();
  readonly #options: TwilioDoubleOptions;
  readonly #ticks: SoundTicks;
  #sids = 0;

  constructor(options: TwilioDoubleOptions) {
    this.#options = options;
    this.#ticks = new SoundTicks(options.clock, () => this.calls.values());
    for (const [number, habits] of Object.entries(options.people)) this.people.set(number, new Person(number, habits));
  }

  sid(kind: 'CA' | 'MZ' | 'PN'): string {
    return kind + (++this.#sids).toString(16).padStart(32, '0');
  }

  /** The REST API below https://api.twilio.com. */
  readonly rest: Rest = async (request, signal) => {
    const { clock, latencyMs = 0 } = this.#options;
    if (latencyMs > 0) await delay(clock, latencyMs, signal);
    const root = `/2010-04-01/Accounts/${ACCOUNT_SID}`;
    const below = { ...request, path: request.path.slice(root.length) };
    const [path = ''] = below.path.split('?');
    this.requests.push(`${request.method} ${path}`);
    if (!request.path.startsWith(`${root}/`)) return refusal(404, 20_404, 'The requested resource was not found');
    const tooMany = refusal(429, 20_429, 'Too Many Requests');
    return faulty(this.faults, { tooMany, signal }, () => {
      const checked = OPERATIONS.check(below);
      if ('wrong' in checked) {
        this.violations.push(checked.wrong);
        return refusal(400, 20_001, checked.wrong);
      }
      const reply = this.#do(below);
      return reply.status < 300 ? { ...reply, status: checked.answer } : reply;
    });
  };

  /** The API of prices, below https://pricing.twilio.com/v1. */
  readonly pricing: Rest = ({ path }) => {
    if (path !== '/PhoneNumbers/Countries/US') return Promise.resolve(refusal(404, 20_404, 'not found'));
    const prices = [{ number_type: 'local', base_price: '1.15', current_price: '1.15' }];
    const body = { country: 'United States', iso_country: 'US', phone_number_prices: prices, price_unit: 'USD' };
    return Promise.resolve({ status: 200, body });
  };

  farCalls(): DoubleCall[] {
    return [...this.calls.values()];
  }

  ownNumbers(): string[] {
    return [...this.numbers.keys()];
  }

  /** Somebody calls a number of the account. */
  callIn(from: string, to: string, habits: Habits, more: Record<string, string> = {}): DoubleCall {
    const number = this.numbers.get(to);
    if (number === undefined) throw new Error(`${to} is no number of the account`);
    const facts = { id: this.sid('CA'), from, to, direction: 'inbound' as const, person: new Person(from, habits) };
    const call = new DoubleCall(this, this.#options.clock, {
      ...facts,
      statusCallback: number.StatusCallback === '' ? null : number.StatusCallback,
      statusEvents: ['completed'],
    });
    this.calls.set(facts.id, call);
    call.status = 'ringing';
    this.#ticks.start();
    void this.post(number.VoiceUrl, call.form(more), 'voice').then((twiml) => {
      if (call.isOver) return;
      if (!twiml.includes('<Reject')) {
        call.status = 'in-progress';
        this.#behave(call);
      }
      call.run(twiml);
    });
    return call;
  }

  /** A call that TwiML's Dial places. */
  dial(request: {
    from: string;
    to: string;
    timeoutMs: number;
    statusCallback: string | null;
    statusEvents: readonly string[];
    onAnswered: (call: DoubleCall) => void;
  }): DoubleCall {
    const call = this.#place({ ...request, direction: 'outbound-dial' }, request.timeoutMs);
    this.#ring(call, request.timeoutMs, () => request.onAnswered(call));
    return call;
  }

  inRoom(room: string): DoubleCall[] {
    return [...this.calls.values()].filter((call) => call.room === room);
  }

  /** A signed webhook; resolves with what is answered. */
  async post(url: string, form: Record<string, string>, kind: string): Promise<string> {
    const { clock, doorway, authToken } = this.#options;
    const params = new URLSearchParams(form);
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': twilioSignature(authToken, url, params),
    };
    await delay(clock, 20 + (this.faults.lateMs[kind] ?? 0));
    const { againAfterMs } = this.faults;
    if (againAfterMs !== null) {
      void delay(clock, againAfterMs).then(() => doorway.post(url, params.toString(), headers));
    }
    return doorway.post(url, params.toString(), headers);
  }

  open(url: string): Promise<MediaSocket | null> {
    const { doorway, authToken } = this.#options;
    return doorway.open(url, { 'x-twilio-signature': twilioSignature(authToken, url, new URLSearchParams()) });
  }

  #do({ method, path: whole, form = [] }: RestRequest): RestReply {
    const [path = '', text = ''] = whole.split('?');
    const query = new URLSearchParams(text);
    const field = (name: string): string => form.find(([other]) => other === name)?.[1] ?? '';
    if (method === 'POST' && path === '/Calls.json') return this.#createCall(form, field);
    const callSid = /^\/Calls\/(\w+)\.json$/.exec(path)?.[1];
    if (callSid !== undefined) return this.#callResource(method, callSid, field);
    if (path.startsWith('/AvailablePhoneNumbers/')) return this.#forSale(path, query);
    return this.#incomingNumbers(method, path, query, field);
  }

  #createCall(form: readonly (readonly [string, string])[], field: (name: string) => string): RestReply {
    if (!this.numbers.has(field('From'))) return refusal(400, 21_210, `${field('From')} is not a number of yours`);
    if (field('Url') === '' && field('Twiml') === '') return refusal(400, 21_205, 'Url or Twiml is needed');
    if (field('Twiml').length > 4_000) return refusal(400, 21_623, 'Twiml is too long');
    const events = form.filter(([name]) => name === 'StatusCallbackEvent').map(([, value]) => value);
    const timeoutMs = Number(field('Timeout') || '60') * 1000;
    const call = this.#place(
      {
        from: field('From'),
        to: field('To'),
        direction: 'outbound-api',
        statusCallback: field('StatusCallback') || null,
        statusEvents: events,
      },
      timeoutMs,
    );
    if (field('MachineDetection') !== '') {
      call.machineDetection = { mode: field('MachineDetection'), url: field('AsyncAmdStatusCallback') };
    }
    this.#ring(call, timeoutMs, () => {
      call.run(field('Twiml'));
      const { machineDetection } = call;
      if (machineDetection === null) return;
      const more = { AnsweredBy: 'human', MachineDetectionDuration: '2400' };
      void delay(this.#options.clock, 2_400).then(() => this.post(machineDetection.url, call.form(more), 'machine'));
    });
    return { status: 201, body: resource(call) };
  }

  #callResource(method: string, sid: string, field: (name: string) => string): RestReply {
    const call = this.calls.get(sid);
    if (call === undefined) return refusal(404, 20_404, `The requested resource /Calls/${sid}.json was not found`);
    if (method === 'POST') {
      if (call.isOver) return refusal(400, 21_220, 'Invalid call state: call is not in-progress. Cannot redirect.');
      if (field('Status') === 'completed') call.enter(call.status === 'in-progress' ? 'completed' : 'canceled');
      else if (field('Status') === 'canceled' && call.status !== 'in-progress') call.enter('canceled');
      else if (field('Twiml') !== '') {
        if (call.status !== 'in-progress') return refusal(400, 21_220, 'Call is not in-progress. Cannot redirect.');
        call.run(field('Twiml'));
      }
    }
    return { status: 200, body: resource(call) };
  }

  #forSale(path: string, query: URLSearchParams): RestReply {
    const country = path.split('/')[2] ?? '';
    if (country !== 'US') return refusal(404, 20_404, `The requested resource ${path} was not found`);
    const area = query.get('AreaCode') ?? '415';
    const free = numbersForSale(area, (number) => this.numbers.has(number), Number(query.get('PageSize') ?? '50'));
    const offers = free.map((phone_number) => ({ phone_number, iso_country: country, capabilities: { voice: true } }));
    return { status: 200, body: { available_phone_numbers: offers, uri: path } };
  }

  #incomingNumbers(method: string, path: string, query: URLSearchParams, field: (name: string) => string): RestReply {
    const sid = /\/(PN\w+)\.json$/.exec(path)?.[1];
    const urls = { VoiceUrl: field('VoiceUrl'), StatusCallback: field('StatusCallback') };
    if (sid !== undefined) {
      const found = [...this.numbers].find(([, one]) => one.sid === sid);
      if (found === undefined) return refusal(404, 20_404, 'not found');
      if (method === 'DELETE') this.numbers.delete(found[0]);
      else this.numbers.set(found[0], { sid, ...urls });
      return { status: 200, body: { sid, phone_number: found[0] } };
    }
    if (method === 'POST') {
      const number = field('PhoneNumber');
      if (this.numbers.has(number)) return refusal(400, 21_422, 'PhoneNumber is not available');
      this.numbers.set(number, { sid: this.sid('PN'), ...urls });
      return { status: 201, body: { sid: this.numbers.get(number)?.sid, phone_number: number } };
    }
    const asked = query.get('PhoneNumber');
    // Any part of a number.
    const size = Number(query.get('PageSize') ?? '50');
    const found = [...this.numbers].filter(([number]) => number.includes(asked ?? '')).slice(0, size);
    const list = found.map(([phone_number, one]) => ({ phone_number, sid: one.sid }));
    return { status: 200, body: { incoming_phone_numbers: list, next_page_uri: null } };
  }

  #place(
    request: {
      from: string;
      to: string;
      direction: 'outbound-api' | 'outbound-dial';
      statusCallback: string | null;
      statusEvents: readonly string[];
    },
    _timeoutMs: number,
  ): DoubleCall {
    const person = new Person(request.to, this.people.get(request.to)?.habits ?? { does: 'unknown' });
    this.people.set(request.to, person);
    const call = new DoubleCall(this, this.#options.clock, { ...request, id: this.sid('CA'), person });
    this.calls.set(call.facts.id, call);
    this.#ticks.start();
    return call;
  }

  /** The network rings somebody, who does what they do. */
  #ring(call: DoubleCall, timeoutMs: number, onAnswered: () => void): void {
    const { clock } = this.#options;
    const { habits } = call.facts.person;
    void (async () => {
      await delay(clock, 80);
      call.enter('initiated');
      await delay(clock, 100);
      if (habits.does === 'unknown') return call.enter('failed', '404');
      if (habits.does === 'busy') return call.enter('busy', '486');
      if (call.isOver) return;
      call.enter('ringing');
      if (habits.does === 'absent') {
        await delay(clock, timeoutMs);
        return call.enter('no-answer', '487');
      }
      await delay(clock, habits.answersAfterMs ?? 500);
      if (habits.does === 'reject') return call.enter('busy', '603');
      if (call.isOver) return;
      call.enter('in-progress', '200');
      this.#behave(call);
      onAnswered();
    })();
  }

  #behave(call: DoubleCall): void {
    const { clock } = this.#options;
    const { presses, leavesAfterMs } = call.facts.person.habits;
    if (presses !== undefined) void delay(clock, presses.afterMs).then(() => call.stream?.digits(presses.keys));
    if (leavesAfterMs !== undefined) void delay(clock, leavesAfterMs).then(() => call.enter('completed'));
  }
}

function refusal(status: number, code: number, message: string): RestReply {
  return { status, body: { code, message, more_info: `https://www.twilio.com/docs/errors/${String(code)}`, status } };
}

function resource({ facts, status }: DoubleCall): RestReply['body'] {
  return {
    sid: facts.id,
    account_sid: ACCOUNT_SID,
    status,
    from: facts.from,
    to: facts.to,
    direction: facts.direction,
  };
}
