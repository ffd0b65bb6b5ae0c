import type { QueueSettings } from '../../agent/extensions/queue.js';
import { type Clock, delay } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import { reasonOf } from '../../base/errors.js';
import type { Engine } from '../../engine/engine.js';
import type { AgentRequest } from '../../engine/options.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { WaitingCaller } from '../../engine/waiting.js';
import type { QueueExit } from '../../session/record/call-history.js';
import type { CallRefusal, CarrierCall } from '../../telephony/carriers/carrier.js';
import { filledText, type Outlook, queuePhrasesFor, type QueuePhrases } from './queue-phrases.js';
import type { QueuePlace } from './waiting-list.js';

export interface WaitingCallOptions extends QueuePlace {
  call: CarrierCall<SessionLine>;
  settings: QueueSettings;
  /** The agent that will answer: it lends its voice. */
  request: AgentRequest;
  engine: Pick<Engine, 'clock' | 'openWaiting'>;
  /** Takes a session for it, before anybody else can. */
  take: () => void;
  /** Its place and the estimated wait. */
  outlook: (call: WaitingCall) => Outlook;
  onFault: (reason: string) => void;
}

/** Deadline for a carrier to connect a call that is answered, and to end one whose line has closed. */
const CONNECT_MS = 10_000;
const HANG_UP_MS = 5_000;
const EVERY_S = 45;

/** A caller who waits for a session: rings, then hears music and announcements. */
export class WaitingCall implements QueuePlace {
  readonly id: string;
  readonly queueId: string;
  readonly sinceMs: number;
  priority: number;
  readonly call: CarrierCall<SessionLine>;
  readonly #options: WaitingCallOptions;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #left: Promise<QueueExit>;
  #leave!: (exit: QueueExit) => void;
  #exit: QueueExit | null = null;
  #caller: (WaitingCaller & { readonly line: SessionLine }) | null = null;
  #phrases: QueuePhrases = queuePhrasesFor('en');
  readonly #ended: Promise<void>;

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
    this.#ended = ended(call);
    void this.#ended.then(() => this.leave('abandoned'));
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
    this.#leave(exit);
  }

  /** Waits for `leave`. Never rejects. */
  async wait(): Promise<QueueExit> {
    const { ring } = this.#options.settings;
    if (ring != null && ring > 0) await this.#pause(ring * 1000);
    if (this.#exit === null) await this.#pickUp();
    if (this.#exit === null) void this.#entertain();
    return this.#left;
  }

  /** Says a last text, if the caller can hear it, and ends the call. */
  async end(refusal: CallRefusal, text: (phrases: QueuePhrases) => string): Promise<void> {
    const caller = this.#caller;
    if (caller === null || this.call.state !== 'answered') this.call.hangUp(refusal);
    else {
      caller.hush();
      await Promise.race([caller.say(text(this.#phrases)), this.#ended]);
      await caller.close();
      await waitAtMost(this.#clock, HANG_UP_MS, this.#ended);
      this.call.hangUp();
    }
    const { recorded } = this.call;
    if (recorded !== undefined) await waitAtMost(this.#clock, HANG_UP_MS, recorded);
  }

  /** The caller hears music from the answer on. */
  async #pickUp(): Promise<void> {
    const { call, request, settings, engine, onFault } = this.#options;
    const clock = this.#clock;
    try {
      const opening = engine.openWaiting({
        ...request,
        transport: call.line,
        music: settings.music ?? null,
        volume: settings.music_volume ?? 1,
        phrases: [],
        events: {
          keys: () => undefined,
          words: () => undefined,
          closed: () => this.leave('abandoned'),
          fault: (name, reason) => onFault(`${name}: ${reason}`),
        },
      });
      // Virtual time waits for the preparation, which is work of the machine.
      this.#caller = await clock.settle(opening, clock.nowMs());
    } catch (error) {
      onFault(reasonOf(error));
      this.leave('failed');
      return;
    }
    this.#phrases = queuePhrasesFor(this.#caller.language);
    if (this.#exit !== null) return;
    const connected = answered(call);
    call.answer();
    await waitAtMost(clock, CONNECT_MS, Promise.race([connected, this.#left]));
    if (this.#exit !== null) return;
    if (call.state === 'answered') this.#caller.open();
    else this.leave('failed');
  }

  /** Announcements between the music, until the wait is over. */
  async #entertain(): Promise<void> {
    const everyMs = (this.#options.settings.announcements?.every ?? EVERY_S) * 1000;
    for (let round = 0; this.#exit === null; round++) {
      const text = round === 0 ? this.#greeting() : this.#announcement(round);
      await this.#caller?.say(filledText(text, this.#options.outlook(this), this.#phrases));
      await this.#pause(everyMs);
    }
  }

  #greeting(): string {
    const { greeting } = this.#options.settings;
    return greeting ?? [this.#phrases.greeting, this.#standing()].join(' ');
  }

  #announcement(round: number): string {
    const messages = this.#options.settings.announcements?.messages ?? [];
    return [this.#standing(), messages[(round - 1) % messages.length] ?? ''].join(' ');
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

function answered(call: CarrierCall<SessionLine>): Promise<void> {
  return new Promise((resolve) => {
    call.onState((state) => {
      if (state === 'answered') resolve();
    });
    if (call.state === 'answered') resolve();
  });
}

function ended(call: CarrierCall<SessionLine>): Promise<void> {
  return new Promise((resolve) => {
    call.onState((state) => {
      if (state === 'ended') resolve();
    });
    if (call.state === 'ended') resolve();
  });
}
