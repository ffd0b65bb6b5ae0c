import type { QueueExitSettings, QueueSettings } from '../../agent/extensions/queue.js';
import { type Clock, delay } from '../../base/clock.js';
import { abortAfter, raceAbort, waitAtMost } from '../../base/deadlines.js';
import { reasonOf } from '../../base/errors.js';
import type { Engine } from '../../engine/engine.js';
import type { AgentRequest } from '../../engine/options.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { WaitingCaller } from '../../engine/waiting.js';
import type { QueueExit } from '../../session/record/call-history.js';
import type { CallRecord, CallRefusal, CarrierCall } from '../../telephony/carriers/carrier.js';
import type { PlaceInQueue } from '../../transports/transport.js';
import type { MayTransfer } from '../../session/line/line-actions.js';
import { CallbackMenu } from './callback-menu.js';
import { filledText, type Outlook, queuePhrasesFor, type QueuePhrases } from './queue-phrases.js';
import type { QueuePlace } from './waiting-list.js';

/** A call in a queue: from a phone network, or of a web client. */
export interface QueuedCall extends Pick<
  CarrierCall<SessionLine>,
  'from' | 'to' | 'line' | 'state' | 'end' | 'onState' | 'answer' | 'hangUp' | 'recorded'
> {
  /** The carrier's; null = there is none. */
  record(): CallRecord | null;
  /** Its client shows where it stands. */
  readonly isWeb?: true;
  /** The line has closed, for calls that do not notice it themselves. */
  lineClosed?(): void;
}

export interface WaitingCallOptions extends QueuePlace {
  call: QueuedCall;
  settings: QueueSettings;
  /** The agent that will answer: it lends its voice. */
  request: AgentRequest;
  engine: Pick<Engine, 'clock' | 'openWaiting'>;
  /** Takes a session for it, before anybody else can. */
  take: () => void;
  /** Its place and the estimated wait. */
  outlook: (call: WaitingCall) => Outlook;
  /** Why the caller must not be connected to a number; null = they may be. */
  mayTransfer: MayTransfer;
  /** Reads a number that may be called back; null = the text is none. */
  readNumber: (text: string) => Promise<string | null>;
  /** Promises a call back. Returns false if there can be none. */
  promise: (number: string) => Promise<boolean>;
  onFault: (reason: string) => void;
}

/** Deadline for a carrier to connect a call that is answered, and to end one whose line has closed. */
const CONNECT_MS = 10_000;
const HANG_UP_MS = 5_000;
const EVERY_S = 45;
const MAX_WAIT_S = 1800;
/** Longest ringing of a number that an overflowing call is connected to. */
const TRANSFER_MS = 60_000;

/** A caller who waits for a session: rings, then hears music and announcements. */
export class WaitingCall implements QueuePlace {
  readonly id: string;
  readonly queueId: string;
  readonly sinceMs: number;
  priority: number;
  readonly call: QueuedCall;
  readonly #options: WaitingCallOptions;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #left: Promise<QueueExit>;
  #leave!: (exit: QueueExit) => void;
  #exit: QueueExit | null = null;
  #isOpen = false;
  #caller: (WaitingCaller & { readonly line: SessionLine }) | null = null;
  #phrases: QueuePhrases = queuePhrasesFor('en');
  readonly #ended: Promise<void>;
  readonly #menu: CallbackMenu | null;
  /** What its client was told last. */
  #told = '';

  constructor(options: WaitingCallOptions) {
    const { id, queueId, sinceMs, priority, call, engine } = options;
    this.id = id;
    this.queueId = queueId;
    this.sinceMs = sinceMs;
    this.priority = priority;
    this.call = call;
    this.#options = options;
    this.#clock = engine.clock;
    this.#left = new Promise((resolve) => (this.#leave = resolve));
    this.#menu = this.#newMenu();
    this.#ended = ended(call);
    void this.#ended.then(() => this.leave('abandoned'));
  }

  get settings(): QueueSettings {
    return this.#options.settings;
  }

  /** How it has left the queue; null = it waits. */
  get exit(): QueueExit | null {
    return this.#exit;
  }

  /** The line for the session of a call that is answered by an agent. */
  get line(): SessionLine {
    return this.#caller?.line ?? this.call.line;
  }

  /** A session is free. Returns whether the call takes it. */
  answer(): boolean {
    if (this.#exit !== null) return false;
    this.#options.take();
    this.leave('answered');
    return true;
  }

  /** Ends the wait. The first reason counts. */
  leave(exit: QueueExit): void {
    if (this.#exit !== null) return;
    this.#exit = exit;
    this.#over.abort();
    this.#menu?.close();
    this.#leave(exit);
  }

  /** Tells a web client where it stands, if that has changed. */
  tellPlace(): void {
    if (this.call.isWeb !== true || !this.#isOpen || this.#exit !== null) return;
    const { position, waitMs } = this.#options.outlook(this);
    this.#tell({ position, waitS: waitMs === null ? null : 60 * Math.max(1, Math.ceil(waitMs / 60_000)), left: null });
  }

  #tell(place: PlaceInQueue): void {
    const told = JSON.stringify(place);
    if (told !== this.#told) this.#caller?.tell(place);
    this.#told = told;
  }

  /** Waits for `leave`. Never rejects. */
  async wait(): Promise<QueueExit> {
    const { ring, max_wait: mostS } = this.#options.settings;
    const cancel = this.#clock.schedule(this.sinceMs + (mostS ?? MAX_WAIT_S) * 1000, () => this.leave('overflow'));
    void this.#left.then(cancel);
    if (ring != null && ring > 0) await this.#pause(ring * 1000);
    if (this.#exit === null && !(await this.#pickUp(this.#left))) this.leave('failed');
    if (this.#exit === null) void this.#entertain();
    return this.#left;
  }

  /**
   * Does with a call that leaves what the settings say. Never rejects.
   * @param stock a text where they have none
   * @returns how it has left; `voicemail`: its line waits for the session that records
   */
  async depart(
    exit: QueueExit,
    { action, phone, message }: QueueExitSettings,
    stock: (phrases: QueuePhrases) => string,
  ): Promise<QueueExit> {
    if (exit === 'failed') return this.#hangUp('failed', exit);
    if (action !== 'refuse' && !(await this.#pickUp(this.#ended))) {
      return this.#hangUp('failed', this.call.end === null ? 'failed' : 'abandoned');
    }
    const caller = this.#caller;
    if (caller === null || this.call.state !== 'answered') return this.#hangUp(refusalOf(exit), exit);
    caller.hush();
    const phrases = this.#phrases;
    if (action === 'voicemail') {
      await this.#hears(message ?? phrases.leaveMessage);
      if (await Promise.race([caller.beep(), this.#ended.then(() => false)])) return 'voicemail';
      return this.#hangUp('full', 'abandoned');
    }
    if (action === 'transfer' && phone != null) {
      if (message != null) await this.#hears(message);
      if (await this.#transfer(caller, phone)) return this.#hangUp('full', 'transferred');
      await this.#hears(stock(phrases));
    } else await this.#hears(message ?? stock(phrases));
    return this.#hangUp('full', exit);
  }

  async #hears(text: string): Promise<void> {
    await Promise.race([this.#caller?.say(text), this.#ended]);
  }

  async #transfer(caller: WaitingCaller, target: string): Promise<boolean> {
    const { mayTransfer, onFault } = this.#options;
    try {
      const refusal = await mayTransfer(target);
      if (refusal !== null) throw new Error(`the call may not be connected to ${target}: ${refusal}`);
      const { signal, cancel } = abortAfter(this.#clock, TRANSFER_MS);
      const outcome = await raceAbort(caller.transfer(target, signal), signal).finally(cancel);
      if (!outcome.ok) onFault(`the call could not be connected to ${target}: ${outcome.reason}`);
      return outcome.ok;
    } catch (error) {
      onFault(reasonOf(error));
      return false;
    }
  }

  /** Ends the call, and waits for its end. */
  async #hangUp(refusal: CallRefusal, exit: QueueExit): Promise<QueueExit> {
    if (this.#caller !== null && this.call.state === 'answered') {
      if (this.call.isWeb === true) this.#tell({ position: 0, waitS: null, left: exit });
      // What was said is heard to its end.
      await this.#caller.close();
      await waitAtMost(this.#clock, HANG_UP_MS, this.#ended);
    }
    this.call.hangUp(refusal);
    const { recorded } = this.call;
    if (recorded !== undefined) await waitAtMost(this.#clock, HANG_UP_MS, recorded);
    return exit;
  }

  /**
   * Answers the call: the caller hears music from then on. Does nothing if it is answered.
   * @param until gives up when this resolves
   * @returns whether the caller can hear
   */
  async #pickUp(until: Promise<unknown>): Promise<boolean> {
    const { call, request, settings, engine, onFault } = this.#options;
    const clock = this.#clock;
    if (this.#isOpen) return call.state === 'answered';
    if (call.state === 'ended') return false;
    try {
      const opening = engine.openWaiting({
        ...request,
        transport: call.line,
        music: settings.music ?? null,
        volume: settings.music_volume ?? 1,
        phrases: settings.callback?.phrases ?? [],
        events: {
          keys: (keys) => {
            if (this.#exit === null) this.#menu?.keys(keys);
          },
          words: (text) => {
            if (this.#exit === null) this.#menu?.words(text);
          },
          closed: () => {
            call.lineClosed?.();
            this.leave('abandoned');
          },
          fault: (name, reason) => onFault(`${name}: ${reason}`),
        },
      });
      // Virtual time waits for the preparation, which is work of the machine.
      this.#caller ??= await clock.settle(opening, clock.nowMs());
    } catch (error) {
      onFault(reasonOf(error));
      return false;
    }
    this.#phrases = queuePhrasesFor(this.#caller.language);
    const connected = answered(call);
    call.answer();
    await waitAtMost(clock, CONNECT_MS, Promise.race([connected, until]));
    // A call whose turn has come is connected by its session.
    if (call.state !== 'answered') return this.#exit === 'answered';
    this.#isOpen = true;
    if (this.#exit !== 'answered') this.#caller.open();
    return true;
  }

  #newMenu(): CallbackMenu | null {
    const { settings, call, readNumber, promise } = this.#options;
    const { callback } = settings;
    if (callback == null) return null;
    const say = (text: string): void => {
      this.#caller?.hush();
      void this.#caller?.say(text);
    };
    const confirmed = async (number: string): Promise<void> => {
      if (await promise(number)) this.leave('callback');
      else say(this.#phrases.refused);
    };
    return new CallbackMenu({
      clock: this.#clock,
      settings: callback,
      phrases: () => this.#phrases,
      own: () => readNumber(call.from),
      read: readNumber,
      say,
      confirmed: (number) => void confirmed(number),
    });
  }

  /** Announcements between the music, until the wait is over. */
  async #entertain(): Promise<void> {
    this.tellPlace();
    const everyMs = (this.#options.settings.announcements?.every ?? EVERY_S) * 1000;
    for (let round = 0; this.#exit === null; round++) {
      const text = round === 0 ? this.#greeting() : this.#announcement(round);
      const isAsked = this.#menu?.isOpen ?? false;
      if (!isAsked) await this.#caller?.say(filledText(text, this.#options.outlook(this), this.#phrases));
      await this.#pause(everyMs);
    }
  }

  #greeting(): string {
    const { greeting } = this.#options.settings;
    return `${greeting ?? [this.#phrases.greeting, this.#standing()].join(' ')} ${this.#offer()}`;
  }

  #announcement(round: number): string {
    const messages = this.#options.settings.announcements?.messages ?? [];
    return [this.#standing(), messages[(round - 1) % messages.length] ?? '', this.#offer()].join(' ');
  }

  #offer(): string {
    const { callback } = this.#options.settings;
    return callback == null ? '' : this.#phrases.offer.replace('{key}', callback.key ?? '1');
  }

  #standing(): string {
    const { position = true, wait = true } = this.#options.settings.announcements ?? {};
    const phrases = this.#phrases;
    return [position === false ? '' : phrases.position, wait === false ? '' : phrases.wait].join(' ');
  }

  /** Resolves after a while, or when the wait is over. */
  async #pause(ms: number): Promise<void> {
    await delay(this.#clock, ms, this.#over.signal).catch(() => undefined);
  }
}

function refusalOf(exit: QueueExit): CallRefusal {
  return exit === 'closed' ? 'unavailable' : exit === 'failed' ? 'failed' : 'full';
}

function answered(call: QueuedCall): Promise<void> {
  return new Promise((resolve) => {
    call.onState((state) => {
      if (state === 'answered') resolve();
    });
    if (call.state === 'answered') resolve();
  });
}

function ended(call: QueuedCall): Promise<void> {
  return new Promise((resolve) => {
    call.onState((state) => {
      if (state === 'ended') resolve();
    });
    if (call.state === 'ended') resolve();
  });
}
