import { readFile } from 'node:fs/promises';
import type { SettingFlags } from '../settings/load-settings.js';
import { decodeRecording } from '../audio/files/decode.js';
import { FRAME_MS, HEARING_RATE_HZ } from '../audio/frame.js';
import { resample } from '../audio/dsp/resample.js';
import { encodeWav } from '../audio/files/wav.js';
import type { Clock } from '../base/clock.js';
import { RealClock } from '../base/real-clock.js';
import { Ticker } from '../base/ticker.js';
import { VirtualClock } from '../base/virtual-clock.js';
import { type AgentFile, loadAgentFile } from '../agent/agent-file.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import type { LogEntry } from '../session/record/event-log.js';
import type { SessionReport } from '../session/record/session-report.js';
import { FileTransport } from '../transports/file.js';
import { type CommandIo, defineCommand, type FlagSet, UsageError, type Values } from './shared/command.js';
import { daemonOf, RemoteTalk } from './shared/remote-talk.js';
import { openAgentEngine } from './shared/agent-engine.js';
import { ALLOW, continuationOf, ENGINE, metadataOf, PACE, SESSION, settingsOf, startTime } from './shared/flags.js';
import { openOutput, type OutputFile } from './shared/output-file.js';
import { ProgressBar } from './shared/progress.js';
import type { TurnMetrics } from '../session/record/session-metrics.js';

const FLAGS = {
  agent: {
    value: 'FILE',
    required: true,
    help: 'agent file: {name, config, script?, extensions?}; with --url the id or the name of an agent of that daemon',
    stream: 'in',
  },
  url: {
    value: 'URL',
    help: 'play the recording to an agent of the daemon at this address: a call of its log, in real time',
  },
  in: {
    value: 'FILE',
    required: true,
    help: 'recording of the user: WAV of 8 to 48 kHz, mono or stereo, PCM, float, mu-law or A-law; MP3, Ogg, FLAC, M4A and others need ffmpeg',
    stream: 'in',
  },
  channel: {
    value: 'N',
    integer: [0, 7],
    help: 'channel of the user in a file with several: 0, 1, … (default: all channels, mixed)',
  },
  out: { value: 'FILE', help: 'write a WAV of the agent, aligned in time with the recording', stream: 'out' },
  trace: { value: 'FILE', help: 'write the event log, one JSON object per line', stream: 'out' },
  json: { help: 'print the report as JSON' },
  ...PACE,
  'hang-up-after': {
    value: 'S',
    number: [0, 3600],
    default: 6,
    help: 'after the recording, hang up when the agent has been silent for S seconds',
  },
  ...SESSION,
  ...ALLOW,
  ...ENGINE,
} as const satisfies FlagSet;

export const run = defineCommand({
  about: `
    Plays a recording of a user through a whole session and prints a table of turns: what was heard, what was answered,
    and the response time by stage.`,
  flags: FLAGS,
  examples: [
    ['parley run --agent agent.json --in user.wav --out answer.wav', 'in real time'],
    ['parley run --url http://127.0.0.1:8080 --agent Baker --in user.wav', "into a call of a daemon's log"],
    ['cat user.mp3 | parley run --agent agent.json --in - --speed max --json', 'in virtual time, from standard input'],
  ],
  async run({ values }, io) {
    const options = readOptions(values);
    const url = daemonOf(values, io);
    if (url !== null) return runRemotely(url, options, io);
    const file = await loadAgentFile(options.agent);
    const user = await readUser(options.in, options.channel, io.signal);
    for (const warning of user.warnings) io.stderr.write(`${options.in}: ${warning}\n`);
    const out = options.out === null ? null : await openOutput(options.out, io);
    const trace = options.trace === null ? null : await openOutput(options.trace, io);
    try {
      const { report, audio } = await converse(file, user, options, io, trace);
      await out?.write(encodeWav(audio, user.sampleRateHz));
      io.stdout.write(options.json ? `${JSON.stringify(report)}\n` : turnTable(report));
      return io.signal.aborted ? 130 : report.status === 'error' ? 1 : 0;
    } finally {
      await out?.close();
      await trace?.close();
    }
  },
});

/** Plays the recording to an agent of a daemon, and prints what both sides say. Returns the exit code. */
async function runRemotely(url: string, options: RunOptions, io: CommandIo): Promise<number> {
  if (options.virtual) throw new UsageError('--speed max needs an engine of this process: leave out --url');
  if (options.trace !== null) throw new UsageError('--trace: the daemon keeps the trace of its calls');
  const clock = new RealClock();
  const user = await readUser(options.in, options.channel, io.signal);
  const out = options.out === null ? null : await openOutput(options.out, io);
  const progress = new ProgressBar(io.stderr, 'playing');
  const line = new FileTransport({
    samples: resample(user.samples, user.sampleRateHz, HEARING_RATE_HZ),
    sampleRateHz: HEARING_RATE_HZ,
    ticker: new Ticker(clock),
    hangUpAfterMs: options.hangUpAfterMs,
    onProgress: (share) => progress.update(share),
  });
  const said = (who: string, text: string): void => {
    if (!options.json) io.stdout.write(`${who}  ${text}\n`);
  };
  try {
    const talk = await RemoteTalk.open({
      url,
      agent: options.agent,
      metadata: options.metadata,
      continuation: await continuationOf(options.continue),
      line,
      clock,
      onMessage: (message) => {
        if (message.method === 'onresponsetext' && message.payload.is_final) said('agent', message.data);
        if (message.method === 'ontranscript' && message.payload.is_final) said('user ', message.data);
      },
      signal: io.signal,
    });
    const status = await talk.run();
    await out?.write(encodeWav(line.recording(), HEARING_RATE_HZ));
    progress.clear();
    const ended = `ended: ${status}${status === 'error' ? `: ${talk.failure ?? ''}` : ''}, session ${talk.sessionId}`;
    io.stdout.write(`${options.json ? JSON.stringify({ session_id: talk.sessionId, status }) : ended}\n`);
    return io.signal.aborted ? 130 : status === 'error' ? 1 : 0;
  } finally {
    progress.clear();
    await out?.close();
  }
}

interface RunOptions {
  agent: string;
  in: string;
  out: string | null;
  trace: string | null;
  recordings: string | undefined;
  channel: number | null;
  json: boolean;
  virtual: boolean;
  startUnixMs: number;
  metadata: Readonly<Record<string, unknown>>;
  /** File with the conversation to continue. */
  continue: string | undefined;
  allow: readonly string[];
  knowledge: readonly string[];
  /** Values of setting flags. */
  settings: SettingFlags;
  hangUpAfterMs: number;
}

function readOptions(values: Values<typeof FLAGS>): RunOptions {
  const virtual = values.speed === 'max';
  return {
    agent: values.agent,
    in: values.in,
    out: values.out ?? null,
    trace: values.trace ?? null,
    recordings: values.recordings,
    channel: values.channel ?? null,
    json: values.json,
    virtual,
    startUnixMs: startTime(values.now, virtual),
    metadata: metadataOf(values.metadata),
    continue: values.continue,
    allow: values.allow,
    knowledge: values.knowledge,
    settings: settingsOf(values),
    hangUpAfterMs: values['hang-up-after'] * 1000,
  };
}

interface User {
  samples: Int16Array;
  sampleRateHz: number;
  warnings: readonly string[];
}

async function readUser(path: string, channel: number | null, signal: AbortSignal): Promise<User> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) });
  });
  const wav = await decodeRecording(bytes, channel, signal);
  // Rates at which 20 ms are not a whole number of samples are resampled to 16 kHz.
  const whole = Number.isInteger((wav.sampleRateHz * FRAME_MS) / 1000);
  const sampleRateHz = whole ? wav.sampleRateHz : 16_000;
  return { samples: resample(wav.samples, wav.sampleRateHz, sampleRateHz), sampleRateHz, warnings: wav.warnings };
}

async function converse(
  file: AgentFile,
  user: User,
  options: RunOptions,
  io: CommandIo,
  trace: OutputFile | null,
): Promise<{ report: SessionReport; audio: Int16Array }> {
  const clock: Clock = options.virtual ? new VirtualClock() : new RealClock();
  const continuation = await continuationOf(options.continue);
  const opened = await openAgentEngine(file, { ...options, clock }, io);
  const { engine } = opened;
  const progress = new ProgressBar(io.stderr, 'playing');
  try {
    const transport = new FileTransport({
      samples: user.samples,
      sampleRateHz: user.sampleRateHz,
      ticker: engine.ticker,
      hangUpAfterMs: options.hangUpAfterMs,
      onProgress: (share) => {
        progress.update(share);
      },
    });
    const session = await engine.createSession({
      agent: opened.config,
      agentId: opened.agentId,
      script: file.script,
      extensions: file.extensions,
      agents: file.agents,
      transport,
      metadata: options.metadata,
      continuation,
      startUnixMs: options.startUnixMs,
      id: options.virtual ? 'run' : null,
      log: trace === null ? null : (entry: LogEntry) => trace.line(JSON.stringify(entry)),
    });
    const stop = (): void => void session.close();
    io.signal.addEventListener('abort', stop, { once: true });
    if (io.signal.aborted) stop();
    let report: SessionReport | undefined;
    const finished = session.run().then((done) => (report = done));
    if (clock instanceof VirtualClock) await clock.runUntil(() => report !== undefined);
    return { report: await finished, audio: transport.recording() };
  } finally {
    progress.clear();
    await opened.close();
  }
}

/** A session's turns as text: what was heard and answered, and the latency of each stage. */
export function turnTable(report: SessionReport): string {
  const lines = report.turns.flatMap((turn) => [
    `${String(turn.turn).padStart(3)}  ${time(turn.speechEndMs)}  user   ${turn.heard ?? ''}`,
    `     ${time(turn.audioStartMs)}  agent  ${turn.said}${turn.interrupted ? ' [interrupted]' : ''}`,
    `                    ${stages(turn)}`,
  ]);
  for (const call of report.functionCalls) {
    lines.push(`     called ${call.name}(${call.arguments}) → ${call.ok ? '' : 'FAILED: '}${call.result}`);
  }
  lines.push(`ended: ${report.status} after ${seconds(report.durationMs)}${summary(report.turns)}`);
  for (const [name, count] of Object.entries(report.faults)) lines.push(`fault: ${name} ×${String(count)}`);
  return `${lines.join('\n')}\n`;
}

function stages(turn: TurnMetrics): string {
  return (
    `response ${ms(turn.responseMs)} = end of turn ${ms(turn.endOfTurnMs)}, first token ${ms(turn.llmFirstMs)}, ` +
    `first sentence ${ms(turn.firstSentenceMs)}, its audio ${ms(turn.ttsFirstMs)}`
  );
}

function summary(turns: readonly TurnMetrics[]): string {
  const responses = turns.flatMap((turn) => turn.responseMs ?? []).sort((a, b) => a - b);
  const median = responses[Math.floor((responses.length - 1) / 2)];
  const slowest = responses.at(-1);
  return median === undefined ? '' : `; response time median ${ms(median)}, slowest ${ms(slowest ?? null)}`;
}

function time(atMs: number | null): string {
  return (atMs === null ? '' : seconds(atMs)).padStart(9);
}

function seconds(value: number): string {
  return `${(value / 1000).toFixed(2)} s`;
}

function ms(value: number | null): string {
  return value === null ? '–' : `${value.toFixed(0)} ms`;
}
