import { expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { Engine } from '../../src/engine/engine.js';
import type { LogEntry } from '../../src/session/record/event-log.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';

it.each([
  [undefined, 60_000],
  [300, 305_000],
])('a tool with a timeout of %s s is waited for up to %i ms', async (timeout, toolMs) => {
  const engine = new Engine({ clock: new VirtualClock() });
  const log: LogEntry[] = [];
  const session = await engine.createSession({
    agent: { tools: [{ name: 'slow', description: 'x', ...(timeout !== undefined && { timeout }) }] },
    transport: new MemoryTransport(),
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    llm: functionLlm(() => 'Well.'),
    log: (entry) => log.push(entry),
  });
  void session.run();
  await engine.close();
  expect(log[0]).toMatchObject({ kind: 'start', config: { deadlines: { toolMs } } });
});
