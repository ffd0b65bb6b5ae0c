import type { ChatMessage } from '../../agent/chat.js';
import type { Core } from '../core.js';
import { essence, sameForm } from '../language/words.js';
import { modelMessages } from '../speech/history.js';
import type { SpeculationState } from '../state.js';
import { scoreNow, turnText } from '../turn/user-turn.js';

/**
 * Answers begun before the user's final words are known: while they speak, or right after. Each is a guess that these
 * words are all, and is paid for whether it is right or not: a budget limits the guesses of a turn, and the more of them
 * fail in this call, the more complete the words must be.
 */

/** After this many wrong speculations at pauses of a turn, no more are made. */
export const MOST_A_TURN = 3;
/** Characters of a token of a language with spaces, about. */
const CHARS_PER_TOKEN = 4;
/** The completeness that words need at first, and when the budget is spent or guesses do not pay off. */
const LEAST_COMPLETE = 0.3;
const MOST_COMPLETE = 0.84;
/** From this share of right guesses on they pay off. */
const GOOD_SHARE = 0.4;
/** How many guesses of the call count. */
const REMEMBERED = 16;

export function tokensOf(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

export function charsOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + content.length, 0);
}

/** Words in a form in which equal ones ask for the same answer: "please" at the end asks for no other. */
export function comparable({ config, language }: Core, text: string): string {
  const words = sameForm(text);
  return config.speculation.early ? essence(words, language) : words;
}

/** Whether words that are not final yet are worth a guess. The same words are judged once. */
export function mayBeginEarly(core: Core, words: string): boolean {
  const { turn } = core.state;
  const considered = `${turn.speaking ? 'speaking' : 'silent'} ${words}`;
  if (turn.considered === considered) return false;
  turn.considered = considered;
  const messages = modelMessages(core, { role: 'user', content: turnText(core) });
  const spent = spentShare(core, tokensOf(charsOf(messages)));
  if (spent > 1) return false;
  const { begun, right } = core.state.early;
  // A call begins as if one of two had been right.
  const failing = 1 - (right + 1) / (begun + 2) / GOOD_SHARE;
  const least = LEAST_COMPLETE + (MOST_COMPLETE - LEAST_COMPLETE) * Math.max(0, spent, failing);
  return scoreNow(core).completeness >= least;
}

/** The share of the turn's budget that is spent after a prompt of so many tokens. */
function spentShare({ config, state }: Core, tokens: number): number {
  const { tokensPerTurn, costPerTurn, promptPrice, completionPrice } = config.speculation;
  const prompt = state.turn.earlyTokens.prompt + tokens;
  const { completion } = state.turn.earlyTokens;
  const cost = (prompt * promptPrice + completion * completionPrice) / 1e6;
  const ofMoney = costPerTurn === null || cost === 0 ? 0 : cost / costPerTurn;
  return Math.max(ofMoney, (prompt + completion) / Math.max(1, tokensPerTurn));
}

/** A guess has proved right or wrong. */
export function noteEarly(core: Core, { early, modelChars }: SpeculationState, right: boolean): void {
  if (!early) return;
  const { early: guesses, turn } = core.state;
  if (!right) turn.earlyTokens.completion += tokensOf(modelChars);
  const kept = guesses.begun < REMEMBERED ? 1 : (REMEMBERED - 1) / REMEMBERED;
  guesses.begun = guesses.begun * kept + 1;
  guesses.right = guesses.right * kept + (right ? 1 : 0);
}

/** Discards the speculative reply before any of it is played. */
export function dropSpeculation(core: Core, reason: string): void {
  const { speculation } = core.state;
  if (speculation === null) return;
  core.state.speculation = null;
  core.disarm('speculation');
  const { requestId } = speculation.reply;
  core.emit({ type: 'llm.cancel', requestId });
  let voiceChars = 0;
  for (const { utteranceId, text } of speculation.sentences) {
    if (utteranceId === null) continue;
    voiceChars += text.length;
    core.emit({ type: 'speak.cancel', utteranceId });
  }
  const { promptChars, modelChars } = speculation;
  noteEarly(core, speculation, false);
  core.trace('speculation.dropped', { requestId, reason, promptChars, modelChars, voiceChars });
}
