import { describe, expect, it } from 'vitest';
import { isPostgresInstalled, postgres } from '../../store/support/backends.js';
import { runCampaign } from './support/campaign-run.js';

describe.skipIf(!isPostgresInstalled)('a campaign that three nodes call', () => {
  it('calls everybody as often as it may, also when a node dies', async () => {
    // Ten thousand records: node scripts/cluster/campaign.mjs
    const { nodes } = await runCampaign({ backend: postgres, records: 300, nodes: 3, seed: 3 });
    expect(Object.keys(nodes)).toHaveLength(3);
  }, 120_000);
});
