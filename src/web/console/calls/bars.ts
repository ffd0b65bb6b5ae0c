import type { TurnStory } from './turns.js';

/** A bar of a turn's waterfall, in ms since the end of the user's speech. */
export interface Bar {
  label: string;
  about: string;
  fromMs: number;
  toMs: number;
  look: 'pause' | 'model' | 'answer' | 'voice' | 'playout' | 'early' | 'dropped';
}

/** The stages of an answer: speculative ones first, then each stage until it was heard. Empty without an answer. */
export function waterfall(turn: TurnStory): Bar[] {
  const { responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs, speechEndMs } = turn;
  if (responseMs === null) return [];
  const decided = endOfTurnMs ?? 0;
  const model = decided + (llmFirstMs ?? 0);
  const sentence = Math.max(model, decided + (firstSentenceMs ?? llmFirstMs ?? 0));
  const voice = Math.min(responseMs, sentence + (ttsFirstMs ?? 0));
  const zero = speechEndMs ?? turn.audioStartMs ?? 0;
  const early = turn.attempts.map(({ fromMs, toMs, droppedFor, text }): Bar => ({
    label: droppedFor === null ? 'Begun early' : 'Dropped',
    about: droppedFor === null ? `Became the answer: ${text}` : `${droppedFor}: ${text}`,
    fromMs: fromMs - zero,
    toMs: toMs - zero,
    look: droppedFor === null ? 'early' : 'dropped',
  }));
  const stages: Bar[] = [
    {
      label: 'End of turn',
      about: 'from the end of speech to the decision that the turn is over',
      fromMs: 0,
      toMs: decided,
      look: 'pause',
    },
    { label: 'LLM first', about: 'to the model’s first piece', fromMs: decided, toMs: model, look: 'model' },
    {
      label: 'First sentence',
      about: 'to the first sentence for the voice',
      fromMs: model,
      toMs: sentence,
      look: 'answer',
    },
    { label: 'TTS first', about: 'to the first audio of that sentence', fromMs: sentence, toMs: voice, look: 'voice' },
    { label: 'Playout', about: 'to its first sound on the line', fromMs: voice, toMs: responseMs, look: 'playout' },
  ];
  return [...early, ...(endOfTurnMs === null ? stages.slice(1) : stages)];
}
