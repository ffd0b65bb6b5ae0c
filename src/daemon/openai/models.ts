import { agentNamed } from '../../agent/find-agent.js';
import { ParleyError } from '../../base/errors.js';
import type { AgentRegistry, VersionedAgent } from '../agents/agents.js';

/** An entry of `GET /v1/models`. */
export interface AgentModel {
  /** The agent's id. */
  id: string;
  object: 'model';
  /** Unix seconds. */
  created: number;
  owned_by: 'parley';
  /** The agent's name; not a member of OpenAI's. */
  name: string;
}

/** The agents, as the models of OpenAI's interface. */
export class AgentModels {
  readonly #agents: AgentRegistry;

  constructor(agents: AgentRegistry) {
    this.#agents = agents;
  }

  /**
   * An agent by its id, its name or the name's slug, in its current version or in the one that follows `@`.
   * @throws ParleyError NOT_FOUND, AGENT_AMBIGUOUS; AGENT_DISABLED
   */
  async find(model: string): Promise<VersionedAgent> {
    const [, name = model, version] = /^(.+)@(\d{1,9})$/.exec(model) ?? [];
    const id = this.#isKnown(name) ? name : agentNamed(this.#agents.active(), name).id;
    const pin = version === undefined ? ('published' as const) : Number(version);
    const agent = await this.#agents.forConversation(id, { version: pin, caller: null });
    // A disabled agent takes no conversations, whatever the version.
    if (agent.config.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
    return agent;
  }

  list(): AgentModel[] {
    return this.#agents.active().map(({ id }) => this.#reply(id));
  }

  /** @throws ParleyError as `find` */
  async get(model: string): Promise<AgentModel> {
    return this.#reply((await this.find(model)).id);
  }

  #reply(id: string): AgentModel {
    const { createdAt, name } = this.#agents.stored(id);
    return { id, object: 'model', created: createdAt, owned_by: 'parley', name };
  }

  /** Whether it is an id, also of a disabled agent. */
  #isKnown(id: string): boolean {
    return this.#agents.all().some((agent) => agent.id === id);
  }
}
