import { type Clock, delay } from '../../../../src/clock/clock.js';
import { FarCall, type FarCallFacts } from '../far-call.js';
import type { TwilioDouble } from './double.js';
import { DoubleStream } from './stream.js';
import { readTwiml, type Verb } from './twiml-reader.js';

export type DoubleStatus =
  'queued' | 'initiated' | 'ringing' | 'in-progress' | 'completed' | 'busy' | 'failed' | 'no-answer' | 'canceled';

const OVER: readonly DoubleStatus[] = ['completed', 'busy', 'failed', 'no-answer', 'canceled'];
/** Twilio's own time from one verb to the next. */
const VERB_MS = 60;
/** Twilio notices a broken socket after this. */
const NOTICE_MS = 500;
const KEY_MS = 250;
const STATUS_EVENTS: Partial<Record<DoubleStatus, string>> = {
  initiated: 'initiated',
  ringing: 'ringing',
  'in-progress': 'answered',
};

export interface DoubleCallFacts extends FarCallFacts {
  direction: 'inbound' | 'outbound-api' | 'outbound-dial';
  statusCallback: string | null;
  statusEvents: readonly string[];
  sipCode?: string;
}

/** A call at Twilio: its status, and the TwiML that it is at. */
export class DoubleCall extends FarCall<DoubleCallFacts> {
  status: DoubleStatus = 'queued';
  stream: DoubleStream | null = null;
  /** The call or conference room that its sound goes to and comes from, in place of TwiML's. */
  bridged: DoubleCall | null = null;
  room: string | null = null;
  machineDetection: { mode: string; url: string } | null = null;
  readonly errors: string[] = [];
  readonly #double: TwilioDouble;
  readonly #clock: Clock;
  #sequence = 0;
  /** Grows with each document: what an earlier one still does is of no effect. */
  #document = 0;
  #sipCode = '';

  constructor(double: TwilioDouble, clock: Clock, facts: DoubleCallFacts) {
    super(facts);
    this.#double = double;
    this.#clock = clock;
  }

  get isOver(): boolean {
    return OVER.includes(this.status);
  }

  enter(status: DoubleStatus, sipCode = ''): void {
    if (this.isOver) return;
    this.status = status;
    this.#sipCode = sipCode;
    const event = this.isOver ? 'completed' : STATUS_EVENTS[status];
    const { statusCallback, statusEvents } = this.facts;
    if (statusCallback !== null && event !== undefined && (statusEvents.includes(event) || event === 'completed')) {
      void this.#double.post(statusCallback, this.form(), this.facts.direction === 'outbound-dial' ? 'answer' : status);
    }
    if (!this.isOver) return;
    this.#document++;
    this.stream?.stop();
    this.stream = null;
    this.#leave();
    this.tellOver();
  }

  hangUp(): void {
    this.enter('completed');
  }

  /** Fields of a webhook about this call. */
  form(more: Record<string, string> = {}): Record<string, string> {
    const { id, from, to, direction } = this.facts;
    return {
      ...{ CallSid: id, AccountSid: this.#double.accountSid, From: from, To: to, Direction: direction },
      ...{ CallStatus: this.status, ApiVersion: '2010-04-01', SequenceNumber: String(this.#sequence++) },
      ...(this.isOver && { CallDuration: '1', Timestamp: 'Sun, 22 Nov 2026 00:00:00 +0000' }),
      ...(this.#sipCode !== '' && { SipResponseCode: this.#sipCode }),
      ...more,
    };
  }

  /** Goes on with another document, whatever it is at. */
  run(text: string): void {
    let verbs: Verb[];
    try {
      verbs = readTwiml(text);
    } catch (error) {
      this.errors.push(String(error));
      this.enter('failed');
      return;
    }
    const document = ++this.#document;
    this.stream?.stop();
    this.stream = null;
    this.#leave();
    void this.#do(verbs, document);
  }

  tick(): void {
    this.stream?.tick();
    const { person } = this.facts;
    if (this.bridged !== null) this.bridged.facts.person.hear(person.speak());
    if (this.room !== null) {
      for (const other of this.#double.inRoom(this.room)) if (other !== this) other.facts.person.hear(person.speak());
    }
  }

  /** The socket breaks off: the network's fault. */
  breakSocket(): void {
    this.stream?.break();
    this.stream = null;
    const document = this.#document;
    this.#clock.schedule(this.#clock.nowMs() + NOTICE_MS, () => this.#resume(document));
  }

  #resume: (document: number) => void = () => undefined;

  async #do(verbs: readonly Verb[], document: number): Promise<void> {
    for (const verb of verbs) {
      await delay(this.#clock, VERB_MS);
      if (this.#document !== document) return;
      switch (verb.name) {
        case 'Connect':
          await this.#connect(verb.nouns[0], document);
          break;
        case 'Play':
          for (const key of verb.attributes['digits'] ?? '') {
            await delay(this.#clock, key === 'w' ? 500 : KEY_MS);
            if (key !== 'w') this.facts.person.keys += key;
          }
          break;
        case 'Redirect':
          this.run(await this.#double.post(verb.text, this.form(), 'redirect'));
          return;
        case 'Dial':
          await this.#dial(verb, document);
          if (this.#document !== document) return;
          break;
        case 'Reject':
          this.enter('busy');
          return;
        case 'Hangup':
          this.enter('completed');
          return;
      }
      if (this.#document !== document) return;
    }
    this.enter('completed');
  }

  async #connect(noun: Verb | undefined, document: number): Promise<void> {
    const url = noun?.attributes['url'] ?? '';
    if (!url.startsWith('wss:') || url.includes('?')) {
      this.errors.push(`31921: ${url} is no address for a stream`);
      return;
    }
    const socket = await this.#double.open(url);
    if (socket === null || this.#document !== document) {
      if (socket === null) this.errors.push('31920: stream - websocket - handshake error');
      socket?.close();
      return;
    }
    await new Promise<void>((resolve) => {
      this.#resume = (of) => {
        if (of === document) resolve();
      };
      const { accountSid } = this.#double;
      const facts = { accountSid, callSid: this.facts.id, streamSid: this.#double.sid('MZ') };
      this.stream = new DoubleStream(socket, facts, this.facts.person, resolve);
      this.onOver(resolve);
    });
    if (this.#document === document) this.stream = null;
  }

  async #dial({ attributes, nouns, text }: Verb, document: number): Promise<void> {
    const noun = nouns[0];
    if (noun?.name === 'Conference') {
      this.room = noun.text;
      await new Promise<void>((resolve) => this.onOver(resolve));
      return;
    }
    const child = this.#double.dial({
      from: attributes['callerId'] ?? this.facts.from,
      to: noun?.text ?? text,
      timeoutMs: Number(attributes['timeout'] ?? 30) * 1000,
      statusCallback: noun?.attributes['statusCallback'] ?? null,
      statusEvents: (noun?.attributes['statusCallbackEvent'] ?? '').split(' '),
      onAnswered: (answered) => {
        this.bridged = answered;
        answered.bridged = this;
      },
    });
    this.onOver(() => child.enter(child.status === 'in-progress' ? 'completed' : 'canceled'));
    await new Promise<void>((resolve) => child.onOver(resolve));
    this.bridged = null;
    if (this.#document !== document) {
      child.enter('canceled');
      return;
    }
    const action = attributes['action'];
    if (action === undefined) return;
    const more = { DialCallStatus: child.status, DialCallSid: child.facts.id, DialSipResponseCode: child.#sipCode };
    this.run(await this.#double.post(action, this.form(more), 'dial'));
  }

  /** Out of whatever room or bridge it is in; a room without this caller is over for the others. */
  #leave(): void {
    this.bridged = null;
    const { room } = this;
    this.room = null;
    if (room !== null) for (const other of this.#double.inRoom(room)) other.enter('completed');
  }
}
