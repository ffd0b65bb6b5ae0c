import type { TalkTurnTimes } from '../../transports/talk-protocol.js';
import { TalkCall, type TalkCallEnd, type CallEvents, type CallOptions, type CallStats } from './call.js';
import { endingWords } from './endings.js';
import { Forms } from './forms.js';
import { Microphone, MicrophoneError } from './microphone.js';
import type { Phase } from './phase.js';
import { type Continuation, type Lost, onceMore, reconnect } from './reconnect.js';
import type { Transcript } from './transcript.js';

export type How = 'voice' | 'typing';

/** Whom a call goes to. */
export interface Line {
  /** Who speaks, in the transcript; asked when the line is there. */
  name: () => string;
  /** Address and key, asked anew for each attempt. Rejects where they cannot be had. */
  options: () => Promise<Omit<CallOptions, 'stream' | 'continuation'>>;
}

/** Options of a call, asked anew for each attempt: a token opens one session. */
type Ask = () => Promise<CallOptions>;

/** A way out of a problem. */
export interface NoticeAction {
  label: string;
  run: () => void;
}

export interface CallControlOptions {
  transcript: Transcript;
  /** Where the agent's forms appear. */
  forms: HTMLElement;
}

export interface CallControlEvents {
  onPhase(phase: Phase): void;
  /** A call is on the line: a new one, or another one in place of one whose line broke. */
  onCall(call: TalkCall): void;
  onInterrupted(): void;
  onTimes(times: TalkTurnTimes): void;
  /** The agent asks the user for something, in a form. */
  onForm(): void;
  onFormSent(): void;
  onProblem(message: string, action: NoticeAction): void;
  /** What was wrong before is over. */
  onNoProblem(): void;
  /** The line broke, and another one is tried. */
  onLost(): void;
  /** There is no call. `again` tries once more, in the same way by default. */
  onFailed(error: unknown, again: (how?: How) => void): void;
  /** The call ended with an error. `again` calls anew or, where it had begun, goes on from it. */
  onBroken(message: string, again: () => void, hadBegun: boolean): void;
  /** It is over; null = it never came about. */
  onOver(call: TalkCall | null): void;
}

/** At most one call at a time, by voice or in writing. One whose line breaks goes on by another line. */
export class TalkCallControl {
  readonly #options: CallControlOptions;
  readonly #events: CallControlEvents;
  readonly #forms: Forms;
  #call: TalkCall | null = null;
  #phase: Phase = 'idle';
  /** Counts attempts, so that one that was given up cannot come true later. */
  #attempt = 0;
  /** What was typed before the line was there. */
  #untold: string[] = [];
  /** The microphone of the call, which goes on with it if its line breaks. */
  #stream: MediaStream | null = null;
  #muted = false;
  /** The line is lost, and another one is tried. */
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

  /** The one on the line. */
  get call(): TalkCall | null {
    return this.#call;
  }

  /** Null where there is no call. */
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

  /** A call under way goes on with the microphone that is chosen now. */
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

  /** A call under way goes on with the loudspeaker that is chosen now. */
  async changeLoudspeaker(): Promise<void> {
    await this.#call?.changeLoudspeaker();
  }

  /** Calls. To be called from a click or a key: browsers play nothing before. Never rejects. */
  async begin(line: Line, how: How): Promise<void> {
    const connect = async (options: Ask): Promise<TalkCall> =>
      TalkCall.begin(await options(), this.#callEvents(line, how));
    await this.#open(line, how, connect, 'New call', (other = how) => void this.begin(line, other));
  }

  /** A typed message. Without a line it is kept for the next one. */
  type(text: string): void {
    if (this.#call === null || this.#phase === 'connecting') {
      this.#untold.push(text);
      return;
    }
    this.#options.transcript.typed(text);
    this.#call.type(text);
  }

  /** What was typed is not said any more. */
  forget(): void {
    this.#untold = [];
  }

  press(digit: string): void {
    if (this.#call === null) return;
    this.#call.press(digit);
    this.#options.transcript.keyed(digit);
  }

  /** @param note what the transcript says of it */
  hangUp(note: string | null): void {
    if (this.#phase === 'idle') return;
    this.#attempt++;
    const wasBegun = this.#call !== null || this.#recovering !== null;
    this.#call?.hangUp();
    if (this.#recovering !== null) this.#events.onNoProblem();
    this.#over(wasBegun ? note : null);
  }

  /**
   * Opens a line when the user asks for one.
   * @param beginning what the transcript says of it, below another call
   * @param again tries once more
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
      if (!(error instanceof MicrophoneError)) this.#untold = [];
      this.#events.onFailed(error, again);
    }
  }

  /** Continues a call that was cut off for good, when the user asks for it. */
  async #goOn(line: Line, how: How, lost: Lost): Promise<void> {
    const connect = (options: Ask): Promise<TalkCall> =>
      onceMore(lost, async (continuation) => this.#reach({ ...(await options()), continuation }, line, how));
    await this.#open(line, how, connect, 'The call goes on', (other = how) => void this.#goOn(line, other, lost));
  }

  /** The line broke in the middle of a call: another one goes on from its session, as soon as one can be had. */
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
    if (call.phase !== 'connecting') this.#onReady(call.phase); // nothing was told of it yet
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

  #onPhase(phase: Phase): void {
    this.#phase = phase;
    this.#events.onPhase(phase);
  }
}
