import { parentPort, workerData } from 'node:worker_threads';
import { RealClock } from '../../../base/real-clock.js';
import { reasonOf } from '../../../base/errors.js';
import type { SpeechHints } from '../stt.js';
import type { SpeechLanguage } from '../lm/text.js';
import { loadLanguage, MODEL_FOLDER, type LanguageData } from './language-data.js';
import { DecoderLeases } from './decoder-leases.js';
import type { WorkerAnswer, AnswerValue, Request, WorkerSettings } from './protocol.js';
import { loadSoundSwallower, type SoundSwallower } from './decoder.js';
import { SoundSwallowerDecoder } from './turn-decoder.js';
import { compileVocabulary, vocabularyKey, type Vocabulary } from './vocabulary.js';

/** The recogniser's thread: hosts all decoders of the process and answers the requests of protocol.ts. */
const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');

/** Size of the LRU cache of vocabularies: some hundred kB each. */
const MAX_VOCABULARIES = 32;

const { decoders } = workerData as WorkerSettings;
const languages = new Map<SpeechLanguage, Promise<LanguageData>>();
const vocabularies = new Map<string, Vocabulary>();
let loading: Promise<SoundSwallower> | undefined;
const desk = new DecoderLeases({
  size: decoders,
  make: async (language) => SoundSwallowerDecoder.make(await module(), language),
  clock: new RealClock(),
  soon: setImmediate,
});
/** Streams that closed while opening. */
const closedEarly = new Set<number>();
const opening = new Set<number>();

port.on('message', (request: Request) => {
  switch (request.kind) {
    case 'warm':
      void answer(request.id, async () => {
        await languageData(request.language);
        await desk.warm(request.language);
        return null;
      });
      break;
    case 'open':
      opening.add(request.stream);
      void answer(request.id, () => open(request.stream, request.language, request.hints));
      break;
    case 'audio':
      desk.audio(request.stream, request.samples, request.isFinal, {
        done: (value) => {
          send({ id: request.id, ok: true, value });
        },
        failed: (error) => {
          fail(request.id, error);
        },
      });
      break;
    case 'score': {
      const { stream, sentences, answer: asked } = request;
      void answer(request.id, () => Promise.resolve(desk.vocabularyOf(stream)?.score(sentences, asked) ?? null));
      break;
    }
    case 'expect':
      desk.expect(request.stream, request.answer);
      break;
    case 'end':
      desk.end(request.stream);
      break;
    case 'close':
      if (opening.has(request.stream)) closedEarly.add(request.stream);
      desk.close(request.stream);
      break;
  }
});

async function open(stream: number, language: SpeechLanguage, hints: SpeechHints): Promise<AnswerValue> {
  try {
    const data = await languageData(language);
    const key = vocabularyKey(language, hints);
    const vocabulary = vocabularies.get(key) ?? compileVocabulary(key, hints, data);
    vocabularies.delete(key);
    vocabularies.set(key, vocabulary);
    const oldest = vocabularies.keys().next();
    if (vocabularies.size > MAX_VOCABULARIES && !oldest.done) vocabularies.delete(oldest.value);
    if (!closedEarly.has(stream)) desk.open(stream, vocabulary);
    return vocabulary.report;
  } finally {
    opening.delete(stream);
    closedEarly.delete(stream);
  }
}

function languageData(language: SpeechLanguage): Promise<LanguageData> {
  let data = languages.get(language);
  if (data === undefined) {
    data = module().then((loaded) => loadLanguage(language, loaded.get_model_path(MODEL_FOLDER[language])));
    languages.set(language, data);
    data.catch(() => languages.delete(language));
  }
  return data;
}

function module(): Promise<SoundSwallower> {
  return (loading ??= loadSoundSwallower());
}

async function answer(id: number, work: () => Promise<AnswerValue>): Promise<void> {
  try {
    send({ id, ok: true, value: await work() });
  } catch (error) {
    fail(id, error);
  }
}

function fail(id: number, error: unknown): void {
  send({ id, ok: false, reason: reasonOf(error) });
  // After a trap (for example out of memory) the module is unusable. The next request starts a new thread.
  if (error instanceof Error && error.name === 'RuntimeError') process.exit(1);
}

function send(message: WorkerAnswer): void {
  port?.postMessage(message);
}
