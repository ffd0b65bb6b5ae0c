import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentStore, LIVE_AT_ONCE, type StoredAgent } from '../../src/store/agents.js';
import { CampaignStore } from '../../src/store/campaigns.js';
import { KEY_SCOPES, KeyStore } from '../../src/store/keys.js';
import { PhoneStore, type StoredPhone } from '../../src/store/phones.js';
import { SecretBox } from '../../src/store/secret-box.js';
import { sql } from '../../src/store/sql/statement.js';
import { type StoredVoice, VoiceStore } from '../../src/store/voices.js';
import { backends, type TestDatabase } from './support/backends.js';

describe.each(backends)('stores that are read without waiting, on $name', (backend) => {
  const box = new SecretBox(Buffer.alloc(32, 1));
  let test: TestDatabase;

  beforeAll(async () => {
    test = await backend.open();
  });

  afterAll(() => test.remove());

  it('keep keys', async () => {
    const keys = await KeyStore.open(test.database, test.tables, () => 5_000);
    const first = await keys.createFirst('first');
    expect(await keys.createFirst('again')).toBeNull();
    await keys.ofEnvironment('public', 'pk_environment');
    const { key, stored } = await keys.create('public', 'shop', { agents: ['a'], origins: ['https://shop.example'] });
    expect(keys.list().map(({ name }) => name)).toEqual(['first', 'PARLEY_PUBLIC_KEY', 'shop']);
    expect(keys.find(first ?? '')).toMatchObject({ kind: 'private', createdAt: 5, ofEnvironment: false });
    expect(keys.find('pk_environment')).toMatchObject({ ofEnvironment: true });
    expect([keys.find(key), keys.get(stored.id)]).toEqual([stored, stored]);
    expect(await keys.revokeUnlessLast(keys.find(first ?? '')?.id ?? '')).toBe('last');
    expect([await keys.revoke(stored.id), await keys.revoke(stored.id)]).toEqual([true, false]);
    const limited = await keys.create('private', 'reader', { scopes: ['read', 'evals'] });
    expect(keys.find(limited.key)).toEqual({ ...limited.stored, scopes: ['read', 'evals'] });
    expect([keys.find(first ?? '')?.scopes, stored.scopes]).toEqual([KEY_SCOPES, []]);
    // A key that cannot make others is not the last one.
    expect(await keys.revokeUnlessLast(keys.find(first ?? '')?.id ?? '')).toBe('last');
    expect(await keys.revokeUnlessLast(limited.stored.id)).toBe('revoked');
    const again = await KeyStore.open(test.database, test.tables, () => 5_000);
    expect(again.find(first ?? '')?.scopes).toEqual(KEY_SCOPES);
    await keys.ofEnvironment('public', null);
    expect(keys.list()).toMatchObject([{ name: 'first' }, { name: 'PARLEY_PUBLIC_KEY', ofEnvironment: false }]);
  });

  it('keep numbers', async () => {
    const phones = await PhoneStore.open(test.database, test.tables, box);
    const phone: StoredPhone = {
      number: '+12025550100',
      carrier: 'sip',
      status: 'active',
      agentId: null,
      agentVersion: 'draft',
      queue: { limit: 3 },
      agentConfigOverride: { first_message: 'Hi.' },
      tags: ['a'],
      address: { city: 'Bonn' },
      createdAt: 1,
    };
    await phones.add({ ...phone, number: '+12025550101' });
    await phones.add(phone);
    expect(phones.list().map(({ number }) => number)).toEqual(['+12025550100', '+12025550101']);
    const changed = { ...phone, agentId: 'a', agentVersion: 7, tags: [] };
    expect(await phones.change(phone.number, { agentId: 'a', agentVersion: 7, tags: [] })).toEqual(changed);
    expect(phones.get(phone.number)).toEqual(changed);
    const campaigns = new CampaignStore(test.database);
    const settings = { includeMetadataInPrompt: false, overrides: {}, reason: null, lastCallMs: null, createdAt: 1 };
    await campaigns.add({ ...settings, id: 'c', name: 'C', status: 'idle', caller: phone.number, agentVersion: null });
    await campaigns.change('c', { agentVersion: 7 });
    await phones.change(phone.number, { agentId: 'a' });
    expect(await campaigns.get('c')).toMatchObject({ caller: phone.number, agentVersion: 7 });
    await phones.change(phone.number, { agentId: 'b' });
    expect(await campaigns.get('c')).toMatchObject({ caller: phone.number, agentVersion: null });
    expect([await phones.remove(phone.number), await phones.remove(phone.number)]).toEqual([true, false]);
    expect([phones.get(phone.number), await phones.change(phone.number, { tags: [] })]).toEqual([null, null]);
  });

  it('keep agents in the order of their creation, and load only new versions', async () => {
    const agents = await AgentStore.open(test.database, test.tables, box);
    const agent = (id: string): StoredAgent => ({
      id,
      name: id.toUpperCase(),
      config: { first_message: id },
      extensions: null,
      script: undefined,
      createdAt: 1,
      version: 1,
      changedBy: null,
      draft: null,
      publishing: LIVE_AT_ONCE,
      revision: 0,
    });
    for (const id of ['b', 'a', 'c']) expect(await agents.add(agent(id), null)).toBe(true);
    expect(await agents.add(agent('b'), null)).toBe(false);
    expect(agents.all().map(({ id }) => id)).toEqual(['b', 'a', 'c']);
    expect(agents.get('c')).toMatchObject({ name: 'C', config: { first_message: 'c' }, version: 1 });
  });

  it('keep voices', async () => {
    const voices = await VoiceStore.open(test.database, test.tables);
    const voice: StoredVoice = {
      provider: 'p',
      voiceId: 'v',
      baseVoiceId: 'b',
      name: 'V',
      model: null,
      settings: { speed: 1.5 },
      language: 'en',
      category: null,
      multiplier: 1.25,
      createdAt: 1,
    };
    expect(await voices.put(voice)).toEqual(voice);
    expect(await voices.put({ ...voice, name: 'W' })).toMatchObject({ name: 'W' });
    expect([voices.find('p', 'v')?.name, voices.multiplierOf('p', 'v')]).toEqual(['W', 1.25]);
    expect([await voices.remove('p', 'v'), voices.list()]).toEqual([true, []]);
  });

  it('keep overrides encrypted', async () => {
    const rows = await test.database.all<{ sealed: string }>(
      sql`SELECT agent_config_override AS sealed FROM phones WHERE agent_config_override IS NOT NULL`,
    );
    expect(rows.every(({ sealed }) => sealed.startsWith(box.prefix))).toBe(true);
  });
});
