import { reasonOf } from '../../base/errors.js';
import type { TranscriptMessage, Transport, TransportMessage } from '../../transports/transport.js';
import type { ConversationEvent, UtteranceKind } from '../../conversation/events.js';
import type { SessionContext } from '../session-context.js';
import type { Participant, SessionEvent, SessionOptions } from '../session-options.js';
import type { TurnMetrics } from '../record/session-metrics.js';

/** Reports what goes on to the user's client (over the line), to the session's observer and to its participant. */
export class Notifier {
  readonly #fault: SessionContext['fault'];
  readonly #transport: Transport;
  readonly #listener: SessionOptions['observe'];
  #participant: Participant | null;
  readonly #texts = new Map<number, string>();
  /** Text of the answer that is being spoken, as far as it has begun, and the latest utterance of it. */
  #answer = '';
  #latest: number | null = null;
  /** Counts the answers; one that has been announced is being prepared or spoken. */
  #answers = 0;
  #isAnnounced = false;
  #isPaused = false;
  /** The user's latest words, until they are final. */
  #open: TranscriptMessage | null = null;
  /** Up to this segment the user's words have been answered: what comes of them now is too late. */
  #answeredSegment = -1;
  #lastSegment = -1;
  readonly #speaking = { user: false, agent: false };
  #isOver = false;

  constructor(
    { fault }: Pick<SessionContext, 'fault'>,
    { transport, observe, participant }: Pick<SessionOptions, 'transport' | 'observe' | 'participant'>,
  ) {
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
  }

  /** The session has begun. */
  started(): void {
    this.#inform((participant) => participant.start());
  }

  /** Reports an event, before the conversation takes it. */
  happened(event: ConversationEvent): void {
    if (event.type === 'speech.started') this.speaks('user', true);
    else if (event.type === 'speech.stopped') this.speaks('user', false);
    else if (event.type === 'transcript' && event.understood) {
      this.#inform((participant) => participant.heard(event.text, event.isFinal));
    } else if (event.type === 'utterance.finished' || event.type === 'utterance.failed') {
      this.#inform((participant) => participant.spoke(event.utteranceId));
    } else if (event.type === 'llm.done') this.#inform((participant) => participant.answered());
  }

  /** Everything that was not played is dropped. */
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

  /** Somebody begins or ceases to speak. Does nothing where that is known. */
  speaks(who: 'user' | 'agent', isSpeaking: boolean): void {
    if (this.#speaking[who] === isSpeaking) return;
    this.#speaking[who] = isSpeaking;
    this.observe({ type: 'speaking', who, isSpeaking });
  }

  /** What the user says, as far as it is known. A late final of words that were answered already is left out. */
  transcribed(transcript: TranscriptMessage): void {
    const { isFinal, segment } = transcript;
    if (segment <= this.#answeredSegment) return;
    this.#lastSegment = Math.max(this.#lastSegment, segment);
    this.#open = isFinal ? null : transcript;
    this.tell({ type: 'transcript', ...transcript });
    this.observe({ type: 'transcript', ...transcript });
  }

  /** The user's turn is over and will be answered: its words are final, and an answer is being prepared. */
  turnEnded(): void {
    this.answerEnded();
    if (this.#open !== null) this.transcribed({ ...this.#open, isFinal: true });
    this.#answeredSegment = this.#lastSegment;
    this.#announce();
  }

  /** Stops the client's playback. Does nothing where it has stopped. */
  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.tell({ type: 'pause' });
  }

  /** Lets the client go on. Does nothing where it has not been stopped. */
  unpause(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.tell({ type: 'unpause' });
  }

  /** Has the client drop what it has not played. Clients that were stopped play nothing before an `unpause`. */
  clear(): void {
    this.tell({ type: 'clear' });
    this.unpause();
  }

  /** The first audio of an answer goes to the line. */
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

  /** More of what the model itself says with an utterance; it may have begun. */
  expectMore(utteranceId: number, text: string): void {
    this.#texts.set(utteranceId, this.textOf(utteranceId) + text);
    if (this.#latest !== utteranceId) return;
    this.#answer += text;
    this.#respond(this.#answer, false);
  }

  textOf(utteranceId: number): string {
    return this.#texts.get(utteranceId) ?? '';
  }

  /** An utterance begins to be heard. */
  utteranceStarted(utteranceId: number): void {
    const text = this.textOf(utteranceId);
    this.#answer = this.#answer === '' ? text : `${this.#answer} ${text}`;
    this.#latest = utteranceId;
    if (text !== '') this.#respond(this.#answer, false);
  }

  /**
   * The answer is over.
   * @param unheard the end of its text that was never played
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
