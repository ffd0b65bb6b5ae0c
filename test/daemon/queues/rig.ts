import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentExtensions } from '../../../src/agent/extensions/extensions.js';
import { levelOf } from '../../../src/audio/dsp/level.js';
import { Queues } from '../../../src/base/queues.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { AdmissionControl } from '../../../src/daemon/admission-control.js';
import { CallEventBus } from '../../../src/daemon/call-event-bus.js';
import { CallLog } from '../../../src/daemon/call-log/call-log.js';
import { Telephone, type TelephoneOptions } from '../../../src/daemon/calls/telephone.js';
import type { CallBacks, NewCallBack } from '../../../src/daemon/queues/call-backs.js';
import { CallQueues } from '../../../src/daemon/queues/call-queues.js';
import { Engine } from '../../../src/engine/engine.js';
import type { ParleyPlugin } from '../../../src/plugins/plugin.js';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import type { QueueExit } from '../../../src/session/record/call-history.js';
import { CallStore, type StoredCall } from '../../../src/store/calls.js';
import { openDatabase } from '../../../src/store/database.js';
import { SoleLeases } from '../../../src/store/leases.js';
import { PhoneStore } from '../../../src/store/phones.js';
import { SecretBox } from '../../../src/store/secret-box.js';
import { SqliteDatabase } from '../../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../../src/store/sqlite/sqlite-live-tables.js';
import type { SimulatedCall } from '../../../src/telephony/carriers/simulated/call.js';
import { SimulatedNetwork } from '../../../src/telephony/carriers/simulated/network.js';
import type { ScriptStep } from '../../../src/telephony/carriers/simulated/script.js';
import { SoundLibrary } from '../../../src/telephony/carriers/simulated/sounds.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../../src/testing/doubles/tone-tts.js';
import { numbersOf, toneVoice } from '../../telephony/carriers/simulated/support.js';
import { hosting } from '../hosting.js';

/** A Wednesday, 10:00 UTC. */
const START_UNIX_MS = Date.UTC(2026, 10, 25, 10);

export const OWN = '+12025550199';

/** The simulated network under another name: the daemon's own has the built-in callers only. */
class TestNetwork extends SimulatedNetwork {
  override readonly name = 'test' as 'simulated';
}

/** Words of a caller's speech, in the order of their calls. */
export interface QueueRigOptions {
  maxSessions?: number;
  extensions?: AgentExtensions;
  telephone?: Partial<TelephoneOptions>;
}

/** A telephone with one number, whose agent has a queue, on a network in virtual time. */
export class QueueRig {
  readonly clock: VirtualClock;
  readonly engine: Engine;
  readonly queues: CallQueues;
  readonly admission: AdmissionControl;
  readonly events = new CallEventBus();
  readonly faults: Error[] = [];
  /** What the voice was asked to say, and when. */
  readonly said: { text: string; atMs: number }[] = [];
  /** The levels of each 20 ms that a caller has heard, in dBFS. */
  readonly heard = new Map<SimulatedCall, number[]>();
  readonly calls: StoredCall[] = [];
  readonly left: QueueExit[] = [];
  readonly promised: NewCallBack[] = [];
  /** Numbers that may be called back are those of the United States. */
  readonly callBacks: CallBacks = {
    read: async (text) => (/^\+?1?(\d{10})$/.test(text) ? `+1${text.slice(-10)}` : null),
    add: async (callBack) => {
      this.promised.push(callBack);
      return { campaignId: 'campaign', isDue: true };
    },
    wake: () => undefined,
  };
  telephone!: Telephone;
  phones!: PhoneStore;
  readonly database: SqliteDatabase;
  readonly #network: { one: SimulatedNetwork | null } = { one: null };
  readonly #dataDir = mkdtempSync(join(tmpdir(), 'parley-queues-'));
  readonly #file = openDatabase(this.#dataDir);
  readonly log: CallLog;
  #callers = 0;

  private constructor({ maxSessions = 1 }: QueueRigOptions) {
    this.clock = new VirtualClock();
    const { clock, faults } = this;
    this.engine = new Engine({
      clock,
      plugins: [this.#plugin()],
      vad: 'energy',
      recordings: join(this.#dataDir, 'recordings'),
      defaults: { voiceProvider: 'tone', sttProvider: 'prompted', llmModel: 'echo' },
    });
    this.admission = new AdmissionControl({ clock, engine: this.engine, maxSessions });
    this.database = new SqliteDatabase(this.#file);
    const { database, events, engine, admission } = this;
    const onError = (error: Error): void => void faults.push(error);
    this.log = new CallLog({ database, store: new CallStore(database), events, onError, queues: new Queues() });
    this.engine.keepIn({ history: this.log });
    const nowUnixMs = (): number => START_UNIX_MS + clock.nowMs();
    const { callBacks } = this;
    const parts = { engine, admission, events, callBacks, nowUnixMs, timezone: 'UTC', onError };
    this.queues = new CallQueues({ ...parts, log: this.log });
    this.queues.onLeft = (_queue, left) => void this.left.push(left);
    events.onCall((call) => this.calls.push(call));
  }

  static async open(options: QueueRigOptions = {}): Promise<QueueRig> {
    const rig = new QueueRig(options);
    const { engine, admission, events, log, queues, faults, database } = rig;
    rig.phones = await PhoneStore.open(database, new SqliteLiveTables(rig.#file), new SecretBox(Buffer.alloc(32)));
    await rig.phones.add({
      number: OWN,
      carrier: 'test',
      status: 'active',
      agentId: 'desk',
      agentVersion: null,
      agentConfigOverride: null,
      queue: null,
      tags: [],
      address: null,
      createdAt: 0,
    });
    const agent = {
      id: 'desk',
      name: 'Desk',
      config: { prompt: 'You help.', first_message: 'The desk speaks.' },
      extensions: options.extensions ?? { queue: {} },
    };
    rig.telephone = await Telephone.open({
      settings: DEFAULT_SETTINGS,
      registered: { take: (id) => Promise.reject(new Error(`${id} is not registered`)) },
      engine,
      phones: rig.phones,
      log,
      queues,
      admission,
      leases: new SoleLeases(),
      events,
      inbound: null,
      mayTransfer: () => null,
      agents: hosting(agent),
      onError: (error) => faults.push(error),
      ...options.telephone,
    });
    return rig;
  }

  /** Somebody calls. Their steps begin at the answer; after them they hang up. */
  call(steps: readonly ScriptStep[], { from, patienceMs = 60_000 }: { from?: string; patienceMs?: number } = {}) {
    const number = from ?? `+1202555${String(1000 + ++this.#callers)}`;
    const [caller] = numbersOf({ number, steps });
    if (caller === undefined || this.#network.one === null) throw new Error('there is no network');
    return this.#network.one.callIn(caller, OWN, { patienceMs });
  }

  async until(condition: () => boolean, withinMs = 600_000): Promise<void> {
    await this.clock.runUntil(condition, this.clock.nowMs() + withinMs);
    if (!condition()) throw new Error('it never came');
  }

  async after(ms: number): Promise<void> {
    const atMs = this.clock.nowMs() + ms;
    await this.clock.runUntil(() => this.clock.nowMs() >= atMs, atMs);
  }

  /** The last state of a call in the log. */
  logged({ id }: SimulatedCall): StoredCall | undefined {
    return this.calls.findLast(({ callId }) => callId === id);
  }

  /** The longest silence that a caller has heard since the answer, in milliseconds. */
  longestSilenceMs(call: SimulatedCall): number {
    let [longest, run] = [0, 0];
    for (const dbfs of this.heard.get(call) ?? []) {
      run = dbfs > -60 ? 0 : run + 20;
      longest = Math.max(longest, run);
    }
    return longest;
  }

  async close(): Promise<void> {
    let isClosed = false;
    const closed = Promise.all([this.queues.close(), this.telephone.close()]).then(() => (isClosed = true));
    await this.clock.runUntil(() => isClosed, this.clock.nowMs() + 60_000);
    await closed;
    await this.engine.close();
    await this.log.idle();
    this.#file.close();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  #plugin(): ParleyPlugin {
    const { clock, said, heard } = this;
    return {
      name: 'queue rig',
      carriers: {
        test: ({ owned, clock: time, ticker, onError }) =>
          Promise.resolve(
            (this.#network.one = new TestNetwork({
              clock: time,
              ticker,
              owned,
              onError,
              numbers: numbersOf({ number: '+12025550111', steps: [{ wait: 5000 }] }),
              sounds: new SoundLibrary(toneVoice, new URL('file:///')),
              tap: (call, { far }) => {
                const levels = heard.get(call) ?? [];
                heard.set(call, levels);
                levels.push(far === null ? -100 : levelOf(far).rmsDbfs);
              },
            })),
          ),
      },
      tts: {
        tone: () => {
          const voice = toneTts({ charMs: 20 });
          return {
            ...voice,
            async *synthesize(request) {
              said.push({ text: request.text, atMs: clock.nowMs() });
              yield* voice.synthesize(request);
            },
          };
        },
      },
      stt: { prompted: () => promptedStt({ lines: ['hello', 'call me back', 'goodbye'] }) },
      vad: { energy: () => energyVad() },
      llm: { echo: () => functionLlm(() => 'I see.') },
    };
  }
}
