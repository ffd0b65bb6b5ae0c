import { type Call, CallError, retry, type TurnTimes } from '@parley-voice/web';
import type { PageDescription } from '../../transports/talk-protocol.js';
import { home } from '../shared/home.js';
import { type NoticeAction, TalkCallControl, type How, type PageLine } from './call-control.js';
import { PageDaemon } from './daemon.js';
import type { DeviceKind } from './devices.js';
import type { Phase } from './phase.js';
import type { TranscriptView } from './transcript-view.js';
import type { TimesSummary } from './turn-times.js';

export type TalkAgent = PageDescription['agents'][number];

/** The daemon's state: being contacted, warming up, ready for calls, or unreachable. */
export type DaemonState = 'looking' | 'warming' | 'ready' | 'lost';

export const SERVER_WORDS: Readonly<Record<DaemonState, string>> = {
  looking: 'Looking for the server …',
  warming: 'The engines are warming up …',
  ready: 'Ready',
  lost: 'Not connected',
};

export interface TalkPageOptions {
  transcript: TranscriptView;
  summary: TimesSummary;
  /** Container of the agent's forms. */
  forms: HTMLElement;
  /** The selected agent; null = none. */
  agent: () => TalkAgent | null;
  /** A session token for an agent; null = one of the page's public key. Default null. */
  token?: (agentId: string) => Promise<string> | null;
}

export interface TalkEvents {
  onServer(state: DaemonState): void;
  /** The available agents. */
  onAgents(agents: readonly TalkAgent[]): void;
  onPhase(phase: Phase): void;
  /** A call is connected. */
  onCall(call: Call): void;
  onInterrupted(): void;
  onTimes(times: TurnTimes): void;
  /** A form was sent: the user may type again. */
  onFormSent(): void;
  /** A problem; the action may solve it. */
  onProblem(message: string, action: NoticeAction): void;
  /** The previous problem is solved. */
  onNoProblem(): void;
  /** The call is over. */
  onOver(call: Call): void;
}

const READY_POLL_MS = 1000;
/** How long an unreachable daemon is retried. */
const LOOK_MS = 3_600_000;

/** Talks to the agents of the daemon that served the page: at most one call, by voice or text. */
export class Talk {
  readonly #daemon = new PageDaemon();
  readonly #options: TalkPageOptions;
  readonly #events: TalkEvents;
  readonly #control: TalkCallControl;
  #description: PageDescription | null = null;
  /** The daemon is unreachable, and retried. */
  #looking: AbortController | null = null;
  #closed = false;

  constructor(options: TalkPageOptions, events: TalkEvents) {
    this.#options = options;
    this.#events = events;
    const { transcript, summary, forms } = options;
    this.#control = new TalkCallControl(
      { transcript, forms },
      {
        onPhase: (phase) => {
          if (!this.#closed) events.onPhase(phase);
        },
        onCall: (call) => {
          this.#tell('ready');
          events.onCall(call);
        },
        onInterrupted: () => events.onInterrupted(),
        onTimes: (times) => {
          summary.add(times);
          events.onTimes(times);
        },
        onForm: () => undefined,
        onFormSent: () => events.onFormSent(),
        onProblem: (message, action) => events.onProblem(message, action),
        onNoProblem: () => events.onNoProblem(),
        onLost: () => this.#tell('lost'),
        onFailed: (error, again) => this.#failed(error, again),
        onBroken: (message) => this.#lost(message),
        onOver: (call) => {
          if (!this.#closed) events.onOver(call);
        },
      },
    );
  }

  get phase(): Phase {
    return this.#control.phase;
  }

  /** The connected call. */
  get call(): Call | null {
    return this.#control.call;
  }

  set muted(muted: boolean) {
    this.#control.muted = muted;
  }

  /** The visitor has selected another device. */
  changeDevice(kind: DeviceKind): void {
    void (kind === 'audioinput' ? this.#control.changeMicrophone() : this.#control.changeLoudspeaker());
  }

  /** Loads the agents, and waits until the daemon is warm. Never rejects. */
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

  /** Starts or ends a call. Call it from a click or a key, because browsers play nothing before. */
  toggle(): void {
    if (this.phase === 'idle') this.#begin('voice');
    else this.hangUp();
  }

  /** A typed message; starts a call if there is none. */
  type(text: string): void {
    this.#control.type(text);
    if (this.phase === 'idle') this.#begin('typing');
  }

  press(digit: string): void {
    this.#control.press(digit);
  }

  hangUp(): void {
    this.#control.hangUp('You hung up');
  }

  /** Ends the call silently. May be called twice. */
  close(): void {
    this.#closed = true;
    this.#control.hangUp(null);
    this.#looking?.abort();
  }

  #begin(how: How): void {
    const agent = this.#options.agent();
    if (this.#description !== null && agent !== null) void this.#control.begin(this.#lineTo(agent), how);
  }

  #lineTo(agent: TalkAgent): PageLine {
    return {
      name: () => agent.name,
      options: async () => ({
        baseUrl: home(),
        worklets: `${home()}/assets`,
        agentId: agent.id,
        token: async () => {
          // The daemon may have been replaced since the page loaded.
          const description = await this.#daemon.describe();
          if (!description.ready) throw new CallError('busy', 'The engines of the server are not warm yet.');
          return this.#options.token?.(agent.id) ?? this.#daemon.sessionToken(description.public_key);
        },
      }),
    };
  }

  #failed(error: unknown, again: (how?: How) => void): void {
    const code = error instanceof CallError ? error.code : null;
    if (code === 'microphone') {
      const typing = { label: 'Type instead', run: () => again('typing') };
      this.#events.onProblem(`${messageOf(error)} You can type instead.`, typing);
      return;
    }
    if (code === 'loudspeaker') {
      this.#events.onProblem(messageOf(error), { label: 'Try again', run: () => again() });
      return;
    }
    this.#lost(messageOf(error));
  }

  /** Shows a problem with the daemon. An unreachable daemon is retried until it is back. */
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
    if (!isThere) this.#events.onNoProblem(); // otherwise another problem is shown
    void this.meet();
  }

  #tell(state: DaemonState): void {
    if (!this.#closed) this.#events.onServer(state);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
