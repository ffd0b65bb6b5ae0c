import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { encodeWav } from '@parley-voice/parley';
import { expect, it } from 'vitest';
import { deepgramDouble } from '../../../test/vendors/stt/deepgram.js';
import { SocketDouble } from '../../../test/vendors/stt/socket-double.js';
import { joined, silence, spoken } from '../../../test/vendors/stt/spoken-words.js';
import { ElevenLabsDouble } from '../../../test/vendors/tts/elevenlabs.js';
import { KEY } from '../../../test/vendors/tts/speech-double.js';

const file = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Both packages as they are built: `npm run build` here and at the root. */
it('the plug-in of the docs hears and speaks for an agent of the command line', async () => {
  const ears = new SocketDouble(deepgramDouble(KEY));
  const earsAt = (await ears.listen()).replace('http', 'ws');
  const voice = await new ElevenLabsDouble().open();
  const folder = mkdtempSync(join(tmpdir(), 'parley-livekit-'));
  const agent = join(folder, 'agent.json');
  const wav = join(folder, 'user.wav');
  writeFileSync(
    agent,
    JSON.stringify({
      name: 'Restaurant',
      config: {
        speech_to_text: { provider: 'livekit-deepgram' },
        voice: { provider: 'livekit-elevenlabs', voice_id: 'EXAVITQu4vr4xnSDxMaL' },
      },
      script: { greeting: 'Hello.', rules: [{ when: 'table', say: 'Gladly.' }] },
    }),
  );
  const samples = joined([silence(3500), spoken('a table for two'), silence(1000)]);
  writeFileSync(wav, encodeWav(samples, 16_000));
  const run = ['run', '--agent', agent, '--in', wav, '--plugin', file('plugin/livekit.mjs'), '--json'];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [file('../../bin/parley.js'), ...run], {
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        DEEPGRAM_API_KEY: KEY,
        DEEPGRAM_LIVE_URL: earsAt,
        ELEVEN_API_KEY: KEY,
        ELEVEN_URL: `${voice.url}/v1`,
      },
      timeout: 60_000,
    });
    const report = JSON.parse(stdout) as { messages: { content: string }[] };
    expect(report.messages.map(({ content }) => content)).toEqual(['Hello.', 'a table for two', 'Gladly.']);
    expect([...ears.violations, ...voice.violations]).toEqual([]);
  } finally {
    await ears.close();
    await voice.close();
    rmSync(folder, { recursive: true });
  }
}, 70_000);
