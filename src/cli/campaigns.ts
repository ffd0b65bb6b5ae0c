import { styleText } from 'node:util';
import { encodeUrlText } from '../base/url-text.js';
import { ParleyError } from '../base/errors.js';
import {
  type CommandIo,
  defineCommand,
  type FlagOptions,
  type Flags,
  unknownAction,
  UsageError,
} from './shared/command.js';
import { type DaemonClient, daemonClient, DEFAULT_URL } from './shared/daemon-client.js';
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

const OPTIONS = {
  url: { type: 'string' },
  key: { type: 'string' },
  caller: { type: 'string' },
  country: { type: 'string' },
  status: { type: 'string' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

type Values = Flags<typeof OPTIONS>['values'];

interface Campaign {
  id: string;
  name: string;
  status: CampaignState['status'];
  caller: string | null;
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

type Action = (desk: CampaignDesk, args: readonly string[], values: Values) => Promise<number>;

/** Each action with the number of its arguments. */
const ACTIONS: Readonly<Record<string, { takes: number; run: Action }>> = {
  list: { takes: 0, run: (desk, _args, { json }) => desk.list(json) },
  create: { takes: 1, run: (desk, [name = ''], values) => desk.create(name, values) },
  upload: { takes: 2, run: (desk, [id = '', file = ''], values) => desk.upload(id, file, values) },
  start: { takes: 1, run: (desk, [id = ''], { json }) => desk.change(id, 'start', json) },
  stop: { takes: 1, run: (desk, [id = ''], { json }) => desk.change(id, 'stop', json) },
  progress: { takes: 1, run: (desk, [id = ''], { json }) => desk.progress(id, json) },
  records: { takes: 1, run: (desk, [id = ''], values) => desk.records(id, values) },
};

export const campaigns = defineCommand({
  help: `
Usage: parley campaigns list
       parley campaigns create NAME [--caller NUMBER]
       parley campaigns upload CAMPAIGN FILE [--country CODE]
       parley campaigns start CAMPAIGN
       parley campaigns stop CAMPAIGN
       parley campaigns progress CAMPAIGN
       parley campaigns records CAMPAIGN [--status STATUS]

Manages the campaigns of a running daemon. A campaign calls a list of people with the agent of one phone number.
CAMPAIGN is a campaign's id, the beginning of its id (four characters or more), or its name.

Actions:
  list      List all campaigns.
  create    Create a campaign and print its id.
  upload    Add people to call. FILE is CSV with a header row, where the column "phone" is the number and the other
            columns become metadata, or JSON: [{"phone": "+12025550101", "metadata": {"Name": "Ann"}}].
  start     Start calling.
  stop      Stop placing new calls.
  progress  Show progress until the campaign stops.
  records   List the people to call, with the state of each.

Flags:
  --caller NUMBER       phone number to call from, one of the daemon's; its agent holds the calls
  --country CODE        country of numbers without a country code, such as US
  --status STATUS       only records with this status: not_started, started, finished, failed or rejected
  --url URL             address of the daemon (default: PARLEY_URL, or ${DEFAULT_URL})
  --key KEY             private API key (default: PARLEY_API_KEY, which is safer: command lines are visible to others)
  --json                print JSON; progress prints a line per change
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [name = '', ...rest] = positionals;
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (action === undefined) throw unknownAction(name, Object.keys(ACTIONS));
    if (rest.length !== action.takes) {
      const count = action.takes === 1 ? '1 argument' : `${String(action.takes)} arguments`;
      throw new UsageError(`${name} takes ${count}, not ${String(rest.length)}`);
    }
    return action.run(new CampaignDesk(daemonClient(values, io), io), rest, values);
  },
});

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
    for (const { id, name, status, caller } of all)
      this.#say(`${id}  ${status.padEnd(8)}  ${caller ?? 'no caller'}  ${name}`);
    if (all.length === 0) this.#io.stderr.write('no campaigns\n');
    return 0;
  }

  async create(name: string, { caller, json }: Values): Promise<number> {
    const made = (await this.#client.ask('POST', '/campaigns', { name })) as Campaign;
    if (caller !== undefined) await this.#client.ask('POST', `/campaigns/${made.id}/set_caller`, { phone: caller });
    if (json) return this.#json(await this.#client.ask('GET', `/campaigns/${made.id}/info`));
    this.#say(made.id);
    return 0;
  }

  async upload(which: string, file: string, { country, json }: Values): Promise<number> {
    const records = await readRecords(file, country);
    const { id } = await this.#find(which);
    const before = (await this.#state(id)).rejected;
    const bar = new ProgressBar(this.#io.stderr, 'uploading');
    let done = 0;
    for (const piece of pieces(records)) {
      await this.#client.ask('POST', `/campaigns/${id}/records`, piece);
      done += piece.length;
      bar.update(done / records.length);
    }
    bar.clear();
    const { rejected } = await this.#state(id);
    const refused = rejected > before ? (await this.#records(id, 'rejected')).slice(before) : [];
    if (json) this.#json({ uploaded: records.length - refused.length, rejected: refused });
    else {
      this.#say(`${String(records.length - refused.length)} added, ${String(refused.length)} refused`);
      for (const { phone, reason } of refused.slice(0, SHOWN)) this.#io.stderr.write(`  ${phone}: ${reason ?? ''}\n`);
      if (refused.length > SHOWN) this.#io.stderr.write(`  and ${String(refused.length - SHOWN)} more\n`);
    }
    return refused.length === 0 ? 0 : 1;
  }

  async change(which: string, what: 'start' | 'stop', json: boolean): Promise<number> {
    const { id } = await this.#find(which);
    const campaign = (await this.#client.ask('POST', `/campaigns/${id}/${what}`)) as Campaign;
    if (json) return this.#json(campaign);
    this.#say(campaign.status);
    return 0;
  }

  /** Follows the campaign until it stops. */
  async progress(which: string, json: boolean): Promise<number> {
    const { id } = await this.#find(which);
    const bar = new CampaignBar(this.#io.stderr.isTTY === true ? this.#io.stderr : this.#io.stdout);
    let last: CampaignState | null = null;
    for await (const state of this.#client.events(`/campaigns/${id}/progress`) as AsyncIterable<CampaignState>) {
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

  async records(which: string, { status, json }: Values): Promise<number> {
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
    for await (const state of this.#client.events(`/campaigns/${id}/progress`)) return state as CampaignState;
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
