import type { SessionLine } from '../../engine/remote-line.js';
import type { CallEnd, CallState } from '../../telephony/carriers/carrier.js';
import type { QueuedCall } from './waiting-call.js';

/** A client of the talk socket or of WebRTC in a queue. Its line is open, so it can be answered at once. */
export class WebCaller implements QueuedCall {
  readonly isWeb = true;
  /** It has no numbers. */
  readonly from = '';
  readonly to = '';
  readonly line: SessionLine;
  readonly #listeners = new Set<(state: CallState) => void>();
  #state: CallState = 'ringing';
  #end: CallEnd | null = null;

  constructor(line: SessionLine) {
    this.line = line;
  }

  get state(): CallState {
    return this.#state;
  }

  get end(): CallEnd | null {
    return this.#end;
  }

  onState(listener: (state: CallState) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  answer(): void {
    if (this.#state === 'ringing') this.#become('answered');
  }

  hangUp(): void {
    if (this.#state === 'ended') return;
    this.#over('agent');
    void this.line.close();
  }

  lineClosed(): void {
    if (this.#state !== 'ended') this.#over('remote');
  }

  record(): null {
    return null;
  }

  #over(by: CallEnd['by']): void {
    this.#end = { cause: 'hangup', by, reason: 'the line has closed' };
    this.#become('ended');
  }

  #become(state: CallState): void {
    this.#state = state;
    for (const listener of Array.from(this.#listeners)) listener(state);
  }
}
