import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { hasTool } from '../../scripts/system-tools.mjs';
import { Client } from '../daemon/house.js';
import { TalkingBrowser } from './browser.js';
import { ServedDaemon } from './served-daemon.js';

const PATIENCE = { timeout: 60_000 };
const KEY = 'sk_supervisor_test';
/** Who says nothing by themselves: what the caller hears is the answer to something, or the supervisor. */
const AGENT = {
  name: 'Waiter',
  config: {
    prompt: "You take bookings: a table for four, tomorrow evening at eight o'clock.",
    first_message: 'Hello, a table?',
    llm: { model: 'scripted' },
  },
  script: { rules: [{ when: 'open', say: 'We are open until eleven.' }] },
};
/** Loud enough for speech; a line without any is below. */
const SPEECH = 1_000;
const NOTHING = 50;
/** 20 ms at 16 kHz. */
const FRAME_BYTES = 640;

describe.skipIf(!hasTool('chromium'))('a supervisor in the console', { timeout: 180_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let page: Page;
  let caller: Client;
  let agent: string;
  let sessionId: string;

  beforeAll(async () => {
    daemon = await ServedDaemon.start('0', undefined, { PARLEY_API_KEY: KEY });
    // Their microphone speaks again and again.
    browser = await TalkingBrowser.launch(1_000, [], 500);
    caller = new Client(new WebSocket(`${daemon.address.replace('http', 'ws')}/talk`));
    agent = await agentOf(AGENT);
    await caller.initiate({ public_key: 'pk_served', agent: { agent_id: agent } });
    const { payload } = await caller.inbox.find(({ method }) => method === 'onready');
    ({ session_id: sessionId } = payload as { session_id: string });
    page = await browser.visit(`${daemon.address}/console#/active/${sessionId}`, async (fresh) => {
      await fresh.addInitScript({ content: `sessionStorage.setItem('parley.key', '${KEY}')` });
      await fresh.addInitScript({ content: LISTENS });
    });
    await page.getByRole('button', { name: 'Whisper' }).waitFor(PATIENCE);
  }, 90_000);

  afterAll(async () => {
    caller.socket.terminate();
    await browser.close();
    expect(await daemon.stop()).toBe(0);
    expect(browser.errors).toEqual([]);
  }, 30_000);

  async function agentOf(body: object): Promise<string> {
    const made = await fetch(`${daemon.address}/agents`, {
      method: 'POST',
      headers: { authorization: KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return ((await made.json()) as { id: string }).id;
  }

  /** Waits until the agent has fallen silent, and forgets what the caller has heard. */
  async function silence(): Promise<void> {
    const state = page.locator('.active-state[data-state=listening]');
    await state.or(page.locator('.active-state[data-state=taken_over]')).first().waitFor(PATIENCE);
    caller.inbox.audio.length = 0;
  }

  const heard = (): number => loudest(caller.inbox.audio);

  it('hears the call over WebRTC, without a microphone', async () => {
    await page.getByLabel('Your name in calls').fill('Ada');
    await page.getByLabel('Your name in calls').blur();
    await page.getByRole('button', { name: 'Listen' }).click();
    await page.getByRole('button', { name: 'Stop listening' }).waitFor(PATIENCE);
    const tone = Buffer.alloc(FRAME_BYTES);
    for (let at = 0; at < FRAME_BYTES / 2; at++)
      tone.writeInt16LE(9_000 * Math.sin((2 * Math.PI * 400 * at) / 16_000), 2 * at);
    const talking = setInterval(() => caller.socket.send(tone), 20);
    try {
      await expect.poll(() => page.evaluate('globalThis.heardLevel?.() ?? 0'), PATIENCE).toBeGreaterThan(0.02);
    } finally {
      clearInterval(talking);
    }
    expect(await page.evaluate('globalThis.microphones')).toBe(0);
    await page.getByText('Ada listens').waitFor(PATIENCE);
  });

  it('whispers to the agent, and the caller hears nothing of it', async () => {
    await silence();
    await page.getByRole('button', { name: 'Whisper' }).click();
    await page.getByRole('button', { name: 'Stop whispering' }).waitFor(PATIENCE);
    await page
      .getByText(/^Ada, whispering: ./)
      .first()
      .waitFor(PATIENCE);
    expect(heard()).toBeLessThan(NOTHING);
    // They listen no more: they do one thing at a time.
    await page.getByRole('button', { name: 'Listen', exact: true }).waitFor(PATIENCE);
  });

  it('takes over by the keyboard, the caller hears them, and the agent goes on when they give back', async () => {
    await page.locator('.active-list').press('t');
    await page.getByRole('button', { name: 'Give back' }).waitFor(PATIENCE);
    await page.getByText('taken over by Ada').first().waitFor(PATIENCE);
    await expect.poll(heard, PATIENCE).toBeGreaterThan(SPEECH);
    await page.locator('.active-list').press('t');
    await page.getByText('Ada has left').waitFor(PATIENCE);
    await silence();
    await caller.send({ method: 'text', data: 'When are you open?' });
    await page.locator('.bubble.agent', { hasText: 'eleven' }).waitFor(PATIENCE);
    await expect.poll(heard, PATIENCE).toBeGreaterThan(SPEECH);
  });

  it('calls somebody in by phone, and lets them go', async () => {
    const bought = await fetch(`${daemon.address}/phones/purchase`, {
      method: 'POST',
      headers: { authorization: KEY, 'content-type': 'application/json' },
      body: '{}',
    });
    const { id: number } = (await bought.json()) as { id: string };
    await page.locator('.active-list').press('c');
    const form = page.getByRole('form', { name: 'Call somebody into the call' });
    await form.getByLabel('Number', { exact: true }).fill('+12025550101');
    await form.getByLabel('Name', { exact: true }).fill('Ann');
    await form.locator(`option[value="${number}"]`).waitFor({ ...PATIENCE, state: 'attached' });
    await form.getByLabel('Called from').selectOption(number);
    await form.getByRole('button', { name: 'Call' }).click();
    await page.getByText('Ann speaks with the caller and the agent').waitFor(PATIENCE);
    const ann = page.getByRole('list', { name: 'People in this call' }).getByRole('listitem');
    await ann.getByRole('button', { name: 'Hold' }).click();
    await ann.getByRole('button', { name: 'Take off hold' }).waitFor(PATIENCE);
    await ann.getByRole('button', { name: 'Let go' }).click();
    await page.getByText('Ann has left').waitFor(PATIENCE);
    await ann.waitFor({ ...PATIENCE, state: 'detached' });
  });

  it('keeps the focus on a row of the Live view while calls come and go', async () => {
    await page.goto(`${daemon.address}/console#/live`);
    const row = page.locator(`.call-row[data-id="${sessionId}"]`);
    await row.focus(PATIENCE);
    const rows = page.locator('.call-row');
    const other = new Client(new WebSocket(`${daemon.address.replace('http', 'ws')}/talk`));
    await other.initiate({ public_key: 'pk_served', agent: { agent_id: agent } });
    await rows.nth(1).waitFor(PATIENCE);
    other.socket.terminate();
    await rows.nth(1).waitFor({ ...PATIENCE, state: 'detached' });
    expect(await page.evaluate('document.activeElement?.dataset.id')).toBe(sessionId);
  });

  it('waits in a queue, sees the place, leaves it, and is answered in turn', async () => {
    const extensions = { queue: { web: true, max_calls: 1, greeting: 'One moment.' } };
    const desk = await agentOf({ ...AGENT, name: 'Desk', extensions });
    const first = new Client(new WebSocket(`${daemon.address.replace('http', 'ws')}/talk`));
    await first.initiate({ public_key: 'pk_served', agent: { agent_id: desk } });
    await first.inbox.find(({ method }) => method === 'onready');
    const waiting = async (): Promise<unknown> => {
      const answer = await fetch(`${daemon.address}/queues/${desk}`, { headers: { authorization: KEY } });
      return ((await answer.json()) as { waiting: number }).waiting;
    };
    await page.goto(`${daemon.address}/console#/live/${desk}`);
    const place = page.getByText('You are number 1 in the queue.');
    await page.getByRole('button', { name: 'Talk', exact: true }).click(PATIENCE);
    await place.waitFor(PATIENCE);
    expect(await waiting()).toBe(1);
    await page.getByRole('button', { name: 'Leave the queue' }).click();
    await expect.poll(waiting, PATIENCE).toBe(0);
    await page.getByRole('button', { name: 'Talk', exact: true }).click(PATIENCE);
    await place.waitFor(PATIENCE);
    first.socket.terminate();
    await page.locator('.live-state[data-state=speaking]').waitFor(PATIENCE);
    await place.waitFor({ ...PATIENCE, state: 'detached' });
    await page.getByRole('button', { name: 'Hang up' }).click();
  });
});

function loudest(audio: readonly Buffer[]): number {
  let most = 0;
  for (const block of audio) {
    for (let at = 0; at + 1 < block.length; at += 2) most = Math.max(most, Math.abs(block.readInt16LE(at)));
  }
  return most;
}

/** In the page: `heardLevel` is the level of what comes over WebRTC now, `microphones` how often one was asked for. */
const LISTENS = `(() => {
  globalThis.microphones = 0;
  const devices = navigator.mediaDevices;
  const ask = devices.getUserMedia.bind(devices);
  devices.getUserMedia = (wish) => { globalThis.microphones++; return ask(wish); };
  const Real = RTCPeerConnection;
  globalThis.RTCPeerConnection = class extends Real {
    constructor(...options) {
      super(...options);
      this.addEventListener('track', ({ track }) => {
        const context = new AudioContext();
        const analyser = new AnalyserNode(context, { fftSize: 2048 });
        context.createMediaStreamSource(new MediaStream([track])).connect(analyser);
        const samples = new Float32Array(2048);
        globalThis.heardLevel = () => {
          analyser.getFloatTimeDomainData(samples);
          return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
        };
      });
    }
  };
})()`;
