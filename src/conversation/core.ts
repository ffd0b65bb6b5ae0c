import type { ConversationConfig } from './config.js';
import type { ConversationEffect, PlayoutPosition } from './events.js';
import { isSpeakable } from './reply/sentences.js';
import type { ConversationState, DeadlineName } from './state.js';

export const NOT_PLAYING: PlayoutPosition = { utteranceId: null, heardChars: 0 };

/** What a machine works with during one step: the state, the moment, and where its effects go. */
export class Core {
  readonly config: ConversationConfig;
  readonly state: ConversationState;
  position: PlayoutPosition = NOT_PLAYING;
  effects: ConversationEffect[] = [];

  constructor(config: ConversationConfig, state: ConversationState) {
    this.config = config;
    this.state = state;
  }

  get nowMs(): number {
    return this.state.nowMs;
  }

  /** What is spoken now. */
  get language(): string {
    return this.state.language ?? this.config.language;
  }

  emit(effect: ConversationEffect): void {
    this.effects.push(effect);
  }

  trace(name: string, data: Readonly<Record<string, string | number | boolean | null>> = {}): void {
    this.emit({ type: 'trace', name, data });
  }

  /** The earliest deadline, null if none is set. */
  get nextDeadline(): DeadlineName | null {
    const { deadlines } = this.state;
    let next: DeadlineName | null = null;
    let nextMs = Infinity;
    for (const name in deadlines) {
      const atMs = deadlines[name as DeadlineName];
      if (atMs === null || atMs >= nextMs) continue;
      next = name as DeadlineName;
      nextMs = atMs;
    }
    return next;
  }

  /** Sets or moves a deadline. */
  arm(name: DeadlineName, atMs: number): void {
    this.state.deadlines[name] = atMs;
  }

  disarm(...names: DeadlineName[]): void {
    for (const name of names) this.state.deadlines[name] = null;
  }

  newId(): number {
    return this.state.nextId++;
  }

  /** One of several phrases, in turn, so that none comes twice running; null if there is none that can be spoken. */
  choose(list: string, phrases: readonly string[]): string | null {
    const speakable = [...new Set(phrases)].filter(isSpeakable);
    if (speakable.length === 0) return null;
    const count = this.state.rotation[list] ?? 0;
    this.state.rotation[list] = count + 1;
    return speakable[count % speakable.length] ?? null;
  }
}
