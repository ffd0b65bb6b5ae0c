import { afterEach, describe, expect, it } from 'vitest';
import { resample, Resampler } from '../../src/audio/dsp/resample.js';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { Engine } from '../../src/engine/engine.js';
import type { SpeechRequest } from '../../src/engine/options.js';
import { findEspeak } from '../../src/providers/tts/espeak.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { FileTransport } from '../../src/transports/file.js';

/** In CI the program must be there; otherwise these are left out by name. */
const missing = findEspeak() === undefined && process.env['CI'] !== 'true';
const installed = missing ? describe.skip : describe;
const because = missing ? ' (skipped: no program espeak-ng on PATH; apt-get install espeak-ng)' : '';

const RATE_HZ = 16_000;

const engines: Engine[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

function open(clock: RealClock | VirtualClock): Engine {
  const engine = new Engine({ clock });
  engines.push(engine);
  return engine;
}

const ENGLISH = { language: 'en-US', provider: 'flite', voiceId: 'slt' };
const FRENCH = { language: 'fr', provider: 'espeak-ng' };

interface Played {
  report: SessionReport;
  /** The language of each stretch of what the user said, as the log has it, and the changes. */
  heard: string[];
  reply: Int16Array;
  /** What a provider makes of a text, at the line's rate. */
  spoken: (text: string, voice: Partial<SpeechRequest>) => Promise<Int16Array>;
}

/** A session of the embedded recogniser and real voices, in virtual time; the user says each line 5 s after the last. */
async function play(
  agent: AgentConfig,
  lines: readonly (readonly [text: string, voice: Partial<SpeechRequest>])[],
): Promise<Played> {
  const speaker = open(new RealClock());
  const { signal } = new AbortController();
  const speech = (text: string, voice: Partial<SpeechRequest>) => speaker.speech({ text, ...voice, signal });
  const user: Int16Array[] = [new Int16Array(3.5 * RATE_HZ)];
  for (const [text, voice] of lines) {
    const { samples, sampleRateHz } = await speech(text, voice);
    user.push(resample(samples, sampleRateHz, RATE_HZ), new Int16Array(5 * RATE_HZ));
  }
  const samples = Int16Array.from(user.flatMap((part) => [...part]));

  const clock = new VirtualClock();
  const engine = open(clock);
  const transport = new FileTransport({ samples, sampleRateHz: RATE_HZ, ticker: engine.ticker, hangUpAfterMs: 1000 });
  const llm = functionLlm(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'tool') return last.content.includes('in fr ') ? 'Parlons ensemble.' : 'As you like.';
    const wanted = { french: 'fr', anglais: 'en-US' };
    const language = Object.entries(wanted).find(([word]) => last?.content.includes(word))?.[1];
    if (language === undefined) return 'Merci.';
    return { calls: [{ name: 'switch_language', arguments: JSON.stringify({ language }) }] };
  });
  const heard: string[] = [];
  const session = await engine.createSession({
    agent: { first_message: 'Hello.', ...agent },
    transport,
    llm,
    log: (entry) => {
      if (entry.kind !== 'event') return;
      const { event } = entry;
      if (event.type === 'language') heard.push(`→ ${event.language}`);
      if (event.type === 'transcript' && event.isFinal && event.understood) heard.push(event.text);
    },
  });
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  await clock.runUntil(() => report !== undefined, 600_000);
  if (report === undefined) throw new Error('the session did not end');
  return {
    report,
    heard,
    reply: transport.recording(),
    spoken: async (text, voice) => {
      const made = await speech(text, voice);
      return new Resampler(made.sampleRateHz, RATE_HZ).process(made.samples).slice();
    },
  };
}

/** Where the samples stand in the audio; -1 if nowhere. */
function indexOf(audio: Int16Array, samples: Int16Array): number {
  const bytes = (array: Int16Array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
  return bytes(audio).indexOf(bytes(samples));
}

installed(`a session that changes its language${because}`, () => {
  it('hears and speaks the other one with real engines, and comes back', async () => {
    const { report, heard, reply, spoken } = await play({ switch_language: { languages: ['fr'] } }, [
      ['Can we speak French please?', ENGLISH],
      ['Merci beaucoup, au revoir.', FRENCH],
      ['On peut parler anglais ?', FRENCH],
      ['I have a question.', ENGLISH],
    ]);
    expect(report.faults).toEqual({});
    const words = heard.join(' | ');
    expect(words).toMatch(/^can we speak french please \| → fr \| merci.* \| on peut parler anglais \| → en-US \| /);
    expect(words).toMatch(/i have a question$/);
    // The voice follows: what is said after the change is espeak-ng's French, and flite's English again later.
    const french = indexOf(reply, await spoken('Parlons ensemble.', FRENCH));
    const english = indexOf(reply, await spoken('As you like.', { language: 'en-US', provider: 'flite' }));
    expect(french).toBeGreaterThan(0);
    expect(english).toBeGreaterThan(french);
  }, 60_000);

  it('understands nothing of it where the change is not allowed', async () => {
    const { heard } = await play({}, [['Merci beaucoup, au revoir.', FRENCH]]);
    expect(heard.join(' ')).not.toMatch(/merci|revoir|→/);
  }, 60_000);
});
