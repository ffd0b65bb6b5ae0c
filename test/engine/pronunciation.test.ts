import { afterAll, expect, it } from 'vitest';
import {
  Engine,
  MemoryTransport,
  type SessionReport,
  type TtsProvider,
  type TtsRequest,
  VirtualClock,
} from '../../src/index.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';

const engine = new Engine({ clock: new VirtualClock() });
afterAll(() => engine.close());

/** A voice that notes what it is asked to say. */
function noting(requests: TtsRequest[]): TtsProvider {
  const tone = toneTts();
  return Object.assign(Object.create(tone) as TtsProvider, {
    synthesize: (request: TtsRequest) => {
      requests.push(request);
      return tone.synthesize(request);
    },
  });
}

it('says pauses and spelling without showing mark-up, and takes another dictionary with the agent', async () => {
  const requests: TtsRequest[] = [];
  const words = [{ word: 'Siobhan', respelling: 'shi-vawn' }];
  const answers = ['Your code is <spell>AB12</spell>. <break time="1s"/> <laugh/> Anything else?', 'Fine.'];
  const session = await engine.createSession({
    agent: { first_message: 'Hello, <sub alias="Annie">Ann</sub> here.', llm: { model: 'scripted' } },
    extensions: { pronunciation: { words } },
    transport: new MemoryTransport({ sampleRateHz: 16_000 }),
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: noting(requests),
    llm: functionLlm(() => answers.shift() ?? 'Yes.'),
  });
  const clock = engine.clock as VirtualClock;
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  await clock.runUntil(() => requests.length > 0, 600_000);
  await clock.advanceBy(5_000); // the greeting is heard
  session.sendText('What is my code?');
  await clock.runUntil(() => requests.some(({ text }) => text.includes('Anything else?')), 600_000);
  await clock.advanceBy(5_000);
  let updated = false;
  void session.updateAgent({ pronunciation: { words: [], region: 'GB' } }).then(() => (updated = true));
  await clock.runUntil(() => updated, 600_000);
  session.sendText('Thanks.');
  await clock.runUntil(() => requests.some(({ text }) => text === 'Fine.'), 600_000);
  await clock.advanceBy(5_000);
  void session.end();
  await clock.runUntil(() => report !== undefined, 600_000);

  for (const { text } of requests) expect(text).not.toMatch(/[<>]/);
  const [first, code] = [requests[0], requests.find(({ text }) => text.includes('AB12'))];
  expect(first?.spans).toEqual([{ start: 7, end: 10, as: 'alias', value: 'Annie' }]);
  expect(code?.spans?.map(({ as }) => as)).toEqual(['spell']);
  expect(first?.pronunciation).toEqual({ words });
  expect(requests.find(({ text }) => text === 'Fine.')?.pronunciation).toEqual({ words: [], region: 'GB' });
  const shown = JSON.stringify(report?.messages);
  expect(shown).toContain('Hello, Ann here.');
  expect(shown).toContain('Your code is AB12. Anything else?');
});
