import type { Clock } from '../../base/clock.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { TransportMessage } from '../../transports/transport.js';
import type { BargeIn, SimulatedCaller, CallerView } from '../caller/caller.js';
import type { CallLines } from './call-lines.js';

/** Why the caller's turn has come. */
export type TurnReason = 'agent finished' | 'agent silent' | 'barge-in' | 'call over';

/** An answer that was announced and does not come is given up after this long, in ms. */
const ANNOUNCED_MS = 10_000;

/**
 * Watches the agent on the caller's behalf: when it speaks, when it works, and when its turn is over. A caller does not
 * answer while a tool runs or an answer is on its way: people wait after "one moment".
 */
export class CallerTurns {
  readonly #clock: Clock;
  readonly #lines: CallLines;
  readonly #tools = new Set<string>();
  #isSpeaking = false;
  #quietFromMs: number;
  #announcedMs: number | null = null;
  #bargeIn: BargeIn | null = null;
  #isOver = false;
  /** Up to here the agent's words have been answered: the number of an answer, and characters of it. */
  #answered = { answer: -1, chars: 0 };
  #changed: () => void = () => undefined;
  /** Asked when the agent begins to speak. */
  onAgentStarts: (() => BargeIn | null) | null = null;

  constructor(clock: Clock, lines: CallLines) {
    this.#clock = clock;
    this.#lines = lines;
    this.#quietFromMs = clock.nowMs();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  event(event: SessionEvent): void {
    if (event.type === 'toolStarted') this.#tools.add(event.call.id);
    else if (event.type === 'tool') {
      this.#tools.delete(event.call.id);
      this.#quietFromMs = Math.max(this.#quietFromMs, this.#clock.nowMs());
    } else if (event.type === 'speaking' && event.who === 'agent') this.#speaks(event.isSpeaking);
    else if (event.type === 'ended') this.over();
    this.#changed();
  }

  message(message: TransportMessage): void {
    if (message.type === 'answering') this.#announcedMs = this.#clock.nowMs();
    else if (message.type === 'clear') this.#announcedMs = null;
    this.#changed();
  }

  over(): void {
    this.#isOver = true;
    this.#changed();
  }

  /** What the agent has said since the caller's last move. */
  get agentSaid(): string {
    return this.#lines.answers
      .filter(([number]) => number >= this.#answered.answer)
      .map(([number, { text }]) => (number === this.#answered.answer ? text.slice(this.#answered.chars) : text))
      .join(' ')
      .trim();
  }

  /** The caller answers what the agent has said so far. */
  answer(): void {
    const last = this.#lines.answers.at(-1);
    if (last !== undefined) this.#answered = { answer: last[0], chars: last[1].text.length };
    this.#quietFromMs = Math.max(this.#quietFromMs, this.#clock.nowMs());
  }

  /** What the caller says over the agent. Null = nothing; asked once. */
  takeBargeIn(): BargeIn | null {
    const bargeIn = this.#bargeIn;
    this.#bargeIn = null;
    return bargeIn;
  }

  /**
   * Resolves when the caller's turn has come.
   * @param patienceMs how long the agent may say nothing
   */
  async wait({ reactionMs }: Pick<SimulatedCaller, 'reactionMs'>, patienceMs: number): Promise<TurnReason> {
    const fromMs = this.#clock.nowMs();
    for (;;) {
      const nowMs = this.#clock.nowMs();
      if (this.#isOver) return 'call over';
      if (this.#bargeIn !== null) return 'barge-in';
      const finishedMs = this.agentSaid === '' ? Number.POSITIVE_INFINITY : this.#quietFromMs + reactionMs;
      const silentMs = Math.max(fromMs, this.#quietFromMs) + patienceMs;
      const readyMs = this.#readyMs;
      if (!this.#isSpeaking && nowMs >= Math.max(finishedMs, readyMs)) return 'agent finished';
      if (!this.#isSpeaking && nowMs >= Math.max(silentMs, readyMs)) return 'agent silent';
      const dueMs = Math.max(Math.min(finishedMs, silentMs), readyMs);
      await this.#next(this.#isSpeaking || !Number.isFinite(dueMs) ? null : dueMs);
    }
  }

  /** When the agent can be expected to be done: at once, unless it works or has announced an answer. */
  get #readyMs(): number {
    if (this.#tools.size > 0) return Number.POSITIVE_INFINITY;
    return this.#announcedMs === null ? 0 : this.#announcedMs + ANNOUNCED_MS;
  }

  view(turn: number, agentIsSilent: boolean): CallerView {
    const transcript = this.#lines.lines.flatMap((line) =>
      line.type === 'agent' || line.type === 'caller' ? [{ who: line.type, text: line.text }] : [],
    );
    return { agentSaid: this.agentSaid, transcript, turn, agentIsSilent };
  }

  #speaks(isSpeaking: boolean): void {
    const begins = isSpeaking && !this.#isSpeaking;
    this.#isSpeaking = isSpeaking;
    if (isSpeaking) this.#announcedMs = null;
    else this.#quietFromMs = this.#clock.nowMs();
    if (begins) this.#bargeIn ??= this.onAgentStarts?.() ?? null;
  }

  /** Resolves at the next change, or at `dueMs`; null = at a change only. */
  #next(dueMs: number | null): Promise<void> {
    return new Promise((resolve) => {
      const cancel = dueMs === null ? () => undefined : this.#clock.schedule(dueMs, () => this.#changed());
      this.#changed = () => {
        cancel();
        this.#changed = () => undefined;
        resolve();
      };
    });
  }
}
