import {
  type Call,
  type CallDevices,
  type CallEnd,
  CallError,
  type CallEvents,
  type CallLevels,
  type CallState,
  connect,
  type ConnectOptions,
  listDevices,
  type TranscriptEntry,
} from '@parley-voice/web';

/** The call of a provider: where it is, and what can be done with it. The functions never change. */
export interface CallInReact {
  /** `idle`: there was no call yet, or the last one did not come about. */
  state: CallState | 'idle';
  /** The call, or the last one; null before the first one and while one is being connected. */
  call: Call | null;
  muted: boolean;
  /** Why the call did not come about or broke, or its latest problem. Another call begins without. */
  error: CallError | null;
  /** How the last call ended; null = it has not, or there was none. */
  end: CallEnd | null;
  /**
   * Calls the agent, from a click or a key, because browsers play nothing before. While there is a call, it is that one.
   * @param options what this call has in place of the provider's options
   * @returns null if it does not come about; then `error` says why. Never rejects
   */
  start: (options?: ConnectOptions) => Promise<Call | null>;
  /** Hangs up, or gives up the connecting. */
  close: () => void;
  /** A muted microphone gives silence. Each call begins unmuted. */
  mute: (muted?: boolean) => void;
  /** Sends a typed message. */
  sendText: (text: string) => void;
  /**
   * Presses keys: `0-9 * # A-D`, up to 64.
   * @throws CallError `options`
   */
  pressKeys: (keys: string) => void;
}

/** The devices that the browser names, and those that were chosen. */
export interface ChosenDevices extends CallDevices {
  /** Ids of those chosen here; `''` = none was: the provider's option, or the system's. */
  microphone: string;
  speaker: string;
  /** Uses another microphone, in this call and the next ones. If that fails, `error` of `useCall` says why. */
  setMicrophone: (id: string) => Promise<void>;
  setSpeaker: (id: string) => Promise<void>;
}

interface Subscription {
  bind(call: Call): void;
}

const IDLE = { state: 'idle', call: null, muted: false, error: null, end: null } as const;

/** The calls of a provider, one after the other, and what React shows of them. Each snapshot is an object of its own. */
export class CallStore {
  /** The provider's, for the next call. */
  options: ConnectOptions = {};
  connect = connect;
  /** Levels of the call at this moment. */
  readonly levels: { readonly current: CallLevels };
  readonly #watchers = new Set<() => void>();
  readonly #subscriptions = new Set<Subscription>();
  #call: CallInReact;
  #transcript: readonly TranscriptEntry[] = [];
  #devices: ChosenDevices;
  #isMounted = false;
  /** The call that is being connected. */
  #attempt: { control: AbortController; call: Promise<Call | null> } | null = null;

  constructor() {
    this.#call = {
      ...IDLE,
      start: (options = {}) => this.#start(options),
      close: () => this.#close(),
      mute: (muted = true) => this.#mute(muted),
      sendText: (text) => this.#call.call?.sendText(text),
      pressKeys: (keys) => this.#call.call?.pressKeys(keys),
    };
    this.#devices = {
      microphones: [],
      speakers: [],
      microphone: '',
      speaker: '',
      setMicrophone: (id) => this.#choose('microphone', id),
      setSpeaker: (id) => this.#choose('speaker', id),
    };
    const level = (side: keyof CallLevels): number => this.#call.call?.level(side) ?? 0;
    this.levels = {
      get current() {
        return { user: level('user'), agent: level('agent') };
      },
    };
  }

  /** The provider is in the tree. Returns what ends its call when it leaves. StrictMode does both twice. */
  readonly mount = (): (() => void) => {
    this.#isMounted = true;
    return () => {
      this.#isMounted = false;
      this.#close();
    };
  };

  /** Calls back after each change of a snapshot. Returns a function that stops it. */
  readonly watch = (onChange: () => void): (() => void) => {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  };

  readonly call = (): CallInReact => this.#call;

  readonly transcript = (): readonly TranscriptEntry[] => this.#transcript;

  readonly devices = (): ChosenDevices => this.#devices;

  /** Calls the listener for each event of this name, of this call and the next ones. Returns a function that stops it. */
  on<K extends keyof CallEvents>(name: K, listener: (event: CallEvents[K]) => void): () => void {
    let stop = this.#call.call?.on(name, listener);
    const subscription: Subscription = { bind: (call) => void (stop = call.on(name, listener)) };
    this.#subscriptions.add(subscription);
    return () => {
      this.#subscriptions.delete(subscription);
      stop?.();
    };
  }

  /** Keeps the list of devices up to date, without a call too. Returns a function that stops it. */
  readonly watchDevices = (): (() => void) => {
    const look = (): void => void listDevices().then((devices) => this.#named(devices));
    look();
    // Pages that are neither https nor local have none.
    const source = navigator.mediaDevices as MediaDevices | undefined;
    source?.addEventListener('devicechange', look);
    return () => source?.removeEventListener('devicechange', look);
  };

  #start(more: ConnectOptions): Promise<Call | null> {
    const { call } = this.#call;
    if (call !== null && call.end === null) return Promise.resolve(call);
    if (this.#attempt === null) {
      const control = new AbortController();
      this.#transcript = [];
      this.#show({ ...IDLE, state: 'connecting' });
      this.#attempt = { control, call: this.#begin(more, control) };
    }
    return this.#attempt.call;
  }

  async #begin(more: ConnectOptions, { signal }: AbortController): Promise<Call | null> {
    // A child may begin a call as it appears: before the provider's own effect, and twice under StrictMode.
    await Promise.resolve();
    if (!this.#isMounted) this.#close();
    if (signal.aborted) return null;
    const options = { ...this.options, ...this.#chosen(), ...more };
    const signals = options.signal === undefined ? [signal] : [signal, options.signal];
    try {
      const call = await this.connect({ ...options, signal: AbortSignal.any(signals) });
      if (!signal.aborted) return this.#follow(call);
      call.close();
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
    return null;
  }

  #follow(call: Call): Call {
    this.#attempt = null;
    this.#transcript = call.transcript;
    this.#show({ call, state: call.state, end: call.end, error: call.end?.error ?? null });
    call.on('state', (state) => this.#show({ state }));
    call.on('transcript', (entries) => {
      this.#transcript = entries;
      this.#changed();
    });
    call.on('devices', (devices) => this.#named(devices));
    call.on('error', (error) => this.#show({ error }));
    call.on('ended', (end) => this.#show({ end, muted: false, error: end.error ?? this.#call.error }));
    for (const subscription of this.#subscriptions) subscription.bind(call);
    return call;
  }

  #fail(error: unknown): void {
    this.#attempt = null;
    const known = asCallError(error);
    this.#show({ ...IDLE, error: known.code === 'aborted' ? null : known });
  }

  #close(): void {
    if (this.#attempt !== null) {
      this.#attempt.control.abort();
      this.#attempt = null;
      this.#show(IDLE);
    }
    this.#call.call?.close();
  }

  #mute(muted: boolean): void {
    const { call } = this.#call;
    if (call === null || call.end !== null) return;
    call.mute(muted);
    this.#show({ muted });
  }

  /** The devices that the user chose, as options. */
  #chosen(): ConnectOptions {
    const { microphone, speaker } = this.#devices;
    return { ...(microphone !== '' && { microphone }), ...(speaker !== '' && { speaker }) };
  }

  async #choose(kind: 'microphone' | 'speaker', id: string): Promise<void> {
    const { call } = this.#call;
    try {
      if (call !== null && call.end === null) {
        await (kind === 'microphone' ? call.setMicrophone(id) : call.setSpeaker(id));
      }
      this.#devices = { ...this.#devices, [kind]: id };
      this.#changed();
    } catch (error) {
      this.#show({ error: asCallError(error) });
    }
  }

  #named(devices: CallDevices): void {
    this.#devices = { ...this.#devices, ...devices };
    this.#changed();
  }

  #show(change: Partial<CallInReact>): void {
    this.#call = { ...this.#call, ...change };
    this.#changed();
  }

  #changed(): void {
    for (const watcher of Array.from(this.#watchers)) watcher();
  }
}

function asCallError(error: unknown): CallError {
  if (error instanceof CallError) return error;
  return new CallError('failed', error instanceof Error ? error.message : String(error), { cause: error });
}
