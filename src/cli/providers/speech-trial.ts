import { FRAME_MS, frameSamples, HEARING_RATE_HZ, samplesToMs } from '../../audio/frame.js';
import { delay } from '../../clock/clock.js';
import { RealClock } from '../../clock/real.js';
import { Deadlines } from '../../providers/deadlines.js';
import type { SpeechModel } from '../../providers/llm/speech-model.js';
import type { SttStream } from '../../providers/stt/stt.js';
import { SENTENCE, spokenSentence } from './spoken-sentence.js';
import type { Note, TrialOptions } from './trial.js';

const PROMPT = 'Confirm in one short sentence what the user says.';
/** Words and an answer that have not come by then do not come. */
const ANSWER_MS = 15_000;

/** One turn of talk with a model that hears and speaks itself: a sentence is spoken to it, and its answer is timed. */
export async function tryConversing(
  speech: SpeechModel,
  model: string,
  { language, voiceId, signal }: Pick<TrialOptions, 'language' | 'voiceId' | 'signal'>,
  note: Note,
): Promise<void> {
  const sentence = await spokenSentence(signal);
  const clock = new RealClock();
  const deadlines = new Deadlines(clock, speech.voiceProvider, signal);
  const session = speech.open(model, { voiceId, settings: {} });
  try {
    const startMs = clock.nowMs();
    const got: { words: { text: string; atMs: number } | null; error: Error | null } = { words: null, error: null };
    const stream = await session.stt.open(
      { language, hints: { phrases: [], texts: [], keywords: new Map() }, clock, signal: deadlines.signal },
      {
        onTranscript: ({ text, isFinal }) => {
          if (isFinal) got.words = { text, atMs: clock.nowMs() };
        },
        onError: (error) => (got.error = error),
      },
    );
    note('connection and session', clock.nowMs() - startMs);
    await say(stream, sentence, signal);
    const endMs = clock.nowMs();
    const messages = [
      { role: 'system', content: PROMPT },
      { role: 'user', content: '' },
    ] as const;
    let [text, audioMs] = ['', 0];
    deadlines.within(ANSWER_MS);
    const request = { model, messages, tools: [], temperature: 0, clock, signal: deadlines.signal };
    for await (const piece of session.llm.complete(request)) {
      if (piece.type === 'usage') {
        note('tokens', `${String(piece.promptTokens)} in, ${String(piece.completionTokens)} out`);
        const { promptTokens = 0, completionTokens = 0 } = piece.audio ?? {};
        note('of these audio', `${String(promptTokens)} in, ${String(completionTokens)} out`);
      }
      if (piece.type !== 'voice') continue;
      text += piece.text;
      if (piece.audio === null) continue;
      if (audioMs === 0) note('first audio, after speech', clock.nowMs() - endMs);
      audioMs += samplesToMs(piece.audio.samples.length, piece.audio.sampleRateHz);
    }
    note('all of it', clock.nowMs() - endMs);
    note('length of the speech', audioMs);
    note('answered', text.slice(0, 200));
    while (got.words === null && got.error === null && !deadlines.signal.aborted) await delay(clock, FRAME_MS, signal);
    if (got.error !== null) throw got.error;
    const heard = got.words;
    note('words, after speech', heard === null ? 'none' : heard.atMs - endMs);
    note('heard', heard?.text ?? '');
    note('was said', SENTENCE);
    await stream.close();
  } finally {
    deadlines.end();
    await session.close();
  }
}

/** As a line brings it. */
async function say(stream: SttStream, samples: Int16Array, signal: AbortSignal): Promise<void> {
  const clock = new RealClock();
  const startMs = clock.nowMs();
  const frame = frameSamples(HEARING_RATE_HZ);
  for (let at = 0; at < samples.length; at += frame) {
    stream.push(samples.slice(at, at + frame), at);
    if (at === 0) stream.speechStarted(0);
    await delay(clock, Math.max(0, startMs + samplesToMs(at + frame, HEARING_RATE_HZ) - clock.nowMs()), signal);
  }
  stream.speechStopped(samples.length);
}
