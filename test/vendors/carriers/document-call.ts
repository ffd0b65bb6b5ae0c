import { type Clock, delay } from '../../../src/base/clock.js';
import { FarCall, type FarCallFacts } from './far-call.js';
import type { FarStream } from './far-stream.js';
import type { Verb } from './xml-reader.js';

/** A carrier's own time from one verb to the next. */
const VERB_MS = 60;
/** Carriers notice a broken socket after this. */
const NOTICE_MS = 500;

/** What becomes of the document after a verb: it goes on, or something else has taken its place. */
export type AfterVerb = 'on' | 'away';

/** A call at a carrier that documents instruct, one at a time. */
export abstract class DocumentCall<F extends FarCallFacts = FarCallFacts> extends FarCall<F> {
  stream: FarStream | null = null;
  /** The call or conference room that its sound goes to and comes from, in place of a document's. */
  bridged: DocumentCall | null = null;
  room: string | null = null;
  readonly errors: string[] = [];
  protected readonly clock: Clock;
  /** Grows with each document: what an earlier one still does is of no effect. */
  #document = 0;
  #resume: (document: number) => void = () => undefined;
  #onLeave: (() => void) | null = null;

  constructor(clock: Clock, facts: F) {
    super(facts);
    this.clock = clock;
  }

  /** Goes on with another document, whatever it is at. */
  run(text: string): void {
    let verbs: Verb[];
    try {
      verbs = this.read(text);
    } catch (error) {
      this.errors.push(String(error));
      this.brokenDocument();
      return;
    }
    this.leaveAll();
    void this.#do(verbs, this.#document);
  }

  tick(): void {
    this.stream?.tick();
    if (this.bridged !== null) this.bridged.person.hear(this.person.speak());
    if (this.room !== null) {
      for (const other of this.inRoom(this.room)) if (other !== this) other.person.hear(this.person.speak());
    }
  }

  breakSocket(): void {
    this.stream?.break();
    this.#noticeLater();
  }

  loseSocket(): void {
    this.stream?.lose();
    this.#noticeLater();
  }

  #noticeLater(): void {
    this.stream = null;
    const document = this.#document;
    this.clock.schedule(this.clock.nowMs() + NOTICE_MS, () => this.#resume(document));
  }

  /** Throws where the carrier would not take the document. */
  protected abstract read(text: string): Verb[];
  /** The document was none. */
  protected abstract brokenDocument(): void;
  protected abstract inRoom(room: string): DocumentCall[];
  /** Does a verb; `isCurrent` = no other document has come meanwhile. */
  protected abstract does(verb: Verb, isCurrent: () => boolean): Promise<AfterVerb>;
  /** All of a document has been done. */
  protected abstract ranOut(): void;
  /** Somebody else has left the room that this call was in. */
  protected abstract roomClosed(): void;

  /** Whatever it is at is over: stream, bridge, room and document. */
  protected leaveAll(): void {
    this.#document++;
    this.stream?.stop();
    this.stream = null;
    this.bridged = null;
    this.#onLeave?.();
    this.#onLeave = null;
    const { room } = this;
    this.room = null;
    if (room !== null) for (const other of this.inRoom(room)) other.roomClosed();
  }

  /** Resolves when the stream is over; `make` opens it and is given what ends it. */
  protected async streaming(make: (onClosed: () => void) => FarStream, isCurrent: () => boolean): Promise<void> {
    const document = this.#document;
    await new Promise<void>((resolve) => {
      this.#resume = (of) => {
        if (of === document) resolve();
      };
      this.stream = make(resolve);
      this.onOver(resolve);
    });
    if (isCurrent()) this.stream = null;
  }

  /** In a room until the call is over. */
  protected async meeting(room: string): Promise<void> {
    this.room = room;
    await new Promise<void>((resolve) => this.onOver(resolve));
  }

  /** What ends where another document takes this one's place, or the call is over. */
  protected onLeave(listener: () => void): void {
    this.#onLeave = listener;
  }

  /** Talks with another call as soon as `answered` is called. */
  protected bridge(other: DocumentCall): void {
    this.bridged = other;
    other.bridged = this;
  }

  async #do(verbs: readonly Verb[], document: number): Promise<void> {
    const isCurrent = (): boolean => this.#document === document;
    for (const verb of verbs) {
      await delay(this.clock, VERB_MS);
      if (!isCurrent()) return;
      const after = await this.does(verb, isCurrent);
      if (after === 'away' || !isCurrent()) return;
    }
    this.ranOut();
  }
}
