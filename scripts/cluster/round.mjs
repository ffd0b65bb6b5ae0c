/** One round of `npm run test:cluster`. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort, mulberry } from '../daemon-process.mjs';
import { PostgresCluster } from '../postgres-cluster.mjs';
import { check, SETTINGS } from '../security/campaign-crashes.mjs';
import { startKamailio } from '../sip/kamailio.mjs';
import { FarEnd } from './far-end.mjs';
import { Node, persist, request, startProxy } from './nodes.mjs';
import { openPostgresProxy } from './postgres-proxy.mjs';

const OWN = '+12025550199';
const NODES = ['one', 'two', 'three'];
/** The operator's limit on calls at one time, over all nodes. */
const CONCURRENT = 12;
const DROPPED_SHARE = 0.3;
/** The share of people whose line is busy. */
const BUSY_SHARE = 0.1;
/** Calls: placed by request, by a campaign; the rest come in. */
const SHARES = { asked: 0.5, campaign: 0.3 };
/** Between two calls that come in, and between two requests, ms. */
const PAUSE_MS = 250;
const SETTLE_MS = 180_000;
const MESSAGE =
  'Good evening. This is the line of the cluster, and it says one sentence to everybody who listens to it.';
const AGENT = {
  name: 'Cluster',
  config: { prompt: 'You say one sentence.', first_message: MESSAGE, language: 'en-US', llm: { model: 'scripted' } },
};
/** A call has been heard whole with this share of the longest one's frames. */
const WHOLE = 0.93;

/**
 * @param {{ folder: string, seed: number, count: number, isVerbose: boolean }} options
 * @returns {Promise<string>} the round's figures, in words
 * @throws where a rule is broken
 */
export async function playRound({ folder, seed, count, isVerbose }) {
  const random = mulberry(seed);
  const people = peopleOf(count, random);
  const cluster = await Cluster.open(folder, people, random);
  try {
    const phone = await cluster.prepare();
    const campaign = await cluster.startCampaign(phone, people.campaign);
    /** @type {Map<string, string>} Sessions of granted requests, by number. */
    const granted = new Map();
    const work = [cluster.askForCalls(people.asked, granted), cluster.takeCalls(people.callers), cluster.harm(random)];
    await Promise.all(work);
    await cluster.settled(campaign);
    return await cluster.judge({ people, granted, campaign, isVerbose });
  } finally {
    await cluster.close();
  }
}

/**
 * @typedef {{ asked: string[], campaign: string[], callers: string[], busy: Set<string> }} People
 * @param {number} count
 * @param {() => number} random
 * @returns {People}
 */
function peopleOf(count, random) {
  const numbers = Array.from({ length: count }, (_, at) => `+1415555${String(1000 + at)}`);
  const [asked, campaign] = [Math.round(count * SHARES.asked), Math.round(count * SHARES.campaign)];
  return {
    asked: numbers.slice(0, asked),
    campaign: numbers.slice(asked, asked + campaign),
    callers: numbers.slice(asked + campaign),
    busy: new Set(numbers.slice(0, asked + campaign).filter(() => random() < BUSY_SHARE)),
  };
}

/** Everything that a round runs. */
class Cluster {
  #parts;
  /** What was done to it, for the figures. */
  harmed = '';

  /**
   * @param {{ postgres: PostgresCluster, sockets: Awaited<ReturnType<typeof openPostgresProxy>>[], nodes: Node[],
   *   proxy: Awaited<ReturnType<typeof startProxy>>, kamailio: ReturnType<typeof startKamailio>, far: FarEnd }} parts
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * @param {string} folder
   * @param {People} people
   * @param {() => number} random
   */
  static async open(folder, { asked, campaign, callers, busy }, random) {
    const server = join(folder, 'postgres');
    mkdirSync(server);
    chmodSync(folder, 0o755); // for the server's user
    const postgres = await PostgresCluster.start(server);
    const [farPort, callerPort, proxyPort] = [await freePort('udp'), await freePort('udp'), await freePort('udp')];
    const sipPorts = [await freePort('udp'), await freePort('udp'), await freePort('udp')];
    const sockets = await Promise.all(NODES.map(() => openPostgresProxy(postgres.url, () => random() < DROPPED_SHARE)));
    const nodes = await Promise.all(
      NODES.map(async (name, at) => {
        const settings = settingsOf({ sipPort: sipPorts[at] ?? 0, farPort, rtpFrom: 30_000 + 1000 * at });
        return new Node({ name, folder, port: await freePort(), databaseUrl: sockets[at]?.url ?? '', settings });
      }),
    );
    const far = await FarEnd.open({
      port: farPort,
      daemons: sipPorts,
      callerPort,
      proxyPort,
      callers,
      numbers: [...asked, ...campaign],
      isBusy: (number) => busy.has(number),
    });
    await Promise.all(nodes.map((node) => node.start()));
    const proxy = await startProxy(folder, nodes);
    const kamailio = startKamailio({ folder, port: proxyPort, daemons: sipPorts, carriers: [callerPort] });
    return new Cluster({ postgres, sockets, nodes, proxy, kamailio, far });
  }

  /** @param {string} method @param {string} path @param {Parameters<typeof request>[3]} [options] */
  ask(method, path, options) {
    return persist(() => request(this.#parts.proxy.address, method, path, options));
  }

  /** Gives the trunk's number an agent. Returns the number's id. */
  async prepare() {
    const { id: agent } = await this.ask('POST', '/agents', { body: AGENT });
    await this.ask('POST', '/phones/import', { body: { phone: OWN } });
    await this.ask('POST', `/phones/${OWN}/set_agent`, { body: { agent_id: agent } });
    return OWN;
  }

  /** @param {string} phone @param {string[]} numbers @returns {Promise<string>} the campaign's id */
  async startCampaign(phone, numbers) {
    const { id } = await this.ask('POST', '/campaigns', { body: { name: 'cluster' } });
    await this.ask('POST', `/campaigns/${id}/set_caller`, { body: { phone } });
    await this.ask('POST', `/campaigns/${id}/records`, { body: numbers.map((number) => ({ phone: number })) });
    await this.ask('POST', `/campaigns/${id}/start`);
    return id;
  }

  /** @param {string[]} numbers @param {Map<string, string>} granted */
  async askForCalls(numbers, granted) {
    const asking = [];
    for (const number of numbers) {
      const headers = { 'idempotency-key': `call-${number}` };
      const body = { from_phone: OWN, to_phone: number };
      const asked = this.ask('POST', '/start_outbound_call', { body, headers });
      asking.push(asked.then(({ session_id: session }) => granted.set(number, session)));
      await wait(PAUSE_MS);
    }
    await Promise.all(asking);
  }

  /** @param {string[]} callers */
  async takeCalls(callers) {
    for (const caller of callers) {
      this.#parts.far.call(caller, OWN);
      await wait(PAUSE_MS * 2);
    }
  }

  /** Kills a node, drains another, crashes the database and breaks connections, in an order by chance. @param {() => number} random */
  async harm(random) {
    const { nodes, postgres, sockets } = this.#parts;
    const [killed, drained, cut] = nodes.toSorted(() => random() - 0.5);
    const harms = [
      async () => {
        await killed?.kill();
        await wait(15_000 * random());
        await killed?.start();
      },
      async () => {
        assert.equal(await drained?.drain(), 0, `a node drains and exits with 0: ${drained?.errors ?? ''}`);
        await drained?.start();
      },
      async () => {
        postgres.crash();
        await wait(3000 * random());
        postgres.restart();
      },
      async () => sockets[nodes.indexOf(/** @type {Node} */ (cut))]?.cut(),
    ].toSorted(() => random() - 0.5);
    for (const each of harms) {
      await wait(2000 + 4000 * random());
      await each();
    }
    this.harmed = `killed ${killed?.name ?? ''}, drained ${drained?.name ?? ''}`;
  }

  /** Until the campaign has finished and no call is open. @param {string} campaign */
  async settled(campaign) {
    const untilMs = performance.now() + SETTLE_MS;
    for (;;) {
      const { status } = await this.ask('GET', `/campaigns/${campaign}/info`);
      const calls = await this.all('/call-logs?limit=100', 'start_after_ts', 'histories');
      const open = calls.filter(({ call_status: is }) => OPEN.has(is));
      if (status === 'finished' && open.length === 0 && this.#parts.far.open === 0) return;
      if (performance.now() > untilMs) {
        const what = open.map(({ session_id: id, call_status: is }) => `${id} ${is}`).join(', ');
        throw new Error(`it does not come to its end: the campaign is ${status}; open: ${what}\n${this.#logs()}`);
      }
      await wait(500);
    }
  }

  /** All pages of a list. @param {string} path @param {string} cursor @param {string} member @returns {Promise<any[]>} */
  async all(path, cursor, member) {
    const whole = [];
    for (let from = 0; ;) {
      const page = await this.ask('GET', from === 0 ? path : `${path}&${cursor}=${String(from)}`);
      whole.push(...page[member]);
      if (page.next_cursor === 0) return whole;
      from = page.next_cursor;
    }
  }

  /** @param {{ people: People, granted: Map<string, string>, campaign: string, isVerbose: boolean }} of */
  async judge({ people, granted, campaign, isVerbose }) {
    const { far, sockets } = this.#parts;
    const log = await this.all('/call-logs?limit=100', 'start_after_ts', 'histories');
    const bySession = new Map(log.map((call) => [call.session_id, call]));
    const rung = new Map();
    for (const { number, direction } of far.calls) {
      if (direction === 'out') rung.set(number, (rung.get(number) ?? 0) + 1);
    }
    for (const [number, session] of granted) assert.ok(bySession.has(session), `the call to ${number} is in the log`);
    assert.equal(granted.size, people.asked.length, 'each request was granted in the end');
    for (const number of people.asked) {
      const rows = log.filter((call) => call.voip?.to === number);
      assert.equal(rows.length, 1, `${number} has ${String(rows.length)} rows`);
      assert.ok((rung.get(number) ?? 0) <= 1, `${number} was called ${String(rung.get(number))} times`);
    }
    const records = await this.all(`/campaigns/${campaign}/records?limit=1000`, 'start_after', 'records');
    const called = log.filter((call) => call.campaign_id === campaign);
    check(records, called, people.campaign);
    for (const number of people.campaign) {
      const rows = called.filter((call) => call.voip.to === number).length;
      assert.ok(
        (rung.get(number) ?? 0) <= rows,
        `${number} was called ${String(rung.get(number))} times for ${String(rows)} rows`,
      );
    }
    assert.ok(far.mostAtOnce <= CONCURRENT, `${String(far.mostAtOnce)} calls at one time`);
    for (const { session_id: id, call_status: is, error_message: why, voip } of log) {
      // Callers who give up before the answer need no other reason.
      const isExplained = why !== null || (is === 'canceled' && voip.direction === 'inbound');
      assert.ok(!UNEXPLAINED.has(is) || isExplained, `${id} (${voip.direction}) is ${is} without a reason`);
    }
    if (isVerbose) {
      for (const [what, times] of tally(log.map((call) => `${call.call_status}: ${call.error_message ?? ''}`))) {
        console.log(`  ${String(times)} x ${what}`);
      }
      for (const [what, times] of tally(far.calls.map(({ direction, end }) => `far end, ${direction}: ${end ?? ''}`))) {
        console.log(`  ${String(times)} x ${what}`);
      }
    }
    const cut = new Set(
      log.filter(({ call_status: is }) => is === 'error').map(({ voip }) => (voip.to === OWN ? voip.from : voip.to)),
    );
    const longest = Math.max(...far.calls.map(({ loud }) => loud));
    const answered = far.calls.filter(({ answeredMs }) => answeredMs !== null && answeredMs !== undefined);
    const hurt = answered.filter(
      ({ loud, number }) => loud < WHOLE * longest && !cut.has(number) && !people.busy.has(number),
    );
    assert.deepEqual(hurt, [], `calls of other nodes are not heard whole (${String(longest)} frames)\n${this.#logs()}`);
    const unanswered = far.calls.filter(
      ({ direction, answeredMs }) => direction === 'in' && answeredMs === null,
    ).length;
    const lost = answered.reduce((sum, { lost: packets }) => sum + packets, 0);
    return (
      `${String(log.length)} calls, ${String(far.calls.length)} at the far end, at most ${String(far.mostAtOnce)} at once, ` +
      `${String(cut.size)} cut off, ${String(unanswered)} not taken, ${String(lost)} packets lost, ` +
      `${String(sockets.reduce((sum, { dropped }) => sum + dropped(), 0))} notifications dropped; ${this.harmed}`
    );
  }

  #logs() {
    return this.#parts.nodes.map(({ name, errors }) => `${name}:\n${errors}`).join('\n');
  }

  async close() {
    const { far, kamailio, proxy, nodes, sockets, postgres } = this.#parts;
    await far.close();
    await kamailio.close();
    await proxy.close();
    await Promise.all(nodes.map((node) => node.close()));
    await Promise.all(sockets.map((socket) => socket.close()));
    postgres.crash();
  }
}

/** How often each text occurs. @param {string[]} texts */
function tally(texts) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

const OPEN = new Set(['registered', 'queued', 'dispatching', 'initiated', 'ringing', 'in-progress']);
const UNEXPLAINED = new Set(['error', 'failed', 'canceled']);

/** @param {{ sipPort: number, farPort: number, rtpFrom: number }} ports */
function settingsOf({ sipPort, farPort, rtpFrom }) {
  return {
    ...SETTINGS,
    calls: { ...SETTINGS.calls, allowedPrefixes: ['*'], concurrent: CONCURRENT },
    sip: {
      servers: [`sip:127.0.0.1:${String(farPort)}`],
      sources: ['127.0.0.1'],
      listen: [`udp:127.0.0.1:${String(sipPort)}`],
      numbers: [OWN],
      rtpPorts: [rtpFrom, rtpFrom + 998],
      keepAliveS: 0,
    },
  };
}
