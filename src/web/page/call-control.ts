import type { TalkAction, TalkTurnTimes } from '../../transports/talk-protocol.js';
import { type CallEvents, type CallOptions, type CallStats, TalkCall, type TalkCallEnd } from './call.js';
import { endingWords } from './endings.js';
import { Microphone, MicrophoneError } from './microphone.js';
import type { Phase } from './phase.js';
import { type Continuation, type Lost, onceMore, reconnect } from './reconnect.js';
import type { Transcript } from './transcript.js';
import { FormCard } from './form-card.js';

export type How = 'voice' | 'typing';

/** The destination of a call. */
export interface Line {
  /** The name in the transcript, available with the line. */
  name: () => string;
  /** Address and key, requested for each attempt. Rejects if they are not available. */
  options: () => Promise<Omit<CallOptions, 'stream' | 'continuation'>>;
}

/** Options of a call, requested for each attempt, because a token opens one session. */
type Ask = () => Promise<CallOptions>;

/** An action to solve a problem. */
export interface NoticeAction {
  label: string;
  run: () => void;
}

export interface CallControlOptions {
  transcript: Transcript;
  /** Container of the agent's forms. */
  forms: HTMLElement;
}

export interface CallControlEvents {
  onPhase(phase: Phase): void;
  /** A call is connected: a new one, or one that replaces a broken line. */
  onCall(call: TalkCall): void;
  onInterrupted(): void;
  onTimes(times: TalkTurnTimes): void;
  /** The agent opens a form. */
  onForm(): void;
  onFormSent(): void;
  onProblem(message: string, action: NoticeAction): void;
  /** The previous problem is solved. */
  onNoProblem(): void;
  /** The line broke, and parley reconnects. */
  onLost(): void;
  /** The call failed. `again` retries, by default in the same way. */
  onFailed(error: unknown, again: (how?: How) => void): void;
  /** The call ended with an error. `again` calls anew, or continues the call if it had begun. */
  onBroken(message: string, again: () => void, hadBegun: boolean): void;
  /** The call is over; null = it never started. */
  onOver(call: TalkCall | null): void;
}

/** Controls at most one call, by voice or text, and reconnects a broken line. */
export class TalkCallControl {
  readonly #options: CallControlOptions;
  readonly #events: CallControlEvents;
  readonly #forms: Forms;
  #call: TalkCall | null = null;
  #phase: Phase = 'idle';
  /** Numbers attempts, so that a cancelled one cannot succeed later. */
  #attempt = 0;
  /** Text typed before the line was connected. */
  #unsent: string[] = [];
  /** The microphone of the call, kept for a reconnection. */
  #stream: MediaStream | null = null;
  #muted = false;
  /** A reconnection in progress. */
  #recovering: AbortController | null = null;

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
  get call(): TalkCall | null {
    return this.#call;
  }

  /** Null without a call. */
  get stats(): CallStats | null {
    return this.#call?.stats ?? null;
  }

  get muted(): boolean {
    return this.#muted;
  }

  set muted(muted: boolean) {
    this.#muted = muted;
    if (this.#call !== null) this.#call.muted = muted;
  }

  /** The current call switches to the selected microphone. */
  async changeMicrophone(): Promise<void> {
    const call = this.#call;
    if (call?.hasMicrophone !== true) return;
    let stream: MediaStream | null = null;
    try {
      stream = await Microphone.ask();
      if (call !== this.#call) throw new Error('given up');
      call.listenTo(stream);
      call.muted = this.#muted;
      Microphone.release(this.#stream);
      this.#stream = stream;
    } catch (error) {
      Microphone.release(stream);
      if (call !== this.#call) return;
      const message = error instanceof MicrophoneError ? error.message : 'The browser cannot change to it in a call.';
      this.#events.onProblem(message, { label: 'Dismiss', run: () => undefined });
    }
  }

  /** The current call switches to the selected loudspeaker. */
  async changeLoudspeaker(): Promise<void> {
    await this.#call?.changeLoudspeaker();
  }

  /** Starts a call. Call it from a click or a key, because browsers play nothing before. Never rejects. */
  async begin(line: Line, how: How): Promise<void> {
    const connect = async (options: Ask): Promise<TalkCall> =>
      TalkCall.begin(await options(), this.#callEvents(line, how));
    await this.#open(line, how, connect, 'New call', (other = how) => void this.begin(line, other));
  }

  /** Sends a typed message, or keeps it for the next line. */
  type(text: string): void {
    if (this.#call === null || this.#phase === 'connecting') {
      this.#unsent.push(text);
      return;
    }
    this.#options.transcript.typed(text);
    this.#call.type(text);
  }

  /** Drops unsent text. */
  forget(): void {
    this.#unsent = [];
  }

  press(digit: string): void {
    if (this.#call === null) return;
    this.#call.press(digit);
    this.#options.transcript.keyed(digit);
  }

  /** @param note for the transcript */
  hangUp(note: string | null): void {
    if (this.#phase === 'idle') return;
    this.#attempt++;
    const wasBegun = this.#call !== null || this.#recovering !== null;
    this.#call?.hangUp();
    if (this.#recovering !== null) this.#events.onNoProblem();
    this.#over(wasBegun ? note : null);
  }

  /**
   * Opens a line for the user.
   * @param beginning note for the transcript, after an earlier call
   * @param again retries
   */
  async #open(
    line: Line,
    how: How,
    connect: (options: Ask) => Promise<TalkCall>,
    beginning: string,
    again: (how?: How) => void,
  ): Promise<void> {
    const attempt = ++this.#attempt;
    this.#events.onNoProblem();
    this.#onPhase('connecting');
    let stream: MediaStream | null = null;
    try {
      stream = how === 'voice' ? await Microphone.ask() : null;
      const call = await connect(async () => {
        const options = await line.options();
        if (attempt !== this.#attempt) throw new Error('given up');
        return { ...options, stream };
      });
      if (attempt !== this.#attempt) {
        call.hangUp();
        throw new Error('given up');
      }
      this.#stream = stream;
      this.#muted = false;
      this.#options.transcript.begin(line.name(), beginning);
      this.#onLine(call);
    } catch (error) {
      Microphone.release(stream);
      if (attempt !== this.#attempt) return;
      this.#onPhase('idle');
      if (!(error instanceof MicrophoneError)) this.#unsent = [];
      this.#events.onFailed(error, again);
    }
  }

  /** Continues a call that was lost for good, when the user asks for it. */
  async #goOn(line: Line, how: How, lost: Lost): Promise<void> {
    const connect = (options: Ask): Promise<TalkCall> =>
      onceMore(lost, async (continuation) => this.#reach({ ...(await options()), continuation }, line, how));
    await this.#open(line, how, connect, 'The call goes on', (other = how) => void this.#goOn(line, other, lost));
  }

  /** The line broke during a call: another one continues its session as soon as possible. */
  async #recover(line: Line, how: How, lost: Lost): Promise<void> {
    const { transcript } = this.#options;
    const attempt = ++this.#attempt;
    const recovering = new AbortController();
    this.#recovering = recovering;
    this.#forms.clear();
    transcript.end();
    transcript.note('Connection lost');
    this.#onPhase('connecting');
    this.#events.onLost();
    this.#events.onProblem('The connection was lost. Trying to get it back …', {
      label: 'Hang up',
      run: () => this.hangUp('You hung up'),
    });
    const connect = async (continuation: Continuation): Promise<TalkCall | null> => {
      const options = await line.options();
      if (recovering.signal.aborted) return null;
      return this.#reach({ ...options, continuation, stream: this.#stream }, line, how);
    };
    const call = await reconnect(lost, connect, recovering.signal);
    if (attempt !== this.#attempt) {
      call?.hangUp();
      return;
    }
    this.#recovering = null;
    if (call === null) {
      this.#over(endingWords(null));
      this.#events.onBroken('The connection to the server was lost.', () => void this.#goOn(line, how, lost), true);
      return;
    }
    transcript.begin(line.name(), 'The call goes on');
    this.#events.onNoProblem();
    this.#onLine(call);
  }

  #reach(options: CallOptions, line: Line, how: How): Promise<TalkCall> {
    return TalkCall.reach(options, this.#callEvents(line, how));
  }

  #onLine(call: TalkCall): void {
    this.#call = call;
    call.muted = this.#muted;
    this.#events.onCall(call);
    if (call.phase !== 'connecting') this.#onReady(call.phase); // this has not been reported yet
  }

  #callEvents(line: Line, how: How): CallEvents {
    const { transcript } = this.#options;
    return {
      onPhase: (phase) => this.#onReady(phase),
      onTranscript: (words) => transcript.user(words),
      onResponse: (text, isFinal, answer) => transcript.agent(text, isFinal, answer),
      onInterrupted: () => {
        this.#events.onInterrupted();
        transcript.interrupted();
      },
      onTimes: (times) => this.#events.onTimes(times),
      onAction: (action) => {
        if (!this.#forms.take(action)) transcript.note(`${action.name} …`);
        else if (action.withdrawn !== true) this.#events.onForm();
      },
      onProblem: (message) => this.#events.onProblem(message, { label: 'Dismiss', run: () => undefined }),
      onEnded: (end) => this.#onEnded(end, line, how),
    };
  }

  #onEnded({ status, limit, error, isLost }: TalkCallEnd, line: Line, how: How): void {
    const sessionId = this.#call?.sessionId ?? null;
    const lost = sessionId === null ? null : { sessionId, messages: this.#options.transcript.messages };
    if (isLost && lost !== null) {
      this.#call = null;
      void this.#recover(line, how, lost);
      return;
    }
    this.#over(endingWords(status, limit));
    if (error === null) return;
    const again = (): void => void (lost === null ? this.begin(line, how) : this.#goOn(line, how, lost));
    this.#events.onBroken(error, again, lost !== null);
  }

  #onReady(phase: Phase): void {
    this.#onPhase(phase);
    if (phase === 'listening') for (const text of this.#unsent.splice(0)) this.type(text);
  }

  #over(note: string | null): void {
    const { transcript } = this.#options;
    const call = this.#call;
    this.#call = null;
    this.#unsent = [];
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

  #onPhase(phase: Phase): void {
    this.#phase = phase;
    this.#events.onPhase(phase);
  }
}

/** The open forms of the agent. */
class Forms {
  readonly #root: HTMLElement;
  readonly #onResult: (id: string, value: unknown) => void;
  readonly #cards = new Map<string, FormCard>();

  constructor(root: HTMLElement, onResult: (id: string, value: unknown) => void) {
    this.#root = root;
    this.#onResult = onResult;
  }

  /** Shows or withdraws a form. Returns whether the action requests anything. */
  take({ id, type, data, withdrawn }: TalkAction): boolean {
    if (type === undefined) return false;
    this.#remove(id);
    if (withdrawn === true) return true;
    if ((type !== 'webform' && type !== 'web_form') || data === undefined) {
      // A function for a custom client, which this page does not have.
      this.#onResult(id, { error: 'this page cannot do that' });
      return true;
    }
    const card = new FormCard(id, data, (value) => {
      this.#remove(id);
      this.#onResult(id, value);
    });
    this.#cards.set(id, card);
    this.#root.append(card.element);
    card.focus();
    return true;
  }

  /** The call is over. */
  clear(): void {
    for (const id of this.#cards.keys()) this.#remove(id);
  }

  #remove(id: string): void {
    const card = this.#cards.get(id);
    if (card === undefined) return;
    this.#cards.delete(id);
    card.element.remove();
  }
}
