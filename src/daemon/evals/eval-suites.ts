import { randomUUID } from 'node:crypto';
import { ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import type { EvalSuiteStore, EvalSuiteVersion, StoredEvalSuite } from '../../store/eval-suites.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { SuiteText } from './suite-text.js';

export interface EvalSuitesOptions {
  store: EvalSuiteStore;
  agents: Pick<AgentRegistry, 'stored'>;
  nowUnixMs: () => number;
}

/** A change of a suite. Members that are left out do not change. */
export interface EvalSuiteChange {
  content?: SuiteText | undefined;
  /** Null = any agent. */
  agentId?: string | null | undefined;
}

/** The test suites of this daemon. */
export class EvalSuites {
  readonly #options: EvalSuitesOptions;

  constructor(options: EvalSuitesOptions) {
    this.#options = options;
  }

  /** @param agentId null = suites of all agents */
  list(agentId: string | null): Promise<StoredEvalSuite[]> {
    return this.#options.store.list(agentId);
  }

  /** @throws ParleyError NOT_FOUND */
  async get(id: string): Promise<StoredEvalSuite> {
    const suite = await this.#options.store.get(id);
    if (suite === null) throw new ParleyError('NOT_FOUND', { what: 'suite', id });
    return suite;
  }

  /** One version of a suite. @throws ParleyError NOT_FOUND */
  async version(id: string, version: number): Promise<EvalSuiteVersion> {
    const [found] = await this.versions(id, { limit: 1, before: version + 1 });
    if (found?.version !== version) throw new ParleyError('NOT_FOUND', { what: 'version', id: String(version) });
    return found;
  }

  /** Latest first. @throws ParleyError NOT_FOUND */
  async versions(id: string, page: { limit: number; before: number }): Promise<EvalSuiteVersion[]> {
    return this.#options.store.versions((await this.get(id)).id, page);
  }

  /** @throws ParleyError NOT_FOUND for an unknown agent */
  async create({ suite, text }: SuiteText, agentId: string | null, by: string): Promise<StoredEvalSuite> {
    const { store, nowUnixMs } = this.#options;
    this.#checkAgent(agentId);
    const createdAt = unixSeconds(nowUnixMs());
    const made: StoredEvalSuite = {
      id: randomUUID(),
      agentId,
      version: 1,
      name: suite.name,
      text,
      suite: JSON.stringify(suite),
      createdAt,
      changedAt: createdAt,
      changedBy: by,
    };
    await store.add(made);
    return made;
  }

  /**
   * Saves a new version. A save without a change makes none.
   * @param changeOf the change of the latest version. It is asked again if another change came first
   * @throws ParleyError NOT_FOUND, and what `changeOf` throws
   */
  async change(id: string, changeOf: (now: StoredEvalSuite) => EvalSuiteChange, by: string): Promise<StoredEvalSuite> {
    const { store, nowUnixMs } = this.#options;
    for (;;) {
      const now = await this.get(id);
      const { content, agentId } = changeOf(now);
      const next = {
        ...now,
        name: content?.suite.name ?? now.name,
        text: content?.text ?? now.text,
        suite: content === undefined ? now.suite : JSON.stringify(content.suite),
        agentId: agentId === undefined ? now.agentId : agentId,
      };
      this.#checkAgent(next.agentId);
      if (next.text === now.text && next.suite === now.suite && next.agentId === now.agentId) return now;
      const saved = { ...next, version: now.version + 1, changedAt: unixSeconds(nowUnixMs()), changedBy: by };
      if (await store.change(saved)) return saved;
    }
  }

  /** Deletes a suite with its versions and runs. @throws ParleyError NOT_FOUND */
  async remove(id: string): Promise<void> {
    if (!(await this.#options.store.remove(id))) throw new ParleyError('NOT_FOUND', { what: 'suite', id });
  }

  #checkAgent(agentId: string | null): void {
    if (agentId !== null) this.#options.agents.stored(agentId);
  }
}
