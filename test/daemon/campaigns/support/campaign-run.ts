import { Random } from '../../../../src/base/random.js';
import type { CampaignSchedule } from '../../../../src/settings/campaign-schedule.js';
import { sql } from '../../../../src/store/sql/statement.js';
import type { Backend } from '../../../store/support/backends.js';
import { callsByNumber, checkCalls } from './call-rules.js';
import { ALWAYS, CampaignRig, type RigNode } from './campaign-rig.js';

export interface CampaignRunOptions {
  backend: Backend;
  records: number;
  nodes: number;
  /** Of how calls end, and when a node dies. */
  seed: number;
}

export interface CampaignRunFigures {
  calls: number;
  /** Calls by how they ended. */
  ends: Record<string, number>;
  /** Calls by node. */
  nodes: Record<string, number>;
  /** The simulated time that the campaign took. */
  tookMs: number;
}

const SCHEDULE = {
  ...ALWAYS,
  concurrent: 300,
  perMinute: 1200,
  maxAttempts: 4,
  retryBusyS: [60, 120],
  retryNoAnswerS: [300],
  retryErrorS: [60],
} satisfies CampaignSchedule;

/** From the last heartbeat of a node until others know that it is dead. */
const DEAD_MS = 15_000;
const STEP_MS = 5_000;
const LIMIT_MS = 24 * 3_600_000;
const POLL_MS = 1_000;

/**
 * A campaign that several nodes call at once, in simulated time. In its middle, one node dies with a record in its hand
 * and calls on its lines, and the campaign is paused for a minute.
 * @throws Error where a rule is broken
 */
export async function runCampaign(options: CampaignRunOptions): Promise<CampaignRunFigures> {
  const { backend, records, nodes, seed } = options;
  const rig = await CampaignRig.open(backend, { nodes, schedule: SCHEDULE, pollMs: POLL_MS });
  try {
    const random = new Random(seed);
    rig.outcome = () => outcome(random);
    const dying = dieAfter(rig, Math.floor(records * (0.2 + 0.4 * random.next())));
    const phones = Array.from({ length: records }, (_, index) => `+1202${String(2_000_000 + index)}`);
    await rig.campaign('a', phones);
    rig.resume();
    let isPaused = false;
    while ((await rig.campaigns.get('a'))?.status === 'started') {
      if (rig.clock.nowMs() > LIMIT_MS) throw new Error('the campaign does not come to its end');
      await rig.clock.advanceBy(STEP_MS);
      if (!isPaused && rig.placed.length > records * 0.7) {
        isPaused = true;
        await pause(rig);
      }
    }
    if (dying.node === null) throw new Error('no node has died');
    await check(rig, records);
    return figuresOf(rig);
  } finally {
    await rig.close();
  }
}

function outcome(random: Random): { status: string; afterMs: number } {
  const draw = random.next();
  if (draw < 0.15) return { status: 'busy', afterMs: 1000 };
  if (draw < 0.35) return { status: 'no-answer', afterMs: 30_000 };
  if (draw < 0.4) return { status: 'failed', afterMs: 500 };
  if (draw < 0.42) return { status: 'error', afterMs: 5000 };
  return { status: 'agent-ended', afterMs: 5_000 + random.int(0, 25_000) };
}

/** A node dies between its claim and its call. Another one finds that out after a while. */
function dieAfter(rig: CampaignRig, calls: number): { node: RigNode | null } {
  const dying: { node: RigNode | null } = { node: null };
  rig.guard = (_request, id) => {
    if (dying.node !== null || rig.placed.length < calls) return;
    const node = rig.nodes.find((other) => other.id === id);
    const heir = rig.nodes.find((other) => other.id !== id);
    if (node === undefined || heir === undefined) return;
    dying.node = node;
    node.die();
    rig.clock.schedule(rig.clock.nowMs() + DEAD_MS, () => void rig.takeOver(node, heir));
    return new Promise(() => undefined);
  };
  return dying;
}

/** Nobody is called between a pause that is stored and the next start. */
async function pause(rig: CampaignRig): Promise<void> {
  const attempts = async (): Promise<number> => {
    const row = await rig.database.first<{ attempts: number }>(
      sql`SELECT CAST(SUM(attempts) AS BIGINT) AS attempts FROM campaign_records`,
    );
    return row?.attempts ?? 0;
  };
  await rig.campaigns.change('a', { status: 'paused' }, ['started']);
  const before = await attempts();
  await rig.clock.advanceBy(60_000);
  const after = await attempts();
  if (after !== before) throw new Error(`${String(after - before)} calls after the pause`);
  await rig.campaigns.change('a', { status: 'started' }, ['paused']);
}

async function check(rig: CampaignRig, count: number): Promise<void> {
  if (rig.faults.length > 0) throw new AggregateError(rig.faults);
  const campaign = await rig.campaigns.get('a');
  if (campaign?.status !== 'finished') throw new Error(`the campaign is ${String(campaign?.status)}`);
  checkCalls(rig.placed, SCHEDULE, count);
  const byNumber = callsByNumber(rig.placed);
  for (const { phone, attempts, status, sessionId, calling } of await rig.all('a')) {
    const calls = byNumber.get(phone) ?? [];
    const last = calls.at(-1);
    const expected = last?.status === 'agent-ended' ? 'finished' : 'failed';
    if (attempts !== calls.length || calling || last?.sessionId !== sessionId || status !== expected)
      throw new Error(`${phone} is ${status} after ${String(attempts)} attempts: ${JSON.stringify(calls)}`);
  }
}

function figuresOf(rig: CampaignRig): CampaignRunFigures {
  const ends: Record<string, number> = {};
  const nodes: Record<string, number> = {};
  for (const { status, node } of rig.placed) {
    ends[status] = (ends[status] ?? 0) + 1;
    nodes[node] = (nodes[node] ?? 0) + 1;
  }
  return { calls: rig.placed.length, ends, nodes, tookMs: rig.clock.nowMs() };
}
