import type { ConversationConfig } from '../../../agent/flow/conversation-config.js';
import type { ConversationEffect } from '../../../conversation/events.js';
import { AgentConfigs, check, type Rule, type Step } from './rule.js';
import { type DeadlineName, type ConversationState, isTakenOver, isTalkedOver } from '../../../conversation/state.js';

/** Every pending state has its own deadline. */
export function pendingHasDeadline(): Rule {
  return { onStep };
}

function onStep({ state, nextDeadlineMs }: Step): void {
  const { turn, speech, reply, voicemail } = state;
  if (state.line !== 'open') {
    check(nextDeadlineMs === undefined, 'no deadline while the line is not open');
    return;
  }
  check(nextDeadlineMs !== undefined, 'there is always a deadline');
  for (const atMs of Object.values(state.deadlines)) {
    check(atMs === null || Number.isFinite(atMs), 'every deadline comes');
  }
  const armed = (...names: DeadlineName[]): boolean => names.some((name) => state.deadlines[name] !== null);
  const pending = (isPending: boolean, what: string, ...names: DeadlineName[]): void => {
    check(!isPending || armed(...names), `${what} has a deadline`);
  };
  pending(turn.startMs !== null && !turn.waiting, 'an open turn', 'turn.end', 'turn.stuck', 'interruption');
  check(
    !turn.waiting ||
      speech.queue.length > 0 ||
      reply !== null ||
      state.digits !== '' ||
      state.hold !== null ||
      state.press !== null ||
      isTalkedOver(state) ||
      voicemail?.phase === 'greeting',
    'a waiting turn waits for the agent, for keys, for the end of a hold, for a participant or for a machine',
  );
  pending(
    voicemail !== null && voicemail.phase !== 'message' && state.ending === null,
    'voicemail detection',
    'voicemail',
  );
  pending(speech.held, 'a hold', 'interruption');
  pending(state.interruption !== null, 'an interruption', 'interruption');
  pending(!speech.held && speech.queue.length > 0, 'an utterance', 'speech.start', 'speech.end');
  pending(reply?.phase === 'thinking', 'a request', 'llm.first');
  pending(reply?.phase === 'streaming', 'a streaming reply', 'llm.gap');
  const isBusy = state.tools.length > 0 || state.transfer !== null || state.handover !== null;
  check(reply?.phase !== 'tools' || isBusy, 'a reply that waits for tools has pending tools');
  pending(state.transfer?.phase === 'connecting', 'a transfer', 'transfer');
  pending(state.tools.length > 0, 'a tool', 'tools');
  pending(state.handover?.ready === null, 'a hand-over', 'handover');
  const isFree = (reply === null || reply.phase === 'done') && turn.startMs === null;
  check(state.handover?.ready == null || !isFree, 'an agent that is ready waits for a reply or the user only');
  pending(state.digits !== '', 'a sequence of keys', 'digits');
  pending(state.ending !== null, 'the end', 'closing');
  pending(state.ending === null, 'the session', 'duration');
}

/** Shortest distance between fillers, see `filler`. */
const FILLER_REPEAT_MS = 4000;
/** `utterance.finished` comes with the last frame, up to a frame early. */
const FRAME_MS = 20;

/** Answers, fillers and inactivity prompts do not come too early. */
export class Timing implements Rule {
  readonly #configs: AgentConfigs;
  #turnEndMs = Infinity;
  #speechEndMs = 0;
  #fillerMs = -Infinity;
  #speaking = false;
  #playedToMs = 0;

  constructor(config: ConversationConfig) {
    this.#configs = new AgentConfigs(config);
  }

  onStep(step: Step): void {
    this.#configs.see(step);
    for (const effect of step.effects) this.#see(effect, step);
    const { turn, deadlines } = step.state;
    this.#turnEndMs = deadlines['turn.end'] ?? Infinity;
    this.#speechEndMs = turn.endMs;
    this.#speaking = turn.speaking;
  }

  onPlayed(_utteranceId: number, _fromMs: number, toMs: number): void {
    this.#playedToMs = toMs;
  }

  #see(effect: ConversationEffect, { atMs, event, state }: Step): void {
    if (effect.type === 'user.said' && event.type === 'time' && this.#turnEndMs <= atMs && !this.#speaking) {
      const waitedMs = atMs - this.#speechEndMs;
      const leastMs = Math.min(...this.#configs.all.map(({ endpointing }) => endpointing.responseDelayMs));
      check(waitedMs >= leastMs, 'an answer waits for the response delay', () => `${String(waitedMs)} ms`);
    }
    if (effect.type !== 'speak') return;
    if (effect.kind === 'filler') {
      check(atMs - this.#fillerMs >= FILLER_REPEAT_MS, 'fillers keep their distance');
      check(!state.turn.speaking, 'no filler while the user speaks');
      check(atMs >= this.#playedToMs - FRAME_MS, 'no filler while the agent speaks');
      this.#fillerMs = atMs;
    } else if (effect.kind === 'prompt') {
      const silentMs = atMs - this.#playedToMs;
      const mayAsk = this.#configs.all.some(
        ({ inactivity }) => inactivity !== null && silentMs >= inactivity.idleMs - FRAME_MS,
      );
      check(mayAsk, 'the agent asks only after silence');
    }
  }
}

/** The pause that ends a sequence of keys, see `digits`. */
const KEYS_PAUSE_MS = 2000;
/** Tolerance for retries while the user has the floor, and for the length of ticks. */
const RETRIES_MS = 3000;
const SIGNS = new Set(['speech.failed', 'speech.stalled', 'reply.failed', 'tool.timeout']);
/** Most failures in a row without any sound between them. */
const MOST_FAILURES = 12;

/**
 * No dead air: after the user's turn, sound plays or the line closes within the time that the deadlines allow. An action
 * of the user, or a failure that the conversation noticed, restarts the wait.
 */
export class DeadAir implements Rule {
  readonly #configs: AgentConfigs;
  /** Since when the user waits for an answer; null = no answer is due. */
  #owedMs: number | null = null;
  #signMs = 0;
  #failures = 0;
  #isBusy = false;

  constructor(config: ConversationConfig) {
    this.#configs = new AgentConfigs(config);
  }

  onStep(step: Step): void {
    const { atMs, effects, state } = step;
    this.#configs.see(step);
    this.#expectSound(atMs);
    if (isSign(step)) {
      this.#signMs = atMs;
      this.#failures = 0;
    }
    for (const effect of effects) {
      if (effect.type === 'user.said') {
        this.#owedMs = atMs;
        this.#signMs = atMs;
      } else if (effect.type === 'trace' && effect.name === 'voicemail.detected') this.#owedMs = null;
      else if (effect.type === 'trace' && SIGNS.has(effect.name)) {
        this.#signMs = atMs;
        check(++this.#failures <= MOST_FAILURES, 'failures do not repeat forever');
      } else if (effect.type === 'playout.resume' || effect.type === 'line.transfer.cancel') this.#signMs = atMs;
      else if (effect.type === 'digits.send') this.#owedMs = null;
    }
    // During a transfer the user hears ringing.
    this.#isBusy = state.turn.speaking || state.transfer?.phase === 'connecting';
    const isStopped = step.event.type === 'command.interrupt' && state.reply === null;
    const isSilenced = state.muted.agent || isTakenOver(state) || isTalkedOver(state);
    if (state.line === 'closed' || isStopped || isSilenced || state.hold !== null) this.#owedMs = null;
  }

  onPlayed(_utteranceId: number, fromMs: number): void {
    this.#expectSound(fromMs);
    this.#owedMs = null;
    this.#failures = 0;
  }

  #expectSound(atMs: number): void {
    if (this.#isBusy) this.#signMs = atMs;
    const silentMs = atMs - this.#signMs;
    const longestMs = Math.max(...this.#configs.all.map(longestSilence));
    check(
      this.#owedMs === null || silentMs <= longestMs,
      'no dead air after the turn of the user',
      () => `silence for ${String(silentMs)} ms, ${String(longestMs)} at most`,
    );
  }
}

/** The longest that the deadlines allow. */
function longestSilence({ deadlines, endpointing, filler, speculation }: ConversationConfig): number {
  const fillerMs = Math.max(filler.afterMs ?? 0, deadlines.stallFillerMs, FILLER_REPEAT_MS);
  const { responseDelayMs, maxSilenceMs, minSilenceMs } = endpointing;
  const turnMs = Math.max(responseDelayMs, maxSilenceMs, minSilenceMs, speculation.earlySilenceMs);
  const waitMs = turnMs + endpointing.numberInputDelayMs + endpointing.finalTranscriptMs + KEYS_PAUSE_MS;
  return fillerMs + waitMs + deadlines.speechStartMs + RETRIES_MS;
}

function isSign({ event: { type } }: Step): boolean {
  return (
    type === 'speech.started' ||
    type === 'speech.stopped' ||
    type === 'transcript' ||
    type === 'text' ||
    type === 'digits' ||
    type.startsWith('command.') ||
    type === 'transfer.result'
  );
}

/** Time per character that the core allows for the last words (slow speech), see `ending`. */
const MS_PER_CHAR = 120;
/** Tolerance for the end. */
const SLACK_MS = 1000;
/** More steps at one moment than any input can cause. */
const LIVELOCK_STEPS = 500;

/** Every conversation ends once, in time, with one status, and without effects after the end. */
export class EndsOnce implements Rule {
  readonly #config: ConversationConfig;
  #closedMs: number | null = null;
  #closes = 0;
  #endingSince: { atMs: number; chars: number } | null = null;
  #atMs = 0;
  #steps = 0;

  constructor(config: ConversationConfig) {
    this.#config = config;
  }

  onStep({ atMs, effects, state }: Step): void {
    check(this.#closedMs === null || effects.length === 0, 'nothing comes after the end');
    this.#steps = atMs === this.#atMs ? this.#steps + 1 : 0;
    this.#atMs = atMs;
    check(this.#steps < LIVELOCK_STEPS, 'time advances');
    for (const effect of effects) {
      check(this.#closes === 0, 'nothing comes after the line is closed');
      if (effect.type === 'line.close') {
        this.#closes++;
        check(state.ending?.status === effect.status, 'the line is closed with the status of the conversation');
      }
    }
    if (state.line === 'closed') this.#closedMs ??= atMs;
    this.#expectInTime(atMs, state);
  }

  onPlayed(): void {
    check(this.#closedMs === null, 'nothing is played after the end');
  }

  onEnd(state: Readonly<ConversationState>): void {
    check(state.line === 'closed' && this.#closedMs !== null, 'every conversation ends');
    check(state.ending !== null, 'an end has a status');
    check(state.speech.queue.length === 0 && !state.speech.held, 'nothing is left to say at the end');
  }

  #expectInTime(atMs: number, { line, ending, speech }: Readonly<ConversationState>): void {
    const { limits, deadlines } = this.#config;
    if (ending === null || line === 'closed') {
      this.#endingSince = null;
      check(line === 'closed' || atMs <= limits.maxDurationMs + SLACK_MS, 'a session ends when its time is over');
      return;
    }
    const chars = speech.queue.reduce((sum, { text }) => sum + text.length, 0);
    this.#endingSince ??= { atMs, chars };
    const longestMs = deadlines.closingMs + (this.#endingSince.chars + chars) * MS_PER_CHAR + SLACK_MS;
    check(ending.reversible || atMs <= this.#endingSince.atMs + longestMs, 'hanging up is not delayed forever');
  }
}
