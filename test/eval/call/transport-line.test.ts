import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { levelOf } from '../../../src/audio/dsp/level.js';
import type { EvalAgent } from '../../../src/eval/agent.js';
import { caseReport } from '../../../src/eval/report/text-report.js';
import { runSuite } from '../../../src/eval/run-suite.js';
import { parseSuite } from '../../../src/eval/suite/load-suite.js';
import type { EvalCase, LineConditions } from '../../../src/eval/suite/suite-schema.js';

const AGENT: EvalAgent = {
  name: 'menu',
  agentId: null,
  config: {
    first_message: 'Hello. Press four, please.',
    flow: { dtmf_dial: { enabled: true, instruction: 'Press what you are asked to press.' } },
  },
  script: {
    rules: [
      {
        when: ['4', 'four'],
        call: {
          tool: 'press_digits',
          arguments: { digits: '7' },
          ok: { say: 'It is pressed.' },
          failed: { say: 'No.' },
        },
      },
    ],
  },
};

const LINES: readonly LineConditions[] = [
  { transport: 'rtp', codec: 'g722', loss: 0.02, jitter_ms: 30, delay_ms: 20, noise: { snr_db: 25 } },
  { transport: 'webrtc', echo: { level_db: -45 } },
  { transport: 'talk-socket' },
];

const nameOf = (line: LineConditions): string => JSON.stringify(line);

function keysBothWays(line: LineConditions): EvalCase {
  return {
    name: nameOf(line),
    line,
    max_duration_s: 30,
    caller: {
      script: [
        { wait_for: 'Press four' },
        { press: '4' },
        { wait_for: 'It is pressed' },
        { say: 'Thank you very much for that.' },
        { listen: true },
        { hang_up: true },
      ],
    },
    expect: [
      { pressed: '7' },
      // A busy machine may understand "[inaudible]".
      { understood: '/./' },
      { ends: { by: 'caller', status: 'user-ended' } },
      { cut_offs: { max: 0 } },
    ],
  };
}

describe('calls over real transports', () => {
  it('go from the first word to the last, with keys both ways, in real time', async () => {
    const keep = await mkdtemp(join(tmpdir(), 'parley-lines-'));
    try {
      const { cases, tookMs } = await runSuite({
        suite: parseSuite({ name: 'lines', cases: LINES.map(keysBothWays) }),
        folder: '.',
        agent: AGENT,
        modes: ['voice'],
        keep: { folder: keep, which: 'all' },
        startUnixMs: 0,
        signal: AbortSignal.timeout(100_000),
      });
      expect(cases.filter(({ passed }) => !passed).map((one) => caseReport(one))).toEqual([]);
      for (const [run] of cases.map(({ runs }) => runs)) {
        const wav = decodeWav(await readFile(run?.recording ?? ''), { channel: 0 });
        expect(levelOf(wav.samples).rmsDbfs).toBeGreaterThan(-50);
      }
      const lines = cases.map(({ runs }) => runs[0]?.report?.line);
      expect(lines[0]).toMatchObject({ codec: 'G722' });
      expect(lines[0]?.lost).toBeGreaterThan(0);
      expect(lines[1]).toMatchObject({ lost: 0 });
      expect(lines[1]?.received).toBeGreaterThan(100);
      const callMs = cases.reduce((sum, { runs }) => sum + (runs[0]?.metrics.durationMs ?? 0), 0);
      expect(tookMs).toBeGreaterThan(callMs);
    } finally {
      await rm(keep, { recursive: true });
    }
  }, 120_000);
});
