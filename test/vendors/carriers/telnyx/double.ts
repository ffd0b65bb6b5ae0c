import { generateKeyPairSync, sign } from 'node:crypto';
import type { MediaSocket } from '../../../../src/telephony/carriers/media-socket/media-socket.js';
import type { Rest, RestReply, RestRequest } from '../../../../src/telephony/carriers/media-socket/rest.js';
import { type Clock, delay } from '../../../../src/base/clock.js';
import type { CarrierDouble } from '../carrier-double.js';
import type { Doorway } from '../doorway.js';
import { numbersForSale } from '../numbers-for-sale.js';
import { type Habits, Person } from '../people.js';
import { faulty, noFaults } from '../rest-faults.js';
import { RestOperations } from '../rest-operations.js';
import { SoundTicks } from '../sound-ticks.js';
import { DoubleLeg, type StreamRequest } from './leg.js';
import parameters from './parameters.json' with { type: 'json' };
import type { StreamCodec } from './stream.js';

export interface TelnyxDoubleOptions {
  clock: Clock;
  nowUnixMs: () => number;
  doorway: Doorway;
  people: Readonly<Record<string, Habits>>;
  /** Where the application's webhooks go. */
  webhookUrl: string;
  /** From a request of REST to its answer. Default none: not even virtual time has to pass. */
  latencyMs?: number;
}

type Fields = Readonly<Record<string, unknown>>;

export const CONNECTION_ID = '1494404757140276705';
const OPERATIONS = new RestOperations(parameters.operations);
/** Telnyx delivers what was not taken again. */
const AGAIN_MS = 2_000;
/** An order of numbers is worked on. */
const ORDER_MS = 1_500;

/**
 * Telnyx's Voice API, webhooks and media streams, with people at the far side of its network: stateful, strict about
 * what it is sent (REST against Telnyx's OpenAPI description, media frames), signing what it sends. From
 * developers.telnyx.com (call commands, receiving webhooks, media streaming, stream call media over WebSocket;
 * 2026-11-22); the signatures are checked against the npm package telnyx 7.24.0 in test/vendors/sdk. What it answers to
 * a Dial with a `command_id` that it has had is not published: here it has nothing in it.
 */
export class TelnyxDouble implements CarrierDouble {
  readonly connectionId = CONNECTION_ID;
  readonly legs = new Map<string, DoubleLeg>();
  readonly people = new Map<string, Person>();
  /** Kinds of webhooks are the types of their events. */
  readonly faults = noFaults();
  /** Requests that Telnyx would refuse, and why. */
  readonly violations: string[] = [];
  /** Every request, as `POST /calls`, with the ids of calls left out. */
  readonly requests: string[] = [];
  /** Webhooks that went out: their kinds, and what they were sent with. */
  readonly sent: { type: string; url: string; body: string; headers: Record<string, string> }[] = [];
  /** The Voice API application. */
  readonly application: { application_name: string; webhook_event_url: string; webhook_api_version: string };
  /** Numbers of the account. */
  readonly numbers = new Map<string, { id: string; connectionId: string }>();
  readonly #options: TelnyxDoubleOptions;
  readonly #keys = generateKeyPairSync('ed25519');
  readonly #dials = new Map<string, number>();
  readonly #orders = new Map<string, { number: string; status: string }>();
  readonly #ticks: SoundTicks;
  #ids = 0;

  constructor(options: TelnyxDoubleOptions) {
    this.#options = options;
    this.#ticks = new SoundTicks(options.clock, () => this.legs.values());
    const { webhookUrl: webhook_event_url } = options;
    this.application = { application_name: 'agents', webhook_event_url, webhook_api_version: '2' };
    for (const [number, habits] of Object.entries(options.people)) this.people.set(number, new Person(number, habits));
  }

  /** The account's public key, as Mission Control shows it. */
  get publicKey(): string {
    return this.#keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
  }

  uuid(): string {
    return `0ccc7b54-4df3-4bca-a65a-${(++this.#ids).toString(16).padStart(12, '0')}`;
  }

  /** The REST API below https://api.telnyx.com/v2. */
  readonly rest: Rest = async (request, signal) => {
    const { clock, latencyMs = 0 } = this.#options;
    if (latencyMs > 0) await delay(clock, latencyMs, signal);
    const [path = ''] = request.path.split('?');
    this.requests.push(`${request.method} ${path.replace(/\/calls\/[^/]+/, '/calls/…')}`);
    return faulty(this.faults, { tooMany: refusal(429, '10011', 'Too many requests'), signal }, () => {
      const checked = OPERATIONS.check(request);
      if (!('wrong' in checked)) return this.#do(request);
      this.violations.push(checked.wrong);
      return refusal(422, '10015', checked.wrong);
    });
  };

  farCalls(): DoubleLeg[] {
    return [...this.legs.values()];
  }

  ownNumbers(): string[] {
    return [...this.numbers.keys()];
  }

  /** Somebody calls a number of the account. */
  callIn(from: string, to: string, habits: Habits, more: object = {}): DoubleLeg {
    if (this.numbers.get(to)?.connectionId !== CONNECTION_ID) throw new Error(`${to} does not come to the application`);
    const leg = this.#leg(from, to, 'incoming', new Person(from, habits), this.uuid());
    leg.tell('call.initiated', { direction: 'incoming', state: 'parked', ...more });
    return leg;
  }

  /** A signed webhook, delivered once more where it is not taken. */
  async post(url: string, type: string, payload: object): Promise<void> {
    const { clock, nowUnixMs } = this.#options;
    const occurred_at = new Date(nowUnixMs()).toISOString();
    const data = { record_type: 'event', event_type: type, id: this.uuid(), occurred_at, payload };
    await delay(clock, 20 + (this.faults.lateMs[type] ?? 0));
    const { againAfterMs } = this.faults;
    const body = JSON.stringify({ data, meta: { attempt: 1, delivered_to: url } });
    const isTaken = await this.#deliver(url, type, body);
    const waitMs = againAfterMs ?? (isTaken ? null : AGAIN_MS);
    if (waitMs === null) return;
    await delay(clock, waitMs);
    await this.#deliver(url, type, JSON.stringify({ data, meta: { attempt: 2, delivered_to: url } }));
  }

  /** The headers that Telnyx proves a body with. */
  signed(body: string, unixMs = this.#options.nowUnixMs()): Record<string, string> {
    const timestamp = String(Math.floor(unixMs / 1000));
    const signature = sign(null, Buffer.from(`${timestamp}|${body}`), this.#keys.privateKey).toString('base64');
    return { 'telnyx-timestamp': timestamp, 'telnyx-signature-ed25519': signature };
  }

  open(url: string, authToken: string | null): Promise<MediaSocket | null> {
    const headers = authToken === null ? {} : { 'x-telnyx-streaming-auth-token': authToken };
    return this.#options.doorway.open(url, headers);
  }

  async #deliver(url: string, type: string, body: string): Promise<boolean> {
    const headers = { 'content-type': 'application/json', ...this.signed(body) };
    this.sent.push({ type, url, body, headers });
    try {
      await this.#options.doorway.post(url, body, headers);
      return true;
    } catch {
      return false;
    }
  }

  #do({ method, path: whole, json: body }: RestRequest): RestReply {
    const [path = '', text = ''] = whole.split('?');
    const query = new URLSearchParams(text);
    const json = (body ?? {}) as Fields;
    if (path === '/calls') return this.#dial(json);
    const [, id = '', action] = /^\/calls\/([^/]+)(?:\/actions\/(\w+))?$/.exec(path) ?? [];
    if (id !== '') return this.#call(decodeURIComponent(id), action, json);
    if (path === '/available_phone_numbers') return this.#forSale(query);
    if (path.startsWith('/number_orders')) return this.#order(method, path, json);
    if (path.startsWith('/call_control_applications/')) return this.#applications(method, path, json);
    return this.#number(method, path, query, json);
  }

  #applications(method: string, path: string, json: Fields): RestReply {
    if (!path.endsWith(`/${CONNECTION_ID}`)) return refusal(404, '10005', 'Resource not found');
    if (method === 'PATCH') Object.assign(this.application, json);
    return { status: 200, body: { data: { id: CONNECTION_ID, ...this.application } } };
  }

  #dial(json: Fields): RestReply {
    const { clock } = this.#options;
    const text = (name: string): string => (typeof json[name] === 'string' ? json[name] : '');
    const commandId = text('command_id');
    const isAgain = clock.nowMs() - (this.#dials.get(commandId) ?? -Infinity) < 60_000;
    if (commandId !== '' && isAgain) return { status: 200, body: { data: {} } };
    if (text('connection_id') !== CONNECTION_ID) return refusal(422, '10015', 'Invalid connection_id');
    if (!this.numbers.has(text('from'))) return refusal(403, 'D35', `Unverified origination number ${text('from')}`);
    const timeoutS = Number(json['timeout_secs'] ?? 30);
    if (timeoutS < 5 || timeoutS > 600) return refusal(422, '10015', 'timeout_secs must be from 5 to 600');
    this.#dials.set(commandId, clock.nowMs());
    const leg = this.#ring(text('from'), text('to'), timeoutS * 1000, this.uuid(), json);
    leg.streamRequest = streamIn(json);
    leg.detection = text('answering_machine_detection') || null;
    return { status: 200, body: { data: resource(leg) } };
  }

  #call(id: string, action: string | undefined, json: Fields): RestReply {
    const leg = this.legs.get(id);
    if (leg === undefined) return refusal(404, '10005', 'Resource not found');
    if (action === undefined) return { status: 200, body: { data: resource(leg) } };
    if (leg.isOver) return refusal(422, '90018', 'Call has already ended');
    if (!leg.isNew(json['command_id'])) return OK;
    if (typeof json['client_state'] === 'string') leg.clientState = json['client_state'];
    if (typeof json['webhook_url'] === 'string' && action !== 'transfer') leg.webhookUrl = json['webhook_url'];
    if (action === 'hangup') {
      const ourSide = leg.facts.direction === 'incoming' ? 'callee' : 'caller';
      leg.end(leg.state === 'answered' ? 'normal_clearing' : 'originator_cancel', ourSide);
      return OK;
    }
    if (action === 'answer' || action === 'reject') {
      if (leg.state !== 'parked') return refusal(422, '90034', `The call cannot be ${action}ed now`);
      if (action === 'reject') {
        leg.refusal = json['cause'] === 'USER_BUSY' ? 'busy' : 'rejected';
        leg.end(String(json['cause']).toLowerCase(), 'callee');
      } else {
        leg.streamRequest = streamIn(json);
        leg.answered();
      }
      return OK;
    }
    if (leg.state !== 'answered') return refusal(422, '90034', 'Call not answered yet');
    return this.#command(leg, action, json);
  }

  #command(leg: DoubleLeg, action: string, json: Fields): RestReply {
    switch (action) {
      case 'streaming_start': {
        const request = streamIn(json);
        if (request === null) return refusal(422, '10015', 'stream_url is not wss');
        if (leg.stream !== null) return refusal(422, '10015', 'The call is streamed already');
        void leg.openStream(request);
        return OK;
      }
      case 'streaming_stop':
        leg.stopStream();
        return OK;
      case 'send_dtmf': {
        const digits = String(json['digits']);
        if (!/^[0-9A-D*#wW]+$/.test(digits)) return refusal(422, '10015', 'digits are invalid');
        leg.facts.person.keys += digits.replaceAll(/w/gi, '');
        return OK;
      }
      case 'bridge': {
        const other = this.legs.get(String(json['call_control_id']));
        if (other?.state !== 'answered') return refusal(422, '90034', 'The other call is not answered');
        leg.isParkedAfterUnbridge = json['park_after_unbridge'] === 'self';
        leg.join(other);
        return OK;
      }
      default:
        this.#transfer(leg, json);
        return OK;
    }
  }

  #transfer(leg: DoubleLeg, json: Fields): void {
    const from = typeof json['from'] === 'string' ? json['from'] : leg.facts.to;
    leg.isParkedAfterUnbridge = json['park_after_unbridge'] === 'self';
    const target: Fields = { ...json, client_state: json['target_leg_client_state'] };
    const timeoutMs = Number(json['timeout_secs'] ?? 30) * 1000;
    const other = this.#ring(from, String(json['to']), timeoutMs, leg.facts.sessionId, target, () => leg.join(other));
    leg.onOver(() => other.end('originator_cancel', 'caller'));
  }

  /** The network rings somebody, who does what they do. */
  #ring(from: string, to: string, timeoutMs: number, session: string, json: Fields, onAnswer?: () => void): DoubleLeg {
    const { clock } = this.#options;
    const person = new Person(to, this.people.get(to)?.habits ?? { does: 'unknown' });
    this.people.set(to, person);
    const leg = this.#leg(from, to, 'outgoing', person, session);
    if (typeof json['client_state'] === 'string') leg.clientState = json['client_state'];
    if (typeof json['webhook_url'] === 'string') leg.webhookUrl = json['webhook_url'];
    const { habits } = person;
    void (async () => {
      await delay(clock, 80);
      if (leg.isOver) return;
      leg.tell('call.initiated', { direction: 'outgoing', state: 'bridging' });
      await delay(clock, 100);
      if (habits.does === 'unknown') return leg.end('not_found', 'callee', '404');
      if (habits.does === 'busy') return leg.end('user_busy', 'callee', '486');
      if (habits.does === 'absent') {
        await delay(clock, timeoutMs);
        return leg.end(json['retry_on_timeout'] === false ? 'no_answer' : 'timeout', 'unknown', '487');
      }
      await delay(clock, habits.answersAfterMs ?? 500);
      if (habits.does === 'reject') return leg.end('call_rejected', 'callee', '603');
      if (leg.isOver) return;
      leg.answered();
      onAnswer?.();
    })();
    return leg;
  }

  #leg(from: string, to: string, direction: 'incoming' | 'outgoing', person: Person, sessionId: string): DoubleLeg {
    const id = `v3:${(++this.#ids).toString(36).padStart(8, '0')}-MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2`;
    const facts = { id, sessionId, from, to, direction, person };
    const leg = new DoubleLeg(this, this.#options.clock, facts, this.application.webhook_event_url);
    this.legs.set(id, leg);
    this.#ticks.start();
    return leg;
  }

  #forSale(query: URLSearchParams): RestReply {
    if (query.get('filter[country_code]') !== 'US') return refusal(400, '10015', 'Invalid country code');
    const area = query.get('filter[national_destination_code]') ?? '415';
    const limit = Number(query.get('filter[limit]') ?? '100');
    const free = numbersForSale(area, (number) => this.numbers.has(number), limit);
    const cost_information = { upfront_cost: '1.00000', monthly_cost: '1.00000', currency: 'USD' };
    const data = free.map((phone_number) => ({
      record_type: 'available_phone_number',
      phone_number,
      cost_information,
    }));
    return { status: 200, body: { data, meta: { total_results: data.length } } };
  }

  #order(method: string, path: string, json: Fields): RestReply {
    const { clock } = this.#options;
    if (method === 'GET') {
      const id = path.slice('/number_orders/'.length);
      const order = this.#orders.get(id);
      if (order === undefined) return refusal(404, '10005', 'Resource not found');
      return { status: 200, body: { data: { id, record_type: 'number_order', status: order.status } } };
    }
    const [{ phone_number: number = '' } = {}] = (json['phone_numbers'] ?? []) as { phone_number?: string }[];
    if (this.numbers.has(number)) return refusal(400, '85007', 'Number is not available');
    const id = this.uuid();
    const connectionId = typeof json['connection_id'] === 'string' ? json['connection_id'] : '';
    const order = { number, status: 'pending' };
    this.#orders.set(id, order);
    clock.schedule(clock.nowMs() + ORDER_MS, () => {
      order.status = 'success';
      this.numbers.set(number, { id: String(++this.#ids), connectionId });
    });
    return { status: 200, body: { data: { id, record_type: 'number_order', status: 'pending' } } };
  }

  #number(method: string, path: string, query: URLSearchParams, json: Fields): RestReply {
    const id = path.slice('/phone_numbers/'.length);
    if (method === 'GET') {
      // Any part of a number, three digits at least; what has anything but digits in it finds nothing.
      const asked = query.get('filter[phone_number]');
      const isFound = (number: string): boolean => asked === null || (/^\d{3,}$/.test(asked) && number.includes(asked));
      const size = Number(query.get('page[size]') ?? '20');
      const found = [...this.numbers].filter(([number]) => isFound(number)).slice(0, size);
      const data = found.map(([phone_number, one]) => ({ id: one.id, phone_number, status: 'active' }));
      return { status: 200, body: { data, meta: { total_pages: 1, page_number: 1 } } };
    }
    const [number, own] = [...this.numbers].find(([, one]) => one.id === id) ?? [];
    if (number === undefined || own === undefined) return refusal(404, '10005', 'Resource not found');
    if (method === 'DELETE') this.numbers.delete(number);
    else if (typeof json['connection_id'] === 'string') own.connectionId = json['connection_id'];
    return { status: 200, body: { data: { id, phone_number: number } } };
  }
}

const OK: RestReply = { status: 200, body: { data: { result: 'ok' } } };

/** The stream that a command asks for, with Telnyx's defaults; null = none. */
function streamIn(json: Fields): StreamRequest | null {
  const url = json['stream_url'];
  if (typeof url !== 'string' || !url.startsWith('wss:') || json['stream_bidirectional_mode'] !== 'rtp') return null;
  const codec = (json['stream_bidirectional_codec'] ?? 'PCMU') as StreamCodec;
  const authToken = json['stream_auth_token'];
  return {
    url,
    codec,
    sampleRateHz: Number(json['stream_bidirectional_sampling_rate'] ?? 8_000),
    authToken: typeof authToken === 'string' ? authToken : null,
  };
}

function refusal(status: number, code: string, title: string): RestReply {
  const meta = { url: `https://developers.telnyx.com/docs/overview/errors/${code}` };
  return { status, body: { errors: [{ code, title, detail: '', meta }] } };
}

function resource({ facts, isOver }: DoubleLeg): RestReply['body'] {
  const { id, sessionId } = facts;
  return {
    record_type: 'call',
    call_control_id: id,
    call_leg_id: id.replace('v3:', 'l-'),
    call_session_id: sessionId,
    is_alive: !isOver,
  };
}
