import { readFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { Engine } from '../../src/engine/engine.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { packageFile } from '../../src/package-files.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import type { Session } from '../../src/session/session.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';

const clock = new VirtualClock();
const engine = new Engine({ clock });
afterAll(() => engine.close());

it('the example of docs/library.md steers a session', async () => {
  const page = readFileSync(packageFile('docs/library.md'), 'utf8');
  const code = /<!-- steer -->\s+```ts\n(.*?)```/s.exec(page)?.[1] ?? '';
  expect(code).toContain('session.say(');
  const prompts: string[] = [];
  const session = await engine.createSession({
    agent: { prompt: 'You are Ann.', first_message: 'Hello.' },
    transport: new MemoryTransport(),
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    llm: functionLlm(({ messages }) => {
      prompts.push(messages.map(({ content }) => content).join('\n'));
      return 'Hello Ada, how can I help?';
    }),
  });
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the example as it is printed
  const example = new Function('session', 'console', `return (async () => { ${code} })();`) as (
    session: Pick<Session, 'say'>,
    console: { log: (text: string) => void },
  ) => Promise<void>;
  const lines: string[] = [];
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  const steps = example(session, { log: (text) => lines.push(text) });
  await clock.runUntil(() => report !== undefined, 120_000);
  await steps;
  expect(report?.messages.map(({ content }) => content)).toEqual([
    'Hello.',
    'This call is recorded.',
    'Hello Ada, how can I help?',
    'Thank you for calling. Goodbye.',
  ]);
  expect(prompts.at(-1)).toContain('The caller is Ada Lovelace');
  expect(report).toMatchObject({ status: 'api-ended', faults: {} });
});
