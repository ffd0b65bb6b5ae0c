import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadAgentFile } from '../../src/agent/agent-file.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { Engine } from '../../src/engine/engine.js';
import { packageFile } from '../../src/package-files.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';

it.each(['restaurant', 'appointments', 'reminder', 'survey'])(
  'the example agent %s asks a silent user in different words each time, then ends the call',
  async (name) => {
    const file = await loadAgentFile(fileURLToPath(packageFile(`examples/${name}/agent.json`)));
    const { config, script, extensions, agents } = file;
    const clock = new VirtualClock();
    const engine = new Engine({ clock });
    const said: string[] = [];
    const session = await engine.createSession({
      agent: config,
      script,
      extensions,
      agents,
      vad: energyVad(),
      stt: promptedStt({ lines: [] }),
      tts: toneTts(),
      transport: new MemoryTransport(),
      log: (entry) => {
        if (entry.kind === 'effect' && entry.effect.type === 'speak') said.push(entry.effect.text);
      },
    });
    const ended = session.run();
    let isOver = false;
    void ended.then(() => (isOver = true));
    await clock.runUntil(() => isOver, 300_000);
    expect((await ended).status).toBe('timeout');
    expect(said.length).toBeGreaterThan(3); // greeting, two questions, goodbye
    expect(new Set(said).size).toBe(said.length);
    await engine.close();
  },
);
