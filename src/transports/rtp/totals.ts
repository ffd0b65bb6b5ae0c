import type { CodecName } from './media-codec.js';

/** Why packets were not heard. */
export const UNHEARD_KINDS = ['stranger', 'forged', 'junk', 'unknown_type', 'undecodable', 'early'] as const;
export type UnheardKind = (typeof UNHEARD_KINDS)[number];

/** What a call adds to the totals, at its end. */
export interface CallFigures {
  codec: CodecName | null;
  isSecure: boolean;
  strangers: number;
  forged: number;
  junk: number;
  unknownTypes: number;
  undecodable: number;
  early: number;
  concealedMs: number;
}

/** What has become of the media of all calls, for those who watch over them. */
export class RtpTotals {
  /** Calls whose media are open. */
  open = 0;
  /** Milliseconds of sound that were made up in place of lost packets, in calls that are over. */
  concealedMs = 0;
  readonly unheard: Record<UnheardKind, number> = {
    stranger: 0,
    forged: 0,
    junk: 0,
    unknown_type: 0,
    undecodable: 0,
    early: 0,
  };
  readonly #calls = new Map<string, { codec: CodecName; isSecure: boolean; count: number }>();

  /** Calls that are over, by what was agreed upon. */
  get calls(): readonly { codec: CodecName; isSecure: boolean; count: number }[] {
    return [...this.#calls.values()];
  }

  opened(): void {
    this.open++;
  }

  closed(call: CallFigures): void {
    const { codec, isSecure } = call;
    this.open--;
    this.concealedMs += call.concealedMs;
    this.unheard.stranger += call.strangers;
    this.unheard.forged += call.forged;
    this.unheard.junk += call.junk;
    this.unheard.unknown_type += call.unknownTypes;
    this.unheard.undecodable += call.undecodable;
    this.unheard.early += call.early;
    if (codec === null) return;
    const key = `${codec}${isSecure ? '+' : ''}`;
    const known = this.#calls.get(key) ?? { codec, isSecure, count: 0 };
    known.count++;
    this.#calls.set(key, known);
  }
}
