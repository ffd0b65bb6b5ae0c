import type { ConsoleApi } from './api.js';

export interface AgentName {
  id: string;
  name: string;
}

/** The daemon's agents by name, with a fallback for deleted ones. */
export class AgentNames {
  readonly #api: ConsoleApi;
  #names = new Map<string, string>();

  constructor(api: ConsoleApi) {
    this.#api = api;
  }

  async load(): Promise<readonly AgentName[]> {
    const agents = await this.#api.get<AgentName[]>('/agents');
    this.#names = new Map(agents.map(({ id, name }) => [id, name]));
    return agents;
  }

  of(id: string | null): string {
    return id === null ? 'an agent of the call' : (this.#names.get(id) ?? id);
  }
}
