import { MemoryTransport } from '../../transports/memory.js';
import type { CallerLine, CallerLineEvents, CallerWords } from './caller-line.js';
import type { SttProvider } from '../../providers/stt/stt.js';
import type { VadProvider } from '../../providers/vad/vad.js';

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

const WINDOW_SAMPLES = 512;

/** Voice activity detection for a line without audio. */
export const silentVad: VadProvider = {
  name: 'silent',
  warmUp: () => Promise.resolve(),
  createDetector: () => ({
    windowSamples: WINDOW_SAMPLES,
    process: () => undefined,
    reset: () => undefined,
    close: () => undefined,
  }),
};

/** A recogniser for a line without audio. */
export const silentStt: SttProvider = {
  name: 'silent',
  virtualTime: true,
  warmUp: () => Promise.resolve(),
  open: () =>
    Promise.resolve({
      push: () => undefined,
      speechStarted: () => undefined,
      speechStopped: () => undefined,
      endTurn: () => undefined,
      close: () => Promise.resolve(),
    }),
  close: () => Promise.resolve(),
};
