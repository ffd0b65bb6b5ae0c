import type { Phase } from '../../page/phase.js';

/** The state of a conversation. `held`: the agent pauses for a possible interruption. */
export type RibbonState = 'connecting' | 'listening' | 'thinking' | 'speaking' | 'held' | 'interrupted';

export interface RibbonPiece {
  state: RibbonState;
  fromMs: number;
  /** Null = the current state. */
  toMs: number | null;
}

export interface LevelSample {
  atMs: number;
  /** Root mean squares, 0 to 1. */
  user: number;
  agent: number;
}

/** Older states and levels are dropped. */
const KEPT_MS = 120_000;

/** The history of a conversation's states, and of the levels of both sides. */
export class Ribbon {
  #pieces: RibbonPiece[] = [];
  #samples: LevelSample[] = [];

  get pieces(): readonly RibbonPiece[] {
    return this.#pieces;
  }

  get samples(): readonly LevelSample[] {
    return this.#samples;
  }

  get state(): RibbonState | null {
    const last = this.#pieces.at(-1);
    return last?.toMs === null ? last.state : null;
  }

  onPhase(phase: Phase, nowMs: number): void {
    if (phase === 'idle') this.#close(nowMs);
    // The page's phase does not distinguish a pause from its outcome.
    else this.#enter(phase === 'interrupted' ? 'held' : phase, nowMs);
  }

  /** It was an interruption. */
  onInterrupted(nowMs: number): void {
    if (this.state !== null) this.#enter('interrupted', nowMs);
  }

  onLevels(user: number, agent: number, nowMs: number): void {
    this.#samples.push({ atMs: nowMs, user, agent });
    while ((this.#samples[0]?.atMs ?? nowMs) < nowMs - KEPT_MS) this.#samples.shift();
    while ((this.#pieces[0]?.toMs ?? nowMs) < nowMs - KEPT_MS) this.#pieces.shift();
  }

  #enter(state: RibbonState, nowMs: number): void {
    if (this.state === state) return;
    this.#close(nowMs);
    this.#pieces.push({ state, fromMs: nowMs, toMs: null });
  }

  #close(nowMs: number): void {
    const last = this.#pieces.at(-1);
    if (last !== undefined) last.toMs ??= nowMs;
  }
}
