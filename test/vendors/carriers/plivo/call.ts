import { type Clock, delay } from '../../../../src/base/clock.js';
import { type AfterVerb, DocumentCall } from '../document-call.js';
import type { FarCallFacts } from '../far-call.js';
import type { Verb } from '../xml-reader.js';
import type { PlivoDouble } from './double.js';
import { PlivoStream } from './stream.js';
import { readPlivoXml } from './xml.js';

export type PlivoStatus =
  'queued' | 'ringing' | 'in-progress' | 'completed' | 'busy' | 'failed' | 'timeout' | 'no-answer' | 'cancel';

/** Why a call is over (docs.plivo.com/docs/voice/troubleshooting/hangup-causes), and the status that it ends in. */
export interface Cause {
  status: PlivoStatus;
  cause: string;
  code: string;
  name: string;
  source: string;
}

const NORMAL = { status: 'completed', cause: 'NORMAL_CLEARING', code: '4000', name: 'Normal Hangup' } as const;
export const CAUSES = {
  caller: { ...NORMAL, source: 'Caller' },
  callee: { ...NORMAL, source: 'Callee' },
  api: { ...NORMAL, source: 'API Request' },
  xml: { ...NORMAL, source: 'Answer XML' },
  ranOut: { ...NORMAL, code: '4010', name: 'End Of XML Instructions', source: 'Plivo' },
  canceled: { status: 'cancel', cause: 'ORIGINATOR_CANCEL', code: '1000', name: 'Canceled', source: 'API Request' },
  busy: { status: 'busy', cause: 'USER_BUSY', code: '3010', name: 'Busy Line', source: 'Carrier' },
  rejected: { status: 'failed', cause: 'CALL_REJECTED', code: '3020', name: 'Rejected', source: 'Carrier' },
  rangOut: { status: 'no-answer', cause: 'NO_ANSWER', code: '6010', name: 'Ring Timeout Reached', source: 'Plivo' },
  nobody: {
    status: 'failed',
    cause: 'UNALLOCATED_NUMBER',
    code: '2000',
    name: 'Invalid Destination Address',
    source: 'Carrier',
  },
  noXml: { status: 'completed', cause: 'NORMAL_CLEARING', code: '8011', name: 'Invalid Answer XML', source: 'Error' },
} as const satisfies Record<string, Cause>;

/** Plivo tries so often to open a media socket, so far apart. */
const TRIES = 3;
const TRY_MS = 500;

export interface PlivoCallFacts extends FarCallFacts {
  direction: 'inbound' | 'outbound';
  /** Of the request for it; null for a call that comes in. */
  requestId: string | null;
  ringUrl: string | null;
  hangupUrl: string | null;
}

/** A call at Plivo: its status, and the XML that it is at. */
export class PlivoCall extends DocumentCall<PlivoCallFacts> {
  status: PlivoStatus = 'queued';
  cause: Cause | null = null;
  transfers = 0;
  /** Where it goes when its stream is over. */
  sentTo: string | null = null;
  readonly #double: PlivoDouble;

  constructor(double: PlivoDouble, clock: Clock, facts: PlivoCallFacts) {
    super(clock, facts);
    this.#double = double;
  }

  get isOver(): boolean {
    return this.cause !== null;
  }

  ring(): void {
    if (this.isOver) return;
    this.status = 'ringing';
    const { ringUrl } = this.facts;
    if (ringUrl !== null) void this.#double.post(ringUrl, this.form({ Event: 'Ring' }), 'ring');
  }

  end(cause: Cause): void {
    if (this.isOver) return;
    this.cause = cause;
    this.status = this.facts.direction === 'inbound' ? 'completed' : cause.status;
    const { hangupUrl } = this.facts;
    if (hangupUrl !== null) void this.#double.post(hangupUrl, this.form({ Event: 'Hangup' }), 'hangup');
    this.leaveAll();
    this.tellOver();
  }

  hangUp(): void {
    this.end(this.facts.direction === 'inbound' ? CAUSES.caller : CAUSES.callee);
  }

  /** Fields of a callback about this call. */
  form(more: Record<string, string> = {}): Record<string, string> {
    const { id, from, to, direction, requestId } = this.facts;
    const { cause } = this;
    return {
      CallUUID: id,
      From: bare(from),
      To: bare(to),
      Direction: direction,
      CallStatus: this.status,
      ParentAuthID: this.#double.authId,
      BillRate: '0.0085',
      SessionStart: '2026-11-22 00:00:00.000000',
      ...(requestId !== null && { RequestUUID: requestId, ALegRequestUUID: requestId, ALegUUID: id }),
      ...(cause !== null && {
        HangupCause: cause.cause,
        HangupCauseCode: cause.code,
        HangupCauseName: cause.name,
        HangupSource: cause.source,
        Duration: '1',
        BillDuration: '60',
        TotalCost: '0.00850',
      }),
      ...more,
    };
  }

  protected read(text: string): Verb[] {
    return readPlivoXml(text);
  }

  protected brokenDocument(): void {
    this.end(CAUSES.noXml);
  }

  protected inRoom(room: string): PlivoCall[] {
    return this.#double.inRoom(room);
  }

  protected ranOut(): void {
    this.end(CAUSES.ranOut);
  }

  /** Nothing comes behind the conference. */
  protected roomClosed(): void {
    this.end(CAUSES.ranOut);
  }

  protected async does(verb: Verb, isCurrent: () => boolean): Promise<AfterVerb> {
    switch (verb.name) {
      case 'Stream':
        await this.#stream(verb, isCurrent);
        return this.#goOn(isCurrent);
      case 'Redirect':
        this.run(await this.#double.post(verb.text, this.form({ Event: 'Redirect' }), 'redirect'));
        return 'away';
      case 'Dial':
        return this.#dial(verb, isCurrent);
      case 'Conference':
        await this.meeting(verb.text);
        return 'away';
      default:
        if (verb.attributes['reason'] !== undefined) {
          this.refusal = verb.attributes['reason'] === 'busy' ? 'busy' : 'rejected';
        }
        this.end(verb.attributes['reason'] === 'busy' ? { ...CAUSES.busy, source: 'Answer XML' } : CAUSES.xml);
        return 'away';
    }
  }

  async #stream({ attributes, text: url }: Verb, isCurrent: () => boolean): Promise<void> {
    const isTwoWay = attributes['bidirectional'] === 'true' && attributes['keepCallAlive'] === 'true';
    if (!isTwoWay || attributes['contentType'] !== 'audio/x-mulaw;rate=8000' || !/^wss:\S+$/.test(url)) {
      this.errors.push(`${url} is no address for a stream both ways`);
      return;
    }
    let socket = null;
    for (let tries = 0; tries < TRIES && socket === null && isCurrent(); tries++) {
      if (tries > 0) await delay(this.clock, TRY_MS);
      socket = await this.#double.open(url);
    }
    if (socket === null || !isCurrent()) {
      if (socket === null) this.errors.push('the stream was dropped: connection error');
      socket?.close();
      return;
    }
    const facts = { accountId: this.#double.authId, callId: this.id, streamId: this.#double.uuid() };
    const opened = socket;
    await this.streaming((onClosed) => new PlivoStream(opened, facts, this.person, onClosed), isCurrent);
  }

  /** A stream is over. */
  async #goOn(isCurrent: () => boolean): Promise<AfterVerb> {
    const { sentTo } = this;
    this.sentTo = null;
    if (sentTo === null || !isCurrent()) return 'on';
    const document = await this.#double.post(sentTo, this.form({ Event: 'Redirect' }), 'go');
    if (!this.isOver) this.run(document);
    return 'away';
  }

  async #dial({ attributes, nouns }: Verb, isCurrent: () => boolean): Promise<AfterVerb> {
    const callbackUrl = attributes['callbackUrl'];
    const tell = (child: PlivoCall, action: string, more: Record<string, string> = {}): void => {
      if (callbackUrl === undefined) return;
      const leg = { DialALegUUID: this.id, DialBLegUUID: child.id, DialBLegTo: bare(child.to), DialAction: action };
      const event = { Event: action === 'answer' ? 'DialAnswer' : 'DialHangup', DialBLegStatus: action };
      void this.#double.post(callbackUrl, this.form({ ...event, ...leg, ...more }), 'leg');
    };
    const child = this.#double.dial({
      from: `+${attributes['callerId'] ?? bare(this.from)}`,
      to: nouns[0]?.name === 'User' ? nouns[0].text : `+${nouns[0]?.text ?? ''}`,
      timeoutMs: Number(attributes['timeout'] ?? 120) * 1000,
      onAnswered: (answered) => {
        this.bridge(answered);
        tell(answered, 'answer');
      },
    });
    this.onLeave(() => child.end(child.status === 'in-progress' ? CAUSES.xml : CAUSES.canceled));
    await new Promise<void>((resolve) => child.onOver(resolve));
    this.bridged = null;
    const { status, cause, code, name } = child.cause ?? CAUSES.xml;
    tell(child, 'hangup', {
      DialBLegHangupCause: cause,
      DialBLegHangupCauseCode: code,
      DialBLegHangupCauseName: name,
    });
    if (!isCurrent()) {
      child.end(CAUSES.canceled);
      return 'away';
    }
    const action = attributes['action'];
    if (action === undefined) return 'on';
    const more = { Event: 'Redirect', DialStatus: status, DialHangupCause: cause, DialRingStatus: 'true' };
    this.run(
      await this.#double.post(action, this.form({ ...more, DialALegUUID: this.id, DialBLegUUID: child.id }), 'dial'),
    );
    return 'away';
  }
}

function bare(number: string): string {
  return number.replace(/^\+/, '');
}
