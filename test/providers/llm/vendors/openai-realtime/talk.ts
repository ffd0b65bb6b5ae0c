import { expect } from 'vitest';
import { RealClock } from '../../../../../src/base/real-clock.js';
import type { ChatMessage, ToolSpec } from '../../../../../src/agent/chat.js';
import type { LlmPiece, LlmVoice, SpeechModelVoice, SpeechSession } from '../../../../../src/providers/llm/llm.js';
import {
  OpenAiRealtime,
  type OpenAiRealtimeOptions,
} from '../../../../../src/providers/llm/vendors/openai-realtime/openai-realtime.js';
import type { SttEvents, SttStream, SttTranscript } from '../../../../../src/providers/stt/stt.js';
import type { RealtimeDouble } from '../../../../vendors/realtime/double.js';
import { silence, spoken } from '../../../../vendors/stt/spoken-words.js';
import { KEY } from '../../../../vendors/tts/speech-double.js';

const NO_HINTS = { phrases: [], texts: [], keywords: new Map<string, number>() };

/** One conversation with the double, as a session would lead it. */
export class Talk {
  readonly provider: OpenAiRealtime;
  readonly session: SpeechSession;
  readonly transcripts: SttTranscript[] = [];
  readonly errors: Error[] = [];
  readonly #abort = new AbortController();
  readonly #clock = new RealClock();
  #stream: SttStream | null = null;
  #samples = 0;

  constructor(
    double: RealtimeDouble,
    options: Partial<OpenAiRealtimeOptions> = {},
    voice: SpeechModelVoice | null = { voiceId: null, settings: {} },
  ) {
    this.provider = new OpenAiRealtime({ baseUrl: double.url, apiKey: KEY, clock: this.#clock, ...options });
    this.session = this.provider.speech.open('gpt-realtime', voice);
  }

  async listen(language = 'en-US', hints = NO_HINTS, model?: string): Promise<void> {
    const events: SttEvents = {
      onTranscript: (transcript) => this.transcripts.push(transcript),
      onError: (error) => this.errors.push(error),
    };
    const options = { language, hints, clock: this.#clock, signal: this.#abort.signal, ...(model && { model }) };
    this.#stream = await this.session.stt.open(options, events);
  }

  /** The user says something, and our VAD notices. */
  say(text: string): void {
    const stream = this.#stream;
    if (stream === null) throw new Error('nobody listens');
    const [before, words] = [silence(400), spoken(text)];
    this.#push(stream, before);
    const start = this.#samples;
    this.#push(stream, words);
    stream.speechStarted(start);
    const end = this.#samples;
    this.#push(stream, silence(100));
    stream.speechStopped(end);
  }

  /** The turn was taken as a whole. */
  endTurn(): void {
    this.#stream?.endTurn();
  }

  /** Until the words of what was said last are there. */
  async words(count: number): Promise<string> {
    const finals = (): SttTranscript[] => this.transcripts.filter(({ isFinal }) => isFinal);
    await expect.poll(() => finals().length, { timeout: 5000, interval: 5 }).toBeGreaterThanOrEqual(count);
    return finals().at(-1)?.text ?? '';
  }

  ask(
    messages: readonly ChatMessage[],
    more: { tools?: ToolSpec[]; requiredTool?: string; signal?: AbortSignal } = {},
  ) {
    const { tools = [], signal = this.#abort.signal, requiredTool } = more;
    const asked = { model: 'gpt-realtime', messages, tools, temperature: 0, clock: this.#clock, signal };
    return this.session.llm.complete({ ...asked, ...(requiredTool !== undefined && { requiredTool }) });
  }

  async answer(...given: Parameters<Talk['ask']>): Promise<Answer> {
    return gathered(this.ask(...given));
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#stream?.close();
    await this.session.close();
    await this.provider.close();
  }

  #push(stream: SttStream, samples: Int16Array): void {
    for (let at = 0; at < samples.length; at += 320) {
      const piece = samples.subarray(at, at + 320);
      stream.push(piece, this.#samples);
      this.#samples += piece.length;
    }
  }
}

export interface Answer {
  text: string;
  audio: Buffer;
  calls: { name: string; arguments: string; id: string }[];
  usage: Extract<LlmPiece, { type: 'usage' }> | null;
  cut: LlmVoice['cut'] | null;
  isLast: boolean;
}

export async function gathered(pieces: AsyncIterable<LlmPiece>): Promise<Answer> {
  const answer: Answer = { text: '', audio: Buffer.alloc(0), calls: [], usage: null, cut: null, isLast: false };
  for await (const piece of pieces) {
    if (piece.type === 'voice' || piece.type === 'text') answer.text += piece.text;
    if (piece.type === 'toolCall') answer.calls.push(piece.call);
    if (piece.type === 'usage') answer.usage = piece;
    if (piece.type !== 'voice') continue;
    answer.cut = piece.cut;
    answer.isLast = piece.isLast;
    const { samples } = piece.audio ?? { samples: new Int16Array(0) };
    const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
    answer.audio = Buffer.concat([answer.audio, bytes]);
  }
  return answer;
}
