import type { MediaSocket } from '../../../../src/telephony/carriers/media-socket/media-socket.js';
import type { Rest, RestReply, RestRequest } from '../../../../src/telephony/carriers/media-socket/rest.js';
import { plivoSignature } from '../../../../src/telephony/carriers/plivo/carrier.js';
import { type Clock, delay } from '../../../../src/base/clock.js';
import type { CarrierDouble } from '../carrier-double.js';
import type { Doorway } from '../doorway.js';
import { numbersForSale } from '../numbers-for-sale.js';
import { type Habits, Person } from '../people.js';
import { faulty, noFaults } from '../rest-faults.js';
import { RestOperations } from '../rest-operations.js';
import { SoundTicks } from '../sound-ticks.js';
import { CAUSES, PlivoCall, type PlivoCallFacts } from './call.js';
import parameters from './parameters.json' with { type: 'json' };

export interface PlivoDoubleOptions {
  clock: Clock;
  authToken: string;
  doorway: Doorway;
  people: Readonly<Record<string, Habits>>;
  /** Whether a call has the id of its request, as recent ones have, or one of its own. Default its own. */
  callsAreNamedByRequests?: boolean;
  /** The scheme of a media socket's address as it is signed. Default `http`, as on real calls. */
  signsSocketsAs?: 'http' | 'https' | 'wss';
  /**
   * Whether a call that is redirected leaves its stream for that. Default no: it goes when its stream is over, as
   * Plivo's command line's guide has it (github.com/plivo/plivo-cli, audio-streaming-skill).
   */
  leavesStreams?: boolean;
}

export interface Application {
  app_name: string;
  answer_url: string;
  hangup_url: string;
  [more: string]: unknown;
}

export const AUTH_ID = 'MA0123456789ABCDEFGH';
const OPERATIONS = new RestOperations(parameters.operations);
/** After so many transfers Plivo hangs up. */
const MOST_TRANSFERS = 70;

/**
 * Plivo's voice API, callbacks and audio streams, with people at the far side of its network: stateful, strict about
 * what it is sent (REST, Plivo XML, stream messages), signing what it sends. From docs.plivo.com/docs/voice (api, xml,
 * audio-streaming, troubleshooting/hangup-causes; 2026-11-22); signatures and answers are checked against npm plivo
 * 4.79.0 in test/vendors/sdk. Not published: what is answered to a caller id that is not the account's, and whether a
 * person is reported at `machine_detection_url`, as here.
 */
export class PlivoDouble implements CarrierDouble {
  readonly authId = AUTH_ID;
  readonly calls = new Map<string, PlivoCall>();
  readonly people = new Map<string, Person>();
  /** Kinds of callbacks: `ring`, `answer`, `hangup`, `redirect`, `go`, `dial`, `leg` of a target, `machine`. */
  readonly faults = noFaults();
  /** Requests that Plivo would refuse, and why. */
  readonly violations: string[] = [];
  /** Every request, as `POST /Call/`. */
  readonly requests: string[] = [];
  /** Numbers of the account, without the plus, and the applications that they have. */
  readonly numbers = new Map<string, { app_id: string }>();
  readonly applications = new Map<string, Application>();
  /** Numbers that are sold with papers alone. */
  readonly restricted = new Set<string>();
  readonly #options: PlivoDoubleOptions;
  readonly #ticks: SoundTicks;
  #uuids = 0;

  constructor(options: PlivoDoubleOptions) {
    this.#options = options;
    this.#ticks = new SoundTicks(options.clock, () => this.calls.values());
    for (const [number, habits] of Object.entries(options.people)) this.people.set(number, new Person(number, habits));
  }

  uuid(): string {
    return `00000000-0000-4000-8000-${(++this.#uuids).toString(16).padStart(12, '0')}`;
  }

  /** The REST API below https://api.plivo.com. */
  readonly rest: Rest = (request, signal) => {
    const root = `/v1/Account/${AUTH_ID}`;
    const below = { ...request, path: request.path.slice(root.length) };
    const [path = ''] = below.path.split('?');
    this.requests.push(`${request.method} ${path}`);
    if (!request.path.startsWith(`${root}/`)) return Promise.resolve(this.#refusal(404, 'not found'));
    return faulty(this.faults, { tooMany: this.#refusal(429, 'Rate limit exceeded'), signal }, () => {
      const checked = OPERATIONS.check(below);
      if ('wrong' in checked) {
        this.violations.push(checked.wrong);
        return this.#refusal(400, checked.wrong);
      }
      const reply = this.#do(below);
      if (reply.status >= 300) return reply;
      return { status: checked.answer, body: { api_id: this.uuid(), ...reply.body } };
    });
  };

  farCalls(): PlivoCall[] {
    return [...this.calls.values()];
  }

  ownNumbers(): string[] {
    return [...this.numbers.keys()].map((number) => `+${number}`);
  }

  /** The application that a number's calls come to. */
  applicationOf(number: string): Application | undefined {
    return this.applications.get(this.numbers.get(bare(number))?.app_id ?? '');
  }

  callIn(from: string, to: string, habits: Habits, more: Record<string, string> = {}): PlivoCall {
    const application = this.applicationOf(to);
    if (application === undefined) throw new Error(`${to} has no application`);
    const person = new Person(from, habits);
    const call = this.#open({
      id: this.uuid(),
      from,
      to,
      person,
      direction: 'inbound',
      requestId: null,
      ringUrl: null,
      hangupUrl: application.hangup_url,
    });
    call.status = 'ringing';
    void this.post(application.answer_url, call.form({ Event: 'StartApp', ...more }), 'answer').then((xml) => {
      if (call.isOver) return;
      if (!xml.includes('<Response><Hangup')) {
        call.status = 'in-progress';
        this.#behave(call);
      }
      call.run(xml);
    });
    return call;
  }

  /** A call that Dial places. */
  dial(request: { from: string; to: string; timeoutMs: number; onAnswered: (call: PlivoCall) => void }): PlivoCall {
    const { from, to, timeoutMs, onAnswered } = request;
    const call = this.#place(from, to, { requestId: null, ringUrl: null, hangupUrl: null });
    this.#ring(call, timeoutMs, () => onAnswered(call));
    return call;
  }

  inRoom(room: string): PlivoCall[] {
    return this.farCalls().filter((call) => call.room === room);
  }

  /** A signed callback; resolves with what is answered. */
  async post(url: string, form: Record<string, string>, kind: string): Promise<string> {
    const { clock, doorway } = this.#options;
    const params = new URLSearchParams(form);
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      ...this.#signed({ method: 'POST', url, form: params }),
    };
    await delay(clock, 20 + (this.faults.lateMs[kind] ?? 0));
    const { againAfterMs } = this.faults;
    if (againAfterMs !== null) {
      void delay(clock, againAfterMs).then(() => doorway.post(url, params.toString(), headers));
    }
    return doorway.post(url, params.toString(), headers);
  }

  open(url: string): Promise<MediaSocket | null> {
    const { doorway, signsSocketsAs = 'http' } = this.#options;
    const signed = url.replace(/^wss/, signsSocketsAs);
    return doorway.open(url, this.#signed({ method: 'GET', url: signed, form: new URLSearchParams() }));
  }

  /** As `X-Plivo-Signature-V3`, beside one of a token that is on its way out. */
  #signed(request: { method: 'GET' | 'POST'; url: string; form: URLSearchParams }): Record<string, string> {
    const nonce = String(this.#uuids++).padStart(20, '7');
    const { authToken } = this.#options;
    const signatures = ['the token before', authToken].map((token) => plivoSignature(token, request, nonce));
    return { 'x-plivo-signature-v3': signatures.join(','), 'x-plivo-signature-v3-nonce': nonce };
  }

  #do({ method, path: whole, json = {} }: RestRequest): RestReply {
    const [path = '', text = ''] = whole.split('?');
    const query = new URLSearchParams(text);
    const [, what = '', id = ''] = path.split('/');
    const body = json as Readonly<Record<string, string>>;
    switch (what) {
      case 'Call':
        return id === '' ? this.#createCall(json as Readonly<Record<string, unknown>>) : this.#call(method, id, body);
      case 'Request': {
        const call = this.farCalls().find(({ facts, isOver }) => facts.requestId === id && !isOver);
        call?.end(CAUSES.canceled);
        return call === undefined ? this.#refusal(404, 'not found') : { status: 204, body: {} };
      }
      case 'PhoneNumber':
        return method === 'GET' ? this.#forSale(query) : this.#buy(id, body);
      case 'Number':
        return this.#number(method, id, body);
      default:
        return this.#application(method, id, body, query);
    }
  }

  #createCall(body: Readonly<Record<string, unknown>>): RestReply {
    const text = (name: string): string | null => (typeof body[name] === 'string' ? body[name] : null);
    const [from, to] = [text('from') ?? '', text('to') ?? ''];
    if (!this.numbers.has(from)) return this.#refusal(400, `${from} is not a number of this account`);
    if (!/^(\d{7,15}|sips?:[^\s<]+)$/.test(to)) return this.#refusal(400, `${to} is no one destination`);
    const requestId = this.uuid();
    const urls = { ringUrl: text('ring_url'), hangupUrl: text('hangup_url') };
    const call = this.#place(`+${from}`, to.startsWith('sip') ? to : `+${to}`, { requestId, ...urls });
    const machineUrl = body['machine_detection'] === 'true' ? text('machine_detection_url') : null;
    this.#ring(call, Number(body['ring_timeout'] ?? 120) * 1000, () => {
      void this.#fetch(call, text('answer_url') ?? '', 'StartApp', 'answer');
      if (machineUrl === null) return;
      const more = { Event: 'MachineDetection', Machine: 'false', IfMachine: 'continue' };
      void delay(this.#options.clock, 2_400).then(() => this.post(machineUrl, call.form(more), 'machine'));
    });
    return { status: 201, body: { message: 'call fired', request_uuid: requestId } };
  }

  #call(method: string, id: string, { aleg_url: url = '' }: Readonly<Record<string, string>>): RestReply {
    const call = this.calls.get(id);
    if (call === undefined || call.isOver) return this.#refusal(404, 'call not found');
    const { from, to, direction, requestId } = call.facts;
    if (method === 'DELETE') {
      call.end(call.status === 'in-progress' ? CAUSES.api : CAUSES.canceled);
      return { status: 204, body: {} };
    }
    if (method === 'POST') {
      if (call.status !== 'in-progress') return this.#refusal(404, 'call not found');
      const { leavesStreams = false } = this.#options;
      if (++call.transfers > MOST_TRANSFERS) call.end({ ...CAUSES.xml, code: '2060', name: 'Loop Detected' });
      else if (call.stream !== null && !leavesStreams) call.sentTo = url;
      else void this.#fetch(call, url, 'Redirect', 'go');
      return { status: 202, body: { message: 'call transferred', call_uuids: [id] } };
    }
    const who = { from: bare(from), to: bare(to), direction, caller_name: bare(from) };
    return { status: 200, body: { ...who, call_uuid: id, request_uuid: requestId, call_status: call.status } };
  }

  /** Has a call go on with what is answered at an address. */
  async #fetch(call: PlivoCall, url: string, event: string, kind: string): Promise<void> {
    const xml = await this.post(url, call.form({ Event: event }), kind);
    if (!call.isOver) call.run(xml);
  }

  #forSale(query: URLSearchParams): RestReply {
    if (query.get('country_iso') !== 'US') return this.#refusal(400, 'country_iso is not supported');
    const [limit, offset] = [Number(query.get('limit') ?? '20'), Number(query.get('offset') ?? '0')];
    if (limit > 20) return this.#refusal(400, 'limit is too large');
    const area = query.get('pattern') ?? '415';
    const free = numbersForSale(area, (number) => this.numbers.has(bare(number)), 20);
    const objects = free.slice(offset, offset + limit).map((number) => ({
      number: bare(number),
      prefix: area,
      country: 'UNITED STATES',
      type: 'fixed',
      sub_type: 'local',
      setup_rate: '0.00000',
      monthly_rental_rate: '0.80000',
      voice_enabled: true,
      voice_rate: '0.00850',
    }));
    const meta = { limit, offset, next: null, previous: null, total_count: free.length };
    return { status: 200, body: { meta, objects } };
  }

  #buy(number: string, { app_id = '' }: Readonly<Record<string, string>>): RestReply {
    if (this.numbers.has(number)) return this.#refusal(400, 'number is not available');
    const isPending = this.restricted.has(number);
    if (!isPending) this.numbers.set(number, { app_id });
    const numbers = [{ number, status: isPending ? 'pending' : 'Success' }];
    return { status: 201, body: { message: 'created', numbers, status: 'fulfilled' } };
  }

  #number(method: string, number: string, { app_id }: Readonly<Record<string, string>>): RestReply {
    const found = this.numbers.get(number);
    if (found === undefined) return this.#refusal(404, 'number not found');
    if (method === 'DELETE') this.numbers.delete(number);
    if (method === 'POST' && app_id !== undefined) found.app_id = app_id;
    if (method !== 'GET') return { status: 200, body: method === 'POST' ? { message: 'changed' } : {} };
    const application = `/v1/Account/${AUTH_ID}/Application/${found.app_id}/`;
    return { status: 200, body: { number, application, carrier: 'Plivo', number_type: 'local', voice_enabled: true } };
  }

  #application(method: string, id: string, body: Readonly<Record<string, string>>, query: URLSearchParams): RestReply {
    if (method === 'GET') {
      const every = [...this.applications].map(([app_id, one]) => ({ app_id, ...one }));
      const all = every.filter(({ app_name }) => app_name.startsWith(query.get('app_name') ?? ''));
      const [limit, offset] = [Number(query.get('limit') ?? '20'), Number(query.get('offset') ?? '0')];
      const meta = { limit, offset, next: null, previous: null, total_count: all.length };
      return { status: 200, body: { meta, objects: all.slice(offset, offset + limit) } };
    }
    const found = this.applications.get(id);
    if (id !== '' && found === undefined) return this.#refusal(404, 'application not found');
    if (found !== undefined) {
      Object.assign(found, body);
      return { status: 202, body: { message: 'changed' } };
    }
    const { app_name = '', answer_url = '', hangup_url = answer_url } = body;
    const isTaken = [...this.applications.values()].some((one) => one.app_name === app_name);
    if (isTaken || !/^[A-Za-z0-9_-]{1,60}$/.test(app_name)) return this.#refusal(400, 'app_name is not valid');
    const app_id = String(20_000_000_000_000_000n + BigInt(++this.#uuids));
    this.applications.set(app_id, { ...body, app_name, answer_url, hangup_url });
    return { status: 201, body: { message: 'created', app_id } };
  }

  #place(from: string, to: string, facts: Pick<PlivoCallFacts, 'requestId' | 'ringUrl' | 'hangupUrl'>): PlivoCall {
    const person = new Person(to, this.people.get(to)?.habits ?? { does: 'unknown' });
    this.people.set(to, person);
    const { callsAreNamedByRequests = false } = this.#options;
    const id = callsAreNamedByRequests && facts.requestId !== null ? facts.requestId : this.uuid();
    return this.#open({ id, from, to, person, direction: 'outbound', ...facts });
  }

  #open(facts: PlivoCallFacts): PlivoCall {
    const call = new PlivoCall(this, this.#options.clock, facts);
    this.calls.set(facts.id, call);
    this.#ticks.start();
    return call;
  }

  /** The network rings somebody, who does what they do. */
  #ring(call: PlivoCall, timeoutMs: number, onAnswered: () => void): void {
    const { clock } = this.#options;
    const { habits } = call.person;
    void (async () => {
      await delay(clock, 180);
      if (habits.does === 'unknown') return call.end(CAUSES.nobody);
      if (habits.does === 'busy') return call.end(CAUSES.busy);
      call.ring();
      if (habits.does === 'absent') {
        await delay(clock, timeoutMs);
        return call.end(CAUSES.rangOut);
      }
      await delay(clock, habits.answersAfterMs ?? 500);
      if (habits.does === 'reject') return call.end(CAUSES.rejected);
      if (call.isOver) return;
      call.status = 'in-progress';
      this.#behave(call);
      onAnswered();
    })();
  }

  #behave(call: PlivoCall): void {
    const { clock } = this.#options;
    const { presses, leavesAfterMs } = call.person.habits;
    if (presses !== undefined) void delay(clock, presses.afterMs).then(() => call.stream?.digits(presses.keys));
    if (leavesAfterMs !== undefined) void delay(clock, leavesAfterMs).then(() => call.hangUp());
  }

  #refusal(status: number, error: string): RestReply {
    return { status, body: { api_id: this.uuid(), error } };
  }
}

function bare(number: string): string {
  return number.replace(/^\+/, '');
}
