import type { WebSocket } from 'ws';

export type Message = Readonly<Record<string, unknown>>;

/** What a client of the talk socket gets, kept until it is asked for. */
export class Inbox {
  /** Every text message so far. */
  readonly messages: Message[] = [];
  /** Bytes of each binary message so far. */
  readonly audio: Buffer[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #waiting = new Set<() => void>();
  #read = 0;
  #isClosed = false;

  constructor(client: WebSocket) {
    client.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) this.audio.push(data);
      else this.messages.push(JSON.parse(data.toString()) as Message);
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      client.on('close', (code, reason) => {
        this.#isClosed = true;
        this.#wake();
        resolve({ code, reason: reason.toString() });
      });
    });
  }

  /** The next text message that has not been asked for. */
  next(): Promise<Message> {
    return this.find(() => true);
  }

  /** The next text message that is so; those before it count as read. Rejects if the socket closes first. */
  async find(isIt: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      while (this.#read < this.messages.length) {
        const message = this.messages[this.#read++];
        if (message !== undefined && isIt(message)) return message;
      }
      await this.#change();
    }
  }

  /** Resolves when so many binary messages have come. */
  async heard(count: number): Promise<void> {
    while (this.audio.length < count) await this.#change();
  }

  async #change(): Promise<void> {
    if (this.#isClosed) throw new Error(`the socket closed after ${JSON.stringify(this.messages)}`);
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}
