import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { levelOf } from '../../../src/audio/dsp/level.js';
import type { CallReport } from '../../../src/telephony/calls/agent-call.js';
import { type OwnCall, Switchboard } from '../../../src/telephony/calls/switchboard.js';
import type { SimulatedCall } from '../../../src/telephony/carriers/simulated/call.js';
import { SimulatedNetwork } from '../../../src/telephony/carriers/simulated/network.js';
import { SoundLibrary } from '../../../src/telephony/carriers/simulated/sounds.js';
import { Engine } from '../../../src/engine/engine.js';
import { packageFile } from '../../../src/package-files.js';
import { numbersOf } from '../carriers/simulated/support.js';
import { Wire } from '../sip/support.js';
import { SipPath } from './sip-path.js';

const OWN = '+12025550199';
const CALLER = '+12025550171';
const HUMAN = '+12025550172';

// A minute of two calls with the embedded engines is some seconds of work.
vi.setConfig({ testTimeout: 120_000 });

const wire = new Wire();
const { clock } = wire;
const engine = new Engine({ clock });
const sounds = new SoundLibrary(
  (text, voiceId) => engine.speech({ text, provider: 'flite', voiceId, signal: AbortSignal.timeout(20_000) }),
  packageFile('data/'),
);
beforeAll(() => engine.warmUp());
afterAll(() => engine.close());

const SCRIPT = {
  rules: [
    {
      when: ['(speak|talk) to the manager'],
      call: {
        tool: 'transfer_call',
        arguments: { summary: 'It is about a broken window.' },
        ok: { say: 'Goodbye.' },
        failed: { say: 'The manager cannot be reached. Can I help you?' },
      },
    },
  ],
};

interface Asked {
  report: CallReport;
  /** Of the call to whoever was asked. */
  own: readonly OwnCall[];
  statuses: readonly string[];
  /** What it heard, and what the person said. */
  asking: CallReport | null;
  notes: readonly string[];
  /** Longest silence that the caller heard while somebody was asked. */
  longestSilenceMs: number;
}

/** A caller asks for the manager; `steps` is what happens where that phone rings. */
async function asks(
  human: Record<string, unknown>,
  attended: object = {},
  { patienceMs = 60_000, overSip = false } = {},
): Promise<Asked> {
  const numbers = numbersOf({ number: HUMAN, ringMs: 3000, voice: 'rms', ...human });
  const [caller] = numbersOf({
    number: CALLER,
    steps: [
      { listen: { quietMs: 600 } },
      { say: 'can I speak to the manager please' },
      { wait: patienceMs },
      { note: 'waited' },
      { hangUp: true },
    ],
  });
  const heard: number[] = [];
  const notes: string[] = [];
  const network = new SimulatedNetwork({
    clock,
    ticker: engine.ticker,
    numbers,
    sounds,
    owned: [OWN],
    tap: (call: SimulatedCall, { far }) => {
      if (call.direction === 'inbound') heard.push(far === null ? -99 : levelOf(far).rmsDbfs);
      for (const note of call.notes) if (!notes.includes(note)) notes.push(note);
    },
  });
  const { ticker } = engine;
  const quality = { delayMs: 20, jitterMs: 0, loss: 0 };
  const path = overSip ? await SipPath.open({ quality, wire, ticker, phones: network, own: OWN }) : null;
  const own: OwnCall[] = [];
  const statuses: string[] = [];
  let asking: CallReport | null = null;
  const switchboard = new Switchboard({
    engine,
    carrier: path?.carrier ?? network,
    ownCalls: {
      begin: (call) => {
        own.push(call);
        return { onStatus: (status) => statuses.push(status) };
      },
      placed: (call) => void call.finished.then((report) => (asking = report)),
    },
  });
  let report: CallReport | undefined;
  switchboard.receive(
    () => ({
      agent: {
        llm: { model: 'scripted' },
        first_message: 'This is the desk.',
        flow: { call_transfer: { phone: HUMAN, messages: ['I will ask.'] } },
      },
      extensions: { transfer: { attended: { enabled: true, ...attended } } },
      script: SCRIPT,
    }),
    (call) => void call.finished.then((done) => (report = done)),
  );
  network.callIn(caller!, OWN);
  await clock.runUntil(() => report !== undefined && network.calls.size === 0, clock.nowMs() + 90_000);
  await switchboard.close();
  await path?.close();
  await network.close();
  if (report === undefined) throw new Error('the call did not end');
  const { initiatedMs = 0, endedMs = 0 } = (asking as CallReport | null)?.carrier ?? {};
  const answeredMs = report.carrier?.answeredMs ?? 0;
  const waiting = heard.slice((initiatedMs - answeredMs) / 20, ((endedMs ?? 0) - answeredMs) / 20);
  return { report, own, statuses, asking, notes, longestSilenceMs: longestSilence(waiting) };
}

function longestSilence(levels: readonly number[]): number {
  let longest = 0;
  let silent = 0;
  for (const level of levels) {
    silent = level < -50 ? silent + 20 : 0;
    longest = Math.max(longest, silent);
  }
  return longest;
}

const said = ({ session }: CallReport): string =>
  (session?.messages ?? []).map(({ role, content }) => `${role}: ${content}`).join('\n');

describe('the target of an attended transfer', () => {
  it('hears what the call is about, agrees, and talks with the caller', async () => {
    const { report, own, statuses, asking, notes, longestSilenceMs } = await asks({
      steps: [
        { say: 'hello' },
        { listen: {} },
        { say: 'yes' },
        { wait: 8000 },
        { note: 'talked' },
        { wait: 200 },
        { hangUp: true },
      ],
    });
    expect(report).toMatchObject({ status: 'agent-ended', carrier: { end: { cause: 'transferred' } } });
    expect(report.session?.transfers).toMatchObject([{ target: HUMAN, ok: true, attended: true }]);
    expect(own).toMatchObject([{ phones: { from: OWN, to: HUMAN }, askedFor: report.session?.sessionId }]);
    expect(statuses).toEqual(['ringing', 'in-progress', 'agent-ended']);
    expect(said(asking!)).toContain('It is about a broken window. You can press one');
    expect(notes).toContain('talked');
    expect(longestSilenceMs).toBeLessThan(1000);
  });

  it('and presses 1 is connected', async () => {
    const { report } = await asks({ steps: [{ listen: {} }, { press: '1' }, { wait: 6000 }, { hangUp: true }] });
    expect(report.session?.transfers).toMatchObject([{ ok: true }]);
  });

  it('and declines gives the caller back, with their words', async () => {
    const { report, asking } = await asks({
      steps: [{ listen: {} }, { say: 'no I am in a meeting' }, { listen: {} }, { hangUp: true }],
    });
    expect(report.session?.transfers).toMatchObject([{ ok: false, reason: 'declined' }]);
    expect(said(report)).toMatch(/Not connected: they cannot take the call; they said: "no.*meeting"/);
    expect(said(report)).toContain('assistant: The manager cannot be reached. Can I help you?');
    expect(said(asking!)).toContain('I will tell them.');
    expect(report.status).toBe('user-ended');
  });

  it('and does not answer gives the caller back, who has heard music and words meanwhile', async () => {
    const { report, own, longestSilenceMs } = await asks({ picksUp: 'rings' }, { ring_timeout: 20 });
    expect(report.session?.transfers).toMatchObject([{ ok: false, reason: 'no-answer', attended: true }]);
    expect(own).toHaveLength(1);
    expect(said(report)).toContain('Thank you for waiting.');
    expect(longestSilenceMs).toBeLessThan(1000);
    expect(said(report)).toContain('The manager cannot be reached.');
  });

  it('is not a mailbox', async () => {
    const { report } = await asks({
      steps: [
        { say: 'you have reached the voicemail of the manager. please leave a message after the tone' },
        { tone: { hz: [1000], ms: 400 } },
        { record: {} },
        { hangUp: true },
      ],
    });
    expect(report.session?.transfers).toMatchObject([{ ok: false, reason: 'voicemail' }]);
  });

  it('need not agree where that is not asked for', async () => {
    const { report, asking } = await asks(
      { steps: [{ say: 'hello' }, { wait: 9000 }, { note: 'talked' }, { wait: 200 }, { hangUp: true }] },
      { confirm: false, briefing: 'A guest for you. {summary}', hold_sound: 'ringing' },
    );
    expect(report.session?.transfers).toMatchObject([{ ok: true }]);
    expect(said(asking!)).toContain('A guest for you. It is about a broken window.');
    expect(said(asking!)).not.toContain('Shall I put them through?');
  });

  it('hears that the caller has hung up meanwhile', async () => {
    const { report, asking } = await asks(
      { steps: [{ listen: { quietMs: 8000 } }, { hangUp: true }] },
      {},
      { patienceMs: 7000 },
    );
    expect(report.status).toBe('user-ended');
    expect(said(asking!)).toContain('The caller has hung up');
  });
});

describe('over SIP', () => {
  const overSip = true;

  it('the two calls become one', async () => {
    const { report, asking, notes, longestSilenceMs } = await asks(
      {
        steps: [
          { say: 'hello' },
          { listen: {} },
          { say: 'yes' },
          { wait: 8000 },
          { note: 'talked' },
          { wait: 200 },
          { hangUp: true },
        ],
      },
      {},
      { overSip },
    );
    expect(report).toMatchObject({ status: 'agent-ended', carrier: { end: { cause: 'transferred' } } });
    expect(report.session?.transfers).toMatchObject([{ target: HUMAN, ok: true, attended: true }]);
    expect(asking).toMatchObject({ status: 'agent-ended', carrier: { end: { cause: 'transferred' } } });
    expect(notes).toContain('talked');
    expect(longestSilenceMs).toBeLessThan(1000);
  });

  it('who declines gives the caller back', async () => {
    const { report } = await asks(
      { steps: [{ listen: {} }, { say: 'no I am in a meeting' }, { listen: {} }, { hangUp: true }] },
      {},
      { overSip },
    );
    expect(report.session?.transfers).toMatchObject([{ ok: false, reason: 'declined' }]);
    expect(said(report)).toContain('The manager cannot be reached.');
    expect(report.status).toBe('user-ended');
  });

  it.each([
    ['rings', 'no-answer'],
    ['busy', 'busy'],
    ['rejects', 'rejected'],
  ])('who %s too', async (picksUp, reason) => {
    const { report } = await asks({ picksUp }, { ring_timeout: 5 }, { overSip, patienceMs: 20_000 });
    expect(report.session?.transfers).toMatchObject([{ ok: false, reason }]);
    expect(said(report)).toContain('The manager cannot be reached.');
  });
});
