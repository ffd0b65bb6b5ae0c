import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AgentConfig } from '../config/agent.js';
import type { AgentFile } from '../config/agent-file.js';
import { restoreSecrets } from '../config/redact.js';
import type { Engine } from '../engine/engine.js';
import { ParleyError } from '../errors.js';
import type { AgentContent, AgentStore, AgentVersion, StoredAgent } from '../store/agents.js';
import type { PhoneStore } from '../store/phones.js';
import { checkAgent } from './check-agent.js';

/** An agent that can be talked to. */
export interface HostedAgent extends AgentFile {
  id: string;
}

export interface AgentRegistryOptions {
  store: AgentStore;
  engine: Engine;
  phones: Pick<PhoneStore, 'list'>;
  nowSeconds: () => number;
  /** A stored configuration as it is used in this process. Default as it is. */
  inUse?: (config: AgentConfig) => AgentConfig;
}

/** What is to be changed; what is left out stays. A script of null goes. */
export type AgentChange = Partial<AgentContent>;

const PLACES = { config: ['body', 'config'], script: ['body', 'script'] };

/**
 * The agents of this daemon, by id: in memory as they are now, and in the store with all that they were. A session has
 * its agent as it was when the session began.
 */
export class AgentRegistry {
  readonly #options: AgentRegistryOptions;
  readonly #agents: Map<string, StoredAgent>;
  /** Changes are checked and made one after the other: none is lost between another's check and its writing. */
  #changes: Promise<unknown> = Promise.resolve();

  /** @throws ParleyError SECRETS_UNREADABLE */
  constructor(options: AgentRegistryOptions) {
    this.#options = options;
    this.#agents = new Map(options.store.all().map((agent) => [agent.id, agent]));
  }

  /** For a session. @throws ParleyError NOT_FOUND */
  get(id: string): HostedAgent {
    return this.#hosted(this.stored(id));
  }

  /** For sessions, in the order of their making. */
  list(): HostedAgent[] {
    return this.all().map((agent) => this.#hosted(agent));
  }

  /** Those that take calls. */
  active(): HostedAgent[] {
    return this.list().filter(({ config }) => config.status !== 'disabled');
  }

  /** As it is kept, secrets included. @throws ParleyError NOT_FOUND */
  stored(id: string): StoredAgent {
    const agent = this.#agents.get(id);
    if (agent === undefined) throw new ParleyError('NOT_FOUND', { what: 'agent', id });
    return agent;
  }

  /** As they are kept, secrets included, in the order of their making. */
  all(): StoredAgent[] {
    return [...this.#agents.values()];
  }

  /** @throws InvalidConfigError where it could have no sessions, or `***` stands for nothing */
  create(content: AgentContent, by: string): Promise<StoredAgent> {
    return this.#inTurn(async () => {
      const id = randomUUID();
      const config = restoreSecrets(content.config, null, PLACES.config);
      await this.#check({ ...content, config });
      return this.#add({ ...content, id, config }, by);
    });
  }

  /** @throws ParleyError NOT_FOUND; InvalidConfigError as `create` */
  change(id: string, change: AgentChange, by: string): Promise<StoredAgent> {
    return this.#inTurn(async () => {
      const now = this.stored(id);
      const config = change.config && restoreSecrets(change.config, now.config, PLACES.config);
      const next = { ...contentOf(now), ...change, ...(config && { config }) };
      if (next.script == null) delete next.script;
      if (isDeepStrictEqual(contentOf(now), next)) return now;
      if (change.config !== undefined || change.script !== undefined) await this.#check(next);
      return this.#put(id, next, by);
    });
  }

  /** Not checked: one that could have no sessions can be switched off. @throws ParleyError NOT_FOUND */
  setStatus(id: string, status: 'active' | 'disabled', by: string): Promise<StoredAgent> {
    return this.#inTurn(() => {
      const now = this.stored(id);
      if ((now.config.status ?? 'active') === status) return now;
      return this.#put(id, { ...contentOf(now), config: { ...now.config, status } }, by);
    });
  }

  /** An agent that can be changed without the first. @throws ParleyError NOT_FOUND */
  duplicate(id: string, name: string | null, by: string): Promise<StoredAgent> {
    return this.#inTurn(() => {
      const original = contentOf(this.stored(id));
      const copy = this.#add({ ...original, id: randomUUID(), name: name ?? copyName(original.name) }, by);
      this.setEmbed(copy.id, this.embed(id));
      return copy;
    });
  }

  /** @throws ParleyError NOT_FOUND, AGENT_IN_USE where it answers a number */
  remove(id: string): Promise<void> {
    return this.#inTurn(() => {
      this.stored(id);
      const phone = this.#options.phones.list().find(({ agentId }) => agentId === id);
      if (phone !== undefined) throw new ParleyError('AGENT_IN_USE', { agent: id, phone: phone.number });
      this.#options.store.remove(id);
      this.#agents.delete(id);
    });
  }

  /** As `AgentStore.versions`. @throws ParleyError NOT_FOUND */
  versions(id: string, page: { limit: number; before: number }): AgentVersion[] {
    return this.#options.store.versions(this.stored(id).id, page);
  }

  /** Makes an earlier version the latest one, with its secrets. @throws ParleyError NOT_FOUND; InvalidConfigError */
  restore(id: string, version: number, by: string): Promise<StoredAgent> {
    return this.#inTurn(async () => {
      const now = this.stored(id);
      const [found] = this.versions(id, { limit: 1, before: version + 1 });
      if (found?.version !== version) throw new ParleyError('NOT_FOUND', { what: 'version', id: String(version) });
      const content = contentOf(found);
      if (isDeepStrictEqual(contentOf(now), content)) return now;
      await this.#check(content);
      return this.#put(id, content, by);
    });
  }

  /** The JSON of its widget's configuration, null where there is none. @throws ParleyError NOT_FOUND */
  embed(id: string): string | null {
    return this.#options.store.embed(this.stored(id).id);
  }

  /** @throws ParleyError NOT_FOUND */
  setEmbed(id: string, embed: string | null): void {
    this.#options.store.setEmbed(this.stored(id).id, embed);
  }

  /**
   * Takes agents over from files: each is made what its file says. The demo comes to a daemon that has no agent, and is
   * kept up to date until somebody changes it.
   * @throws ParleyError CONFIG_INVALID, which names the agent; those before it have been taken over
   */
  adopt(files: readonly HostedAgent[], demo?: HostedAgent): Promise<void> {
    return this.#inTurn(async () => {
      const agents = [...files];
      if (demo !== undefined && files.length === 0) {
        const known = this.#agents.get(demo.id);
        if (known === undefined ? this.#agents.size === 0 : known.changedBy === null) agents.push(demo);
      }
      for (const { id, ...file } of agents) {
        const content = contentOf(file);
        await this.#check(content, file.name);
        const known = this.#agents.get(id);
        if (known === undefined) this.#add({ ...content, id }, null);
        else if (!isDeepStrictEqual(contentOf(known), content)) this.#put(id, content, null);
      }
    });
  }

  #hosted(agent: StoredAgent): HostedAgent {
    const { inUse = (config) => config } = this.#options;
    return { id: agent.id, ...contentOf(agent), config: inUse(agent.config) };
  }

  /** @param file names an agent that comes from a file */
  async #check({ config, script }: AgentContent, file?: string): Promise<void> {
    const { engine, inUse = (same: AgentConfig) => same } = this.#options;
    const agent = { agent: inUse(config), ...(script !== undefined && { script }) };
    if (file === undefined) {
      await checkAgent(engine, agent, PLACES);
      return;
    }
    try {
      await engine.checkAgent(agent);
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      const fault = error.code === 'CONFIG_INVALID' ? error.details['reason'] : error.message;
      throw new ParleyError('CONFIG_INVALID', { reason: `the agent "${file}": ${String(fault)}` }, { cause: error });
    }
  }

  #add(content: AgentContent & { id: string }, changedBy: string | null): StoredAgent {
    const agent = { ...content, createdAt: this.#options.nowSeconds(), version: 1, changedBy };
    this.#options.store.add(agent);
    this.#agents.set(agent.id, agent);
    return agent;
  }

  #put(id: string, content: AgentContent, changedBy: string | null): StoredAgent {
    const { createdAt, version } = this.stored(id);
    const agent = { id, ...content, createdAt, version: version + 1, changedBy };
    this.#options.store.change(agent, this.#options.nowSeconds());
    this.#agents.set(id, agent);
    return agent;
  }

  #inTurn<T>(work: () => Promise<T> | T): Promise<T> {
    const mine = this.#changes.then(work);
    this.#changes = mine.catch(() => undefined);
    return mine;
  }
}

function contentOf({ name, config, script }: AgentContent): AgentContent {
  return { name, config, ...(script !== undefined && { script }) };
}

function copyName(name: string): string {
  return `${name.slice(0, 193)} (copy)`;
}
