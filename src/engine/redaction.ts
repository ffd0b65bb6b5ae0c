import type { MemoryStore, SessionMemory } from '../session/after-call/memory.js';
import { withTexts } from '../session/record/privacy.js';
import type { SessionReport } from '../session/record/session-report.js';
import type { SessionTraces } from '../session/record/trace-folder.js';
import type { EngineParts } from './options.js';
import type { EnginePlugin } from './plugin.js';
import type { Recorder } from './session-recorder.js';
import type { UnfinishedSessions } from './unfinished-session.js';

/** Replaces what must not be stored in a text. */
type Redact = (text: string) => string;

/** In place of a text whose redaction has failed. */
const NOT_STORED = '[not stored: its redaction failed]';

/** What all plug-ins do with a text, one after the other; null = nothing. */
export function redactorOf(plugins: readonly EnginePlugin[] = []): Redact | null {
  const all = plugins.flatMap(({ redact }) => (redact === undefined ? [] : [redact]));
  if (all.length === 0) return null;
  return (text) => {
    if (text === '') return text;
    try {
      return all.reduce((redacted, redact) => redact(redacted), text);
    } catch {
      return NOT_STORED;
    }
  };
}

/** The engine's parts, whose stores get redacted texts. */
export function redactingParts(parts: EngineParts, redact: Redact | null): EngineParts {
  if (redact === null) return parts;
  const { traces, unfinished } = parts;
  const redacting: EngineParts = { ...parts };
  if (traces !== undefined) redacting.traces = redactingTraces(traces, redact);
  if (unfinished !== undefined) redacting.unfinished = redactingUnfinished(unfinished, redact);
  return redacting;
}

function redactingTraces(traces: SessionTraces, redact: Redact): SessionTraces {
  return {
    open: (id, onFault) => {
      const trace = traces.open(id, onFault);
      return { log: (entry) => trace.log(withTexts(entry, redact)), close: () => trace.close() };
    },
  };
}

function redactingUnfinished(unfinished: UnfinishedSessions, redact: Redact): UnfinishedSessions {
  return {
    start: (session, name) => unfinished.start(session, name),
    finish: (session, call) => unfinished.finish(session, withTexts(call, redact)),
    remove: (session) => unfinished.remove(session),
    put: (session) => unfinished.put({ ...session, chat: session.chat && withTexts(session.chat, redact) }),
  };
}

export function redactingMemories(memories: MemoryStore, redact: Redact | null): MemoryStore {
  if (redact === null) return memories;
  return {
    recall: (agentId, user, limit) => memories.recall(agentId, user, limit),
    keep: (memory) => memories.keep({ ...memory, text: redact(memory.text) }),
  };
}

export function redactingSessions(sessions: SessionMemory, redact: Redact | null): SessionMemory {
  if (redact === null) return sessions;
  return {
    byId: (id, agentId) => sessions.byId(id, agentId),
    latest: (identifier, value, agentId) => sessions.latest(identifier, value, agentId),
    keep: (session) => sessions.keep({ ...session, messages: withTexts(session.messages, redact) }),
  };
}

/** Records reports without what must not be stored. */
export function redactingRecorder(recorder: Recorder, redact: Redact | null): Recorder {
  if (redact === null) return recorder;
  return {
    record: (session, record) => {
      const finished = session.finished.then((report) => redactedReport(report, redact));
      const noteFault = (name: string, reason: string): void => session.noteFault(name, reason);
      return recorder.record({ id: session.id, finished, noteFault }, record);
    },
    close: () => recorder.close(),
  };
}

function redactedReport(report: SessionReport, redact: Redact): SessionReport {
  const { messages, functionCalls, faultReasons = {}, faultCauses = {}, turns } = report;
  const texts = withTexts({ messages, functionCalls, faultReasons, faultCauses, turns }, redact);
  return { ...report, ...texts };
}
