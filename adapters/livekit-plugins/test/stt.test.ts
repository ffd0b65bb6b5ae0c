import { STT as DeepgramStt } from '@livekit/agents-plugin-deepgram';
import { STT as ElevenLabsStt } from '@livekit/agents-plugin-elevenlabs';
import type { SttOptions } from '@parley-voice/parley';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Caller } from '../../../test/providers/stt/vendors/caller.js';
import { deepgramDouble } from '../../../test/vendors/stt/deepgram.js';
import { elevenLabsDouble } from '../../../test/vendors/stt/elevenlabs.js';
import { SocketDouble } from '../../../test/vendors/stt/socket-double.js';
import { noise, silence, spoken } from '../../../test/vendors/stt/spoken-words.js';
import { LiveKitStt } from '../src/index.js';

const KEY = 'key-0123456789abcdef';

function keywordsOf({ hints }: SttOptions): string[] {
  return [...hints.keywords].filter(([, weight]) => weight > 0).map(([word]) => word);
}

const CASES = [
  {
    name: '@livekit/agents-plugin-deepgram',
    double: () => deepgramDouble(KEY),
    make: (url: string, apiKey: string) => (options: SttOptions) =>
      new DeepgramStt({
        apiKey,
        baseUrl: url.replace('http', 'ws'),
        model: 'nova-3',
        language: options.language,
        keyterm: keywordsOf(options),
      }),
    refusal: { code: 'PROVIDER_REFUSED', retryable: false },
  },
  {
    name: '@livekit/agents-plugin-elevenlabs',
    double: () => elevenLabsDouble(KEY),
    make: (url: string, apiKey: string) => (options: SttOptions) =>
      new ElevenLabsStt({
        apiKey,
        baseURL: `${url}/v1`,
        model: 'scribe_v2_realtime',
        languageCode: options.language,
        keyterms: keywordsOf(options),
      }),
    // The plug-in keeps the reason to itself.
    refusal: { code: 'PROVIDER_FAILED' },
  },
];

/** Real plug-ins against the doubles of their vendors. */
describe.each(CASES)('$name', ({ double: protocol, make, refusal }) => {
  let double: SocketDouble;
  let stt: LiveKitStt;
  let caller: Caller;

  beforeEach(async () => {
    double = new SocketDouble(protocol());
    stt = new LiveKitStt({ stt: make(await double.listen(), KEY), secrets: [KEY], finalTimeoutMs: 1500 });
    caller = new Caller();
  });

  afterEach(async () => {
    await stt.close();
    await stt.close();
    await double.close();
  });

  it('gives interim words, and a final transcript when speech has stopped', async () => {
    await caller.open(stt);
    caller.hear(silence(500));
    const start = caller.sample;
    caller.hear(spoken('a table'));
    caller.stream.speechStarted(start);
    caller.hear(spoken('for two'));
    await caller.until(() => caller.transcripts.length > 0, 'an interim transcript');
    expect(caller.transcripts[0]).toMatchObject({ segment: 0, isFinal: false, understood: true });
    const end = caller.sample;
    caller.hear(silence(300));
    caller.stream.speechStopped(end);
    expect(await caller.final()).toMatchObject({ segment: 0, text: 'a table for two' });
    expect([...double.violations, ...caller.errors]).toEqual([]);
  });

  it('goes on in the same segment after a pause, and begins one with each turn', async () => {
    await caller.open(stt);
    caller.say(spoken('a table'));
    expect((await caller.final()).text).toBe('a table');
    caller.hear(silence(600));
    caller.say(spoken('for two'));
    const whole = () => caller.transcripts.find(({ isFinal, text }) => isFinal && text === 'a table for two');
    await caller.until(() => whole() !== undefined, 'all of it');
    expect(whole()?.segment).toBe(0);
    caller.stream.endTurn();
    const count = caller.transcripts.length;
    caller.hear(silence(400));
    caller.say(spoken('yes thanks'));
    await caller.until(() => caller.transcripts.slice(count).some(({ isFinal }) => isFinal), 'the second turn');
    const second = caller.transcripts.slice(count);
    expect(second.every(({ segment }) => segment === 1)).toBe(true);
    expect(second.at(-1)?.text).toBe('yes thanks');
    expect(double.violations).toEqual([]);
  });

  it('gives an empty final transcript where nothing was said', async () => {
    await caller.open(stt);
    caller.say(noise(300));
    expect((await caller.final()).text).toBe('');
    expect(caller.errors).toEqual([]);
  });

  it('asks for what the session needs', async () => {
    await caller.open(stt, { hints: { phrases: [], texts: [], keywords: new Map([['café', 5]]) } });
    caller.say(spoken('yes'));
    await caller.final();
    expect(double.asked[0]).toMatchObject({ keywords: ['café'] });
    expect(double.asked[0]?.language).toMatch(/^en/);
    expect(double.violations).toEqual([]);
  });

  it('reports a refused key once, without it', async () => {
    const wrong = new LiveKitStt({ stt: make(double.url, 'wrong-987654321'), secrets: ['wrong-987654321'] });
    await caller.open(wrong);
    caller.say(spoken('yes'));
    await caller.until(() => caller.errors.length > 0, 'an error');
    expect(caller.errors).toHaveLength(1);
    expect(caller.errors[0]).toMatchObject(refusal);
    expect(JSON.stringify([caller.errors[0]?.message, caller.errors[0]])).not.toContain('987654321');
    await wrong.close();
  });

  it('fails where it hears nothing of long speech', async () => {
    await caller.open(stt);
    await double.until(() => double.connections > 0, 'a connection');
    double.faults.stalled = true;
    caller.say(spoken('yes no stop a table for two tonight'));
    await caller.until(() => caller.errors.length > 0, 'an error');
    expect(caller.errors[0]).toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 1500 } });
  });

  it('closes the connection, and says nothing after it', async () => {
    await caller.open(stt);
    caller.hear(spoken('a table'));
    await double.until(() => double.received > 0, 'audio');
    caller.abort.abort();
    await double.until(() => double.openConnections === 0, 'the end of the connection');
    caller.hear(spoken('for two'));
    caller.stream.speechStopped(caller.sample);
    await caller.stream.close();
    expect(caller.errors).toEqual([]);
  });
});

it('refuses a recogniser that does not stream, or cannot be made', async () => {
  const whole = new LiveKitStt({ stt: () => new ElevenLabsStt({ apiKey: KEY, model: 'scribe_v1' }) });
  await expect(new Caller().open(whole)).rejects.toMatchObject({ code: 'PROVIDER_REFUSED' });
  const none = new LiveKitStt({
    stt: () => {
      throw new Error(`no key like ${KEY}`);
    },
    secrets: [KEY],
  });
  await expect(new Caller().open(none)).rejects.toThrow('no key like ***');
});
