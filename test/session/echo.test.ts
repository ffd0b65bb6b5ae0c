import { describe, expect, it } from 'vitest';
import type { SttEvents, SttProvider } from '../../src/providers/stt/stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { DEFAULT_CONVERSATION } from '../../src/agent/flow/conversation-config.js';
import { play, recording, saidBy } from './support.js';

const GREETING = 'Good evening and welcome to the desk of the Crooked Fork how may I help you tonight?';
const DELAY_FRAMES = 8;
const FRAME_MS = 20;
const CHAR_MS = 50;

/** A loudspeaker beside a microphone: what the agent says comes back, later and quieter. */
class Room {
  readonly line = new MemoryTransport({ onFrame: (frame) => this.#play(frame) });
  /** For each frame so far, how much of the greeting had been played, in ms. */
  readonly #playedMs: number[] = [];
  readonly #air: (Int16Array | null)[] = [];

  constructor(readonly hangUpMs: number) {}

  /** A recogniser that hears just what comes back. */
  get stt(): SttProvider {
    return {
      name: 'room',
      virtualTime: true,
      warmUp: () => Promise.resolve(),
      close: () => Promise.resolve(),
      open: (_options, events) => Promise.resolve(this.#stream(events)),
    };
  }

  #stream(events: SttEvents): Awaited<ReturnType<SttProvider['open']>> {
    let segment = 0;
    let fromMs: number | null = null;
    let toldMs = 0;
    const tell = (toMs: number, isFinal: boolean): void => {
      const text = this.#wordsBetween(fromMs ?? toMs, toMs);
      events.onTranscript({ segment, text, isFinal, understood: text !== '', confidence: null });
    };
    return {
      push: (samples, startSample) => {
        const nowMs = (startSample + samples.length) / 16;
        if (fromMs === null || nowMs - toldMs < 300) return;
        toldMs = nowMs;
        tell(nowMs, false);
      },
      speechStarted: (sample) => (fromMs = sample / 16),
      speechStopped: (sample) => {
        tell(sample / 16, true);
        fromMs = null;
        segment++;
      },
      endTurn: () => undefined,
      close: () => Promise.resolve(),
    };
  }

  #play(frame: Int16Array | null): void {
    const beforeMs = this.#playedMs.at(-1) ?? 0;
    this.#playedMs.push(beforeMs + (frame === null ? 0 : FRAME_MS));
    this.#air.push(frame);
    const echo = this.#air.length > DELAY_FRAMES ? this.#air[this.#air.length - 1 - DELAY_FRAMES] : null;
    this.line.pushAudio(Int16Array.from(echo ?? new Int16Array(320), (sample) => sample / 2));
    if (this.#playedMs.length * FRAME_MS >= this.hangUpMs) this.line.hangUp();
  }

  #wordsBetween(fromMs: number, toMs: number): string {
    const charsAt = (ms: number): number => {
      const frame = Math.max(0, Math.floor(ms / FRAME_MS) - DELAY_FRAMES);
      return (this.#playedMs[frame] ?? this.#playedMs.at(-1) ?? 0) / CHAR_MS;
    };
    const words = [...GREETING.toLowerCase().replace('?', '').matchAll(/\S+/g)];
    return words
      .filter(({ index, 0: word }) => index + 1 >= charsAt(fromMs) && index + word.length <= charsAt(toMs) + 1)
      .map(([word]) => word)
      .join(' ');
  }
}

describe('an agent that hears itself', () => {
  it.each([true, false])(
    'says what it has to say, and does not answer itself (interruption allowed: %s)',
    async (allowed) => {
      const room = new Room(14_000);
      const played = await play(recording(0), {
        transport: room.line,
        stt: room.stt,
        tts: toneTts({ charMs: CHAR_MS }),
        conversation: {
          opening: { ...DEFAULT_CONVERSATION.opening, firstMessage: GREETING },
          interruption: { ...DEFAULT_CONVERSATION.interruption, allowed },
        },
      });
      expect(played.events.filter(({ type }) => type === 'user')).toEqual([]);
      expect(saidBy(played)).toEqual([GREETING]);
      const heard = played.events.flatMap((event) =>
        event.type === 'transcript' && event.isFinal ? [event.text] : [],
      );
      expect(heard.join(' ')).toContain('help you');
      const holds = played.log.filter((entry) => entry.kind === 'effect' && entry.effect.type === 'playout.hold');
      expect(holds.length).toBe(allowed ? 2 : 0); // the second tells that it is no chance
    },
  );
});
