import { LoudspeakerError } from '../page/audio.js';
import { Call, type CallEvents, type CallOptions, type CallStats } from '../page/call.js';
import { Daemon } from '../page/daemon.js';
import { DaemonError } from '../page/daemon-error.js';
import { endingWords } from '../page/endings.js';
import { Forms } from '../page/forms.js';
import { Microphone, MicrophoneError } from '../page/microphone.js';
import type { Phase } from '../page/phase.js';
import { type Continuation, reconnect } from '../page/reconnect.js';
import { DEFAULT_LOOKS, type Looks } from './looks.js';
import type { WidgetOptions } from './options.js';
import { problemWords } from './problems.js';
import { formSheet, styleSheets } from './styles.js';
import { View } from './view.js';

interface Wish {
  how: 'voice' | 'typing';
  /** What was cut off. */
  continuation?: Continuation;
}

/** The widget that is in a call: a page has one microphone, and its user one conversation at a time. */
const talking = new Set<Widget>();

/**
 * One widget: one agent, at most one call at a time. The call itself is the page's (`page/call.ts`); how one comes about is
 * not (`page/talk.ts`): here there is one agent and a key, looks that are learned first, consent, another daemon perhaps,
 * and going on with a session that was cut off; there a choice of agents, warming up, and response times.
 */
export class Widget {
  readonly #options: WidgetOptions;
  readonly #root: ShadowRoot;
  readonly #sheets: CSSStyleSheet[];
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
  /** The microphone of the call, which goes on with it if its line breaks. */
  #stream: MediaStream | null = null;
  #muted = false;
  /** The line is lost, and another one is tried. */
  #recovering: AbortController | null = null;

  /** Fills a shadow root, which nobody else uses. */
  constructor(root: ShadowRoot, options: WidgetOptions) {
    this.#options = options;
    this.#view = new View(options, {
      onTalk: () => {
        if (this.#phase === 'idle') void this.#begin({ how: 'voice' });
        else this.#hangUp('You hung up');
      },
      onMute: (muted) => {
        this.#muted = muted;
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
    this.#sheets = styleSheets(options.theme);
    this.#root = root;
    root.adoptedStyleSheets = this.#sheets;
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
      this.#root.adoptedStyleSheets = [...this.#sheets, formSheet(this.#looks.formCss ?? '')];
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
    for (const other of [...talking]) if (other !== this) other.yieldLine();
    talking.add(this);
    const attempt = ++this.#attempt;
    this.#onPhase('connecting');
    view.readable = this.#looks.transcript !== false || wish.how === 'typing';
    if (this.#looks.transcript !== false || wish.how === 'typing') view.open = true;
    let stream: MediaStream | null = null;
    try {
      stream = wish.how === 'voice' ? await Microphone.ask() : null;
      await this.#learn();
      const options = await this.#callOptions(wish.continuation, stream);
      if (attempt !== this.#attempt) throw new Error('given up');
      const call = await Call.begin(options, this.#callEvents(wish.how));
      if (attempt !== this.#attempt) {
        call.hangUp();
        throw new Error('given up');
      }
      this.#call = call;
      this.#stream = stream;
      this.#muted = false;
      view.transcript.begin(this.#name, wish.continuation === undefined ? 'New call' : 'The call goes on');
      this.#follow(call);
    } catch (error) {
      Microphone.release(stream);
      if (attempt === this.#attempt) await this.#failed(error, wish);
    }
  }

  /** Another widget of the page begins a call. */
  yieldLine(): void {
    this.#hangUp('Another conversation has begun on this page');
  }

  /** Who speaks, in the transcript. */
  get #name(): string {
    return this.#options.name ?? this.#looks.name ?? 'Agent';
  }

  async #callOptions(continuation: Continuation | undefined, stream: MediaStream | null): Promise<CallOptions> {
    const { server, agentId, publicKey, metadata } = this.#options;
    const base = this.#looks.base_url?.replace(/\/+$/, '') ?? server;
    const token = await new Daemon(base).sessionToken(publicKey);
    return { base, assets: server, token, agentId, stream, metadata, ...(continuation && { continuation }) };
  }

  /** The line broke in the middle of a call: another one goes on from its session, as soon as one can be had. */
  async #recover(how: Wish['how'], sessionId: string): Promise<void> {
    const { transcript } = this.#view;
    const attempt = ++this.#attempt;
    const recovering = new AbortController();
    this.#recovering = recovering;
    this.#forms.clear();
    transcript.end();
    const lost = { sessionId, messages: transcript.messages };
    transcript.note('Connection lost');
    this.#onPhase('connecting');
    this.#tell('The connection was lost. Trying to get it back …', 'Hang up', () => this.#hangUp('You hung up'));
    const connect = async (continuation: Continuation): Promise<Call | null> => {
      const options = await this.#callOptions(continuation, this.#stream);
      return recovering.signal.aborted ? null : Call.reach(options, this.#callEvents(how));
    };
    const call = await reconnect(lost, connect, recovering.signal);
    if (attempt !== this.#attempt) {
      call?.hangUp();
      return;
    }
    this.#recovering = null;
    if (call === null) {
      this.#over(endingWords(null));
      const goOn = (): void => void this.#begin({ how, continuation: { session_id: sessionId } });
      this.#tell('The connection to the server was lost.', 'Go on', goOn);
      return;
    }
    this.#call = call;
    transcript.begin(this.#name, 'The call goes on');
    this.#view.notice.hide();
    this.#onReady(call.phase, how);
    call.muted = this.#muted;
    this.#follow(call);
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
    if (error instanceof LoudspeakerError) {
      this.#tell(error.message, 'Try again', () => void this.#begin(wish));
      return;
    }
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
      onPhase: (phase) => this.#onReady(phase, how),
      onTranscript: (words) => transcript.user(words),
      onResponse: (text, isFinal, answer) => transcript.agent(text, isFinal, answer),
      onInterrupted: () => transcript.interrupted(),
      onTimes: () => undefined,
      onAction: (action) => {
        if (!this.#forms.take(action)) transcript.note(`${action.name} …`);
        else if (action.withdrawn !== true) this.#view.open = true;
      },
      onProblem: (message) => this.#tell(message, 'Dismiss', () => undefined),
      onEnded: ({ status, limit, error, isLost }) => {
        const sessionId = this.#call?.sessionId ?? null;
        if (isLost && sessionId !== null) {
          this.#stats = this.#call?.stats ?? this.#stats;
          this.#call = null;
          void this.#recover(how, sessionId);
          return;
        }
        this.#over(endingWords(status, limit));
        if (error === null) return;
        if (sessionId === null) this.#tell(error, 'Try again', () => void this.#begin({ how }));
        else this.#tell(error, 'Go on', () => void this.#begin({ how, continuation: { session_id: sessionId } }));
      },
    };
  }

  #onReady(phase: Phase, how: Wish['how']): void {
    if (this.#phase === 'connecting' && phase !== 'idle') {
      this.#view.hasMicrophone = how === 'voice';
      this.#view.muted = this.#muted;
    }
    this.#onPhase(phase);
    if (phase === 'listening') for (const text of this.#untold.splice(0)) this.#type(text);
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
    const wasBegun = this.#call !== null || this.#recovering !== null;
    this.#call?.hangUp();
    if (this.#recovering !== null) this.#view.notice.hide();
    this.#over(wasBegun ? note : null);
  }

  #over(note: string | null): void {
    this.#stats = this.#call?.stats ?? this.#stats;
    this.#call = null;
    this.#untold = [];
    this.#recovering?.abort();
    this.#recovering = null;
    Microphone.release(this.#stream);
    this.#stream = null;
    talking.delete(this);
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
