import type { PageDescription, TalkTurnTimes } from '../../transports/talk-protocol.js';
import { Call, type CallEvents, type CallStats } from './call.js';
import { Daemon } from './daemon.js';
import { endingWords } from './endings.js';
import { Forms } from './forms.js';
import { Microphone, MicrophoneError } from './microphone.js';
import type { Phase } from './phase.js';
import type { Transcript } from './transcript.js';
import type { TimesSummary } from './turn-times.js';

export type TalkAgent = PageDescription['agents'][number];

/** How the daemon does: asked for, not warm yet, able to take calls, or not to be reached. */
export type ServerState = 'looking' | 'warming' | 'ready' | 'lost';

export const SERVER_WORDS: Readonly<Record<ServerState, string>> = {
  looking: 'Looking for the server …',
  warming: 'The engines are warming up …',
  ready: 'Ready',
  lost: 'Not connected',
};

export interface TalkOptions {
  transcript: Transcript;
  summary: TimesSummary;
  /** Where the agent's forms appear. */
  forms: HTMLElement;
  /** Whom to talk with, as it is chosen now; null = nobody. */
  agent: () => TalkAgent | null;
}

export interface TalkEvents {
  onServer(state: ServerState): void;
  /** Who can be talked to. */
  onAgents(agents: readonly TalkAgent[]): void;
  onPhase(phase: Phase): void;
  /** A call is on the line. */
  onCall(call: Call): void;
  onInterrupted(): void;
  onTimes(times: TalkTurnTimes): void;
  /** A form was sent: what comes next may be typed. */
  onFormSent(): void;
  /** Something is wrong; the action may help. */
  onProblem(message: string, action: { label: string; run: () => void }): void;
  /** A call begins: what was wrong before is over. */
  onNoProblem(): void;
  /** It is over; null = it never came about. */
  onOver(call: Call | null): void;
}

const READY_POLL_MS = 1000;

/** Talking with the agents of the daemon that served the page: at most one call at a time, by voice or in writing. */
export class Talk {
  readonly #daemon = new Daemon();
  readonly #options: TalkOptions;
  readonly #events: TalkEvents;
  readonly #forms: Forms;
  #description: PageDescription | null = null;
  #call: Call | null = null;
  #phase: Phase = 'idle';
  /** Counts attempts, so that one that was given up cannot come true later. */
  #attempt = 0;
  #untold: string[] = [];
  #closed = false;

  constructor(options: TalkOptions, events: TalkEvents) {
    this.#options = options;
    this.#events = events;
    this.#forms = new Forms(options.forms, (id, value) => {
      this.#call?.answerForm(id, value);
      events.onFormSent();
    });
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Null where there is no call. */
  get stats(): CallStats | null {
    return this.#call?.stats ?? null;
  }

  set muted(muted: boolean) {
    if (this.#call !== null) this.#call.muted = muted;
  }

  /** Learns who can be talked to, and waits until the engines are warm. Never rejects. */
  async meet(): Promise<void> {
    this.#tell('looking');
    try {
      let description = await this.#daemon.describe();
      if (this.#closed) return;
      this.#events.onAgents(description.agents);
      while (!description.ready) {
        this.#tell('warming');
        await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
        if (this.#closed) return;
        description = await this.#daemon.describe();
      }
      this.#description = description;
      this.#tell('ready');
    } catch (error) {
      this.#lost(messageOf(error));
    }
  }

  /** Calls, or hangs up. To be called from a click or a key: browsers play nothing before. */
  toggle(): void {
    if (this.#phase === 'idle') void this.#begin('voice');
    else this.hangUp();
  }

  /** A typed message; without a call it begins one. */
  type(text: string): void {
    if (this.#call !== null && this.#phase !== 'connecting') {
      this.#options.transcript.typed(text);
      this.#call.type(text);
      return;
    }
    this.#untold.push(text);
    if (this.#phase === 'idle') void this.#begin('typing');
  }

  press(digit: string): void {
    if (this.#call === null) return;
    this.#call.press(digit);
    this.#options.transcript.keyed(digit);
  }

  hangUp(): void {
    this.#attempt++;
    const call = this.#call;
    call?.hangUp();
    this.#over(call === null ? null : 'You hung up');
  }

  /** Hangs up and tells nothing more. May be called twice. */
  close(): void {
    this.#closed = true;
    this.#attempt++;
    this.#call?.hangUp();
    this.#call = null;
  }

  async #begin(how: 'voice' | 'typing'): Promise<void> {
    const agent = this.#options.agent();
    if (this.#description === null || agent === null) return;
    const attempt = ++this.#attempt;
    this.#events.onNoProblem();
    this.#onPhase('connecting');
    let stream: MediaStream | null = null;
    try {
      stream = how === 'voice' ? await Microphone.ask() : null;
      // The page's own public key: a private one mints no tokens.
      const token = await this.#daemon.sessionToken(this.#description.public_key);
      if (attempt !== this.#attempt) throw new Error('given up');
      const call = await Call.begin({ token, agentId: agent.id, stream }, this.#callEvents());
      if (attempt !== this.#attempt) {
        call.hangUp();
        return;
      }
      this.#call = call;
      this.#options.transcript.begin(agent.name);
      this.#events.onCall(call);
    } catch (error) {
      for (const track of stream?.getTracks() ?? []) track.stop();
      if (attempt === this.#attempt) this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#onPhase('idle');
    if (error instanceof MicrophoneError) {
      const typing = { label: 'Type instead', run: () => void this.#begin('typing') };
      this.#events.onProblem(`${error.message} You can type instead.`, typing);
      return;
    }
    this.#untold = [];
    this.#events.onProblem(messageOf(error), { label: 'Try again', run: () => void this.meet() });
  }

  #callEvents(): CallEvents {
    const { transcript, summary } = this.#options;
    return {
      onPhase: (phase) => {
        this.#onPhase(phase);
        if (phase === 'listening') for (const text of this.#untold.splice(0)) this.type(text);
      },
      onTranscript: (text, isFinal) => transcript.user(text, isFinal),
      onResponse: (text, isFinal) => transcript.agent(text, isFinal),
      onInterrupted: () => {
        this.#events.onInterrupted();
        transcript.interrupted();
      },
      onFalseAlarm: () => transcript.falseAlarm(),
      onTimes: (times) => {
        transcript.times(times);
        summary.add(times);
        this.#events.onTimes(times);
      },
      onAction: (action) => {
        if (!this.#forms.take(action)) transcript.note(`${action.name} …`);
      },
      onProblem: (message) => this.#events.onProblem(message, { label: 'Dismiss', run: () => undefined }),
      onEnded: (status, error) => {
        this.#over(endingWords(status));
        if (error !== null) this.#lost(error);
      },
    };
  }

  #over(note: string | null): void {
    const { transcript } = this.#options;
    const call = this.#call;
    this.#call = null;
    this.#untold = [];
    this.#onPhase('idle');
    this.#forms.clear();
    transcript.end();
    if (note !== null) transcript.note(note);
    this.#events.onOver(call);
  }

  #lost(message: string): void {
    this.#tell('lost');
    if (!this.#closed) this.#events.onProblem(message, { label: 'Try again', run: () => void this.meet() });
  }

  #tell(state: ServerState): void {
    if (!this.#closed) this.#events.onServer(state);
  }

  #onPhase(phase: Phase): void {
    this.#phase = phase;
    if (!this.#closed) this.#events.onPhase(phase);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
