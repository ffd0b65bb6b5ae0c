import { type Clock, delay } from '../../../../src/base/clock.js';
import { type AfterVerb, DocumentCall } from '../document-call.js';
import type { FarCallFacts } from '../far-call.js';
import type { Verb } from '../xml-reader.js';
import type { TwilioDouble } from './double.js';
import { DoubleStream } from './stream.js';
import { readTwiml } from './twiml-reader.js';

export type DoubleStatus =
  'queued' | 'initiated' | 'ringing' | 'in-progress' | 'completed' | 'busy' | 'failed' | 'no-answer' | 'canceled';

const OVER: readonly DoubleStatus[] = ['completed', 'busy', 'failed', 'no-answer', 'canceled'];
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
export class DoubleCall extends DocumentCall<DoubleCallFacts> {
  status: DoubleStatus = 'queued';
  machineDetection: { mode: string; url: string } | null = null;
  readonly #double: TwilioDouble;
  #sequence = 0;
  #sipCode = '';

  constructor(double: TwilioDouble, clock: Clock, facts: DoubleCallFacts) {
    super(clock, facts);
    this.#double = double;
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
    this.leaveAll();
    this.tellOver();
  }

  hangUp(): void {
    this.enter('completed');
  }

  /** Fields of a webhook about this call. */
  form(more: Record<string, string> = {}): Record<string, string> {
    const { id, from, to, direction } = this.facts;
    return {
      CallSid: id,
      AccountSid: this.#double.accountSid,
      From: from,
      To: to,
      Direction: direction,
      CallStatus: this.status,
      ApiVersion: '2010-04-01',
      SequenceNumber: String(this.#sequence++),
      ...(this.isOver && { CallDuration: '1', Timestamp: 'Sun, 22 Nov 2026 00:00:00 +0000' }),
      ...(this.#sipCode !== '' && { SipResponseCode: this.#sipCode }),
      ...more,
    };
  }

  protected read(text: string): Verb[] {
    return readTwiml(text);
  }

  protected brokenDocument(): void {
    this.enter('failed');
  }

  protected inRoom(room: string): DoubleCall[] {
    return this.#double.inRoom(room);
  }

  protected ranOut(): void {
    this.enter('completed');
  }

  protected roomClosed(): void {
    this.enter('completed');
  }

  protected async does(verb: Verb, isCurrent: () => boolean): Promise<AfterVerb> {
    switch (verb.name) {
      case 'Connect':
        await this.#connect(verb.nouns[0], isCurrent);
        return 'on';
      case 'Play':
        for (const key of verb.attributes['digits'] ?? '') {
          await delay(this.clock, key === 'w' ? 500 : KEY_MS);
          if (key !== 'w') this.person.keys += key;
        }
        return 'on';
      case 'Redirect':
        this.run(await this.#double.post(verb.text, this.form(), 'redirect'));
        return 'away';
      case 'Dial':
        return this.#dial(verb, isCurrent);
      case 'Reject':
        this.refusal = verb.attributes['reason'] === 'busy' ? 'busy' : 'rejected';
        this.enter(this.refusal === 'busy' ? 'busy' : 'no-answer');
        return 'away';
      default:
        this.enter('completed');
        return 'away';
    }
  }

  async #connect(noun: Verb | undefined, isCurrent: () => boolean): Promise<void> {
    const url = noun?.attributes['url'] ?? '';
    if (!url.startsWith('wss:') || url.includes('?')) {
      this.errors.push(`31921: ${url} is no address for a stream`);
      return;
    }
    const socket = await this.#double.open(url);
    if (socket === null || !isCurrent()) {
      if (socket === null) this.errors.push('31920: stream - websocket - handshake error');
      socket?.close();
      return;
    }
    const facts = { accountSid: this.#double.accountSid, callSid: this.id, streamSid: this.#double.sid('MZ') };
    await this.streaming((onClosed) => new DoubleStream(socket, facts, this.person, onClosed), isCurrent);
  }

  async #dial({ attributes, nouns, text }: Verb, isCurrent: () => boolean): Promise<AfterVerb> {
    const noun = nouns[0];
    if (noun?.name === 'Conference') {
      await this.meeting(noun.text);
      return 'away';
    }
    const child = this.#double.dial({
      from: attributes['callerId'] ?? this.from,
      to: noun?.text ?? text,
      timeoutMs: Number(attributes['timeout'] ?? 30) * 1000,
      statusCallback: noun?.attributes['statusCallback'] ?? null,
      statusEvents: (noun?.attributes['statusCallbackEvent'] ?? '').split(' '),
      onAnswered: (answered) => this.bridge(answered),
    });
    this.onLeave(() => child.enter(child.status === 'in-progress' ? 'completed' : 'canceled'));
    await new Promise<void>((resolve) => child.onOver(resolve));
    this.bridged = null;
    if (!isCurrent()) {
      child.enter('canceled');
      return 'away';
    }
    const action = attributes['action'];
    if (action === undefined) return 'on';
    const more = { DialCallStatus: child.status, DialCallSid: child.id, DialSipResponseCode: child.#sipCode };
    this.run(await this.#double.post(action, this.form(more), 'dial'));
    return 'away';
  }
}
