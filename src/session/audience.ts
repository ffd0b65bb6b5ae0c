import { reasonOf } from '../errors.js';
import type { Transport, TransportMessage } from '../transports/transport.js';
import type { Journal } from './journal.js';
import type { SessionEvent } from './session-options.js';
import type { TurnMetrics } from './turn-metrics.js';

/** Who is told what goes on: the user's client over the line, and whoever embeds the session. */
export class Audience {
  readonly #transport: Transport;
  readonly #listener: ((event: SessionEvent) => void) | undefined;
  readonly #journal: Journal;
  readonly #texts = new Map<number, string>();
  /** Text of the answer that is being spoken, as far as it has begun, and the latest utterance of it. */
  #answer = '';
  #latest: number | null = null;

  constructor(transport: Transport, listener: ((event: SessionEvent) => void) | undefined, journal: Journal) {
    this.#transport = transport;
    this.#listener = listener;
    this.#journal = journal;
  }

  tell(message: TransportMessage): void {
    try {
      this.#transport.send(message);
    } catch (error) {
      this.#journal.fault('transport.send', reasonOf(error));
    }
  }

  observe(event: SessionEvent): void {
    try {
      this.#listener?.(event);
    } catch (error) {
      this.#journal.fault('observer.failed', reasonOf(error));
    }
  }

  transcribed(text: string, isFinal: boolean): void {
    this.tell({ type: 'transcript', text, isFinal });
    this.observe({ type: 'transcript', text, isFinal });
  }

  /** The first audio of an answer goes to the line. */
  answered(metrics: TurnMetrics): void {
    const { turn, responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs } = metrics;
    this.tell({ type: 'metrics', turn: { turn, responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs } });
    this.observe({ type: 'answered', metrics });
  }

  /** An utterance will be spoken. */
  expect(utteranceId: number, text: string): void {
    this.#texts.set(utteranceId, text);
  }

  /** More of what the model itself says with an utterance; it may have begun. */
  expectMore(utteranceId: number, text: string): void {
    this.#texts.set(utteranceId, this.textOf(utteranceId) + text);
    if (this.#latest !== utteranceId) return;
    this.#answer += text;
    this.tell({ type: 'response', text: this.#answer, isFinal: false });
  }

  textOf(utteranceId: number): string {
    return this.#texts.get(utteranceId) ?? '';
  }

  /** An utterance begins to be heard. */
  utteranceStarted(utteranceId: number): void {
    const text = this.textOf(utteranceId);
    if (this.#answer === '') this.tell({ type: 'answering' });
    this.#answer = this.#answer === '' ? text : `${this.#answer} ${text}`;
    this.#latest = utteranceId;
    if (text !== '') this.tell({ type: 'response', text: this.#answer, isFinal: false });
  }

  /**
   * The answer is over.
   * @param unheard the end of its text that was never played
   */
  answerEnded(unheard = ''): void {
    const text = this.#answer.slice(0, this.#answer.length - unheard.length).trim();
    this.#answer = '';
    this.#latest = null;
    if (text === '') return;
    this.tell({ type: 'response', text, isFinal: true });
    this.observe({ type: 'agent', text });
  }
}
