import { Call, type CallEvents, type CallStats } from '../page/call.js';
import { Daemon } from '../page/daemon.js';
import { DaemonError } from '../page/daemon-error.js';
import { endingWords } from '../page/endings.js';
import { Forms } from '../page/forms.js';
import { Microphone, MicrophoneError } from '../page/microphone.js';
import type { Phase } from '../page/phase.js';
import { DEFAULT_LOOKS, type Looks } from './looks.js';
import type { WidgetOptions } from './options.js';
import { problemWords } from './problems.js';
import { styleSheets } from './styles.js';
import { View } from './view.js';

interface Wish {
  how: 'voice' | 'typing';
  /** The session that was cut off. */
  continueFrom?: string;
}

/**
 * One widget: one agent, at most one call at a time. The call itself is the page's (`page/call.ts`); how one comes about is
 * not (`page/talk.ts`): here there is one agent and a key, looks that are learned first, consent, another daemon perhaps,
 * and going on with a session that was cut off; there a choice of agents, warming up, and response times.
 */
export class Widget {
  readonly #options: WidgetOptions;
  readonly #view: View;
  readonly #forms: Forms;
  readonly #lifetime = new AbortController();
  #looks = DEFAULT_LOOKS;
  #looking: Promise<Looks> | null = null;
  #call: Call | null = null;
  #stats: CallStats | null = null;
  #phase: Phase = 'idle';
  #agreed = false;
  /** Counts attempts, so that one that was given up cannot come true later. */
  #attempt = 0;
  #untold: string[] = [];

  /** Fills a shadow root, which nobody else uses. */
  constructor(root: ShadowRoot, options: WidgetOptions) {
    this.#options = options;
    this.#view = new View(options, {
      onTalk: () => {
        if (this.#phase === 'idle') void this.#begin({ how: 'voice' });
        else this.#hangUp('You hung up');
      },
      onMute: (muted) => {
        if (this.#call !== null) this.#call.muted = muted;
      },
      onDigit: (digit) => {
        this.#call?.press(digit);
        this.#view.transcript.keyed(digit);
      },
      onText: (text) => {
        this.#type(text);
      },
    });
    this.#forms = new Forms(this.#view.forms, (id, value) => {
      this.#call?.answerForm(id, value);
      this.#view.focusText();
    });
    root.adoptedStyleSheets = styleSheets(options.theme);
    root.replaceChildren(this.#view.root);
    this.#measure();
    const { signal } = this.#lifetime;
    addEventListener('pagehide', () => this.#hangUp('You left the page'), { signal });
    this.#show();
  }

  get stats(): CallStats | null {
    return this.#call?.stats ?? this.#stats;
  }

  /** Ends the call and takes everything away. May be called twice. */
  close(): void {
    this.#lifetime.abort();
    this.#hangUp(null);
    this.#view.root.remove();
  }

  /** Sizes are those of the user's own default text, whatever the page makes of its own. */
  #measure(): void {
    const { root } = this.#view;
    root.style.setProperty('--u', getComputedStyle(root).fontSize);
    if (this.#options.theme !== 'auto') root.style.colorScheme = this.#options.theme;
  }

  /** Shows the button once it is known how it looks, or that this cannot be known. */
  #show(): void {
    const { root } = this.#view;
    root.classList.add('unknown');
    void this.#learn()
      .catch(() => undefined) // is told when somebody calls
      .then(() => root.classList.remove('unknown'));
  }

  /** Learns how the widget is to look; asks again only where that failed. */
  async #learn(): Promise<void> {
    const { server, agentId, publicKey, fault } = this.#options;
    if (fault !== null) return;
    const path = `/agents/${encodeURIComponent(agentId)}/embed`;
    this.#looking ??= new Daemon(server).json(path, { headers: { authorization: publicKey } }) as Promise<Looks>;
    try {
      this.#looks = await this.#looking;
      this.#view.looks = this.#looks;
    } catch (error) {
      this.#looking = null;
      throw error;
    }
  }

  async #begin(wish: Wish): Promise<void> {
    const { fault, consent, consentUrl } = this.#options;
    const view = this.#view;
    view.notice.hide();
    if (fault !== null) {
      this.#tell(`The voice agent is not set up correctly on this page: ${fault}.`);
      return;
    }
    if (consent !== null && !this.#agreed) {
      view.open = true;
      view.consent.ask(consent, consentUrl, (agreed) => {
        this.#agreed = agreed;
        view.focusTalk();
        if (agreed) void this.#begin(wish);
        else this.#untold = [];
      });
      return;
    }
    const attempt = ++this.#attempt;
    this.#onPhase('connecting');
    view.readable = this.#looks.transcript !== false || wish.how === 'typing';
    if (this.#looks.transcript !== false || wish.how === 'typing') view.open = true;
    let stream: MediaStream | null = null;
    try {
      stream = wish.how === 'voice' ? await Microphone.ask() : null;
      const call = await this.#connect(wish, stream, () => attempt !== this.#attempt);
      if (attempt !== this.#attempt) {
        call.hangUp();
        return;
      }
      this.#call = call;
      view.transcript.begin(this.#options.name, wish.continueFrom === undefined ? 'New call' : 'The call goes on');
      this.#follow(call);
    } catch (error) {
      for (const track of stream?.getTracks() ?? []) track.stop();
      if (attempt === this.#attempt) await this.#failed(error, wish);
    }
  }

  async #connect({ how, continueFrom }: Wish, stream: MediaStream | null, isOver: () => boolean): Promise<Call> {
    const { server, agentId, publicKey, metadata } = this.#options;
    await this.#learn();
    const base = this.#looks.base_url?.replace(/\/+$/, '') ?? server;
    const token = await new Daemon(base).sessionToken(publicKey);
    if (isOver()) throw new Error('given up');
    return Call.begin(
      {
        ...{ base, assets: server, token, agentId, stream, metadata },
        ...(continueFrom !== undefined && { continueFrom }),
      },
      this.#callEvents(how),
    );
  }

  async #failed(error: unknown, wish: Wish): Promise<void> {
    this.#onPhase('idle');
    if (error instanceof MicrophoneError) {
      this.#tell(`${error.message} You can type instead.`, 'Type instead', () => {
        void this.#begin({ ...wish, how: 'typing' });
        this.#view.focusText();
      });
      return;
    }
    this.#untold = [];
    const unanswered = error instanceof DaemonError && error.status === null;
    const words = problemWords(error, location.origin, unanswered && (await this.#isReachable()));
    this.#tell(words, 'Try again', () => void this.#begin(wish));
  }

  /** Whether the daemon answers: what every page may read, it answers to pages that may not talk to it as well. */
  #isReachable(): Promise<boolean> {
    const init = { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(5000) } as const;
    return fetch(`${this.#options.server}/widget.js`, init).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  #callEvents(how: Wish['how']): CallEvents {
    const { transcript } = this.#view;
    return {
      onPhase: (phase) => {
        if (this.#phase === 'connecting' && phase !== 'idle') this.#view.hasMicrophone = how === 'voice';
        this.#onPhase(phase);
        if (phase === 'listening') for (const text of this.#untold.splice(0)) this.#type(text);
      },
      onTranscript: (text, isFinal) => transcript.user(text, isFinal),
      onResponse: (text, isFinal) => transcript.agent(text, isFinal),
      onInterrupted: () => transcript.interrupted(),
      onFalseAlarm: () => transcript.falseAlarm(),
      onTimes: () => undefined,
      onAction: (action) => {
        if (!this.#forms.take(action)) transcript.note(`${action.name} …`);
        else if (action.withdrawn !== true) this.#view.open = true;
      },
      onProblem: (message) => this.#tell(message, 'Dismiss', () => undefined),
      onEnded: (status, error) => {
        const sessionId = this.#call?.sessionId ?? null;
        this.#over(endingWords(status));
        if (error === null) return;
        if (sessionId === null) this.#tell(error, 'Try again', () => void this.#begin({ how }));
        else this.#tell(error, 'Go on', () => void this.#begin({ how, continueFrom: sessionId }));
      },
    };
  }

  /** A typed message; without a call it begins one. */
  #type(text: string): void {
    if (this.#call !== null && this.#phase !== 'connecting') {
      this.#view.transcript.typed(text);
      this.#call.type(text);
      return;
    }
    this.#untold.push(text);
    if (this.#phase === 'idle' && !this.#view.consent.asks) void this.#begin({ how: 'typing' });
  }

  #hangUp(note: string | null): void {
    if (this.#phase === 'idle') return;
    this.#attempt++;
    const call = this.#call;
    call?.hangUp();
    this.#over(call === null ? null : note);
  }

  #over(note: string | null): void {
    this.#stats = this.#call?.stats ?? this.#stats;
    this.#call = null;
    this.#untold = [];
    this.#onPhase('idle');
    this.#forms.clear();
    this.#view.transcript.end();
    if (note !== null) this.#view.transcript.note(note);
  }

  /** Says what is wrong, where it is seen and read out. */
  #tell(text: string, label = 'Dismiss', run: () => void = () => undefined): void {
    this.#view.open = true;
    const act = (): void => {
      this.#view.focusTalk(); // the button that had the focus is gone
      run();
    };
    this.#view.notice.show(text, { label, run: act });
  }

  #onPhase(phase: Phase): void {
    this.#phase = phase;
    this.#view.phase = phase;
  }

  /** Shows how loud both sides are as long as the call goes on. */
  #follow(call: Call): void {
    const frame = (): void => {
      if (call !== this.#call) return;
      const { level, microphoneLevel } = call.stats;
      this.#view.meter.add(level, microphoneLevel);
      requestAnimationFrame(frame);
    };
    frame();
  }
}
