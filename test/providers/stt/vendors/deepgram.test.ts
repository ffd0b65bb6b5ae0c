import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deepgramStt } from '../../../../src/providers/stt/vendors/deepgram.js';
import type { SocketSttProvider } from '../../../../src/providers/stt/shared/socket-provider.js';
import { deepgramDouble } from '../../../vendors/stt/deepgram.js';
import { SocketDouble } from '../../../vendors/stt/socket-double.js';
import { silence, spoken } from '../../../vendors/stt/spoken-words.js';
import { Caller, plain } from './caller.js';
import { KEY } from './cases.js';

let double: SocketDouble;
let stt: SocketSttProvider;
let caller: Caller;

beforeEach(async () => {
  double = new SocketDouble(deepgramDouble(KEY));
  stt = deepgramStt({ apiKey: KEY, baseUrl: await double.listen() });
  caller = new Caller();
});

afterEach(async () => {
  await stt.close();
  await double.close();
  expect(double.violations).toEqual([]);
});

describe('Flux', () => {
  it.each([
    [{ model: 'flux', language: 'en-GB' }, 'flux-general-en', null],
    [{ model: 'flux', language: 'de' }, 'flux-general-multi', 'de'],
    [{ model: 'flux', language: 'en-US', multilingual: true }, 'flux-general-multi', null],
    [{ language: 'sv' }, 'nova-3', 'sv'],
    [{ language: 'pt-BR' }, 'nova-3', 'pt-BR'],
    [{ language: 'multi' }, 'nova-3', 'multi'],
    [{ language: 'de', multilingual: true }, 'nova-3', 'multi'],
  ])('of %j is %s', async (options, model, language) => {
    await caller.open(stt, options);
    expect(double.asked[0]).toMatchObject({ model, language });
  });

  it.each([
    ['flux-general-en', 'de'],
    ['flux', 'sv'],
  ])('%s does not understand %s, and says so', async (model, language) => {
    await expect(caller.open(stt, { model, language })).rejects.toMatchObject({ code: 'STT_LANGUAGE_UNSUPPORTED' });
  });

  it('tells what it thinks of the turn’s end, though it knew before our VAD did', async () => {
    await caller.open(stt, { model: 'flux' });
    const start = caller.sample;
    caller.hear(spoken('a table'));
    caller.stream.speechStarted(start);
    caller.hear(spoken('for two'));
    const end = caller.sample;
    caller.hear(silence(400));
    await caller.until(() => caller.transcripts.at(-1)?.text === 'a table for two', 'the words');
    await double.until(() => double.received >= 17, 'the silence');
    caller.stream.speechStopped(end);
    expect(plain((await caller.final()).text)).toBe('a table for two');
    await caller.until(() => caller.turnEnds.length > 0, 'what it thinks');
    expect(caller.turnEnds).toEqual([0.8]);
  });

  it('learns that the turn is over where it waits for more, which is no opinion of its own', async () => {
    await caller.open(stt, { model: 'flux' });
    caller.say(spoken('a table'));
    expect(plain((await caller.final()).text)).toBe('a table');
    expect(caller.turnEnds).toEqual([]);
  });
});

it('sends older models the words with their weights, also those below 0, the strongest first', async () => {
  const keywords = new Map([
    ...([
      ['table', 1],
      ['booking', 5],
      ['gnocchi', 10],
      ['Kowalski', 50],
    ] as const),
    ...([
      ['label', -3],
      ['cable', -50],
      ['nothing', 0],
    ] as const),
  ]);
  await caller.open(stt, { model: 'nova-2', hints: { phrases: [], texts: [], keywords } });
  expect(double.asked[0]).toMatchObject({
    model: 'nova-2',
    keywords: ['Kowalski:10', 'cable:-10', 'gnocchi:10', 'booking:5', 'label:-3', 'table:1'],
  });
});
