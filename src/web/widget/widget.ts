import dark from '../page/dark.css';
import style from './style.css';
import { type Call, CallError, type CallStats, type ConnectOptions, DaemonApi } from '@parley-voice/web';
import { type CallControlEvents, type How, type PageLine, TalkCallControl } from '../page/call-control.js';
import type { Phase } from '../page/phase.js';
import { DEFAULT_LOOKS, type Looks } from './looks.js';
import type { Theme, WidgetOptions } from './options.js';
import { problemWords } from './problems.js';
import { WidgetView } from './view.js';

/** The widget with a call: a page has one microphone, and its user one conversation at a time. */
const talking = new Set<Widget>();

/**
 * A widget: one agent, at most one call. It shares the call and its control with the page (`page/call-control.ts`), but
 * starts calls differently (`page/talk.ts`): the widget has one agent with a key, loads its appearance, asks for
 * consent, and may use another daemon; the page has a choice of agents, warm-up, and response times.
 */
export class Widget {
  readonly #options: WidgetOptions;
  readonly #root: ShadowRoot;
  readonly #sheets: CSSStyleSheet[];
  readonly #view: WidgetView;
  readonly #control: TalkCallControl;
  readonly #line: PageLine = { name: () => this.#name, options: () => this.#callOptions() };
  readonly #lifetime = new AbortController();
  #looks = DEFAULT_LOOKS;
  #looking: Promise<Looks> | null = null;
  #stats: CallStats | null = null;
  #agreed = false;

  /** @param root a shadow root of its own */
  constructor(root: ShadowRoot, options: WidgetOptions) {
    this.#options = options;
    this.#view = new WidgetView(options, {
      onTalk: () => {
        if (this.#control.phase === 'idle') this.#begin('voice');
        else this.#control.hangUp('You hung up');
      },
      onMute: (muted) => {
        this.#control.muted = muted;
      },
      onDigit: (digit) => this.#control.press(digit),
      onText: (text) => {
        this.#type(text);
      },
    });
    const { transcript, forms } = this.#view;
    this.#control = new TalkCallControl({ transcript, forms }, this.#controlEvents());
    this.#sheets = styleSheets(options.theme);
    this.#root = root;
    root.adoptedStyleSheets = this.#sheets;
    root.replaceChildren(this.#view.root);
    this.#measure();
    const { signal } = this.#lifetime;
    addEventListener('pagehide', () => this.#control.hangUp('You left the page'), { signal });
    this.#show();
  }

  get stats(): CallStats | null {
    return this.#control.call?.stats ?? this.#stats;
  }

  /** Ends the call and removes everything. May be called twice. */
  close(): void {
    this.#lifetime.abort();
    this.#control.hangUp(null);
    this.#view.root.remove();
  }

  /** Sizes follow the user's default font size, not the page's. */
  #measure(): void {
    const { root } = this.#view;
    root.style.setProperty('--u', getComputedStyle(root).fontSize);
    if (this.#options.theme !== 'auto') root.style.colorScheme = this.#options.theme;
  }

  /** Shows the button once its appearance is loaded, or loading has failed. */
  #show(): void {
    const { root } = this.#view;
    root.classList.add('unknown');
    void this.#learn()
      .catch(() => undefined) // reported when the user calls
      .then(() => root.classList.remove('unknown'));
  }

  /** Loads the appearance; retries only after a failure. */
  async #learn(): Promise<void> {
    const { server, agentId, publicKey, fault } = this.#options;
    if (fault !== null) return;
    const path = `/agents/${encodeURIComponent(agentId)}/embed`;
    this.#looking ??= new DaemonApi(server).json(path, { headers: { authorization: publicKey } }) as Promise<Looks>;
    try {
      this.#looks = await this.#looking;
      this.#view.looks = this.#looks;
      this.#root.adoptedStyleSheets = [...this.#sheets, formSheet(this.#looks.formCss ?? '')];
    } catch (error) {
      this.#looking = null;
      throw error;
    }
  }

  #begin(how: How): void {
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
        if (agreed) this.#begin(how);
        else this.#control.forget();
      });
      return;
    }
    view.readable = this.#looks.transcript !== false || how === 'typing';
    if (this.#looks.transcript !== false || how === 'typing') view.open = true;
    void this.#control.begin(this.#line, how);
  }

  /** Another widget of the page starts a call. */
  yieldLine(): void {
    this.#control.hangUp('Another conversation has begun on this page');
  }

  /** The agent's name in the transcript. */
  get #name(): string {
    return this.#options.name ?? this.#looks.name ?? 'Agent';
  }

  async #callOptions(): Promise<ConnectOptions> {
    await this.#learn();
    const { server, agentId, publicKey, metadata } = this.#options;
    return { baseUrl: this.#looks.base_url ?? server, worklets: `${server}/assets`, publicKey, agentId, metadata };
  }

  #controlEvents(): CallControlEvents {
    const view = this.#view;
    return {
      onPhase: (phase) => this.#onPhase(phase),
      onCall: (call) => this.#follow(call),
      onInterrupted: () => undefined,
      onTimes: () => undefined,
      onForm: () => {
        view.open = true;
      },
      onFormSent: () => view.focusText(),
      onProblem: (message, { label, run }) => this.#tell(message, label, run),
      onNoProblem: () => view.notice.hide(),
      onLost: () => undefined,
      onFailed: (error, again) => this.#failed(error, again),
      onBroken: (message, again) => this.#tell(message, 'Go on', again),
      onOver: () => undefined,
    };
  }

  #failed(error: unknown, again: (how?: How) => void): void {
    const code = error instanceof CallError ? error.code : null;
    if (error instanceof CallError && code === 'microphone') {
      this.#tell(`${error.message} You can type instead.`, 'Type instead', () => {
        this.#view.readable = true;
        again('typing');
        this.#view.focusText();
      });
      return;
    }
    const retry = (): void => again();
    if (error instanceof CallError && error.status === null && code !== 'unreachable') {
      this.#tell(error.message, 'Try again', retry);
      return;
    }
    this.#tell(problemWords(error instanceof CallError ? error : null), 'Try again', retry);
  }

  /** A typed message; starts a call if there is none. */
  #type(text: string): void {
    this.#control.type(text);
    if (this.#control.phase === 'idle' && !this.#view.consent.asks) this.#begin('typing');
  }

  /** Shows an error, and has it read out. */
  #tell(text: string, label = 'Dismiss', run: () => void = () => undefined): void {
    this.#view.open = true;
    const act = (): void => {
      this.#view.focusTalk(); // the button with the focus is gone
      run();
    };
    this.#view.notice.show(text, { label, run: act });
  }

  #onPhase(phase: Phase): void {
    const { call } = this.#control;
    if (this.#view.phase === 'connecting' && phase !== 'idle') {
      this.#view.hasMicrophone = call?.hasMicrophone === true;
      this.#view.muted = this.#control.muted;
    }
    if (phase === 'connecting') {
      for (const other of Array.from(talking)) if (other !== this) other.yieldLine();
      talking.add(this);
    } else if (phase === 'idle') talking.delete(this);
    this.#view.phase = phase;
  }

  /** Shows the levels of both sides during a call. */
  #follow(call: Call): void {
    const frame = (): void => {
      if (call !== this.#control.call) return;
      this.#stats = call.stats ?? this.#stats;
      this.#view.meter.add(call.level('agent'), call.level('user'));
      requestAnimationFrame(frame);
    };
    frame();
  }
}

const MEDIA: Readonly<Record<Theme, string>> = {
  auto: '(prefers-color-scheme: dark)',
  light: 'not all',
  dark: 'all',
};

/** The style sheet of the forms, with declarations of the agent's embed settings, which cannot leave their rule. */
function formSheet(declarations: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.insertRule('.form-card {}');
  (sheet.cssRules[0] as CSSStyleRule).style.cssText = declarations;
  return sheet;
}

/**
 * Style sheets of a widget, created by script, so that a Content Security Policy against inline styles does not block
 * them. A `rem` would be the size that the page around has set: in its place comes `--u`, which the widget sets itself.
 */
function styleSheets(theme: Theme): CSSStyleSheet[] {
  const always = new CSSStyleSheet();
  always.replaceSync(style.replace(/([\d.]+)rem\b/g, 'calc(var(--u)*$1)'));
  const inTheDark = new CSSStyleSheet({ media: MEDIA[theme] });
  inTheDark.replaceSync(dark);
  return [always, inTheDark];
}
