import type { Clock } from '../../base/clock.js';
import { Engine } from '../../engine/engine.js';
import type { RemoteSession, SessionHandle } from '../../engine/remote-line.js';
import type { Side } from '../../conversation/control/command.js';
import { ParleyError } from '../../base/errors.js';
import type {
  MainMethods,
  RemoteSessionRequest,
  RemoteWaitingRequest,
  ThreadMethods,
  ThreadSettings,
} from '../wire/protocol.js';
import type { Transport } from '../../transports/transport.js';
import { fromWire, Rpc, toWire } from '../wire/rpc.js';
import { WorkerCalls, TRANSFER_MS } from './worker-calls.js';
import { WorkerWebRtc } from './worker-webrtc.js';
import type { EnginePlugin } from '../../engine/plugin.js';
import { WorkerFunctions } from './worker-functions.js';
import { WorkerParticipants } from './worker-participants.js';
import { WorkerStores } from './worker-stores.js';

export interface MediaWorkerOptions {
  settings: ThreadSettings;
  /** The plug-ins of the settings. */
  plugins: readonly EnginePlugin[];
  clock: Clock;
  post: (message: unknown) => void;
}

/** Deadline for the answer whether a call may be transferred. */
const PERMISSION_MS = 10_000;

/** A main thread that takes longer for a frame reads no more. */
const TAP_MS = 10_000;

/** The worker's side of a media thread: an engine, its sessions and their lines, controlled by the main thread. */
export class MediaWorker {
  readonly #main: Rpc<MainMethods>;
  readonly #stores: WorkerStores;
  readonly #functions: WorkerFunctions;
  readonly #engine: Engine;
  readonly #webRtc: WorkerWebRtc;
  readonly #calls: WorkerCalls;
  readonly #participants: WorkerParticipants;
  readonly #sessions = new Map<string, SessionHandle>();
  /** By the id of their lines. */
  readonly #waiting = new Map<string, Awaited<ReturnType<Engine['openWaiting']>>>();
  /** The sides that the main thread reads, by session and side. */
  readonly #taps = new Map<string, AbortController>();
  /** Records of sessions that are being created. */
  readonly #records = new Map<string, RemoteSession['record']>();

  constructor({ settings, plugins, clock, post }: MediaWorkerOptions) {
    const onFault = (error: Error): void => this.#main.tell('fault', toWire(error));
    this.#main = new Rpc({ post, methods: this.#methods(), clock, onFault });
    this.#functions = new WorkerFunctions(this.#main);
    this.#participants = new WorkerParticipants(this.#main);
    this.#stores = new WorkerStores(settings, this.#main, clock);
    this.#engine = new Engine({
      ...settings.options,
      plugins: this.#functions.plugins(plugins, settings.options.functions ?? []),
      ...this.#stores.forEngine,
      clock,
      recorder: {
        record: async (session, { to, facts }) => void this.#records.set(session.id, { to, facts }),
        close: async () => undefined,
      },
    });
    this.#webRtc = new WorkerWebRtc(this.#main, clock);
    this.#calls = new WorkerCalls(this.#main, clock, this.#engine.ticker);
  }

  receive(message: unknown): void {
    this.#main.receive(message);
  }

  #methods(): ThreadMethods {
    const of = (id: string): SessionHandle | undefined => this.#sessions.get(id);
    return {
      warmUp: async () => {
        const [unreached] = await Promise.all([this.#engine.warmUp(), this.#webRtc.warmUp()]);
        return unreached;
      },
      openWebRtc: ({ line, peers }) => this.#webRtc.open(line, peers),
      answerOffer: async ({ line, sdp }) => this.#webRtc.answer(line, sdp),
      closeLine: async (line) => {
        this.#waiting.delete(line);
        await Promise.all([this.#webRtc.close(line), this.#calls.close(line)]);
      },
      openCall: ({ line, rateHz }) => this.#calls.open(line, rateHz),
      openSocket: ({ line, address, port }) => this.#calls.openSocket(line, address, port),
      closeSocket: ({ line, port }) => this.#calls.closeSocket(line, port),
      openMedia: ({ line, ports, codecs }) => this.#calls.openMedia(line, ports, codecs),
      agree: ({ line, agreement }) => this.#calls.agree(line, agreement),
      answered: (line) => this.#calls.answered(line),
      lineKeys: ({ line, keys }) => this.#calls.line(line)?.keys(keys),
      lineGone: ({ line, error }) => this.#calls.line(line)?.gone(error === null ? undefined : fromWire(error)),
      callFacts: async ({ line, areLast }) => this.#calls.facts(line, areLast),
      closeMedia: (line) => this.#calls.closeMedia(line),
      bridge: ({ bridge, first, second }) => this.#calls.bridge(bridge, first, second),
      unbridge: (bridge) => this.#calls.unbridge(bridge),
      voices: (all) => this.#stores.setVoices(all),
      openSession: ({ line, request }, signal) => this.#open(line, request, signal),
      openWaiting: ({ line, request }) => this.#openWaiting(line, request),
      startWaiting: (line) => this.#waiting.get(line)?.open(),
      sayWaiting: async ({ line, text }) => {
        const waiting = this.#waiting.get(line);
        return (text === null ? waiting?.beep() : waiting?.say(text)) ?? false;
      },
      hushWaiting: (line) => this.#waiting.get(line)?.hush(),
      tellWaiting: ({ line, place }) => this.#waiting.get(line)?.tell(place),
      closeWaiting: (line) => void this.#waiting.get(line)?.close(),
      runSession: (id) => void of(id)?.run(),
      closeSession: (id) => void of(id)?.close(),
      control: async ({ session, command, functions }, signal) => {
        const steered = of(session);
        if (steered === undefined) throw new ParleyError('SESSION_CLOSED');
        if (command.type === 'command.update' && command.changes.tools !== undefined) {
          command.changes.tools = [...command.changes.tools, ...this.#functions.of(functions)];
        }
        return steered.control(command, signal);
      },
      join: async ({ session: id, participant, rates }, signal) => {
        const session = of(id);
        if (session === undefined) throw new ParleyError('SESSION_CLOSED');
        await this.#participants.join(session, participant, rates, signal);
      },
      participantAudio: (what) => this.#participants.audio(what),
      participantGone: (what) => this.#participants.gone(what),
      endSession: ({ session, options }) => void of(session)?.end(options),
      tap: ({ session, side, on }) => this.#tap(session, side, on),
      sendText: ({ session, text }) => of(session)?.sendText(text),
      finish: ({ session, target }) => of(session)?.finish(target),
      noteFault: ({ session, name, reason }) => of(session)?.noteFault(name, reason),
      functionProgress: ({ run, text }) => this.#functions.progress(run, text),
      flushTrace: async (session) => this.#stores.traces?.flush(session) ?? false,
      close: () => this.#close(),
    };
  }

  /** A slow main thread loses frames here: none is sent before the last one has arrived. */
  #tap(id: string, side: Side, on: boolean): void {
    const key = `${id} ${side}`;
    this.#taps.get(key)?.abort();
    this.#taps.delete(key);
    const session = this.#sessions.get(id);
    if (!on || session === undefined) return;
    const abort = new AbortController();
    this.#taps.set(key, abort);
    const send = async (): Promise<void> => {
      for await (const frame of session.tap(side, { signal: abort.signal })) {
        await this.#main.ask('tapped', { session: id, frame }, { timeoutMs: TAP_MS, signal: abort.signal });
      }
    };
    send()
      .catch(() => undefined) // nobody reads any more
      .finally(() => {
        if (this.#taps.get(key) === abort) this.#taps.delete(key);
      });
  }

  /** @throws ParleyError SESSION_CLOSED */
  #transport(line: string): Transport {
    const transport = this.#webRtc.transport(line) ?? this.#calls.line(line);
    if (transport === null) throw new ParleyError('SESSION_CLOSED');
    return transport;
  }

  /** @returns the agent's language */
  async #openWaiting(line: string, request: RemoteWaitingRequest): Promise<string> {
    const main = this.#main;
    const waiting = await this.#engine.openWaiting({
      ...request,
      transport: this.#transport(line),
      events: {
        keys: (keys) => main.tell('waitingKeys', { line, keys }),
        words: (text) => main.tell('waitingWords', { line, text }),
        closed: () => main.tell('waitingClosed', line),
        fault: (name, reason) => main.tell('waitingFault', { line, name, reason }),
      },
    });
    this.#waiting.set(line, waiting);
    return waiting.language;
  }

  async #open(
    line: string,
    { asks, logs, functions, ...request }: RemoteSessionRequest,
    signal: AbortSignal,
  ): Promise<RemoteSession['record']> {
    const { id } = request;
    const main = this.#main;
    const transport = this.#waiting.get(line)?.line ?? this.#transport(line);
    const session = await this.#engine.createSession({
      ...request,
      tools: this.#functions.of(functions),
      transport,
      observe: (event) => {
        if (event.type !== 'ended') main.tell('event', { session: id, event });
      },
      log: logs ? (entry) => main.tell('log', { session: id, entry }) : undefined,
      mayTransfer: asks.mayTransfer
        ? (target) => main.ask('mayTransfer', { session: id, target }, { timeoutMs: PERMISSION_MS })
        : undefined,
      consult: asks.consult
        ? (about, until) => main.ask('consult', { session: id, about }, { timeoutMs: TRANSFER_MS, signal: until })
        : undefined,
    });
    this.#sessions.set(id, session);
    void session.finished.then((report) => {
      this.#sessions.delete(id);
      main.tell('finished', report);
      void this.#webRtc.close(line); // a phone call's line may have been transferred: its signalling ends it
    });
    const record = this.#records.get(id);
    this.#records.delete(id);
    if (record !== undefined && !signal.aborted) return record;
    await session.close(); // it is no longer needed
    throw new ParleyError('SESSION_CLOSED');
  }

  async #close(): Promise<void> {
    await this.#engine.close();
    await Promise.all([this.#webRtc.closeAll(), this.#calls.closeAll()]);
    await this.#stores.close();
  }
}
