import { randomUUID } from 'node:crypto';
import type { EventRefusal } from './client-events.js';

/** Names of the interface's beta, for clients that ask for it. Null = the beta had no such event. */
const BETA_NAMES: Readonly<Record<string, string | null>> = {
  'conversation.item.added': 'conversation.item.created',
  'conversation.item.done': null,
  'response.output_audio.delta': 'response.audio.delta',
  'response.output_audio.done': 'response.audio.done',
  'response.output_audio_transcript.delta': 'response.audio_transcript.delta',
  'response.output_audio_transcript.done': 'response.audio_transcript.done',
  'response.output_text.delta': 'response.text.delta',
  'response.output_text.done': 'response.text.done',
};
/** Of parts of items. */
const BETA_PARTS: Readonly<Record<string, string>> = { output_audio: 'audio', output_text: 'text' };

export function newId(prefix: 'event' | 'item' | 'resp' | 'conv'): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}

/** Gives events their ids and, for clients of the beta, their former names. */
export class ServerEvents {
  readonly isBeta: boolean;
  readonly #send: (text: string) => void;

  constructor(send: (text: string) => void, isBeta: boolean) {
    this.#send = send;
    this.isBeta = isBeta;
  }

  send(type: string, body: object): void {
    const name = this.isBeta && type in BETA_NAMES ? BETA_NAMES[type] : type;
    if (name == null) return;
    const event = Object.assign({ type: name, event_id: newId('event') }, body);
    this.#send(this.isBeta ? JSON.stringify(event, betaPart) : JSON.stringify(event));
  }

  /** @param eventId of the client's event that is refused; null = none */
  refuse({ message, code, param }: EventRefusal, eventId: string | null): void {
    this.send('error', { error: { type: 'invalid_request_error', code, message, param, event_id: eventId } });
  }

  /** A fault that is not the client's. */
  fail(code: string, message: string): void {
    this.send('error', { error: { type: 'server_error', code, message, param: null, event_id: null } });
  }
}

function betaPart(key: string, value: unknown): unknown {
  return key === 'type' && typeof value === 'string' ? (BETA_PARTS[value] ?? value) : value;
}
