import * as z from 'zod';
import { parseJson } from '../base/json.js';
import type { WebhookAddress } from '../agent/webhook.js';
import { reasonOf } from '../base/errors.js';
import type { GuardedClient } from '../net/guarded-client.js';

export interface PromptRequest {
  sessionId: string;
  /** Null if the agent has no id. */
  agentId: string | null;
  /** Caller and callee of a phone call. */
  phones: { readonly from: string; readonly to: string } | null;
  metadata: Readonly<Record<string, unknown>>;
  signal: AbortSignal;
}

/** The webhook's additions to the session. */
export interface ExtraPrompt {
  metadata: Readonly<Record<string, unknown>>;
  extraPrompt: string;
}

/** Timeout; the call waits for it. */
const TIMEOUT_MS = 2_000;

const replySchema = z.object({
  metadata: z.record(z.string(), z.unknown()).nullish(),
  extra_prompt: z.string().max(100_000).nullish(),
});

/**
 * Calls an `extra_prompt_webhook`: GET with `session_id`, `agent_id`, `from`, `to` and the metadata as query.
 * @throws Error with a text for the operator if there is no valid reply within 2 s
 */
export async function askForPrompt(
  client: GuardedClient,
  { url, headers }: WebhookAddress,
  request: PromptRequest,
): Promise<ExtraPrompt> {
  const reply = await client.request({
    url: withQuery(url, request),
    headers: { accept: 'application/json', ...headers },
    timeoutMs: TIMEOUT_MS,
    signal: request.signal,
  });
  if (reply.status < 200 || reply.status > 299) throw new Error(`it answered with status ${String(reply.status)}`);
  const text = reply.body.toString('utf8').trim();
  if (text === '') return { metadata: {}, extraPrompt: '' };
  const { metadata, extra_prompt } = parse(text);
  return { metadata: metadata ?? {}, extraPrompt: extra_prompt ?? '' };
}

function parse(text: string): z.infer<typeof replySchema> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new Error(`its reply is not JSON: ${reasonOf(error)}`, { cause: error });
  }
  const read = replySchema.safeParse(value);
  if (!read.success) throw new Error('its reply is not {metadata, extra_prompt}');
  return read.data;
}

/** The session's own parameters come last, so that metadata cannot override them. */
function withQuery(address: string, { sessionId, agentId, phones, metadata }: PromptRequest): string {
  if (!URL.canParse(address)) return address; // the client rejects it
  const url = new URL(address);
  for (const [name, value] of flattened(metadata)) url.searchParams.set(name, value);
  for (const name of ['agent_id', 'from', 'to']) url.searchParams.delete(name);
  url.searchParams.set('session_id', sessionId);
  if (agentId !== null) url.searchParams.set('agent_id', agentId);
  if (phones !== null) {
    url.searchParams.set('from', phones.from);
    url.searchParams.set('to', phones.to);
  }
  return url.href;
}

/** `{a: {b: 1}}` becomes `a.b=1`; strings unchanged, all else as JSON; null is left out. */
function flattened(members: Readonly<Record<string, unknown>>, prefix = ''): [string, string][] {
  return Object.entries(members).flatMap(([key, value]): [string, string][] => {
    if (value === null || value === undefined) return [];
    if (typeof value === 'string') return [[prefix + key, value]];
    if (typeof value !== 'object' || Array.isArray(value)) return [[prefix + key, JSON.stringify(value)]];
    return flattened(value as Readonly<Record<string, unknown>>, `${prefix}${key}.`);
  });
}
