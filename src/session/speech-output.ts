import type { ConversationEffect } from '../conversation/events.js';
import type { Conversation } from '../conversation/conversation.js';
import type { ProviderOutcome } from '../providers/outcome.js';
import type { Notifier } from './line/notifier.js';
import type { SessionMetrics } from './record/session-metrics.js';
import type { UsedProvider } from './record/usage.js';
import type { SessionContext } from './session-context.js';
import type { SessionOptions } from './session-options.js';
import { Playout } from './speech/playout.js';
import { Voice } from './speech/voice.js';

export interface SpeechOutputParts {
  conversation: Pick<Conversation, 'state'>;
  notifier: Notifier;
  metrics: SessionMetrics;
  onSpoke: (who: UsedProvider, chars: number) => void;
  onOutcome: (outcome: ProviderOutcome) => void;
  /** There is more to play. */
  onPlayable: () => void;
  /** Nothing is sent to the line ahead of time. */
  isLive: () => boolean;
}

type Effects = 'speak.prepare' | 'speak' | 'speak.more' | 'speak.pause' | 'speak.cancel' | `playout.${string}`;
export type SpeechHandlers = {
  readonly [Type in Extract<ConversationEffect['type'], Effects>]: (
    effect: Extract<ConversationEffect, { type: Type }>,
  ) => void;
};

/** The agent's speech: its voice, its audio for the line, and what client, observers and metrics learn of both. */
export class SpeechOutput {
  readonly voice: Voice;
  readonly playout: Playout;
  readonly #context: SessionContext;
  readonly #parts: SpeechOutputParts;

  constructor(
    context: SessionContext,
    { transport, tts, conversation, voice }: Pick<SessionOptions, 'transport' | 'tts' | 'conversation' | 'voice'>,
    parts: SpeechOutputParts,
  ) {
    this.#context = context;
    this.#parts = parts;
    const { onSpoke, onOutcome } = parts;
    this.playout = new Playout(transport, {
      onStarted: (utteranceId) => this.#onStarted(utteranceId),
      onFinished: (utteranceId) => this.#onFinished(utteranceId),
      onSupply: (utteranceId, isDry) => {
        context.emit({ type: isDry ? 'utterance.starved' : 'utterance.fed', utteranceId });
      },
      onPlayable: parts.onPlayable,
    });
    this.voice = new Voice(context, {
      tts,
      language: conversation.language,
      voiceId: voice?.voiceId ?? null,
      model: voice?.model ?? null,
      settings: voice?.settings ?? {},
      pronunciation: voice?.pronunciation ?? null,
      playout: this.playout,
      onSpoke,
      onOutcome,
      onFirstAudio: (utteranceId) => {
        this.#parts.metrics.turns.firstAudio(utteranceId, context.nowMs());
        context.log('voice.first', { utteranceId });
      },
    });
  }

  readonly handlers: SpeechHandlers = {
    'speak.prepare': (effect) => this.voice.prepare(effect),
    speak: ({ utteranceId, text, marked, kind, requestId }) => {
      this.#parts.notifier.expect(utteranceId, text, kind);
      this.voice.speak(utteranceId, text, { marked, requestId });
    },
    'speak.more': ({ utteranceId, text }) => {
      this.#parts.notifier.expectMore(utteranceId, text);
      this.playout.addText(utteranceId, text);
    },
    'speak.pause': ({ utteranceId, pauseMs }) => this.voice.pause(utteranceId, pauseMs),
    'speak.cancel': ({ utteranceId }) => {
      const { utteranceId: playing, heardChars } = this.playout.position();
      this.voice.cancel(utteranceId);
      if (playing === utteranceId) this.#onCutOff(utteranceId, heardChars);
    },
    'playout.hold': () => {
      const { notifier, isLive } = this.#parts;
      this.playout.hold();
      notifier.speaks('agent', false);
      if (!isLive()) notifier.pause();
    },
    'playout.resume': () => {
      const { notifier } = this.#parts;
      notifier.unpause();
      this.playout.resume();
      if (this.playout.position().utteranceId !== null) notifier.speaks('agent', true);
    },
    'playout.drop': () => {
      this.#parts.notifier.dropped();
      this.drop();
    },
  };

  /** Nothing more of what is queued is played. */
  drop(): void {
    const { notifier, metrics } = this.#parts;
    const { utteranceId, heardChars } = this.playout.position();
    const text = utteranceId === null ? '' : notifier.textOf(utteranceId);
    if (utteranceId !== null) metrics.turns.said(utteranceId, text.slice(0, heardChars));
    this.voice.drop();
    notifier.speaks('agent', false);
    notifier.clear();
    notifier.answerEnded(text.slice(heardChars));
  }

  /** The rest of one utterance is not played. */
  #onCutOff(utteranceId: number, heardChars: number): void {
    const { notifier, metrics } = this.#parts;
    const text = notifier.textOf(utteranceId);
    metrics.turns.said(utteranceId, text.slice(0, heardChars));
    if (this.playout.busy) return;
    notifier.speaks('agent', false);
    notifier.answerEnded(text.slice(heardChars));
  }

  #onStarted(utteranceId: number): void {
    const { notifier, metrics } = this.#parts;
    notifier.speaks('agent', true);
    notifier.utteranceStarted(utteranceId);
    metrics.turns.audible(utteranceId, this.#context.nowMs());
    this.#context.emit({ type: 'utterance.started', utteranceId });
  }

  #onFinished(utteranceId: number): void {
    const { notifier, metrics, conversation } = this.#parts;
    metrics.turns.said(utteranceId, notifier.textOf(utteranceId));
    this.#context.emit({ type: 'utterance.finished', utteranceId });
    if (this.playout.busy) return;
    notifier.speaks('agent', false);
    if (conversation.state.reply === null) notifier.answerEnded();
  }
}
