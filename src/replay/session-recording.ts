import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';
import type { EventLog } from './read-log.js';

type ModelEvent = Extract<ConversationEvent, { requestId: number }>;

/** A reply of the model. */
export interface RecordedReply {
  /** The last message of the request. */
  asked: string;
  /** The pieces of the reply, with times since the request. */
  pieces: { afterMs: number; event: ModelEvent }[];
}

/** The inputs of a session: everything that the conversation did not decide itself. */
export interface SessionRecording {
  /** Events of the user, the line and commands. */
  happened: { atMs: number; event: ConversationEvent }[];
  replies: RecordedReply[];
  /** Outcomes of tools, keys and transfers, with the request and the time since it. */
  outcomes: { asked: string; afterMs: number; event: ConversationEvent }[];
  /** Timing of utterances that played to their end, by text. */
  spoken: Map<string, { latencyMs: number; lastsMs: number }>;
  msPerChar: number;
  endMs: number;
}

/** Speaking rate if no utterance played to its end. */
const USUAL_MS_PER_CHAR = 67;

/** Extracts the inputs of a session from its log. */
export function recordingOf({ entries }: EventLog): SessionRecording {
  const happened: SessionRecording['happened'] = [];
  const replies = new Map<number, RecordedReply & { atMs: number }>();
  const asked = new Map<string, { asked: string; atMs: number }>();
  const outcomes: SessionRecording['outcomes'] = [];
  const voice = new VoiceTimes();
  for (const entry of entries) {
    if (entry.kind === 'effect') {
      const { effect, t } = entry;
      voice.onEffect(effect, t);
      if (effect.type === 'llm.start') {
        replies.set(effect.requestId, { atMs: t, asked: questionOf(effect), pieces: [] });
      }
      const request = requestOf(effect);
      if (request !== null) asked.set(request.callId, { asked: request.asked, atMs: t });
    } else if (entry.kind === 'note') {
      if (entry.name === 'voice.first') voice.onFirstAudio(Number(entry.data['utteranceId']), entry.t);
    } else if (entry.kind === 'event') {
      const { event, t } = entry;
      voice.onEvent(event, t);
      if ('requestId' in event) {
        const reply = replies.get(event.requestId);
        reply?.pieces.push({ afterMs: t - reply.atMs, event });
      } else if (event.type === 'tool.result' || event.type === 'transfer.result') {
        const request = asked.get(event.callId);
        if (request !== undefined) outcomes.push({ asked: request.asked, afterMs: t - request.atMs, event });
      } else if (!('utteranceId' in event) && event.type !== 'time') happened.push({ atMs: t, event });
    }
  }
  return {
    happened,
    replies: [...replies.values()].filter(({ pieces }) => pieces.length > 0),
    outcomes,
    spoken: voice.spoken,
    msPerChar: voice.msPerChar ?? USUAL_MS_PER_CHAR,
    endMs: entries.at(-1)?.t ?? 0,
  };
}

/** The last message of a request, without system messages. */
export function questionOf({ messages }: Extract<ConversationEffect, { type: 'llm.start' }>): string {
  return messages.findLast(({ role }) => role !== 'system')?.content ?? '';
}

/** The request of an effect to a tool or the line, as a comparable text; null = the effect is no such request. */
export function requestOf(effect: ConversationEffect): { callId: string; asked: string } | null {
  switch (effect.type) {
    case 'tool.start':
      return { callId: effect.call.id, asked: `${effect.call.name}(${effect.call.arguments})` };
    case 'digits.send':
      return { callId: effect.callId, asked: `press ${effect.digits}` };
    case 'language.switch':
      return { callId: effect.callId, asked: `speak ${effect.language}` };
    case 'line.transfer':
      return { callId: effect.callId, asked: `transfer ${effect.target}` };
    default:
      return null;
  }
}

/** Measures latencies and lengths of utterances. */
class VoiceTimes {
  readonly spoken: SessionRecording['spoken'] = new Map();
  readonly #asked = new Map<number, { text: string; atMs: number; firstMs: number | null }>();
  #playing: { utteranceId: number; atMs: number; heldMs: number } | null = null;
  #heldSinceMs: number | null = null;
  #lastEndMs = 0;
  #chars = 0;
  #ms = 0;

  get msPerChar(): number | null {
    return this.#chars === 0 ? null : this.#ms / this.#chars;
  }

  onEffect(effect: ConversationEffect, t: number): void {
    const isAsked = effect.type === 'speak' || effect.type === 'speak.prepare';
    if (isAsked && !this.#asked.has(effect.utteranceId)) {
      this.#asked.set(effect.utteranceId, { text: effect.text, atMs: t, firstMs: null });
    } else if (effect.type === 'speak.more') {
      const asked = this.#asked.get(effect.utteranceId);
      if (asked !== undefined) asked.text += effect.text;
    } else if (effect.type === 'playout.hold') this.#heldSinceMs = t;
    else if (effect.type === 'playout.resume') {
      if (this.#playing !== null) this.#playing.heldMs += t - (this.#heldSinceMs ?? t);
    } else if (effect.type === 'playout.drop') this.#playing = null;
  }

  /** Notes the first audio of an utterance, which may play later. */
  onFirstAudio(utteranceId: number, t: number): void {
    const asked = this.#asked.get(utteranceId);
    if (asked !== undefined) asked.firstMs ??= t;
  }

  onEvent(event: ConversationEvent, t: number): void {
    if (event.type === 'utterance.started') {
      this.#playing = { utteranceId: event.utteranceId, atMs: t, heldMs: 0 };
    } else if (event.type === 'utterance.finished') {
      this.#finish(event.utteranceId, t);
      this.#lastEndMs = t;
    }
  }

  #finish(utteranceId: number, t: number): void {
    const asked = this.#asked.get(utteranceId);
    const playing = this.#playing;
    if (asked === undefined || playing?.utteranceId !== utteranceId) return;
    const lastsMs = t - playing.atMs - playing.heldMs;
    // A log without this note shows only the start of playback.
    const readyMs = asked.firstMs ?? playing.atMs;
    const latencyMs = Math.max(
      0,
      readyMs - (asked.firstMs === null ? Math.max(asked.atMs, this.#lastEndMs) : asked.atMs),
    );
    if (lastsMs > 0) {
      this.spoken.set(asked.text, { latencyMs, lastsMs });
      this.#chars += asked.text.length;
      this.#ms += lastsMs;
    }
    this.#playing = null;
  }
}
