import type { TalkTurnTimes } from '../../../src/transports/talk-protocol.js';

/** The user's words from the talk socket. */
export interface UserWords {
  text: string;
  isFinal: boolean;
  /** Both count up during the call. A segment has one text, the latest, and belongs to one turn. */
  turn: number;
  segment: number;
}

/** One message of the transcript. A changed entry is a new object with the same id. */
export interface TranscriptEntry {
  readonly id: number;
  readonly role: 'user' | 'agent';
  /** How it was said: aloud, typed, or on the keypad. */
  readonly via: 'speech' | 'text' | 'keys';
  readonly text: string;
  /** The text in parts; those that are not final may still change. */
  readonly words: readonly { readonly text: string; readonly isFinal: boolean }[];
  /** The text does not change any more. */
  readonly isFinal: boolean;
  /** The user interrupted this answer; `text` is what was heard of it. */
  readonly isInterrupted: boolean;
  /** Response times of an answer; null = not known. */
  readonly times: TalkTurnTimes | null;
}

/** A message in the models' format. */
export interface SpokenMessage {
  role: 'user' | 'assistant';
  content: string;
}

interface UserTurn {
  id: number;
  turn: number;
  segments: Map<number, { text: string; isFinal: boolean }>;
}

interface Answer {
  id: number;
  /** It was interrupted. Its heard part has not arrived yet. */
  cut: boolean;
  isFinal: boolean;
}

/**
 * What both sides of a call say. Each turn of the user and each answer has one entry, found by its number: late words
 * change their entry, wherever it is.
 */
export class CallTranscript {
  readonly #onChange: (entries: readonly TranscriptEntry[]) => void;
  readonly #turns = new Map<number, UserTurn>();
  readonly #segments = new Map<number, UserTurn>();
  readonly #answers = new Map<number, Answer>();
  #entries: readonly TranscriptEntry[] = [];
  #latestAnswer: Answer | null = null;
  #nextId = 1;

  constructor(onChange: (entries: readonly TranscriptEntry[]) => void = () => undefined) {
    this.#onChange = onChange;
  }

  /** In the order of the conversation; a new array after each change. */
  get entries(): readonly TranscriptEntry[] {
    return this.#entries;
  }

  /** All messages in order: spoken, typed and pressed. */
  get messages(): SpokenMessage[] {
    return this.#entries.flatMap(({ role, text }) => {
      const content = text.trim();
      return content === '' ? [] : [{ role: role === 'agent' ? 'assistant' : role, content } as const];
    });
  }

  /** Another line continues the call: turns, segments and answers are numbered anew. */
  newLine(): void {
    this.end();
    this.#turns.clear();
    this.#segments.clear();
    this.#answers.clear();
    this.#latestAnswer = null;
  }

  /** The user's words in a segment: replaces earlier words of it. */
  user({ text, isFinal, turn, segment }: UserWords): void {
    if (text.trim() === '') return;
    this.#dropUnheard();
    const whose = this.#turnOf(turn);
    this.#move(segment, whose);
    whose.segments.set(segment, { text: text.trim(), isFinal });
    this.#showTurn(whose);
    this.#changed();
  }

  /** All words of the user in a turn. */
  userTurn(turn: number, text: string): void {
    this.#dropUnheard();
    const whose = this.#turnOf(turn);
    whose.segments.clear();
    whose.segments.set(-1, { text: text.trim(), isFinal: true });
    this.#showTurn(whose);
    this.#changed();
  }

  /** A message that the user typed. */
  typed(text: string): void {
    this.#dropUnheard();
    this.#settle();
    this.#add({ role: 'user', via: 'text', text, words: [{ text, isFinal: true }], isFinal: true });
    this.#changed();
  }

  /** Keys that the user pressed; consecutive keys share an entry. */
  keyed(keys: string): void {
    const last = this.#entries.at(-1);
    if (last?.via === 'keys') {
      const text = last.text + keys;
      this.#set(last.id, { text, words: [{ text, isFinal: true }] });
    } else {
      this.#dropUnheard();
      this.#settle();
      this.#add({ role: 'user', via: 'keys', text: keys, words: [{ text: keys, isFinal: true }], isFinal: true });
    }
    this.#changed();
  }

  /** The agent's words, from the beginning of an answer. */
  agent(text: string, isFinal: boolean, number: number): void {
    let answer = this.#answers.get(number);
    if (answer === undefined) {
      this.#dropUnheard();
      this.#settle();
      const id = this.#add({ role: 'agent', via: 'speech', text: '', words: [], isFinal: false });
      answer = { id, cut: false, isFinal: false };
      this.#answers.set(number, answer);
      this.#latestAnswer = answer;
    }
    if (!answer.isFinal) {
      answer.isFinal = isFinal;
      const isInterrupted = isFinal && answer.cut;
      this.#set(answer.id, { text, words: [{ text, isFinal: true }], isFinal, isInterrupted });
    }
    this.#changed();
  }

  /** The agent was interrupted; the heard part of its answer arrives as its final text, if there is any. */
  interrupted(): void {
    if (this.#latestAnswer?.isFinal === false) this.#latestAnswer.cut = true;
  }

  /** The response time of the latest answer. */
  times(times: TalkTurnTimes): void {
    if (this.#latestAnswer === null) return;
    this.#set(this.#latestAnswer.id, { times });
    this.#changed();
  }

  /** The open entries do not change any more. */
  end(): void {
    this.#dropUnheard();
    this.#settle();
    if (this.#latestAnswer !== null) this.#set(this.#latestAnswer.id, { isFinal: true });
    this.#changed();
  }

  /** The entry of a turn; a new one is inserted before later turns. */
  #turnOf(turn: number): UserTurn {
    const known = this.#turns.get(turn);
    if (known !== undefined) return known;
    const later = [...this.#turns.values()].filter((other) => other.turn > turn);
    const next = later.reduce<UserTurn | null>((a, b) => (a !== null && a.turn < b.turn ? a : b), null);
    const id = this.#add({ role: 'user', via: 'speech', text: '', words: [], isFinal: false }, next?.id);
    const whose = { id, turn, segments: new Map() };
    this.#turns.set(turn, whose);
    return whose;
  }

  /** A segment moves to this turn: it may turn out to belong to the previous one, which had not been over. */
  #move(segment: number, whose: UserTurn): void {
    const before = this.#segments.get(segment);
    this.#segments.set(segment, whose);
    if (before === undefined || before === whose) return;
    before.segments.delete(segment);
    if (before.segments.size > 0) {
      this.#showTurn(before);
      return;
    }
    this.#remove(before.id);
    this.#turns.delete(before.turn);
  }

  /** The words of a turn, in the order of its segments. */
  #showTurn({ id, segments }: UserTurn): void {
    const words = [...segments].sort(([a], [b]) => a - b).map(([, segment]) => ({ ...segment }));
    const isFinal = words.every((each) => each.isFinal);
    this.#set(id, { words, text: words.map(({ text }) => text).join(' '), isFinal });
  }

  /** The shown words of the user become final. */
  #settle(): void {
    for (const whose of this.#turns.values()) {
      if ([...whose.segments.values()].every(({ isFinal }) => isFinal)) continue;
      for (const segment of whose.segments.values()) segment.isFinal = true;
      this.#showTurn(whose);
    }
  }

  /** An answer that was interrupted before any of it was heard came too soon: the user's turn continues. */
  #dropUnheard(): void {
    const answer = this.#latestAnswer;
    if (answer === null || !answer.cut || answer.isFinal) return;
    this.#remove(answer.id);
    answer.isFinal = true;
    this.#latestAnswer = null;
  }

  #add(entry: Omit<TranscriptEntry, 'id' | 'isInterrupted' | 'times'>, beforeId?: number): number {
    const id = this.#nextId++;
    const added: TranscriptEntry = { ...entry, id, isInterrupted: false, times: null };
    const at = this.#entries.findIndex((other) => other.id === beforeId);
    this.#entries = at === -1 ? [...this.#entries, added] : this.#entries.toSpliced(at, 0, added);
    return id;
  }

  #set(id: number, change: Partial<TranscriptEntry>): void {
    this.#entries = this.#entries.map((entry) => (entry.id === id ? { ...entry, ...change } : entry));
  }

  #remove(id: number): void {
    this.#entries = this.#entries.filter((entry) => entry.id !== id);
  }

  #changed(): void {
    this.#onChange(this.#entries);
  }
}
