import { createParser } from 'eventsource-parser';
import type { Cancel, Clock } from '../../base/clock.js';
import { errorOf } from '../../base/errors.js';
import type { Forwarder } from '../http/forwarder.js';
import type { Nodes } from '../nodes/node-group.js';

export interface EventRelayOptions {
  /** The path of a node's stream, for other nodes. */
  url: string;
  /** Gets each event of each node. */
  take: (nodeId: string, name: string, data: string) => void;
  /** Learns which other nodes there are, now and again. Default: nothing. */
  onNodes?: (ids: readonly string[]) => void;
  nodes: Pick<Nodes, 'others'>;
  forwarder: Pick<Forwarder, 'ask'>;
  clock: Clock;
  onError: (error: Error) => void;
}

/** How often it looks for nodes that it does not hear, ms. */
const LOOK_MS = 2_000;
/** How long it still listens after the last watcher has left: clients reconnect. */
const LINGER_MS = 30_000;

/** Brings the events of other nodes, while anybody watches those of all calls. One stream from each node. */
export class EventRelay {
  readonly #options: EventRelayOptions;
  readonly #streams = new Map<string, AbortController>();
  /** The last event of each node, for streams that break. */
  readonly #lastIds = new Map<string, string>();
  #watchers = 0;
  #isOn = false;
  #isClosed = false;
  #cancelLook: Cancel = () => undefined;
  #cancelEnd: Cancel = () => undefined;

  constructor(options: EventRelayOptions) {
    this.#options = options;
  }

  /** Listens to the other nodes until it is canceled. */
  watch(): Cancel {
    this.#watchers++;
    this.#cancelEnd();
    if (!this.#isOn && !this.#isClosed) {
      this.#isOn = true;
      void this.#look();
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#watchers > 0 || this.#isClosed) return;
      const { clock } = this.#options;
      this.#cancelEnd = clock.schedule(clock.nowMs() + LINGER_MS, () => this.#end());
    };
  }

  /** May be called twice. */
  close(): void {
    this.#isClosed = true;
    this.#end();
  }

  #end(): void {
    this.#isOn = false;
    this.#cancelLook();
    this.#cancelEnd();
    for (const stream of this.#streams.values()) stream.abort(new Error('nobody watches'));
    this.#lastIds.clear();
  }

  /** Opens the streams that are missing, now and again. */
  async #look(): Promise<void> {
    const { nodes, clock, onError } = this.#options;
    try {
      const ids = await nodes.others();
      this.#options.onNodes?.(ids);
      for (const id of this.#lastIds.keys()) if (!ids.includes(id)) this.#lastIds.delete(id);
      for (const id of ids) if (this.#isOn && !this.#streams.has(id)) void this.#listen(id);
    } catch (error) {
      onError(errorOf(error));
    }
    if (this.#isOn) this.#cancelLook = clock.schedule(clock.nowMs() + LOOK_MS, () => void this.#look());
  }

  /** Relays the events of a node until its stream ends. */
  async #listen(nodeId: string): Promise<void> {
    const { url, take, forwarder } = this.#options;
    const stream = new AbortController();
    this.#streams.set(nodeId, stream);
    try {
      const last = this.#lastIds.get(nodeId);
      const headers = last === undefined ? {} : { 'last-event-id': last };
      const answer = await forwarder.ask(nodeId, { method: 'GET', url, headers }, stream.signal);
      if (answer?.statusCode !== 200) return;
      const parser = createParser({
        onEvent: ({ id, event = 'message', data }) => {
          if (id !== undefined) this.#lastIds.set(nodeId, id);
          take(nodeId, event, data);
        },
      });
      const decoder = new TextDecoder();
      for await (const piece of answer.body) parser.feed(decoder.decode(piece as Uint8Array, { stream: true }));
    } catch {
      // It has stopped, or the stream broke: the next look opens another one.
    } finally {
      this.#streams.delete(nodeId);
    }
  }
}
