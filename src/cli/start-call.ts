import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';
import { ParleyError } from '../base/errors.js';
import { agentId } from './agents/remote.js';
import { callFilter } from '../daemon/call-log/call-filter.js';
import { readJsonFile } from '../schema/json-file.js';
import { type CommandIo, defineCommand, UsageError } from './shared/command.js';
import { DaemonClient, type DaemonEvent, daemonPlace } from './shared/daemon-client.js';
import { DAEMON, metadataOf, SESSION } from './shared/flags.js';

export const startCall = defineCommand({
  about: `
    Let an agent call a number through a running daemon and its carrier: a real phone rings, unless the daemon has none but
    the simulated network. Prints what happens until the call ends; Ctrl-C ends the call.

    Exit code 0 if there was a conversation, 1 if nobody answered or the call failed, 130 after Ctrl-C.`,
  args: [{ name: 'NUMBER', help: 'the number to call, such as +12025550101' }],
  flags: {
    from: { value: 'NUMBER', help: "one of the daemon's numbers (default: the only active one)" },
    agent: { value: 'AGENT', help: "the id or the name of one of the daemon's agents (default: that of --from)" },
    metadata: SESSION.metadata,
    continue: SESSION.continue,
    detach: { help: 'print the session id and leave the call to the daemon' },
    ...DAEMON,
    json: { help: 'print a line of JSON per event' },
  },
  examples: [
    ['parley calls start +12025550101 --from +14155550100', 'calls with the agent of that number'],
    ['parley calls start +12025550101 --agent baker --metadata {"Name":"Ann"}', 'calls with another agent'],
  ],
  async run({ values, positionals: [to = ''] }, io) {
    // The second Ctrl-C does not wait for the end of the call.
    const hurry = new AbortController();
    const client = new DaemonClient({ ...daemonPlace(values, io), signal: hurry.signal });
    const metadata = metadataOf(values.metadata);
    const continuation = values.continue === undefined ? undefined : await readJsonFile(values.continue);
    const from = values.from ?? (await onlyNumber(client));
    const agent = values.agent === undefined ? null : await agentId(values.agent, client);
    io.signal.throwIfAborted();
    const { session_id: id } = (await client.ask('POST', '/start_outbound_call', {
      from_phone: from,
      to_phone: to,
      agent_id: agent,
      metadata,
      session_continuation: continuation,
    })) as { session_id: string };
    if (values.detach) {
      io.stdout.write(values.json ? `${JSON.stringify({ session_id: id })}\n` : `${id}\n`);
      return 0;
    }
    io.stderr.write(styleText('dim', `session ${id}; Ctrl-C ends the call\n`));
    let ending: Promise<unknown> = Promise.resolve();
    const end = (): void => {
      const next = io.hurry?.();
      next?.addEventListener('abort', () => hurry.abort(next.reason), { once: true });
      // It may have ended by itself.
      ending = client.ask('POST', `/sessions/${id}/terminate`, {}).catch(() => undefined);
    };
    io.signal.addEventListener('abort', end, { once: true });
    if (io.signal.aborted) end();
    try {
      const status = await follow(id, client, values.json ? jsonLine(io) : textLine(io));
      await ending;
      const isCompleted = callFilter({ call_status: 'COMPLETED' }).statuses?.includes(status) === true;
      return io.signal.aborted ? 130 : isCompleted ? 0 : 1;
    } finally {
      io.signal.removeEventListener('abort', end);
    }
  },
});

/** The number to call from where none is named. @throws UsageError */
async function onlyNumber(client: DaemonClient): Promise<string> {
  const phones = (await client.ask('GET', '/phones')) as readonly { id: string; status: string }[];
  const active = phones.filter(({ status }) => status === 'active').map(({ id }) => id);
  const [only, ...others] = active;
  if (only !== undefined && others.length === 0) return only;
  const known = only === undefined ? 'the daemon has no active number' : `one of ${active.join(', ')}`;
  throw new UsageError(`--from is missing: ${known}`);
}

/** Attempts to get the events of a call on, and the pause before each. */
const ATTEMPTS = 5;
const PAUSE_MS = 1000;

/** Shows the events of a call until it has ended. Returns its status. */
async function follow(id: string, client: DaemonClient, show: (event: DaemonEvent) => void): Promise<string> {
  let last: string | null = null;
  for (let failed = 0; ;) {
    try {
      for await (const event of client.events(`/calls/${id}/events`, last)) {
        failed = 0;
        last = event.id ?? last;
        show(event);
        const { ended, call_status: status } = event.data as { ended?: boolean; call_status?: string };
        if (event.name === 'status' && ended === true) return String(status);
      }
      throw new ParleyError('NET_FAILED', { reason: 'the daemon has closed the stream' });
    } catch (error) {
      failed++;
      if (failed === ATTEMPTS || !(error instanceof ParleyError)) throw error;
      await pause(PAUSE_MS);
    }
  }
}

function jsonLine({ stdout }: CommandIo): (event: DaemonEvent) => void {
  return ({ name, data }) => void stdout.write(`${JSON.stringify({ event: name, ...(data as object) })}\n`);
}

interface EventData {
  time?: number;
  call_status?: string;
  ended?: boolean;
  duration?: number | null;
  error_message?: string | null;
  role?: 'user' | 'agent';
  text?: string | null;
  is_final?: boolean;
  turn?: number;
  name?: string;
  arguments?: string | null;
  result?: string | null;
}

/** The conversation with times since the first event, as `parley call` prints it. */
function textLine({ stdout }: CommandIo): (event: DaemonEvent) => void {
  let startS: number | null = null;
  /** What the user said, until it is known that the turn has no more words. */
  let said: { turn: number | undefined; line: string } | null = null;
  return ({ name, data }) => {
    const event = data as EventData;
    startS ??= event.time ?? null;
    const text = textOf(name, event);
    if (text === null) return;
    const seconds = startS === null || event.time === undefined ? '' : (event.time - startS).toFixed(1);
    const line = `${styleText('dim', seconds.padStart(6))}  ${text}\n`;
    const isUser = name === 'transcript' && event.role === 'user';
    if (said !== null && !(isUser && event.turn !== undefined && event.turn === said.turn)) stdout.write(said.line);
    said = isUser ? { turn: event.turn, line } : null;
    if (!isUser) stdout.write(line);
  };
}

function textOf(name: string, event: EventData): string | null {
  const { role, text, result, duration, error_message: error } = event;
  if (name === 'status') {
    const length = event.ended === true && (duration ?? 0) > 0 ? `, ${String(Math.round(duration ?? 0))} s` : '';
    return styleText('yellow', `${event.call_status ?? ''}${length}${error == null ? '' : `: ${error}`}`);
  }
  if (name === 'tool') return styleText('dim', `${event.name ?? ''}(${event.arguments ?? ''}) → ${result ?? ''}`);
  if (name === 'gap') return styleText('dim', '… (some events were missed)');
  if (name !== 'transcript' || event.is_final !== true) return null;
  const who = role === 'agent' ? styleText('cyan', 'agent') : styleText('green', 'them ');
  return `${who}  ${text ?? '(not kept)'}`;
}
