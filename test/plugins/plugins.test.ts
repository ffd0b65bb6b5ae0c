import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { ParleyError } from '../../src/base/errors.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/options.js';
import type { EnginePlugin } from '../../src/engine/plugin.js';
import { packageFile } from '../../src/package-files.js';
import { loadPlugins } from '../../src/plugins/load-plugins.js';
import { type CarrierHost, type CarrierMaker, definePlugin, partsOf } from '../../src/plugins/plugin.js';
import { type Networks, openNetworks } from '../../src/daemon/calls/networks.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { SoleLeases } from '../../src/store/leases.js';
import type { StoredPhone } from '../../src/store/phones.js';
import type { Carrier } from '../../src/telephony/carriers/carrier.js';
import type { LogEntry } from '../../src/session/record/event-log.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';

const PHONE: Omit<StoredPhone, 'number' | 'carrier'> = {
  status: 'active',
  agentId: null,
  agentVersion: null,
  queue: null,
  agentConfigOverride: null,
  tags: [],
  address: null,
  createdAt: 0,
};
const folder = mkdtempSync(join(tmpdir(), 'parley-plugins-'));
const engines: Engine[] = [];
afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())));
afterAll(() => rmSync(folder, { recursive: true }));

function engineOf(options: EngineOptions): Engine {
  const engine = new Engine(options);
  engines.push(engine);
  return engine;
}

let files = 0;
function fileOf(code: string, ending = 'mjs'): string {
  const path = join(folder, `plugin-${String(++files)}.${ending}`);
  writeFileSync(path, code);
  return path;
}

describe('loadPlugins', () => {
  it('takes the default export of each file, once', async () => {
    const path = fileOf('export default { name: "acme", functions: [] }');
    expect(await loadPlugins([path, path])).toEqual([{ name: 'acme', functions: [], file: path }]);
  });

  it.each([
    ['export const plugin = {}', 'it has no default export (it exports plugin). Write: export default definePlugin('],
    ['', 'it has no default export (it exports nothing)'],
    ['export default 1', 'expected an object such as {name: "acme"'],
    ['export default {}', 'name should be a text'],
    ['export default { name: "a", tools: [] }', 'there is no member "tools"; a plug-in has name, functions, stt'],
    ['export default { name: "a", functions: {} }', 'functions should be a list of functions'],
    ['export default { name: "a", functions: [{ name: "f" }] }', 'functions[0]: f: description should be a text'],
    [
      'export default { name: "a", functions: [{ name: "end_call", description: "", execute() {} }] }',
      "functions[0]: end_call is a name of parley's own",
    ],
    [
      'export default { name: "a", tts: () => 1 }',
      'tts should be an object of functions by name, such as { acme: () =>',
    ],
    ['export default { name: "a", tts: { acme: 1 } }', 'tts.acme should be a function that makes the provider'],
    ['export default { name: "a", stt: { deepgram: () => 1 } }', 'stt: "deepgram" is a name of parley\'s own'],
    ['export default { name: "a", stt: { "x*": () => 1 } }', 'stt: "x*" cannot be a name'],
    ['export default { name: "a", redact: 1 }', 'redact should be a function of a text'],
    ['import "not-installed-here"', 'a plain object is a plug-in, too'],
    ['throw new Error("no key")', 'it cannot be loaded: no key'],
  ])('refuses %s', async (code, reason) => {
    const path = fileOf(code);
    const refused = await loadPlugins([path]).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'PLUGIN_INVALID', details: { file: path } });
    expect(String(refused)).toContain(reason);
  });

  it('refuses a file that is not there, and names that two plug-ins have', async () => {
    await expect(loadPlugins([join(folder, 'none.mjs')])).rejects.toThrow(
      'none.mjs cannot be used: there is no such file',
    );
    const code = 'export default { name: "a", llm: { m: () => ({}) } }';
    const [one, other] = [fileOf(code), fileOf(code)];
    await expect(loadPlugins([one, other])).rejects.toThrow(`${other} and ${one} both have llm m`);
  });

  it('loads the example of the docs, in plain JavaScript', async () => {
    const [plugin] = await loadPlugins([fileURLToPath(packageFile('examples/plugin/bakery.mjs'))]);
    expect(partsOf(plugin as EnginePlugin)).toEqual([
      'functions look_up_order',
      'language models bakery-clerk',
      'redacts texts',
    ]);
  });
});

describe('the providers of a plug-in', () => {
  const made: string[] = [];
  const plugin = definePlugin({
    name: 'acme',
    stt: { 'acme-ears': () => (made.push('stt'), promptedStt({ lines: [] })) },
    tts: { 'acme-voice': () => (made.push('tts'), toneTts()) },
    llm: { 'acme/*': () => functionLlm(({ model }) => `I am ${model}.`) },
    vad: { 'acme-vad': () => energyVad() },
  });
  const agent = {
    voice: { provider: 'acme-voice', voice_id: 'x' },
    speech_to_text: { provider: 'acme-ears' },
    llm: { model: 'acme/small' },
  };

  it('are those that the agent and the settings name', async () => {
    const clock = new VirtualClock();
    const engine = engineOf({ clock, plugins: [plugin], vad: 'acme-vad' });
    expect(await engine.checkAgent({ agent })).toEqual([]);
    const session = await engine.createSession({ agent, transport: new MemoryTransport() });
    void session.run();
    await clock.advanceBy(3000);
    const { messages, usage } = await session.end();
    expect(messages).toEqual([{ role: 'assistant', content: 'I am acme/small.' }]);
    expect(usage.tts).toMatchObject([{ provider: 'tone' }]);
    expect(made.toSorted()).toEqual(['stt', 'tts']);
  });

  it('are in the lists of errors about unknown names', async () => {
    const engine = engineOf({ plugins: [plugin], vad: 'none' });
    await expect(engine.checkAgent({ agent: { ...agent, llm: { model: 'other' } } })).rejects.toThrow('acme/*');
    await expect(engine.checkAgent({ agent: { ...agent, speech_to_text: { provider: 'x' } } })).rejects.toThrow(
      'acme-ears',
    );
    await expect(engine.checkAgent({ agent })).rejects.toThrow('Known: silero, silero-gated, webrtc, acme-vad');
  });
});

describe('the redaction of a plug-in', () => {
  const redact = (text: string): string => {
    if (text.includes('bomb')) throw new Error('no');
    return text.replaceAll(/\d{4}/g, '****');
  };

  it('is in everything that is stored, and not in what the model gets', async () => {
    const clock = new VirtualClock();
    const kept: CallHistoryItem[] = [];
    const stored: LogEntry[] = [];
    const heard: string[] = [];
    const engine = engineOf({
      clock,
      plugins: [{ name: 'cards', redact }],
      history: { keep: async (item) => kept[kept.push(item) - 1] as CallHistoryItem },
      traces: { open: () => ({ log: (entry) => void stored.push(entry), close: async () => undefined }) },
    });
    const session = await engine.createSession({
      agent: { first_message: 'Your card?' },
      transport: new MemoryTransport(),
      vad: energyVad(),
      stt: promptedStt({ lines: [] }),
      tts: toneTts(),
      llm: functionLlm(({ messages }) => {
        const last = messages.at(-1)?.content ?? '';
        heard.push(last);
        return last.startsWith('1234')
          ? { calls: [{ name: 'pay', arguments: '{"card":"1234"}' }] }
          : 'Paid with 1234, a bomb.';
      }),
      tools: [{ name: 'pay', description: '', parameters: { type: 'object' }, execute: () => 'took 1234' }],
    });
    void session.run();
    await clock.advanceBy(2000);
    session.sendText('1234 please');
    await clock.advanceBy(5000);
    await session.end();
    await expect.poll(() => kept.length).toBe(1);
    expect(heard).toEqual(['1234 please', 'took 1234']);
    expect(JSON.stringify([kept, stored])).not.toContain('1234');
    expect(JSON.stringify(stored)).toContain('**** please');
    expect(kept[0]?.function_calls).toMatchObject([{ name: 'pay', result: 'took ****' }]);
    expect(kept[0]?.chat).toContain('[not stored: its redaction failed]');
  });
});

describe('the carriers of a plug-in', () => {
  const OURS = '+12025550100';

  function acme(name: string, placed: string[], closed: string[]): Carrier {
    const refuse = (): Promise<void> => Promise.reject(new ParleyError('NUMBER_UNAVAILABLE', { number: '' }));
    return {
      name,
      searchNumbers: async () => [],
      buyNumber: refuse,
      releaseNumber: refuse,
      ownedNumbers: async () => [OURS],
      placeCall: ({ to }) => {
        placed.push(to);
        throw new ParleyError('CARRIER_CLOSED', { carrier: name });
      },
      receiveCalls: () => () => undefined,
      close: async () => void closed.push(name),
    };
  }

  function open(carrier: CarrierMaker): Promise<Networks> {
    return openNetworks({
      engine: engineOf({ plugins: [definePlugin({ name: 'acme', carriers: { acme: carrier } })] }),
      phones: { list: () => [{ ...PHONE, number: OURS, carrier: 'acme' }] },
      settings: DEFAULT_SETTINGS,
      isAddress: () => false,
      takesCalls: () => true,
      leases: new SoleLeases(),
      maxSessions: 1,
      onError: () => undefined,
    });
  }

  it('have the numbers that name them', async () => {
    const [placed, closed, hosts]: [string[], string[], CarrierHost[]] = [[], [], []];
    const networks = await open((host) => {
      hosts.push(host);
      return acme('acme', placed, closed);
    });
    expect(hosts).toMatchObject([{ owned: [OURS], publicUrl: null }]);
    const call = { from: OURS, to: '+442079460000', ringTimeoutMs: 1000 };
    expect(() => networks.carrier.placeCall(call)).toThrow(ParleyError);
    expect(placed).toEqual([call.to]);
    await networks.close();
    expect(closed).toContain('acme');
  });

  it('that cannot be opened, or have another name, say so', async () => {
    await expect(open(() => acme('other', [], []))).rejects.toThrow('its name is other; it should be the same');
    const fails = open(() => {
      throw new Error('no account');
    });
    await expect(fails).rejects.toThrow(
      'The plug-in with the carrier acme cannot be used: it cannot be opened: no account',
    );
  });
});
