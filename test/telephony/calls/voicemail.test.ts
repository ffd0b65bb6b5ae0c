import { afterAll, describe, expect, it, vi } from 'vitest';
import { resample } from '../../../src/audio/dsp/resample.js';
import { EmbeddedRig, type Listened } from './embedded-rig.js';

const CAROL_BEEPS = '+12025550103';
const DAVE_NO_BEEP = '+12025550104';
const ERIN_FULL = '+12025550105';
const FRANK_SCREENED = '+12025550106';
const HOTEL_MENU = '+12025550110';
const HEIDI_LATE = '+12025550111';
const FAX = '+12025550112';
const IVAN_BAD_LINE = '+12025550113';
const JUDY = '+12025550114';
const GUEST = '+12025550150';

const MESSAGE = 'Hello, this is Olive. Your table is kept for tomorrow at eight. Goodbye!';
const leaving = (more: object = {}): object => ({ voicemail: { action: 'message', message: MESSAGE, ...more } });

const rig = new EmbeddedRig();
// A call of half a minute is some seconds of work, more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
afterAll(() => rig.close());

/** How long the voice takes for the message, without silence around it. */
async function messageMs(): Promise<number> {
  const { samples, sampleRateHz } = await rig.engine.speech({
    text: MESSAGE,
    provider: 'flite',
    voiceId: 'slt',
    signal: AbortSignal.timeout(20_000),
  });
  const loud = resample(samples, sampleRateHz, 8000);
  const first = loud.findIndex((value) => Math.abs(value) > 300);
  return (loud.findLastIndex((value) => Math.abs(value) > 300) - first) / 8;
}

const detected = ({ traces }: Listened): unknown[] =>
  traces.flatMap(({ name, data }) => (name === 'voicemail.detected' ? [data['class']] : []));
const words = ({ report }: Listened): string =>
  (report.session?.messages ?? []).map(({ role, content }) => `${role}: ${content}`).join('\n');
/** What is heard from a moment on, but for the sounds with which an answer is held back as soon as it has begun. */
const from = ({ heard }: Listened, ms: number): Listened['heard'] =>
  heard.filter(({ fromMs, toMs }) => toMs > ms && toMs - fromMs > 100);

describe('a mailbox', () => {
  it('is hung up on before its beep, and hears nothing but the beginning of a greeting', async () => {
    const call = await rig.call(CAROL_BEEPS, { voicemail: { action: 'hangup' } });
    expect(call.report.status).toBe('voicemail-hangup');
    expect(detected(call)).toEqual(['mailbox']);
    expect(call.notes.has('recording')).toBe(false);
    expect(from(call, 1500)).toEqual([]);
  });

  it.each([
    ['behind its beep', CAROL_BEEPS, 400],
    ['behind its last word, where there is no beep', DAVE_NO_BEEP, 4500],
  ])('records the whole message, begun %s', async (_where, number, withinMs) => {
    const call = await rig.call(number, leaving());
    expect(call.report.status).toBe('voicemail-message');
    const recordsMs = call.notes.get('recording') ?? NaN;
    const recorded = from(call, 1500);
    const fromMs = recorded[0]?.fromMs ?? NaN;
    expect(fromMs).toBeGreaterThanOrEqual(recordsMs);
    expect(fromMs).toBeLessThan(recordsMs + withinMs);
    expect(Math.abs((recorded.at(-1)?.toMs ?? NaN) - fromMs - (await messageMs()))).toBeLessThan(500);
  });

  it('that is full is hung up on', async () => {
    const call = await rig.call(ERIN_FULL, leaving());
    expect(call.report.status).toBe('voicemail-hangup');
    expect(from(call, 1500)).toEqual([]);
  });

  it('becomes a conversation when a person picks up, if configured', async () => {
    const call = await rig.call(HEIDI_LATE, leaving({ continue_on_voice_activity: true }));
    const pickedUpMs = call.notes.get('picked up') ?? NaN;
    expect(detected(call)).toEqual(['mailbox']);
    expect(call.report.status).not.toMatch(/^voicemail/);
    // The message stops in the middle of her first words; then she is talked to.
    const message = call.heard.find(({ toMs }) => toMs > pickedUpMs);
    expect(message?.fromMs).toBeLessThan(pickedUpMs);
    expect(message?.toMs).toBeLessThan(pickedUpMs + 1500);
    expect(from(call, pickedUpMs + 3500)[0]?.fromMs).toBeGreaterThan(pickedUpMs + 2000);
    expect(words(call)).toContain('this is heidi');
  });

  it('plays the rest of the message when a person picks up, otherwise', async () => {
    const call = await rig.call(HEIDI_LATE, leaving({ continue_on_voice_activity: false }));
    expect(call.report.status).toBe('voicemail-message');
    const message = from(call, 3000);
    expect(message).toHaveLength(1);
    expect(Math.abs((message[0]?.toMs ?? 0) - (message[0]?.fromMs ?? 0) - (await messageMs()))).toBeLessThan(500);
  });
});

describe('is not detected for:', () => {
  it("a call screener gets the caller's name, and the person after it a conversation", async () => {
    const call = await rig.call(FRANK_SCREENED, leaving());
    expect(detected(call)).toEqual([]);
    expect(call.notes.has('put through')).toBe(true);
    expect(words(call)).toMatch(/user: \[An automatic call screening.*name.*\nassistant: This is Olive/);
    expect(words(call)).toMatch(/user: yes that is right/);
    expect(call.report.status).toMatch(/^(user|agent)-ended$/);
    // "Please stay on the line" was not answered.
    const putThroughMs = call.notes.get('put through') ?? 0;
    expect(call.heard.filter(({ fromMs }) => fromMs > putThroughMs - 4500 && fromMs < putThroughMs)).toEqual([]);
  });

  it('a phone menu is heard out, and the key leads to the right department', async () => {
    const call = await rig.call(HOTEL_MENU, leaving());
    expect([...call.notes.keys()]).toEqual(['reservations']);
    expect(call.report.carrier?.digitsSent).toBe('1');
    const reservedMs = call.notes.get('reservations') ?? 0;
    expect(call.heard.filter(({ fromMs, toMs }) => toMs > 1500 && fromMs < reservedMs)).toEqual([]);
    expect(call.report.session?.transfers).toEqual([]);
    expect(detected(call)).toEqual([]);
    expect(words(call)).toContain('I only wanted to confirm the table');
  });

  it('a person on a bad line', async () => {
    const call = await rig.call(IVAN_BAD_LINE, leaving());
    expect(detected(call)).toEqual([]);
    expect(call.heard[0]?.fromMs).toBeLessThan(300);
    expect(words(call)).toContain('user: yes');
    expect(call.report.status).toMatch(/^(user|agent)-ended$/);
  });
});

describe('a fax machine', () => {
  it.each([
    ['where machines are left a message', leaving()],
    ['where nothing is said about machines', { voicemail: null }],
  ])('is hung up on %s', async (_where, flow) => {
    const call = await rig.call(FAX, flow);
    expect(call.report.status).toBe('voicemail-hangup');
    expect(detected(call)).toEqual(['fax']);
    expect(call.report.session?.durationMs).toBeLessThan(2000);
  });
});

describe('a transfer', () => {
  const guest = {
    number: GUEST,
    voice: 'rms',
    steps: [
      { wait: 400 },
      { say: 'Hello?' },
      { listen: {} },
      { say: 'Can I speak to the manager please?' },
      { note: 'asked' },
      { listen: { maxMs: 12_000 } },
      { note: 'answered' },
      { say: 'No, that is all. Thank you, goodbye.' },
      { wait: 6000 },
      { hangUp: true },
    ],
  };

  it('that succeeds leaves the guest with the manager', async () => {
    const call = await rig.call(GUEST, {}, [guest]);
    expect(call.report.session?.transfers).toMatchObject([{ target: JUDY, ok: true }]);
    expect(call.report).toMatchObject({ status: 'agent-ended', carrier: { end: { cause: 'transferred' } } });
    // Judy is heard when the agent has gone.
    const leftMs = call.report.session?.durationMs ?? Infinity;
    expect(from(call, leftMs + 500).length).toBeGreaterThan(0);
  });

  it('that fails comes back to the guest', async () => {
    const call = await rig.call(GUEST, {}, [guest, { number: JUDY, picksUp: 'busy' }]);
    expect(call.report.session?.transfers).toMatchObject([{ target: JUDY, ok: false, reason: 'busy' }]);
    expect(words(call)).toContain('Judy is not free');
    expect(call.report.status).toMatch(/^(user|agent)-ended$/);
  });
});
