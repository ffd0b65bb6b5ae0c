import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasTool } from '../../../scripts/system-tools.mjs';
import { EmbeddedStt } from '../../../src/providers/stt/embedded/provider.js';
import { wordErrorRate } from '../../../src/testing/wer.js';
import { Listener } from '../../providers/stt/embedded/support.js';
import { spokenText, TalkingBrowser } from '../browser.js';
import { ServedDaemon } from '../served-daemon.js';
import { soundsIn, WebRtcCaller } from './caller.js';

const PUBLIC_KEY = 'pk_served';
const AGENT = 'the-crooked-fork';
const GREETING = 'Good evening, The Crooked Fork, this is Olive. How can I help you?';
/** The voice's own pauses within a sentence are shorter. */
const LONGEST_PAUSE_MS = 350;

describe.skipIf(!hasTool('chromium'))('WebRTC, from a real browser', { timeout: 240_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;

  beforeAll(async () => {
    daemon = await ServedDaemon.start();
    // What is spoken comes once: everything else is said by other means. A machine may have no network but loopback.
    browser = await TalkingBrowser.launch(300_000, ['--allow-loopback-in-peer-connection'], 12_000);
  }, 90_000);

  afterAll(async () => {
    await browser.close();
    const code = await daemon.stop();
    expect(browser.errors).toEqual([]);
    expect(code).toBe(0);
    expect(daemon.log).not.toContain('fault:');
  }, 30_000);

  it('talks, listens, takes text, and changes its ways', async () => {
    const caller = await WebRtcCaller.open(browser, daemon);
    await caller.begin(PUBLIC_KEY, AGENT);

    // The agent is heard.
    await caller.message('onresponsetext', { text: 'help you', final: true });
    const greeting = await caller.heardUntilSilent(400);
    expect(wordErrorRate([[GREETING, await wordsIn(greeting, GREETING)]])).toBeLessThan(0.5);

    // What the microphone hears is understood, and answered.
    const heard = await caller.message('ontranscript', { text: 'table', final: true });
    const { data } = (await caller.messages())[heard - 1] as { data: string };
    expect(wordErrorRate([[spokenText(), data]])).toBeLessThan(0.5);
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

    // On other ways and with another device it goes on: typed words are answered aloud.
    await caller.do('call.otherDevice()');
    await caller.do('call.restartOnChannel()');
    await caller.takeHeard();
    await caller.send({ method: 'text', data: 'When are you open?' });
    const opening = await caller.message('onresponsetext', { after: answered, text: 'eleven', final: true });
    const { data: said } = (await caller.messages())[opening - 1] as { data: string };
    const sound = await caller.heardUntilSilent(400);
    expect(wordErrorRate([[said, await wordsIn(sound, said)]])).toBeLessThan(0.5);
  });
});

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
