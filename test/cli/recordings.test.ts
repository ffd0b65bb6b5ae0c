import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeWav } from '../../src/audio/files/wav.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { fixture, inFolder, parley } from './support.js';

const AGENT = {
  name: 'Short',
  config: { first_message: 'Hi.', call_settings: { enable_recording: true } },
  script: { greeting: 'Hi.', rules: [{ when: 'yes', say: 'Fine.' }] },
};

describe('an agent with enable_recording', { timeout: 60_000 }, () => {
  it('is recorded by parley run where --recordings says', async () => {
    await inFolder(async (path) => {
      await writeFile(path('agent.json'), JSON.stringify(AGENT));
      const sentence = fixture('booking/rms/table.wav');
      const { out } = await parley(
        ['run', '--agent', path('agent.json'), '--in', sentence, '--speed', 'max', '--json'].concat([
          '--recordings',
          path('calls'),
          '--hang-up-after',
          '1',
        ]),
      );
      const { recording, faults } = JSON.parse(out) as SessionReport;
      expect(faults).toEqual({});
      expect(recording).toBe(join(path('calls'), 'run.wav'));
      const { channels } = decodeWav(await readFile(recording ?? ''));
      const { samples } = decodeWav(await readFile(sentence));
      expect(channels[0]?.subarray(0, samples.length)).toEqual(samples);
      expect(channels[1]?.some((sample) => sample !== 0)).toBe(true);
    });
  });

  it('is recorded by parley talk in the data folder', async () => {
    await inFolder(async (path) => {
      await writeFile(path('agent.json'), JSON.stringify(AGENT));
      const env = { PARLEY_DATA_DIR: path('data') };
      await parley(['talk', '--text', '--agent', path('agent.json')], { stdin: ['yes'], env });
      expect(await readdir(path('data/recordings'))).toEqual([expect.stringMatching(/^[0-9a-f-]{36}\.wav$/)]);
    });
  });
});
