import { MemoryTransport } from '../../transports/memory.js';
import type { CallerLine, CallerLineEvents, CallerWords } from './caller-line.js';

/** A line for typed words and keys. */
export class TextLine implements CallerLine {
  readonly transport: MemoryTransport;
  readonly recording = null;

  constructor(events: CallerLineEvents) {
    this.transport = new MemoryTransport({
      onMessage: (message) => events.onMessage(message),
      sendDigits: (digits) => {
        events.onDigits(digits);
        return Promise.resolve();
      },
      transfer: (target) => events.onTransfer(target),
    });
  }

  connect(): void {
    // Text needs no clock.
  }

  say({ text }: CallerWords): Promise<void> {
    this.transport.pushText(text);
    return Promise.resolve();
  }

  press(keys: string): Promise<void> {
    const pressed = keys.replaceAll('w', '');
    if (pressed !== '') this.transport.pushDigits(pressed);
    return Promise.resolve();
  }

  hangUp(): void {
    this.transport.hangUp();
  }

  release(): Promise<void> {
    this.hangUp();
    return Promise.resolve();
  }
}
