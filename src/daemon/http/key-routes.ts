import * as z from 'zod';
import { InvalidConfigError, type ValidationIssue } from '../../schema/issues.js';
import { originSchema } from '../../settings/setting-items.js';
import { ParleyError } from '../../base/errors.js';
import { KEY_SCOPES, KEY_VARIABLES, type KeyScope, type KeyStore, type StoredKey } from '../../store/keys.js';
import { checkScope } from './access.js';
import type { Api } from './api.js';
import { success } from './endpoint.js';

export interface KeyRoutesOptions {
  keys: KeyStore;
  /** Whether an agent with this id exists. */
  isAgent: (id: string) => boolean;
}

const idSchema = z.string().min(1).max(200);
const kind = z.enum(['private', 'public']).describe('Public keys can only open sessions.');
const name = z.string().min(1).max(200).describe('Who uses the key, or for what.');
const scope = z.enum(KEY_SCOPES).meta({
  id: 'KeyScope',
  description:
    'read: everything but keys. write: change agents, numbers, campaigns, knowledge, voices. calls: place and end calls, ' +
    'run campaigns, chat. evals: change and run test suites. admin: keys, deletion of calls and memories.',
});
const createSchema = z
  .strictObject({
    kind,
    name,
    scopes: z
      .array(scope)
      .min(1)
      .max(KEY_SCOPES.length)
      .nullish()
      .describe('What a private key allows; none = everything. A key can pass on only what it allows itself.'),
    agents: z.array(idSchema).max(1_000).nullish().describe('Agents that a public key allows; none = all.'),
    origins: z
      .array(originSchema)
      .max(1_000)
      .nullish()
      .describe("Web origins that a public key allows; none = the operator's `allowedOrigins`."),
  })
  .meta({ id: 'KeyCreate' });
const keyShape = {
  id: z.string(),
  kind,
  name,
  hint: z.string().describe('The last characters of the key.'),
  agents: z.array(z.string()),
  origins: z.array(z.string()),
  scopes: z.array(scope).describe('Of a private key.'),
  created_at: z.int().describe('Unix seconds'),
};
const keySchema = z.strictObject(keyShape).meta({ id: 'Key', description: 'A key without its secret.' });
const newKeySchema = z
  .strictObject({ ...keyShape, key: z.string().describe('Only this answer has it.') })
  .meta({ id: 'NewKey' });

const EXAMPLE: z.output<typeof keySchema> = {
  id: '7375b456-bb3b-4768-a862-fda7072980a7',
  kind: 'public',
  name: 'website',
  hint: 'bW94',
  agents: ['the-crooked-fork'],
  origins: ['https://www.example.com'],
  scopes: [],
  created_at: 1_795_448_090,
};

/** Creates, lists and revokes keys. Only the answer to the creation has the key. */
export function keyRoutes(api: Api, { keys, isAgent }: KeyRoutesOptions): void {
  const path = '/keys';
  const tag = 'keys';

  api.add({
    id: 'listKeys',
    method: 'GET',
    scope: 'admin',
    path,
    tag,
    summary: 'Valid keys',
    answer: z.array(keySchema),
    examples: () => ({ answer: [EXAMPLE] }),
    handle: () => keys.list().map(replyOf),
  });

  api.add({
    id: 'createKey',
    method: 'POST',
    scope: 'admin',
    path,
    tag,
    summary: 'Create a key; only this answer has it',
    body: createSchema,
    answer: newKeySchema,
    examples: () => ({
      body: { kind: 'public', name: 'website', agents: ['the-crooked-fork'], origins: ['https://www.example.com'] },
      answer: { ...EXAMPLE, key: 'pk_example_bW94' },
    }),
    handle: async ({ body, key: own }) => {
      const limits = { agents: body.agents ?? [], origins: body.origins ?? [], scopes: body.scopes ?? null };
      const issues = faultsOf(body.kind, limits, isAgent);
      if (issues.length > 0) throw new InvalidConfigError(issues);
      const { scopes, ...binding } = limits;
      if (body.kind === 'private') for (const one of scopes ?? KEY_SCOPES) checkScope(own ?? { scopes: [] }, one);
      const { key, stored } = await keys.create(
        body.kind,
        body.name,
        scopes === null ? binding : { ...binding, scopes },
      );
      return { ...replyOf(stored), key };
    },
  });

  api.add({
    id: 'revokeKey',
    method: 'DELETE',
    scope: 'admin',
    path,
    tag,
    summary: 'Revoke a key',
    body: z.strictObject({ id: idSchema }),
    description: 'Takes effect at once. Sessions that the key opened continue.',
    answer: success,
    errors: ['NOT_FOUND', 'KEY_LAST', 'KEY_OF_ENVIRONMENT'],
    examples: () => ({ body: { id: EXAMPLE.id } }),
    handle: async ({ body: { id } }) => {
      const key = keys.get(id);
      if (key === null) throw new ParleyError('NOT_FOUND', { what: 'key', id });
      if (key.ofEnvironment) throw new ParleyError('KEY_OF_ENVIRONMENT', { variable: KEY_VARIABLES[key.kind] });
      const outcome = await keys.revokeUnlessLast(id);
      if (outcome === 'unknown') throw new ParleyError('NOT_FOUND', { what: 'key', id });
      if (outcome === 'last') throw new ParleyError('KEY_LAST');
      return { success: true };
    },
  });
}

function faultsOf(
  of: StoredKey['kind'],
  { agents, origins, scopes }: Pick<StoredKey, 'agents' | 'origins'> & { scopes: readonly KeyScope[] | null },
  isAgent: (id: string) => boolean,
): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const fault = (loc: ValidationIssue['loc'], msg: string): void => {
    issues.push({ loc: ['body', ...loc], msg, type: 'value_error' });
  };
  if (of === 'public' && scopes !== null) fault(['scopes'], 'A public key only opens sessions; leave this out');
  if (of === 'private' && agents.length > 0) fault(['agents'], 'A private key allows all agents; leave this out');
  if (of === 'private' && origins.length > 0) fault(['origins'], 'A private key has no origins; leave this out');
  for (const [index, id] of agents.entries()) if (!isAgent(id)) fault(['agents', index], `There is no agent "${id}"`);
  return issues;
}

function replyOf({
  id,
  kind: of,
  name: named,
  hint,
  agents,
  origins,
  scopes,
  createdAt,
}: StoredKey): z.output<typeof keySchema> {
  const limits = { agents: [...agents], origins: [...origins], scopes: [...scopes] };
  return { id, kind: of, name: named, hint, ...limits, created_at: createdAt };
}
