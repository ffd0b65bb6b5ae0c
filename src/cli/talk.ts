import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { type AgentFile, loadAgentFile } from '../agent/agent-file.js';
import type { SessionContinuation } from '../agent/continuation.js';
import type { Clock } from '../base/clock.js';
import { RealClock } from '../base/real-clock.js';
import type { Engine } from '../engine/engine.js';
import { systemProbe } from '../net/probe.js';
import { packageFile } from '../package-files.js';
import { silentTts } from '../providers/tts/silent.js';
import { NO_MODEL_FAULT } from '../session/record/end-reason.js';
import type { SessionEvent } from '../session/session-options.js';
import type { SessionReport } from '../session/record/session-report.js';
import { MemoryTransport } from '../transports/memory.js';
import { SOUND_PROGRAMS, SoundDeviceTransport, type SoundPrograms } from '../transports/sound-device.js';
import type { TalkServerMessage } from '../transports/talk-protocol.js';
import { type CommandIo, defineCommand } from './shared/command.js';
import { daemonOf, RemoteTalk } from './shared/remote-talk.js';
import { openAgentEngine } from './shared/agent-engine.js';
import { ALLOW, continuationOf, ENGINE, metadataOf, SESSION, settingsOf } from './shared/flags.js';

/** Sends typed lines at once, and each piped line after the answer to the previous one. */
export class LineFeed {
  readonly #waiting: string[] = [];
  readonly #patient: boolean;
  readonly #send: (line: string) => void;
  readonly #onDone: () => void;
  #answered = false;
  #ended = false;

  /**
   * @param patient whether lines wait for answers; the first one waits for the greeting
   * @param onDone called when all lines are sent and answered
   */
  constructor(patient: boolean, send: (line: string) => void, onDone: () => void) {
    this.#patient = patient;
    this.#send = send;
    this.#onDone = onDone;
  }

  line(text: string): void {
    this.#waiting.push(text);
    this.#next();
  }

  /** The agent has finished speaking. */
  answered(): void {
    this.#answered = true;
    this.#next();
  }

  /** End of input. */
  end(): void {
    this.#ended = true;
    if (this.#patient) this.#next();
    else this.#onDone();
  }

  #next(): void {
    if (this.#patient && !this.#answered) return;
    const line = this.#waiting.shift();
    if (line !== undefined) {
      this.#answered = false;
      this.#send(line);
    } else if (this.#ended) this.#onDone();
  }
}

/** Faults of which a warning has told before the conversation. */
const TOLD: ReadonlySet<string> = new Set([NO_MODEL_FAULT, 'script.action_off']);

const DEMO_AGENT = fileURLToPath(packageFile('examples/restaurant/agent.json'));

export const talk = defineCommand({
  about: `
    Talk to an agent in this terminal: by voice if the machine can record and play sound (arecord and aplay, or sox),
    otherwise by typing. You can type in a voice conversation, too. Ctrl-C or Ctrl-D hangs up.`,
  flags: {
    agent: {
      value: 'FILE',
      help: 'agent file: {name, config, script?, extensions?} (default: the demo agent); with --url the id or the name of an agent of that daemon',
      stream: 'in',
    },
    url: { value: 'URL', help: 'talk to an agent of the daemon at this address, over its talk socket' },
    text: { help: 'type and read; use no microphone or loudspeaker' },
    ...SESSION,
    ...ALLOW,
    ...ENGINE,
  },
  examples: [
    ['parley talk --agent agent.json --text', 'types with an agent'],
    ['parley talk --url http://127.0.0.1:8080 --agent Baker', 'talks to an agent of a running daemon'],
  ],
  async run({ values }, io) {
    const url = daemonOf(values, io);
    const about = { metadata: metadataOf(values.metadata), continuation: await continuationOf(values.continue) };
    const programs = values.text ? null : await soundPrograms();
    if (programs === null && !values.text) {
      io.stderr.write('neither arecord and aplay nor sox is installed: type instead of speaking\n');
    }
    if (url !== null) return talkRemotely(url, values.agent, about, programs, io);
    const agent = await loadAgentFile(values.agent ?? DEMO_AGENT);
    const { allow, knowledge, recordings } = values;
    const options = { settings: settingsOf(values), clock: new RealClock(), allow, knowledge, recordings };
    const opened = await openAgentEngine(agent, options, io);
    try {
      const hosted = { ...agent, id: opened.agentId, config: opened.config };
      const report = await converse(opened.engine, hosted, about, programs, io);
      io.stderr.write(`${styleText('dim', `call over: ${report.status}`)}\n`);
      return io.signal.aborted ? 130 : report.status === 'error' ? 1 : 0;
    } finally {
      await opened.close();
    }
  },
});

/** The context of a session. */
interface About {
  metadata: Readonly<Record<string, unknown>>;
  continuation: SessionContinuation | null;
}

async function converse(
  engine: Engine,
  agent: AgentFile & { id: string },
  { metadata, continuation }: About,
  programs: SoundPrograms | null,
  io: CommandIo,
): Promise<SessionReport> {
  const line = lineOf(programs, engine.clock);
  const isTyped = programs === null;
  io.stderr.write(`${agent.name}: connecting …\n`);
  return atTerminal(isTyped, io, async (screen, observe) => {
    const session = await engine.createSession({
      agent: agent.config,
      agentId: agent.id,
      script: agent.script,
      extensions: agent.extensions,
      agents: agent.agents,
      transport: line,
      metadata,
      continuation,
      tts: isTyped ? silentTts : undefined,
      log: (entry) => {
        if (entry.kind === 'note' && 'reason' in entry.data && !TOLD.has(entry.name))
          screen().stderr.write(styleText('dim', `       ${entry.name}: ${String(entry.data['reason'])}\n`));
      },
      observe,
    });
    return { sendText: (text) => session.sendText(text), hangUp: () => void line.close(), run: () => session.run() };
  });
}

function lineOf(programs: SoundPrograms | null, clock: Clock): MemoryTransport | SoundDeviceTransport {
  return programs === null ? new MemoryTransport() : new SoundDeviceTransport({ programs, clock });
}

/** Talks to an agent of a daemon. Returns the exit code. */
async function talkRemotely(
  url: string,
  agent: string | undefined,
  about: About,
  programs: SoundPrograms | null,
  io: CommandIo,
): Promise<number> {
  const clock = new RealClock();
  const line = lineOf(programs, clock);
  let remote: RemoteTalk | undefined;
  const status = await atTerminal(programs === null, io, async (_screen, observe) => {
    const onMessage = (message: TalkServerMessage): void => {
      const event = eventOf(message);
      if (event !== null) observe(event);
    };
    const opened = await RemoteTalk.open({ url, agent, ...about, line, clock, onMessage, signal: io.signal });
    remote = opened;
    io.stderr.write(styleText('dim', `${opened.agentName}: session ${opened.sessionId}\n`));
    return { sendText: (text) => opened.sendText(text), hangUp: () => opened.hangUp(), run: () => opened.run() };
  });
  const why = status === 'error' && remote?.failure != null ? `: ${remote.failure}` : '';
  io.stderr.write(`${styleText('dim', `call over: ${status}${why}`)}\n`);
  return io.signal.aborted ? 130 : status === 'error' ? 1 : 0;
}

/** What a message of the daemon shows. */
function eventOf(message: TalkServerMessage): Shown | null {
  if (message.method === 'onresponsetext' && message.payload.is_final) return { type: 'agent', text: message.data };
  if (message.method === 'ontranscript' && message.payload.is_final) return { type: 'user', text: message.data };
  if (message.method === 'onmetrics') {
    return { type: 'answered', metrics: { responseMs: message.payload.response_ms } };
  }
  return null;
}

/** A conversation that this terminal holds. */
interface Held<Result> {
  sendText(text: string): void;
  hangUp(): void;
  /** Resolves when it is over. */
  run(): Promise<Result>;
}

/** Holds a conversation by typed lines, in addition to sound. @param open gets the screen of the moment */
async function atTerminal<Result>(
  isTyped: boolean,
  io: CommandIo,
  open: (screen: () => Screen, observe: (event: Shown) => void) => Promise<Held<Result>>,
): Promise<Result> {
  const isPerson = io.stdin.isTTY === true;
  const typing = isTyped && isPerson && 'isTTY' in io.stdout && io.stdout.isTTY === true;
  let screen: Screen = io;
  let feed: LineFeed | null = null;
  let hasAnswered = false;
  const session = await open(
    () => screen,
    (event) => {
      // Typed input is already visible at the prompt.
      if (!typing || event.type !== 'user') show(event, screen, !isTyped);
      if (event.type !== 'agent') return;
      hasAnswered = true;
      feed?.answered();
    },
  );
  const hangUp = (): void => session.hangUp();
  // A voice call continues without a line reader.
  const onLinesOver = isTyped || isPerson ? hangUp : (): void => undefined;
  const lines = new LineFeed(!isPerson, (text) => session.sendText(text), onLinesOver);
  feed = lines;
  if (hasAnswered) lines.answered();
  const input = createInterface(
    typing
      ? { input: io.stdin, output: io.stdout, terminal: true, prompt: `${styleText('green', 'you')}    ` }
      : { input: io.stdin },
  );
  if (typing) screen = abovePrompt(input, io);
  input.on('line', (text) => {
    lines.line(text);
    if (typing) input.prompt();
  });
  input.on('close', () => lines.end());
  // In raw mode the terminal does not turn Ctrl-C into a signal.
  input.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  io.signal.addEventListener('abort', hangUp, { once: true });
  if (io.signal.aborted) hangUp();
  try {
    return await session.run();
  } finally {
    io.signal.removeEventListener('abort', hangUp);
    input.close();
    if (typing) io.stdout.write('\n'); // ends the line of the prompt
  }
}

/** Writes the conversation above the prompt and keeps the input typed so far. */
function abovePrompt(input: Interface, { stdout, stderr }: CommandIo): Screen {
  let isOpen = true;
  input.once('close', () => (isOpen = false));
  const onto = (stream: CommandIo['stdout']): Screen['stdout'] => ({
    write: (text) => {
      const { rows } = input.getCursorPos();
      moveCursor(stdout, 0, -rows);
      cursorTo(stdout, 0);
      clearScreenDown(stdout);
      stream.write(text);
      if (!isOpen) return;
      stdout.write('\n'.repeat(rows)); // `prompt` moves up as many rows as the line had
      input.prompt(true);
    },
  });
  return { stdout: onto(stdout), stderr: onto(stderr) };
}

async function soundPrograms(): Promise<SoundPrograms | null> {
  for (const programs of SOUND_PROGRAMS) {
    const found = await Promise.all([programs.record, programs.play].map(([name]) => systemProbe.hasCommand(name)));
    if (found.every(Boolean)) return programs;
  }
  return null;
}

interface Screen {
  stdout: { write(text: string): void };
  stderr: { write(text: string): void };
}

/** What a conversation shows here. */
type Shown =
  SessionEvent | { type: 'user'; text: string } | { type: 'answered'; metrics: { responseMs: number | null } };

function show(event: Shown, io: Screen, spoken: boolean): void {
  const { stdout, stderr } = io;
  if (event.type === 'agent') stdout.write(`${styleText('cyan', 'agent')}  ${event.text}\n`);
  else if (event.type === 'user') stdout.write(`${styleText('green', 'you')}    ${event.text}\n`);
  else if (event.type === 'tool') {
    stderr.write(styleText('dim', `       ${event.call.name}(${event.call.arguments}) → ${event.result}\n`));
  } else if (event.type === 'answered' && spoken) {
    stderr.write(styleText('dim', `       answered after ${(event.metrics.responseMs ?? 0).toFixed(0)} ms\n`));
  }
}
