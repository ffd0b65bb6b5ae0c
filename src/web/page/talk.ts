import type { PageDescription, TalkTurnTimes } from '../../transports/talk-protocol.js';
import { LoudspeakerError } from './audio.js';
import { Call, type CallEvents, type CallStats } from './call.js';
import { Daemon } from './daemon.js';
import { endingWords } from './endings.js';
import { Forms } from './forms.js';
import { Microphone, MicrophoneError } from './microphone.js';
import type { Phase } from './phase.js';
import { reconnect, retry } from './reconnect.js';
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
  /** What was wrong before is over. */
  onNoProblem(): void;
  /** It is over; null = it never came about. */
  onOver(call: Call | null): void;
}

const READY_POLL_MS = 1000;
/** A daemon that does not answer is looked for this long. */
const LOOK_MS = 3_600_000;

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
  /** The microphone of the call, which goes on with it if its line breaks. */
  #stream: MediaStream | null = null;
  #muted = false;
  /** The line is lost, and another one is tried. */
  #recovering: AbortController | null = null;
  /** The daemon is lost, and looked for. */
  #looking: AbortController | null = null;
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
    this.#muted = muted;
    if (this.#call !== null) this.#call.muted = muted;
  }

  /** Learns who can be talked to, and waits until the engines are warm. Never rejects. */
  async meet(): Promise<void> {
    this.#looking?.abort();
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
    const wasBegun = this.#call !== null || this.#recovering !== null;
    this.#attempt++;
    this.#call?.hangUp();
    if (this.#recovering !== null) this.#events.onNoProblem();
    this.#over(wasBegun ? 'You hung up' : null);
  }

  /** Hangs up and tells nothing more. May be called twice. */
  close(): void {
    this.#closed = true;
    this.#attempt++;
    this.#call?.hangUp();
    this.#call = null;
    this.#recovering?.abort();
    this.#looking?.abort();
    Microphone.release(this.#stream);
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
      const call = await Call.begin({ token, agentId: agent.id, stream }, this.#callEvents(agent));
      if (attempt !== this.#attempt) {
        call.hangUp();
        throw new Error('given up');
      }
      this.#call = call;
      this.#stream = stream;
      this.#muted = false;
      this.#options.transcript.begin(agent.name);
      this.#events.onCall(call);
    } catch (error) {
      Microphone.release(stream);
      if (attempt === this.#attempt) this.#failed(error);
    }
  }

  /** The line broke in the middle of a call: another one goes on from its session, as soon as one can be had. */
  async #recover(agent: TalkAgent, sessionId: string): Promise<void> {
    const { transcript } = this.#options;
    const attempt = ++this.#attempt;
    const recovering = new AbortController();
    this.#recovering = recovering;
    this.#forms.clear();
    transcript.end();
    const lost = { sessionId, messages: transcript.messages };
    transcript.note('Connection lost');
    this.#onPhase('connecting');
    this.#tell('lost');
    this.#events.onProblem('The connection was lost. Trying to get it back …', {
      label: 'Hang up',
      run: () => this.hangUp(),
    });
    const call = await reconnect(
      lost,
      async (continuation) => {
        const description = await this.#daemon.describe();
        if (!description.ready || recovering.signal.aborted) return null;
        this.#description = description;
        const token = await this.#daemon.sessionToken(description.public_key);
        const options = { token, agentId: agent.id, continuation, stream: this.#stream };
        return Call.reach(options, this.#callEvents(agent));
      },
      recovering.signal,
    );
    if (attempt !== this.#attempt) {
      call?.hangUp();
      return;
    }
    this.#recovering = null;
    if (call === null) {
      this.#over(endingWords(null));
      this.#lost('The connection to the server was lost.');
      return;
    }
    this.#call = call;
    call.muted = this.#muted;
    transcript.begin(agent.name, 'The call goes on');
    this.#tell('ready');
    this.#events.onNoProblem();
    this.#events.onCall(call);
    this.#onReady(call.phase);
  }

  #failed(error: unknown): void {
    this.#onPhase('idle');
    if (error instanceof MicrophoneError) {
      const typing = { label: 'Type instead', run: () => void this.#begin('typing') };
      this.#events.onProblem(`${error.message} You can type instead.`, typing);
      return;
    }
    this.#untold = [];
    if (error instanceof LoudspeakerError) {
      this.#events.onProblem(error.message, { label: 'Try again', run: () => void this.#begin('voice') });
      return;
    }
    this.#lost(messageOf(error));
  }

  #callEvents(agent: TalkAgent): CallEvents {
    const { transcript, summary } = this.#options;
    return {
      onPhase: (phase) => this.#onReady(phase),
      onTranscript: (words) => transcript.user(words),
      onResponse: (text, isFinal, answer) => transcript.agent(text, isFinal, answer),
      onInterrupted: () => {
        this.#events.onInterrupted();
        transcript.interrupted();
      },
      onTimes: (times) => {
        transcript.times(times);
        summary.add(times);
        this.#events.onTimes(times);
      },
      onAction: (action) => {
        if (!this.#forms.take(action)) transcript.note(`${action.name} …`);
      },
      onProblem: (message) => this.#events.onProblem(message, { label: 'Dismiss', run: () => undefined }),
      onEnded: ({ status, limit, error, isLost }) => {
        const sessionId = this.#call?.sessionId ?? null;
        if (isLost && sessionId !== null) {
          this.#call = null;
          void this.#recover(agent, sessionId);
          return;
        }
        this.#over(endingWords(status, limit));
        if (error !== null) this.#lost(error);
      },
    };
  }

  #onReady(phase: Phase): void {
    this.#onPhase(phase);
    if (phase === 'listening') for (const text of this.#untold.splice(0)) this.type(text);
  }

  #over(note: string | null): void {
    const { transcript } = this.#options;
    const call = this.#call;
    this.#call = null;
    this.#untold = [];
    this.#recovering?.abort();
    this.#recovering = null;
    Microphone.release(this.#stream);
    this.#stream = null;
    this.#onPhase('idle');
    this.#forms.clear();
    transcript.end();
    if (note !== null) transcript.note(note);
    this.#events.onOver(call);
  }

  /** Something is wrong with the daemon: the user is told. One that does not answer is looked for until it is back. */
  #lost(message: string): void {
    this.#tell('lost');
    if (this.#closed) return;
    this.#events.onProblem(message, { label: 'Try again', run: () => void this.meet() });
    this.#looking?.abort();
    this.#looking = new AbortController();
    void this.#lookForDaemon(this.#looking.signal);
  }

  async #lookForDaemon(signal: AbortSignal): Promise<void> {
    const look = (): Promise<PageDescription | null> => this.#daemon.describe();
    const isThere = (await look().catch(() => null)) !== null;
    const isBack = isThere || (await retry(look, LOOK_MS, signal)) !== null;
    if (!isBack || signal.aborted || this.#closed) return;
    if (!isThere) this.#events.onNoProblem(); // else it is not what was wrong
    void this.meet();
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
