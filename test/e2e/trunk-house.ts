import { expect } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { DEFAULT_WEBRTC } from '../../src/settings/setting-groups.js';
import type { Settings } from '../../src/settings/settings.js';
import { DEFAULT_SIP, type SipSettings } from '../../src/settings/carriers/sip.js';
import { type Log, NO_LOG } from '../../src/daemon/operations/log.js';
import { FarPhones } from './far-phones.js';
import { House, PRIVATE_KEY } from '../daemon/house.js';
import { freePort } from '../../scripts/daemon-process.mjs';

export const OURS = '+12025550199';
export const ANN = '+12025550101';
export const BOB = '+12025550102';
export const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
export const PATIENCE = { timeout: 60_000, interval: 20 };

/** Of a call's item in the log, what these tests look at. */
export type Item = Record<string, unknown>;

/** A daemon with a trunk, phones at the trunk's far side, and so many media threads. */
export class TrunkHouse {
  readonly house: House;
  readonly far: FarPhones;
  /** Where ours listens for SIP. */
  readonly port: number;
  readonly #others: FarPhones[] = [];

  private constructor(house: House, far: FarPhones, port: number) {
    this.house = house;
    this.far = far;
    this.port = port;
  }

  static async open(
    threads: number,
    settings: Partial<Settings> = {},
    sip: Partial<SipSettings> = {},
    log: Log = NO_LOG,
  ): Promise<TrunkHouse> {
    const [ours, theirs] = [await freePort('udp'), await freePort('udp')];
    const whole: Partial<Settings> = {
      media: { threads },
      webrtc: { ...DEFAULT_WEBRTC, ...LOOPBACK },
      sip: {
        ...DEFAULT_SIP,
        servers: [`sip:127.0.0.1:${String(theirs)}`],
        listen: [`udp:127.0.0.1:${String(ours)}`],
        sources: ['127.0.0.1'],
        numbers: [OURS],
        transfer: 'bridge',
        keepAliveS: 0,
        ...sip,
      },
      ...settings,
    };
    const house = await House.open(whole, new RealClock(), log);
    return new TrunkHouse(house, await FarPhones.open(theirs, ours, [ANN, BOB]), ours);
  }

  /** Further phones, which speak in another manner. */
  async phones(manner: Partial<Pick<SipSettings, 'codecs' | 'srtp'>>): Promise<FarPhones> {
    const phones = await FarPhones.open(await freePort('udp'), this.port, [ANN], manner);
    this.#others.push(phones);
    return phones;
  }

  /** The answer to a request that is granted. */
  async asked<T = Item>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, answer } = await this.tried(method, path, body);
    expect({ path, status, answer }).toMatchObject({ status: 200 });
    return answer as T;
  }

  async tried(method: string, path: string, body?: unknown): Promise<{ status: number; answer: unknown }> {
    const headers = { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const { status, body: answer } = await this.house.ask(path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status, answer };
  }

  /** Stores an agent, and gives it our number. Returns its id. */
  async answeredBy(agent: object): Promise<string> {
    const { id } = await this.asked<{ id: string }>('POST', '/agents', agent);
    if ((await this.tried('GET', `/phones/${OURS}`)).status !== 200) {
      await this.asked('POST', '/phones/import', { phone: OURS });
    }
    await this.asked('POST', `/phones/${OURS}/set_agent`, { agent_id: id });
    return id;
  }

  /** A call's item, once it is over. */
  async logged(sessionId: string): Promise<Item> {
    const item = (): Promise<Item> => this.asked('GET', `/call-logs/${sessionId}`);
    await expect.poll(async () => (await item())['carrier_call_log'], PATIENCE).not.toBeNull();
    return item();
  }

  /** A session's event log so far. */
  async trace(sessionId: string): Promise<string> {
    return (
      await this.house.request(`/call-logs/${sessionId}/trace`, { headers: { authorization: PRIVATE_KEY } })
    ).text();
  }

  /** The session that runs, once there is one. */
  async session(): Promise<string> {
    await expect.poll(() => this.house.engine.sessions.size, PATIENCE).toBe(1);
    return [...this.house.engine.sessions][0]?.id ?? '';
  }

  /** A line of the metrics. */
  async figure(name: string): Promise<string | undefined> {
    const text = await (await this.house.request('/metrics')).text();
    return text.split('\n').find((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  }

  /** Ends what goes on. */
  async hush(): Promise<void> {
    await Promise.all([...this.house.engine.sessions].map((left) => left.close()));
    this.far.called.length = 0;
  }

  async close(): Promise<void> {
    await Promise.all([this.far, ...this.#others].map((phones) => phones.close()));
    await this.house.close();
    expect(this.house.faults).toEqual([]);
  }
}
