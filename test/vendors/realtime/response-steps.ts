import { madeSpeech } from '../tts/made-speech.js';
import type { DoubleReply } from './double.js';
import type { HeldItem } from './items.js';

export interface StepsOptions {
  responseId: string;
  /** Events have the names of before the API was generally available. */
  beta: boolean;
  /** It writes, and does not speak. */
  isText: boolean;
  next: () => number;
  say: (event: object) => void;
  /** Every item that it makes is added here … */
  output: HeldItem[];
  /** … and reported when it begins. */
  begun: (item: HeldItem) => void;
  onAudio: () => void;
}

const BYTES_PER_MS = 48;

/** All that a response says, step by step: message items, words a little before their audio, then its calls. */
export function stepsOf({ say, calls = [] }: DoubleReply, options: StepsOptions): (() => void)[] {
  const steps: (() => void)[] = [];
  let index = 0;
  if (say !== undefined) steps.push(...speaking(say, index++, options));
  for (const call of calls) steps.push(...calling(call, index++, options));
  return steps;
}

function calling(
  { name, arguments: given }: NonNullable<DoubleReply['calls']>[number],
  output_index: number,
  options: StepsOptions,
): (() => void)[] {
  const { say, responseId: response_id, begun } = options;
  const call_id = `call_${String(options.next())}`;
  const item = made('call', options, call_id, name);
  const wire = { id: item.id, type: 'function_call', call_id, name };
  const of = { response_id, output_index };
  const ofCall = { ...of, item_id: item.id, call_id };
  const json = JSON.stringify(given);
  return [
    () => {
      begun(item);
      say({ type: 'response.output_item.added', ...of, item: { ...wire, status: 'in_progress', arguments: '' } });
    },
    () => say({ type: 'response.function_call_arguments.delta', ...ofCall, delta: json.slice(0, 3) }),
    () => {
      item.text = json;
      say({ type: 'response.function_call_arguments.done', ...ofCall, name, arguments: json });
      say({ type: 'response.output_item.done', ...of, item: { ...wire, status: 'completed', arguments: json } });
    },
  ];
}

function speaking(text: string, output_index: number, options: StepsOptions): (() => void)[] {
  const { say, responseId: response_id, begun, beta, isText, onAudio } = options;
  const item = made(isText ? 'agent text' : 'agent audio', options);
  const of = { response_id, item_id: item.id, output_index, content_index: 0 };
  const wire = { id: item.id, type: 'message', role: 'assistant', content: [] };
  const [audio, script, written] = ['audio', 'audio_transcript', 'text'].map(
    (name) => `response.${beta ? '' : 'output_'}${name}`,
  ) as [string, string, string];
  const begin = (): void => {
    begun(item);
    const part = isText ? { type: 'output_text', text: '' } : { type: 'output_audio', transcript: '' };
    say({ type: 'response.output_item.added', response_id, output_index, item: { ...wire, status: 'in_progress' } });
    say({ type: 'response.content_part.added', ...of, part });
  };
  const tell = (delta: string) => (): void => {
    item.text += delta;
    say({ type: `${isText ? written : script}.delta`, ...of, delta });
  };
  const sound = (piece: Buffer) => (): void => {
    item.audioMs += piece.length / BYTES_PER_MS;
    onAudio();
    say({ type: `${audio}.delta`, ...of, delta: piece.toString('base64') });
  };
  const done = (): void => {
    if (!isText) say({ type: `${audio}.done`, ...of });
    say({ type: `${isText ? written : script}.done`, ...of, ...(isText ? { text } : { transcript: text }) });
    say({ type: 'response.output_item.done', response_id, output_index, item: { ...wire, status: 'completed' } });
  };
  const { bytes, words } = madeSpeech(text, 24_000);
  const pieces = words.flatMap((word, at): (() => void)[] => {
    const telling = tell(at === 0 ? word.text : ` ${word.text}`);
    if (isText) return [telling];
    const from = at === 0 ? 0 : placeOf(words[at - 1]?.endMs ?? 0);
    const to = at === words.length - 1 ? bytes.length : placeOf(word.endMs);
    // Cut within a sample as often as not.
    const middle = from + Math.floor((to - from) / 2);
    return [telling, sound(bytes.subarray(from, middle)), sound(bytes.subarray(middle, to))];
  });
  return [begin, ...pieces, done];
}

function placeOf(ms: number): number {
  return Math.round(ms * 24) * 2;
}

function made(
  kind: HeldItem['kind'],
  { next, output }: StepsOptions,
  callId: string | null = null,
  name: string | null = null,
): HeldItem {
  const item: HeldItem = { id: `item_${String(next())}`, kind, text: '', audioMs: 0, isCut: false, callId, name };
  output.push(item);
  return item;
}
