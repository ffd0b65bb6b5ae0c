import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageFile } from '../../../src/package-files.js';
import { hasChromium, TalkingBrowser } from '../browser.js';
import { ServedDaemon } from '../served-daemon.js';
import { WebRtcCaller } from './caller.js';

const PUBLIC_KEY = 'pk_served';
const AGENT = 'the-crooked-fork';
const PATIENCE = { timeout: 150_000 };
const HAS_IPV6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));

/** Leaves no way between page and daemon but one of ::1. */
const ONLY_IPV6 = `
  const only = (sdp) => sdp.split('\\r\\n').filter((line) => !/^a=candidate:/.test(line) || / ::1 /.test(line)).join('\\r\\n');
  const ask = globalThis.fetch;
  globalThis.fetch = (path, init) =>
    ask(path, path.endsWith('/offer') ? { ...init, body: JSON.stringify(withSdp(JSON.parse(init.body))) } : init);
  const withSdp = (body) => ({ ...body, offer: { ...body.offer, sdp: only(body.offer.sdp) } });
  const take = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
    return take.call(this, { type, sdp: only(sdp) });
  };`;

describe.skipIf(!hasChromium)('WebRTC, on other ways than most', { timeout: 600_000 }, () => {
  let daemon: ServedDaemon;
  let browser: TalkingBrowser;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-settings-'));
    const file = join(folder, 'settings.json');
    writeFileSync(file, JSON.stringify({ webrtc: { addresses: ['127.0.0.1', '::1'] } }));
    daemon = await ServedDaemon.start('0', agentFile(folder), { PARLEY_CONFIG: file });
    browser = await TalkingBrowser.launch(60_000, ['--allow-loopback-in-peer-connection'], 60_000, 'chromium');
  }, 90_000);

  afterAll(async () => {
    await browser.close();
    await daemon.stop();
    expect(daemon.log).not.toContain('fault:');
    rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  const begun = async (script = ''): Promise<WebRtcCaller> => {
    const caller = await WebRtcCaller.open(browser, daemon);
    await caller.do(`(() => { ${script} })()`);
    await caller.begin(PUBLIC_KEY, AGENT);
    await caller.message('onresponsetext', { text: 'help you', final: true });
    return caller;
  };
  const loudest = async (caller: WebRtcCaller): Promise<number> =>
    (await caller.takeHeard()).reduce((most, sample) => Math.max(most, sample), 0);

  it.skipIf(!HAS_IPV6)('talks over IPv6 where there is nothing else', async () => {
    const caller = await begun(ONLY_IPV6);
    await expect.poll(() => loudest(caller), PATIENCE).toBeGreaterThan(1000);
    const addresses = await caller.do<string[]>(`call.line.connection.getStats().then((stats) => {
      const pair = [...stats.values()].find(({ type, nominated }) => type === 'candidate-pair' && nominated);
      return [pair.localCandidateId, pair.remoteCandidateId].map((id) => stats.get(id).address);
    })`);
    for (const address of addresses) expect(address).toMatch(/:|^$/);
    await caller.page.close();
  });

  it('takes what a form was filled in with, on the data channel', async () => {
    const caller = await begun();
    await caller.send({ method: 'text', data: 'I want a receipt' });
    const asked = await caller.message('ai_action');
    const { payload } = (await caller.messages())[asked - 1] as { payload: { id: string } };
    await caller.send({ method: 'form_result', payload: { id: payload.id, value: 'ann@till.example' } });
    await caller.message('onresponsetext', { after: asked, text: 'ann@till.example', final: true });
    await caller.page.close();
  });

  it('hears a microphone that is another source of packets', async () => {
    const caller = await begun();
    await caller.do('call.otherDevice()');
    await caller.do(`(() => {
      const { connection, sender } = call.line;
      connection.removeTrack(sender);
      connection.addTrack(call.device.stream.getAudioTracks()[0], call.device.stream);
    })()`);
    await caller.do('call.restartOnChannel()');
    const before = (await caller.messages()).length;
    await caller.do('call.play("table.wav")');
    // Whatever was understood: somebody spoke, and is answered.
    await caller.message('onmetrics', { after: before });
    await caller.page.close();
  });
});

/** The demo agent, which can also ask for an address. */
function agentFile(folder: string): string {
  const read = (path: string): { config: object; script: { rules: object[] } } =>
    JSON.parse(readFileSync(path, 'utf8')) as never;
  const [agent, till] = [
    read(fileURLToPath(packageFile('examples/restaurant/agent.json'))),
    read(fileURLToPath(new URL('../forms-agent.json', import.meta.url))),
  ];
  Object.assign(agent.config, {
    service_functions: (till.config as { service_functions: object[] }).service_functions,
  });
  agent.script.rules.unshift(...till.script.rules);
  const path = join(folder, 'agent.json');
  writeFileSync(path, JSON.stringify(agent));
  return path;
}
