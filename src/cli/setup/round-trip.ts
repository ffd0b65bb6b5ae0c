import { readdir, readFile } from 'node:fs/promises';
import { baseLanguage } from '../../base/language.js';
import { ParleyError } from '../../base/errors.js';
import { SCRIPTED_MODEL } from '../../settings/models.js';
import { SENTENCE, tryHearing, trySpeaking, tryThinking, type TrialOptions } from '../providers/trial.js';
import { isEmbedded, type Part } from './plan.js';

/** What a round trip through the parts shows. */
export interface RoundTrip {
  /** The parts that failed, with the reason. */
  faults: ReadonlyMap<Part, string>;
  /** Milliseconds from the end of speech to the final words, from there to the first token, to the first sound. */
  delaysMs: { words: number | null; token: number | null; sound: number | null };
  /** The most that parley and the processes of its models had, in bytes. */
  memoryBytes: number;
  heard: string | null;
}

/** What is said, by language; English in others, and what is heard is not compared. */
const SENTENCES: Readonly<Record<string, string>> = {
  en: SENTENCE,
  de: 'Wir haben einen Tisch für zwei um sieben Uhr heute Abend.',
  fr: 'Nous avons une table pour deux à sept heures ce soir.',
  es: 'Tenemos una mesa para dos a las siete de la tarde.',
};
/** A recogniser that gets fewer of the sentence's words does not work here. */
const LEAST_SHARE = 0.5;
const LINUX_PAGE_BYTES = 4_096;

/** Speaks a sentence with the chosen voice, recognises that speech, and asks the language model. */
export async function roundTrip(parts: readonly Part[], options: TrialOptions): Promise<RoundTrip> {
  const faults = new Map<Part, string>();
  const delaysMs: RoundTrip['delaysMs'] = { words: null, token: null, sound: null };
  let memoryBytes = await treeBytes();
  const facts = new Map<string, number | string>();
  const samples: Promise<void>[] = [];
  const note = (fact: string, value: number | string): void => {
    facts.set(fact, value);
    samples.push(treeBytes().then((bytes) => void (memoryBytes = Math.max(memoryBytes, bytes))));
  };
  const attempt = async <T>(part: Part, work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof ParleyError)) throw error;
      faults.set(part, error.message);
      return null;
    }
  };
  const number = (fact: string): number | null =>
    typeof facts.get(fact) === 'number' ? Number(facts.get(fact)) : null;
  let speech: Int16Array | null = null;
  let heard: string | null = null;
  const own = SENTENCES[baseLanguage(options.language)];
  const sentence = own ?? SENTENCE;
  const isHeard = (text: string): boolean => (own === undefined ? text !== '' : shareOf(text, own) >= LEAST_SHARE);
  const voice = parts.find(({ kind }) => kind === 'tts');
  const recogniser = parts.find(({ kind }) => kind === 'stt');
  if (voice !== undefined) {
    const asked = { ...options, sentence, voiceId: voice.model, model: null };
    speech = await attempt(voice, () => trySpeaking(voice.provider ?? '', asked, note));
    delaysMs.sound = number('first audio');
  }
  if (recogniser !== undefined) {
    const asked = { ...options, sentence, model: recogniser.model };
    const hear = (said: Int16Array | null): Promise<string> => tryHearing(recogniser.provider ?? '', asked, note, said);
    heard = await attempt(recogniser, () => hear(speech));
    delaysMs.words = number('final, after the end of speech');
    if (!faults.has(recogniser) && heard !== null && !isHeard(heard)) {
      const fault = `"${sentence}" was heard as "${heard}"`;
      // Where the embedded voice is understood, the other voice is at fault. The embedded recogniser may know it badly.
      const isOther = voice !== undefined && !isEmbedded(voice) && own === SENTENCE;
      const again = isOther ? await attempt(recogniser, () => hear(null)) : null;
      const isVoices = voice !== undefined && again !== null && isHeard(again);
      if (!isVoices) faults.set(recogniser, fault);
      else if (!isEmbedded(recogniser)) faults.set(voice, fault);
    }
  }
  for (const part of parts.filter(({ kind, model }) => kind === 'llm' && model !== SCRIPTED_MODEL)) {
    await attempt(part, () => tryThinking(part.model ?? '', options, note));
    delaysMs.token = number('first token');
  }
  await Promise.all(samples);
  return { faults, delaysMs, memoryBytes, heard };
}

function shareOf(heard: string, sentence: string): number {
  const wordsOf = (text: string): string[] =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
      .trim()
      .split(' ');
  const wanted = wordsOf(sentence);
  const words = new Set(wordsOf(heard));
  return wanted.filter((word) => words.has(word)).length / wanted.length;
}

/** Resident memory of this process and, on Linux, of its children. */
async function treeBytes(): Promise<number> {
  const own = process.memoryUsage.rss();
  try {
    const threads = await readdir('/proc/self/task');
    const lists = await Promise.all(threads.map((id) => readFile(`/proc/self/task/${id}/children`, 'utf8')));
    const children = lists.flatMap((list) => list.split(' ').filter((id) => id !== ''));
    const sizes = await Promise.all(children.map((id) => readFile(`/proc/${id}/statm`, 'utf8').catch(() => '0 0')));
    return sizes.reduce((sum, size) => sum + LINUX_PAGE_BYTES * Number(size.split(' ')[1] ?? 0), own);
  } catch {
    return own;
  }
}
