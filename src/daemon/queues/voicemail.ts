import type { Cancel, Clock } from '../../base/clock.js';
import type { SessionHandle } from '../../engine/remote-line.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { CallAgent } from '../../telephony/calls/call-agent.js';

/** A caller who is silent for this long has finished. */
const SILENCE_MS = 10_000;

/** Records the message of a caller: a session whose agent listens and says nothing. */
export class Voicemail {
  readonly #clock: Clock;
  readonly #mostMs: number;
  #session: SessionHandle | null = null;
  #cancelSilence: Cancel = () => undefined;
  #cancelEnd: Cancel = () => undefined;

  /** @param mostS longest message */
  constructor(clock: Clock, mostS: number) {
    this.#clock = clock;
    this.#mostMs = mostS * 1000;
  }

  /** The agent of a call as it records: its voice, recogniser and webhook, without anything that answers. */
  callAgent(call: CallAgent): CallAgent {
    const { agent, observe } = call;
    const { language, voice, speech_to_text, vad_threshold, custom_vocabulary, timezone } = agent;
    const { privacy_settings, session_data_webhook } = agent;
    return {
      ...call,
      extensions: null,
      continuation: undefined,
      observe: (event) => {
        this.#observe(event);
        observe?.(event);
      },
      agent: {
        language,
        voice,
        speech_to_text,
        vad_threshold,
        custom_vocabulary,
        timezone,
        privacy_settings,
        session_data_webhook,
        llm: { model: 'scripted' },
        flow: { user_start_first: true },
        call_settings: { enable_recording: true },
      },
      script: { rules: [] },
    };
  }

  /** The session runs. */
  listen(session: SessionHandle): void {
    this.#session = session;
    session.control({ type: 'command.mute', side: 'agent', on: true }).catch(() => this.close());
    this.#cancelEnd = this.#after(this.#mostMs);
    this.#wait();
  }

  #observe(event: SessionEvent): void {
    if (event.type !== 'speaking' || event.who !== 'user') return;
    this.#cancelSilence();
    if (!event.isSpeaking) this.#wait();
  }

  /** Ends the message. May be called twice. */
  close(): void {
    this.#cancelSilence();
    this.#cancelEnd();
    void this.#session?.close();
  }

  #wait(): void {
    this.#cancelSilence();
    this.#cancelSilence = this.#after(SILENCE_MS);
  }

  #after(ms: number): Cancel {
    return this.#clock.schedule(this.#clock.nowMs() + ms, () => this.close());
  }
}
