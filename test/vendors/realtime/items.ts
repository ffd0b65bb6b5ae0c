import type { WrittenItem } from './messages.js';

/** An item of the conversation, as the server keeps it. */
export interface HeldItem {
  id: string;
  kind: 'user audio' | 'user text' | 'agent audio' | 'agent text' | 'call' | 'result';
  /** The transcript, the text, the arguments or the output. Empty once the audio was cut: then nobody knows the words. */
  text: string;
  /** Of audio: its length, and so much of it as is left. */
  audioMs: number;
  isCut: boolean;
  callId: string | null;
  name: string | null;
}

export function heldOf(id: string, item: WrittenItem): HeldItem {
  const held = { id, audioMs: 0, isCut: false, callId: null, name: null };
  if (item.type === 'function_call') {
    return { ...held, kind: 'call', text: item.arguments, callId: item.call_id, name: item.name };
  }
  if (item.type === 'function_call_output') return { ...held, kind: 'result', text: item.output, callId: item.call_id };
  return { ...held, kind: item.role === 'user' ? 'user text' : 'agent text', text: item.content[0].text };
}

/** Where an item goes that is to stand behind another; null = there is no such item. */
export function placeBehind(items: readonly HeldItem[], id: string): number | null {
  if (id === 'root') return 0;
  const index = items.findIndex((held) => held.id === id);
  return index < 0 ? null : index + 1;
}

/** Counts tokens: one is 100 ms of the user's audio, 50 ms of the model's, or four characters. */
export class Usage {
  #lastInput = 0;

  /** Of a response, as `response.done` has it. */
  of(items: readonly HeldItem[], output: readonly HeldItem[], instructions: string): object {
    const given = items.filter((item) => !output.includes(item));
    const audioIn = sum(given.map(({ kind, audioMs }) => Math.ceil(audioMs / (kind === 'user audio' ? 100 : 50))));
    const texts = given.filter(({ audioMs }) => audioMs === 0).map(({ text }) => Math.ceil(text.length / 4));
    const textIn = Math.ceil(instructions.length / 4) + sum(texts);
    const audioOut = sum(output.map(({ audioMs }) => Math.ceil(audioMs / 50)));
    const textOut = sum(output.map(({ text }) => Math.ceil(text.length / 4)));
    const cached = Math.min(this.#lastInput, audioIn + textIn);
    this.#lastInput = audioIn + textIn;
    const cachedAudio = Math.min(cached, audioIn);
    return {
      total_tokens: audioIn + textIn + audioOut + textOut,
      input_tokens: audioIn + textIn,
      output_tokens: audioOut + textOut,
      input_token_details: {
        text_tokens: textIn,
        audio_tokens: audioIn,
        cached_tokens: cached,
        cached_tokens_details: { text_tokens: cached - cachedAudio, audio_tokens: cachedAudio },
      },
      output_token_details: { text_tokens: textOut, audio_tokens: audioOut },
    };
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
