import type { ConversationEvent } from '../conversation/events.js';
import { reasonOf } from '../errors.js';
import type { TransportSink } from '../transports/transport.js';
import type { ClientForms } from './client-forms.js';
import type { Hearing } from './hearing.js';

export interface LineSinkOptions {
  hearing: Hearing;
  forms: ClientForms;
  onEvent: (event: ConversationEvent) => void;
  onClosed: (error: unknown) => void;
}

/** Where a line brings what the user says, presses and types. */
export function lineSink({ hearing, forms, onEvent, onClosed }: LineSinkOptions): TransportSink {
  return {
    audio: (samples) => {
      try {
        hearing.audio(samples);
      } catch (error) {
        onEvent({ type: 'ears.failed', reason: reasonOf(error) });
      }
    },
    digits: (digits) => hearing.keys(digits),
    text: (text) => onEvent({ type: 'text', text }),
    formResult: (id, value) => forms.result(id, value),
    closed: onClosed,
  };
}
