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
  list(agentId: string | null): StoredEvalSuite[] {
    return this.#options.store.list(agentId);
  }

  /** @throws ParleyError NOT_FOUND */
  get(id: string): StoredEvalSuite {
    const suite = this.#options.store.get(id);
    if (suite === null) throw new ParleyError('NOT_FOUND', { what: 'suite', id });
    return suite;
  }

  /** One version of a suite. @throws ParleyError NOT_FOUND */
  version(id: string, version: number): EvalSuiteVersion {
    const [found] = this.versions(id, { limit: 1, before: version + 1 });
    if (found?.version !== version) throw new ParleyError('NOT_FOUND', { what: 'version', id: String(version) });
    return found;
  }

  /** Latest first. @throws ParleyError NOT_FOUND */
  versions(id: string, page: { limit: number; before: number }): EvalSuiteVersion[] {
    return this.#options.store.versions(this.get(id).id, page);
  }

  /** @throws ParleyError NOT_FOUND for an unknown agent */
  create({ suite, text }: SuiteText, agentId: string | null, by: string): StoredEvalSuite {
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
    store.add(made);
    return made;
  }

  /** Saves a new version. A save without a change makes none. @throws ParleyError NOT_FOUND */
  change(id: string, { content, agentId }: EvalSuiteChange, by: string): StoredEvalSuite {
    const { store, nowUnixMs } = this.#options;
    const now = this.get(id);
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
    store.change(saved);
    return saved;
  }

  /** Deletes a suite with its versions and runs. @throws ParleyError NOT_FOUND */
  remove(id: string): void {
    if (!this.#options.store.remove(id)) throw new ParleyError('NOT_FOUND', { what: 'suite', id });
  }

  #checkAgent(agentId: string | null): void {
    if (agentId !== null) this.#options.agents.stored(agentId);
  }
}
