import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { agentConfigSchema } from '../../agent/agent.js';
import { continuationSchema } from '../../agent/continuation.js';
import { agentExtensionsSchema } from '../../agent/extensions/extensions.js';
import type { Clock } from '../../base/clock.js';
import { parseJson } from '../../base/json.js';
import { GuardedClient } from '../../net/guarded-client.js';
import { parseWith } from '../../schema/issues.js';
import type { WebhookAddress } from '../../agent/webhook.js';
import { signatureHeaders } from '../../tools/outbox.js';
import { versionPinSchema } from '../agents/requested-agent.js';

/** An inbound call before it is answered. */
export interface AskedCall {
  /** The carrier's id of the call. */
  callId: string;
  from: string;
  to: string;
  /** The network that brought it. */
  carrier: string;
  /** The number's agent; null = it has none. */
  agentId: string | null;
}

const replySchema = z.strictObject({
  reject: z.enum(['busy', 'unavailable']).nullish(),
  agent_id: z.string().min(1).max(200).nullish(),
  agent_version: versionPinSchema.nullish(),
  agent_config: agentConfigSchema.nullish(),
  agent_extensions: agentExtensionsSchema.nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  include_metadata_in_prompt: z.boolean().nullish(),
  session_continuation: continuationSchema.nullish(),
});

/** What the operator wants of a call. Members that are missing stay as the number has them. */
export type InboundRoute = z.output<typeof replySchema>;

export interface InboundWebhookOptions {
  to: WebhookAddress;
  /** Signs the requests; null = they are not signed. */
  secret: string | null;
  clock: Clock;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
}

/** The caller hears it ring meanwhile. */
const TIMEOUT_MS = 2_000;
const MAX_REPLY_BYTES = 1_048_576;

/** Asks the operator's `inboundWebhook` who answers a call. */
export class InboundWebhook {
  readonly #options: InboundWebhookOptions;
  readonly #client: GuardedClient;

  constructor(options: InboundWebhookOptions) {
    this.#options = options;
    const { to, clock } = options;
    const allowUrls = URL.canParse(to.url) ? [new URL(to.url).origin] : [];
    this.#client = new GuardedClient({ clock, maxBytes: MAX_REPLY_BYTES, allowUrls });
  }

  /** @throws Error with a text for the operator if there is no valid reply within 2 s; the signal's reason */
  async ask({ callId, from, to, carrier, agentId }: AskedCall, signal: AbortSignal): Promise<InboundRoute> {
    const { to: address, secret, nowUnixMs } = this.#options;
    const id = `inbound_${randomUUID()}`;
    const body = JSON.stringify({ type: 'call.inbound', call_id: callId, from, to, carrier, agent_id: agentId });
    const reply = await this.#client.request({
      url: address.url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...address.headers,
        ...signatureHeaders(id, body, nowUnixMs(), secret),
      },
      body,
      timeoutMs: TIMEOUT_MS,
      signal,
    });
    if (reply.status < 200 || reply.status > 299) throw new Error(`it answered with status ${String(reply.status)}`);
    const text = reply.body.toString('utf8').trim();
    return parseWith(replySchema, text === '' ? {} : parseJson(text), ['reply']);
  }

  /** Loads in advance what the first request needs. */
  warmUp(): Promise<void> {
    return this.#client.warmUp();
  }

  /** May be called twice. */
  close(): Promise<void> {
    return this.#client.close();
  }
}
