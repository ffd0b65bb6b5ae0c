import { randomUUID } from 'node:crypto';
import { type Clock, delay } from '../../base/clock.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import type { AgentSplit, AgentStep, Author, Publishing, StoredAgent } from '../../store/agents.js';
import type { StoredEvalRun } from '../../store/eval-runs.js';
import type { Lease, Leases } from '../../store/leases.js';
import type { NewPublication, Publication, PublicationDetails, PublicationStore } from '../../store/publications.js';
import type { Transaction } from '../../store/sql/statement.js';
import { type AgentRegistry, isSame } from '../agents/agents.js';
import { type EvalRuns, STOPPED } from '../evals/eval-runs.js';
import type { EvalSuites } from '../evals/eval-suites.js';
import type { CaseSummary, RunRequest } from '../evals/replies.js';

export interface PublisherOptions {
  agents: AgentRegistry;
  store: PublicationStore;
  suites: Pick<EvalSuites, 'get'>;
  runs: Pick<EvalRuns, 'start' | 'list' | 'get' | 'cancel'>;
  leases: Pick<Leases, 'lead'>;
  clock: Clock;
  onError: (error: Error) => void;
}

/** What is asked of a publication. */
export interface PublishRequest {
  /** Null = the draft. */
  version: number | null;
  note: string | null;
  /** Microseconds since 1970; null = at once. */
  dueUs: number | null;
  /** Why it needs no gate; null = the gate decides. */
  override: string | null;
}

/** Members that are left out do not change. */
export type PublishingChange = Partial<Pick<Publishing, 'drafts' | 'gate' | 'widget'>>;

/** How often a run of a gate is looked at, and how often other nodes' entries are. */
const RUN_MS = 500;
const SHARED_MS = 2_000;
/** The longest wait, for clocks that jump. */
const LONGEST_MS = 60_000;
/** Runs of a gate that are begun again because a daemon has stopped. */
const MOST_RESTARTS = 3;
/** Among so many runs a passed one is looked for. */
const LOOKED_AT = 100;
const EARLIER = 50;

/** Publishes versions of agents, now or later, behind a gate or not, and takes them back. */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #closed = new AbortController();
  #lease: Lease | null = null;
  #wake: () => void = () => undefined;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Begins to carry out what is scheduled, on one of all nodes. */
  start(): void {
    if (!this.#closed.signal.aborted)
      this.#lease ??= this.#options.leases.lead('publications', (lost) => this.#lead(lost));
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#lease?.release();
  }

  /**
   * Publishes a version, or begins to.
   * @throws ParleyError NOT_FOUND, AGENT_NOT_PUBLISHED, PUBLICATION_OPEN
   */
  async publish(agentId: string, asked: PublishRequest, by: Author): Promise<Publication> {
    const { agents } = this.#options;
    const now = agents.stored(agentId);
    const version = asked.version ?? now.draft;
    if (version === null) throw unpublished('the agent has no draft; name a version');
    if (version === now.version && now.publishing.split === null) {
      throw unpublished(`version ${String(version)} is published already`);
    }
    await agents.kept(agentId, version);
    const { note, dueUs, override } = asked;
    const gate = override === null ? now.publishing.gate : null;
    const passed = gate === null ? null : await this.#passedRun(gate, agentId, version);
    const entry = entryOf(agentId, 'publish', by, {
      version,
      note,
      dueUs,
      runId: passed?.id ?? null,
      details: override === null ? {} : { override: true, reason: override },
    });
    if (gate !== null && passed === null) await this.#open({ ...entry, status: 'checking' });
    else if (dueUs !== null) await this.#open({ ...entry, status: 'scheduled' });
    else await this.#carryOut(entry, null);
    this.#wake();
    return this.get(agentId, entry.id);
  }

  /**
   * Makes a version that callers had before the published one again, ends a split, and cancels what is scheduled.
   * @param version null = the one before, or with a split the published one
   * @throws ParleyError NOT_FOUND, AGENT_NOT_PUBLISHED
   */
  async rollBack(
    agentId: string,
    { version, note }: Pick<PublishRequest, 'version' | 'note'>,
    by: Author,
  ): Promise<Publication> {
    const { agents, store } = this.#options;
    const entry = entryOf(agentId, 'rollback', by, { note });
    await agents.point(
      agentId,
      by,
      async (now) => {
        entry.version = await this.#earlier(now, version);
        return { ...asItIs(now), live: entry.version, publishing: { ...now.publishing, split: null } };
      },
      function* ({ version: previous }) {
        yield* store.canceling(agentId, 'The agent was rolled back.');
        yield* store.adding({ ...entry, previous });
      },
    );
    return this.get(agentId, entry.id);
  }

  /**
   * Shares new conversations between versions. The agent uses drafts from then on.
   * @param split null = all have the published version
   * @param override why versions that were never published need no gate; null = the gate decides
   * @throws ParleyError NOT_FOUND, AGENT_NOT_PUBLISHED if one of them has not passed the gate
   */
  async setSplit(
    agentId: string,
    split: AgentSplit | null,
    by: Author,
    override: string | null = null,
  ): Promise<StoredAgent> {
    const { agents, store } = this.#options;
    const { gate } = agents.stored(agentId).publishing;
    for (const { version } of split?.versions ?? []) {
      const { publishedAt } = await agents.kept(agentId, version);
      if (publishedAt !== null || gate === null || override !== null) continue;
      if ((await this.#passedRun(gate, agentId, version)) !== null) continue;
      throw unpublished(`version ${String(version)} has not passed the test suite ${gate} as a whole`);
    }
    return agents.point(
      agentId,
      by,
      async (now) => ({
        ...asItIs(now),
        publishing: { ...now.publishing, drafts: now.publishing.drafts || split !== null, split },
      }),
      function* () {
        const details = override === null ? { split } : { split, override: true, reason: override };
        yield* store.adding(entryOf(agentId, 'split', by, { details }));
      },
    );
  }

  /** Takes the draft away; its version stays in the history. @throws ParleyError NOT_FOUND if there is none */
  async discard(agentId: string, by: Author): Promise<StoredAgent> {
    const { agents, store } = this.#options;
    return agents.point(
      agentId,
      by,
      async (now) => {
        if (now.draft === null) throw new ParleyError('NOT_FOUND', { what: 'draft of', id: agentId });
        return { ...asItIs(now), draft: null };
      },
      function* ({ draft }) {
        yield* store.canceling(agentId, 'The draft was discarded.');
        yield* store.adding(entryOf(agentId, 'discard', by, { version: draft }));
      },
    );
  }

  /**
   * An agent with a gate or a split uses drafts, whatever is asked: a live change would pass by both.
   * @throws ParleyError NOT_FOUND for an unknown suite or version, AGENT_DRAFT_OPEN
   */
  async configure(agentId: string, change: PublishingChange, by: Author): Promise<StoredAgent> {
    const { agents, store, suites } = this.#options;
    if (change.gate != null) await suites.get(change.gate);
    if (typeof change.widget === 'number') await agents.kept(agentId, change.widget);
    const changed = (now: StoredAgent): Publishing => {
      const publishing = { ...now.publishing, ...change };
      publishing.drafts ||= publishing.gate !== null || publishing.split !== null;
      return publishing;
    };
    return agents.point(
      agentId,
      by,
      async (now) => {
        const { draft } = now;
        if (change.drafts === false && draft !== null) {
          throw new ParleyError('AGENT_DRAFT_OPEN', { agent: agentId, version: draft });
        }
        return { ...asItIs(now), publishing: changed(now) };
      },
      function* (now) {
        const { drafts, gate, widget } = changed(now);
        yield* store.adding(entryOf(agentId, 'settings', by, { details: { settings: { drafts, gate, widget } } }));
      },
    );
  }

  /** Ends a publication that is open; one that is over stays as it is. @throws ParleyError NOT_FOUND */
  async cancel(agentId: string, id: string): Promise<Publication> {
    const { store, runs } = this.#options;
    const entry = await this.get(agentId, id);
    if (entry.finishedUs !== null) return entry;
    const { runId } = entry;
    const reason = 'It was canceled.';
    await store.move(entry, { status: 'canceled', runId, details: { ...entry.details, reason } });
    if (entry.status === 'checking' && runId !== null) await runs.cancel(runId).catch(unlessGone);
    return this.get(agentId, id);
  }

  /** @throws ParleyError NOT_FOUND */
  async get(agentId: string, id: string): Promise<Publication> {
    const found = await this.#options.store.get(id);
    if (found?.agentId !== agentId) throw new ParleyError('NOT_FOUND', { what: 'publication', id });
    return found;
  }

  /** What was done with the versions of an agent, latest first. @throws ParleyError NOT_FOUND */
  async list(agentId: string, page: { limit: number; before: number }): Promise<Publication[]> {
    return this.#options.store.list(this.#options.agents.stored(agentId).id, page);
  }

  /** The version to which a rollback leads. @throws ParleyError AGENT_NOT_PUBLISHED, NOT_FOUND */
  async #earlier(now: StoredAgent, version: number | null): Promise<number> {
    const { agents, store } = this.#options;
    const { split } = now.publishing;
    if (version !== null) {
      const isPublished = version === now.version || (await agents.kept(now.id, version)).publishedAt !== null;
      if (!isPublished) throw unpublished(`callers never had version ${String(version)}; publish it instead`);
      if (version === now.version && split === null)
        throw unpublished(`version ${String(version)} is published already`);
      return version;
    }
    if (split !== null) return now.version;
    const last = await store.lastOf(now.id, now.version);
    if (last?.previous != null) return last.previous;
    // Versions that went live without a publication: the last one that differs in more than whether it is disabled.
    const { config } = now;
    const earlier = (await agents.versions(now.id, { limit: EARLIER, before: now.version })).find((one) => {
      const { status, ...rest } = one.config;
      const { status: _status, ...mine } = config;
      return (
        one.publishedAt !== null && status !== 'disabled' && !isSame({ ...one, config: rest }, { ...now, config: mine })
      );
    });
    if (earlier === undefined) throw unpublished('there is no earlier version to roll back to');
    return earlier.version;
  }

  /** A run in which this version has passed the suite as it is now, with all of its cases; null = there is none. */
  async #passedRun(suiteId: string, agentId: string, agentVersion: number): Promise<StoredEvalRun | null> {
    const { suites, runs } = this.#options;
    const suite = await suites.get(suiteId);
    const found = await runs.list({ suiteId, agentId, status: 'done', beforeSeq: null, limit: LOOKED_AT });
    const isWhole = (run: StoredEvalRun): boolean => {
      const { mode, runs: times, only } = JSON.parse(run.request) as RunRequest;
      return mode === null && times === null && only === null;
    };
    const isIt = (run: StoredEvalRun): boolean =>
      run.passed === true && run.agentVersion === agentVersion && run.suiteVersion === suite.version && isWhole(run);
    return found.find(isIt) ?? null;
  }

  /** @throws ParleyError PUBLICATION_OPEN */
  async #open(entry: NewPublication): Promise<void> {
    if (await this.#options.store.addOpen(entry)) return;
    throw new ParleyError('PUBLICATION_OPEN', { agent: entry.agentId, status: 'checked or scheduled' });
  }

  /** Publishes. @param from the status of an entry that is stored; null = it is added */
  async #carryOut(entry: NewPublication, from: 'checking' | 'scheduled' | null): Promise<void> {
    const { agents, store } = this.#options;
    const { agentId, version, by, runId, details } = entry;
    if (version === null) return;
    await agents.point(
      agentId,
      by,
      async (now) => ({
        ...asItIs(now),
        live: version,
        draft: now.draft === version ? null : now.draft,
        ...(from === null ? {} : await this.#withStatus(now, version)),
        publishing: { ...now.publishing, split: null },
      }),
      function* ({ version: previous }): Transaction<void> {
        if (from === null) {
          if (yield* store.hasOpen(agentId)) {
            throw new ParleyError('PUBLICATION_OPEN', { agent: agentId, status: 'checked or scheduled' });
          }
          yield* store.adding({ ...entry, previous });
          return;
        }
        const moved = yield* store.moving({ id: entry.id, status: from }, { status: 'done', runId, details, previous });
        if (!moved) throw new MovedOn();
      },
    );
  }

  /** What differs in the step to a version that was asked for earlier: it does not enable or disable the agent. */
  async #withStatus(now: StoredAgent, version: number): Promise<Partial<AgentStep>> {
    const { agents } = this.#options;
    const { name, config, script, extensions = null } = await agents.kept(now.id, version);
    const status = now.config.status ?? 'active';
    const isSameStatus = (config.status ?? 'active') === status;
    const content = { name, script, extensions, config: { ...config, status } };
    // Disabling or enabling the agent meanwhile has made a new draft of this version.
    if (now.draft !== null && now.draft !== version && isSame(await agents.working(now.id), content)) {
      return { live: isSameStatus ? version : now.draft, draft: null };
    }
    if (isSameStatus) return {};
    const draft = now.draft === version ? null : now.draft;
    return { content, note: `As version ${String(version)}`, live: 'new', draft };
  }

  async #lead(lost: AbortSignal): Promise<void> {
    const { clock, onError, store } = this.#options;
    const closed = this.#closed.signal;
    const isOver = (): boolean => lost.aborted || closed.aborted;
    // Not AbortSignal.any: Node 20 may collect such a signal while somebody waits for it.
    const wake = (): void => this.#wake();
    for (const signal of [lost, closed]) signal.addEventListener('abort', wake);
    while (!isOver()) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      const waitMs = await this.#pass().catch((error: unknown) => {
        if (!isOver()) onError(errorOf(error));
        return SHARED_MS;
      });
      if (isOver()) break;
      await delay(clock, Math.min(waitMs, store.isShared ? SHARED_MS : LONGEST_MS), woken.signal).catch(
        () => undefined,
      );
    }
    for (const signal of [lost, closed]) signal.removeEventListener('abort', wake);
  }

  /** Moves on what can be moved on. Returns when to look again, in ms. */
  async #pass(): Promise<number> {
    const { nowUs, entries } = await this.#options.store.open();
    let waitMs = LONGEST_MS;
    for (const entry of entries) {
      const { status, dueUs } = entry;
      const isDue = dueUs === null || dueUs <= nowUs;
      try {
        if (status === 'checking') {
          if (!(await this.#judge(entry, isDue))) waitMs = Math.min(waitMs, RUN_MS);
          else if (!isDue) waitMs = Math.min(waitMs, (dueUs - nowUs) / 1000);
        } else if (isDue) await this.#carryOut(entry, 'scheduled');
        else waitMs = Math.min(waitMs, (dueUs - nowUs) / 1000);
      } catch (error) {
        if (!(error instanceof MovedOn)) this.#options.onError(errorOf(error));
        waitMs = Math.min(waitMs, SHARED_MS);
      }
    }
    return Math.max(1, waitMs);
  }

  /** Begins the run of a gate, or acts on its end. Returns whether the gate has decided. */
  async #judge(entry: Publication, isDue: boolean): Promise<boolean> {
    const { store, runs } = this.#options;
    const { runId, details } = entry;
    const run = runId === null ? null : await runs.get(runId).catch(unlessGone);
    if (run !== null && run.finishedMs === null) return false;
    if (run?.passed === true) {
      if (isDue) await this.#carryOut(entry, 'checking');
      else await store.move(entry, { status: 'scheduled', runId, details });
      return true;
    }
    const restarts = (details.restarts ?? 0) + 1;
    const isCut = run?.status === 'failed' && run.reason === STOPPED && restarts <= MOST_RESTARTS;
    if (runId !== null && !isCut) {
      await store.move(entry, { status: 'refused', runId, details: { ...details, ...refusalOf(run) } });
      return true;
    }
    try {
      const begun = await this.#startRun(entry);
      const counted = runId === null ? details : { ...details, restarts };
      await store.move(entry, { status: 'checking', runId: begun.id, details: counted });
      return false;
    } catch (error) {
      // The queue is full, or the daemon is about to stop.
      if (error instanceof ParleyError && error.retryable) return false;
      await store.move(entry, { status: 'refused', runId, details: { ...details, reason: reasonOf(error) } });
      return true;
    }
  }

  #startRun({ agentId, version }: Publication): Promise<StoredEvalRun> {
    const { agents, runs } = this.#options;
    const { gate } = agents.stored(agentId).publishing;
    if (gate === null) throw unpublished('the gate was removed meanwhile; publish again');
    const whole = { mode: null, runs: null, only: null, against: null, webhook: null };
    return runs.start({ ...whole, suiteId: gate, agentId, agentVersion: version });
  }
}

/** Another node has moved the entry on, or somebody has canceled it. */
class MovedOn extends Error {
  override readonly name = 'MovedOn';
}

function entryOf(
  agentId: string,
  action: NewPublication['action'],
  by: Author,
  more: Partial<NewPublication>,
): NewPublication {
  const nothing = { version: null, previous: null, note: null, details: {}, runId: null, dueUs: null };
  return { ...nothing, id: randomUUID(), agentId, action, status: 'done', by, ...more };
}

/** Changes nothing. */
function asItIs({ version, draft, publishing }: StoredAgent): AgentStep {
  return { content: null, note: null, live: version, draft, publishing };
}

function refusalOf(run: StoredEvalRun | null): PublicationDetails {
  if (run === null) return { reason: 'The run of the test suite was deleted.' };
  if (run.status !== 'done') return { reason: run.reason ?? 'The run of the test suite was canceled.' };
  const cases = JSON.parse(run.summary ?? '[]') as CaseSummary[];
  const failed = cases.filter(({ passed }) => !passed);
  return {
    reason: `${String(failed.length)} of ${String(cases.length)} cases failed.`,
    failed: failed.map(({ name, mode, passes, runs, needed }) => ({ name, mode, passes, runs, needed })),
  };
}

function unpublished(reason: string): ParleyError {
  return new ParleyError('AGENT_NOT_PUBLISHED', { reason });
}

/** @throws any other error */
function unlessGone(error: unknown): null {
  if (error instanceof ParleyError && error.code === 'NOT_FOUND') return null;
  throw error;
}
