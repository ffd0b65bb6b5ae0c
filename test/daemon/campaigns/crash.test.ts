import { describe, expect, it } from 'vitest';
import { crashCampaigns } from '../../../scripts/security/campaign-crashes.mjs';

describe('a daemon that is killed while its campaigns call', () => {
  it('calls nobody twice and forgets nobody', async () => {
    // Dozens of rounds: node scripts/security/campaign-crashes.mjs --rounds 50
    const { records, calls } = await crashCampaigns({ rounds: 4, seed: 5 });
    expect(records).toBeGreaterThan(30);
    expect(calls).toBeGreaterThanOrEqual(records);
  }, 240_000);
});
