import type { GuardedReply } from '../net/guarded-client.js';
import type { ToolResult } from './tool.js';

/** Longest part of a failed reply for the model, in characters. */
const MAX_ERROR_CHARS = 500;

/** The tool result for a service's reply: any 2xx body, JSON or text, counts as success. */
export function resultOf(reply: GuardedReply): ToolResult {
  const text = textOf(reply);
  if (reply.status < 200 || reply.status > 299) {
    const detail = text === null || text === '' ? '' : ` and said: ${text.slice(0, MAX_ERROR_CHARS)}`;
    return { ok: false, content: `The service answered with status ${String(reply.status)}${detail}` };
  }
  if (text === null) return { ok: false, content: "The service's reply could not be read: it is not text." };
  if (text === '') return { ok: true, content: 'Done. The service sent nothing back.' };
  if (/[/+]json\b/i.test(reply.headers['content-type'] ?? '') && !isJson(text)) {
    return { ok: false, content: "The service's reply could not be read: it is broken JSON." };
  }
  return { ok: true, content: text };
}

/** The body as text; null if it is not text. */
function textOf(reply: GuardedReply): string | null {
  const charset = /charset="?([\w-]+)/i.exec(reply.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  try {
    const text = new TextDecoder(charset, { fatal: true }).decode(reply.body).trim();
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
