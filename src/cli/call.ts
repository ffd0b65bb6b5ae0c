import { fileURLToPath, pathToFileURL } from 'node:url';
import type { SettingFlags } from '../settings/load-settings.js';
import { styleText } from 'node:util';
import { encodeWav } from '../audio/files/wav.js';
import { joinedSamples } from '../audio/frame.js';
import { STOCK_DIRECTORY } from '../telephony/carriers/simulated/directory.js';
import type { SimulatedNetwork } from '../telephony/carriers/simulated/network.js';
import { PHONE_RATE_HZ } from '../telephony/carriers/simulated/path.js';
import type { AgentCall, CallReport } from '../telephony/calls/agent-call.js';
import type { CallStatus } from '../telephony/calls/call-status.js';
import { simulatedCarrier } from '../telephony/carriers/simulated/open.js';
import { Switchboard } from '../telephony/calls/switchboard.js';
import type { CallAgent } from '../telephony/calls/call-agent.js';
import type { Clock } from '../base/clock.js';
import { RealClock } from '../base/real-clock.js';
import { VirtualClock } from '../base/virtual-clock.js';
import { loadAgentFile } from '../agent/agent-file.js';
import { ParleyError } from '../base/errors.js';
import { packageFile } from '../package-files.js';
import type { LogEntry } from '../session/record/event-log.js';
import type { SessionEvent } from '../session/session-options.js';
import { type CommandIo, defineCommand, type FlagSet, UsageError, type Values } from './shared/command.js';
import { openAgentEngine } from './shared/agent-engine.js';
import { ALLOW, continuationOf, ENGINE, metadataOf, PACE, SESSION, settingsOf, startTime } from './shared/flags.js';
import { openOutput } from './shared/output-file.js';

const CALLING_AGENT = fileURLToPath(packageFile('examples/reminder/agent.json'));
const ANSWERING_AGENT = fileURLToPath(packageFile('examples/restaurant/agent.json'));
/** Default caller number, in the simulated network. */
const OWN_NUMBER = '+12025550199';

const FLAGS = {
  agent: {
    value: 'FILE',
    help: 'agent file: {name, config, script?, extensions?} (default: an appointment reminder; with --inbound the restaurant demo)',
    stream: 'in',
  },
  inbound: { value: 'NUMBER', help: 'the number that calls the agent' },
  own: { value: 'NUMBER', default: OWN_NUMBER, help: "the agent's number" },
  ring: { value: 'S', number: [1, 600], default: 45, help: 'ring for at most S seconds' },
  out: {
    value: 'FILE',
    help: 'write a stereo WAV of the call: the other party on the left, the agent on the right',
    stream: 'out',
  },
  trace: { value: 'FILE', help: 'write the event log, one JSON object per line', stream: 'out' },
  json: { help: 'print the report as JSON' },
  ...PACE,
  ...SESSION,
  numbers: { value: 'FILE', help: 'your own simulated numbers instead of the default ones', stream: 'in' },
  ...ALLOW,
  ...ENGINE,
} as const satisfies FlagSet;

export const call = defineCommand({
  about: `
    Lets an agent call a number on the simulated phone network, or answer a call from it, and prints the conversation
    live. \`parley numbers\` lists the numbers and what each does. No real phone rings.`,
  args: [{ name: 'NUMBER', help: 'the number to call', optional: true }],
  flags: FLAGS,
  examples: [
    ['parley call +12025550101 --agent agent.json', 'calls a number of `parley numbers`'],
    ['parley call --inbound +12025550123 --speed max --json', 'an incoming call, in virtual time'],
  ],
  async run({ values, positionals }, io) {
    const options = readOptions(values, positionals);
    const file = await loadAgentFile(options.agent);
    const out = options.out === null ? null : await openOutput(options.out, io);
    const trace = options.trace === null ? null : await openOutput(options.trace, io);
    const onLog = (entry: LogEntry): void => trace?.line(JSON.stringify(entry));
    try {
      const { report, audio } = await place(file, options, io, trace === null ? null : onLog);
      await out?.write(audio);
      if (options.json) io.stdout.write(`${JSON.stringify(report)}\n`);
      else io.stdout.write(`${summary(report)}\n`);
      return io.signal.aborted ? 130 : report.status === 'error' || report.status === 'failed' ? 1 : 0;
    } finally {
      await out?.close();
      await trace?.close();
    }
  },
});

interface CallOptions {
  /** The callee, or the caller. */
  other: string;
  inbound: boolean;
  own: string;
  agent: string;
  ringTimeoutMs: number;
  out: string | null;
  trace: string | null;
  recordings: string | undefined;
  json: boolean;
  virtual: boolean;
  startUnixMs: number;
  metadata: Readonly<Record<string, unknown>>;
  /** File with the conversation to continue. */
  continue: string | undefined;
  directory: URL | null;
  allow: readonly string[];
  knowledge: readonly string[];
  /** Values of setting flags. */
  settings: SettingFlags;
}

function readOptions(values: Values<typeof FLAGS>, positionals: readonly string[]): CallOptions {
  const [other, ...others] = [...(values.inbound === undefined ? [] : [values.inbound]), ...positionals];
  if (other === undefined) throw new UsageError('the number to call is missing; `parley numbers` lists them');
  if (others.length > 0) throw new UsageError('expected a single number');
  const virtual = values.speed === 'max';
  return {
    other,
    inbound: values.inbound !== undefined,
    own: values.own,
    agent: values.agent ?? (values.inbound === undefined ? CALLING_AGENT : ANSWERING_AGENT),
    ringTimeoutMs: values.ring * 1000,
    out: values.out ?? null,
    trace: values.trace ?? null,
    recordings: values.recordings,
    json: values.json,
    virtual,
    startUnixMs: startTime(values.now, virtual),
    metadata: metadataOf(values.metadata),
    continue: values.continue,
    directory: values.numbers === undefined ? null : pathToFileURL(values.numbers),
    allow: values.allow,
    knowledge: values.knowledge,
    settings: settingsOf(values),
  };
}

async function place(
  file: Awaited<ReturnType<typeof loadAgentFile>>,
  options: CallOptions,
  io: CommandIo,
  log: ((entry: LogEntry) => void) | null,
): Promise<{ report: CallReport; audio: Uint8Array }> {
  const clock = options.virtual ? new VirtualClock() : new RealClock();
  const continuation = await continuationOf(options.continue);
  const opened = await openAgentEngine(file, { ...options, clock }, io);
  const { engine } = opened;
  const heard = { far: [] as Int16Array[], agent: [] as Int16Array[] };
  const show = options.json ? null : io.stdout;
  try {
    const carrier = await simulatedCarrier({
      engine,
      owned: [options.own],
      directory: options.directory ?? STOCK_DIRECTORY,
      onError: (error) => io.stderr.write(`simulated network: ${String(error)}\n`),
      tap: ({ from, to }, { agent, far }) => {
        if (from !== options.other && to !== options.other) return; // the target of a transfer
        heard.far.push(agent ?? SILENCE);
        heard.agent.push(far ?? SILENCE);
      },
    });
    if (!options.virtual) await engine.warmUp();
    const startMs = clock.nowMs();
    const seconds = (): string => ((clock.nowMs() - startMs) / 1000).toFixed(1).padStart(6);
    const line = (what: string): void => void show?.write(`${styleText('dim', seconds())}  ${what}\n`);
    const switchboard = new Switchboard({ engine, carrier });
    const onCall = {
      agent: opened.config,
      agentId: opened.agentId,
      script: file.script,
      extensions: file.extensions,
      agents: file.agents,
      metadata: options.metadata,
      continuation,
      startUnixMs: options.startUnixMs,
      id: options.virtual ? 'call' : null,
      log,
      onStatus: (status: CallStatus) => line(styleText('yellow', status)),
      observe: (event: SessionEvent) => print(event, line),
    };
    const { own, other, ringTimeoutMs } = options;
    if (options.inbound) await switchboard.check(onCall);
    const placing = options.inbound
      ? answer(carrier, switchboard, onCall, options)
      : switchboard.place({ ...onCall, from: own, to: other, ringTimeoutMs });
    const placed = await inTime(clock, placing);
    const hangUp = (): void => void placed.hangUp();
    io.signal.addEventListener('abort', hangUp, { once: true });
    if (io.signal.aborted) hangUp();
    const report = await inTime(clock, placed.finished);
    // After a transfer the parties keep talking; only virtual time waits for the end of their call.
    if (clock instanceof VirtualClock) await clock.runUntil(() => carrier.calls.size === 0);
    await carrier.close();
    return { report, audio: stereo(heard.far, heard.agent) };
  } finally {
    await opened.close();
  }
}

/** Waits for `work`, advancing virtual time meanwhile. */
async function inTime<T>(clock: Clock, work: Promise<T>): Promise<T> {
  let settled = false;
  const settle = (): void => void (settled = true);
  void work.then(settle, settle);
  if (clock instanceof VirtualClock) await clock.runUntil(() => settled);
  return work;
}

/** Starts an incoming call and waits until the agent answers. */
function answer(
  carrier: SimulatedNetwork,
  switchboard: Switchboard,
  agent: CallAgent,
  { other, own, ringTimeoutMs }: CallOptions,
): Promise<AgentCall> {
  const caller = carrier.callers.get(other);
  if (caller === undefined) throw new ParleyError('NOT_FOUND', { what: 'caller', id: other });
  return new Promise((resolve, reject) => {
    switchboard.receive(() => agent, resolve);
    const incoming = carrier.callIn(caller, own, { patienceMs: ringTimeoutMs });
    incoming.onState((state) => {
      if (state === 'ended') reject(new ParleyError('CALL_REFUSED', { reason: incoming.end?.reason ?? '' }));
    });
  });
}

function print(event: SessionEvent, line: (what: string) => void): void {
  if (event.type === 'agent') line(`${styleText('cyan', 'agent')}  ${event.text}`);
  else if (event.type === 'user') line(`${styleText('green', 'them')}   ${event.text}`);
  else if (event.type === 'tool')
    line(styleText('dim', `${event.call.name}(${event.call.arguments}) → ${event.result}`));
}

function summary({ status, error, session, carrier }: CallReport): string {
  const parts = [`ended: ${status}`];
  if (session !== null) parts.push(`after ${(session.durationMs / 1000).toFixed(1)} s`);
  for (const { target, ok, reason } of session?.transfers ?? []) {
    parts.push(ok ? `connected to ${target}` : `not connected to ${target} (${String(reason)})`);
  }
  if (error !== null) parts.push(error);
  const lost = (carrier?.packets.receivedLost ?? 0) + (carrier?.packets.sentLost ?? 0);
  if (lost > 0) parts.push(`${String(lost)} packets lost`);
  return parts.join(', ');
}

const SILENCE = new Int16Array(PHONE_RATE_HZ / 50);

function stereo(left: readonly Int16Array[], right: readonly Int16Array[]): Uint8Array {
  return encodeWav([joinedSamples(left), joinedSamples(right)], PHONE_RATE_HZ);
}
