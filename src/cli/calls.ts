import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { loadSettings } from '../settings/load-settings.js';
import type { Settings } from '../settings/settings.js';
import { CallFiles } from '../daemon/files/call-files.js';
import { openCallFiles } from '../daemon/files/open-call-files.js';
import { callFilter, callQuery } from '../daemon/call-log/call-filter.js';
import { callEraser, campaignEraser, Erasure } from '../daemon/call-log/erasure.js';
import { ParleyError } from '../base/errors.js';
import type { CallHistoryItem } from '../session/record/call-history.js';
import { type CallFilter, CallPages } from '../store/call-pages.js';
import { CallStore, type StoredCall } from '../store/calls.js';
import type { SqlDatabase } from '../store/sql/statement.js';
import { storyOf } from '../replay/story.js';
import { callTable, callView } from './shared/call-view.js';
import { type CommandIo, defineCommand, type FlagSet, UsageError, type Values } from './shared/command.js';
import { type CommandDatabase, hasDatabase, openCommandDatabase } from './shared/command-database.js';
import { SETTINGS, settingsOf } from './shared/flags.js';
import { openOutput } from './shared/output-file.js';

/** Columns of top-level members; `PARTS` has those of nested objects. */
const COLUMNS = [
  ...(['session_id', 'call_id', 'ts', 'call_status', 'duration', 'agent_id', 'campaign_id'] as const),
  ...(['error_message', 'chars_used'] as const),
];
const PARTS = [
  'direction',
  'from',
  'to',
  'credit',
  'response_p50_ms',
  'turns',
  'recording',
  'metadata',
  'chat',
] as const;

/** The first line of a CSV (RFC 4180). */
export function csvHeader(): string {
  return [...COLUMNS, ...PARTS].join(',');
}

export function csvLine(item: CallHistoryItem): string {
  const { voip, call_metrics: metrics } = item;
  const parts: Record<(typeof PARTS)[number], unknown> = {
    direction: voip?.['direction'],
    from: voip?.['from'],
    to: voip?.['to'],
    credit: Math.round(item.cost_breakdown.reduce((sum, { credit }) => sum + credit, 0) * 1e6) / 1e6,
    response_p50_ms: metrics.utterance_latency?.p50,
    turns: metrics.turns,
    recording: item.recording?.recording_url,
    metadata: JSON.stringify(item.metadata),
    chat: item.chat,
  };
  return [...COLUMNS.map((name) => item[name]), ...PARTS.map((name) => parts[name])].map(cell).join(',');
}

/** Quoted if necessary. Formulas are escaped: callers write some of the text. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const harmless = /^[=@\t\r]|^[+-](?!\d+$)/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Calls per read. */
const BATCH = 100;

const FILTERS = {
  since: {
    value: 'TIME',
    help: 'calls that started at or after TIME: 2026-03-01, 2026-03-01T09:30Z, or Unix seconds',
  },
  until: { value: 'TIME', help: 'calls that started at or before TIME' },
  agent: { value: 'ID', help: 'calls of this agent' },
  status: { value: 'STATUS', help: 'COMPLETED, FAILED or a status such as no-answer' },
  phone: { value: 'NUMBER', help: 'calls from or to +12025550103, a prefix (+1202*), or a suffix (0103)' },
  campaign: { value: 'ID', help: 'calls of this campaign' },
} as const satisfies FlagSet;

type Filters = Partial<Values<typeof FILTERS>>;

const JSON_MEMBERS = { json: { help: 'print JSON with the members of GET /call-logs' } } as const;

export const calls = defineCommand({
  about: "Reads the daemon's call log, also while the daemon runs.",
  actions: {
    list: defineCommand({
      about: 'Print calls as a table, newest first.',
      flags: {
        ...FILTERS,
        limit: { value: 'N', integer: [1, 100], default: 20, help: 'calls per page' },
        after: { value: 'CURSOR', number: [0, 1e12], help: 'next page: next_cursor of the previous page' },
        ...SETTINGS,
        ...JSON_MEMBERS,
      },
      run: ({ values }, io) => atDesk(values, io, (desk) => desk.list(values, values)),
    }),
    show: defineCommand({
      about: 'Print one call: its transcript, tool calls and costs.',
      args: [{ name: 'SESSION', help: 'a session id or the beginning of one' }],
      flags: { ...SETTINGS, ...JSON_MEMBERS },
      run: ({ values, positionals: [session = ''] }, io) =>
        atDesk(values, io, (desk) => desk.show(session, values.json)),
    }),
    export: defineCommand({
      about: 'Write calls as JSON lines or CSV.',
      flags: {
        ...FILTERS,
        format: { choices: ['jsonl', 'csv'], default: 'jsonl', help: 'form of the export' },
        out: { value: 'FILE', default: '-', help: 'where the export goes', stream: 'out' },
        ...SETTINGS,
        json: { help: 'print the number of calls as JSON' },
      },
      examples: [['parley calls export --since 2026-03-01 --format csv --out march.csv', 'calls for a spreadsheet']],
      run: ({ values }, io) => atDesk(values, io, (desk) => desk.export(values, values)),
    }),
    erase: defineCommand({
      about: 'Delete all calls of a phone number permanently, with their recordings, traces and memories.',
      flags: {
        phone: { value: 'NUMBER', required: true, help: 'the number' },
        ...SETTINGS,
        json: { help: 'print what was deleted as JSON' },
      },
      run: ({ values }, io) => atDesk(values, io, (desk) => desk.erase(values.phone, values.json)),
    }),
  },
});

async function atDesk(
  flags: Parameters<typeof settingsOf>[0],
  io: CommandIo,
  work: (desk: CallDesk) => Promise<void>,
): Promise<number> {
  const { settings } = await loadSettings({ env: io.env, flags: settingsOf(flags) });
  const desk = await CallDesk.open(settings, io);
  try {
    await work(desk);
    return 0;
  } finally {
    await desk.close();
  }
}

/** The calls of a database, which daemons may be using at the same time. */
class CallDesk {
  readonly #settings: Settings;
  readonly #io: CommandIo;
  readonly #files: CallFiles;
  readonly #closeFiles: () => Promise<void>;
  readonly #opened: CommandDatabase | null;
  readonly #database: SqlDatabase | null;

  private constructor(settings: Settings, io: CommandIo, opened: CommandDatabase | null) {
    this.#settings = settings;
    this.#io = io;
    this.#opened = opened;
    this.#database = opened?.database ?? null;
    const { files, close } = openCallFiles(settings, this.#database);
    this.#files = files;
    this.#closeFiles = close;
  }

  static async open(settings: Settings, io: CommandIo): Promise<CallDesk> {
    // Reading does not create a database.
    return new CallDesk(settings, io, hasDatabase(settings) ? await openCommandDatabase(settings) : null);
  }

  async list(filters: Filters, page: { limit: number; after: number | undefined; json: boolean }): Promise<void> {
    const { stdout, stderr } = this.#io;
    const { limit, after = 0 } = page;
    const filter = filterOf(filters);
    const pages = this.#database === null ? null : new CallPages(this.#database);
    const read = await pages?.page(filter, limit, after === 0 ? null : Math.round(after * 1e6));
    const { calls: found, nextUs } = read ?? { calls: [], nextUs: null };
    if (page.json) {
      const next_cursor = nextUs === null ? 0 : nextUs / 1e6;
      stdout.write(`${JSON.stringify({ histories: found.map((call) => this.#item(call)), next_cursor })}\n`);
      return;
    }
    if (found.length === 0) stderr.write('no calls\n');
    else stdout.write(callTable(found));
    if (nextUs !== null) stderr.write(`more calls: --after ${String(nextUs / 1e6)}\n`);
  }

  async show(session: string, json: boolean): Promise<void> {
    const call = await this.#find(session);
    if (json) {
      this.#io.stdout.write(`${JSON.stringify(this.#item(call))}\n`);
      return;
    }
    const key = CallFiles.traceKey(call.sessionId);
    const trace = (await this.#files.read(key))?.toString('utf8') ?? null;
    const story = storyOf(trace, call.item);
    const recording = call.recording === null ? null : this.#files.addressOf(call.recording);
    const { unit = 'credits' } = this.#settings.prices;
    this.#io.stdout.write(
      callView({ call, story, recording, trace: trace === null ? null : this.#files.addressOf(key), unit }),
    );
  }

  async export(filters: Filters, { format, out, json }: { format: string; out: string; json: boolean }): Promise<void> {
    const filter = filterOf(filters);
    const file = await openOutput(out, this.#io);
    const write = async (lines: readonly string[]): Promise<void> => {
      for (const line of lines) file.line(line);
      await file.written();
    };
    let count = 0;
    try {
      if (format === 'csv') await write([csvHeader()]);
      const pages = this.#database === null ? null : new CallPages(this.#database);
      let beforeUs: number | null = null;
      do {
        this.#io.signal.throwIfAborted();
        const page: Awaited<ReturnType<CallPages['page']>> | undefined = await pages?.page(filter, BATCH, beforeUs);
        const items = (page?.calls ?? []).map((call) => this.#item(call));
        await write(items.map((item) => (format === 'csv' ? csvLine(item) : JSON.stringify(item))));
        count += items.length;
        beforeUs = page?.nextUs ?? null;
      } while (beforeUs !== null);
    } finally {
      await file.close();
    }
    const summary = json ? JSON.stringify({ exported: count }) : `exported: ${String(count)}`;
    this.#io.stderr.write(`${summary}\n`);
  }

  async erase(phone: string, json: boolean): Promise<void> {
    const erasers =
      this.#database === null ? [] : [callEraser(this.#database, this.#files), campaignEraser(this.#database)];
    const erased = await new Erasure(this.#database, erasers).erase(phone);
    const counts = Object.entries(erased).map(([what, count]) => `${what.replaceAll('_', ' ')}: ${String(count)}`);
    this.#io.stdout.write(json ? `${JSON.stringify({ erased })}\n` : `erased: ${counts.join(', ') || 'nothing'}\n`);
  }

  async close(): Promise<void> {
    await this.#closeFiles();
    await this.#opened?.close();
  }

  /** As in the REST API, but with the address of the recording on the disk or in the store. */
  #item(call: StoredCall): CallHistoryItem {
    if (call.recording === null) return { ...call.item, recording: null };
    const address = this.#files.addressOf(call.recording);
    const recording_url = address.startsWith('s3://') ? address : pathToFileURL(address).href;
    return { ...call.item, recording: { recording_url } };
  }

  /** @throws ParleyError NOT_FOUND, UsageError for an ambiguous prefix */
  async #find(session: string): Promise<StoredCall> {
    const found = this.#database === null ? [] : await new CallStore(this.#database).beginningWith(session, 2);
    const [first, second] = found;
    if (first === undefined) throw new ParleyError('NOT_FOUND', { what: 'call', id: session });
    if (second !== undefined && first.sessionId !== session) {
      throw new UsageError(`several session ids begin with ${session}; use more characters`);
    }
    return first;
  }
}

const FLAG_OF: Readonly<Record<string, string>> = {
  start_time: '--since',
  end_time: '--until',
  agent_id: '--agent',
  call_status: '--status',
  phone_number: '--phone',
  campaign_id: '--campaign',
};

/** Parses the filters like the query of GET /call-logs. @throws UsageError */
function filterOf({ since, until, agent, status, phone, campaign }: Filters): CallFilter {
  const query = {
    start_time: since === undefined ? undefined : timeOf('--since', since),
    end_time: until === undefined ? undefined : timeOf('--until', until),
    agent_id: agent,
    call_status: status,
    phone_number: phone,
    campaign_id: campaign,
  };
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
  const { data, error } = z.strictObject(callQuery).safeParse(given);
  if (data !== undefined) return callFilter(data);
  const [issue] = error.issues;
  throw new UsageError(`${FLAG_OF[String(issue?.path[0])] ?? 'filter'}: ${issue?.message ?? 'it is not valid'}`);
}

/** Unix seconds. */
function timeOf(flag: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text) && text.length > 4) return Number(text);
  const unixMs = Date.parse(text);
  if (Number.isNaN(unixMs)) throw new UsageError(`${flag} must be an ISO 8601 time or Unix seconds, not ${text}`);
  return unixMs / 1000;
}
