import { reasonOf } from '../../base/errors.js';
import type { TranscriptMessage, Transport, TransportMessage } from '../../transports/transport.js';
import type { ConversationEvent, UtteranceKind } from '../../conversation/events.js';
import type { SessionContext } from '../session-context.js';
import type { Participant, SessionEvent, SessionOptions } from '../session-options.js';
import type { TurnMetrics } from '../record/session-metrics.js';

/** Reports events to the user's client (over the line), to the session's observer and to its participant. */
export class Notifier {
  readonly #fault: SessionContext['fault'];
  readonly #transport: Transport;
  readonly #listener: SessionOptions['observe'];
  readonly #heed: (event: SessionEvent) => void;
  #participant: Participant | null;
  readonly #texts = new Map<number, string>();
  /** Text of the current answer as far as it has begun, and its latest utterance. */
  #answer = '';
  #latest: number | null = null;
  /** Counts answers; an announced one is being prepared or spoken. */
  #answers = 0;
  #isAnnounced = false;
  #isPaused = false;
  /** The user's latest words, until they are final. */
  #open: TranscriptMessage | null = null;
  /** Words up to this segment were answered: later transcripts of them are ignored. */
  #answeredSegment = -1;
  #lastSegment = -1;
  readonly #speaking = { user: false, agent: false };
  #isOver = false;

  constructor(
    { fault }: Pick<SessionContext, 'fault'>,
    { transport, observe, participant }: Pick<SessionOptions, 'transport' | 'observe' | 'participant'>,
    heed: (event: SessionEvent) => void,
  ) {
    this.#heed = heed;
    this.#fault = fault;
    this.#transport = transport;
    this.#listener = observe;
    this.#participant = participant ?? null;
  }

  tell(message: TransportMessage): void {
    try {
      this.#transport.send(message);
    } catch (error) {
      this.#fault('transport.send', reasonOf(error));
    }
  }

  /** No event follows `ended`. */
  observe(event: SessionEvent): void {
    if (this.#isOver) return;
    this.#isOver = event.type === 'ended';
    try {
      this.#listener?.(event);
    } catch (error) {
      this.#fault('observer.failed', reasonOf(error));
    }
    this.#heed(event);
  }

  started(): void {
    this.#inform((participant) => participant.start());
  }

  /**
   * Reports an event before the conversation handles it.
   * @param levelDbfs of the user's latest speech
   */
  happened(event: ConversationEvent, levelDbfs: number): void {
    if (event.type === 'speech.started') this.speaks('user', true);
    else if (event.type === 'speech.stopped') this.speaks('user', false, levelDbfs);
    else if (event.type === 'transfer.result') this.observe({ type: 'transferring', on: false });
    else if (event.type === 'transcript' && event.understood) {
      this.#inform((participant) => participant.heard(event.text, event.isFinal));
    } else if (event.type === 'utterance.finished' || event.type === 'utterance.failed') {
      this.#inform((participant) => participant.spoke(event.utteranceId));
    } else if (event.type === 'llm.done') this.#inform((participant) => participant.answered());
  }

  /** Everything unplayed was dropped. */
  dropped(): void {
    this.#inform((participant) => participant.dropped());
  }

  #inform(tell: (participant: Participant) => void): void {
    if (this.#participant === null) return;
    try {
      tell(this.#participant);
    } catch (error) {
      this.#participant = null;
      this.#fault('watch.failed', reasonOf(error));
    }
  }

  /** A side starts or stops speaking. No effect if unchanged. */
  speaks(who: 'user' | 'agent', isSpeaking: boolean, levelDbfs?: number): void {
    if (this.#speaking[who] === isSpeaking) return;
    this.#speaking[who] = isSpeaking;
    const event = { type: 'speaking', who, isSpeaking } as const;
    this.observe(levelDbfs === undefined ? event : { ...event, levelDbfs });
  }

  /** The user's words so far. A late final transcript of answered words is left out. */
  transcribed(transcript: TranscriptMessage): void {
    const { isFinal, segment } = transcript;
    if (segment <= this.#answeredSegment) return;
    this.#lastSegment = Math.max(this.#lastSegment, segment);
    this.#open = isFinal ? null : transcript;
    this.tell({ type: 'transcript', ...transcript });
    this.observe({ type: 'transcript', ...transcript });
  }

  /** The user's turn is over and gets an answer: its words are final. */
  turnEnded(): void {
    this.answerEnded();
    if (this.#open !== null) this.transcribed({ ...this.#open, isFinal: true });
    this.#answeredSegment = this.#lastSegment;
    this.#announce();
  }

  /** Pauses the client's playback. No effect if it is paused. */
  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.tell({ type: 'pause' });
  }

  /** Resumes the client's playback. No effect if it is not paused. */
  unpause(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.tell({ type: 'unpause' });
  }

  /** Makes the client drop unplayed audio. Paused clients play nothing before an `unpause`. */
  clear(): void {
    this.tell({ type: 'clear' });
    this.unpause();
  }

  /** The first audio of an answer is sent to the line. */
  answered(metrics: TurnMetrics): void {
    const { turn, responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs } = metrics;
    this.tell({ type: 'metrics', turn: { turn, responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs } });
    this.observe({ type: 'answered', metrics });
  }

  /** An utterance will be spoken. */
  expect(utteranceId: number, text: string, kind: UtteranceKind): void {
    if (kind === 'reply') this.#inform((participant) => participant.speaks(utteranceId));
    if (!this.#isAnnounced) this.#announce();
    this.#texts.set(utteranceId, text);
  }

  /** More words of the model's own speech in an utterance, which may have begun. */
  expectMore(utteranceId: number, text: string): void {
    this.#texts.set(utteranceId, this.textOf(utteranceId) + text);
    if (this.#latest !== utteranceId) return;
    this.#answer += text;
    this.#respond(this.#answer, false);
  }

  textOf(utteranceId: number): string {
    return this.#texts.get(utteranceId) ?? '';
  }

  /** An utterance starts to play. */
  utteranceStarted(utteranceId: number): void {
    const text = this.textOf(utteranceId);
    this.#answer = this.#answer === '' ? text : `${this.#answer} ${text}`;
    this.#latest = utteranceId;
    if (text !== '') this.#respond(this.#answer, false);
  }

  /**
   * The answer is over.
   * @param unheard the end of its text that was not played
   */
  answerEnded(unheard = ''): void {
    const text = this.#answer.slice(0, this.#answer.length - unheard.length).trim();
    this.#answer = '';
    this.#latest = null;
    this.#isAnnounced = false;
    if (text === '') return;
    this.#respond(text, true);
    this.observe({ type: 'agent', text });
  }

  #announce(): void {
    this.#answers++;
    this.#isAnnounced = true;
    this.tell({ type: 'answering' });
  }

  #respond(text: string, isFinal: boolean): void {
    this.tell({ type: 'response', text, isFinal, answer: this.#answers });
  }
}
