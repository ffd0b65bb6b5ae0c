import type { Clock } from '../../../../src/base/clock.js';
import { FarCall, type FarCallFacts } from '../far-call.js';
import type { TelnyxDouble } from './double.js';
import { DoubleStream, type StreamCodec } from './stream.js';

export type LegState = 'parked' | 'dialing' | 'answered' | 'over';

export interface LegFacts extends FarCallFacts {
  sessionId: string;
  direction: 'incoming' | 'outgoing';
}

/** How a stream was asked for; what of it was left out is as Telnyx's defaults have it. */
export interface StreamRequest {
  url: string;
  codec: StreamCodec;
  sampleRateHz: number;
  authToken: string | null;
}

/** Commands with the id of an earlier one are ignored for so long. */
const COMMAND_MS = 60_000;

/** A leg of a call at Telnyx. */
export class DoubleLeg extends FarCall<LegFacts> {
  state: LegState;
  clientState = '';
  webhookUrl: string;
  stream: DoubleStream | null = null;
  streamRequest: StreamRequest | null = null;
  bridged: DoubleLeg | null = null;
  detection: string | null = null;
  /** Stays when what it is bridged with has gone (`park_after_unbridge`). */
  isParkedAfterUnbridge = false;
  readonly #double: TelnyxDouble;
  readonly #clock: Clock;
  readonly #commands = new Map<string, number>();

  constructor(double: TelnyxDouble, clock: Clock, facts: LegFacts, webhookUrl: string) {
    super(facts);
    this.#double = double;
    this.#clock = clock;
    this.webhookUrl = webhookUrl;
    this.state = facts.direction === 'incoming' ? 'parked' : 'dialing';
  }

  get isOver(): boolean {
    return this.state === 'over';
  }

  /** Whether a command is new; one with the id of another of the last minute is not done again. */
  isNew(commandId: unknown): boolean {
    if (typeof commandId !== 'string') return true;
    const isNew = this.#clock.nowMs() - (this.#commands.get(commandId) ?? -COMMAND_MS) >= COMMAND_MS;
    if (isNew) this.#commands.set(commandId, this.#clock.nowMs());
    return isNew;
  }

  tell(type: string, more: object = {}): void {
    const { id, sessionId, from, to } = this.facts;
    const ids = { call_control_id: id, call_leg_id: id.replace('v3:', 'l-'), call_session_id: sessionId };
    const client_state = this.clientState === '' ? null : this.clientState;
    void this.#double.post(this.webhookUrl, type, {
      ...ids,
      connection_id: this.#double.connectionId,
      client_state,
      from,
      to,
      ...more,
    });
  }

  answered(): void {
    this.state = 'answered';
    this.tell('call.answered', { state: 'answered' });
    if (this.streamRequest !== null) void this.openStream(this.streamRequest);
    if (this.detection !== null) {
      const cancel = this.#clock.schedule(this.#clock.nowMs() + 2_400, () => {
        const name =
          this.detection === 'premium' ? 'call.machine.premium.detection.ended' : 'call.machine.detection.ended';
        this.tell(name, { result: this.detection === 'premium' ? 'human_residence' : 'human' });
      });
      this.onOver(cancel);
    }
    const { presses, leavesAfterMs } = this.facts.person.habits;
    const later = (ms: number, fn: () => void): void => this.onOver(this.#clock.schedule(this.#clock.nowMs() + ms, fn));
    if (presses !== undefined) {
      later(presses.afterMs, () => {
        this.stream?.digits(presses.keys);
        for (const digit of presses.keys) this.tell('call.dtmf.received', { digit });
      });
    }
    if (leavesAfterMs !== undefined) later(leavesAfterMs, () => this.hangUp());
  }

  hangUp(): void {
    this.end('normal_clearing', this.facts.direction === 'incoming' ? 'caller' : 'callee', '200');
  }

  async openStream(request: StreamRequest): Promise<void> {
    const { url, codec, sampleRateHz, authToken } = request;
    const { id, from, to, person } = this.facts;
    const streamId = this.#double.uuid();
    const about = { stream_id: streamId, stream_type: 'websocket' };
    const socket = await this.#double.open(url, authToken);
    if (socket === null || this.state !== 'answered') {
      socket?.close();
      this.tell('streaming.failed', {
        ...about,
        failure_reason: 'connection_failed',
        stream_params: { stream_url: url, track: 'inbound_track' },
      });
      return;
    }
    this.tell('streaming.started', { ...about, stream_url: url });
    const { clientState } = this;
    const facts = { callControlId: id, streamId, from, to, clientState, codec, sampleRateHz, authToken };
    const stream: DoubleStream = new DoubleStream(socket, facts, person, () => {
      if (this.stream !== stream) return;
      this.stream = null;
      if (!this.isOver) this.tell('streaming.stopped', { ...about, stream_url: url });
    });
    this.stream = stream;
  }

  stopStream(): void {
    const { stream } = this;
    this.stream = null;
    stream?.stop();
  }

  /** The socket breaks off: the network's fault, of which Telnyx tells nothing. */
  breakSocket(): void {
    const { stream } = this;
    this.stream = null;
    stream?.break();
  }

  loseSocket(): void {
    const { stream } = this;
    this.stream = null;
    stream?.lose();
    this.tell('streaming.stopped', { stream_id: stream?.id, stream_type: 'websocket' });
  }

  join(other: DoubleLeg): void {
    this.bridged = other;
    other.bridged = this;
    this.tell('call.bridged');
    other.tell('call.bridged');
  }

  end(cause: string, source: 'caller' | 'callee' | 'unknown', sip = 'unspecified'): void {
    if (this.isOver) return;
    this.state = 'over';
    this.stopStream();
    this.tell('call.hangup', {
      state: 'hangup',
      hangup_cause: cause,
      hangup_source: source,
      sip_hangup_cause: sip,
      start_time: '2026-11-22T00:00:00.000000Z',
    });
    this.tellOver();
    const { bridged } = this;
    this.bridged = null;
    if (bridged === null) return;
    bridged.bridged = null;
    if (!bridged.isParkedAfterUnbridge) bridged.end('normal_clearing', 'unknown');
  }

  tick(): void {
    this.stream?.tick();
    if (this.bridged !== null && this.stream === null) this.bridged.facts.person.hear(this.facts.person.speak());
  }
}
