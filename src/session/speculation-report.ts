import type { ConversationEffect } from '../conversation/events.js';

/** Answers that were begun before it was certain that the user had finished, and what those that were wrong have cost. */
export interface SpeculationReport {
  started: number;
  /** The turn ended with these words: the answer was used. */
  confirmed: number;
  /** The user went on or said something else: nobody heard of it. */
  dropped: number;
  /** Of those dropped: characters given to the model, got from it, and given to the voice. */
  wastedPromptChars: number;
  wastedModelChars: number;
  wastedVoiceChars: number;
}

export function noSpeculations(): SpeculationReport {
  return { started: 0, confirmed: 0, dropped: 0, wastedPromptChars: 0, wastedModelChars: 0, wastedVoiceChars: 0 };
}

/** Counts what a conversation's trace tells about its speculations. */
export function countSpeculation(
  report: SpeculationReport,
  { name, data }: Pick<Extract<ConversationEffect, { type: 'trace' }>, 'name' | 'data'>,
): void {
  const chars = (key: string): number => Number(data[key] ?? 0);
  if (name === 'speculation.started') report.started++;
  else if (name === 'speculation.confirmed') report.confirmed++;
  else if (name === 'speculation.dropped') {
    report.dropped++;
    report.wastedPromptChars += chars('promptChars');
    report.wastedModelChars += chars('modelChars');
    report.wastedVoiceChars += chars('voiceChars');
  }
}
