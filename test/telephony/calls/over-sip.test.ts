import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Switchboard } from '../../../src/telephony/calls/switchboard.js';
import { readDirectory } from '../../../src/telephony/carriers/simulated/directory.js';
import { SimulatedNetwork } from '../../../src/telephony/carriers/simulated/network.js';
import { SoundLibrary } from '../../../src/telephony/carriers/simulated/sounds.js';
import { atDesk, openDemoDesk } from '../../../src/cli/shared/demo-desk.js';
import { loadAgentFile } from '../../../src/agent/agent-file.js';
import { Engine } from '../../../src/engine/engine.js';
import { packageFile } from '../../../src/package-files.js';
import { Wire } from '../sip/support.js';
import { EmbeddedRig, type Listened } from './embedded-rig.js';
import { SipPath } from './sip-path.js';

const ANN = '+12025550101';
const CAROL_BEEPS = '+12025550103';
const HOTEL_MENU = '+12025550110';
const FAX = '+12025550112';
const TOM = '+12025550151';
const RESTAURANT = '+12025550199';

const MESSAGE = 'Hello, this is Olive. Your table is kept for tomorrow at eight. Goodbye!';
const LEAVING = { voicemail: { action: 'message', message: MESSAGE } };
/** The network between the trunk and its gateway, for signalling and media. */
const BAD = { delayMs: 20, jitterMs: 60, loss: 0.05 };

const rig = new EmbeddedRig({ quality: BAD });
// A call of half a minute is some seconds of work, more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
afterAll(() => rig.close());

const detected = ({ traces }: Listened): unknown[] =>
  traces.flatMap(({ name, data }) => (name === 'voicemail.detected' ? [data['class']] : []));
const words = ({ report }: Listened): string =>
  (report.session?.messages ?? []).map(({ role, content }) => `${role}: ${content}`).join('\n');

describe('over SIP and RTP with 5 % loss and 60 ms of jitter', () => {
  it('a mailbox is detected, and gets its message after the beep', async () => {
    const call = await rig.call(CAROL_BEEPS, LEAVING);
    expect(detected(call)).toEqual(['mailbox']);
    expect(call.report.status).toBe('voicemail-message');
    const recordsMs = call.notes.get('recording') ?? NaN;
    const begunMs = call.heard.find(({ fromMs, toMs }) => fromMs > 1_500 && toMs - fromMs > 1_000)?.fromMs ?? NaN;
    expect(begunMs).toBeGreaterThan(recordsMs - 100);
    expect(begunMs).toBeLessThan(recordsMs + 700);
    expect(call.rtp?.received).toBeGreaterThan(100);
    expect(call.rtp?.lost).toBeGreaterThan(5);
  });

  it('a fax machine is detected', async () => {
    const call = await rig.call(FAX, LEAVING);
    expect(detected(call)).toEqual(['fax']);
    expect(call.report.status).toBe('voicemail-hangup');
  });

  it('a key gets through a menu to the right department', async () => {
    const call = await rig.call(HOTEL_MENU, LEAVING);
    expect([...call.notes.keys()]).toEqual(['reservations']);
    expect(call.report.carrier?.digitsSent).toBe('1');
    expect(words(call)).toContain('I only wanted to confirm the table');
  });

  it('keys are tones, both ways, where the other side has no events for them', async () => {
    const toned = new EmbeddedRig({ quality: {}, hasNoEvents: true });
    onTestFinished(() => toned.close());
    const office = '+12025550149';
    const press = [{ note: 'reservations' }, { say: 'Hello?' }, { listen: {} }, { press: '427' }, { listen: {} }];
    const say = 'For reservations, press one. For billing, press two.';
    const steps = [{ menu: { say, options: { 1: press, 2: [{ note: 'billing' }] } } }, { hangUp: true }];
    const call = await toned.call(office, LEAVING, [{ number: office, voice: 'slt', inBandDigits: true, steps }]);
    expect([...call.notes.keys()]).toEqual(['reservations']);
    expect(words(call)).toContain('user: 427');
    // Whatever came and went as events is counted by the carrier.
    expect(call.report.carrier).toMatchObject({ digitsSent: '1', digitsReceived: '' });
  });

  it('a person is talked to', async () => {
    const call = await rig.call(ANN, LEAVING);
    expect(detected(call)).toEqual([]);
    expect(words(call)).toContain('user: yes');
    expect(call.report.status).toMatch(/^(user|agent)-ended$/);
  });

  it('a guest books a table', async () => {
    const bookings: Readonly<Record<string, unknown>>[] = [];
    const desk = await openDemoDesk((booking) => bookings.push(booking));
    const wire = new Wire();
    const { clock } = wire;
    const engine = new Engine({ clock, allowUrls: [desk.url] });
    const directory = await readDirectory();
    const sounds = new SoundLibrary(
      (text, voiceId) => engine.speech({ text, provider: 'flite', voiceId, signal: AbortSignal.timeout(20_000) }),
      packageFile('data/'),
    );
    const network = new SimulatedNetwork({ ...directory, clock, ticker: engine.ticker, sounds, owned: [RESTAURANT] });
    const path = await SipPath.open({ wire, ticker: engine.ticker, phones: network, own: RESTAURANT, quality: BAD });
    const switchboard = new Switchboard({ engine, carrier: path.carrier });
    const { config, script } = await loadAgentFile(packageFile('examples/restaurant/agent.json').pathname);
    onTestFinished(async () => {
      await switchboard.close();
      await path.close();
      await network.close();
      await engine.close();
      await desk.close();
    });
    switchboard.receive(() => ({ agent: atDesk(config, desk), script }));
    const tom = network.callers.get(TOM);
    if (tom === undefined) throw new Error('there is no Tom');
    network.callIn(tom, RESTAURANT);
    await clock.runUntil(() => network.calls.size === 0 && switchboard.calls.size === 0, 300_000);
    expect(bookings).toHaveLength(1);
    expect(bookings[0]).toMatchObject({ party: 2, name: expect.stringMatching(/miller/i) as string });
    expect(path.stats?.lost).toBeGreaterThan(50);
  });
});
