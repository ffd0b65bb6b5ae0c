import type { ToolCall } from '../../agent/chat.js';
import type { Flow } from '../../agent/flow/steps.js';
import { digitsAt, isCardNumber } from '../../base/spoken/digits.js';
import { utteranceWords } from '../../base/spoken/words.js';
import type { ConversationConfig } from '../../agent/flow/conversation-config.js';
import type { Clock } from '../../base/clock.js';
import { reasonOf } from '../../base/errors.js';
import type { ConversationEvent } from '../../conversation/events.js';
import { cardToken, WRONG_CARD } from '../../conversation/steps/data.js';
import type { Toolbox, ToolContext } from '../../tools/tool.js';
import { Alarm } from '../alarm.js';

/**
 * Keeps the numbers of cards out of everything that is stored, shown or sent. What the user says is replaced before the
 * conversation, its log and its client get it; only a tool gets the number.
 */

/** Keys that are not followed by others for so long are all. */
const KEYS_MS = 5_000;
/** Numbers that have no more digits. */
const LAST_KEY = /^(?:3[47]\d{13}|\d{16,})$/;
/** Fewer digits are no part of a card number. */
const FEW_DIGITS = 3;
/** Shorter rows of digits are other numbers. */
const LIKELY_DIGITS = 14;
const CARD_DIGITS = /\d[\d -]{10,30}\d/g;
const WORDS =
  'zero|oh|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|' +
  'seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|double|triple';
const NUMBER_WORDS = new RegExp(`\\d|\\b(?:${WORDS})\\b`, 'gi');
/** Digits in a row, as written or said: "four two four two", "forty-two, forty-two", "4242 double four". */
const SAID_DIGITS = new RegExp(
  `\\b(?:${WORDS}|o|\\d+)\\b(?:[\\s,.-]+(?:(?:and|uh|um|er)[\\s,.-]+)?(?:${WORDS}|o|\\d+)\\b){3,}`,
  'gi',
);

/** Whether any step of a flow asks for a card. */
export function asksForCards(flow: Flow | null): boolean {
  const steps = flow === null ? [] : [...flow.steps, ...(flow.global ?? [])];
  return steps.some(({ collect }) => (collect ?? []).some(({ type }) => type === 'card'));
}

/** The card numbers of one conversation. */
export class CardNumbers {
  readonly #numbers = new Map<string, string>();

  /** A text in which card numbers are replaced, as written or said. Written digits between commas may be anything. */
  mask(text: string): string {
    const replaced = (written: string, digits: string, isLikely = true): string => {
      if (isCardNumber(digits)) return this.keep(digits);
      return digits.length < LIKELY_DIGITS || !isLikely ? written : WRONG_CARD;
    };
    return text
      .replaceAll(CARD_DIGITS, (written) => replaced(written, written.replaceAll(/\D/g, '')))
      .replaceAll(SAID_DIGITS, (said) => replaced(said, digitsOf(said).digits, /\p{L}/u.test(said)));
  }

  /** @returns what stands for the number from now on */
  keep(digits: string): string {
    const token = cardToken(digits);
    this.#numbers.set(token, digits);
    return token;
  }

  /** Tools that get the numbers, and whose results do not have them. */
  toolbox(toolbox: Toolbox): Toolbox {
    return {
      specs: toolbox.specs,
      run: async (call, context) => {
        try {
          const result = await toolbox.run(this.#filled(call), this.#without(context));
          const { content, cause } = result;
          const emptied = { ...result, content: this.#emptied(content) };
          return cause === undefined ? emptied : { ...emptied, cause: this.#emptied(cause) };
        } catch (error) {
          if (context.signal.aborted) throw error;
          return { ok: false, content: `The tool failed: ${this.#emptied(reasonOf(error))}` };
        }
      },
      ...(toolbox.runAfterCall === undefined ? {} : { runAfterCall: toolbox.runAfterCall.bind(toolbox) }),
    };
  }

  /** What a tool tells while it runs is shown, too. */
  #without(context: ToolContext): ToolContext {
    const { progress } = context;
    if (progress === undefined) return context;
    return { ...context, progress: (text, isSaid) => progress(this.#emptied(text), isSaid) };
  }

  #filled(call: ToolCall): ToolCall {
    let args = call.arguments;
    for (const [token, digits] of this.#numbers) args = args.replaceAll(token, digits);
    return { ...call, arguments: args };
  }

  /**
   * A text without the numbers that a tool may have got, however it writes them. Others stay: results are full of times and
   * ids, of which one in ten would fit.
   */
  #emptied(text: string): string {
    let rest = text;
    for (const [token, digits] of this.#numbers) {
      rest = rest.replaceAll(new RegExp([...digits].join('(?:%20|\\W){0,3}'), 'g'), token);
    }
    return rest;
  }
}

/** Listens for card numbers in what happens to a conversation. An agent that asks for none gets everything as it is. */
export class CardListener {
  readonly #numbers = new CardNumbers();
  #isOn: boolean;
  readonly #isAsked: () => boolean;
  readonly #emit: (event: ConversationEvent) => void;
  readonly #alarm: Alarm;
  readonly #clock: Clock;
  /** Digits by segment, in order: a number may be said in several. */
  readonly #segments = new Map<number, { digits: string; isPart: boolean }>();
  /** The segment that completed a number. */
  #complete = -1;
  #keys = '';

  /** @param isAsked whether the user is asked for a card number now */
  constructor(
    { steps }: Pick<ConversationConfig, 'steps'>,
    clock: Clock,
    isAsked: () => boolean,
    emit: (event: ConversationEvent) => void,
  ) {
    this.#isOn = asksForCards(steps?.flow ?? null);
    this.#clock = clock;
    this.#isAsked = isAsked;
    this.#emit = emit;
    this.#alarm = new Alarm(clock, () => this.#endKeys());
  }

  /** Another agent speaks. Once one of them asks for cards, numbers are heard to the end. */
  use({ steps }: Pick<ConversationConfig, 'steps'>): void {
    this.#isOn ||= asksForCards(steps?.flow ?? null);
  }

  /** The event as the conversation gets it; null = it gets another one later. */
  take(event: ConversationEvent): ConversationEvent | null {
    if (!this.#isOn) return event;
    if (event.type === 'transcript') return event; // of what `heard` has returned: the zeros are no digits
    if (event.type === 'text')
      return { ...event, text: this.#isAsked() ? this.#masked(event.text) : this.#plain(event.text) };
    if (event.type === 'participant.said') return { ...event, text: this.#plain(event.text) };
    if (event.type !== 'digits' || !this.#isAsked()) return event;
    this.#keys += event.digits;
    const digits = this.#keys.replaceAll(/\D/g, '');
    if (this.#keys.includes('#') || (isCardNumber(digits) && LAST_KEY.test(digits))) this.#endKeys();
    else this.#alarm.set(this.#clock.nowMs() + KEYS_MS);
    return null;
  }

  /** The text of a segment of speech as everybody else gets it. */
  heard(segment: number, text: string): string {
    if (!this.#isOn || isReplaced(text)) return text;
    if (!this.#isAsked() && !this.#segments.has(segment)) return this.#plain(text);
    if (segment > this.#complete && this.#complete >= 0) this.#forget();
    const { digits, isPure } = digitsOf(text);
    const isFew = digits.length < FEW_DIGITS && !isPure;
    // "One moment" begins no number, but the pairs of a number may be said one by one.
    const isOther = digits === '' || (isFew && this.#segments.size === 0);
    if (isOther && !this.#segments.has(segment)) return text;
    this.#segments.set(segment, { digits, isPart: !isFew });
    const number = this.#number() ?? cardIn(text);
    if (number === null) return zeros(text);
    this.#complete = segment;
    return this.#numbers.keep(number);
  }

  toolbox(toolbox: Toolbox): Toolbox {
    return this.#isOn ? this.#numbers.toolbox(toolbox) : toolbox;
  }

  close(): void {
    this.#alarm.set(undefined);
  }

  /** The digits of the latest segments that make a number together. */
  #number(): string | null {
    const all = [...this.#segments.values()];
    for (let from = all.length - 1; from >= 0; from--) {
      const latest = all.slice(from);
      for (const said of [latest, latest.filter(({ isPart }) => isPart)]) {
        const number = said.map(({ digits }) => digits).join('');
        if (isCardNumber(number)) return number;
      }
    }
    return null;
  }

  #forget(): void {
    this.#segments.clear();
    this.#complete = -1;
  }

  #plain(text: string): string {
    const { digits } = digitsOf(text);
    return isCardNumber(digits) ? this.#numbers.keep(digits) : this.#numbers.mask(text);
  }

  #masked(text: string): string {
    if (isReplaced(text)) return text;
    const number = cardIn(text);
    if (number !== null) return this.#numbers.keep(number);
    return digitsOf(text).digits.length < FEW_DIGITS ? text : WRONG_CARD;
  }

  #endKeys(): void {
    this.#alarm.set(undefined);
    const digits = this.#keys.replaceAll(/\D/g, '');
    this.#keys = '';
    if (digits === '') return;
    this.#emit({ type: 'text', text: isCardNumber(digits) ? this.#numbers.keep(digits) : WRONG_CARD });
  }
}

/** Whether a text is only what stands for a number. */
function isReplaced(text: string): boolean {
  return text === WRONG_CARD || /^\[card number ending in \d{4}\]$/.test(text);
}

/** All digits of a text, as written or said, and whether it has no other words. */
function digitsOf(text: string): { digits: string; isPure: boolean } {
  const words = utteranceWords(text.replaceAll(/(?<=\d)\.(?=\d)/g, ' '));
  let digits = '';
  let isPure = words.length > 0;
  for (let at = 0; at < words.length;) {
    const found = digitsAt(words, at);
    if (found === null) isPure = false;
    digits += found?.digits.replaceAll(/\D/g, '') ?? '';
    at = found?.end ?? at + 1;
  }
  return { digits, isPure };
}

/** The card number in a text; other digits, such as those of its last month, may follow other words. */
function cardIn(text: string): string | null {
  return (
    [text, ...(text.match(SAID_DIGITS) ?? []), ...(text.match(/\d+/g) ?? [])]
      .map((row) => digitsOf(row).digits)
      .find(isCardNumber) ?? null
  );
}

/** A text of the same shape without its numbers. */
function zeros(text: string): string {
  return text.replaceAll(NUMBER_WORDS, (digit) => (/^\d$/.test(digit) ? '0' : 'zero'));
}
