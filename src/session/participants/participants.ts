import { MixMinus } from '../../audio/mix-minus.js';
import { type HoldSound, holdSound } from '../../audio/tones/hold-sound.js';
import { closeInTime } from '../../base/deadlines.js';
import type { Cancel } from '../../base/clock.js';
import { reasonOf } from '../../base/errors.js';
import type { ParticipantState } from '../../conversation/control/command.js';
import type { Conversation } from '../../conversation/conversation.js';
import type { Transport, TransportSink } from '../../transports/transport.js';
import type { SessionContext } from '../session-context.js';
import type { LineActions } from '../line/line-actions.js';
import type { SessionOptions } from '../session-options.js';
import type { FrameSource } from '../speech/pacer.js';
import type { Playout } from '../speech/playout.js';
import type { LineEar } from '../tap.js';
import { ParticipantEars } from './participant-ears.js';

/** One participant with their line. */
interface Seat {
  readonly line: Transport;
  /** What they hear. */
  readonly mix: MixMinus;
  state: ParticipantState;
  ears: ParticipantEars | null;
  hold: HoldSound | null;
}

const USER = 'user';
const AGENT = 'agent';

/**
 * The lines of the people who have joined a session. Each hears the user, the agent and the others who may be heard, and
 * never itself. As long as nobody has joined, nothing is copied and nothing waits.
 */
export class Participants {
  readonly #context: SessionContext;
  readonly #options: SessionOptions;
  readonly #conversation: Pick<Conversation, 'state'>;
  readonly #onChange: () => void;
  readonly #seats = new Map<string, Seat>();
  /** Lines of those who want to join. */
  readonly #waiting = new Map<string, Transport>();
  /** What the user hears of them. */
  readonly #toUser: MixMinus;
  #stopTicks: Cancel | null = null;
  /** The agent's own audio in the latest frame for the user, and that frame. */
  #alone: Int16Array | null = null;
  #mixed: Int16Array | null = null;
  readonly #closing: Promise<void>[] = [];

  /** @param onChange who sounds on the user's line has changed */
  constructor(
    context: SessionContext,
    options: SessionOptions,
    conversation: Pick<Conversation, 'state'>,
    onChange: () => void,
  ) {
    this.#context = context;
    this.#options = options;
    this.#conversation = conversation;
    this.#onChange = onChange;
    this.#toUser = new MixMinus(options.transport.outputRateHz);
  }

  /** Somebody may sound on the user's line, so that nothing of the agent can be sent ahead. */
  get isHeard(): boolean {
    for (const { state } of this.#seats.values()) if (isAudible(state)) return true;
    return false;
  }

  /** Somebody joins by a command. Their line starts as soon as the conversation has let them in. */
  async join(id: string, line: Transport, command: () => Promise<unknown>): Promise<void> {
    this.#waiting.set(id, line);
    try {
      await command();
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** The conversation has let somebody join, changed what they may do, or let them go. */
  apply(state: ParticipantState): void {
    const { id } = state;
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) {
      this.#waiting.delete(id);
      this.#open(waiting, state);
      return;
    }
    const seat = this.#seats.get(id);
    if (seat === undefined) return;
    if (state.toMs !== null) this.#leave(seat);
    else this.#change(seat, state);
  }

  /** Receives a side's audio as the line has it, for the participants and for `taps`. */
  ear(side: typeof USER | typeof AGENT, taps: LineEar): LineEar {
    const seats = this.#seats;
    return {
      sampleRateHz: taps.sampleRateHz,
      get isRead(): boolean {
        return taps.isRead || seats.size > 0;
      },
      push: (samples, atSample) => {
        if (taps.isRead) taps.push(samples, atSample);
        if (seats.size > 0) this.#hear(side, samples);
      },
    };
  }

  /** The agent's voice with its tones, or hold audio, and those whom the user hears. */
  source(playout: Playout, actions: LineActions): FrameSource {
    const voice = (skipped: number): Int16Array | null => playout.pull(skipped);
    return {
      pull: (skipped) => this.#mix(actions.pull(voice, skipped)),
      playable: () => playout.playable,
      rests: () => playout.rests && actions.rests && !this.isHeard,
      ahead: {
        count: () => playout.aheadFrames,
        ready: () => actions.rests && !this.isHeard && playout.readyAhead,
        pull: () => playout.pullAhead(),
        hear: () => playout.hear(),
      },
    };
  }

  /** A frame for the user; null = silence. */
  #mix(frame: Int16Array | null): Int16Array | null {
    if (this.#seats.size === 0) return frame;
    const others = this.#conversation.state.hold === null ? this.#toUser.pull(frame) : null;
    const mixed = others ?? frame;
    this.#alone = frame;
    this.#mixed = mixed;
    return mixed;
  }

  /** Closes all lines. May be called twice. */
  async close(): Promise<void> {
    this.#waiting.clear();
    for (const seat of Array.from(this.#seats.values())) this.#leave(seat);
    await Promise.all(this.#closing);
  }

  #open(line: Transport, state: ParticipantState): void {
    const seat: Seat = { line, state, mix: new MixMinus(line.outputRateHz), ears: null, hold: null };
    this.#seats.set(state.id, seat);
    this.#change(seat, state);
    this.#stopTicks ??= this.#options.ticker.subscribe(() => this.#tick());
    try {
      line.start(this.#sink(seat));
    } catch (error) {
      this.#lost(seat, error);
    }
  }

  #sink(seat: Seat): TransportSink {
    return {
      audio: (samples) => this.#said(seat, samples),
      digits: () => undefined,
      text: () => undefined,
      formResult: () => undefined,
      closed: (error) => this.#lost(seat, error),
    };
  }

  #change(seat: Seat, state: ParticipantState): void {
    const { id, held, music } = state;
    const wasHeld = seat.state.held && seat.hold !== null;
    seat.state = state;
    if (!isAudible(state)) this.#toUser.drop(id);
    for (const [other, { mix }] of this.#seats) if (!isHeardBy(state, other)) mix.drop(id);
    if (!held || !music) seat.hold = null;
    else if (!wasHeld) seat.hold = holdSound('music', seat.line.outputRateHz);
    // A model that hears the user itself must hear nobody else.
    if (hasWords(state) && this.#options.stt.abilities?.feedsModel !== true) {
      const { inputRateHz } = seat.line;
      seat.ears ??= new ParticipantEars({ id, inputRateHz }, this.#context, this.#options);
    } else {
      seat.ears?.close();
      seat.ears = null;
    }
    this.#onChange();
  }

  #said(seat: Seat, samples: Int16Array): void {
    const { state, line } = seat;
    if (this.#seats.get(state.id) !== seat) return;
    try {
      seat.ears?.audio(samples);
      if (isAudible(state)) this.#toUser.push(state.id, samples, line.inputRateHz);
      for (const [other, { mix }] of this.#seats) {
        if (isHeardBy(state, other)) mix.push(state.id, samples, line.inputRateHz);
      }
    } catch (error) {
      this.#lost(seat, error);
    }
  }

  #hear(side: typeof USER | typeof AGENT, samples: Int16Array): void {
    const { transport: line } = this.#options;
    const { hold, muted } = this.#conversation.state;
    if (hold !== null) return;
    if (side === USER) {
      if (muted.user) return;
      for (const { mix } of this.#seats.values()) mix.push(USER, samples, line.inputRateHz);
      return;
    }
    const own = samples === this.#mixed ? this.#alone : samples;
    if (own === null) return;
    for (const { mix } of this.#seats.values()) mix.push(AGENT, own, line.outputRateHz, 0);
  }

  #tick(): void {
    for (const seat of Array.from(this.#seats.values())) {
      try {
        const heard = seat.mix.pull();
        seat.line.play(seat.state.held ? (seat.hold?.frame() ?? null) : heard);
      } catch (error) {
        this.#lost(seat, error);
      }
    }
  }

  #lost(seat: Seat, error: unknown): void {
    const { id } = seat.state;
    if (this.#seats.get(id) !== seat) return;
    if (error !== undefined) this.#context.fault('participant.lost', reasonOf(error));
    this.#context.emit({ type: 'command.leave', participant: id, reason: 'lost' });
  }

  #leave(seat: Seat): void {
    const { id } = seat.state;
    this.#seats.delete(id);
    this.#toUser.drop(id);
    for (const { mix } of this.#seats.values()) mix.drop(id);
    seat.ears?.close();
    const { clock, fault } = this.#context;
    const failed = (reason: string): void => fault('participant.close', reason);
    this.#closing.push(closeInTime(clock, () => seat.line.close(), failed));
    if (this.#seats.size === 0) {
      this.#stopTicks?.();
      this.#stopTicks = null;
    }
    this.#onChange();
  }
}

/** Whether the user hears them. */
function isAudible({ mode, held, muted, toMs }: ParticipantState): boolean {
  return (mode === 'barge_in' || mode === 'take_over') && !held && !muted && toMs === null;
}

/** Whether another participant hears them. */
function isHeardBy(state: ParticipantState, other: string): boolean {
  if (state.id === other || state.held || state.muted) return false;
  return isAudible(state) || (state.mode === 'whisper' && state.whisperTo === other);
}

/** Whether what they say is written down. */
function hasWords({ mode, whisperTo, held, muted }: ParticipantState): boolean {
  return mode !== 'listen' && !held && !muted && (mode !== 'whisper' || whisperTo === null);
}
