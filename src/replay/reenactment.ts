import type { ConversationConfig } from '../agent/flow/conversation-config.js';
import { Conversation } from '../conversation/conversation.js';
import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';
import { Agenda } from '../stage/stage.js';
import { Timeline } from '../stage/timeline.js';
import { StageVoice } from '../stage/voice.js';
import { questionOf, type SessionRecording, requestOf } from './session-recording.js';

/** A conversation may run this long beyond the end of the recording. */
const AFTER_END_MS = 30_000;
/** Latency of utterances that the recording does not contain whole. */
const USUAL_LATENCY_MS = 150;

/**
 * Plays a recording to a conversation with other settings. The user and the line act at the same times as in the
 * recording; the model, the tools and the voice give the same answers with the same latencies.
 */
export function reenact(recording: SessionRecording, config: ConversationConfig): Timeline {
  return new Reenactment(recording, config).play();
}

class Reenactment {
  readonly #recording: SessionRecording;
  readonly #conversation: Conversation;
  readonly #timeline = new Timeline();
  readonly #agenda = new Agenda();
  readonly #voice: StageVoice;
  readonly #used = new Set<object>();
  readonly #live = new Set<number>();
  #nowMs = 0;

  constructor(recording: SessionRecording, config: ConversationConfig) {
    this.#recording = recording;
    this.#conversation = new Conversation(config);
    const { spoken, msPerChar } = recording;
    this.#voice = new StageVoice(
      { msPerChar, latencyMs: USUAL_LATENCY_MS, timing: (text) => spoken.get(text) ?? null },
      (event) => {
        this.#dispatch(event);
      },
      this.#timeline,
    );
    for (const { atMs, event } of recording.happened) this.#later(atMs, event);
  }

  play(): Timeline {
    const untilMs = this.#recording.endMs + AFTER_END_MS;
    while (this.#timeline.end === null && this.#advance(untilMs));
    return this.#timeline;
  }

  #advance(untilMs: number): boolean {
    const agendaMs = this.#agenda.nextMs ?? Infinity;
    const tickMs = this.#voice.nextTickMs ?? Infinity;
    const deadlineMs = this.#conversation.nextDeadlineMs ?? Infinity;
    const nextMs = Math.min(agendaMs, tickMs, deadlineMs);
    if (nextMs > untilMs) return false;
    this.#nowMs = Math.max(this.#nowMs, nextMs);
    if (agendaMs === nextMs) this.#agenda.runNext();
    else if (tickMs === nextMs)
      this.#nowMs = this.#voice.play(this.#nowMs, Math.min(agendaMs - 1, deadlineMs, untilMs));
    else this.#dispatch({ type: 'time' });
    return true;
  }

  #later(atMs: number, event: ConversationEvent): void {
    this.#agenda.add(atMs, () => {
      if (!('requestId' in event) || this.#live.has(event.requestId)) this.#dispatch(event);
    });
  }

  #dispatch(event: ConversationEvent): void {
    if (this.#timeline.end !== null) return;
    const position = this.#voice.position();
    this.#timeline.onEvent(this.#nowMs, event, position);
    for (const effect of this.#conversation.step(event, this.#nowMs, position)) {
      this.#timeline.onEffect(this.#nowMs, effect);
      this.#carryOut(effect);
    }
    const { line, ending } = this.#conversation.state;
    if (line === 'closed') this.#timeline.end = { atMs: this.#nowMs, status: ending?.status ?? 'error' };
  }

  #carryOut(effect: ConversationEffect): void {
    if (effect.type === 'llm.start') this.#answer(effect);
    else if (effect.type === 'llm.cancel') this.#live.delete(effect.requestId);
    else if (effect.type === 'speak') this.#voice.speak(effect.utteranceId, effect.text, this.#nowMs);
    else if (effect.type === 'speak.more') this.#voice.more(effect.utteranceId, effect.text);
    else if (effect.type === 'speak.prepare') this.#voice.prepare(effect.utteranceId, effect.text, this.#nowMs);
    else if (effect.type === 'speak.cancel') this.#voice.cancel(effect.utteranceId);
    else if (effect.type === 'playout.hold') this.#voice.hold();
    else if (effect.type === 'playout.resume') this.#voice.resume(this.#nowMs);
    else if (effect.type === 'playout.drop') this.#voice.drop();
    else this.#act(effect);
  }

  /** Answers with the recorded reply to the same message; without one, with the next unused reply. */
  #answer(effect: Extract<ConversationEffect, { type: 'llm.start' }>): void {
    const { requestId } = effect;
    const asked = questionOf(effect);
    const { replies } = this.#recording;
    const free = replies.filter((reply) => !this.#used.has(reply));
    const reply = free.find((candidate) => candidate.asked === asked) ?? free[0];
    this.#live.add(requestId);
    if (reply === undefined) {
      this.#later(this.#nowMs, { type: 'llm.failed', requestId, reason: 'the recording has no further reply' });
      return;
    }
    this.#used.add(reply);
    for (const { afterMs, event } of reply.pieces) this.#later(this.#nowMs + afterMs, { ...event, requestId });
  }

  /** Tools and the line give the recorded outcome of the same request. */
  #act(effect: ConversationEffect): void {
    const request = requestOf(effect);
    if (request === null) return;
    const { callId } = request;
    const outcome = this.#recording.outcomes.find(
      (candidate) => candidate.asked === request.asked && !this.#used.has(candidate),
    );
    if (outcome !== undefined) {
      this.#used.add(outcome);
      this.#later(this.#nowMs + outcome.afterMs, { ...outcome.event, callId } as ConversationEvent);
      return;
    }
    const reason = 'the recording has no outcome for this request';
    if (effect.type === 'line.transfer')
      this.#later(this.#nowMs, { type: 'transfer.result', callId, ok: false, reason });
    else this.#later(this.#nowMs, { type: 'tool.result', callId, ok: false, content: reason });
  }
}
