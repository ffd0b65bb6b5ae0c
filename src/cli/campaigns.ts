import { styleText } from 'node:util';
import type { AgentFile } from '../agent/agent-file.js';
import { encodeUrlText } from '../base/url-text.js';
import { ParleyError } from '../base/errors.js';
import { type CommandIo, defineCommand, type FlagSet, UsageError, type Values } from './shared/command.js';
import { type DaemonClient, daemonClient } from './shared/daemon-client.js';
import { DAEMON, JSON_OUTPUT } from './shared/flags.js';
import { ProgressBar } from './shared/progress.js';
import { type FileRecord, readRecords } from './shared/record-file.js';

/** As `GET /campaigns/{id}/progress` sends it. */
export interface CampaignState {
  status: 'idle' | 'started' | 'paused' | 'finished' | 'failed';
  reason: string | null;
  total: number;
  not_started: number;
  started: number;
  finished: number;
  failed: number;
  rejected: number;
  calls: number;
  next_call_at: number | null;
  /** Absent in replies of older daemons. */
  next_call_reason?: string | null;
}

const WIDTH = 30;
const RESET = '\r\x1b[K';

/** A campaign's progress in one line. */
export function stateLine(state: CampaignState, nowMs: number): string {
  const { status, reason, total, finished, failed, calls, next_call_at: next, next_call_reason: why } = state;
  const parts = [
    `${String(finished + failed)} of ${String(total)} done (${String(finished)} finished, ${String(failed)} failed)`,
  ];
  if (calls > 0) parts.push(calls === 1 ? '1 call' : `${String(calls)} calls`);
  // A call due within a minute only reflects the calling rate.
  if (status === 'started' && next !== null && next * 1000 > nowMs + 60_000) {
    const at = new Date(next * 1000).toISOString().slice(0, 16).replace('T', ' ');
    parts.push(`next call ${at} UTC${why == null ? '' : `: ${why}`}`);
  }
  return `${status}${reason === null ? '' : `: ${reason}`}: ${parts.join(', ')}`;
}

/** Shows a campaign's progress: a bar on a terminal, otherwise lines. */
export class CampaignBar {
  readonly #stream: NodeJS.WritableStream & { isTTY?: boolean };
  #last = '';

  constructor(stream: NodeJS.WritableStream & { isTTY?: boolean }) {
    this.#stream = stream;
  }

  show(state: CampaignState, nowMs: number): void {
    const line = stateLine(state, nowMs);
    if (line === this.#last) return;
    this.#last = line;
    if (this.#stream.isTTY !== true) {
      this.#stream.write(`${line}\n`);
      return;
    }
    const done = state.finished + state.failed;
    const cells = (count: number): number => (state.total === 0 ? 0 : Math.round((WIDTH * count) / state.total));
    const [good, all] = [cells(state.finished), cells(done)];
    const bar =
      styleText('green', '█'.repeat(good)) + styleText('red', '█'.repeat(all - good)) + '░'.repeat(WIDTH - all);
    this.#stream.write(`${RESET}${bar} ${line}`);
  }

  /** Ends the line of the bar. */
  end(): void {
    if (this.#stream.isTTY === true && this.#last !== '') this.#stream.write('\n');
  }
}

interface Campaign {
  id: string;
  name: string;
  status: CampaignState['status'];
  caller: string | null;
}

/** As `GET /phones/{phone}` answers it. */
interface Phone {
  agent_id: string | null;
  agent_config_override: AgentFile['config'] | null;
}

interface Entry {
  phone: string;
  call_status: string;
  attempts: number;
  next_call_at: number | null;
  reason: string | null;
}

/** Maximum records per upload, and bytes of JSON: the daemon accepts twice as much. */
const MOST_RECORDS = 5000;
const MOST_BYTES = 4_000_000;
/** Number of rejections shown; `records --status rejected` lists all. */
const SHOWN = 20;

const CAMPAIGN = {
  name: 'CAMPAIGN',
  help: "a campaign's id, the beginning of its id (four characters or more), or its name",
};
const FLAGS = { ...DAEMON, ...JSON_OUTPUT } as const;

const SCHEDULE = {
  concurrent: { value: 'N', integer: [1, 10_000], help: 'calls at once' },
  'per-minute': { value: 'N', number: [0.1, 60_000], help: 'calls in a minute' },
  hours: { value: 'FROM-TO', help: 'calling hours at the place of the number, such as 09:00-20:00' },
  days: { value: 'DAYS', repeatable: true, help: 'days with calling hours, such as mon,tue' },
  timezone: { value: 'ZONE', help: 'IANA time zone of numbers without a place' },
  attempts: { value: 'N', integer: [1, 100], help: 'calls to one number, whatever their outcome' },
  retry: {
    value: 'KIND=SECONDS',
    repeatable: true,
    help: 'waits before each repeated call after busy, no_answer, voicemail, failed or error; none = no repeated call',
  },
} as const satisfies FlagSet;

export const campaigns = defineCommand({
  about: `
    Manages the campaigns of a running daemon. A campaign calls a list of people with the agent of one phone number.`,
  actions: {
    list: defineCommand({
      about: 'List all campaigns.',
      flags: FLAGS,
      run: ({ values }, io) => deskOf(values, io).list(values.json),
    }),
    create: defineCommand({
      about: 'Create a campaign and print its id.',
      args: [{ name: 'NAME', help: 'what it is called' }],
      flags: {
        caller: {
          value: 'NUMBER',
          help: "phone number to call from, one of the daemon's; its agent holds the calls",
        },
        ...FLAGS,
      },
      run: ({ values, positionals: [name = ''] }, io) => deskOf(values, io).create(name, values),
    }),
    upload: defineCommand({
      about: `
        Add people to call. FILE is CSV with a header row, where the column "phone" is the number and the other columns
        become metadata, or JSON: [{"phone": "+12025550101", "metadata": {"Name": "Ann"}}].`,
      args: [CAMPAIGN, { name: 'FILE', help: 'CSV or JSON', stream: 'in' }],
      flags: {
        country: { value: 'CODE', help: 'country of numbers without a country code, such as US' },
        ...FLAGS,
      },
      run: ({ values, positionals: [id = '', file = ''] }, io) => deskOf(values, io).upload(id, file, values),
    }),
    start: defineCommand({
      about: 'Start calling.',
      args: [CAMPAIGN],
      flags: FLAGS,
      run: ({ values, positionals: [id = ''] }, io) => deskOf(values, io).change(id, 'start', values.json),
    }),
    stop: defineCommand({
      about: 'Stop placing new calls.',
      args: [CAMPAIGN],
      flags: FLAGS,
      run: ({ values, positionals: [id = ''] }, io) => deskOf(values, io).change(id, 'stop', values.json),
    }),
    schedule: defineCommand({
      about: 'Print how a campaign calls, or change it: pace, calling hours and repeated calls.',
      args: [CAMPAIGN],
      flags: { ...SCHEDULE, ...FLAGS },
      examples: [
        ['parley campaigns schedule Tonight --hours 09:00-18:00 --days mon,tue,wed --per-minute 20', 'on three days'],
        ['parley campaigns schedule Tonight --retry busy=300,900 --retry no_answer=', 'again after a busy line only'],
      ],
      run: ({ values, positionals: [id = ''] }, io) => deskOf(values, io).schedule(id, values),
    }),
    progress: defineCommand({
      about: 'Show progress until the campaign stops.',
      args: [CAMPAIGN],
      flags: { ...DAEMON, json: { help: 'print a line of JSON per change' } },
      run: ({ values, positionals: [id = ''] }, io) => deskOf(values, io).progress(id, values.json),
    }),
    records: defineCommand({
      about: 'List the people to call, with the state of each.',
      args: [CAMPAIGN],
      flags: {
        status: {
          value: 'STATUS',
          help: 'only records with this status: not_started, started, finished, failed or rejected',
        },
        ...FLAGS,
      },
      run: ({ values, positionals: [id = ''] }, io) => deskOf(values, io).records(id, values),
    }),
  },
});

/** As `GET /campaigns/{id}/schedule` answers it. */
interface Schedule {
  calling_hours: { start: string; end: string; days: readonly string[] };
}

type ScheduleValues = Values<typeof SCHEDULE> & { json: boolean };

/** The members of `POST /campaigns/{id}/schedule` that flags give. @param now the schedule in effect @throws UsageError */
function scheduleChange(values: ScheduleValues, now: Schedule): Record<string, unknown> {
  const { concurrent, 'per-minute': perMinute, hours, days, timezone, attempts, retry } = values;
  const change: Record<string, unknown> = {};
  if (concurrent !== undefined) change['max_concurrent_calls'] = concurrent;
  if (perMinute !== undefined) change['calls_per_minute'] = perMinute;
  if (timezone !== undefined) change['timezone'] = timezone;
  if (attempts !== undefined) change['max_attempts'] = attempts;
  if (hours !== undefined || days.length > 0) {
    const [, start, end] = /^(\d\d:\d\d)-(\d\d:\d\d)$/.exec(hours ?? '') ?? [];
    if (hours !== undefined && start === undefined)
      throw new UsageError(`--hours must be like 09:00-20:00, not ${hours}`);
    const given = days.length === 0 ? {} : { days: days.flatMap((one) => one.split(',')) };
    change['calling_hours'] = { ...now.calling_hours, ...(start === undefined ? {} : { start, end }), ...given };
  }
  const retries = retry.map((text) => {
    const [, kind, waits] = /^(\w+)=((?:\d+(?:,\d+)*)?)$/.exec(text) ?? [];
    if (kind === undefined) throw new UsageError(`--retry must be like busy=300,900, not ${text}`);
    return [kind, waits === '' ? [] : waits?.split(',').map(Number)] as const;
  });
  if (retries.length > 0) change['retries'] = Object.fromEntries(retries);
  return change;
}

function deskOf(flags: Values<typeof FLAGS>, io: CommandIo): CampaignDesk {
  return new CampaignDesk(daemonClient(flags, io), io);
}

class CampaignDesk {
  readonly #client: DaemonClient;
  readonly #io: CommandIo;

  constructor(client: DaemonClient, io: CommandIo) {
    this.#client = client;
    this.#io = io;
  }

  async list(json: boolean): Promise<number> {
    const all = await this.#all();
    if (json) return this.#json(all);
    for (const { id, name, status, caller } of all) {
      const { total, finished, failed } = await this.#state(id);
      const counts = `${String(finished + failed)} of ${String(total)} done`;
      this.#say(`${id}  ${status.padEnd(8)}  ${caller ?? 'no caller'}  ${name}  (${counts}, ${String(failed)} failed)`);
    }
    if (all.length === 0) this.#io.stderr.write('no campaigns\n');
    return 0;
  }

  async create(name: string, { caller, json }: { caller: string | undefined; json: boolean }): Promise<number> {
    const made = (await this.#client.ask('POST', '/campaigns', { name })) as Campaign;
    if (caller !== undefined) await this.#client.ask('POST', `/campaigns/${made.id}/set_caller`, { phone: caller });
    if (json) return this.#json(await this.#client.ask('GET', `/campaigns/${made.id}/info`));
    this.#say(made.id);
    return 0;
  }

  async upload(
    which: string,
    file: string,
    { country, json }: { country: string | undefined; json: boolean },
  ): Promise<number> {
    const records = await readRecords(file, country);
    const { id } = await this.#find(which);
    const before = (await this.#state(id)).rejected;
    const bar = new ProgressBar(this.#io.stderr, 'uploading');
    let done = 0;
    for (const piece of pieces(records)) {
      const body = piece.map(({ phone, metadata }) => ({ phone, metadata }));
      await this.#client.ask('POST', `/campaigns/${id}/records`, body);
      done += piece.length;
      bar.update(done / records.length);
    }
    bar.clear();
    const { rejected } = await this.#state(id);
    const refused = rejected > before ? (await this.#records(id, 'rejected')).slice(before) : [];
    if (json) this.#json({ uploaded: records.length - refused.length, rejected: refused });
    else {
      this.#say(`${String(records.length - refused.length)} added, ${String(refused.length)} refused`);
      for (const line of refusedLines(refused, records).slice(0, SHOWN)) this.#io.stderr.write(`  ${line}\n`);
      if (refused.length > SHOWN) this.#io.stderr.write(`  and ${String(refused.length - SHOWN)} more\n`);
    }
    return refused.length === 0 ? 0 : 1;
  }

  async change(which: string, what: 'start' | 'stop', json: boolean): Promise<number> {
    const { id, caller } = await this.#find(which);
    const campaign = (await this.#client.ask('POST', `/campaigns/${id}/${what}`)) as Campaign;
    if (what === 'start' && caller !== null) await this.#warnOfMachines(caller);
    if (json) return this.#json(campaign);
    this.#say(campaign.status);
    return 0;
  }

  /** Without detection a mailbox counts as a person who was reached. */
  async #warnOfMachines(caller: string): Promise<void> {
    const phone = (await this.#client.ask('GET', `/phones/${encodeUrlText(caller)}`)) as Phone;
    if (phone.agent_id === null) return;
    const { name, config } = (await this.#client.ask('GET', `/agents/${encodeUrlText(phone.agent_id)}`)) as AgentFile;
    if ((phone.agent_config_override?.flow?.voicemail ?? config.flow?.voicemail) != null) return;
    this.#io.stderr.write(
      `warning: the agent "${name}" has no flow.voicemail: a mailbox that answers counts as finished, like a person\n`,
    );
  }

  /** Prints the schedule, or changes it first. */
  async schedule(which: string, values: ScheduleValues): Promise<number> {
    const { id } = await this.#find(which);
    const path = `/campaigns/${id}/schedule`;
    const now = (await this.#client.ask('GET', path)) as Schedule;
    const change = scheduleChange(values, now);
    const schedule = Object.keys(change).length === 0 ? now : await this.#client.ask('POST', path, change);
    if (values.json) return this.#json(schedule);
    for (const [name, value] of Object.entries(schedule as object))
      this.#say(`${name.padEnd(21)} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
    return 0;
  }

  /** Follows the campaign until it stops. */
  async progress(which: string, json: boolean): Promise<number> {
    const { id } = await this.#find(which);
    const bar = new CampaignBar(this.#io.stderr.isTTY === true ? this.#io.stderr : this.#io.stdout);
    let last: CampaignState | null = null;
    for await (const { data } of this.#client.events(`/campaigns/${id}/progress`)) {
      const state = data as CampaignState;
      last = state;
      if (json) this.#json(state);
      else bar.show(state, Date.now());
      if (state.status !== 'started' && state.calls === 0) break;
    }
    bar.end();
    if (last === null || (last.status === 'started' && last.calls === 0)) {
      throw new ParleyError('NET_FAILED', { reason: 'the daemon has closed the stream' });
    }
    return last.status === 'failed' ? 1 : 0;
  }

  async records(which: string, { status, json }: { status: string | undefined; json: boolean }): Promise<number> {
    const { id } = await this.#find(which);
    const records = await this.#records(id, status);
    if (json) return this.#json(records);
    for (const { phone, call_status: state, attempts, next_call_at: next, reason } of records) {
      const again =
        next === null || attempts === 0 ? '' : `, again ${new Date(next * 1000).toISOString().slice(0, 16)}Z`;
      const calls = attempts === 1 ? '1 call' : `${String(attempts)} calls`;
      this.#say(`${phone.padEnd(16)}  ${state.padEnd(11)}  ${calls}${again}${reason === null ? '' : `  ${reason}`}`);
    }
    return 0;
  }

  async #records(id: string, status: string | undefined): Promise<Entry[]> {
    const all: Entry[] = [];
    const query = `limit=1000${status === undefined ? '' : `&status=${encodeUrlText(status)}`}`;
    for (let after = 0; ;) {
      const path = `/campaigns/${id}/records?${query}&start_after=${String(after)}`;
      const page = (await this.#client.ask('GET', path)) as { records: Entry[]; next_cursor: number };
      all.push(...page.records);
      if (page.next_cursor === 0) return all;
      after = page.next_cursor;
    }
  }

  async #state(id: string): Promise<CampaignState> {
    for await (const { data } of this.#client.events(`/campaigns/${id}/progress`)) return data as CampaignState;
    throw new ParleyError('NET_FAILED', { reason: 'the daemon has closed the stream' });
  }

  async #all(): Promise<Campaign[]> {
    return (await this.#client.ask('GET', '/campaigns')) as Campaign[];
  }

  /** @throws ParleyError NOT_FOUND; UsageError if the prefix is ambiguous */
  async #find(which: string): Promise<Campaign> {
    const all = await this.#all();
    const whole = all.find(({ id }) => id === which);
    if (whole !== undefined) return whole;
    const found = all.filter(({ id, name }) => name === which || (which.length >= 4 && id.startsWith(which)));
    const [first, ...others] = found;
    if (first === undefined) throw new ParleyError('NOT_FOUND', { what: 'campaign', id: which });
    if (others.length > 0) throw new UsageError(`several campaigns match "${which}"; use the id`);
    return first;
  }

  #say(line: string): void {
    this.#io.stdout.write(`${line}\n`);
  }

  #json(value: unknown): number {
    this.#say(JSON.stringify(value));
    return 0;
  }
}

/** The refused records with their places in the file. Of records with one number, the daemon refuses the later ones. */
function refusedLines(refused: readonly Entry[], records: readonly FileRecord[]): string[] {
  const places = new Map<string, string[]>();
  for (const { phone, place } of records) places.set(phone, [...(places.get(phone) ?? []), place]);
  const lines = refused.toReversed().map(({ phone, reason }) => {
    return `${places.get(phone)?.pop() ?? phone}: ${reason ?? ''}`;
  });
  return lines.toReversed();
}

/** Splits the records into uploads of an accepted size. */
function* pieces(records: readonly FileRecord[]): Generator<FileRecord[]> {
  let piece: FileRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = Buffer.byteLength(JSON.stringify(record)) + 1;
    if (piece.length === MOST_RECORDS || (piece.length > 0 && bytes + size > MOST_BYTES)) {
      yield piece;
      [piece, bytes] = [[], 0];
    }
    piece.push(record);
    bytes += size;
  }
  if (piece.length > 0) yield piece;
}
