import type { AgentFile } from '../config/agent-file.js';
import { ParleyError } from '../errors.js';

/** An agent that can be talked to. */
export interface HostedAgent extends AgentFile {
  id: string;
}

/** The agents of this daemon, by id. */
export class AgentRegistry {
  readonly #agents = new Map<string, HostedAgent>();

  add(agent: HostedAgent): void {
    this.#agents.set(agent.id, agent);
  }

  /** @throws ParleyError NOT_FOUND */
  get(id: string): HostedAgent {
    const agent = this.#agents.get(id);
    if (agent === undefined) throw new ParleyError('NOT_FOUND', { what: 'agent', id });
    return agent;
  }

  list(): HostedAgent[] {
    return [...this.#agents.values()];
  }
}
