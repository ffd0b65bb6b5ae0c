import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { KEY, SpeechDouble } from '../tts/speech-double.js';
import { RealtimeConversation } from './conversation.js';
import type { HeldItem } from './items.js';
import type { ClientEvent } from './messages.js';

/** What the model answers. */
export interface DoubleReply {
  say?: string;
  calls?: readonly { name: string; arguments: object }[];
  /** It fails instead. */
  fail?: { type: string; code: string; message: string };
  /** It stops so, in good order, when it has said what there is. */
  incomplete?: 'max_output_tokens' | 'content_filter';
}

/** What the model is given. */
export interface DoubleContext {
  instructions: string;
  items: readonly HeldItem[];
  tools: readonly string[];
}

/**
 * OpenAI's Realtime API: conversations of audio, with the vendor's conversation state, audio buffer, turn detection,
 * responses inside and outside the conversation, truncation, usage and errors; strict about what it is sent. Written from
 * developers.openai.com/api/reference/resources/realtime/client-events and …/server-events, /api/docs/guides/realtime-vad
 * and the types of the official SDK `openai` 7.57.0 (read on 2026-11-22). The codes of errors that the reference does not
 * list are those that users report: `conversation_already_has_active_response`, `response_cancel_not_active`,
 * `input_audio_buffer_commit_empty`, `session_expired`.
 */
export class RealtimeDouble extends SpeechDouble {
  readonly received: ClientEvent[] = [];
  readonly conversations: RealtimeConversation[] = [];
  /** What it answers with. Default: what it heard last. */
  brain: (context: DoubleContext) => DoubleReply = ({ items }) => ({ say: `You said: ${textOf(items.at(-1))}.` });
  /** What it takes the next stretches of speech for, and nothing after them. Null = they are made of `spoken` words. */
  hears: string[] | null = null;
  /** Events have the names of before the API was generally available. */
  beta = false;
  /** Input is not transcribed: its transcription fails. */
  deaf = false;
  /** How many responses were asked for in conversations. */
  responses = 0;
  #dead = 0;
  #count = 0;

  /** A number that nobody had. */
  next(): number {
    return ++this.#count;
  }

  /** Whether this connection is to be found dead. */
  isDead(): boolean {
    return this.#dead < (this.faults.deadConnections ?? 0) && ++this.#dead > 0;
  }

  /** The conversation that is under way. */
  get conversation(): RealtimeConversation {
    const last = this.conversations.findLast(({ isConversation }) => isConversation);
    if (last === undefined) throw new Error('nobody converses');
    return last;
  }

  protected override connectProblem({ url = '', headers }: IncomingMessage) {
    const { pathname, searchParams } = new URL(url, 'http://double');
    const given = headers.authorization ?? '';
    if (given !== `Bearer ${KEY}`) return { status: 401, reason: `Incorrect API key provided: ${given}` };
    if (pathname !== '/realtime') return { status: 404, reason: 'not found' };
    return searchParams.get('model')?.startsWith('gpt-') === true ? null : { status: 400, reason: 'model' };
  }

  protected override onLine(line: WebSocket, url: URL): void {
    this.conversations.push(new RealtimeConversation(this, line, url.searchParams.get('model') ?? ''));
    this.changed();
  }
}

/** What an item says, however. */
export function textOf(item: HeldItem | undefined): string {
  return item?.text ?? '';
}
