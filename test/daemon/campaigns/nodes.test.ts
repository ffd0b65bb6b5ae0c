import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ParleyError } from '../../../src/base/errors.js';
import { isPostgresInstalled, postgres } from '../../store/support/backends.js';
import { newNumbers } from '../../store/support/campaigns.js';
import { runCampaign } from './support/campaign-run.js';
import { CampaignRig, START } from './support/campaign-rig.js';

describe.skipIf(!isPostgresInstalled)('a campaign on several nodes', () => {
  let rig: CampaignRig;

  beforeEach(async () => {
    rig = await CampaignRig.open(postgres, { nodes: 2, pollMs: 1_000, schedule: { concurrent: 2 } });
  });
  afterEach(async () => {
    await rig.close();
    expect(rig.faults).toEqual([]);
  });

  it('is called for by all of them, at its pace and with its lines', async () => {
    await rig.campaign('a', newNumbers(8));
    rig.resume();
    await rig.clock.advanceBy(600_000);
    expect(rig.placed.map(({ to }) => to)).toEqual(newNumbers(8));
    // Two at once, a second apart, for a minute each.
    const minutes = [0, 0, 60, 60, 120, 120, 180, 180];
    for (const [index, { atMs }] of rig.placed.entries()) {
      const afterS = (atMs - START) / 1000 - (minutes[index] ?? 0);
      expect(afterS).toBeGreaterThanOrEqual(0);
      expect(afterS).toBeLessThan(5);
    }
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'finished' });
  });

  it('starts and stops on those that are not told of it', async () => {
    await rig.campaign('a', newNumbers(8), { status: 'idle' });
    rig.resume();
    await rig.clock.advanceBy(10_000);
    expect(rig.placed).toEqual([]);
    await rig.campaigns.change('a', { status: 'started' });
    await rig.clock.advanceBy(2_000);
    expect(rig.placed).not.toEqual([]);
    await rig.campaigns.change('a', { status: 'paused' });
    const before = (await rig.all('a')).filter(({ attempts }) => attempts > 0).length;
    await rig.clock.advanceBy(120_000);
    expect(rig.placed).toHaveLength(before);
  });

  it('goes on with the other ones where a node may place no calls', async () => {
    rig.guard = (_request, node) => {
      if (node === 'node 0') throw new ParleyError('SESSIONS_FULL', { limit: 1, retryAfterS: 5 });
    };
    await rig.campaign('a', newNumbers(4));
    rig.resume();
    await rig.clock.advanceBy(600_000);
    expect(rig.placed.map(({ node }) => node)).toEqual(Array.from({ length: 4 }, () => 'node 1'));
    expect((await rig.all('a')).map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1]);
  });

  it('calls again whom a dead node has called, as after a crash', async () => {
    await rig.campaign('a', newNumbers(2));
    const [dead, heir] = [rig.nodes[0]!, rig.nodes[1]!];
    dead.runner.resume();
    await rig.clock.advanceBy(10);
    dead.die();
    heir.runner.resume();
    await rig.clock.advanceBy(15_000);
    const taken = rig.takeOver(dead, heir);
    await rig.clock.advanceBy(100);
    await taken;
    expect((await rig.all('a'))[0]).toMatchObject({ status: 'started', attempts: 1, calling: false, reason: 'error' });
    await rig.clock.advanceBy(600_000);
    expect(rig.placed.map(({ node, status }) => [node, status])).toEqual([
      ['node 0', 'error'],
      ['node 1', 'user-ended'],
      ['node 1', 'user-ended'],
    ]);
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'finished' });
  });

  it('calls whom a dead node was about to call, also if nobody has noticed its death', async () => {
    await rig.campaign('a', newNumbers(1));
    const [dead, heir] = [rig.nodes[0]!, rig.nodes[1]!];
    rig.guard = (_request, node) => (node === dead.id ? new Promise(() => undefined) : undefined);
    dead.runner.resume();
    await rig.clock.advanceBy(10);
    dead.die();
    heir.runner.resume();
    await rig.clock.advanceBy(29_000);
    expect(rig.placed).toEqual([]);
    await rig.clock.advanceBy(3_000);
    expect(rig.placed).toMatchObject([{ node: 'node 1' }]);
  });

  it('calls everybody as often as it may, also when a node dies', async () => {
    // Ten thousand records: node scripts/cluster/campaign.mjs
    const { nodes } = await runCampaign({ backend: postgres, records: 80, nodes: 3, seed: 3 });
    expect(Object.keys(nodes)).toHaveLength(3);
  }, 120_000);
});
