import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedStt } from '../../../src/providers/stt/embedded/provider.js';
import { packageFile } from '../../../src/package-files.js';
import { wordErrorRate } from '../../../src/testing/labels/wer.js';
import { Listener } from '../../providers/stt/embedded/support.js';
import { hasChromium, spokenText, TalkingBrowser } from '../browser.js';
import { ServedDaemon } from '../served-daemon.js';
import { soundsIn, WebRtcCaller } from './caller.js';

const PUBLIC_KEY = 'pk_served';
const AGENT = 'the-crooked-fork';
const GREETING = 'Good evening, The Crooked Fork, this is Olive. How can I help you?';
/** Twenty seconds. */
const STORY =
  'Once upon a time a fork lay on the beach below the old lighthouse. Nobody knew whose it was. ' +
  'The fishermen asked each other, the children asked the gulls, and the gulls said nothing. ' +
  'So a cook took it home, bent it by mistake, and hung it over the door of a small kitchen. ' +
  'People came to look at it, stayed for the soup, and that is how we got our name.';
/** The voice's own pauses within a sentence are shorter. */
const LONGEST_PAUSE_MS = 350;

describe.skipIf(!hasChromium)('WebRTC, from a real browser', { timeout: 900_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-agent-'));
    daemon = await ServedDaemon.start('0', agentFile(folder));
    // What was not understood is said again, as people do. A machine may have no network but loopback.
    browser = await TalkingBrowser.launch(15_000, ['--allow-loopback-in-peer-connection'], 12_000, 'chromium');
  }, 90_000);

  afterAll(async () => {
    await browser.close();
    const code = await daemon.stop();
    expect(browser.errors).toEqual([]);
    expect(code).toBe(0);
    expect(daemon.log).not.toContain('fault:');
    rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  it('talks, listens, takes text, and changes its ways', async () => {
    const caller = await WebRtcCaller.open(browser, daemon);
    await caller.begin(PUBLIC_KEY, AGENT);

    // The agent is heard.
    await caller.message('onresponsetext', { text: 'help you', final: true });
    const greeting = await caller.heardUntilSilent(400);
    expect(wordErrorRate([[GREETING, await wordsIn(greeting, GREETING)]])).toBeLessThan(0.5);

    // What the microphone hears again and again is understood, and answered.
    const leastErrors = async (): Promise<number> => {
      const said = (await caller.messages()).filter(({ method }) => method === 'ontranscript');
      return Math.min(1, ...said.map((message) => wordErrorRate([[spokenText(), (message as { data: string }).data]])));
    };
    await expect.poll(leastErrors, { timeout: 150_000 }).toBeLessThan(0.5);
    const heard = await caller.message('ontranscript', { final: true });
    const answered = await caller.message('onresponsetext', { after: heard, final: true });
    expect((await caller.messages()).some(({ method }) => method === 'onmetrics')).toBe(true);

    // Another page talks at the same time; nothing at all comes from its microphone.
    const mute = await WebRtcCaller.open(browser, daemon);
    await mute.begin(PUBLIC_KEY, AGENT);
    await mute.do('call.line.sender.replaceTrack(null)');
    expect(daemon.udpSockets).toBeGreaterThanOrEqual(2);

    // Both sides report to each other.
    await expect
      .poll(() => caller.do('call.stats().then(({ reported }) => reported?.roundTripTime)'))
      .toBeGreaterThan(0);

    // On other ways and with another device it goes on: typed words are answered aloud, without a gap.
    await caller.do('call.otherDevice()');
    await caller.do('call.restartOnChannel()');
    let asked = answered;
    const heardWhole = async (): Promise<boolean> => {
      await caller.takeHeard();
      await caller.send({ method: 'text', data: 'When are you open?' });
      asked = await caller.message('onresponsetext', { after: asked, text: 'eleven', final: true });
      const { data: said } = (await caller.messages())[asked - 1] as { data: string };
      const sound = await caller.heardUntilSilent(400);
      const isWhole = soundsIn(sound, LONGEST_PAUSE_MS).length <= said.split(/(?<=[.?]) /).length;
      return isWhole && wordErrorRate([[said, await wordsIn(sound, said)]]) < 0.25;
    };
    // A busy machine makes gaps, and may have to be asked again.
    await expect.poll(heardWhole, { timeout: 300_000 }).toBe(true);
    await Promise.all([caller.page.close(), mute.page.close()]);
  });

  it('is interrupted by what the other device hears, and takes keys', async () => {
    const caller = await WebRtcCaller.open(browser, daemon);
    await caller.begin(PUBLIC_KEY, AGENT);
    await caller.do('call.otherDevice()');
    const greeted = await caller.message('onresponsetext', { text: 'help you', final: true });
    await caller.heardUntilSilent(400);

    // While the agent tells what takes it twenty seconds, the user says something of five.
    await caller.send({ method: 'text', data: 'Tell me a story.' });
    await caller.message('start_answering', { after: greeted });
    // Before anything of the answer is heard, what the user says belongs to the question.
    const isSpeaking = async (): Promise<boolean> => (await caller.takeHeard()).some((sample) => sample > 1000);
    await expect.poll(isSpeaking, { timeout: 60_000 }).toBe(true);
    await caller.do('call.play("table.wav")');
    const held = await caller.message('pause', { after: greeted });
    const cut = await caller.message('clear', { after: held });
    const reported = await caller.message('onresponsetext', { after: cut, final: true });
    const { data: heard } = (await caller.messages())[reported - 1] as { data: string };
    expect(STORY.startsWith(heard.replace(/\W+$/, ''))).toBe(true);
    expect(heard.length).toBeLessThan(STORY.length / 2);
    const understood = await caller.message('ontranscript', { after: held, final: true });
    const answered = await caller.message('onresponsetext', { after: Math.max(reported, understood), final: true });

    // Keys as telephone events.
    await expect.poll(() => caller.do('call.line.sender.dtmf.canInsertDTMF')).toBe(true);
    await caller.do('call.line.sender.dtmf.insertDTMF("4711#", 100, 70)');
    await caller.message('onresponsetext', { after: answered, text: 'sesame', final: true });

    // The page learns that it is over.
    await caller.send({ method: 'text', data: 'Goodbye.' });
    await caller.message('onsessionended');
    await caller.page.close();
  });
});

/** The demo agent, which can also tell a story and knows what to do with a number. */
function agentFile(folder: string): string {
  const path = join(folder, 'agent.json');
  const agent = JSON.parse(readFileSync(packageFile('examples/restaurant/agent.json'), 'utf8')) as {
    script: { rules: object[] };
  };
  agent.script.rules.unshift({ when: 'story', say: STORY }, { when: '4711', say: 'Open sesame.' });
  writeFileSync(path, JSON.stringify(agent));
  return path;
}

/** What the embedded recogniser understands where it expects this text, and nothing else. */
async function wordsIn(samples: Int16Array, text: string): Promise<string> {
  const stt = new EmbeddedStt();
  try {
    const phrases = text.split(/(?<=[.?]) /);
    const listener = await new Listener().open(stt, { phrases, texts: [], keywords: new Map() });
    const sounds = soundsIn(samples, LONGEST_PAUSE_MS);
    const [startSample, endSample] = [sounds[0]?.startSample ?? 0, sounds.at(-1)?.endSample ?? 0];
    await listener.silence(200);
    await listener.speech(samples.slice(Math.max(0, startSample - 1_600), endSample + 1_600));
    await listener.settle();
    await listener.stream.close();
    return listener.finals.map((final) => final.text).join(' ');
  } finally {
    await stt.close();
  }
}
