import type { Cancel } from '../../base/clock.js';
import { Hearing } from '../hearing/hearing.js';
import { Recogniser } from '../hearing/recogniser.js';
import type { SessionContext } from '../session-context.js';
import type { SessionOptions } from '../session-options.js';
import { noHints, type SttTranscript } from '../../providers/stt/stt.js';
import { reasonOf } from '../../base/errors.js';

/** Words that do not become final count as finished this long after the speech. */
const FINAL_MS = 2_000;
/** Speech this long is more than a noise, also before there are words. */
const SPEECH_MS = 600;

interface Ear {
  /** The participant. */
  id: string;
  inputRateHz: number;
}

/** What a participant says: a stream of its own of the agent's recogniser, so that nobody takes it for the user. */
export class ParticipantEars {
  readonly #id: string;
  readonly #context: SessionContext;
  readonly #hearing: Hearing;
  readonly #recogniser: Recogniser;
  readonly #closing = new AbortController();
  #isSpeaking = false;
  #stopWaiting: Cancel | null = null;

  constructor({ id, inputRateHz }: Ear, context: SessionContext, options: SessionOptions) {
    const { vad, vadThreshold = 0.5, stt, hints = noHints(), conversation, sttOptions } = options;
    this.#id = id;
    this.#context = context;
    const own: SessionContext = {
      ...context,
      emit: (event) => {
        if (event.type === 'speech.started') this.#wait(SPEECH_MS, () => this.#speaks(true));
        else if (event.type === 'speech.stopped') this.#wait(FINAL_MS, () => this.#speaks(false));
        else if (event.type === 'ears.failed') context.fault('participant.stt', event.reason, event.cause);
      },
    };
    this.#recogniser = new Recogniser(own, {
      stt,
      language: conversation.language,
      ...sttOptions,
      hints,
      signal: this.#closing.signal,
      onTranscript: (transcript) => this.#onTranscript(transcript),
      onListener: (who) => context.usage({ stage: 'stt', ...who, participant: id }),
    });
    this.#hearing = new Hearing(own, {
      inputRateHz,
      vad: vad.createDetector({ mayWait: true }),
      vadThreshold,
      hearsFax: false,
      stt: this.#recogniser,
    });
    this.#recogniser.open();
  }

  audio(samples: Int16Array): void {
    this.#hearing.audio(samples);
  }

  /** May be called twice. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#stopWaiting?.();
    this.#speaks(false);
    this.#hearing.close();
    this.#closing.abort();
    this.#context.usage({ stage: 'stt', provider: null, model: null, participant: this.#id });
    this.#recogniser.close().catch((error: unknown) => this.#context.fault('stt.close', reasonOf(error)));
  }

  #onTranscript({ text, isFinal, understood }: SttTranscript): void {
    if (this.#closing.signal.aborted) return;
    if (understood && text !== '') this.#speaks(true);
    if (!isFinal) return;
    if (understood && text !== '') this.#context.emit({ type: 'participant.said', participant: this.#id, text });
    this.#recogniser.endTurn();
    this.#stopWaiting?.();
    this.#speaks(false);
  }

  #wait(ms: number, then: () => void): void {
    const { clock } = this.#context;
    this.#stopWaiting?.();
    this.#stopWaiting = clock.schedule(clock.nowMs() + ms, then);
  }

  #speaks(on: boolean): void {
    if (this.#isSpeaking === on) return;
    this.#isSpeaking = on;
    this.#context.emit({ type: 'participant.speaking', participant: this.#id, on });
  }
}
