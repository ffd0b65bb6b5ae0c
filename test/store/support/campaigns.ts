import type { StoredCampaign } from '../../../src/store/campaigns.js';

/** A started campaign without records. */
export function newCampaign(id: string, change: Partial<StoredCampaign> = {}): StoredCampaign {
  return {
    id,
    name: id,
    status: 'started',
    caller: '+12025550100',
    agentVersion: null,
    includeMetadataInPrompt: false,
    overrides: {},
    reason: null,
    lastCallMs: null,
    createdAt: 0,
    ...change,
  };
}

/** Numbers that differ. */
export function newNumbers(count: number, prefix = '+1202555'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(1000 + index)}`);
}
