import { DEFAULT_SETTINGS, type Settings } from '../../src/settings/settings.js';
import { House, PRIVATE_KEY } from './house.js';

export interface Answer {
  status: number;
  body: Record<string, unknown>;
  retryAfter: string | null;
}

export interface Ids {
  call_id: string;
  session_id: string;
}

export interface Told {
  event: string;
  id: number | null;
  data: Record<string, unknown>;
}

/** No limit but those that a test sets. */
const WIDE = {
  concurrent: 1e4,
  perMinute: 1e4,
  perDestinationPerMinute: 1e4,
  perDestinationPerDay: 1e4,
  minutesPerDay: 1e6,
};

/** A daemon that places calls from a number of its own, whose agent is the baker. */
export class Callers {
  house!: House;
  ours = '';
  readonly #settings: Partial<Settings>;

  private constructor(settings: Partial<Settings>) {
    this.#settings = settings;
  }

  static async open(guards: Partial<Settings['calls']> = {}, settings: Partial<Settings> = {}): Promise<Callers> {
    const limits = { ...DEFAULT_SETTINGS.limits, requestsPerMinute: 1e5, ...settings.limits };
    const calls = { ...DEFAULT_SETTINGS.calls, ...WIDE, ...guards };
    const callers = new Callers({ ...settings, limits, calls });
    callers.house = await House.open(callers.#settings);
    callers.ours = await callers.bought();
    await callers.ask('POST', `/phones/${callers.ours}/set_agent`, { agent_id: 'baker' });
    return callers;
  }

  /** Stops the daemon and starts another one on its data. */
  async reopen(): Promise<void> {
    const { dataDir } = this.house;
    await this.house.daemon.close();
    this.house = await House.open({ ...this.#settings, dataDir });
  }

  /** Another number of ours. */
  async bought(): Promise<string> {
    const { body } = await this.ask('POST', '/phones/purchase', { country: 'US', area_code: '415' });
    return String(body['id']);
  }

  async ask(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> {
    const type = body !== undefined && { 'content-type': 'application/json' };
    const response = await this.house.request(path, {
      method,
      headers: { authorization: PRIVATE_KEY, ...type, ...more },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      body: (await response.json()) as Record<string, unknown>,
      retryAfter: response.headers.get('retry-after'),
    };
  }

  start(to: string, more: Record<string, unknown> = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.ask('POST', '/start_outbound_call', { from_phone: this.ours, to_phone: to, ...more }, headers);
  }

  /** The ids of a call that is taken. */
  async started(to: string, more: Record<string, unknown> = {}): Promise<Ids> {
    const { status, body } = await this.start(to, more);
    if (status !== 200) throw new Error(`${String(status)} ${JSON.stringify(body)}`);
    return body as unknown as Ids;
  }

  async logged(sessionId: string): Promise<Record<string, unknown>> {
    return (await this.ask('GET', `/call-logs/${sessionId}`)).body;
  }

  /** Events of a stream as they come. */
  async *events(path: string, headers: Record<string, string> = {}): AsyncGenerator<Told> {
    const signal = AbortSignal.timeout(50_000);
    const response = await this.house.request(path, { headers: { authorization: PRIVATE_KEY, ...headers }, signal });
    if (response.status !== 200 || response.body === null) throw new Error(await response.text());
    let rest = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      rest += chunk;
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const field = (name: string): string | null => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? null;
        const [event, id, data] = [field('event'), field('id'), field('data')];
        if (event === null || data === null) continue;
        yield { event, id: id === null ? null : Number(id), data: JSON.parse(data) as Record<string, unknown> };
      }
    }
  }

  /** The statuses of a call until it has ended. */
  async statuses(sessionId: string): Promise<string[]> {
    const found: string[] = [];
    for await (const { event, data } of this.events(`/calls/${sessionId}/events`)) {
      if (event === 'status') found.push(String(data['call_status']));
    }
    return found;
  }

  /** Resolves when a call has come to a status. */
  async until(sessionId: string, status: string): Promise<void> {
    for await (const { event, data } of this.events(`/calls/${sessionId}/events`)) {
      if (event === 'status' && data['call_status'] === status) return;
    }
    throw new Error(`the call has ended without ${status}`);
  }

  close(): Promise<void> {
    return this.house.close();
  }
}
