import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';
import { countSpeculation, noSpeculations } from './speculation-report.js';
import { TurnClock, type TurnMetrics } from './turn-metrics.js';
import { UsageBook } from './usage.js';

/** A session's figures: takes them from what happens to the conversation and from what it wants done. */
export class Ledger {
  readonly turns: TurnClock;
  readonly speculation = noSpeculations();
  readonly usage = new UsageBook();
  #speechEndMs: number | null = null;

  /** @param onAnswered the first audio of an answer goes to the line */
  constructor(onAnswered: (metrics: TurnMetrics) => void) {
    this.turns = new TurnClock(onAnswered);
  }

  onEvent(event: ConversationEvent, nowMs: number): void {
    if (event.type === 'speech.stopped') this.#speechEndMs = event.endMs;
    else if (event.type === 'llm.text' || event.type === 'llm.voice' || event.type === 'llm.toolCall')
      this.turns.modelSpoke(event.requestId, nowMs);
  }

  onEffect(effect: ConversationEffect, nowMs: number): void {
    if (effect.type === 'llm.start') this.turns.asked(effect.requestId, effect.speculative);
    else if (effect.type === 'llm.cancel') this.turns.givenUp(effect.requestId);
    else if (effect.type === 'speak.prepare') this.turns.prepared(effect.utteranceId);
    else if (effect.type === 'speak.cancel') this.turns.unspoken(effect.utteranceId);
    else if (effect.type === 'llm.confirm') this.turns.confirmed(effect.requestId);
    else if (effect.type === 'speak') this.turns.spoken(effect.utteranceId, nowMs);
    else if (effect.type === 'user.said') {
      this.turns.decided(effect.turn, effect.text, this.#speechEndMs, nowMs);
      this.#speechEndMs = null;
    } else if (effect.type === 'trace') {
      if (effect.name === 'interruption') this.turns.interrupted();
      else if (effect.name === 'voicemail.detected') this.turns.unanswered();
      else countSpeculation(this.speculation, effect);
    }
  }
}
