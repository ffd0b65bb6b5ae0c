import type { NewParticipant } from '../../conversation/control/command.js';
import type { SessionHandle } from '../../engine/remote-line.js';
import { LineInput } from '../../transports/line-input.js';
import type { Transport, TransportSink } from '../../transports/transport.js';
import type { LineRates, MainMethods, ThreadMethods } from '../wire/protocol.js';
import { fromWire, type Rpc } from '../wire/rpc.js';

type Of<Method extends 'participantAudio' | 'participantGone'> = Parameters<ThreadMethods[Method]>[0];

/** The people who have joined sessions of a media thread: their lines are in the main thread, their audio passes here. */
export class WorkerParticipants {
  readonly #main: Rpc<MainMethods>;
  readonly #lines = new Map<string, ParticipantLine>();

  constructor(main: Rpc<MainMethods>) {
    this.#main = main;
  }

  async join(session: SessionHandle, { id, ...options }: NewParticipant, rates: LineRates, signal: AbortSignal) {
    const key = keyOf(session.id, id);
    const line = new ParticipantLine(rates, {
      play: (frame) => this.#main.tell('participantFrame', { session: session.id, participant: id, frame }),
      close: () => {
        if (this.#lines.get(key) === line) this.#lines.delete(key);
        this.#main.tell('participantClosed', { session: session.id, participant: id });
      },
    });
    const joined = await session.join(line, { ...options, id });
    this.#lines.set(key, line);
    if (signal.aborted) await joined.leave(); // nobody waits for it any more
  }

  audio({ session, participant, samples }: Of<'participantAudio'>): void {
    this.#lines.get(keyOf(session, participant))?.input.audio(samples);
  }

  gone({ session, participant, error }: Of<'participantGone'>): void {
    this.#lines.get(keyOf(session, participant))?.input.end(error === null ? undefined : fromWire(error));
  }
}

function keyOf(session: string, participant: string): string {
  return `${session} ${participant}`;
}

interface LineEvents {
  play: (frame: Int16Array | null) => void;
  close: () => void;
}

class ParticipantLine implements Transport {
  readonly name = 'participant';
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly input = new LineInput();
  readonly #main: LineEvents;
  #isClosed = false;

  constructor({ inputRateHz, outputRateHz }: LineRates, main: LineEvents) {
    this.inputRateHz = inputRateHz;
    this.outputRateHz = outputRateHz;
    this.#main = main;
  }

  start(sink: TransportSink): void {
    this.input.start(sink);
  }

  play(frame: Int16Array | null): void {
    // A view would be sent with all of its buffer.
    if (!this.#isClosed) this.#main.play(frame?.slice() ?? null);
  }

  send(): void {
    // The session's messages are for the user's client.
  }

  close(): Promise<void> {
    if (!this.#isClosed) this.#main.close();
    this.#isClosed = true;
    this.input.end();
    return Promise.resolve();
  }
}
