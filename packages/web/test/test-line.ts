import type { TalkClientMessage, TalkServerMessage } from '../../../src/transports/talk-protocol.js';
import { CallError } from '../src/errors.js';
import type { CallTransport, Line, LineEvents, LineOptions, OpenLine } from '../src/line.js';

/** A line whose other end is the test. */
export class TestLine implements Line {
  readonly stats = null;
  readonly levels = { user: 0.25, agent: 0.5 };
  readonly sent: TalkClientMessage[] = [];
  isClosed = false;
  volume = 1;

  constructor(
    readonly transport: CallTransport,
    readonly options: LineOptions,
    readonly events: LineEvents,
  ) {}

  tell(...messages: TalkServerMessage[]): void {
    for (const message of messages) this.events.onMessage(message);
  }

  ready(id = 'one'): void {
    this.tell({ method: 'onready', payload: { session_id: id } });
  }

  breaks(code = 1006, reason = ''): void {
    this.events.onClosed({ opened: true, code, reason });
  }

  send(message: TalkClientMessage): void {
    this.sent.push(message);
  }

  listenTo(): Promise<void> {
    return Promise.resolve();
  }

  speakThrough(): Promise<void> {
    return Promise.resolve();
  }

  setVolume(volume: number): void {
    this.volume = volume;
  }

  close(): void {
    this.isClosed = true;
  }
}

/** Opens lines on which the server is ready at once, unless `refuse` says why not. */
export class Lines {
  readonly all: TestLine[] = [];
  readonly tried: CallTransport[] = [];
  refuse: (transport: CallTransport, options: LineOptions) => CallError | 'silence' | null = () => null;

  open(transport: CallTransport): OpenLine {
    return async (options, events, signal) => {
      this.tried.push(transport);
      await options.token();
      const refusal = this.refuse(transport, options);
      if (refusal instanceof CallError) throw refusal;
      if (refusal === 'silence') {
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new CallError('aborted', 'given up')));
        });
      }
      const line = new TestLine(transport, options, events);
      this.all.push(line);
      line.ready(`session-${String(this.all.length)}`);
      return line;
    };
  }

  get last(): TestLine {
    const line = this.all.at(-1);
    if (line === undefined) throw new Error('there is no line');
    return line;
  }
}
