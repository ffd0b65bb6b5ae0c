import {
  type Call,
  CallError,
  type CallEnd,
  connectSocket,
  type ConnectOptions,
  endingWords,
  type QueuePlace,
  type ResumePoint,
  type TurnTimes,
} from '@parley-voice/web';
import { chosenDevice } from './devices.js';
import { Forms } from './forms.js';
import { type Phase, phaseOf } from './phase.js';
import type { TranscriptView } from './transcript-view.js';

export type How = 'voice' | 'typing';

/** The destination of a call. */
export interface PageLine {
  /** The name in the transcript, available with the line. */
  name: () => string;
  /** Address, agent and key, requested for each call. Rejects if they are not available. */
  options: () => Promise<ConnectOptions>;
}

/** An action to solve a problem. */
export interface NoticeAction {
  label: string;
  run: () => void;
}

export interface CallControlOptions {
  transcript: TranscriptView;
  /** Container of the agent's forms. */
  forms: HTMLElement;
}

export interface CallControlEvents {
  onPhase(phase: Phase): void;
  /** A call is connected, or connected again. */
  onCall(call: Call): void;
  onInterrupted(): void;
  onTimes(times: TurnTimes): void;
  /** The agent opens a form. */
  onForm(): void;
  onFormSent(): void;
  onProblem(message: string, action: NoticeAction): void;
  /** The previous problem is solved. */
  onNoProblem(): void;
  /** The line broke, and the call reconnects. */
  onLost(): void;
  /** The call failed. `again` retries, by default in the same way. */
  onFailed(error: unknown, again: (how?: How) => void): void;
  /** The call ended with an error. `again` continues it. */
  onBroken(message: string, again: () => void): void;
  /** The call is over. */
  onOver(call: Call): void;
}

/** Controls at most one call of the page, by voice or text. */
export class TalkCallControl {
  readonly #options: CallControlOptions;
  readonly #events: CallControlEvents;
  readonly #forms: Forms;
  #call: Call | null = null;
  #phase: Phase = 'idle';
  /** A call that is being connected. */
  #connecting: AbortController | null = null;
  /** Text typed before the call was connected. */
  #unsent: string[] = [];

  constructor(options: CallControlOptions, events: CallControlEvents) {
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

  /** The connected call. */
  get call(): Call | null {
    return this.#call;
  }

  get muted(): boolean {
    return this.#call?.muted === true;
  }

  set muted(muted: boolean) {
    this.#call?.mute(muted);
  }

  /** The current call switches to the selected microphone. */
  async changeMicrophone(): Promise<void> {
    const call = this.#call;
    if (call?.hasMicrophone !== true) return;
    try {
      await call.setMicrophone(chosenDevice('audioinput'));
    } catch (error) {
      if (call === this.#call) this.#dismissable(error instanceof Error ? error.message : String(error));
    }
  }

  /** The current call switches to the selected loudspeaker. */
  async changeLoudspeaker(): Promise<void> {
    await this.#call?.setSpeaker(chosenDevice('audiooutput'));
  }

  /** Starts a call. Call it from a click or a key, because browsers play nothing before. Never rejects. */
  async begin(line: PageLine, how: How): Promise<void> {
    await this.#begin(line, how, null);
  }

  /** Sends a typed message, or keeps it for the next line. */
  type(text: string): void {
    if (this.#call === null) this.#unsent.push(text);
    else this.#call.sendText(text);
  }

  /** Drops unsent text. */
  forget(): void {
    this.#unsent = [];
  }

  press(digit: string): void {
    this.#call?.pressKeys(digit);
  }

  /** @param note for the transcript */
  hangUp(note: string | null): void {
    this.#connecting?.abort();
    this.#connecting = null;
    const call = this.#call;
    if (call === null) {
      this.forget();
      this.#onPhase('idle');
      return;
    }
    if (call.state === 'reconnecting') this.#events.onNoProblem();
    this.#call = null; // what it tells of its end is not news
    call.close();
    this.#over(call, note);
  }

  /** @param point a call to go on with */
  async #begin(line: PageLine, how: How, point: ResumePoint | null): Promise<void> {
    this.#connecting?.abort();
    const connecting = new AbortController();
    this.#connecting = connecting;
    const isGivenUp = (): boolean => connecting !== this.#connecting;
    this.#events.onNoProblem();
    this.#onPhase('connecting');
    try {
      const call = await connectSocket({
        ...(await line.options()),
        microphone: how === 'voice' && chosenDevice('audioinput'),
        speaker: chosenDevice('audiooutput'),
        resume: point ?? undefined,
        onQueue: (place) => {
          if (!isGivenUp()) this.#onQueue(place);
        },
        signal: connecting.signal,
      });
      if (isGivenUp()) {
        call.close();
        return;
      }
      this.#connecting = null;
      this.#events.onNoProblem();
      this.#options.transcript.begin(line.name(), point === null ? 'New call' : 'The call goes on');
      this.#follow(call, line, how);
    } catch (error) {
      if (isGivenUp()) return;
      this.#connecting = null;
      this.#onPhase('idle');
      if (!(error instanceof CallError) || error.code !== 'microphone') this.forget();
      this.#events.onFailed(error, (other = how) => void this.#begin(line, other, point));
    }
  }

  /** The call is connected. */
  #follow(call: Call, line: PageLine, how: How): void {
    const { transcript } = this.#options;
    const events = this.#events;
    this.#call = call;
    events.onCall(call);
    call.on('state', (state) => {
      if (call === this.#call && state !== 'ended') this.#onPhase(phaseOf(state));
    });
    call.on('transcript', (entries) => transcript.show(entries));
    call.on('interrupted', () => events.onInterrupted());
    call.on('turnTimes', (times) => events.onTimes(times));
    call.on('action', (action) => {
      if (!this.#forms.take(action)) transcript.note(`${action.name} …`);
      else if (action.withdrawn !== true) events.onForm();
    });
    call.on('error', ({ message }) => this.#dismissable(message));
    call.on('reconnecting', () => this.#onLost());
    call.on('reconnected', () => {
      transcript.note('The call goes on');
      events.onNoProblem();
      events.onCall(call);
    });
    call.on('ended', (end) => {
      if (call === this.#call) this.#onEnded(call, end, line, how);
    });
    transcript.show(call.transcript);
    this.#onPhase(phaseOf(call.state));
    for (const text of this.#unsent.splice(0)) call.sendText(text);
  }

  #onQueue({ position, waitS }: QueuePlace): void {
    const wait =
      waitS === null ? '' : ` The wait is about ${waitS <= 60 ? 'a minute' : `${String(waitS / 60)} minutes`}.`;
    const leave = { label: 'Leave the queue', run: () => this.hangUp(null) };
    this.#events.onProblem(`All lines are busy. You are number ${String(position)} in the queue.${wait}`, leave);
  }

  #onLost(): void {
    this.#forms.clear();
    this.#options.transcript.note('Connection lost');
    this.#events.onLost();
    const hangUp = { label: 'Hang up', run: () => this.hangUp('You hung up') };
    this.#events.onProblem('The connection was lost. Trying to get it back …', hangUp);
  }

  #onEnded(call: Call, { status, limit, error, resume }: CallEnd, line: PageLine, how: How): void {
    this.#call = null;
    this.#over(call, endingWords(status, limit));
    if (error !== null) this.#events.onBroken(error.message, () => void this.#begin(line, how, resume));
  }

  #over(call: Call, note: string | null): void {
    this.#connecting = null;
    this.forget();
    this.#onPhase('idle');
    this.#forms.clear();
    if (note !== null) this.#options.transcript.note(note);
    this.#events.onOver(call);
  }

  #dismissable(message: string): void {
    this.#events.onProblem(message, { label: 'Dismiss', run: () => undefined });
  }

  #onPhase(phase: Phase): void {
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#events.onPhase(phase);
  }
}
