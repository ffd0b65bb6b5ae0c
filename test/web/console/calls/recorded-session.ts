import { readFileSync } from 'node:fs';
import { decodeWav } from '../../../../src/audio/files/wav.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../../../src/agent/agent.js';
import { Engine } from '../../../../src/engine/engine.js';
import { packageFile } from '../../../../src/package-files.js';
import type { SessionReport } from '../../../../src/session/record/session-report.js';
import { FileTransport } from '../../../../src/transports/file.js';

/** A guest books a table with the demo agent, in virtual time: the event log as it lies in a file, and the report. */
export async function recordedSession(): Promise<{ text: string; report: SessionReport }> {
  const { config, script } = JSON.parse(readFileSync(packageFile('examples/restaurant/agent.json'), 'utf8')) as {
    config: AgentConfig;
    script: never;
  };
  const clock = new VirtualClock();
  const engine = new Engine({ clock });
  try {
    const user = decodeWav(readFileSync(packageFile('fixtures/audio/booking/slt/track.wav')));
    const transport = new FileTransport({ ...user, ticker: engine.ticker });
    let text = '';
    const log = (entry: unknown): void => void (text += `${JSON.stringify(entry)}\n`);
    const session = await engine.createSession({ agent: config, script, transport, id: 'recorded', log });
    let report: SessionReport | undefined;
    const finished = session.run().then((done) => (report = done));
    await clock.runUntil(() => report !== undefined);
    return { text, report: await finished };
  } finally {
    await engine.close();
  }
}
