import type { RunningCall } from '../../../daemon/live/running-call.js';
import { el } from '../../shared/elements.js';
import { type ConsoleApi, messageOf } from '../api.js';
import { card, loadStyles } from '../view.js';
import type { FlowDrawing } from './drawing.js';
import { isDrawable, stepsOf, titleOf } from './graph.js';

/** The steps of a running call, with the present one. Nothing if its agent has none. */
export class CallFlow {
  readonly element = el('div', {});
  readonly #api: ConsoleApi;
  readonly #abort = new AbortController();
  readonly #words = el('p', { role: 'status' });
  #drawing: FlowDrawing | null = null;
  #titles: ReadonlyMap<string, string> = new Map();
  #now: string | null = null;

  /** @param version that the call has; null = unknown: most calls have the published one */
  constructor(api: ConsoleApi, sessionId: string, agentId: string | null, version: string | null) {
    this.#api = api;
    if (agentId !== null) void this.#load(sessionId, agentId, version ?? 'published');
  }

  /** Marks the present step. */
  show(step: string): void {
    this.#now = step;
    this.#drawing?.markNow(step);
    this.#words.textContent = `Now: ${this.titleOf(step)}`;
  }

  titleOf(step: string): string {
    return this.#titles.get(step) ?? step;
  }

  /** For calls whose events nobody else reads here. */
  follow(sessionId: string): void {
    const onEvent = ({ event, data }: { event: string; data: string }): void => {
      if (event === 'step') this.show((JSON.parse(data) as { step: string }).step);
    };
    const path = `/calls/${encodeURIComponent(sessionId)}/events`;
    this.#api.events(path, onEvent, () => undefined, this.#abort.signal);
  }

  /** May be called twice. */
  close(): void {
    this.#abort.abort();
    this.#drawing?.close();
  }

  async #load(sessionId: string, agentId: string, version: string): Promise<void> {
    try {
      const agent = `/agents/${encodeURIComponent(agentId)}`;
      // The agent itself is its draft, or the published version if there is none, as for a call of the draft.
      const path = version === 'draft' ? agent : `${agent}/versions/${encodeURIComponent(version)}`;
      const { extensions } = await this.#api.get<{ extensions: { flow?: unknown } | null }>(path);
      const flow = extensions?.flow;
      if (!isDrawable(flow)) return;
      const [{ FlowDrawing }, { calls }] = await Promise.all([
        import('./drawing.js'),
        this.#api.get<{ calls: RunningCall[] }>('/calls/live'),
        loadStyles('console-flow.css'),
      ]);
      if (this.#abort.signal.aborted) return;
      this.#titles = new Map(stepsOf(flow).map(({ step }) => [step.id, titleOf(step)]));
      const drawing = new FlowDrawing({
        label: 'Steps of the call; arrow keys follow the ways',
        edits: null,
        onChoose: () => undefined,
        onOpen: () => undefined,
      });
      this.#drawing = drawing;
      this.element.replaceChildren(card('Steps', this.#words, drawing.element));
      drawing.show(flow);
      const first = calls.find(({ session_id: id }) => id === sessionId)?.live?.step ?? null;
      const now = this.#now ?? first;
      if (now !== null) this.show(now);
    } catch (error) {
      if (!this.#abort.signal.aborted) this.element.replaceChildren(el('p', { class: 'fault' }, messageOf(error)));
    }
  }
}
