import { once } from 'node:events';
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
import {
  type CommandIo,
  defineCommand,
  type FlagOptions,
  type Flags,
  unknownAction,
  UsageError,
  numberOf,
} from './shared/command.js';
import { type CommandDatabase, hasDatabase, openCommandDatabase } from './shared/command-database.js';
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

const OPTIONS = {
  since: { type: 'string' },
  until: { type: 'string' },
  agent: { type: 'string' },
  status: { type: 'string' },
  phone: { type: 'string' },
  campaign: { type: 'string' },
  limit: { type: 'string' },
  after: { type: 'string' },
  format: { type: 'string' },
  out: { type: 'string' },
  'data-dir': { type: 'string' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

/** Calls per read. */
const BATCH = 100;

export const calls = defineCommand({
  help: `
Usage: parley calls list [filters] [--limit N] [--after CURSOR] [--json]
       parley calls show SESSION [--json]
       parley calls export [filters] [--format jsonl|csv] [--out FILE]
       parley calls erase --phone NUMBER [--json]

Reads the daemon's call log, also while the daemon runs.

Actions:
  list    Print calls as a table, newest first.
  show    Print one call: its transcript, tool calls and costs. SESSION is a session id or the beginning of one.
  export  Write calls as JSON lines or CSV.
  erase   Delete all calls of a phone number permanently, with their recordings, traces and memories.

Filters:
  --since TIME          calls that started at or after TIME: 2026-03-01, 2026-03-01T09:30Z, or Unix seconds
  --until TIME          calls that started at or before TIME
  --agent ID            calls of this agent
  --status STATUS       COMPLETED, FAILED or a status such as no-answer
  --phone NUMBER        calls from or to +12025550103, a prefix (+1202*), or a suffix (0103)
  --campaign ID         calls of this campaign

Flags:
  --limit N             calls per page (default 20, at most 100)
  --after CURSOR        next page: next_cursor of the previous page
  --format FORMAT       jsonl (default) or csv
  --out FILE            write the export to FILE instead of standard output
  --data-dir DIR        the daemon's data folder
  --json                print JSON with the members of GET /call-logs
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [action, session, ...more] = positionals;
    if (action !== 'list' && action !== 'show' && action !== 'export' && action !== 'erase') {
      throw unknownAction(action, ['list', 'show', 'export', 'erase']);
    }
    if ((action === 'show') !== (session !== undefined) || more.length > 0) {
      throw new UsageError(action === 'show' ? 'show needs one SESSION' : `${action} takes no arguments`);
    }
    if (action === 'erase' && values.phone === undefined) throw new UsageError('erase needs --phone NUMBER');
    const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
    const work = await CallDesk.open(settings, io);
    try {
      if (action === 'list') await work.list(values);
      else if (action === 'show') await work.show(session ?? '', values.json);
      else if (action === 'export') await work.export(values);
      else await work.erase(values.phone ?? '', values.json);
      return 0;
    } finally {
      await work.close();
    }
  },
});

type Values = Flags<typeof OPTIONS>['values'];

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

  async list(flags: Values): Promise<void> {
    const { stdout, stderr } = this.#io;
    const limit = flags.limit === undefined ? 20 : numberOf('--limit', flags.limit, 1, 100);
    const after = flags.after === undefined ? 0 : numberOf('--after', flags.after, 0, 1e12);
    const filter = filterOf(flags);
    const pages = this.#database === null ? null : new CallPages(this.#database);
    const page = await pages?.page(filter, limit, after === 0 ? null : Math.round(after * 1e6));
    const { calls: found, nextUs } = page ?? { calls: [], nextUs: null };
    if (flags.json) {
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

  async export(flags: Values): Promise<void> {
    const { format = 'jsonl', out } = flags;
    if (format !== 'jsonl' && format !== 'csv') throw new UsageError('--format must be jsonl or csv');
    const filter = filterOf(flags);
    const file = out === undefined ? null : await openOutput(out);
    const write = async (lines: readonly string[]): Promise<void> => {
      if (file !== null) for (const line of lines) file.line(line);
      else if (!this.#io.stdout.write(lines.map((line) => `${line}\n`).join(''))) await drained(this.#io);
      await file?.written();
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
      await file?.close();
    }
    const summary = flags.json ? JSON.stringify({ exported: count }) : `exported: ${String(count)}`;
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
function filterOf({ since, until, agent, status, phone, campaign }: Values): CallFilter {
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

/** Resolves when the reader has caught up, or has closed the pipe. */
async function drained({ stdout, signal }: CommandIo): Promise<void> {
  const done = new AbortController();
  const either = { signal: AbortSignal.any([done.signal, signal]) };
  await Promise.race(['drain', 'close', 'error'].map((event) => once(stdout, event, either))).catch(() => undefined);
  done.abort();
}
