import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { loadSettings } from '../settings/load-settings.js';
import type { Settings } from '../settings/settings.js';
import { CallFiles } from '../daemon/files/call-files.js';
import { openCallFiles } from '../daemon/files/open-call-files.js';
import { callFilter, callQuery, type CallQuery, goesOn } from '../daemon/call-log/call-filter.js';
import { callEraser, campaignEraser, Erasure } from '../daemon/call-log/erasure.js';
import { ParleyError } from '../base/errors.js';
import { encodeUrlText } from '../base/url-text.js';
import type { CallHistoryItem } from '../session/record/call-history.js';
import { CallPages } from '../store/call-pages.js';
import { CallStore, type StoredCall } from '../store/calls.js';
import type { SqlDatabase } from '../store/sql/statement.js';
import { storyOf } from '../replay/story.js';
import { callTable, callView, type ViewedCall } from './shared/call-view.js';
import { type CommandIo, defineCommand, type FlagSet, UsageError, type Values } from './shared/command.js';
import { type CommandDatabase, hasDatabase, openCommandDatabase } from './shared/command-database.js';
import { type DaemonClient, daemonClient } from './shared/daemon-client.js';
import { DAEMON, SETTINGS, settingsOf } from './shared/flags.js';
import { openOutput } from './shared/output-file.js';
import { startCall } from './start-call.js';

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

/** The calls of the data folder, or of a running daemon. */
const SOURCE = { ...SETTINGS, ...DAEMON } as const;

export const calls = defineCommand({
  about: `
    Places calls through a running daemon, and reads the call log: of the data folder, also while a daemon runs on it, or
    with --url or PARLEY_URL of the daemon there. \`parley call\` is the simulated network without a daemon.`,
  actions: {
    start: startCall,
    list: defineCommand({
      about: 'Print calls as a table, newest first.',
      flags: {
        ...FILTERS,
        limit: { value: 'N', integer: [1, 100], default: 20, help: 'calls per page' },
        after: { value: 'CURSOR', number: [0, 1e12], help: 'next page: next_cursor of the previous page' },
        ...SOURCE,
        ...JSON_MEMBERS,
      },
      run: ({ values }, io) => withCalls(values, io, (source) => list(source, values, io)),
    }),
    show: defineCommand({
      about: 'Print one call: its transcript, tool calls and costs.',
      args: [{ name: 'SESSION', help: 'a session id or the beginning of one' }],
      flags: { ...SOURCE, ...JSON_MEMBERS },
      run: ({ values, positionals: [session = ''] }, io) =>
        withCalls(values, io, async (source) => {
          const call = await source.find(session);
          io.stdout.write(values.json ? `${JSON.stringify(call.item)}\n` : callView(await source.view(call)));
        }),
    }),
    export: defineCommand({
      about: 'Write calls as JSON lines or CSV.',
      flags: {
        ...FILTERS,
        format: { choices: ['jsonl', 'csv'], default: 'jsonl', help: 'form of the export' },
        out: { value: 'FILE', default: '-', help: 'where the export goes', stream: 'out' },
        ...SOURCE,
        json: { help: 'print the number of calls as JSON' },
      },
      examples: [['parley calls export --since 2026-03-01 --format csv --out march.csv', 'calls for a spreadsheet']],
      run: ({ values }, io) => withCalls(values, io, (source) => exportCalls(source, values, io)),
    }),
    erase: defineCommand({
      about: 'Delete all calls of a phone number permanently, with their recordings, traces and memories.',
      flags: {
        phone: { value: 'NUMBER', required: true, help: 'the number' },
        ...SETTINGS,
        json: { help: 'print what was deleted as JSON' },
      },
      async run({ values }, io) {
        const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
        const folder = await FolderCalls.open(settings);
        try {
          const erased = await folder.erase(values.phone);
          const counts = Object.entries(erased).map(
            ([what, count]) => `${what.replaceAll('_', ' ')}: ${String(count)}`,
          );
          const text = values.json ? JSON.stringify({ erased }) : `erased: ${counts.join(', ') || 'nothing'}`;
          io.stdout.write(`${text}\n`);
          return 0;
        } finally {
          await folder.close();
        }
      },
    }),
  },
});

/** A page of calls; their items are as in the REST API. */
interface Page {
  calls: readonly StoredCall[];
  /** Unix seconds; 0 = it is the last one. */
  next: number;
}

/** Where calls are read. */
interface CallSource {
  /** @param after `next` of the page before; 0 = the first page */
  page(query: CallQuery, limit: number, after: number): Promise<Page>;
  /** @throws ParleyError NOT_FOUND, UsageError for an ambiguous prefix */
  find(session: string): Promise<StoredCall>;
  view(call: StoredCall): Promise<ViewedCall>;
  close(): Promise<void>;
}

async function withCalls(
  values: Values<typeof SOURCE>,
  io: CommandIo,
  work: (source: CallSource) => Promise<void>,
): Promise<number> {
  const source = await openCalls(values, io);
  try {
    await work(source);
    return 0;
  } finally {
    await source.close();
  }
}

async function openCalls(values: Values<typeof SOURCE>, io: CommandIo): Promise<CallSource> {
  const { url, key, 'data-dir': dataDir, config } = values;
  const ofFolder = dataDir !== undefined || config !== undefined;
  if (ofFolder && (url !== undefined || key !== undefined)) {
    throw new UsageError('--url and --key exclude --data-dir and --config');
  }
  // Without a key, PARLEY_URL may be meant for other commands.
  const hasUrl = (io.env['PARLEY_URL'] ?? '') !== '' && (io.env['PARLEY_API_KEY'] ?? '') !== '';
  if (url !== undefined || key !== undefined || (hasUrl && !ofFolder)) return new DaemonCalls(daemonClient(values, io));
  const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
  return FolderCalls.open(settings);
}

async function list(
  source: CallSource,
  values: Filters & { limit: number; after: number | undefined; json: boolean },
  { stdout, stderr }: CommandIo,
): Promise<void> {
  const { calls: found, next } = await source.page(queryOf(values), values.limit, values.after ?? 0);
  if (values.json) {
    stdout.write(`${JSON.stringify({ histories: found.map(({ item }) => item), next_cursor: next })}\n`);
    return;
  }
  if (found.length === 0) stderr.write('no calls\n');
  else stdout.write(callTable(found));
  if (next !== 0) stderr.write(`more calls: --after ${String(next)}\n`);
}

async function exportCalls(
  source: CallSource,
  values: Filters & { format: 'jsonl' | 'csv'; out: string; json: boolean },
  io: CommandIo,
): Promise<void> {
  const query = queryOf(values);
  const isCsv = values.format === 'csv';
  const file = await openOutput(values.out, io);
  let count = 0;
  try {
    if (isCsv) file.line(csvHeader());
    for (let after = 0; ;) {
      io.signal.throwIfAborted();
      const page = await source.page(query, BATCH, after);
      for (const { item } of page.calls) file.line(isCsv ? csvLine(item) : JSON.stringify(item));
      await file.written();
      count += page.calls.length;
      if (page.next === 0) break;
      after = page.next;
    }
  } finally {
    await file.close();
  }
  io.stderr.write(`${values.json ? JSON.stringify({ exported: count }) : `exported: ${String(count)}`}\n`);
}

/** The calls of a database, which daemons may be using at the same time. */
class FolderCalls implements CallSource {
  readonly #settings: Settings;
  readonly #files: CallFiles;
  readonly #closeFiles: () => Promise<void>;
  readonly #opened: CommandDatabase | null;
  readonly #database: SqlDatabase | null;

  private constructor(settings: Settings, opened: CommandDatabase | null) {
    this.#settings = settings;
    this.#opened = opened;
    this.#database = opened?.database ?? null;
    const { files, close } = openCallFiles(settings, this.#database);
    this.#files = files;
    this.#closeFiles = close;
  }

  static async open(settings: Settings): Promise<FolderCalls> {
    // Reading does not create a database.
    return new FolderCalls(settings, hasDatabase(settings) ? await openCommandDatabase(settings) : null);
  }

  async page(query: CallQuery, limit: number, after: number): Promise<Page> {
    if (this.#database === null) return { calls: [], next: 0 };
    const beforeUs = after === 0 ? null : Math.round(after * 1e6);
    const { calls: found, nextUs } = await new CallPages(this.#database).page(callFilter(query), limit, beforeUs);
    return { calls: found.map((call) => this.#shown(call)), next: (nextUs ?? 0) / 1e6 };
  }

  async find(session: string): Promise<StoredCall> {
    const found = this.#database === null ? [] : await new CallStore(this.#database).beginningWith(session, 2);
    return this.#shown(onlyOne(found, session));
  }

  async view(call: StoredCall): Promise<ViewedCall> {
    const key = CallFiles.traceKey(call.sessionId);
    const trace = (await this.#files.read(key))?.toString('utf8') ?? null;
    const { unit = 'credits' } = this.#settings.prices;
    return {
      call,
      story: storyOf(trace, call),
      recording: call.recording === null ? null : this.#files.addressOf(call.recording),
      trace: trace === null ? null : this.#files.addressOf(key),
      unit,
    };
  }

  async erase(phone: string): Promise<Awaited<ReturnType<Erasure['erase']>>> {
    const erasers =
      this.#database === null ? [] : [callEraser(this.#database, this.#files), campaignEraser(this.#database)];
    return new Erasure(this.#database, erasers).erase(phone);
  }

  async close(): Promise<void> {
    await this.#closeFiles();
    await this.#opened?.close();
  }

  /** With the address of the recording on the disk or in the store. */
  #shown(call: StoredCall): StoredCall {
    if (call.recording === null) return { ...call, item: { ...call.item, recording: null } };
    const address = this.#files.addressOf(call.recording);
    const recording_url = address.startsWith('s3://') ? address : pathToFileURL(address).href;
    return { ...call, item: { ...call.item, recording: { recording_url } } };
  }
}

/** Calls that are searched for the beginning of a session's id. */
const SEARCHED = 1000;

/** The calls of a running daemon. */
class DaemonCalls implements CallSource {
  readonly #client: DaemonClient;

  constructor(client: DaemonClient) {
    this.#client = client;
  }

  async page(query: CallQuery, limit: number, after: number): Promise<Page> {
    const texts = Object.entries({ ...query, limit, start_after_ts: after }).map(
      ([name, value]) => `${name}=${encodeUrlText(String(value))}`,
    );
    const reply = (await this.#client.ask('GET', `/call-logs?${texts.join('&')}`)) as {
      histories: readonly CallHistoryItem[];
      next_cursor: number;
    };
    return { calls: reply.histories.map(callOf), next: reply.next_cursor };
  }

  async find(session: string): Promise<StoredCall> {
    const found: StoredCall[] = [];
    let after = 0;
    for (let seen = 0; seen < SEARCHED && found.length < 2; seen += BATCH) {
      const page = await this.page({}, BATCH, after);
      found.push(...page.calls.filter(({ sessionId }) => sessionId.startsWith(session)));
      if (page.next === 0) break;
      after = page.next;
    }
    if (found.length === 0) {
      return callOf((await this.#client.ask('GET', `/call-logs/${encodeUrlText(session)}`)) as CallHistoryItem);
    }
    return onlyOne(found, session);
  }

  async view(call: StoredCall): Promise<ViewedCall> {
    const { lines } = (await this.#client.ask('GET', `/call-logs/${call.sessionId}/transcript`)) as {
      lines: readonly { at_ms: number | null; who: 'user' | 'agent' | 'tool'; text: string }[];
    };
    return {
      call,
      story: lines.map(({ at_ms: atMs, who, text }) => ({ atMs, who, text })),
      recording: call.item.recording?.recording_url ?? null,
      trace: null,
      unit: 'credits',
    };
  }

  async close(): Promise<void> {
    // Requests have ended.
  }
}

/** A call as the REST API shows it. */
function callOf(item: CallHistoryItem): StoredCall {
  const { voip, call_status: status, ts, duration } = item;
  const text = (name: string): string | null => (typeof voip?.[name] === 'string' ? voip[name] : null);
  const tsUs = Math.round(ts * 1e6);
  return {
    sessionId: item.session_id,
    callId: item.call_id,
    channel: voip !== null ? 'phone' : status === 'chat_completion' ? 'chat' : 'talk',
    direction: text('direction') === 'outbound' ? 'outbound' : 'inbound',
    agentId: item.agent_id,
    agentVersion: item.agent_version ?? null,
    campaignId: item.campaign_id,
    fromPhone: text('from'),
    toPhone: text('to'),
    status,
    tsUs,
    endedUs: goesOn(status) ? null : tsUs + Math.round(duration * 1e6),
    recording: null,
    item,
  };
}

function onlyOne(found: readonly StoredCall[], session: string): StoredCall {
  const [first, second] = found;
  if (first === undefined) throw new ParleyError('NOT_FOUND', { what: 'call', id: session });
  if (second !== undefined && first.sessionId !== session) {
    throw new UsageError(`several session ids begin with ${session}; use more characters`);
  }
  return first;
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
function queryOf({ since, until, agent, status, phone, campaign }: Filters): CallQuery {
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
  if (data !== undefined) return data;
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
