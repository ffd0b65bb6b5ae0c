import type { CodecName } from './media-codec.js';

/** Why packets were ignored. */
export const UNHEARD_KINDS = ['stranger', 'forged', 'junk', 'unknown_type', 'undecodable', 'early'] as const;
export type UnheardKind = (typeof UNHEARD_KINDS)[number];

/** A finished call's share of the totals. */
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

/** Media statistics of all calls, for metrics. */
export class RtpTotals {
  /** Calls with open media. */
  open = 0;
  /** Milliseconds of concealed audio in finished calls. */
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

  /** Finished calls by negotiated codec and security. */
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
