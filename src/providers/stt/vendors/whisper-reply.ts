import { type JsonObject, numberOf, objectsOf, textOf } from '../../wire/json.js';
import type { VendorWord } from './dialect.js';

export interface Transcription {
  text: string;
  confidence: number | null;
  /** Empty where the server gives no times. */
  words: readonly VendorWord[];
}

/** Whisper's own limits (openai/whisper, transcribe.py): what is beyond both was made up from noise. */
const NO_SPEECH = 0.6;
const UNLIKELY = -1;

/** A reply as `json` or `verbose_json`; null = it is neither. */
export function readTranscription(reply: JsonObject | null): Transcription | null {
  const text = textOf(reply?.['text']);
  if (reply === null || text === null) return null;
  const segments = objectsOf(reply['segments']);
  const heard = segments.filter((segment) => !isMadeUp(segment));
  if (segments.length > 0 && heard.length === 0) return { text: '', confidence: null, words: [] };
  const logprobs = heard.map((segment) => numberOf(segment['avg_logprob'])).filter((one) => one !== null);
  const words = objectsOf(reply['words']).flatMap((word): VendorWord[] => {
    const said = textOf(word['word']);
    const start = numberOf(word['start']);
    const end = numberOf(word['end']);
    if (said === null || start === null || end === null) return [];
    return [{ text: said.trim(), startMs: start * 1000, endMs: end * 1000, confidence: null }];
  });
  const all = heard.length === segments.length;
  return {
    text: all ? text.trim() : heard.map((segment) => (textOf(segment['text']) ?? '').trim()).join(' '),
    confidence: logprobs.length === 0 ? null : Math.exp(logprobs.reduce((sum, one) => sum + one, 0) / logprobs.length),
    words: all ? words : [],
  };
}

function isMadeUp(segment: JsonObject): boolean {
  return (numberOf(segment['no_speech_prob']) ?? 0) > NO_SPEECH && (numberOf(segment['avg_logprob']) ?? 0) < UNLIKELY;
}
