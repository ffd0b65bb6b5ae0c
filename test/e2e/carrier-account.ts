import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Rest } from '../../src/telephony/carriers/media-socket/rest.js';
import type { Clock } from '../../src/base/clock.js';
import { RealClock } from '../../src/base/real-clock.js';
import type { CarrierDouble } from '../vendors/carriers/carrier-double.js';
import type { FarCall } from '../vendors/carriers/far-call.js';
import type { Doorway } from '../vendors/carriers/doorway.js';
import { type Habits, tone } from '../vendors/carriers/people.js';
import { proxiedDoorway, serveRest } from '../vendors/carriers/served.js';
import { ServedDaemon } from './served-daemon.js';

export const PUBLIC_URL = 'https://voice.example.com/parley';
const KEY = 'sk_carrier_e2e_000000000000000000000000';
const PERSON = '+12025550101';
const BUSY = '+12025550103';
const CALLER = '+12025550177';
const POLITE: Habits = { does: 'answer', says: tone(300) };
/** How long somebody listens to the greeting. */
const LISTENS_MS = 2_000;

interface Logged {
  call_status: string;
  call_id: string;
  voip: { from: string; to: string; direction: string } | null;
  carrier_call_log: { carrier: string; codec: string; packets: { sent: number; received: number } } | null;
}

export interface AccountParts<D extends CarrierDouble> {
  /** As in logs, such as `twilio`. */
  carrier: string;
  double: (parts: { clock: Clock; doorway: Doorway; people: Readonly<Record<string, Habits>> }) => D;
  /** APIs of the double's, all with the same credentials (the header `authorization`). */
  apis: (double: D) => readonly Rest[];
  authorization: string;
  /** The part of the configuration file, with the addresses of the APIs. */
  settings: (double: D, urls: readonly string[]) => object;
  /** The secret of the account, and the variable of the environment that it comes in. */
  secret: { variable: string; value: string };
  /** The daemon's `basePath`. Without one the proxy takes the path off. */
  basePath?: string;
  /** Whether a number's calls come to parley. */
  isDirected: (double: D, number: string) => boolean;
}

/** What a test of a carrier's own may look at. */
export interface Account<D> {
  /** Of the daemon, with its base path. */
  address: () => string;
  double: () => D;
  /** Asks the daemon, with its key. */
  ask: <T>(method: string, path: string) => Promise<T>;
}

/**
 * The built command with an account at a carrier, whose double reaches it over a proxy (see `proxiedDoorway`): a number
 * is bought, calls go in and out, and it is given back.
 *
 * @param more tests of the carrier's own
 */
export function describeAccount<D extends CarrierDouble>(
  name: string,
  parts: AccountParts<D>,
  more: (account: Account<D>) => void,
): void {
  describe(`calls over ${name}, with the daemon as it is built`, () => {
    let folder = '';
    let daemon: ServedDaemon;
    let double: D;
    const closing: (() => Promise<void>)[] = [];
    const { basePath = '' } = parts;
    const address = (): string => daemon.address + basePath;

    beforeAll(async () => {
      const clock = new RealClock();
      const doorway = proxiedDoorway(clock, PUBLIC_URL, address);
      double = parts.double({ clock, doorway, people: { [PERSON]: POLITE, [BUSY]: { does: 'busy' } } });
      const served = await Promise.all(parts.apis(double).map((api) => serveRest(api, parts.authorization)));
      closing.push(...served.map(({ close }) => close));
      folder = mkdtempSync(join(tmpdir(), 'parley-carrier-e2e-'));
      const config = join(folder, 'settings.json');
      const account = parts.settings(
        double,
        served.map(({ url }) => url),
      );
      writeFileSync(
        config,
        JSON.stringify({ publicUrl: PUBLIC_URL, ...(basePath !== '' && { basePath }), [parts.carrier]: account }),
      );
      const { variable, value } = parts.secret;
      daemon = await ServedDaemon.start('0', undefined, {
        PARLEY_CONFIG: config,
        PARLEY_API_KEY: KEY,
        [variable]: value,
      });
    }, 60_000);

    afterAll(async () => {
      await daemon.stop();
      for (const close of closing) await close();
      rmSync(folder, { recursive: true });
    });

    async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
      const response = await fetch(address() + path, {
        method,
        headers: { authorization: KEY, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${path}: ${String(response.status)} ${await response.text()}`);
      return (await response.json()) as T;
    }

    async function logged(matches: (call: Logged) => boolean): Promise<Logged> {
      for (;;) {
        const { histories } = await ask<{ histories: Logged[] }>('GET', '/call-logs');
        const call = histories.find(matches);
        if (call !== undefined && call.carrier_call_log !== null) return call;
        await setTimeout(250); // the daemon takes 600 requests a minute from one address
      }
    }

    const farCallTo = (number: string): FarCall | undefined => double.farCalls().find(({ to }) => to === number);

    /** Hangs up once the greeting has been heard, however long a busy machine takes for it. */
    async function leavesPolitely(who: () => FarCall | undefined): Promise<void> {
      while ((who()?.person.loudness ?? 0) < 1_000) await setTimeout(50);
      await setTimeout(LISTENS_MS);
      who()?.hangUp();
    }

    it('a number is bought, its calls are answered, and people are called from it', async () => {
      const { id: number } = await ask<{ id: string }>('POST', '/phones/purchase', { country: 'US', area_code: '202' });
      expect(parts.isDirected(double, number)).toBe(true);
      await ask('POST', `/phones/${number}/set_agent`, { agent_id: 'the-crooked-fork' });
      const far = double.callIn(CALLER, number, POLITE);
      const call = { agent_id: 'the-crooked-fork', from_phone: number };
      await ask('POST', '/start_outbound_call', { ...call, to_phone: PERSON });
      await Promise.all([leavesPolitely(() => far), leavesPolitely(() => farCallTo(PERSON))]);

      const inbound = await logged(({ voip }) => voip?.from === CALLER);
      expect(inbound).toMatchObject({ call_status: 'user-ended', call_id: far.id, voip: { to: number } });
      expect(inbound.carrier_call_log).toMatchObject({ carrier: parts.carrier, codec: 'PCMU' });
      expect(inbound.carrier_call_log?.packets.received).toBeGreaterThan(20);
      const outbound = await logged(({ voip }) => voip?.to === PERSON);
      expect(outbound).toMatchObject({ call_status: 'user-ended', voip: { from: number, direction: 'outbound' } });

      await ask('POST', '/start_outbound_call', { ...call, to_phone: BUSY });
      expect((await logged(({ voip }) => voip?.to === BUSY)).call_status).toBe('busy');

      await ask('DELETE', `/phones/${number}`);
      expect(double.ownNumbers()).toEqual([]);
      expect(double.violations).toEqual([]);
      expect(daemon.log).not.toContain(parts.secret.value);
    }, 240_000);

    it('a call waits in a queue, and is then answered on the same stream', async () => {
      const desk = {
        config: { llm: { model: 'scripted' } },
        script: { rules: [] },
        extensions: { queue: { max_calls: 1 } },
      };
      const { id: agent } = await ask<{ id: string }>('POST', '/agents', { name: 'Desk', ...desk });
      const { id: number } = await ask<{ id: string }>('POST', '/phones/purchase', { country: 'US', area_code: '202' });
      await ask('POST', `/phones/${number}/set_agent`, { agent_id: agent });
      const statusOf = async (id: string): Promise<string | undefined> => {
        const { histories } = await ask<{ histories: Logged[] }>('GET', '/call-logs');
        return histories.find(({ call_id: known }) => known === id)?.call_status;
      };
      const patience = { timeout: 60_000, interval: 250 };
      const first = double.callIn(CALLER, number, POLITE);
      await expect.poll(() => statusOf(first.id), patience).toBe('in-progress');
      const second = double.callIn('+12025550178', number, POLITE);
      await expect.poll(() => statusOf(second.id), patience).toBe('queued');
      await expect.poll(() => second.person.loudness, patience).toBeGreaterThan(500);
      first.hangUp();
      await expect.poll(() => statusOf(second.id), patience).toBe('in-progress');
      await setTimeout(LISTENS_MS);
      second.hangUp();
      const item = await logged(({ call_id: id }) => id === second.id);
      expect(item).toMatchObject({ call_status: 'user-ended', queue: { id: agent, position: 1, left: 'answered' } });
      await ask('DELETE', `/phones/${number}`);
      expect(double.violations).toEqual([]);
    }, 240_000);

    more({ address, double: () => double, ask });
  });
}
