import type { Phase } from '../../page/phase.js';

/** What a conversation is doing. `held`: the agent waits whether the user means to interrupt it. */
export type RibbonState = 'connecting' | 'listening' | 'thinking' | 'speaking' | 'held' | 'interrupted';

export interface RibbonPiece {
  state: RibbonState;
  fromMs: number;
  /** Null = it is so now. */
  toMs: number | null;
}

export interface LevelSample {
  atMs: number;
  /** Root mean squares, 0..1. */
  user: number;
  agent: number;
}

/** Longer ago than this nothing is kept. */
const KEPT_MS = 120_000;

/** The states of a conversation and how loud both sides were, as they follow each other. */
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
    // The page's phase does not tell a pause from what becomes of it.
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
