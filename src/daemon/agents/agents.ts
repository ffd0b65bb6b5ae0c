import { Queue } from '../../base/queues.js';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AgentConfig } from '../../agent/agent.js';
import type { AgentFile } from '../../agent/agent-file.js';
import { InvalidConfigError } from '../../schema/issues.js';
import { restoreSecrets } from '../../agent/redact.js';
import { trimmedAgentConfig, wholeAgentConfig } from '../../agent/whole-agent.js';
import { type AgentWarning, modelWarnings } from '../../engine/warnings.js';
import type { Engine } from '../../engine/engine.js';
import type { AgentRequest } from '../../engine/options.js';
import { ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import type { AgentContent, AgentStore, AgentVersion, StoredAgent } from '../../store/agents.js';
import type { PhoneStore } from '../../store/phones.js';
import { checkStoredAgent, isUnserved } from './check-agent.js';

/** An agent that takes sessions. */
export interface HostedAgent extends AgentFile {
  id: string;
}

export interface AgentRegistryOptions {
  store: AgentStore;
  engine: Engine;
  phones: Pick<PhoneStore, 'list'>;
  nowUnixMs: () => number;
  /** Why calls can never be transferred to a target; null = they can. */
  whyNeverTransferred: (target: string) => string | null;
  /** Changes a stored configuration for use in this process. */
  inUse: (config: AgentConfig) => AgentConfig;
}

/** A change of an agent. Members that are left out do not change; null removes the script or the extensions. */
export type AgentChange = Partial<AgentContent>;

/** A stored agent, with warnings about parts that will not work as expected. */
export interface CheckedAgent extends StoredAgent {
  warnings: readonly AgentWarning[];
}

/** Attempts of a change that collides with changes on other nodes. */
const MOST_RUNS = 10;
const PLACES = { config: ['body', 'config'], script: ['body', 'script'] };

/**
 * The agents by id. A session keeps the version that it started with.
 */
export class AgentRegistry {
  readonly #options: AgentRegistryOptions;
  readonly #onRemove: ((id: string) => Promise<void>)[] = [];
  /** The queue of changes. They run one at a time, so that no change is lost between the check and the write of another. */
  readonly #changes = new Queue();

  constructor(options: AgentRegistryOptions) {
    this.#options = options;
  }

  /** For a session. @throws ParleyError NOT_FOUND */
  get(id: string): HostedAgent {
    return this.#hosted(this.stored(id));
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

  /** Agents that take calls. */
  active(): HostedAgent[] {
    return this.list().filter(({ config }) => config.status !== 'disabled');
  }

  /** The stored agent, with its secrets. @throws ParleyError NOT_FOUND */
  stored(id: string): StoredAgent {
    const agent = this.#options.store.get(id);
    if (agent === null) throw new ParleyError('NOT_FOUND', { what: 'agent', id });
    return agent;
  }

  /** The stored agents, with their secrets, in the order of creation. */
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

  /** The stored agent, with warnings about this daemon. @throws ParleyError NOT_FOUND */
  async checked(id: string): Promise<CheckedAgent> {
    const agent = this.stored(id);
    try {
      return { ...agent, warnings: await this.#check(contentOf(agent)) };
    } catch (error) {
      if (!(error instanceof InvalidConfigError)) throw error;
      return { ...agent, warnings: error.issues }; // it was valid when it was stored
    }
  }

  /** Checks an agent that is not stored. @throws InvalidConfigError as `create` */
  async review(content: AgentContent): Promise<readonly AgentWarning[]> {
    const config = trimmedAgentConfig(restoreSecrets(content.config, null, PLACES.config));
    return this.#check({ ...content, config });
  }

  /** @throws InvalidConfigError if it could have no sessions, or if `***` replaces no stored secret */
  create(content: AgentContent, by: string): Promise<CheckedAgent> {
    return this.#inTurn(async () => {
      const id = randomUUID();
      const config = trimmedAgentConfig(restoreSecrets(content.config, null, PLACES.config));
      const warnings = await this.#check({ ...content, config });
      return { ...(await this.#add({ ...content, id, config }, by)), warnings };
    });
  }

  /**
   * @param ifVersion the version that it may change; null = whichever it is
   * @throws ParleyError NOT_FOUND, AGENT_CHANGED if it has another version; InvalidConfigError as `create`
   */
  change(id: string, change: AgentChange, by: string, ifVersion: number | null = null): Promise<CheckedAgent> {
    return this.#inTurn(async () => {
      const now = this.stored(id);
      if (ifVersion !== null && ifVersion !== now.version) {
        throw new ParleyError('AGENT_CHANGED', { agent: id, version: now.version, expected: ifVersion });
      }
      const config = change.config && trimmedAgentConfig(restoreSecrets(change.config, now.config, PLACES.config));
      const next = { ...contentOf(now), ...change, config: config ?? now.config };
      if (next.script == null) delete next.script;
      if (next.extensions == null) delete next.extensions;
      const isNew = [change.config, change.script, change.extensions].some((part) => part !== undefined);
      const warnings = isNew ? await this.#check(next) : [];
      if (isSame(now, next)) return { ...now, warnings };
      return { ...(await this.#put(id, next, by)), warnings };
    });
  }

  /** Does not check the agent, so that an invalid one can be disabled. @throws ParleyError NOT_FOUND */
  setStatus(id: string, status: 'active' | 'disabled', by: string): Promise<StoredAgent> {
    return this.#inTurn(async () => {
      const now = this.stored(id);
      if ((now.config.status ?? 'active') === status) return now;
      return this.#put(id, { ...contentOf(now), config: { ...now.config, status } }, by);
    });
  }

  /** An independent copy of an agent. @throws ParleyError NOT_FOUND */
  duplicate(id: string, name: string | null, by: string): Promise<StoredAgent> {
    return this.#inTurn(async () => {
      const original = contentOf(this.stored(id));
      const copy = await this.#add({ ...original, id: randomUUID(), name: name ?? copyName(original.name) }, by);
      await this.setEmbed(copy.id, await this.embed(id));
      return copy;
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

  /** Restores an earlier version, with its secrets, as a new version. @throws ParleyError NOT_FOUND; InvalidConfigError */
  restore(id: string, version: number, by: string): Promise<CheckedAgent> {
    return this.#inTurn(async () => {
      const now = this.stored(id);
      const content = contentOf(await this.#kept(id, version));
      const warnings = await this.#check(content);
      if (isSame(now, content)) return { ...now, warnings };
      return { ...(await this.#put(id, content, by)), warnings };
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
   * @returns a sentence for each agent whose language or vendor this daemon cannot serve: it refuses their calls
   * @throws ParleyError CONFIG_INVALID, which names the agent; the agents before it are stored
   */
  adopt(files: readonly HostedAgent[], demo?: HostedAgent): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      const unserved: string[] = [];
      const agents = [...files];
      if (demo !== undefined && files.length === 0) {
        const known = this.#options.store.get(demo.id);
        if (known === null ? this.all().length === 0 : known.changedBy === null) agents.push(demo);
      }
      for (const { id, ...file } of agents) {
        const content = contentOf(file);
        const reason = await this.#checkFile(content);
        if (reason !== null) unserved.push(`the agent "${file.name}": ${reason}. Until then its calls are refused.`);
        const known = this.#options.store.get(id);
        if (known === null) await this.#add({ ...content, id }, null);
        else if (!isSame(known, content)) await this.#put(id, content, null);
      }
      return unserved;
    });
  }

  /** @throws ParleyError NOT_FOUND */
  async #kept(id: string, version: number): Promise<AgentVersion> {
    const [found] = await this.versions(id, { limit: 1, before: version + 1 });
    if (found?.version !== version) throw new ParleyError('NOT_FOUND', { what: 'version', id: String(version) });
    return found;
  }

  #hosted(agent: AgentContent & { id: string }): HostedAgent {
    return { id: agent.id, ...contentOf(agent), config: this.#options.inUse(agent.config) };
  }

  /** @throws InvalidConfigError */
  async #check(content: AgentContent): Promise<readonly AgentWarning[]> {
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

  async #add(content: AgentContent & { id: string }, changedBy: string | null): Promise<StoredAgent> {
    const agent = { ...content, createdAt: unixSeconds(this.#options.nowUnixMs()), version: 1, changedBy };
    if (!(await this.#options.store.add(agent))) throw new OutdatedAgentError();
    return agent;
  }

  async #put(id: string, content: AgentContent, changedBy: string | null): Promise<StoredAgent> {
    const { createdAt, version } = this.stored(id);
    const agent = { id, ...content, createdAt, version: version + 1, changedBy };
    const isStored = await this.#options.store.change(agent, unixSeconds(this.#options.nowUnixMs()));
    if (!isStored) throw new OutdatedAgentError();
    return agent;
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

function contentOf({ name, config, script, extensions = null }: AgentContent): AgentContent {
  return { name, config, script, extensions };
}

/** Whether two contents mean the same. Null and an empty array count as left out. */
function isSame(a: AgentContent, b: AgentContent): boolean {
  const [first, second] = [a, b].map(contentOf).map((content) => ({
    ...content,
    config: wholeAgentConfig(content.config),
  }));
  return isDeepStrictEqual(first, second);
}

function copyName(name: string): string {
  return `${name.slice(0, 193)} (copy)`;
}
