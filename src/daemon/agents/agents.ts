import { Queue } from '../../base/queues.js';
import { createHash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AgentConfig } from '../../agent/agent.js';
import type { AgentFile } from '../../agent/agent-file.js';
import { faultOf, InvalidConfigError } from '../../schema/issues.js';
import { restoreSecrets } from '../../agent/redact.js';
import { trimmedAgentConfig, wholeAgentConfig } from '../../agent/whole-agent.js';
import { type AgentWarning, modelWarnings } from '../../engine/warnings.js';
import type { Engine } from '../../engine/engine.js';
import type { AgentRequest } from '../../engine/options.js';
import { ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import {
  type AgentContent,
  type AgentSplit,
  type AgentStep,
  type AgentStore,
  type AgentVersion,
  type Author,
  LIVE_AT_ONCE,
  type StoredAgent,
  type VersionPin,
} from '../../store/agents.js';
import type { Transaction } from '../../store/sql/statement.js';
import type { PhoneStore } from '../../store/phones.js';
import { checkStoredAgent, isUnserved } from './check-agent.js';

/** An agent that takes sessions. */
export interface HostedAgent extends AgentFile {
  id: string;
}

/** A version of an agent for a conversation. */
export interface VersionedAgent extends HostedAgent {
  version: number;
}

/** Which version a new conversation has. */
export interface VersionChoice {
  /** Null = the published one, or the split's. */
  version: VersionPin | null;
  /**
   * The person: the same person always gets the same version of a split. Null = nobody knows, so it is the published
   * version.
   */
  caller: string | null;
}

export interface AgentRegistryOptions {
  store: AgentStore;
  engine: Engine;
  phones: Pick<PhoneStore, 'list'>;
  /** The numbers that campaigns call from, and the versions that they are pinned to. */
  campaigns: { list(): Promise<readonly { caller: string | null; agentVersion: VersionPin | null }[]> };
  nowUnixMs: () => number;
  /** Why calls can never be transferred to a target; null = they can. */
  whyNeverTransferred: (target: string) => string | null;
  /** Changes a stored configuration for use in this process. */
  inUse: (config: AgentConfig) => AgentConfig;
}

/** A change of an agent. Members that are left out do not change; null removes the script or the extensions. */
export type AgentChange = Partial<AgentContent>;

/** The version of an agent that a change changes: the draft, or the published one if there is none. */
export interface WorkingAgent extends AgentContent {
  id: string;
  /** Unix seconds. */
  createdAt: number;
  version: number;
  changedBy: string | null;
  /** The version that callers have. */
  published: number;
}

/** The working version of an agent, with warnings about parts that will not work as expected. */
export interface CheckedAgent extends WorkingAgent {
  warnings: readonly AgentWarning[];
}

/** How a change is stored. */
export interface ChangeOptions {
  /** The version that it may change; null = whichever it is. Default null. */
  ifVersion?: number | null;
  /** What its author says about it. Default none. */
  note?: string | null;
  /** Whether it becomes a draft. Default: if the agent uses drafts. */
  asDraft?: boolean;
}

/** Attempts of a change that collides with changes on other nodes. */
const MOST_RUNS = 10;
/** Versions in memory beside the published ones. */
const MOST_KEPT = 200;
const PLACES = { config: ['body', 'config'], script: ['body', 'script'] };

/**
 * The agents by id. A session keeps the version that it started with.
 */
export class AgentRegistry {
  readonly #options: AgentRegistryOptions;
  /** Agents of files that are being stored. */
  #adopting: readonly HostedAgent[] = [];
  readonly #onRemove: ((id: string) => Promise<void>)[] = [];
  /** The queue of changes. They run one at a time, so that no change is lost between the check and the write of another. */
  readonly #changes = new Queue();
  /** Versions that conversations have had, the latest last, for their content, which never changes. */
  readonly #versions = new Map<string, AgentVersion>();

  constructor(options: AgentRegistryOptions) {
    this.#options = options;
  }

  /** The published version. `forConversation` has the one of a conversation. @throws ParleyError NOT_FOUND */
  get(id: string): HostedAgent {
    return this.#hosted(this.stored(id));
  }

  /**
   * The version for a new conversation. It is enabled or disabled as the published one is.
   * @throws ParleyError NOT_FOUND
   */
  async forConversation(id: string, { version: pin, caller }: VersionChoice): Promise<VersionedAgent> {
    const agent = this.stored(id);
    const { split } = agent.publishing;
    const wanted =
      pin === 'published'
        ? agent.version
        : pin === 'draft'
          ? (agent.draft ?? agent.version)
          : (pin ?? (split === null || caller === null ? agent.version : sharedVersion(id, split, caller)));
    if (wanted === agent.version) return { ...this.#hosted(agent), version: wanted };
    const found = this.#hosted({ id, ...contentOf(await this.#kept(id, wanted)) });
    return { ...found, config: { ...found.config, status: agent.config.status ?? 'active' }, version: wanted };
  }

  /** The same, or one that is about to be stored; null = there is none. */
  find(id: string): HostedAgent | null {
    const found = this.#adopting.find((agent) => agent.id === id) ?? this.#options.store.get(id);
    return found === null ? null : this.#hosted(found);
  }

  /** A version for sessions. @throws ParleyError NOT_FOUND */
  async version(id: string, version: number): Promise<HostedAgent> {
    return this.#hosted({ id, ...contentOf(await this.#kept(id, version)) });
  }

  /** Adds work that deletes other data of an agent, just before the agent is deleted. */
  onRemove(work: (id: string) => Promise<void>): void {
    this.#onRemove.push(work);
  }

  /** Agents for sessions, in the order of creation. */
  list(): HostedAgent[] {
    return this.all().map((agent) => this.#hosted(agent));
  }

  /** All versions that conversations may get: published, drafts, of splits, and of pins of widgets, numbers, campaigns. */
  async reachable(): Promise<HostedAgent[]> {
    const found: HostedAgent[] = [];
    const phones = this.#options.phones.list();
    const campaigns = (await this.#options.campaigns.list()).map(({ caller, agentVersion }) => ({
      agentVersion,
      agentId: phones.find(({ number }) => number === caller)?.agentId,
    }));
    const numbers = [...phones, ...campaigns].filter(({ agentVersion }) => agentVersion !== null);
    for (const agent of this.all()) {
      const { id, version, draft, publishing } = agent;
      found.push(this.#hosted(agent));
      const pins = numbers.filter(({ agentId }) => agentId === id).map(({ agentVersion }) => agentVersion);
      const split = publishing.split?.versions.map((one) => one.version) ?? [];
      for (const other of new Set([draft, publishing.widget, ...split, ...pins])) {
        if (typeof other !== 'number' || other === version) continue;
        const [one] = await this.#options.store.versions(id, { limit: 1, before: other + 1 });
        if (one?.version === other) found.push(this.#hosted({ id, ...contentOf(one) }));
      }
    }
    return found;
  }

  /** Agents that take calls. */
  active(): HostedAgent[] {
    return this.list().filter(({ config }) => config.status !== 'disabled');
  }

  /** The published version, with its secrets. @throws ParleyError NOT_FOUND */
  stored(id: string): StoredAgent {
    const agent = this.#options.store.get(id);
    if (agent === null) throw new ParleyError('NOT_FOUND', { what: 'agent', id });
    return agent;
  }

  /** What a change changes, with its secrets. @throws ParleyError NOT_FOUND */
  async working(id: string): Promise<WorkingAgent> {
    return this.#workingOf(this.stored(id));
  }

  /** The published versions, with their secrets, in the order of creation. */
  all(): readonly StoredAgent[] {
    return this.#options.store.all();
  }

  /** Warnings about the agent's model, with places in a request. `checked` checks the whole agent. */
  modelWarnings(agent: AgentContent): AgentWarning[] {
    return modelWarnings(agent, this.#options.engine.options).map(({ loc, msg }) => ({
      loc: [...PLACES.config, ...loc],
      msg,
    }));
  }

  /** The working version, with warnings about this daemon. @throws ParleyError NOT_FOUND */
  async checked(id: string): Promise<CheckedAgent> {
    const agent = await this.working(id);
    try {
      return { ...agent, warnings: await this.#check(contentOf(agent), id) };
    } catch (error) {
      if (!(error instanceof InvalidConfigError)) throw error;
      return { ...agent, warnings: error.issues }; // it was valid when it was stored
    }
  }

  /** Checks an agent that is not stored. @throws InvalidConfigError as `create` */
  async review(content: AgentContent): Promise<readonly AgentWarning[]> {
    const config = trimmedAgentConfig(restoreSecrets(content.config, null, PLACES.config));
    return this.#check({ ...content, config }, null);
  }

  /** @throws InvalidConfigError if it could have no sessions, or if `***` replaces no stored secret */
  create(content: AgentContent, by: Author): Promise<CheckedAgent> {
    return this.#inTurn(async () => {
      const id = randomUUID();
      const config = trimmedAgentConfig(restoreSecrets(content.config, null, PLACES.config));
      const warnings = await this.#check({ ...content, config }, id);
      return { ...(await this.#add({ ...content, id, config }, by)), warnings };
    });
  }

  /**
   * Changes an agent: callers get the change at once, or the agent uses drafts and the change becomes its draft.
   * @throws ParleyError NOT_FOUND, AGENT_CHANGED if it has another version; InvalidConfigError as `create`
   */
  change(id: string, change: AgentChange, by: Author, options: ChangeOptions = {}): Promise<CheckedAgent> {
    const { ifVersion = null, note = null, asDraft } = options;
    return this.#inTurn(async () => {
      const stored = this.stored(id);
      const now = await this.#workingOf(stored);
      if (ifVersion !== null && ifVersion !== now.version) {
        throw new ParleyError('AGENT_CHANGED', { agent: id, version: now.version, expected: ifVersion });
      }
      const config = change.config && trimmedAgentConfig(restoreSecrets(change.config, now.config, PLACES.config));
      const next = { ...contentOf(now), ...change, config: config ?? now.config };
      if (next.script == null) delete next.script;
      if (next.extensions == null) delete next.extensions;
      const isNew = [change.config, change.script, change.extensions].some((part) => part !== undefined);
      const warnings = isNew ? await this.#check(next, id) : [];
      const isDraft = asDraft ?? stored.publishing.drafts;
      const isFirst = isDraft && !stored.publishing.drafts;
      if (isSame(now, contentOf(next)) && !isFirst) return { ...now, warnings };
      return { ...(await this.#save(stored, contentOf(next), { by, note, isDraft })), warnings };
    });
  }

  /** Does not check the agent, so that an invalid one can be disabled. Callers get it at once. @throws ParleyError NOT_FOUND */
  setStatus(id: string, status: 'active' | 'disabled', by: Author): Promise<WorkingAgent> {
    return this.#inTurn(async () => {
      const now = this.stored(id);
      const working = await this.#workingOf(now);
      if ((now.config.status ?? 'active') === status) return working;
      const withStatus = (of: AgentContent): AgentContent => ({ ...contentOf(of), config: { ...of.config, status } });
      const live = await this.#save(now, withStatus(now), { by, note: null, isDraft: false });
      if (now.draft === null) return live;
      // Or the next publication would undo it.
      return this.#save(this.stored(id), withStatus(working), { by, note: null, isDraft: true });
    });
  }

  /** An independent copy of an agent, which uses no drafts. @throws ParleyError NOT_FOUND */
  duplicate(id: string, name: string | null, by: Author): Promise<WorkingAgent> {
    return this.#inTurn(async () => {
      const original = contentOf(this.stored(id));
      const copy = await this.#add({ ...original, id: randomUUID(), name: name ?? copyName(original.name) }, by);
      await this.setEmbed(copy.id, await this.embed(id));
      return copy;
    });
  }

  /**
   * Changes what an agent points to.
   * @param step from the agent as it is; it may run again
   * @param also runs in the same transaction
   * @throws ParleyError NOT_FOUND; what `step` and `also` throw
   */
  point(
    id: string,
    by: Author | null,
    step: (now: StoredAgent) => Promise<AgentStep>,
    also?: (now: StoredAgent) => Transaction<void>,
  ): Promise<StoredAgent> {
    return this.#inTurn(async () => {
      const now = this.stored(id);
      return this.#take(now, await step(now), by, also === undefined ? undefined : () => also(now));
    });
  }

  /** @throws ParleyError NOT_FOUND, AGENT_IN_USE if it answers a number */
  remove(id: string): Promise<void> {
    return this.#inTurn(async () => {
      this.stored(id);
      const phone = this.#options.phones.list().find(({ agentId }) => agentId === id);
      if (phone !== undefined) throw new ParleyError('AGENT_IN_USE', { agent: id, phone: phone.number });
      for (const work of this.#onRemove) await work(id);
      const number = await this.#options.store.remove(id);
      if (number !== null) throw new ParleyError('AGENT_IN_USE', { agent: id, phone: number });
    });
  }

  /** As `AgentStore.versions`. @throws ParleyError NOT_FOUND */
  async versions(id: string, page: { limit: number; before: number }): Promise<AgentVersion[]> {
    return this.#options.store.versions(this.stored(id).id, page);
  }

  /** A version, with its secrets. @throws ParleyError NOT_FOUND */
  async kept(id: string, version: number): Promise<AgentVersion> {
    // Read anew: unlike its content, when callers first had a version changes.
    const [found] = await this.versions(id, { limit: 1, before: version + 1 });
    if (found?.version !== version) throw new ParleyError('NOT_FOUND', { what: 'version', id: String(version) });
    return found;
  }

  /**
   * Restores an earlier version, with its secrets, as a new version: as the draft of an agent that uses drafts.
   * @throws ParleyError NOT_FOUND; InvalidConfigError
   */
  restore(id: string, version: number, by: Author): Promise<CheckedAgent> {
    return this.#inTurn(async () => {
      const stored = this.stored(id);
      const now = await this.#workingOf(stored);
      const content = contentOf(await this.#kept(id, version));
      const warnings = await this.#check(content, id);
      if (isSame(now, content)) return { ...now, warnings };
      const note = `As version ${String(version)}`;
      return { ...(await this.#save(stored, content, { by, note, isDraft: stored.publishing.drafts })), warnings };
    });
  }

  /** The configuration of its widget as JSON; null = none. @throws ParleyError NOT_FOUND */
  async embed(id: string): Promise<string | null> {
    return this.#options.store.embed(this.stored(id).id);
  }

  /** @throws ParleyError NOT_FOUND */
  async setEmbed(id: string, embed: string | null): Promise<void> {
    await this.#options.store.setEmbed(this.stored(id).id, embed);
  }

  /**
   * Stores the agents of files. A daemon without agents gets the demo, which is updated at each start until a user
   * changes it.
   * An agent that uses drafts gets its file as a draft, unless callers have it already.
   * @returns a sentence for each agent whose language or vendor this daemon cannot serve, because it refuses their calls,
   * and for each new draft
   * @throws ParleyError CONFIG_INVALID, which names the agent; the agents before it are stored
   */
  adopt(files: readonly HostedAgent[], demo?: HostedAgent): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      const unserved: string[] = [];
      const agents = [...files];
      if (demo !== undefined && files.length === 0) {
        const known = this.#options.store.get(demo.id);
        const isAsMade = known?.changedBy === null && known.draft === null;
        if (known === null ? this.all().length === 0 : isAsMade) agents.push(demo);
      }
      this.#adopting = agents; // they may name each other
      for (const { id, ...file } of agents) {
        const content = contentOf(file);
        const reason = await this.#checkFile(content);
        if (reason !== null) unserved.push(`the agent "${file.name}": ${reason}. Until then its calls are refused.`);
        const known = this.#options.store.get(id);
        if (known === null) {
          await this.#add({ ...content, id }, null);
          continue;
        }
        const working = await this.#workingOf(known);
        // Callers have what the file says, and somebody edits what comes after it.
        const isKept = known.draft !== null && working.changedBy !== null && isSame(known, content);
        if (!isKept && !isSame(working, content)) {
          const isDraft = known.publishing.drafts;
          const { version } = await this.#save(known, content, { by: null, note: null, isDraft });
          if (isDraft)
            unserved.push(`the agent "${file.name}": its file is draft ${String(version)}, not yet published.`);
        }
      }
      this.#adopting = [];
      return unserved;
    });
  }

  /** For its content. @throws ParleyError NOT_FOUND */
  async #kept(id: string, version: number): Promise<AgentVersion> {
    // An agent that was deleted and came again has other versions.
    const key = `${id}/${String(this.stored(id).createdAt)}/${String(version)}`;
    const found = this.#versions.get(key) ?? (await this.kept(id, version));
    this.#versions.delete(key);
    this.#versions.set(key, found);
    const [oldest] = this.#versions.keys();
    if (this.#versions.size > MOST_KEPT && oldest !== undefined) this.#versions.delete(oldest);
    return found;
  }

  async #workingOf(stored: StoredAgent): Promise<WorkingAgent> {
    const { id, createdAt, version: published } = stored;
    const version = stored.draft ?? published;
    const of = version === published ? stored : await this.#kept(id, version);
    return { ...contentOf(of), id, createdAt, version, changedBy: of.changedBy, published };
  }

  #hosted(agent: AgentContent & { id: string }): HostedAgent {
    return { id: agent.id, ...contentOf(agent), config: this.#options.inUse(agent.config) };
  }

  /** @throws InvalidConfigError */
  async #check(content: AgentContent, id: string | null): Promise<readonly AgentWarning[]> {
    checkNotItself(content, id);
    const warnings = await checkStoredAgent(this.#options.engine, this.#asked(content), PLACES);
    return [...warnings, ...this.#transferWarnings(content.config)];
  }

  /** Warnings about targets to which every transfer would fail. */
  #transferWarnings({ flow }: AgentConfig): AgentWarning[] {
    const { phone, phones } = flow?.call_transfer ?? {};
    const place = [...PLACES.config, 'flow', 'call_transfer'];
    const targets = [
      { target: phone, loc: [...place, 'phone'] },
      ...(phones ?? []).map((each, at) => ({ target: each.phone, loc: [...place, 'phones', at, 'phone'] })),
    ];
    return targets.flatMap(({ target, loc }) => {
      const reason = this.#options.whyNeverTransferred(target ?? '');
      return reason === null ? [] : [{ loc, msg: `No call is transferred to ${target ?? ''}: ${reason}.` }];
    });
  }

  /**
   * @returns why this daemon cannot serve the agent's language or vendor; null = it can
   * @throws ParleyError CONFIG_INVALID, which names the agent
   */
  async #checkFile(content: AgentContent): Promise<string | null> {
    const { engine } = this.#options;
    const asked = this.#asked(content);
    try {
      const unserved = await engine.checkAgent(asked).then(
        () => null,
        (error: unknown) => {
          if (isUnserved(error)) return error.message;
          throw error;
        },
      );
      if (unserved !== null) await engine.checkAgent(asked, 'writing');
      return unserved;
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      const fault = error.code === 'CONFIG_INVALID' ? error.details['reason'] : error.message;
      throw new ParleyError(
        'CONFIG_INVALID',
        { reason: `the agent "${content.name}": ${String(fault)}` },
        { cause: error },
      );
    }
  }

  #asked({ config, script, extensions }: AgentContent): AgentRequest {
    return { agent: this.#options.inUse(config), extensions, script };
  }

  async #add(content: AgentContent & { id: string }, by: Author | null): Promise<WorkingAgent> {
    const createdAt = unixSeconds(this.#options.nowUnixMs());
    const made = { ...content, createdAt, version: 1, changedBy: by?.name ?? null };
    const agent = { ...made, draft: null, publishing: LIVE_AT_ONCE, revision: 0 };
    if (!(await this.#options.store.add(agent, by))) throw new OutdatedAgentError();
    return { ...made, published: 1 };
  }

  /** Stores a new version. */
  async #save(
    now: StoredAgent,
    content: AgentContent,
    { by, note, isDraft }: { by: Author | null; note: string | null; isDraft: boolean },
  ): Promise<WorkingAgent> {
    const { draft, publishing, version } = now;
    const step: AgentStep = isDraft
      ? { content, note, live: version, draft: 'new', publishing: { ...publishing, drafts: true } }
      : { content, note, live: 'new', draft, publishing };
    const { draft: newDraft, version: live } = await this.#take(now, step, by);
    const [id, createdAt] = [now.id, now.createdAt];
    const made = { id, createdAt, published: live, changedBy: by?.name ?? null };
    return { ...contentOf(content), ...made, version: isDraft ? (newDraft ?? live) : live };
  }

  async #take(
    now: StoredAgent,
    step: AgentStep,
    by: Author | null,
    also?: () => Transaction<void>,
  ): Promise<StoredAgent> {
    const at = unixSeconds(this.#options.nowUnixMs());
    const taken = await this.#options.store.take(now, step, { by, at }, also);
    if (taken === null) throw new OutdatedAgentError();
    return taken;
  }

  /** Runs a change after those before it, and again if another node has changed its agent in the meantime. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#changes.run(async () => {
      for (let count = 1; ; count++) {
        try {
          return await work();
        } catch (error) {
          if (!(error instanceof OutdatedAgentError) || count === MOST_RUNS) throw error;
        }
      }
    });
  }
}

/** Another node has changed, added or deleted the agent. The store shows its latest version now. */
class OutdatedAgentError extends Error {
  override readonly name = 'OutdatedAgentError';

  constructor() {
    super('other nodes keep changing the agent');
  }
}

/** @throws InvalidConfigError for an agent that hands over to itself */
function checkNotItself({ extensions }: AgentContent, id: string | null): void {
  const at = (extensions?.handover?.agents ?? []).findIndex(({ agent_id: target }) => target === id);
  if (at < 0) return;
  throw faultOf(['body', 'extensions', 'handover', 'agents', at, 'agent_id'], 'an agent cannot hand over to itself');
}

function contentOf({ name, config, script, extensions = null }: AgentContent): AgentContent {
  return { name, config, script, extensions };
}

/** Whether two contents mean the same. Null and an empty array count as left out. */
export function isSame(a: AgentContent, b: AgentContent): boolean {
  const [first, second] = [a, b].map(contentOf).map((content) => ({
    ...content,
    config: wholeAgentConfig(content.config),
  }));
  return isDeepStrictEqual(first, second);
}

/**
 * The version of a split that a person has: the one with the greatest score, which depends on the person and the version
 * (weighted rendezvous hashing). A change of the weights moves no more people than it must.
 */
export function sharedVersion(agentId: string, { versions, seed }: AgentSplit, caller: string): number {
  const scored = versions.map(({ version, weight }) => {
    const hash = createHash('sha256')
      .update(JSON.stringify([agentId, seed, caller, version]))
      .digest();
    // Between 0 and 1, neither included.
    const share = (hash.readUIntBE(0, 6) + 0.5) / 2 ** 48;
    return { version, score: -weight / Math.log(share) };
  });
  return scored.reduce((best, next) => (next.score > best.score ? next : best)).version;
}

function copyName(name: string): string {
  return `${name.slice(0, 193)} (copy)`;
}
