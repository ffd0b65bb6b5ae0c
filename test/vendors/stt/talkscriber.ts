/**
 * Talkscriber's live transcription, from its own clients https://github.com/Talkscriber/ts-client-nodejs
 * (speech-to-text/src) and https://github.com/Talkscriber/ts-client (read on 2026-11-21): nothing else is published.
 */
import type { DoubleConversation, DoubleLine, DoubleProtocol } from './socket-double.js';
import { Ear, type HeardWord } from './spoken-words.js';

const START = 'uid multilingual language task auth enable_turn_detection turn_detection_timeout'.split(' ');
/** So many segments are sent again with each new one. */
const REPEATED = 10;

export function talkscriberDouble(key: string): DoubleProtocol {
  return {
    refuses: ({ path }) => (path === '/' ? null : [404, '']),
    converse: (line) => new Transcription(line, key),
  };
}

class Transcription implements DoubleConversation {
  readonly #line: DoubleLine;
  readonly #key: string;
  readonly #ear = new Ear();
  #uid = '';
  #turnMs = 600;
  #segments: { words: HeardWord[]; isOver: boolean }[] = [];
  #known = 0;

  constructor(line: DoubleLine, key: string) {
    this.#line = line;
    this.#key = key;
  }

  binary(data: Buffer): void {
    if (this.#uid === '') this.#line.violation('audio before the start');
    const pcm = Buffer.alloc(data.length / 2);
    for (let at = 0; at < data.length / 4; at++)
      pcm.writeInt16LE(Math.round(data.readFloatLE(at * 4) * 32_768), at * 2);
    this.#ear.hear(pcm);
    const fresh = this.#ear.words.slice(this.#known);
    this.#known = this.#ear.words.length;
    const last = this.#segments.at(-1);
    if (fresh.length > 0) {
      if (last === undefined || last.isOver) this.#segments.push({ words: fresh, isOver: false });
      else last.words.push(...fresh);
      this.#tell();
    } else if (last !== undefined && !last.isOver && this.#ear.quietMs >= this.#turnMs) {
      last.isOver = true;
      this.#tell();
    }
  }

  text(text: string): void {
    const start = JSON.parse(text) as Record<string, unknown>;
    for (const name of Object.keys(start)) if (!START.includes(name)) this.#line.violation(`unknown field ${name}`);
    this.#uid = String(start['uid']);
    if (start['auth'] !== this.#key) {
      this.#line.say({ uid: this.#uid, status: 'ERROR', message: 'UNAUTHORIZED' });
      this.#line.close(1000);
      return;
    }
    this.#turnMs = Number(start['turn_detection_timeout']) * 1000;
    this.#line.asked({ model: 'none', language: start['language'] as string | null, keywords: [] });
    this.#line.say({ session_id: this.#uid, message: 'SERVER_READY' });
  }

  #tell(): void {
    this.#line.say({
      session_id: this.#uid,
      segments: this.#segments.slice(-REPEATED).map(({ words, isOver }) => ({
        text: words.map((word) => word.text).join(' '),
        start: (words[0]?.startMs ?? 0) / 1000,
        end: (words.at(-1)?.endMs ?? 0) / 1000,
        EOS: isOver,
      })),
    });
  }
}
