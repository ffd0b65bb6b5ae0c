import { describe, expect, it } from 'vitest';
import type { Languages } from '../../../src/session/hearing/language-providers.js';
import type { SttProvider } from '../../../src/providers/stt/stt.js';
import type { TtsProvider } from '../../../src/providers/tts/tts.js';
import { functionLlm } from '../../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../../src/testing/doubles/tone-tts.js';
import { play, recording, saidBy } from '../support.js';

/** A recogniser and a voice that note the language of everything they are asked for. */
function ears(opened: string[], lines: readonly string[]): SttProvider {
  const inner = promptedStt({ lines });
  return {
    ...inner,
    open: (options, events) => {
      opened.push([options.language, ...options.hints.phrases].join(' '));
      return inner.open(options, events);
    },
  };
}

function mouth(spoken: string[]): TtsProvider {
  const inner = toneTts({ charMs: 20 });
  return {
    ...inner,
    synthesize: (request) => (spoken.push(`${request.language}: ${request.text}`), inner.synthesize(request)),
  };
}

const USER = recording(12_000, [3000, 4000], [7000, 8000]);

interface Heard {
  opened: string[];
  spoken: string[];
}

async function played(lines: readonly string[], languages: (heard: Heard) => Languages, config = {}) {
  const heard: Heard = { opened: [], spoken: [] };
  const llm = functionLlm(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'user' && last.content.includes('French')) {
      return { calls: [{ name: 'switch_language', arguments: '{"language":"fr"}' }] };
    }
    return last?.role === 'tool' ? `Result: ${last.content}` : 'Très bien.';
  });
  const result = await play(USER, {
    stt: ears(heard.opened, lines),
    tts: mouth(heard.spoken),
    llm,
    languages: languages(heard),
    conversation: { switchLanguage: { languages: ['en-US', 'fr'] }, ...config },
  });
  return { ...result, ...heard };
}

const french =
  (lines: readonly string[], follows = false) =>
  ({ opened, spoken }: Heard): Languages => ({
    follows,
    find: (language) =>
      Promise.resolve(
        language === 'fr'
          ? {
              stt: ears(opened, lines),
              hints: { phrases: ['anglais'], texts: [], keywords: new Map() },
              tts: mouth(spoken),
              voiceId: 'fr-voice',
              model: null,
              settings: {},
            }
          : { missing: `nobody here speaks ${language}` },
      ),
  });

describe('switch_language', () => {
  it('changes the recogniser and the voice from the next utterance on, and the log tells', async () => {
    const { opened, spoken, log, report } = await played(['French please'], french(['une table']));
    // With what is to be expected in it.
    expect(opened).toEqual(['en-US', 'fr anglais']);
    expect(spoken[0]).toBe('en-US: Hello there.');
    expect(spoken.slice(1).every((text) => text.startsWith('fr: '))).toBe(true);
    expect(log.some((entry) => entry.kind === 'event' && entry.event.type === 'language')).toBe(true);
    // What is said then is heard by the French recogniser.
    expect(report.messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'French please',
      'une table',
    ]);
  });

  it('that is not available is a result for the model, and the conversation continues', async () => {
    const missing = (): Languages => ({ follows: false, find: () => Promise.resolve({ missing: 'no ears for it' }) });
    const { opened, spoken, report } = await played(['French please', 'then English'], missing);
    expect(opened).toEqual(['en-US']);
    expect(saidBy({ report } as never).join(' ')).toContain('Not changed: no ears for it');
    expect(spoken.every((text) => text.startsWith('en-US: '))).toBe(true);
    expect(report.status).toBe('user-ended');
  });
});

describe('multi', () => {
  const multi = { language: 'multi', switchLanguage: null };

  it('follows the language that the user is heard to speak, before the answer is spoken', async () => {
    const { opened, spoken } = await played(['bonjour je voudrais une table'], french(['merci'], true), multi);
    expect(opened).toEqual(['multi', 'fr anglais']);
    expect(spoken).toContain('fr: Très bien.');
  });

  it('stays where the language cannot be had, and says so once', async () => {
    const { opened, report } = await played(
      ['ich möchte einen Tisch für zwei', 'ich möchte heute einen Tisch'],
      french([], true),
      multi,
    );
    expect(opened).toEqual(['multi']);
    expect(report.faults).toEqual({ 'language.missing': 1 });
  });

  it('means nothing where one language was chosen', async () => {
    const { opened } = await played(['bonjour je voudrais une table'], french([], false));
    expect(opened).toEqual(['en-US']);
  });
});

describe('a pause', () => {
  it('that the model asks for is silence of that length on the line', async () => {
    const llm = functionLlm(() => 'unused');
    const { audio } = await play(recording(9000, [3000, 3600]), {
      lines: ['hello'],
      tts: toneTts({ charMs: 20 }),
      llm: {
        ...llm,
        async *complete() {
          yield { type: 'text', text: 'One.', flush: true, pauseMs: 1700 };
          yield { type: 'text', text: 'Two', flush: true };
        },
      },
      conversation: { opening: { firstMessage: null, userStarts: true, userStartTimeoutMs: 8000 } },
    });
    const voiced = audio.findIndex((sample) => sample !== 0);
    const silent = audio.findIndex(
      (_sample, at) => at > voiced && audio.subarray(at, at + 1600).every((it) => it === 0),
    );
    const again = audio.findIndex((sample, at) => at > silent + 1600 && sample !== 0);
    expect(Math.round((again - silent) / 16)).toBeGreaterThanOrEqual(1680);
    expect(Math.round((again - silent) / 16)).toBeLessThanOrEqual(1720);
  });
});
